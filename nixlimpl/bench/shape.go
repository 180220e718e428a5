package bench

import (
	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/wire/handover"
)

// shape is a request of a known geometry that has a wanted size.
type shape struct {
	Size
	slug           string
	tokensPerBlock int
	scale          int
	geometry       kv.Geometry
	tokens         int
}

// shapeOf finds a geometry whose pieces have s.Block bytes and whose whole blocks
// add up to s.Bytes: of the first model that can be cut so, the scale with the
// most layers, so that pieces lie as far apart as in the model.
func shapeOf(s Size) (shape, error) {
	if s.Bytes < 1 || s.Bytes > MaxBytes {
		return shape{}, usage("--bytes %d: must be 1 to %d", s.Bytes, MaxBytes)
	}
	if s.Block < 1 || s.Bytes%s.Block != 0 {
		return shape{}, usage("--block %d: must be positive and divide --bytes %d", s.Block, s.Bytes)
	}
	var best shape
	for _, slug := range kv.Known() {
		if best.slug != "" {
			break
		}
		for _, perBlock := range []int{32, 64} {
			base, err := kv.Lookup(slug)
			if err != nil {
				return shape{}, err
			}
			if base, err = base.WithTokensPerBlock(perBlock); err != nil {
				return shape{}, err
			}
			for scale := 1; scale <= base.MaxScale(); scale++ {
				g, err := base.Scaled(scale)
				if err != nil {
					return shape{}, err
				}
				if g.PieceBytes() != s.Block || s.Bytes%g.BlockBytes() != 0 || g.Layers <= best.geometry.Layers {
					continue
				}
				best = shape{s, slug, perBlock, scale, g, s.Bytes / g.BytesPerToken()}
			}
		}
	}
	if best.slug == "" {
		return shape{}, usage("--block %d with --bytes %d: no known geometry is cut so; try a power of two from 512 to 131072", s.Block, s.Bytes)
	}
	if n := (best.tokens-1)/kv.PrefixTokens + 1; n > handover.MaxHashIDs {
		return shape{}, usage("--bytes %d with --block %d: needs %d hash ids, a request has at most %d; larger blocks help", s.Bytes, s.Block, n, handover.MaxHashIDs)
	}
	return best, nil
}

// hashes are the ids of one of the two contents that take turns.
func (s shape) hashes(content int) []uint64 {
	ids := make([]uint64, (s.tokens-1)/kv.PrefixTokens+1)
	for i := range ids {
		ids[i] = uint64(2*i + content + 1)
	}
	return ids
}

// memory is about what a run takes in both services and here, in bytes: two
// contents at CTX, slot and blocks at GEN, source and destination of the copies.
func (s shape) memory() int { return 6*s.Bytes + 64<<20 }

// blocks is the number of paged blocks of a request.
func (s shape) blocks() int { return s.geometry.Blocks(s.tokens) }
