package round_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/identity"
	wire "github.com/kvsettle/kvsettle/wire/round"
)

// Two ranks before the ready commit; one of them was cancelled.
func ExampleDecide() {
	v := round.View{Phase: round.Ready, Ranks: 2}
	v.By[0] = round.Contribution{Intent: wire.Admit, Evidence: control.NotStarted}
	v.By[1] = round.Contribution{Intent: wire.Cancel, Evidence: control.NotStarted}
	d := round.Decide(&v)
	fmt.Println(d.Row, d.Decision == round.EndNotStarted)
	// Output: round-cancel-before true
}

// One rank judges as soon as every payload is here.
func ExampleMachine_Step() {
	m, _, _ := round.Machine{}.Step(round.Input{Kind: round.Begin, Ranks: 2}, nil)
	m, _, _ = m.Step(round.Input{Kind: round.Entered, Rank: 0, ID: 1}, nil)
	_, out, _ := m.Step(round.Input{Kind: round.Entered, Rank: 1, ID: 1}, nil)
	fmt.Println(out[0].Kind == round.Judge, out[0].Absent)
	// Output: true 0
}

// A CANCEL of one edge is a CANCEL of its parent.
func ExampleFold() {
	t := identity.Ticket{RequestID: 1, InstanceEpoch: 2, Attempt: 3, Direction: 1}
	c := round.Fold([]wire.Entry{
		{Ticket: t, Intent: wire.Admit, Evidence: control.NotStarted},
		{Ticket: t, Intent: wire.Cancel, Evidence: control.NotStarted},
	}, t)
	fmt.Println(c.Intent == wire.Cancel, c.Evidence)
	// Output: true LOCAL_NOT_STARTED
}
