package kv

import (
	"fmt"
	"math"
)

// Layout is how the blocks of one transfer lie in a staging slot, in the order
// [layer][K, V][block][token][head][dim] (layout slot-v1): the pieces of the
// blocks in the order in which the transfer lists them, layer after layer.
type Layout struct {
	// Geometry is that of the pools at both ends.
	Geometry Geometry
	// Blocks is the number of blocks of the transfer, 0 to 2^31-1.
	Blocks int
}

// Bytes is the length of the transfer in the slot, in bytes.
func (l Layout) Bytes() int { return l.Blocks * l.Geometry.BlockBytes() }

// Gather copies the slot bytes [off, off+n) out of the blocks of the pool into
// dst[:n]. Any off and n inside the layout will do. Calls for disjoint parts of a
// slot may run at the same time.
//
// Errors, none of which has copied anything (KS-STG-1): ReasonBadRange for a range
// outside layout or dst, for a list of blocks that is not as long as the layout
// says, and for a pool of another geometry; ReasonBadBlock for a block outside the
// pool.
func (l Layout) Gather(dst []byte, pool *Pool, blocks []BlockID, off, n int) error {
	c, err := l.start("gather", dst, pool, blocks, off, n)
	if err != nil {
		return err
	}
	for dst = dst[:n]; len(dst) > 0; {
		dst = dst[copy(dst, c.run(pool, blocks)):]
	}
	return nil
}

// Scatter is the reverse of Gather: it copies src[:n] to where the slot bytes
// [off, off+n) belong in the blocks of the pool. Errors are those of Gather.
func (l Layout) Scatter(src []byte, pool *Pool, blocks []BlockID, off, n int) error {
	c, err := l.start("scatter", src, pool, blocks, off, n)
	if err != nil {
		return err
	}
	for src = src[:n]; len(src) > 0; {
		to := c.run(pool, blocks)
		k := min(len(to), len(src))
		stream(to[:k], src[:k])
		src = src[k:]
	}
	return nil
}

// cursor walks the slot from piece to piece.
type cursor struct {
	at    int // offset in a block of the piece at hand: its layer and kv
	block int // index in the list of blocks
	skip  int // bytes of the first piece that come before the range
}

// run returns what is left of the piece at hand and moves to the next one.
func (c *cursor) run(pool *Pool, blocks []BlockID) []byte {
	base := int(blocks[c.block])*pool.block + c.at
	out := pool.mem[base+c.skip : base+pool.piece]
	c.skip = 0
	if c.block++; c.block == len(blocks) {
		c.block = 0
		c.at += pool.piece
	}
	return out
}

// start checks everything that Gather and Scatter rely on.
func (l Layout) start(call string, buf []byte, pool *Pool, blocks []BlockID, off, n int) (cursor, error) {
	if l.Blocks < 0 || l.Blocks > math.MaxInt32 || len(blocks) != l.Blocks || pool.geo != l.Geometry {
		return cursor{}, &Error{Reason: ReasonBadRange, Req: ReqLayout,
			What: fmt.Sprintf("%s: layout %s of %d blocks, %d listed, pool of %s",
				call, l.Geometry.Slug, l.Blocks, len(blocks), pool.geo.Slug)}
	}
	if size := l.Bytes(); off < 0 || n < 0 || off > size || n > size-off || n > len(buf) {
		return cursor{}, &Error{Reason: ReasonBadRange, Req: ReqLayout,
			What: fmt.Sprintf("%s: bytes %d + %d of %d, buffer of %d", call, off, n, size, len(buf))}
	}
	if n == 0 {
		return cursor{}, nil
	}
	first, last := off/pool.piece, (off+n-1)/pool.piece
	for i, left := first%l.Blocks, min(last-first+1, l.Blocks); left > 0; left-- {
		if int(blocks[i]) >= len(pool.state) {
			return cursor{}, pool.refuse(call, blocks[i])
		}
		if i++; i == l.Blocks {
			i = 0
		}
	}
	return cursor{at: first / l.Blocks * pool.piece, block: first % l.Blocks, skip: off % pool.piece}, nil
}
