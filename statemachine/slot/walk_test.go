package slot_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// held is what the naive model knows of one lease.
type held struct {
	binding slot.Binding
	owner   uint64
	state   slot.State
}

// TestRandomSteps drives a pool with current and dead bindings against a naive
// model: a list of leases. Generations and tokens only grow, a lease is cleaned up
// once, the numbers add up, and the budget is signalled once.
func TestRandomSteps(t *testing.T) {
	spec.Covers(t, "KS-SLOT-1", "KS-SLOT-2", "KS-SLOT-3", "KS-SLOT-4", "KS-SLOT-5", "KS-SLOT-8", "KS-SLOT-27")
	often(t, func(rt *rapid.T) {
		slots := rapid.IntRange(1, 4).Draw(rt, "slots")
		budget := rapid.IntRange(-1, slots).Draw(rt, "budget")
		p, err := slot.New(slot.Config{Slots: slots, Bytes: 10, Budget: budget})
		require.NoError(rt, err)
		if budget < 0 {
			budget = slot.DefaultBudget(slots)
		}
		var leases, dead []held
		gens := map[uint32]uint64{}
		var token uint64
		signals, over := 0, false
		for range rapid.IntRange(0, 80).Draw(rt, "steps") {
			in := slot.Input{Kind: slot.Kind(rapid.IntRange(0, int(slot.Close)).Draw(rt, "kind")),
				Proof: slot.Proof(rapid.IntRange(0, int(slot.Settled)+1).Draw(rt, "proof")),
				Need:  rapid.Uint64Range(0, 11).Draw(rt, "need"), Owner: rapid.Uint64Range(0, 3).Draw(rt, "owner")}
			if in.Kind == slot.Close && rapid.IntRange(0, 9).Draw(rt, "close") > 0 {
				in.Kind = slot.Lease
			}
			at := -1
			if n := len(leases) + len(dead); n > 0 {
				if i := rapid.IntRange(0, n-1).Draw(rt, "binding"); i < len(leases) {
					at, in.Binding = i, leases[i].binding
				} else {
					in.Binding = dead[i-len(leases)].binding
				}
			}
			before := image(p)
			effects, err := p.Step(in, nil)
			if err != nil {
				require.Empty(rt, effects)
				require.Equal(rt, before, image(p), "a refused step changes nothing")
				continue
			}
			for _, e := range effects {
				if e.Kind == slot.OverBudget {
					signals++
				}
			}
			switch in.Kind {
			case slot.Close:
			case slot.Lease:
				b := effects[0].Binding
				require.False(rt, over, "leased although unhealthy")
				require.Greater(rt, b.Generation, gens[b.Slot], "generations grow")
				require.Greater(rt, b.Token, token, "tokens grow")
				gens[b.Slot], token = b.Generation, b.Token
				leases = append(leases, held{b, in.Owner, slot.Leased})
			default:
				require.GreaterOrEqual(rt, at, 0, "a dead binding moved something")
				h := &leases[at]
				switch in.Kind {
				case slot.Advertise:
					h.state = slot.Advertised
				case slot.Begin:
					h.state = slot.InFlight
				case slot.Quarantine:
					require.NotEqual(rt, slot.Leased, h.state)
					h.state = slot.Quarantined
				case slot.Release, slot.Prove:
					require.True(rt, h.state == slot.Leased || in.Proof != slot.None, "freed without proof")
					require.Equal(rt, []slot.Effect{{Kind: slot.Freed, Binding: h.binding, Owner: h.owner}}, effects)
					dead = append(dead, *h)
					leases = append(leases[:at], leases[at+1:]...)
				case slot.Retire:
					h.state = slot.Retired
				}
			}
			want := slot.Counts{Total: slots, Free: slots - len(leases)}
			for _, h := range leases {
				s, g, ok := p.Look(h.binding.Slot)
				require.True(rt, ok && s == h.state && g == h.binding.Generation)
				if s == slot.Quarantined || s == slot.Retired {
					want.Quarantined++
				} else {
					want.Leased++
				}
			}
			require.Equal(rt, want, p.Counts())
			over = over || want.Quarantined > budget || want.Quarantined == slots
			require.Equal(rt, !over, p.Healthy())
			require.Equal(rt, over, signals == 1, "the budget is signalled once")
		}
	})
}

// often runs a property 20 times as often as the command line says.
func often(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	for range 20 {
		rapid.Check(t, prop)
	}
}
