package ctx_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
)

// CTX publishes a ticket and is cancelled before anybody opened it: no peer is told.
func ExampleParent_Step() {
	var p ctx.Parent
	var out []ctx.ParentEffect
	for _, in := range []ctx.ParentInput{
		{Kind: ctx.OnPublish, Room: true},
		{Kind: ctx.OnCancel, Cause: settle.ByUser},
		{Kind: ctx.OnContribute},
		{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: round.EndNotStarted, Cancelled: true}},
	} {
		var err error
		if p, out, err = p.Step(in, out[:0]); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(p.State(), p.Disposition(), p.Leased())
	for _, e := range out {
		if e.Kind == ctx.DoTake {
			fmt.Println(e.Row)
		}
	}
	// Output:
	// TERMINAL_NOT_STARTED cancelled false
	// ctx-cancel-published
}

// A model or a test compares each step with the tables of the specification.
func ExampleLoadTables() {
	tables, err := ctx.LoadTables()
	if err != nil {
		fmt.Println(err)
		return
	}
	before := ctx.Parent{}
	after, out, _ := before.Step(ctx.ParentInput{Kind: ctx.OnPublish, Room: true}, nil)
	fmt.Println(tables.Explain(before, after, out))
	fmt.Println(tables.Explain(before, after, nil))
	// Output:
	// <nil>
	// rows [] lead from ABSENT to ABSENT, the machine is in PUBLISHED
}
