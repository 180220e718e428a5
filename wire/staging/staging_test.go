package staging

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func drawRegion(t *rapid.T) Region {
	n := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
	return Region{
		Heads: rapid.SliceOfN(rapid.IntRange(1, 3), 1, 4).Draw(t, "heads"), Factor: n("factor", 2), Blocks: n("blocks", 3),
		Tokens: n("tokens", 4), HeadSize: n("head size", 4), ElementBytes: n("element", 4),
	}
}

// each visits every element in the order of the chapter.
func each(r *Region, f func(Index)) {
	for l, heads := range r.Heads {
		for kv := range r.Factor {
			for b := range r.Blocks {
				for tok := range r.Tokens {
					for h := range heads {
						for d := range r.HeadSize {
							f(Index{l, kv, b, tok, h, d})
						}
					}
				}
			}
		}
	}
}

// TestOrder walks a region as the chapter orders it: each element begins where the
// one before it ended, and the last one ends the region, also where layers differ
// in their heads.
func TestOrder(t *testing.T) {
	spec.Covers(t, "KS-STG-1", "KS-STG-4")
	rapid.Check(t, func(t *rapid.T) {
		r := drawRegion(t)
		var next uint64
		each(&r, func(i Index) {
			at, err := r.Offset(i)
			require.NoError(t, err)
			require.Equal(t, next, at, "%+v", i)
			next += uint64(r.ElementBytes)
		})
		size, err := r.Size()
		require.NoError(t, err)
		require.Equal(t, next, size)
		whole := uint64(0) // whole blocks: a block more adds the same everywhere
		for _, heads := range r.Heads {
			whole += uint64(r.Factor * r.Tokens * heads * r.HeadSize * r.ElementBytes)
		}
		require.Equal(t, whole*uint64(r.Blocks), size)
	})
}

func TestGolden(t *testing.T) {
	spec.Covers(t, "KS-STG-1")
	r := Region{Heads: []int{8, 4}, Factor: 2, Blocks: 3, Tokens: 32, HeadSize: 128, ElementBytes: 2}
	size, err := r.Size()
	require.NoError(t, err)
	require.Equal(t, uint64(2*3*32*8*128*2+2*3*32*4*128*2), size)
	at, err := r.Offset(Index{Layer: 1, KV: 1, Block: 2, Token: 31, Head: 3, Dim: 127})
	require.NoError(t, err)
	require.Equal(t, size-2, at)
	at, err = r.Offset(Index{Layer: 1, KV: 1})
	require.NoError(t, err)
	require.Equal(t, uint64(2*3*32*8*128*2+3*32*4*128*2), at)
	mla := Region{Heads: []int{1, 1}, Factor: 1, Blocks: 1, Tokens: 64, HeadSize: 576, ElementBytes: 2}
	at, err = mla.Offset(Index{Layer: 1})
	require.NoError(t, err)
	require.Equal(t, uint64(64*576*2), at, "MLA has no V between its layers")
	none := Region{}
	size, err = none.Size()
	require.NoError(t, err)
	require.Zero(t, size)
}

func TestRefused(t *testing.T) {
	spec.Covers(t, "KS-STG-6", "KS-STG-1")
	good := Region{Heads: []int{2, 3}, Factor: 2, Blocks: 2, Tokens: 2, HeadSize: 2, ElementBytes: 2}
	const big = 1 << 40
	for name, c := range map[string]struct {
		change func(*Region)
		reason any
		req    string
	}{
		"no head":       {func(r *Region) { r.Heads = []int{2, 0} }, wire.ReasonOutOfRange, "KS-STG-1"},
		"factor 3":      {func(r *Region) { r.Factor = 3 }, wire.ReasonOutOfRange, "KS-STG-1"},
		"no block":      {func(r *Region) { r.Blocks = 0 }, wire.ReasonOutOfRange, "KS-STG-1"},
		"negative":      {func(r *Region) { r.Tokens = -1 }, wire.ReasonOutOfRange, "KS-STG-1"},
		"product":       {func(r *Region) { r.Blocks, r.HeadSize = big, big }, wire.ReasonTooLarge, "KS-STG-6"},
		"sum":           {func(r *Region) { r.Heads, r.Blocks = []int{1 << 20, 1 << 20, 1 << 20, 1 << 20}, 1<<38 }, wire.ReasonTooLarge, "KS-STG-6"},
		"largest heads": {func(r *Region) { r.Heads = []int{math.MaxInt} }, wire.ReasonTooLarge, "KS-STG-6"},
	} {
		r := good
		c.change(&r)
		_, err := r.Size()
		e := wiretest.Refused(t, err, 0)
		require.Equal(t, c.reason, e.Reason, name)
		require.Equal(t, c.req, e.Req, name)
		_, again := r.Offset(Index{})
		require.Equal(t, err, again, name)
	}
	for _, i := range []Index{{Layer: 2}, {Layer: -1}, {KV: 2}, {Block: 2}, {Token: 2}, {Head: 2}, {Dim: 2}, {Layer: 1, Head: 3}, {Dim: -1}} {
		_, err := good.Offset(i)
		require.Equal(t, wire.ReasonOutOfRange, wiretest.Refused(t, err, 0).Reason, "%+v", i)
	}
}

func TestPlace(t *testing.T) {
	spec.Covers(t, "KS-STG-3", "KS-STG-5", "KS-STG-6")
	got, err := Place([]uint64{99}, []uint64{10, 0, 5}, 15)
	require.NoError(t, err)
	require.Equal(t, []uint64{99, 0, 10, 10}, got)
	require.NoError(t, CheckPlaces(got[1:], []uint64{10, 0, 5}, 15))
	for _, c := range []struct{ sizes, places []uint64 }{
		{[]uint64{10, 6}, []uint64{0, 10}}, {[]uint64{math.MaxUint64, 2}, []uint64{0, 0}}, {[]uint64{16}, []uint64{0}},
	} {
		kept, err := Place([]uint64{7}, c.sizes, 15)
		require.Equal(t, []uint64{7}, kept)
		require.Equal(t, "KS-STG-5", wiretest.Refused(t, err, 0).Req)
		require.Equal(t, err, CheckPlaces(c.places, c.sizes, 15))
	}
	for want, places := range map[any][]uint64{
		wire.ReasonBadOrder: {5, 0}, wire.ReasonBadCount: {0},
	} {
		e := wiretest.Refused(t, CheckPlaces(places, []uint64{10, 5}, 15), 0)
		require.Equal(t, want, e.Reason)
		require.Equal(t, "KS-STG-3", e.Req)
	}
	require.Error(t, CheckPlaces([]uint64{0, 11}, []uint64{10, 4}, 15), "a gap")
}

func TestChunks(t *testing.T) {
	spec.Covers(t, "KS-STG-2", "KS-STG-5")
	rapid.Check(t, func(rt *rapid.T) {
		cuts := rapid.SliceOfN(rapid.Uint64Range(1, 9), 1, 9).Draw(rt, "lengths")
		var chunks []Span
		var size uint64
		for _, n := range cuts {
			chunks = append(chunks, Span{size, n})
			size += n
		}
		chunks = rapid.Permutation(chunks).Draw(rt, "order")
		require.NoError(t, CheckChunks(size, chunks))
		i := rapid.IntRange(0, len(chunks)-1).Draw(rt, "one")
		require.Equal(t, wire.ReasonMissing, wiretest.Refused(t, CheckChunks(size+1, chunks), 0).Reason)
		require.Equal(t, wire.ReasonDuplicate, wiretest.Refused(t, CheckChunks(size, append(chunks, chunks[i])), 0).Reason)
		less := append(append([]Span(nil), chunks[:i]...), chunks[i+1:]...)
		require.Equal(t, wire.ReasonMissing, wiretest.Refused(t, CheckChunks(size, less), 0).Reason)
	})
	for _, c := range []Span{{0, 11}, {5, 6}, {10, 1}, {11, 1}, {1, math.MaxUint64}, {math.MaxUint64, 1}} {
		e := wiretest.Refused(t, CheckChunks(10, []Span{c}), 0)
		require.Equal(t, wire.ReasonOutOfRange, e.Reason)
		require.Equal(t, "KS-STG-5", e.Req)
	}
	require.Equal(t, wire.ReasonBadValue, wiretest.Refused(t, CheckChunks(10, []Span{{0, 10}, {10, 0}}), 0).Reason)
	require.NoError(t, CheckChunks(0, nil))
}
