package world_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/world"
)

func ExampleLookupFinding() {
	f, ok := world.LookupFinding("D15")
	fmt.Println(ok, f.Confirmed(), len(f.Asks))
	// Output: true false 3
}

func ExampleSort() {
	m, err := world.Sort(world.SortConfig{Codec: true})
	fmt.Println(m.Name, m.Invariants[0].Name, err)
	// Output: sort PlacesDiffer <nil>
}

func ExampleWatch() {
	f, _ := world.LookupFinding("D1")
	m, err := world.Watch(f.Asks[0].World.(world.V2Watch))
	fmt.Println(m.Name, m.Bounds[0], m.Bounds[1], err)
	// Output: v2 {GEN ranks 1} {CTX ranks 1} <nil>
}

// look walks some states of a finding's world: the same events each time, none that
// loses its state, properties that can be asked and a form for readers everywhere.
func look[S comparable](t *testing.T, m *world.Model[S], err error) (states int, properties []string) {
	t.Helper()
	require.NoError(t, err)
	require.NotEmpty(t, m.Bounds)
	for _, inv := range m.Invariants {
		properties = append(properties, inv.Name)
	}
	type step struct {
		ev   world.Event
		next S
	}
	all := func(s S) (out []step) {
		m.Next(&s, world.NewOut(func(ev world.Event, n *S) { out = append(out, step{ev, *n}) }))
		return out
	}
	seen := map[S]bool{}
	queue := append([]S(nil), m.Init...)
	for len(queue) > 0 && len(seen) < 300 {
		s := queue[0]
		queue = queue[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		before := s
		for _, inv := range m.Invariants {
			inv.Holds(&s)
		}
		m.Settled(&s)
		require.Equal(t, before, s, "asking changes nothing")
		_, err := m.Canon(&s)
		require.NoError(t, err)
		steps := all(s)
		require.Equal(t, steps, all(s))
		for _, st := range steps {
			require.NotContains(t, m.Describe(st.ev), "action ")
			from, to := m.Actions[st.ev.Action].Ends(st.ev)
			require.NotEmpty(t, from+to)
			require.NotContains(t, from+to, "{")
			queue = append(queue, st.next)
		}
	}
	return len(seen), properties
}

// TestFindingWorlds: every world of every finding can be walked, and has the property
// that it is asked.
func TestFindingWorlds(t *testing.T) {
	for _, f := range world.Findings() {
		for i, a := range f.Asks {
			var n int
			var properties []string
			switch cfg := a.World.(type) {
			case world.V2Watch:
				m, err := world.Watch(cfg)
				n, properties = look(t, m, err)
			case world.V1Config:
				m, err := world.WatchV1(cfg)
				n, properties = look(t, m, err)
			case world.RoundWatch:
				m, err := world.WatchRound(cfg)
				n, properties = look(t, m, err)
			case world.NoPeerConfig:
				m, err := world.NoPeer(cfg)
				n, properties = look(t, m, err)
			case world.PressureConfig:
				m, err := world.Pressure(cfg)
				n, properties = look(t, m, err)
			case world.SortConfig:
				m, err := world.Sort(cfg)
				n, properties = look(t, m, err)
			case world.WindowConfig:
				m, err := world.Window(cfg)
				n, properties = look(t, m, err)
			case world.ReuseConfig:
				m, err := world.Reuse(cfg)
				n, properties = look(t, m, err)
			default:
				t.Fatalf("%s, question %d: a world of type %T", f.Name, i+1, a.World)
			}
			require.Greater(t, n, 10, "%s, question %d", f.Name, i+1)
			if a.Property != world.Stuck {
				require.Contains(t, properties, a.Property, "%s, question %d", f.Name, i+1)
			}
		}
	}
	_, ok := world.LookupFinding("D17")
	require.False(t, ok)
}

// TestFindingWorldsRefuse: sizes that cannot be are refused.
func TestFindingWorldsRefuse(t *testing.T) {
	_, err := world.Watch(world.V2Watch{})
	require.Error(t, err)
	_, err = world.Watch(world.V2Watch{V2Config: world.V2Config{Cases: []world.V2Case{{Gens: 9}}}})
	require.Error(t, err)
	_, err = world.WatchV1(world.V1Config{Cases: []world.V1Case{{Gens: 9}}})
	require.Error(t, err)
	_, err = world.WatchRound(world.RoundWatch{})
	require.Error(t, err)
	_, err = world.Window(world.WindowConfig{})
	require.Error(t, err)
	_, err = world.Window(world.WindowConfig{Window: 1, Messages: 99})
	require.Error(t, err)
	_, err = world.NoPeer(world.NoPeerConfig{Ctxs: 3, Gens: 1})
	require.Error(t, err)
	_, err = world.Pressure(world.PressureConfig{Gens: 1, Requests: 9, Active: 1})
	require.Error(t, err)
}
