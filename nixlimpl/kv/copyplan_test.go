package kv

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
)

// addresses returns, for each byte of the slot, its offset in the pool: one loop
// for each level of the layout and no arithmetic shared with the code under test.
func addresses(g Geometry, blocks []BlockID) []int {
	var out []int
	for l := range g.Layers {
		for f := range g.KVFactor {
			for _, b := range blocks {
				for t := range g.TokensPerBlock {
					for h := range g.Heads {
						for d := range g.HeadDim {
							for e := range g.ElemBytes {
								at := int(b)
								at = at*g.Layers + l
								at = at*g.KVFactor + f
								at = at*g.TokensPerBlock + t
								at = at*g.Heads + h
								at = at*g.HeadDim + d
								out = append(out, at*g.ElemBytes+e)
							}
						}
					}
				}
			}
		}
	}
	return out
}

// checkCopy compares one Gather and one Scatter with the table of addresses.
func checkCopy(t require.TestingT, g Geometry, total int, blocks []BlockID, off, n int, seed byte) {
	mem := make([]byte, PoolBytes(g, total))
	p, err := NewPool(mem, g, total)
	require.NoError(t, err)
	for i := range mem {
		mem[i] = byte(i) ^ byte(i>>8)*3 ^ seed
	}
	l := Layout{Geometry: g, Blocks: len(blocks)}
	addr := addresses(g, blocks)
	require.Len(t, addr, l.Bytes())

	dst := make([]byte, n+2)
	want := make([]byte, n+2)
	for i := range n {
		want[i] = mem[addr[off+i]]
	}
	require.NoError(t, l.Gather(dst, p, blocks, off, n))
	require.Equal(t, want, dst)

	src := make([]byte, n+2)
	for i := range src {
		src[i] = byte(i*7) ^ ^seed
	}
	after := append([]byte(nil), mem...)
	for i := range n {
		after[addr[off+i]] = src[i]
	}
	require.NoError(t, l.Scatter(src, p, blocks, off, n))
	require.Equal(t, after, mem)
}

var copyGeometries = []Geometry{
	tiny, small,
	{Slug: "mla", Layers: 4, Heads: 1, HeadDim: 24, KVFactor: 1, ElemBytes: 2, TokensPerBlock: 32},
	{Slug: "wide", Layers: 2, Heads: 3, HeadDim: 16, KVFactor: 2, ElemBytes: 1, TokensPerBlock: 64},
}

func TestCopyPlanModel(t *testing.T) {
	spec.Covers(t, ReqLayout)
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(copyGeometries).Draw(t, "geometry")
		total := rapid.IntRange(1, 6).Draw(t, "total")
		all := make([]BlockID, total)
		for i := range all {
			all[i] = BlockID(i)
		}
		blocks := rapid.Permutation(all).Draw(t, "blocks")[:rapid.IntRange(0, total).Draw(t, "count")]
		size := Layout{Geometry: g, Blocks: len(blocks)}.Bytes()
		off := rapid.IntRange(0, size).Draw(t, "off")
		n := rapid.IntRange(0, size-off).Draw(t, "n")
		if rapid.Bool().Draw(t, "whole pieces") {
			off -= off % g.PieceBytes()
			n -= n % g.PieceBytes()
		}
		checkCopy(t, g, total, blocks, off, n, rapid.Byte().Draw(t, "seed"))
	})
}

func FuzzCopyPlan(f *testing.F) {
	f.Fuzz(func(t *testing.T, geo, total, count, stride uint8, off, n uint32, seed byte) {
		g := copyGeometries[int(geo)%len(copyGeometries)]
		have := 1 + int(total)%6
		blocks := make([]BlockID, int(count)%(have+1))
		for i := range blocks { // repeats are possible and must do no harm to Gather
			blocks[i] = BlockID((i*int(stride) + int(seed)) % have)
		}
		l := Layout{Geometry: g, Blocks: len(blocks)}
		size := l.Bytes()
		o := int(off) % (size + 1)
		k := int(n) % (size - o + 1)
		checkCopy(t, g, have, blocks, o, k, seed)

		// The raw numbers: refused or carried out, never more than that.
		p := newPool(t, g, have)
		buf := make([]byte, size)
		err := l.Gather(buf, p, blocks, int(int32(off)), int(int32(n)))
		fits := int32(off) >= 0 && int32(n) >= 0 && int64(off)+int64(n) <= int64(size)
		require.Equal(t, fits, err == nil)
	})
}

func TestFuzzSeeds(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "fuzz", "FuzzCopyPlan"))
	require.NoError(t, err)
	require.Len(t, files, 6)
}

func TestCopyPlanRefuses(t *testing.T) {
	p := newPool(t, small, 4)
	for i := range p.mem {
		p.mem[i] = 0x11
	}
	blocks := []BlockID{2, 0, 3}
	l := Layout{Geometry: small, Blocks: 3}
	size := l.Bytes()
	require.Equal(t, 3*small.BlockBytes(), size)
	buf := make([]byte, size)
	other := small
	other.Slug = "other"
	rangeErr, blockErr := &Error{Reason: ReasonBadRange}, &Error{Reason: ReasonBadBlock}
	for name, tc := range map[string]struct {
		l      Layout
		buf    []byte
		blocks []BlockID
		off, n int
		want   *Error
	}{
		"negative off":     {l, buf, blocks, -1, 1, rangeErr},
		"negative n":       {l, buf, blocks, 0, -1, rangeErr},
		"past the end":     {l, buf, blocks, 1, size, rangeErr},
		"off past the end": {l, buf, blocks, size + 1, 0, rangeErr},
		"overflow":         {l, buf, blocks, 1, 1<<63 - 1, rangeErr},
		"short buffer":     {l, buf[:9], blocks, 0, 10, rangeErr},
		"fewer blocks":     {l, buf, blocks[:2], 0, 1, rangeErr},
		"more blocks":      {l, buf, append(blocks, 1), 0, 1, rangeErr},
		"negative blocks":  {Layout{small, -1}, buf, nil, 0, 0, rangeErr},
		"geometry":         {Layout{other, 3}, buf, blocks, 0, 1, rangeErr},
		"block id":         {l, buf, []BlockID{2, 4, 3}, 0, size, blockErr},
		"last block id":    {l, buf, []BlockID{2, 0, 1 << 31}, 0, size, blockErr},
		"wrapped block id": {l, buf, []BlockID{9, 0, 1}, 2 * small.PieceBytes(), small.PieceBytes() + 1, blockErr},
	} {
		require.ErrorIs(t, tc.l.Gather(tc.buf, p, tc.blocks, tc.off, tc.n), tc.want, name)
		require.ErrorIs(t, tc.l.Scatter(tc.buf, p, tc.blocks, tc.off, tc.n), tc.want, name)
	}
	require.Equal(t, make([]byte, size), buf, "a refused Gather has copied")
	for _, b := range p.mem {
		require.Equal(t, byte(0x11), b, "a refused Scatter has copied")
	}
	require.NoError(t, l.Gather(nil, p, blocks, size, 0))
	require.NoError(t, Layout{Geometry: small}.Gather(nil, p, nil, 0, 0))
	// A block that the range does not touch is not looked at.
	require.NoError(t, l.Gather(buf, p, []BlockID{0, 1, 99}, 0, 2*small.PieceBytes()))
}

// TestCopyConcurrent moves one slot in disjoint chunks from several goroutines;
// the race detector watches.
func TestCopyConcurrent(t *testing.T) {
	src, dst := newPool(t, small, 8), newPool(t, small, 8)
	blocks := []BlockID{5, 1, 7, 0, 3}
	for i, id := range blocks {
		require.NoError(t, src.FillBlock(id, Content{Hash: 6, FirstPos: 32 * i, Valid: 32 - i}))
	}
	l := Layout{Geometry: small, Blocks: len(blocks)}
	slot := make([]byte, l.Bytes())
	const chunk = 1000 // on no boundary
	var wg sync.WaitGroup
	for off := 0; off < len(slot); off += chunk {
		wg.Go(func() {
			n := min(chunk, len(slot)-off)
			if err := l.Gather(slot[off:], src, blocks, off, n); err != nil {
				t.Error(err)
			}
			if err := l.Scatter(slot[off:], dst, blocks, off, n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, id := range blocks {
		ok, at := dst.VerifyBlock(id, Content{Hash: 6, FirstPos: 32 * i, Valid: 32 - i})
		require.True(t, ok, "block %d, byte %d", i, at)
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	p := newPool(t, small, 8)
	ids, ok := p.Alloc(make([]BlockID, 0, 8), 8)
	require.True(t, ok)
	l := Layout{Geometry: small, Blocks: 8}
	slot := make([]byte, l.Bytes())
	c := Content{Hash: 1, Valid: 32}
	require.Zero(t, testing.AllocsPerRun(20, func() {
		good := l.Gather(slot, p, ids, 0, len(slot)) == nil && l.Scatter(slot, p, ids, 0, len(slot)) == nil
		good = good && p.FillBlock(3, c) == nil
		same, _ := p.VerifyBlock(3, c)
		StampFree(slot, 1, 2)
		good = good && same && CheckFree(slot, 1, 2) == 0
		good = good && p.Pin(ids) == nil && p.Unpin(ids) == nil && p.Free(ids) == nil
		ids, same = p.Alloc(ids[:0], 8)
		if !good || !same {
			t.Error("a hot path failed")
		}
	}))
}
