package gen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
)

// counts are the effects of one attempt that happen at most once, or never
// without another.
type counts struct {
	settled, dropped, advertised, released, quarantined, proven, tag int
	asked                                                            uint64
}

func (c *counts) add(t require.TestingT, m gen.Machine, e gen.Effect) {
	require.Zero(t, c.dropped, "nothing follows drop")
	switch e.Kind {
	case gen.AdvertiseSlot:
		c.advertised++
	case gen.SendRequest:
		require.Equal(t, 1, c.advertised, "ADVERTISED before the call (KS-SLOT-17)")
		require.Zero(t, c.asked&(1<<e.Edge), "one request per edge")
		c.asked |= 1 << e.Edge
	case gen.ReleaseSlot:
		c.released++
		require.NotEqual(t, "none", proofs[e.Proof])
	case gen.QuarantineSlot:
		c.quarantined++
	case gen.ProveSlot:
		c.proven++
		require.Equal(t, 1, c.quarantined)
	case gen.EndTag:
		c.tag++
	case gen.Settle:
		c.settled++
		require.Equal(t, m.Disposition(), e.Disposition)
		require.Equal(t, e.Disposition == sm.Completed, e.Reason == sm.ReasonNone, "a reason for every other outcome")
	case gen.Drop:
		c.dropped++
		require.Equal(t, gen.Retired, m.State())
	}
	require.LessOrEqual(t, c.settled, 1, "settled twice")
	require.LessOrEqual(t, c.advertised, 1)
	require.LessOrEqual(t, c.released+c.proven, 1, "cleaned up twice")
	require.LessOrEqual(t, c.released+c.quarantined, 1, "released and quarantined")
}

// TestRandomWords plays random scripts of 1 to 3 edges. Every step must take
// exactly one row of the table of chapter 12, effects must come in order and
// once, and whatever happened the attempt ends with its deadlines and its slot
// comes back with the proof of its peers' death.
func TestRandomWords(t *testing.T) {
	spec.Covers(t, "KS-V1-12", "KS-V1-15", "KS-V1-18", "KS-V1-40", "KS-SLOT-17", "KS-TIME-1", "KS-TIME-2", "KS-TIME-3", "KS-TIME-13")
	table, err := gen.LoadRows()
	require.NoError(t, err)
	seen := map[int]bool{}
	often(t, func(rt *rapid.T) {
		edges := rapid.IntRange(1, 3).Draw(rt, "edges")
		flags := rapid.SampledFrom([]string{"", "e", "x", "ex"}).Draw(rt, "flags")
		s := &script{t: t}
		var c counts
		var granted sm.Time
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
			for _, e := range effects {
				c.add(rt, next, e)
			}
			decided := sm.Open
			if was == sm.Open {
				decided = next.Disposition()
			} else {
				require.Equal(rt, was, next.Disposition(), "the first outcome stands")
				require.Equal(rt, m.Reason(), next.Reason())
			}
			require.Equal(rt, next.Disposition() != sm.Open, c.settled == 1)
			if next.State() == gen.Publishing && from == "WAITING" {
				granted = s.now
			}
			if decided != sm.Open && granted != 0 {
				require.LessOrEqual(rt, s.now, granted+settings.Request+settings.Control, "KS-TIME-13")
			}
			row, err := table.Of(m, in, next)
			require.NoError(rt, err, "exactly one row explains the step")
			if row >= 0 {
				seen[row] = true
			} else {
				require.Equal(rt, m, next)
			}
		}
		step(fmt.Sprintf("start:%d:%s", edges, flags))
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"grant", "grant", "deny", "refuse", "nothing", "pub", "pub", "pub", "err", "doubt",
				"yes", "yes", "no", "sync", "sync", "good", "bad", "cancel", "abort", "lost", "quiet", "due"}).Draw(rt, "word")
			switch name {
			case "pub", "err", "doubt", "yes", "no", "sync":
				name = fmt.Sprintf("%s:%d", name, rapid.IntRange(0, edges-1).Draw(rt, "edge"))
			case "lost", "quiet":
				name = fmt.Sprintf("%s:%d", name, rapid.IntRange(1, 1<<edges-1).Draw(rt, "mask"))
			}
			if s.m.Deadline() > s.now+1 && !strings.HasPrefix(name, "due") {
				s.now += sm.Time(rapid.Int64Range(0, 1).Draw(rt, "pause"))
			}
			step(name)
		}
		// Deadlines alone settle it; local work ends; proof brings the slot back.
		for n := 0; s.m.Disposition() == sm.Open; n++ {
			require.Less(rt, n, 5, "deadline after deadline does not end it")
			require.NotZero(rt, s.m.Deadline(), "an open attempt always has a deadline (%s)", s.m.State())
			step("due")
		}
		require.Zero(rt, s.m.Deadline())
		step("good")
		step(fmt.Sprintf("quiet:%d", 1<<edges-1))
		require.Equal(rt, gen.Retired, s.m.State())
		require.Equal(rt, 1, c.settled)
		require.Equal(rt, 1, c.dropped)
		require.Equal(rt, c.advertised, c.released+c.proven, "the slot came back exactly once")
		require.Equal(rt, c.advertised, c.tag, "and so did the tag")
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
