package registry_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/registry"
)

func registryOf(t require.TestingT, active, cache int) *registry.Registry {
	r, err := registry.New(active, cache, 0)
	require.NoError(t, err)
	return r
}

func TestNew(t *testing.T) {
	for _, c := range [][2]int{{0, 1}, {1, 0}, {-1, 1}, {1, -1}} {
		_, err := registry.New(c[0], c[1], 0)
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	}
	_, err := registry.New(1, 1, -1)
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
}

// TestYoungIdsStay: nothing is forgotten within its control lifetime; ids that find no
// place in the cache take those of live ones.
func TestYoungIdsStay(t *testing.T) {
	spec.Covers(t, "KS-REG-6", "KS-REG-2")
	r, err := registry.New(2, 1, 100)
	require.NoError(t, err)
	for id := range uint64(2) {
		require.NoError(t, r.Open(id, 0))
		require.NoError(t, r.Close(id, true, "x", 10))
	}
	require.Equal(t, 2, r.Cached(), "both are young")
	require.NoError(t, r.Open(2, 109))
	require.ErrorIs(t, r.Open(3, 109), &sm.Refusal{Reason: sm.RegistryFull}, "a young one has the place")
	_, answer, _ := r.Look(0)
	require.Equal(t, registry.Silent, answer)
	require.NoError(t, r.Open(3, 110))
	require.Equal(t, 1, r.Cached())
}

// TestIdsNeedNotGrow: ids may come in any order, for longer than the cache remembers,
// and one that was forgotten may come again.
func TestIdsNeedNotGrow(t *testing.T) {
	spec.Covers(t, "KS-V1-3", "KS-REG-6", "KS-REG-23")
	r := registryOf(t, 1, 8)
	for i := range uint64(1000) {
		id := 1_000_000 - i
		if i%3 == 0 {
			id = 7 // again and again
			if i%27 != 0 {
				id = i
			}
		}
		require.NoError(t, r.Open(id, 0), "%d", i)
		require.NoError(t, r.Close(id, i%2 == 0, "x", 0))
		require.LessOrEqual(t, r.Cached(), 8)
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
		require.NoError(t, r.Open(id, 0))
	}
	active, answer, why := r.Look(11)
	require.True(t, active)
	require.Zero(t, answer)
	require.Empty(t, why)
	require.NoError(t, r.Close(10, false, sm.UserCancel, 0))
	require.NoError(t, r.Close(11, true, sm.ReasonNone, 0))
	look(10, "ended-rejected", sm.ContextEnded)
	look(11, "ended-committed", sm.ContextEnded)
	look(9, "never-published", sm.UnknownContext)
	look(99, "never-published", sm.UnknownContext)
	// The cache holds two: with the third end the oldest is forgotten, and everything
	// that could be it with it.
	require.NoError(t, r.Close(12, false, sm.UserCancel, 0))
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
		require.ErrorIs(t, r.Open(id, 0), &sm.Refusal{Reason: reason})
		require.Equal(t, []int{active, cached}, []int{r.Active(), r.Cached()})
	}
	require.NoError(t, r.Open(1, 0))
	refuse(1, sm.DuplicateID)
	require.NoError(t, r.Open(2, 0))
	refuse(3, sm.RegistryFull)
	require.Equal(t, 2, r.Active(), "live ids are never evicted")
	require.ErrorIs(t, r.Close(3, false, "", 0), &sm.Refusal{Reason: sm.UnknownContext})
	require.NoError(t, r.Close(1, true, "", 0))
	require.ErrorIs(t, r.Close(1, true, "", 0), &sm.Refusal{Reason: sm.UnknownContext}, "closed twice")
	refuse(1, sm.DuplicateID)
	require.NoError(t, r.Open(3, 0))
	require.NoError(t, r.Close(3, true, "", 0)) // evicts 1
	_, answer, _ := r.Look(1)
	require.Equal(t, registry.Silent, answer, "nobody remembers how it ended")
	require.NoError(t, r.Open(1, 0))
}

// TestRandomUse compares a registry with a naive history of every id.
func TestRandomUse(t *testing.T) {
	spec.Covers(t, "KS-V1-3", "KS-V1-7", "KS-REG-2", "KS-REG-3", "KS-REG-6")
	type end struct {
		id        uint64
		committed bool
		until     sm.Time
	}
	often(t, func(rt *rapid.T) {
		limit, cache := rapid.IntRange(1, 4).Draw(rt, "limit"), rapid.IntRange(1, 4).Draw(rt, "cache")
		lifetime := sm.Time(rapid.IntRange(0, 6).Draw(rt, "lifetime"))
		r, err := registry.New(limit, cache, lifetime)
		require.NoError(rt, err)
		live := map[uint64]bool{}
		var kept []end // remembered, oldest first
		var gone []uint64
		var now sm.Time
		evict := func() {
			for len(kept) > cache && now >= kept[0].until {
				gone = append(gone, kept[0].id)
				kept = kept[1:]
			}
		}
		known := func(id uint64) int { return slices.IndexFunc(kept, func(e end) bool { return e.id == id }) }
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			now += sm.Time(rapid.IntRange(0, 3).Draw(rt, "passed"))
			id := rapid.Uint64Range(0, 12).Draw(rt, "id")
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				evict()
				may := !live[id] && known(id) < 0 && len(live)+max(0, len(kept)-cache) < limit
				require.Equal(rt, may, r.Open(id, now) == nil)
				if may {
					live[id] = true
				}
			case 1:
				c := rapid.Bool().Draw(rt, "committed")
				require.Equal(rt, live[id], r.Close(id, c, "x", now) == nil)
				if live[id] {
					delete(live, id)
					kept = append(kept, end{id, c, now + lifetime})
					evict()
				}
			}
			for id := range uint64(13) {
				active, answer, _ := r.Look(id)
				require.Equal(rt, live[id], active)
				// The one lie that must never be told: ready=false for a committed attempt.
				switch i := known(id); {
				case active:
				case i >= 0 && !kept[i].committed:
					require.Equal(rt, registry.Reject, answer)
				case i >= 0, slices.Contains(gone, id):
					require.Equal(rt, registry.Silent, answer)
				case !slices.ContainsFunc(gone, func(g uint64) bool { return g >= id }):
					require.Equal(rt, registry.Reject, answer)
				}
			}
			require.Equal(rt, len(live), r.Active())
			require.Equal(rt, len(kept), r.Cached())
			require.LessOrEqual(rt, len(kept), cache+limit)
		}
	})
}

// TestLookDoesNotAllocate: a request of a peer costs no memory.
func TestLookDoesNotAllocate(t *testing.T) {
	r := registryOf(t, 2, 2)
	require.NoError(t, r.Open(1, 0))
	require.Zero(t, testing.AllocsPerRun(100, func() { r.Look(1); r.Look(2) }))
}

// often runs a property 10 times as often as the command line says.
func often(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	for range 10 {
		rapid.Check(t, prop)
	}
}
