package tag_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

func TestOf(t *testing.T) {
	for id, want := range map[uint64]uint16{0: 0, 1: 1, 4095: 4095, 4096: 0, 4097: 1, math.MaxUint64: 4095} {
		require.Equal(t, want, tag.Of(id), id)
	}
}

// TestOneHolder walks one tag through its life: free, held, lingering, free again.
func TestOneHolder(t *testing.T) {
	spec.Covers(t, "KS-TAG-3", "KS-TAG-4")
	var table tag.Table
	free := func(id uint64, now sm.Time, want bool, again sm.Time) {
		t.Helper()
		ok, at := table.FreeAt(id, now)
		require.Equal(t, want, ok)
		require.Equal(t, again, at)
		if !want {
			before := table
			require.ErrorIs(t, table.Hold(id, now), &sm.Refusal{Reason: sm.TagBusy})
			require.Equal(t, before, table, "a refused Hold changes nothing")
		}
	}
	owner := func(m uint16, id uint64, live bool) {
		t.Helper()
		got, now := table.Owner(m)
		require.Equal(t, id, got)
		require.Equal(t, live, now)
	}
	free(5, 0, true, 0)
	owner(5, 0, false)
	require.NoError(t, table.Hold(5, 10))
	require.Equal(t, 1, table.Busy())
	owner(5, 5, true)
	owner(5+4096, 5, true) // only twelve bits travel
	free(5, 10, false, 0)
	free(5+4096, 1<<60, false, 0)
	free(6+4096, 10, true, 0)

	for _, id := range []uint64{5 + 4096, 6} {
		before := table
		require.ErrorIs(t, table.End(id, 100), &sm.Refusal{Reason: sm.NotOwner})
		require.Equal(t, before, table)
	}
	require.NoError(t, table.End(5, 100))
	require.Zero(t, table.Busy())
	owner(5, 5, false)
	require.ErrorIs(t, table.End(5, 100), &sm.Refusal{Reason: sm.NotOwner}, "returned twice")
	free(5+4096, 99, false, 100)
	free(5, 99, false, 100)
	free(5+4096, 100, true, 0)
	require.NoError(t, table.Hold(5+4096, 100))
	owner(5, 5+4096, true)
}

// TestRandomHolds compares a table with a naive list of who holds what.
func TestRandomHolds(t *testing.T) {
	spec.Covers(t, "KS-TAG-3")
	type hold struct {
		id    uint64
		until sm.Time
		live  bool
	}
	often(t, func(rt *rapid.T) {
		var table tag.Table
		var all []hold
		now := sm.Time(0)
		ids := rapid.SampledFrom([]uint64{1, 2, 1 + 4096, 2 + 4096, 1 + 2*4096, math.MaxUint64, 4095})
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			now += sm.Time(rapid.Int64Range(0, 5).Draw(rt, "pause"))
			id := ids.Draw(rt, "id")
			if rapid.Bool().Draw(rt, "hold") {
				taken := false
				for _, h := range all {
					if h.id%tag.Width == id%tag.Width && (h.live || now < h.until) {
						taken = true
					}
				}
				require.Equal(rt, taken, table.Hold(id, now) != nil)
				if !taken {
					all = append(all, hold{id: id, live: true})
				}
				continue
			}
			until := now + sm.Time(rapid.Int64Range(0, 9).Draw(rt, "lifetime"))
			held := false
			for i, h := range all {
				if h.id == id && h.live {
					held, all[i].live, all[i].until = true, false, until
				}
			}
			require.Equal(rt, held, table.End(id, until) == nil)
		}
		live := 0
		for _, h := range all {
			if h.live {
				live++
				got, ok := table.Owner(tag.Of(h.id))
				require.True(rt, ok)
				require.Equal(rt, h.id, got)
			}
		}
		require.Equal(rt, live, table.Busy())
	})
}

func TestHoldDoesNotAllocate(t *testing.T) {
	var table tag.Table
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if table.Hold(1, 0) != nil || table.End(1, 0) != nil {
			t.Fatal("refused")
		}
	}))
}

// often runs a property 10 times as often as the command line says.
func often(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	for range 10 {
		rapid.Check(t, prop)
	}
}
