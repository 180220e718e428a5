package ctx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
)

// counts are the effects of one context that happen at most once, or never
// without another.
type counts struct {
	settled, dropped, published, begun, released, quarantined, proven int
	yes, no, writes, syncs, stops                                     uint64
}

func (c *counts) add(t require.TestingT, m ctx.Machine, e ctx.Effect) {
	require.Zero(t, c.dropped, "nothing follows drop")
	bit := uint64(1) << e.Edge
	switch e.Kind {
	case ctx.Publish:
		c.published++
	case ctx.BeginSlot:
		c.begun++
		require.True(t, m.Committed())
	case ctx.SendReady:
		require.Zero(t, (c.yes|c.no)&bit, "one answer per edge (KS-V1-7)")
		require.True(t, m.Bound(e.Edge), "nobody is answered who has not asked")
		if e.Value {
			require.Equal(t, 1, c.begun, "the ready commit comes first")
			c.yes |= bit
		} else {
			require.Zero(t, c.begun, "ready=false after the ready commit (KS-V1-7)")
			c.no |= bit
		}
	case ctx.StartWrite:
		require.NotZero(t, c.yes&bit, "ready before the write")
		require.Zero(t, c.writes&bit)
		c.writes |= bit
	case ctx.StopWrite:
		require.NotZero(t, c.writes&bit)
		require.Zero(t, c.stops&bit, "stopped once")
		c.stops |= bit
	case ctx.SendSync:
		require.NotZero(t, c.writes&bit)
		require.Zero(t, c.syncs&bit, "one sync per edge")
		c.syncs |= bit
	case ctx.ReleaseSlot:
		c.released++
		require.NotEqual(t, "none", proofs[e.Proof])
	case ctx.QuarantineSlot:
		c.quarantined++
	case ctx.ProveSlot:
		c.proven++
		require.Equal(t, 1, c.quarantined)
	case ctx.Settle:
		c.settled++
		require.Equal(t, m.Disposition(), e.Disposition)
		require.Equal(t, e.Disposition == sm.Completed, e.Reason == sm.ReasonNone, "a reason for every other outcome")
	case ctx.Drop:
		c.dropped++
		require.Equal(t, ctx.Retired, m.State())
	}
	require.LessOrEqual(t, c.settled, 1, "settled twice")
	require.LessOrEqual(t, c.released+c.proven, 1, "cleaned up twice")
	require.LessOrEqual(t, c.released+c.quarantined, 1, "released and quarantined")
}

// TestRandomWords plays random scripts of 1 to 3 edges. Every step must take
// exactly one row of the table of chapter 12, effects must come in order and
// once, a slot is freed only after the last write from it is final, and whatever
// happened the context ends with its deadlines.
func TestRandomWords(t *testing.T) {
	spec.Covers(t, "KS-V1-7", "KS-V1-12", "KS-V1-15", "KS-V1-28", "KS-V1-31", "KS-V1-40", "KS-SLOT-15", "KS-BACK-5",
		"KS-TIME-1", "KS-TIME-2", "KS-TIME-13")
	table, err := ctx.LoadRows()
	require.NoError(t, err)
	seen := map[int]bool{}
	often(t, func(rt *rapid.T) {
		edges := rapid.IntRange(1, 3).Draw(rt, "edges")
		s := &script{t: t}
		var c counts
		var bound sm.Time
		var final uint64
		step := func(word string) {
			m, from, was := s.m, s.m.State().String(), s.m.Disposition()
			in := s.input(word)
			next, effects, err := m.Step(in, nil)
			if err != nil {
				require.Equal(rt, m, next)
				require.Empty(rt, effects)
				return
			}
			s.m = next
			if in.Kind == ctx.Written || in.Kind == ctx.Ended {
				final |= 1 << in.Edge
			}
			for _, e := range effects {
				c.add(rt, next, e)
			}
			if c.released+c.proven > 0 {
				require.Zero(rt, c.writes&^final, "the slot was freed under a write")
			}
			to, decided := next.State().String(), sm.Open
			if was == sm.Open {
				decided = next.Disposition()
			} else {
				require.Equal(rt, was, next.Disposition(), "the first outcome stands")
				require.Equal(rt, m.Reason(), next.Reason())
			}
			require.Equal(rt, next.Disposition() != sm.Open, c.settled == 1)
			if from == "PUBLISHED" && to != from {
				bound = s.now
			}
			if decided != sm.Open && bound != 0 {
				require.LessOrEqual(rt, s.now, bound+settings.Request+settings.Control, "KS-TIME-13")
			}
			row, err := table.Of(m, in, next)
			require.NoError(rt, err, "exactly one row explains the step")
			if row >= 0 {
				seen[row] = true
			} else {
				require.Equal(rt, m, next)
			}
		}
		step(fmt.Sprintf("start:%d", edges))
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"grant", "grant", "deny", "ask", "ask", "ask", "ask", "refuse", "wrote", "wrote",
				"ended", "cancel", "abort", "lost", "due"}).Draw(rt, "word")
			switch name {
			case "ask", "refuse", "wrote", "ended":
				name = fmt.Sprintf("%s:%d", name, rapid.IntRange(0, edges-1).Draw(rt, "edge"))
			case "lost":
				name = fmt.Sprintf("%s:%d", name, rapid.IntRange(1, 1<<edges-1).Draw(rt, "mask"))
			}
			if s.m.Deadline() > s.now+1 && name != "due" {
				s.now += sm.Time(rapid.Int64Range(0, 1).Draw(rt, "pause"))
			}
			step(name)
		}
		for n := 0; s.m.Disposition() == sm.Open; n++ {
			require.Less(rt, n, 5, "deadline after deadline does not end it")
			require.NotZero(rt, s.m.Deadline(), "an open context always has a deadline (%s)", s.m.State())
			step("due")
		}
		require.Zero(rt, s.m.Deadline())
		for e := range edges {
			step(fmt.Sprintf("ended:%d", e))
		}
		require.Equal(rt, ctx.Retired, s.m.State())
		require.Equal(rt, 1, c.settled)
		require.Equal(rt, 1, c.dropped)
		require.Equal(rt, c.published, c.released+c.proven, "the slot came back exactly once")
	})
	t.Logf("%d of %d rows of the table seen", len(seen), table.Len())
}

// often runs a property 30 times as often as the command line says.
func often(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	for range 30 {
		rapid.Check(t, prop)
	}
}
