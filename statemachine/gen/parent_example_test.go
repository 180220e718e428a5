package gen_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
)

// GEN imports a context, is admitted by its ranks, opens one edge and hears that
// CTX never started.
func ExampleParent_Step() {
	var p gen.Parent
	var out []gen.ParentEffect
	for _, in := range []gen.ParentInput{
		{Kind: gen.OnValidate, Value: true, Edges: 1, Parts: 1},
		{Kind: gen.OnGranted},
		{Kind: gen.OnContribute},
		{Kind: gen.OnRound, Verdict: round.Verdict{Decision: round.GoOn, GenAttempt: 7}},
		{Kind: gen.OnPublish},
		{Kind: gen.OnSent},
		{Kind: gen.OnReady, Match: settle.Exact, Decision: control.DecisionNotReady, Evidence: control.NotStarted},
		{Kind: gen.OnRound, Verdict: round.Verdict{Decision: round.EndNotStarted, AllReject: true}},
	} {
		var err error
		if p, out, err = p.Step(in, out[:0]); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(p.State(), p.Disposition())
	for _, e := range out {
		if e.Kind == gen.DoTake {
			fmt.Println(e.Row)
		}
	}
	// Output:
	// TERMINAL_NOT_STARTED rejected
	// gen-no-peer
}

// A model or a test compares each step with the tables of the specification.
func ExampleLoadTables() {
	tables, err := gen.LoadTables()
	if err != nil {
		fmt.Println(err)
		return
	}
	before := gen.Parent{}
	after, out, _ := before.Step(gen.ParentInput{Kind: gen.OnValidate, Value: true, Edges: 1, Parts: 1}, nil)
	fmt.Println(tables.Explain(before, after, out))
	fmt.Println(tables.Explain(before, after, nil))
	// Output:
	// <nil>
	// rows [] lead from CONTEXT_IMPORTED to CONTEXT_IMPORTED, the machine is in ADMISSION_PREPARED
}
