package kv

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestStampEveryByteCounts(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 8192, 9001} {
		slot := make([]byte, n)
		StampFree(slot, 5, 7)
		require.Zero(t, CheckFree(slot, 5, 7), n)
		for i := range slot {
			// Of a long slot, the bytes around the edges of what is compared at once.
			if m := i % 4096; n > 65 && m > 64 && m < 4032 {
				continue
			}
			for _, flip := range []byte{0x01, 0x80, 0xff} {
				slot[i] ^= flip
				require.Equal(t, 1, CheckFree(slot, 5, 7), "length %d, byte %d", n, i)
				slot[i] ^= flip
			}
		}
	}
}

func TestStampTellsSlotsAndGenerationsApart(t *testing.T) {
	const n = 4096
	a, b := make([]byte, n), make([]byte, n)
	for _, other := range [][2]uint64{{0, 1}, {1, 0}, {1, 1}, {0, 1 << 63}, {7, 0}} {
		StampFree(a, 0, 0)
		StampFree(b, other[0], other[1])
		for i := 0; i < n; i += 8 {
			require.NotEqual(t, binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:]), "%v at %d", other, i)
		}
		require.Greater(t, CheckFree(a, other[0], other[1]), n*9/10)
	}
	// The words of one slot differ too, so that a shifted stamp is seen.
	require.NotZero(t, CheckFree(a[8:], 0, 0))
	clear(a)
	require.Greater(t, CheckFree(a, 0, 0), n*9/10, "zeroed memory passes")
}

func TestStampModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20_000).Draw(t, "n")
		slot, gen := rapid.Uint64().Draw(t, "slot"), rapid.Uint64().Draw(t, "generation")
		b := make([]byte, n+16)
		StampFree(b[8:8+n], slot, gen)
		require.Equal(t, make([]byte, 8), b[:8], "written before the slot")
		require.Equal(t, make([]byte, 8), b[8+n:], "written after the slot")
		hit := rapid.MapOfN(rapid.IntRange(0, n-1), rapid.ByteRange(1, 255), 0, min(n, 50)).Draw(t, "hit")
		for at, flip := range hit {
			b[8+at] ^= flip
		}
		require.Equal(t, len(hit), CheckFree(b[8:8+n], slot, gen))
	})
}
