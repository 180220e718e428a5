package kv

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
)

func TestKnownGeometries(t *testing.T) {
	for _, tc := range []struct {
		slug                          string
		perToken, row, piece32, def   int
		scaledLayers, scaledHeads, d2 int
		scaledPerToken                int
	}{
		{"llama-3.1-8b", 131072, 2048, 65536, 128, 1, 2, 128, 1024},
		{"llama-3.1-70b", 327680, 2048, 65536, 320, 1, 2, 128, 1024},
		{"qwen3-32b", 262144, 2048, 65536, 256, 1, 2, 128, 1024},
		{"deepseek-v3", 70272, 1152, 36864, 68, 1, 1, 520, 1040},
	} {
		t.Run(tc.slug, func(t *testing.T) {
			g, err := Lookup(tc.slug)
			require.NoError(t, err)
			require.NoError(t, g.Validate())
			require.Equal(t, tc.slug, g.Slug)
			require.Equal(t, tc.perToken, g.BytesPerToken())
			require.Equal(t, tc.row, g.RowBytes())
			require.Equal(t, 32, g.TokensPerBlock)
			require.Equal(t, tc.piece32, g.PieceBytes())
			require.Equal(t, 32*tc.perToken, g.BlockBytes())
			require.Equal(t, 16, g.BlocksPerPrefix())
			require.Equal(t, tc.def, g.DefaultScale())
			s, err := g.Scaled(g.DefaultScale())
			require.NoError(t, err)
			require.Equal(t, [3]int{tc.scaledLayers, tc.scaledHeads, tc.d2}, [3]int{s.Layers, s.Heads, s.HeadDim})
			require.Equal(t, tc.scaledPerToken, s.BytesPerToken())
			w, err := g.WithTokensPerBlock(64)
			require.NoError(t, err)
			require.Equal(t, 2*tc.piece32, w.PieceBytes())
			require.Equal(t, 8, w.BlocksPerPrefix())
		})
	}
}

func TestLookupUnknown(t *testing.T) {
	spec.Covers(t, ReqGeometry)
	_, err := Lookup("gpt-9")
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, ReasonUnknownGeometry, e.Reason)
	require.Equal(t, ReqGeometry, e.Req)
	require.Contains(t, err.Error(), "gpt-9")
	require.Len(t, Known(), 4)
	for _, slug := range Known() {
		require.Contains(t, err.Error(), slug)
	}
	_, err = Lookup(strings.Repeat("x", 1<<20))
	require.Less(t, len(err.Error()), 300)
}

func TestBlocks(t *testing.T) {
	g, err := Lookup("llama-3.1-8b")
	require.NoError(t, err)
	for tokens, want := range map[int]int{-5: 0, 0: 0, 1: 1, 32: 1, 33: 2, 512: 16, 513: 17} {
		require.Equal(t, want, g.Blocks(tokens), tokens)
	}
}

func TestValidateRefuses(t *testing.T) {
	spec.Covers(t, ReqGeometry)
	for name, spoil := range map[string]func(*Geometry){
		"no layers":       func(g *Geometry) { g.Layers = 0 },
		"many layers":     func(g *Geometry) { g.Layers = 4097 },
		"no heads":        func(g *Geometry) { g.Heads = 0 },
		"negative heads":  func(g *Geometry) { g.Heads = -8 },
		"no head size":    func(g *Geometry) { g.HeadDim = 0 },
		"huge head size":  func(g *Geometry) { g.HeadDim = 65537 },
		"three of KV":     func(g *Geometry) { g.KVFactor = 3 },
		"three bytes":     func(g *Geometry) { g.ElemBytes = 3 },
		"block of 16":     func(g *Geometry) { g.TokensPerBlock = 16 },
		"odd row":         func(g *Geometry) { g.Heads, g.HeadDim = 1, 7 },
		"more than a GiB": func(g *Geometry) { g.Layers, g.Heads, g.HeadDim = 4096, 4096, 65536 },
	} {
		t.Run(name, func(t *testing.T) {
			g, err := Lookup("llama-3.1-8b")
			require.NoError(t, err)
			spoil(&g)
			require.ErrorIs(t, g.Validate(), &Error{Reason: ReasonBadGeometry})
			_, err = g.Scaled(1)
			require.ErrorIs(t, err, &Error{Reason: ReasonBadGeometry})
			_, err = NewPool(make([]byte, 64), g, 1)
			require.ErrorIs(t, err, &Error{Reason: ReasonBadGeometry})
		})
	}
	g, err := Lookup("llama-3.1-8b")
	require.NoError(t, err)
	_, err = g.WithTokensPerBlock(48)
	require.ErrorIs(t, err, &Error{Reason: ReasonBadGeometry})
}

func TestScaledExact(t *testing.T) {
	g, err := Lookup("llama-3.1-8b")
	require.NoError(t, err)
	for n, want := range map[int][3]int{
		1: {32, 8, 128}, 2: {16, 8, 128}, 32: {1, 8, 128}, 64: {1, 4, 128},
		256: {1, 1, 128}, 512: {1, 1, 64}, 4096: {1, 1, 8},
		20: {2, 7, 120}, // 1638.4 cells: 2 layers, 7 heads, 118 cells, rounded to whole 16 bytes
	} {
		s, err := g.Scaled(n)
		require.NoError(t, err)
		require.Equal(t, want, [3]int{s.Layers, s.Heads, s.HeadDim}, n)
		require.Equal(t, "llama-3.1-8b", s.Slug)
	}
	for _, n := range []int{-1, 0, 4097, 1 << 40} {
		_, err := g.Scaled(n)
		require.ErrorIs(t, err, &Error{Reason: ReasonBadScale}, n)
	}
}

func TestScaledProperties(t *testing.T) {
	spec.Covers(t, ReqScale)
	rapid.Check(t, func(t *rapid.T) {
		g, err := Lookup(rapid.SampledFrom(Known()).Draw(t, "slug"))
		require.NoError(t, err)
		n := rapid.IntRange(1, g.MaxScale()).Draw(t, "n")
		s, err := g.Scaled(n)
		require.NoError(t, err)
		require.NoError(t, s.Validate())
		require.LessOrEqual(t, s.Layers, g.Layers)
		require.LessOrEqual(t, s.Heads, g.Heads)
		require.LessOrEqual(t, s.HeadDim, g.HeadDim)
		require.Equal(t, g.KVFactor, s.KVFactor)
		require.GreaterOrEqual(t, s.RowBytes(), 16)
		require.GreaterOrEqual(t, s.BytesPerToken()*n, g.BytesPerToken(), "below the exact share")
		// The nearest one: 16 bytes less in each row would be too small.
		less := s.BytesPerToken() - s.Layers*s.KVFactor*16*s.Heads
		require.Less(t, less*n, g.BytesPerToken(), "larger than needed")
	})
}
