package kv

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
)

// tiny has rows of 16 bytes, so that tests touch little memory.
var tiny = Geometry{Slug: "tiny", Layers: 1, Heads: 1, HeadDim: 8, KVFactor: 1, ElemBytes: 2, TokensPerBlock: 32}

// small has more than one of everything.
var small = Geometry{Slug: "small", Layers: 3, Heads: 2, HeadDim: 12, KVFactor: 2, ElemBytes: 2, TokensPerBlock: 32}

type fataler interface {
	require.TestingT
	Helper()
}

func newPool(t fataler, g Geometry, n int) *Pool {
	t.Helper()
	p, err := NewPool(make([]byte, PoolBytes(g, n)), g, n)
	require.NoError(t, err)
	return p
}

func TestPoolLayout(t *testing.T) {
	p := newPool(t, small, 4)
	require.Equal(t, small, p.Geometry())
	require.Equal(t, 4, p.Total())
	require.Equal(t, 4, p.FreeBlocks())
	for i := range p.mem {
		p.mem[i] = byte(i % 251)
	}
	want := 0
	for id := range BlockID(4) {
		require.Equal(t, p.mem[int(id)*small.BlockBytes():][:small.BlockBytes()], p.Block(id))
		for layer := range 3 {
			for kv := range 2 {
				piece := p.Piece(id, layer, kv)
				require.Len(t, piece, small.PieceBytes())
				require.Equal(t, small.PieceBytes(), cap(piece), "an append must not reach the next piece")
				require.Same(t, &p.mem[want], &piece[0])
				want += small.PieceBytes()
			}
		}
	}
	require.Equal(t, len(p.mem), want)
	require.Nil(t, p.Block(4))
	for _, bad := range [][3]int{{4, 0, 0}, {0, 3, 0}, {0, -1, 0}, {0, 0, 2}, {0, 0, -1}} {
		require.Nil(t, p.Piece(BlockID(bad[0]), bad[1], bad[2]), bad)
	}
}

func TestNewPoolRefuses(t *testing.T) {
	mem := make([]byte, PoolBytes(tiny, 3)-1)
	for _, n := range []int{-1, 0, 3, 1 << 33} {
		_, err := NewPool(mem, tiny, n)
		require.ErrorIs(t, err, &Error{Reason: ReasonBadMemory}, n)
	}
	_, err := NewPool(mem, tiny, 2)
	require.NoError(t, err)
}

func TestPoolAllOrNothing(t *testing.T) {
	p := newPool(t, tiny, 4)
	a, ok := p.Alloc(nil, 3)
	require.True(t, ok)
	require.Equal(t, []BlockID{0, 1, 2}, a)
	b, ok := p.Alloc([]BlockID{9}, 2)
	require.False(t, ok)
	require.Equal(t, []BlockID{9}, b)
	require.Equal(t, 1, p.FreeBlocks())
	_, ok = p.Alloc(nil, -1)
	require.False(t, ok)
	none, ok := p.Alloc(nil, 0)
	require.True(t, ok)
	require.Empty(t, none)

	bad := &Error{Reason: ReasonBadBlock}
	require.ErrorIs(t, p.Free([]BlockID{0, 1, 3}), bad, "3 is free")
	require.ErrorIs(t, p.Free([]BlockID{0, 1, 0}), bad, "0 twice")
	require.ErrorIs(t, p.Free([]BlockID{0, 77}), bad, "no such block")
	require.ErrorIs(t, p.Pin([]BlockID{0, 3}), bad)
	require.ErrorIs(t, p.Pin([]BlockID{4}), bad)
	require.False(t, p.Pinned(0), "a refused Pin has pinned")
	require.False(t, p.Pinned(99))
	require.NoError(t, p.Pin([]BlockID{0}))
	require.ErrorIs(t, p.Unpin([]BlockID{0, 0}), bad, "pinned once only")
	require.ErrorIs(t, p.Unpin([]BlockID{0, 1}), bad)
	require.True(t, p.Pinned(0), "a refused Unpin has unpinned")
	require.Equal(t, 1, p.FreeBlocks(), "refused calls have changed something")

	require.NoError(t, p.Free(a))
	require.Equal(t, 3, p.FreeBlocks())
	require.Equal(t, 1, p.Lingering())
	_, ok = p.Alloc(nil, 4)
	require.False(t, ok, "block 0 is pinned")
	require.NoError(t, p.Unpin([]BlockID{0}))
	require.Equal(t, 0, p.Lingering())
	c, ok := p.Alloc(nil, 4)
	require.True(t, ok)
	slices.Sort(c)
	require.Equal(t, []BlockID{0, 1, 2, 3}, c)
}

// TestPoolLastUnpins: two pins of a freed block, undone by one call, free it once.
func TestPoolLastUnpins(t *testing.T) {
	p := newPool(t, tiny, 2)
	a, ok := p.Alloc(nil, 1)
	require.True(t, ok)
	require.NoError(t, p.Pin(a))
	require.NoError(t, p.Pin(a))
	require.NoError(t, p.Free(a))
	require.NoError(t, p.Unpin([]BlockID{a[0], a[0]}))
	require.Equal(t, 2, p.FreeBlocks())
	require.Zero(t, p.Lingering())
}

// TestPoolModel walks the pool at random beside a model that counts.
func TestPoolModel(t *testing.T) {
	spec.Covers(t, ReqBlocks)
	rapid.Check(t, func(t *rapid.T) {
		const n = 6
		p := newPool(t, tiny, n)
		var owned [n]bool
		var pins [n]int
		ids := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) BlockID {
			return BlockID(rapid.IntRange(0, n).Draw(t, "id")) // n is one too many
		}), 0, 4)
		count := func(s []BlockID, id BlockID) int {
			c := 0
			for _, x := range s {
				if x == id {
					c++
				}
			}
			return c
		}
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				k := rapid.IntRange(0, n).Draw(t, "k")
				got, ok := p.Alloc(nil, k)
				free := 0
				for i := range n {
					if !owned[i] && pins[i] == 0 {
						free++
					}
				}
				require.Equal(t, k <= free, ok)
				for _, id := range got {
					require.False(t, owned[id], "block has two owners")
					require.Zero(t, pins[id], "pinned block handed out")
					owned[id] = true
				}
			},
			"free": func(t *rapid.T) {
				s := ids.Draw(t, "ids")
				good := true
				for _, id := range s {
					good = good && id < n && owned[id] && count(s, id) == 1
				}
				require.Equal(t, good, p.Free(s) == nil)
				for _, id := range s {
					if good {
						owned[id] = false
					}
				}
			},
			"pin": func(t *rapid.T) {
				s := ids.Draw(t, "ids")
				good := true
				for _, id := range s {
					good = good && id < n && owned[id]
				}
				require.Equal(t, good, p.Pin(s) == nil)
				for _, id := range s {
					if good {
						pins[id]++
					}
				}
			},
			"unpin": func(t *rapid.T) {
				s := ids.Draw(t, "ids")
				good := true
				for _, id := range s {
					good = good && id < n && pins[id] >= count(s, id)
				}
				require.Equal(t, good, p.Unpin(s) == nil)
				for _, id := range s {
					if good {
						pins[id]--
					}
				}
			},
			"": func(t *rapid.T) {
				free, lingering := 0, 0
				for i := range n {
					require.Equal(t, pins[i] > 0, p.Pinned(BlockID(i)))
					switch {
					case owned[i]:
					case pins[i] > 0:
						lingering++
					default:
						free++
					}
				}
				require.Equal(t, free, p.FreeBlocks())
				require.Equal(t, lingering, p.Lingering())
				seen := map[BlockID]bool{}
				for _, id := range p.free {
					require.False(t, seen[id], "block is free twice")
					seen[id] = true
				}
			},
		})
	})
}
