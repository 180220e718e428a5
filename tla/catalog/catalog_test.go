package catalog_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

func ExampleNew() {
	m, err := catalog.New("slot", "small")
	if err != nil {
		panic(err)
	}
	rep, err := m.Explore(context.Background(), explore.Options{})
	fmt.Println(rep.States, rep.Edges, len(rep.Violations), len(rep.Hangs), err)
	// Output: 1058 3204 0 0 <nil>
}

// states collects keys.
type states struct{ keys [][]uint64 }

func (s *states) State(_ int, _ uint32, key []uint64) {
	s.keys = append(s.keys, append([]uint64(nil), key...))
}
func (s *states) Edge(_ int, _, _ uint32, _ world.Action) {}

// TestCanonOfKeys reads the canonical form of every state of a run by its key.
func TestCanonOfKeys(t *testing.T) {
	for _, name := range []string{"slot", "round", "negotiate"} {
		m, err := catalog.New(name, "small")
		require.NoError(t, err)
		_, err = m.Canon(nil)
		require.ErrorIs(t, err, explore.ErrModel, "before a run")
		var sink states
		rep, err := m.Explore(context.Background(), explore.Options{Workers: 1, Sink: &sink})
		require.NoError(t, err)
		require.Len(t, sink.keys, rep.States)
		texts := map[string]bool{}
		for _, key := range sink.keys {
			v, err := m.Canon(key)
			require.NoError(t, err)
			texts[v.String()] = true
		}
		require.Len(t, texts, rep.States, "%s: states that look alike", name)
	}
}

func TestCatalog(t *testing.T) {
	_, err := catalog.New("none", "small")
	require.ErrorIs(t, err, catalog.ErrUnknown)
	_, err = catalog.New("v1", "huge")
	require.ErrorIs(t, err, catalog.ErrUnknown)
	for _, name := range catalog.Names() {
		m, err := catalog.New(name, "small")
		require.NoError(t, err)
		require.Equal(t, name, m.Name())
		require.Equal(t, "small", m.Size())
		require.NotEmpty(t, m.Invariants())
		require.NotEmpty(t, m.Actions())
		require.False(t, m.Twins())
		m.Leaves()
		m.Rows()
	}
}
