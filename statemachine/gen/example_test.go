package gen_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// One attempt with one CTX rank, from admission to success. The caller carries out
// the effects in their order and answers with inputs.
func ExampleMachine() {
	var m gen.Machine
	var effects []gen.Effect
	for _, in := range []gen.Input{
		{Kind: gen.Start, Edges: 1, Settings: gen.Settings{Admission: 1000, Request: 100, Control: 20}},
		{Kind: gen.Granted, Now: 5, Binding: slot.Binding{Slot: 3, Generation: 1, Token: 1}},
		{Kind: gen.Published, Now: 6},
		{Kind: gen.Ready, Now: 8, Value: true},
		{Kind: gen.Sync, Now: 20},
		{Kind: gen.Scattered, Now: 25, Value: true},
	} {
		var err error
		if m, effects, err = m.Step(in, effects[:0]); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(m.State(), len(effects))
	}
	fmt.Println(m.Disposition())
	_, _, err := m.Step(gen.Input{Kind: gen.Sync}, nil)
	fmt.Println(err)
	// Output:
	// WAITING 2
	// PUBLISHING 3
	// REQUEST_SENT 0
	// IN_FLIGHT 1
	// SCATTERING 1
	// RETIRED 5
	// completed
	// gen: attempt is retired: wrong-state (KS-V1-15)
}
