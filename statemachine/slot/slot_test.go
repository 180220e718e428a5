package slot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/native"
)

func pool(t testing.TB, slots, budget int) *slot.Pool {
	t.Helper()
	p, err := slot.New(slot.Config{ID: 7, Slots: slots, Bytes: 100, Budget: budget})
	require.NoError(t, err)
	return p
}

// do applies an input that must be accepted.
func do(t testing.TB, p *slot.Pool, in slot.Input) []slot.Effect {
	t.Helper()
	effects, err := p.Step(in, nil)
	require.NoError(t, err)
	return effects
}

func lease(t testing.TB, p *slot.Pool, owner uint64) slot.Binding {
	t.Helper()
	effects := do(t, p, slot.Input{Kind: slot.Lease, Owner: owner, Need: 1})
	require.Len(t, effects, 1)
	require.Equal(t, slot.Granted, effects[0].Kind)
	require.Equal(t, owner, effects[0].Owner)
	return effects[0].Binding
}

// refused applies an input that must be refused and checks that nothing changed:
// counts, health, every slot, and what was in dst.
func refused(t testing.TB, p *slot.Pool, in slot.Input, reason spec.Reason) {
	t.Helper()
	before := image(p)
	kept := []slot.Effect{{Kind: slot.Freed, Owner: 99}}
	effects, err := p.Step(in, kept)
	require.ErrorIs(t, err, &sm.Refusal{Reason: reason})
	require.Equal(t, kept, effects)
	require.Equal(t, before, image(p))
}

// image is everything of a pool that can be seen.
func image(p *slot.Pool) string {
	var b strings.Builder
	fmt.Fprint(&b, p.Counts(), p.Healthy())
	for i := range p.Slots() {
		s, g, ok := p.Look(uint32(i))
		fmt.Fprint(&b, " ", s, g, ok)
	}
	return b.String()
}

// reach brings the only slot of a pool into a state and returns its binding.
func reach(t testing.TB, s slot.State) (*slot.Pool, slot.Binding) {
	t.Helper()
	p := pool(t, 2, 1)
	b := lease(t, p, 5)
	path := map[slot.State][]slot.Kind{
		slot.Free: {slot.Release}, slot.Leased: {}, slot.Advertised: {slot.Advertise}, slot.InFlight: {slot.Advertise, slot.Begin},
		slot.Quarantined: {slot.Advertise, slot.Quarantine}, slot.Retired: {slot.Advertise, slot.Quarantine, slot.Retire},
	}
	for _, k := range path[s] {
		do(t, p, slot.Input{Kind: k, Binding: b})
	}
	got, gen, ok := p.Look(b.Slot)
	require.True(t, ok)
	require.Equal(t, s, got)
	require.Equal(t, b.Generation, gen)
	return p, b
}

var (
	allStates = []slot.State{slot.Free, slot.Leased, slot.Advertised, slot.InFlight, slot.Quarantined, slot.Retired}
	allProofs = []slot.Proof{slot.None, slot.NeverAdvertised, slot.NotStarted, slot.Written, slot.OwnWritesFinal, slot.WriterDead, slot.Settled,
		slot.Quiesced, slot.NewIncarnation, slot.NewIncarnation + 1}
	allKinds = map[slot.Kind]string{slot.Advertise: "advertise", slot.Begin: "begin", slot.Release: "release",
		slot.Quarantine: "quarantine", slot.Prove: "prove", slot.Retire: "retire"}
)

// TestEveryStateEveryInput compares the whole product of states, inputs and
// proofs with the rows of the table of chapter 11: what no row allows is refused
// and changes nothing.
func TestEveryStateEveryInput(t *testing.T) {
	spec.Covers(t, "KS-SLOT-4", "KS-SLOT-6", "KS-SLOT-7", "KS-SLOT-25", "KS-SLOT-27")
	table, err := spec.LoadTable("slot-transitions")
	require.NoError(t, err)
	proven := func(k slot.Kind, s slot.State, p slot.Proof) bool {
		switch {
		case k != slot.Release && k != slot.Prove, s == slot.Leased:
			return true
		case p == slot.None, p > slot.NewIncarnation, p == slot.NeverAdvertised && s == slot.InFlight:
			return false
		}
		return true
	}
	used := map[string]bool{"slot-lease": true, "slot-stale": true}
	for _, s := range allStates {
		for k, event := range allKinds {
			row := slices.IndexFunc(table.Rows, func(r spec.Row) bool {
				return slices.Contains(table.List(r, "from"), s.String()) && slices.Contains(table.List(r, "event"), event)
			})
			for _, proof := range allProofs {
				p, b := reach(t, s)
				in := slot.Input{Kind: k, Binding: b, Proof: proof}
				name := fmt.Sprintf("%s in %s with proof %d", event, s, proof)
				switch {
				case row < 0 && (s == slot.Free || s == slot.Retired):
					refused(t, p, in, sm.NotOwner)
				case row < 0:
					refused(t, p, in, sm.WrongState)
				case !proven(k, s, proof):
					refused(t, p, in, sm.NoProof)
				default:
					effects := do(t, p, in)
					to, gen, _ := p.Look(b.Slot)
					require.Equal(t, table.Cell(table.Rows[row], "to"), to.String(), name)
					require.Equal(t, b.Generation, gen, name)
					var want []slot.Effect
					switch to {
					case slot.Free:
						want = []slot.Effect{{Kind: slot.Freed, Binding: b, Owner: 5}}
					case slot.Quarantined:
						want = []slot.Effect{{Kind: slot.Isolated, Binding: b, Owner: 5}}
					}
					require.Equal(t, want, effects, name)
					used[table.Rows[row].ID] = true
				}
				c := p.Counts()
				require.Equal(t, c.Total, c.Free+c.Leased+c.Quarantined)
			}
		}
	}
	for _, r := range table.Rows {
		require.True(t, used[r.ID], "row %s was not played", r.ID)
	}
	require.Equal(t, len(allStates), len(table.States))
	require.Equal(t, "INVALID", (slot.Retired + 1).String())
}

// TestForeignBindings: a binding of another pool, slot, generation or token moves
// nothing, in any state and for any input.
func TestForeignBindings(t *testing.T) {
	spec.Covers(t, "KS-SLOT-3", "KS-SLOT-8", "KS-SLOT-12")
	for _, s := range allStates {
		for k := range allKinds {
			p, b := reach(t, s)
			for _, c := range []struct {
				change func(*slot.Binding)
				reason spec.Reason
			}{
				{func(b *slot.Binding) { b.Pool++ }, sm.NotOwner},
				{func(b *slot.Binding) { b.Buffer++ }, sm.NotOwner},
				{func(b *slot.Binding) { b.Slot = 2 }, sm.NotOwner},
				{func(b *slot.Binding) { b.Slot = 1 << 31 }, sm.NotOwner},
				{func(b *slot.Binding) { b.Slot = 1 }, sm.StaleGeneration},
				{func(b *slot.Binding) { b.Generation++ }, sm.StaleGeneration},
				{func(b *slot.Binding) { b.Generation-- }, sm.StaleGeneration},
				{func(b *slot.Binding) { b.Token++ }, sm.NotOwner},
				{func(b *slot.Binding) { b.Token = 0 }, sm.NotOwner},
			} {
				other := b
				c.change(&other)
				refused(t, p, slot.Input{Kind: k, Binding: other, Proof: slot.Settled}, c.reason)
			}
		}
	}
	// A free slot has no token that could be guessed as zero.
	refused(t, pool(t, 1, 1), slot.Input{Kind: slot.Advertise, Binding: slot.Binding{Pool: 7}}, sm.NotOwner)
}

// TestGenerations: every lease of a slot has a new generation and a new token, and
// the old binding is dead.
func TestGenerations(t *testing.T) {
	spec.Covers(t, "KS-SLOT-1", "KS-SLOT-2", "KS-SLOT-3", "KS-SLOT-8")
	p := pool(t, 1, 1)
	var old slot.Binding
	for i := range uint64(5) {
		b := lease(t, p, i)
		require.Equal(t, i+1, b.Generation)
		require.Greater(t, b.Token, old.Token)
		if i > 0 {
			refused(t, p, slot.Input{Kind: slot.Release, Binding: old}, sm.StaleGeneration)
		}
		refused(t, p, slot.Input{Kind: slot.Lease, Owner: 9}, sm.SlotsExhausted)
		do(t, p, slot.Input{Kind: slot.Release, Binding: b})
		refused(t, p, slot.Input{Kind: slot.Release, Binding: b}, sm.NotOwner)
		old = b
	}
}

// TestProofNames: the proofs are those of the table, and each pool names its kind.
func TestProofNames(t *testing.T) {
	table, err := spec.LoadTable("proofs")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, p := range allProofs[1 : len(allProofs)-1] {
		names[p.String()] = true
	}
	for _, r := range table.Rows {
		require.True(t, names[table.Cell(r, "proof")], "%s", table.Cell(r, "proof"))
	}
	require.Len(t, names, len(table.Rows))
	require.Equal(t, "invalid", allProofs[len(allProofs)-1].String())
	p, err := slot.New(slot.Config{ID: 7, Slots: 1, Bytes: 1, Buffer: native.Indexer})
	require.NoError(t, err)
	require.Equal(t, native.Indexer, lease(t, p, 1).Buffer)
}

func TestLeaseChecks(t *testing.T) {
	spec.Covers(t, "KS-SLOT-9", "KS-SLOT-11")
	p := pool(t, 1, 1)
	refused(t, p, slot.Input{Kind: slot.Lease, Need: 101}, sm.SlotTooSmall)
	b := lease(t, p, 1)
	do(t, p, slot.Input{Kind: slot.Release, Binding: b})
	do(t, p, slot.Input{Kind: slot.Lease, Need: 100})
	require.Empty(t, do(t, p, slot.Input{Kind: slot.Close}))
	require.Empty(t, do(t, p, slot.Input{Kind: slot.Close}))
	refused(t, p, slot.Input{Kind: slot.Lease}, sm.PoolClosed)
	refused(t, p, slot.Input{Kind: 0, Binding: b}, sm.StaleGeneration)
	refused(t, p, slot.Input{Kind: 99, Binding: slot.Binding{Pool: 7, Generation: 2, Token: 2}}, sm.WrongState)
}

// TestBudget: the slot after the last budgeted one, or the last slot of the pool,
// ends admission; the signal comes once; proof returns slots and not health.
func TestBudget(t *testing.T) {
	spec.Covers(t, "KS-SLOT-5", "KS-SLOT-22", "KS-SLOT-24", "KS-SLOT-27")
	for _, c := range []struct{ slots, budget, over int }{
		{8, -1, 5}, {8, 4, 5}, {8, 0, 1}, {8, 1, 2}, {3, -1, 2}, {2, -1, 2}, {1, -1, 1}, {1, 0, 1}, {4, 4, 4}, {4, 100, 4},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := pool(t, c.slots, c.budget)
			var bindings []slot.Binding
			for i := range c.slots {
				bindings = append(bindings, lease(t, p, uint64(i)))
				do(t, p, slot.Input{Kind: slot.Advertise, Binding: bindings[i]})
			}
			signals := 0
			for i, b := range bindings {
				require.Equal(t, i < c.over, p.Healthy(), "%d in quarantine", i)
				effects := do(t, p, slot.Input{Kind: slot.Quarantine, Binding: b})
				require.Equal(t, slot.Isolated, effects[0].Kind)
				if len(effects) == 2 {
					require.Equal(t, slot.Effect{Kind: slot.OverBudget, Binding: b, Owner: uint64(i)}, effects[1])
					require.Equal(t, c.over, i+1)
					signals++
				}
			}
			require.Equal(t, 1, signals)
			for _, b := range bindings {
				do(t, p, slot.Input{Kind: slot.Prove, Binding: b, Proof: slot.Written})
			}
			require.Equal(t, slot.Counts{Free: c.slots, Total: c.slots}, p.Counts())
			require.False(t, p.Healthy())
			refused(t, p, slot.Input{Kind: slot.Lease}, sm.PoolUnhealthy)
		})
	}
	require.Equal(t, 1, slot.DefaultBudget(1))
	require.Equal(t, 4, slot.DefaultBudget(8))
	require.Equal(t, 4, slot.DefaultBudget(9))
}

// TestRetiredCounts: a retired slot stays out and keeps using up budget.
func TestRetiredCounts(t *testing.T) {
	spec.Covers(t, "KS-SLOT-7", "KS-SLOT-27")
	p := pool(t, 3, 1)
	a, b := lease(t, p, 1), lease(t, p, 2)
	for _, in := range []slot.Input{{Kind: slot.Advertise, Binding: a}, {Kind: slot.Quarantine, Binding: a}, {Kind: slot.Retire, Binding: a}} {
		do(t, p, in)
	}
	require.True(t, p.Healthy())
	require.Equal(t, slot.Counts{Free: 1, Leased: 1, Quarantined: 1, Total: 3}, p.Counts())
	do(t, p, slot.Input{Kind: slot.Begin, Binding: b})
	require.Len(t, do(t, p, slot.Input{Kind: slot.Quarantine, Binding: b}), 2)
	require.False(t, p.Healthy())
}

func TestNew(t *testing.T) {
	spec.Covers(t, "KS-SLOT-2")
	for _, c := range []slot.Config{{Slots: 0, Bytes: 1}, {Slots: -1, Bytes: 1}, {Slots: 65537, Bytes: 1}, {Slots: 1}} {
		p, err := slot.New(c)
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
		require.Nil(t, p)
	}
	p, err := slot.New(slot.Config{Slots: 65536, Bytes: 9})
	require.NoError(t, err)
	require.Equal(t, uint64(9), p.Bytes())
	require.Equal(t, 65536, p.Slots())
	_, _, ok := p.Look(65536)
	require.False(t, ok)
	require.Equal(t, slot.Counts{Free: 65536, Total: 65536}, p.Counts())
}
