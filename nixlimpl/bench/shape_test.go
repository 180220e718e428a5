package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShapeOf(t *testing.T) {
	for _, c := range []struct {
		size   Size
		slug   string
		layers int
		tokens int
	}{
		{Size{4 << 20, 64 << 10}, "llama-3.1-8b", 32, 32},
		{Size{64 << 20, 64 << 10}, "llama-3.1-8b", 32, 512},
		{Size{256 << 20, 64 << 10}, "llama-3.1-8b", 32, 2048},
		{Size{640 << 20, 64 << 10}, "llama-3.1-8b", 32, 5120},
		{Size{64 << 20, 16 << 10}, "llama-3.1-8b", 1, 65536},
		{Size{1 << 20, 64 << 10}, "llama-3.1-8b", 8, 32},
		{Size{16 << 20, 128 << 10}, "llama-3.1-8b", 32, 128},
		{Size{1 << 20, 512}, "llama-3.1-8b", 1, 32768},
		{Size{61 * 36 << 10, 36 << 10}, "deepseek-v3", 61, 32},
	} {
		s, err := shapeOf(c.size)
		require.NoError(t, err, c.size)
		require.Equal(t, c.slug, s.slug, c.size)
		require.Equal(t, c.layers, s.geometry.Layers, c.size)
		require.Equal(t, c.tokens, s.tokens, c.size)
		require.Equal(t, c.size.Block, s.geometry.PieceBytes())
		require.Equal(t, c.size.Bytes, s.blocks()*s.geometry.BlockBytes())
		require.NotEqual(t, s.hashes(0), s.hashes(1))
	}
}

func TestBadSizes(t *testing.T) {
	for _, o := range []Options{
		{Count: 0}, {Count: -1}, {Count: MaxCount + 1},
		{Count: 1, Sizes: []Size{{0, 64 << 10}}},
		{Count: 1, Sizes: []Size{{-1, 64 << 10}}},
		{Count: 1, Sizes: []Size{{MaxBytes + 1, 64 << 10}}},
		{Count: 1, Sizes: []Size{{1 << 20, 0}}},
		{Count: 1, Sizes: []Size{{1 << 20, -512}}},
		{Count: 1, Sizes: []Size{{1<<20 + 512, 1 << 10}}}, // no whole number of blocks
		{Count: 1, Sizes: []Size{{3000, 1000}}},           // no such piece
		{Count: 1, Sizes: []Size{{1 << 30, 1 << 20}}},     // no such piece
		{Count: 1, Sizes: []Size{{1 << 30, 512}}},         // too many hash ids
		{Count: 1, Sizes: []Size{{4 << 20, 64 << 10}, {1, 1}}},
	} {
		_, err := Run(context.Background(), o)
		var u *UsageError
		require.ErrorAs(t, err, &u, "%+v", o)
		require.Contains(t, err.Error(), "--", "the flag is named")
		require.NotNil(t, errors.Unwrap(err))
	}
}

func TestSpeedIsOverTheMedian(t *testing.T) {
	us := func(n ...int) []time.Duration {
		out := make([]time.Duration, 0, len(n))
		for _, n := range n {
			out = append(out, time.Duration(n)*time.Microsecond)
		}
		return out
	}
	require.Equal(t, 0.5, speed(1000, us(2)))
	require.Equal(t, 0.25, speed(1000, us(9000, 4, 1)))
	require.Equal(t, 0.2, speed(1000, us(4, 6, 1, 9000)))
	require.Positive(t, speed(1000, []time.Duration{0}))
}
