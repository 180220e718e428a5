package world

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/gen"
)

// TestV1RowsExplainEveryStep: in every reachable state of the small v1 world, and of
// one with two CTX ranks, each step of a machine takes exactly one row of the tables
// of chapter 12.
func TestV1RowsExplainEveryStep(t *testing.T) {
	spec.Covers(t, "KS-V1-12", "KS-V1-15")
	cfg, _ := V1Size("small")
	two := V1Case{Gens: 1, Ctxs: 2, Reqs: 1, Enabled: true, Slots: 1, DeathQuiet: true}
	for _, f := range []V1Faults{{Rejects: 1, CancelGen: 1}, {SendFails: 1}, {Crashes: 1}} {
		two.Faults = f
		cfg.Cases = append(cfg.Cases, two)
	}
	m, err := V1(cfg)
	require.NoError(t, err)
	var queue []V1State
	seen := map[V1State]bool{}
	add := func(s V1State) {
		if !seen[s] {
			seen[s] = true
			queue = append(queue, s)
		}
	}
	for _, s := range m.Init {
		add(s)
	}
	out := NewOut(func(_ Event, n *V1State) { add(*n) })
	for len(queue) > 0 && len(seen) < 60_000 {
		s := queue[0]
		queue = queue[1:]
		m.Next(&s, out)
		require.NoError(t, out.scratch.(*v1World).unexplained)
	}
	taken, rows := out.Taken(), 0
	for i := range m.Rows {
		if taken[i] > 0 {
			rows++
		}
	}
	require.Greater(t, rows, 50)
	t.Logf("%d states; %d of %d rows", len(seen), rows, len(m.Rows))
	// A step that no row allows is noticed.
	_, err = out.scratch.(*v1World).genRows.Of(gen.Machine{}, gen.Input{Kind: gen.Sync}, out.next.Gen[0][0])
	require.Error(t, err)
}
