package ctx_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// One context for one GEN rank, from admission to the sync. The caller carries out
// the effects in their order and answers with inputs.
func ExampleMachine() {
	var m ctx.Machine
	var effects []ctx.Effect
	for _, in := range []ctx.Input{
		{Kind: ctx.Start, Edges: 1, Settings: ctx.Settings{Admission: 1000, Context: 500, Request: 100, Control: 20}},
		{Kind: ctx.Granted, Now: 5, Binding: slot.Binding{Slot: 3, Generation: 1, Token: 1}},
		{Kind: ctx.Request, Now: 9, Value: true},
		{Kind: ctx.Written, Now: 30},
	} {
		var err error
		if m, effects, err = m.Step(in, effects[:0]); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(m.State(), len(effects), m.Committed())
	}
	fmt.Println(m.Disposition())
	// Output:
	// WAITING 2 false
	// PUBLISHED 2 false
	// IN_FLIGHT 4 true
	// RETIRED 5 true
	// completed
}
