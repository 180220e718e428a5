package kv

import (
	"fmt"
	"slices"
	"strings"
)

// PrefixTokens is the number of tokens in a full prefix block: what one hash id
// of a trace stands for.
const PrefixTokens = 512

// MaxBlockBytes bounds the size of one block, in bytes, so that sizes of pools and
// layouts cannot overflow (KS-STG-6).
const MaxBlockBytes = 1 << 30

// rowUnit is the unit of a row in bytes: content is made and checked by words,
// and a row of one unit is the smallest one.
const rowUnit = 16

// Geometry says how the KV of one token is cut: layers, heads and so on. It is a
// plain value; two equal geometries lay out memory alike.
type Geometry struct {
	// Slug is the model's name as flags and reports write it.
	Slug string
	// Layers is the number of attention layers, 1 to 4096.
	Layers int
	// Heads is the number of KV heads, 1 to 4096.
	Heads int
	// HeadDim is the number of elements of one head, 1 to 65536.
	HeadDim int
	// KVFactor is 2 where K and V are kept apart, 1 for MLA.
	KVFactor int
	// ElemBytes is the size of one element in bytes: 1, 2 or 4.
	ElemBytes int
	// TokensPerBlock is the size of a paged block: 32 or 64 tokens.
	TokensPerBlock int
}

// known is the table behind Lookup, in the order in which it is listed.
var known = [...]Geometry{
	{Slug: "llama-3.1-8b", Layers: 32, Heads: 8, HeadDim: 128, KVFactor: 2, ElemBytes: 2, TokensPerBlock: 32},
	{Slug: "llama-3.1-70b", Layers: 80, Heads: 8, HeadDim: 128, KVFactor: 2, ElemBytes: 2, TokensPerBlock: 32},
	{Slug: "qwen3-32b", Layers: 64, Heads: 8, HeadDim: 128, KVFactor: 2, ElemBytes: 2, TokensPerBlock: 32},
	{Slug: "deepseek-v3", Layers: 61, Heads: 1, HeadDim: 576, KVFactor: 1, ElemBytes: 2, TokensPerBlock: 32},
}

// Known returns the slugs that Lookup takes, in the order in which help lists
// them. The slice is the caller's.
func Known() []string {
	out := make([]string, 0, len(known))
	for i := range known {
		out = append(out, known[i].Slug)
	}
	return out
}

// Lookup returns the geometry of a known model in bf16 with 32 tokens per block.
// The error of an unknown slug lists the known ones (KS-KV-1).
func Lookup(slug string) (Geometry, error) {
	i := slices.IndexFunc(known[:], func(g Geometry) bool { return g.Slug == slug })
	if i < 0 {
		return Geometry{}, &Error{Reason: ReasonUnknownGeometry, Req: ReqGeometry,
			What: fmt.Sprintf("geometry %.64q is not one of %s", slug, strings.Join(Known(), ", "))}
	}
	return known[i], nil
}

// WithTokensPerBlock returns the geometry with blocks of n tokens, 32 or 64.
func (g Geometry) WithTokensPerBlock(n int) (Geometry, error) {
	g.TokensPerBlock = n
	return g, g.Validate()
}

// Validate says whether every size lies within the bounds that the fields name
// and whether a row is a multiple of 16 bytes. All other methods are defined for
// valid geometries only.
func (g Geometry) Validate() error {
	bad := func(field string, have int) error {
		return &Error{Reason: ReasonBadGeometry, Req: ReqGeometry,
			What: fmt.Sprintf("geometry %q: %s %d", g.Slug, field, have)}
	}
	switch {
	case g.Layers < 1 || g.Layers > 4096:
		return bad("layers", g.Layers)
	case g.Heads < 1 || g.Heads > 4096:
		return bad("heads", g.Heads)
	case g.HeadDim < 1 || g.HeadDim > 65536:
		return bad("head size", g.HeadDim)
	case g.KVFactor != 1 && g.KVFactor != 2:
		return bad("KV factor", g.KVFactor)
	case g.ElemBytes != 1 && g.ElemBytes != 2 && g.ElemBytes != 4:
		return bad("element bytes", g.ElemBytes)
	case g.TokensPerBlock != 32 && g.TokensPerBlock != 64:
		return bad("tokens per block (32 or 64)", g.TokensPerBlock)
	case g.RowBytes()%rowUnit != 0:
		return bad("row bytes (a multiple of 16)", g.RowBytes())
	case g.BlockBytes() > MaxBlockBytes:
		return bad("block bytes", g.BlockBytes())
	}
	return nil
}

// RowBytes is the size of one token in one layer of K or V, in bytes.
func (g Geometry) RowBytes() int { return g.Heads * g.HeadDim * g.ElemBytes }

// BytesPerToken is the size of one token over all layers, K and V, in bytes.
func (g Geometry) BytesPerToken() int { return g.Layers * g.KVFactor * g.RowBytes() }

// PieceBytes is the size of one layer of K or V of one block, in bytes: the
// largest run that is contiguous both in a block and in a slot.
func (g Geometry) PieceBytes() int { return g.TokensPerBlock * g.RowBytes() }

// BlockBytes is the size of one block over all layers, K and V, in bytes.
func (g Geometry) BlockBytes() int { return g.Layers * g.KVFactor * g.PieceBytes() }

// Blocks is the number of blocks that hold this many tokens; 0 for none or fewer.
func (g Geometry) Blocks(tokens int) int {
	if tokens <= 0 {
		return 0
	}
	return (tokens-1)/g.TokensPerBlock + 1
}

// BlocksPerPrefix is the number of blocks of one full prefix block: 16 or 8.
func (g Geometry) BlocksPerPrefix() int { return PrefixTokens / g.TokensPerBlock }

// DefaultScale is the scale at which a token has about 1 KiB, and not less: 1 for
// a geometry that has less than 2 KiB anyway.
func (g Geometry) DefaultScale() int { return max(1, g.BytesPerToken()/1024) }

// MaxScale is the largest scale that Scaled takes: the one that leaves one layer
// with rows of 16 bytes.
func (g Geometry) MaxScale() int { return max(1, g.BytesPerToken()/(g.KVFactor*rowUnit)) }

// Scaled divides the bytes per token by n: it lowers the layers as far as it can,
// then the heads for what is left, then the head size, each to 1 at the least.
// The result is exact where the sizes allow it and the nearest larger one
// otherwise: never fewer bytes per token than the exact share, and rows stay a
// multiple of 16 bytes. n is 1 to MaxScale (KS-KV-2).
func (g Geometry) Scaled(n int) (Geometry, error) {
	if err := g.Validate(); err != nil {
		return Geometry{}, err
	}
	if n < 1 || n > g.MaxScale() {
		return Geometry{}, &Error{Reason: ReasonBadScale, Req: ReqScale,
			What: fmt.Sprintf("scale %d of %s is not within 1 to %d", n, g.Slug, g.MaxScale())}
	}
	if n == 1 {
		return g, nil
	}
	s := g
	// One size after the other takes the smallest value that keeps the product, with
	// the sizes that come later untouched, at or above the exact share.
	cells := g.Layers * g.Heads * g.HeadDim
	s.Layers = ceilDiv(g.Layers, n)
	s.Heads = ceilDiv(cells, n*s.Layers*g.HeadDim)
	s.HeadDim = ceilDiv(cells, n*s.Layers*s.Heads)
	for s.RowBytes()%rowUnit != 0 {
		s.HeadDim++
	}
	return s, s.Validate()
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
