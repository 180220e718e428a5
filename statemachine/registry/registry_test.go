package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/registry"
)

func registryOf(t require.TestingT, active, cache int) *registry.Registry {
	r, err := registry.New(active, cache)
	require.NoError(t, err)
	return r
}

func TestNew(t *testing.T) {
	for _, c := range [][2]int{{0, 1}, {1, 0}, {-1, 1}, {1, -1}} {
		_, err := registry.New(c[0], c[1])
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	}
}

// TestLateRequests plays the table of chapter 12 of what a request deserves that
// hits no active context.
func TestLateRequests(t *testing.T) {
	spec.Covers(t, "KS-V1-3", "KS-V1-7", "KS-V1-32")
	table, err := spec.LoadTable("late-requests")
	require.NoError(t, err)
	r := registryOf(t, 4, 2)
	look := func(id uint64, row string, why spec.Reason) {
		t.Helper()
		want := registry.Silent
		line, ok := table.Row(row)
		require.True(t, ok)
		if table.Cell(line, "answer") == "ready=false" {
			want = registry.Reject
		}
		active, answer, got := r.Look(id)
		require.False(t, active)
		require.Equal(t, want, answer)
		require.Equal(t, why, got)
	}
	for id := uint64(10); id < 14; id++ {
		require.NoError(t, r.Open(id))
	}
	active, answer, why := r.Look(11)
	require.True(t, active)
	require.Zero(t, answer)
	require.Empty(t, why)
	require.NoError(t, r.Close(10, false, sm.UserCancel))
	require.NoError(t, r.Close(11, true, sm.ReasonNone))
	look(10, "ended-rejected", sm.ContextEnded)
	look(11, "ended-committed", sm.ContextEnded)
	look(9, "never-published", sm.UnknownContext)
	look(99, "never-published", sm.UnknownContext)
	// The cache holds two: with the third end the oldest is forgotten, and everything
	// that could be it with it.
	require.NoError(t, r.Close(12, false, sm.UserCancel))
	require.Equal(t, 2, r.Cached())
	look(10, "forgotten", sm.ContextEnded)
	look(9, "forgotten", sm.ContextEnded)
	look(11, "ended-committed", sm.ContextEnded)
	look(12, "ended-rejected", sm.ContextEnded)
	look(99, "never-published", sm.UnknownContext)
	require.Len(t, table.Rows, 4)
}

func TestOpen(t *testing.T) {
	spec.Covers(t, "KS-V1-3", "KS-REG-2", "KS-REG-3")
	r := registryOf(t, 2, 1)
	refuse := func(id uint64, reason spec.Reason) {
		t.Helper()
		active, cached := r.Active(), r.Cached()
		require.ErrorIs(t, r.Open(id), &sm.Refusal{Reason: reason})
		require.Equal(t, []int{active, cached}, []int{r.Active(), r.Cached()})
	}
	require.NoError(t, r.Open(1))
	refuse(1, sm.DuplicateID)
	require.NoError(t, r.Open(2))
	refuse(3, sm.RegistryFull)
	require.Equal(t, 2, r.Active(), "live ids are never evicted")
	require.ErrorIs(t, r.Close(3, false, ""), &sm.Refusal{Reason: sm.UnknownContext})
	require.NoError(t, r.Close(1, true, ""))
	require.ErrorIs(t, r.Close(1, true, ""), &sm.Refusal{Reason: sm.UnknownContext}, "closed twice")
	refuse(1, sm.DuplicateID)
	require.NoError(t, r.Open(3))
	require.NoError(t, r.Close(3, true, "")) // evicts 1
	refuse(1, sm.DuplicateID)
	refuse(0, sm.DuplicateID)
	require.NoError(t, r.Open(4))
}

// TestRandomUse compares a registry with a naive history of every id.
func TestRandomUse(t *testing.T) {
	spec.Covers(t, "KS-V1-3", "KS-V1-7", "KS-REG-2", "KS-REG-3")
	often(t, func(rt *rapid.T) {
		limit, cache := rapid.IntRange(1, 4).Draw(rt, "limit"), rapid.IntRange(1, 4).Draw(rt, "cache")
		r := registryOf(rt, limit, cache)
		live := map[uint64]bool{}
		committed := map[uint64]bool{}
		var ended []uint64
		gone := func(id uint64) bool {
			for i := 0; i < len(ended)-cache; i++ {
				if id <= ended[i] {
					return true
				}
			}
			return false
		}
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			id := rapid.Uint64Range(0, 12).Draw(rt, "id")
			_, was := committed[id]
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				may := !live[id] && !was && !gone(id) && len(live) < limit
				require.Equal(rt, may, r.Open(id) == nil)
				if may {
					live[id] = true
				}
			case 1:
				c := rapid.Bool().Draw(rt, "committed")
				require.Equal(rt, live[id], r.Close(id, c, "x") == nil)
				if live[id] {
					delete(live, id)
					committed[id] = c
					ended = append(ended, id)
				}
			}
			for id := range uint64(13) {
				active, answer, _ := r.Look(id)
				require.Equal(rt, live[id], active)
				if active {
					continue
				}
				// The one lie that must never be told: ready=false for a committed attempt.
				if committed[id] {
					require.Equal(rt, registry.Silent, answer)
				} else if _, known := committed[id]; !known && !gone(id) {
					require.Equal(rt, registry.Reject, answer)
				}
			}
			require.Equal(rt, len(live), r.Active())
			require.Equal(rt, min(len(ended), cache), r.Cached())
		}
	})
}

// TestLookDoesNotAllocate: a request of a peer costs no memory.
func TestLookDoesNotAllocate(t *testing.T) {
	r := registryOf(t, 2, 2)
	require.NoError(t, r.Open(1))
	require.Zero(t, testing.AllocsPerRun(100, func() { r.Look(1); r.Look(2) }))
}

// often runs a property 10 times as often as the command line says.
func often(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	for range 10 {
		rapid.Check(t, prop)
	}
}
