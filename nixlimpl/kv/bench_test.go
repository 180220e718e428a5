package kv

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// benchBytes and the unscaled geometry give 64 MiB in pieces of 64 KiB.
const benchBytes = 64 << 20

// mapped returns zeroed memory outside the Go heap, all pages present.
func mapped(tb testing.TB, n int) []byte {
	tb.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, unix.Munmap(b)) })
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	return b
}

// benchPool returns a pool of 64 MiB and its blocks in a scattered order.
func benchPool(b *testing.B) (*Pool, []BlockID, Layout) {
	b.Helper()
	g, err := Lookup("llama-3.1-8b")
	require.NoError(b, err)
	require.Equal(b, 64<<10, g.PieceBytes())
	n := benchBytes / g.BlockBytes()
	p, err := NewPool(mapped(b, benchBytes), g, n)
	require.NoError(b, err)
	ids, ok := p.Alloc(nil, n)
	require.True(b, ok)
	for i := range ids { // 7 is odd, so this is a permutation of a power of two
		ids[i] = BlockID((i*7 + 3) % n)
	}
	return p, ids, Layout{Geometry: g, Blocks: n}
}

func report(b *testing.B) {
	b.ReportMetric(float64(b.N)*benchBytes/b.Elapsed().Seconds()/1e9, "GB/s")
}

func BenchmarkGather(b *testing.B) {
	p, ids, l := benchPool(b)
	slot := mapped(b, l.Bytes())
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Gather(slot, p, ids, 0, len(slot)); err != nil {
			b.Fatal(err)
		}
	}
	report(b)
}

func BenchmarkScatter(b *testing.B) {
	p, ids, l := benchPool(b)
	slot := mapped(b, l.Bytes())
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Scatter(slot, p, ids, 0, len(slot)); err != nil {
			b.Fatal(err)
		}
	}
	report(b)
}

// BenchmarkGatherChunks gathers in chunks of 1 MiB, as a transfer does.
func BenchmarkGatherChunks(b *testing.B) {
	p, ids, l := benchPool(b)
	slot := mapped(b, l.Bytes())
	const chunk = 1 << 20
	b.ReportAllocs()
	for b.Loop() {
		for off := 0; off < len(slot); off += chunk {
			if err := l.Gather(slot[off:], p, ids, off, chunk); err != nil {
				b.Fatal(err)
			}
		}
	}
	report(b)
}

func BenchmarkContiguousCopy(b *testing.B) {
	src, dst := mapped(b, benchBytes), mapped(b, benchBytes)
	for b.Loop() {
		copy(dst, src)
	}
	report(b)
}

// BenchmarkPieceCopy copies block by block, pool to pool, one thread.
func BenchmarkPieceCopy(b *testing.B) {
	src, ids, l := benchPool(b)
	dst, _, _ := benchPool(b)
	for b.Loop() {
		for _, id := range ids {
			for layer := range l.Geometry.Layers {
				for kv := range l.Geometry.KVFactor {
					copy(dst.Piece(id, layer, kv), src.Piece(id, layer, kv))
				}
			}
		}
	}
	report(b)
}

func BenchmarkFill(b *testing.B) {
	p, ids, l := benchPool(b)
	c := Content{Hash: 42, Valid: l.Geometry.TokensPerBlock}
	b.ReportAllocs()
	for b.Loop() {
		for _, id := range ids {
			if err := p.FillBlock(id, c); err != nil {
				b.Fatal(err)
			}
		}
	}
	report(b)
}

func BenchmarkVerify(b *testing.B) {
	p, ids, l := benchPool(b)
	c := Content{Hash: 42, Valid: l.Geometry.TokensPerBlock}
	for _, id := range ids {
		require.NoError(b, p.FillBlock(id, c))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, id := range ids {
			if ok, at := p.VerifyBlock(id, c); !ok {
				b.Fatal(id, at)
			}
		}
	}
	report(b)
}

func BenchmarkVerifyZero(b *testing.B) {
	p, ids, _ := benchPool(b)
	for _, id := range ids {
		require.NoError(b, p.FillBlock(id, Content{}))
	}
	for b.Loop() {
		for _, id := range ids {
			if ok, at := p.VerifyBlock(id, Content{}); !ok {
				b.Fatal(id, at)
			}
		}
	}
	report(b)
}

func BenchmarkStampFree(b *testing.B) {
	slot := mapped(b, benchBytes)
	for b.Loop() {
		StampFree(slot, 3, 9)
	}
	report(b)
}

func BenchmarkCheckFree(b *testing.B) {
	slot := mapped(b, benchBytes)
	StampFree(slot, 3, 9)
	for b.Loop() {
		if n := CheckFree(slot, 3, 9); n != 0 {
			b.Fatal(n)
		}
	}
	report(b)
}

// BenchmarkVerifyScaled has the rows of the default scale (512 bytes) and the
// smallest ones (16 bytes), where making the first word of a row weighs most.
func BenchmarkVerifyScaled(b *testing.B) {
	for _, scale := range []int{128, 4096} {
		b.Run(strconv.Itoa(scale), func(b *testing.B) {
			g, err := Lookup("llama-3.1-8b")
			require.NoError(b, err)
			g, err = g.Scaled(scale)
			require.NoError(b, err)
			n := benchBytes / g.BlockBytes()
			p, err := NewPool(mapped(b, benchBytes), g, n)
			require.NoError(b, err)
			c := Content{Hash: 42, Valid: g.TokensPerBlock}
			for id := range n {
				require.NoError(b, p.FillBlock(BlockID(id), c))
			}
			for b.Loop() {
				for id := range n {
					if ok, at := p.VerifyBlock(BlockID(id), c); !ok {
						b.Fatal(id, at)
					}
				}
			}
			report(b)
		})
	}
}

// BenchmarkReserve is one request of the embedded trace's mean length (15 prefix
// blocks) that misses everything and evicts as much: Reserve, Commit, Release.
func BenchmarkReserve(b *testing.B) {
	const prefixes = 15
	pool, err := NewPool(mapped(b, PoolBytes(tiny, 32*prefixes)), tiny, 32*prefixes)
	require.NoError(b, err)
	c := NewCache(pool)
	hashes := make([]uint64, prefixes)
	next := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		for i := range hashes {
			hashes[i] = next
			next++
		}
		p, err := c.Reserve(hashes, prefixes*PrefixTokens)
		if err != nil || c.Commit(p) != nil || c.Release(p) != nil {
			b.Fatal(err)
		}
	}
}
