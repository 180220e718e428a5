package slot

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
)

// TestGenerationsNeverWrap: a slot whose generation cannot grow is not leased any
// more, and tokens end before they repeat.
func TestGenerationsNeverWrap(t *testing.T) {
	spec.Covers(t, "KS-SLOT-1", "KS-SLOT-3")
	p, err := New(Config{Slots: 2, Bytes: 1, Budget: 1})
	require.NoError(t, err)
	p.entries[0].gen = math.MaxUint64 - 1
	effects, err := p.Step(Input{Kind: Lease}, nil)
	require.NoError(t, err)
	last := effects[0].Binding
	require.Equal(t, Binding{Slot: 0, Generation: math.MaxUint64, Token: 1}, last)
	_, err = p.Step(Input{Kind: Release, Binding: last}, nil)
	require.NoError(t, err)
	effects, err = p.Step(Input{Kind: Lease}, nil)
	require.NoError(t, err)
	require.Equal(t, uint32(1), effects[0].Binding.Slot, "slot 0 has used all its generations")
	_, err = p.Step(Input{Kind: Lease}, nil)
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.SlotsExhausted})

	p.nextToken = math.MaxUint64
	_, err = p.Step(Input{Kind: Lease}, nil)
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.GenerationExhausted})
}

func TestStepDoesNotAllocate(t *testing.T) {
	p, err := New(Config{Slots: 4, Bytes: 1, Budget: 1})
	require.NoError(t, err)
	dst := make([]Effect, 0, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		out, err := p.Step(Input{Kind: Lease}, dst[:0])
		b := out[0].Binding
		for _, k := range [...]Kind{Advertise, Begin, Quarantine, Prove} {
			if err == nil {
				_, err = p.Step(Input{Kind: k, Binding: b, Proof: Written}, dst[:0])
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}))
}
