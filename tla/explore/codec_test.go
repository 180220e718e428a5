package explore

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/world"
)

// mixed has padding, strings and unaligned parts.
type mixed struct {
	A uint8
	B uint32
	C spec.Reason
	D [3]struct {
		E bool
		F int64
		g spec.Reason
	}
	H [5]uint16
	I int8
}

func drawMixed(t *rapid.T) mixed {
	reason := rapid.SampledFrom([]spec.Reason{"", "a", "b", "slot-too-small"})
	m := mixed{
		A: rapid.Uint8Range(0, 2).Draw(t, "a"), B: rapid.Uint32Range(0, 1).Draw(t, "b"), C: reason.Draw(t, "c"),
		I: rapid.Int8Range(-1, 1).Draw(t, "i"),
	}
	m.D[1].E = rapid.Bool().Draw(t, "e")
	m.D[2].F = rapid.Int64Range(-1, 1).Draw(t, "f")
	m.D[2].g = reason.Draw(t, "g")
	m.H[4] = rapid.Uint16Range(0, 2).Draw(t, "h")
	return m
}

func TestKeyIsTheState(t *testing.T) {
	c, err := NewCodec[mixed]()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawMixed(t), drawMixed(t)
		ka, kb := c.Append(nil, &a), c.Append(nil, &b)
		require.Equal(t, a == b, Hash(ka) == Hash(kb))
		require.Equal(t, a == b, equal(ka, kb))
		back := b
		rest := c.Read(append(ka, 7), &back)
		require.Equal(t, a, back)
		require.Equal(t, []uint64{7}, rest)
	})
}

func equal(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Padding holds whatever was in memory: it must not count.
func TestPaddingDoesNotCount(t *testing.T) {
	c, err := NewCodec[gen.Machine]()
	require.NoError(t, err)
	var ones, zero gen.Machine
	codecFill(c, &ones)
	ones = gen.Machine{}
	require.Equal(t, zero, ones)
	require.Equal(t, c.Append(nil, &zero), c.Append(nil, &ones))
}

// codecFill sets every bit of m that a key reads.
func codecFill(c *Codec[gen.Machine], m *gen.Machine) {
	words := make([]uint64, len(c.masks))
	key := []uint64{}
	for i := range words {
		if c.masks[i] != 0 {
			key = append(key, c.masks[i])
		}
	}
	maps := make([]uint64, (len(words)+63)/64)
	for i := range words {
		if c.masks[i] != 0 {
			maps[i/64] |= 1 << (i % 64)
		}
	}
	c.Read(append(maps, key...), m)
}

func TestNamesFromManyGoroutines(t *testing.T) {
	var n names
	n.byText.Store(&map[string]uint64{"": 0})
	n.list.Store(&[]string{""})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100 {
				s := string(rune('a' + (i*(g+1))%26))
				id := n.number(s)
				if (*n.list.Load())[id] != s {
					t.Errorf("%q has another's number", s)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, *n.list.Load(), 27)
}

func TestHashHasNoVisibleWeakness(t *testing.T) {
	seen := map[Print]bool{}
	halves := map[uint64]bool{}
	for i := range uint64(1 << 16) {
		for _, key := range [][]uint64{{i}, {0, i}, {i, 0}, {i << 48}} {
			p := Hash(key)
			if i > 0 || len(key) == 1 {
				halves[p[0]] = true
			}
			seen[p] = true
		}
	}
	// {0,0} comes twice, {0} twice.
	require.Len(t, seen, 4<<16-2)
	require.GreaterOrEqual(t, len(halves), 4<<16-5)
}

// TestAgainstNaive compares the explorer with a search that is too simple to be
// wrong: a map with whole states as keys.
func TestAgainstNaive(t *testing.T) {
	cfg, ok := world.V1Size("small")
	require.True(t, ok)
	cfg.Cases = cfg.Cases[1:4]
	m, err := world.V1(cfg)
	require.NoError(t, err)
	type edge struct {
		from, to world.V1State
		action   world.Action
	}
	states, edges := map[world.V1State]int{}, map[edge]bool{}
	var queue []world.V1State
	for _, s := range m.Init {
		states[s] = 1
		queue = append(queue, s)
	}
	depth := 0
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		depth = max(depth, states[s])
		m.Next(&s, world.NewOut(func(ev world.Event, n *world.V1State) {
			edges[edge{s, *n, ev.Action}] = true
			if _, ok := states[*n]; !ok {
				states[*n] = states[s] + 1
				queue = append(queue, *n)
			}
		}))
	}
	rep, err := Run(context.Background(), m, Options{Workers: 2})
	require.NoError(t, err)
	require.Equal(t, len(states), rep.States)
	require.Equal(t, len(edges), rep.Edges)
	require.Equal(t, depth, rep.Depth)
	t.Logf("%d states, %d edges, depth %d", rep.States, rep.Edges, rep.Depth)

	// Nothing is hidden by the canonical form.
	texts := map[string]world.V1State{}
	for s := range states {
		v, err := m.Canon(&s)
		require.NoError(t, err)
		other, ok := texts[v.String()]
		require.False(t, ok, "two states look alike:\n%+v\n%+v", s, other)
		texts[v.String()] = s
	}
}

// odd has a size that is no multiple of 8.
type odd struct {
	A [11]uint8
	B int16
}

func TestKeyOfOddSize(t *testing.T) {
	c, err := NewCodec[odd]()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		var a, b odd
		a.A[rapid.IntRange(0, 10).Draw(t, "i")] = rapid.Uint8Range(0, 2).Draw(t, "v")
		b.B, a.B = rapid.Int16Range(-1, 1).Draw(t, "b"), rapid.Int16Range(-1, 1).Draw(t, "a")
		ka, kb := c.Append(nil, &a), c.Append(nil, &b)
		require.Equal(t, a == b, equal(ka, kb))
		back := b
		require.Empty(t, c.Read(ka, &back))
		require.Equal(t, a, back)
	})
}
