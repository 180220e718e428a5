package kv

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
)

func TestContentRowsDiffer(t *testing.T) {
	spec.Covers(t, ReqContent)
	g := tiny
	g.Layers, g.KVFactor = 3, 2
	piece := make([]byte, g.PieceBytes())
	seen := map[[2]uint64]string{}
	for _, hash := range []uint64{0, 1, 2, 3, 511, 512, 1024, 1 << 32, 1 << 63, ^uint64(0)} {
		for layer := range g.Layers {
			for kv := range g.KVFactor {
				for first := 0; first < PrefixTokens; first += g.TokensPerBlock {
					c := Content{Hash: hash, FirstPos: first, Valid: g.TokensPerBlock}
					require.NoError(t, g.Fill(piece, c, layer, kv))
					for i := range g.TokensPerBlock {
						row := piece[i*16:]
						k := [2]uint64{binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:])}
						name := fmt.Sprint("hash ", hash, " layer ", layer, " kv ", kv, " pos ", first+i)
						require.Empty(t, seen[k], "%s has the same row", name)
						require.NotEqual(t, k[0], k[1])
						seen[k] = name
					}
				}
			}
		}
	}
	require.Len(t, seen, 10*3*2*PrefixTokens)
}

// TestContentOfPosition says that content does not depend on how blocks are cut.
func TestContentOfPosition(t *testing.T) {
	g32, g64 := tiny, tiny
	g64.TokensPerBlock = 64
	long, short := make([]byte, g64.PieceBytes()), make([]byte, g32.PieceBytes())
	require.NoError(t, g64.Fill(long, Content{Hash: 9, FirstPos: 64, Valid: 64}, 0, 0))
	require.NoError(t, g32.Fill(short, Content{Hash: 9, FirstPos: 96, Valid: 32}, 0, 0))
	require.Equal(t, long[32*16:], short)
}

func TestVerifyEveryByte(t *testing.T) {
	spec.Covers(t, ReqContent)
	for _, g := range []Geometry{tiny, small} {
		piece := make([]byte, g.PieceBytes())
		for _, valid := range []int{0, 1, 31, 32} {
			c := Content{Hash: 3, FirstPos: 64, Valid: valid}
			for i := range piece {
				piece[i] = 0xa5
			}
			require.NoError(t, g.Fill(piece, c, 0, 0))
			ok, at := g.Verify(piece, c, 0, 0)
			require.True(t, ok)
			require.Equal(t, -1, at)
			require.Equal(t, make([]byte, (32-valid)*g.RowBytes()), piece[valid*g.RowBytes():])
			for i := range piece {
				for _, flip := range []byte{1, 0x80} {
					piece[i] ^= flip
					ok, at = g.Verify(piece, c, 0, 0)
					require.False(t, ok, "byte %d", i)
					require.Equal(t, i, at)
					piece[i] ^= flip
				}
			}
		}
	}
}

func TestVerifyTellsApart(t *testing.T) {
	g := small
	piece := make([]byte, g.PieceBytes())
	c := Content{Hash: 8, FirstPos: 32, Valid: 20}
	require.NoError(t, g.Fill(piece, c, 1, 1))
	for name, other := range map[string]struct {
		c         Content
		layer, kv int
	}{
		"hash":     {Content{Hash: 9, FirstPos: 32, Valid: 20}, 1, 1},
		"position": {Content{Hash: 8, FirstPos: 64, Valid: 20}, 1, 1},
		"shift":    {Content{Hash: 8, FirstPos: 33, Valid: 20}, 1, 1},
		"fewer":    {Content{Hash: 8, FirstPos: 32, Valid: 19}, 1, 1},
		"more":     {Content{Hash: 8, FirstPos: 32, Valid: 21}, 1, 1},
		"layer":    {c, 2, 1},
		"kv":       {c, 1, 0},
	} {
		ok, _ := g.Verify(piece, other.c, other.layer, other.kv)
		require.False(t, ok, name)
	}
}

func TestContentRefuses(t *testing.T) {
	piece := make([]byte, small.PieceBytes())
	good := Content{Hash: 1, FirstPos: 480, Valid: 32}
	require.NoError(t, small.Fill(piece, good, 2, 1))
	for name, bad := range map[string]struct {
		piece     []byte
		c         Content
		layer, kv int
	}{
		"short piece":       {piece[1:], good, 0, 0},
		"nil piece":         {nil, good, 0, 0},
		"negative valid":    {piece, Content{Valid: -1}, 0, 0},
		"too many valid":    {piece, Content{Valid: 33}, 0, 0},
		"negative position": {piece, Content{FirstPos: -1, Valid: 2}, 0, 0},
		"past the prefix":   {piece, Content{FirstPos: 481, Valid: 32}, 0, 0},
		"far past":          {piece, Content{FirstPos: 1 << 62, Valid: 32}, 0, 0},
		"layer":             {piece, good, 3, 0},
		"negative layer":    {piece, good, -1, 0},
		"kv":                {piece, good, 0, 2},
		"negative kv":       {piece, good, 0, -1},
	} {
		require.ErrorIs(t, small.Fill(bad.piece, bad.c, bad.layer, bad.kv), &Error{Reason: ReasonBadContent}, name)
		ok, at := small.Verify(bad.piece, bad.c, bad.layer, bad.kv)
		require.False(t, ok, name)
		require.Zero(t, at)
	}
	p := newPool(t, small, 2)
	require.ErrorIs(t, p.FillBlock(2, good), &Error{Reason: ReasonBadBlock})
	require.ErrorIs(t, p.FillBlock(1, Content{Valid: 40}), &Error{Reason: ReasonBadContent})
	ok, _ := p.VerifyBlock(2, good)
	require.False(t, ok)
	ok, _ = p.VerifyBlock(1, Content{Valid: 40})
	require.False(t, ok)
}

func TestBlockContent(t *testing.T) {
	p := newPool(t, small, 3)
	c := Content{Hash: 77, FirstPos: 96, Valid: 9}
	require.NoError(t, p.FillBlock(1, c))
	require.Equal(t, make([]byte, small.BlockBytes()), p.Block(0), "the block before is touched")
	require.Equal(t, make([]byte, small.BlockBytes()), p.Block(2), "the block after is touched")
	ok, at := p.VerifyBlock(1, c)
	require.True(t, ok)
	require.Equal(t, -1, at)
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, small.BlockBytes()-1).Draw(t, "byte")
		flip := rapid.ByteRange(1, 255).Draw(t, "flip")
		b := p.Block(1)
		b[i] ^= flip
		ok, at := p.VerifyBlock(1, c)
		b[i] ^= flip
		require.False(t, ok)
		require.Equal(t, i, at)
	})
}

func TestContentOf(t *testing.T) {
	hashes := []uint64{10, 20, 30}
	const tokens = 2*PrefixTokens + 40
	for i, want := range map[int]Content{
		0:  {Hash: 10, FirstPos: 0, Valid: 32},
		15: {Hash: 10, FirstPos: 480, Valid: 32},
		16: {Hash: 20, FirstPos: 0, Valid: 32},
		32: {Hash: 30, FirstPos: 0, Valid: 32},
		33: {Hash: 30, FirstPos: 32, Valid: 8},
		34: {}, -1: {}, 1 << 40: {},
	} {
		require.Equal(t, want, ContentOf(tiny, hashes, tokens, i), i)
	}
	require.Equal(t, Content{}, ContentOf(tiny, hashes[:1], tokens, 16), "too few hashes")
}
