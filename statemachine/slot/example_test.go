package slot_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// A slot that was advertised comes back only on proof, in time or late.
func ExamplePool() {
	p, err := slot.New(slot.Config{ID: 1, Slots: 4, Bytes: 1 << 20, Budget: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	effects, _ := p.Step(slot.Input{Kind: slot.Lease, Owner: 42, Need: 4096}, nil)
	b := effects[0].Binding
	_, _ = p.Step(slot.Input{Kind: slot.Advertise, Binding: b}, nil)
	_, err = p.Step(slot.Input{Kind: slot.Release, Binding: b}, nil)
	fmt.Println(err)
	_, _ = p.Step(slot.Input{Kind: slot.Quarantine, Binding: b}, nil)
	fmt.Printf("%+v\n", p.Counts())
	_, _ = p.Step(slot.Input{Kind: slot.Prove, Binding: b, Proof: slot.Written}, nil)
	state, generation, _ := p.Look(b.Slot)
	fmt.Println(state, generation)
	// Output:
	// release of a slot that a peer may write, without proof: no-proof (KS-SLOT-4)
	// {Free:3 Leased:0 Quarantined:1 Total:4}
	// FREE 1
}
