package kv

import (
	"fmt"
	"math"
)

// BlockID names one block of a pool, from 0.
type BlockID uint32

// Pool is paged memory: blocks of one geometry in the order
// [block][layer][K, V][token][head][dim], so that each piece (one layer of K or V
// of one block) is contiguous. It does not own the memory's mapping.
//
// A block is free, or owned by whoever got it from Alloc. An owned block can be
// pinned while a copy is at work on it: when its owner frees it meanwhile, it
// becomes free only with the last Unpin.
type Pool struct {
	geo   Geometry
	block int // bytes of a block
	piece int // bytes of a piece
	mem   []byte
	state []blockState
	// free is a stack; free[len-1] is handed out next.
	free []BlockID
	// lingering counts blocks that nobody owns but somebody pins.
	lingering int
}

type blockState struct {
	pins  uint32
	owned bool
	free  bool // on the stack; never together with owned or pins > 0
}

// PoolBytes is the memory that NewPool needs for n blocks, in bytes.
func PoolBytes(g Geometry, n int) int { return n * g.BlockBytes() }

// NewPool makes a pool of n blocks, all free, over mem, which must hold at least
// PoolBytes(g, n) bytes and stay mapped as long as the pool is used. The content
// of mem is left as it is. n is 1 to 2^32-1.
func NewPool(mem []byte, g Geometry, n int) (*Pool, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if n < 1 || uint64(n) > math.MaxUint32 || n > len(mem)/g.BlockBytes() {
		return nil, &Error{Reason: ReasonBadMemory, Req: ReqBlocks,
			What: fmt.Sprintf("pool of %d blocks of %d bytes in %d bytes", n, g.BlockBytes(), len(mem))}
	}
	size := PoolBytes(g, n)
	p := &Pool{
		geo: g, block: g.BlockBytes(), piece: g.PieceBytes(), mem: mem[:size:size],
		state: make([]blockState, n), free: make([]BlockID, n),
	}
	for i := range n {
		p.free[i] = BlockID(n - 1 - i) // block 0 is handed out first
		p.state[i].free = true
	}
	return p, nil
}

// Geometry returns the geometry of the pool.
func (p *Pool) Geometry() Geometry { return p.geo }

// Total is the number of blocks.
func (p *Pool) Total() int { return len(p.state) }

// FreeBlocks is the number of blocks that Alloc can hand out now.
func (p *Pool) FreeBlocks() int { return len(p.free) }

// Lingering is the number of blocks that were freed but are still pinned.
func (p *Pool) Lingering() int { return p.lingering }

// Block returns the memory of a block, or nil for an id outside the pool. The
// slice aliases the pool.
func (p *Pool) Block(id BlockID) []byte {
	if int(id) >= len(p.state) {
		return nil
	}
	at := int(id) * p.block
	return p.mem[at : at+p.block : at+p.block]
}

// Piece returns the memory of one layer of K (kv 0) or V (kv 1) of a block, or
// nil for an index outside the pool. The slice aliases the pool.
func (p *Pool) Piece(id BlockID, layer, kv int) []byte {
	if int(id) >= len(p.state) || layer < 0 || layer >= p.geo.Layers || kv < 0 || kv >= p.geo.KVFactor {
		return nil
	}
	at := int(id)*p.block + (layer*p.geo.KVFactor+kv)*p.piece
	return p.mem[at : at+p.piece : at+p.piece]
}

// Alloc appends n free blocks to dst and makes the caller their owner, or returns
// dst as it was and false when fewer than n are free.
func (p *Pool) Alloc(dst []BlockID, n int) ([]BlockID, bool) {
	if n < 0 || n > len(p.free) {
		return dst, false
	}
	for range n {
		id := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		p.state[id] = blockState{owned: true}
		dst = append(dst, id)
	}
	return dst, true
}

// Free gives up ownership of all these blocks. Those that are pinned linger until
// the last Unpin. A block that is not owned, or named twice, is refused, and then
// nothing has changed (KS-KV-3).
func (p *Pool) Free(ids []BlockID) error {
	for i, id := range ids {
		if int(id) >= len(p.state) || !p.state[id].owned {
			for _, back := range ids[:i] {
				p.state[back].owned = true
			}
			return p.refuse("free", id)
		}
		p.state[id].owned = false
	}
	for _, id := range ids {
		if p.state[id].pins > 0 {
			p.lingering++
			continue
		}
		p.push(id)
	}
	return nil
}

// Pin keeps all these owned blocks from becoming free until as many calls of
// Unpin. A block that is not owned is refused, and then nothing has changed.
func (p *Pool) Pin(ids []BlockID) error {
	for _, id := range ids {
		if int(id) >= len(p.state) || !p.state[id].owned {
			return p.refuse("pin", id)
		}
	}
	for _, id := range ids {
		p.state[id].pins++
	}
	return nil
}

// Unpin undoes one Pin of each of these blocks; a block whose owner has freed it
// becomes free with its last one. A block with no pin is refused, and then
// nothing has changed (KS-KV-3).
func (p *Pool) Unpin(ids []BlockID) error {
	for i, id := range ids {
		if int(id) >= len(p.state) || p.state[id].pins == 0 {
			for _, back := range ids[:i] {
				p.state[back].pins++
			}
			return p.refuse("unpin", id)
		}
		p.state[id].pins--
	}
	for _, id := range ids {
		// An id may stand here twice, so the free flag is asked, too.
		if s := p.state[id]; s.pins == 0 && !s.owned && !s.free {
			p.lingering--
			p.push(id)
		}
	}
	return nil
}

// Pinned says whether anybody pins the block.
func (p *Pool) Pinned(id BlockID) bool {
	return int(id) < len(p.state) && p.state[id].pins > 0
}

func (p *Pool) push(id BlockID) {
	p.state[id].free = true
	p.free = append(p.free, id)
}

func (p *Pool) refuse(call string, id BlockID) error {
	what := fmt.Sprintf("%s block %d of %d", call, id, len(p.state))
	if int(id) < len(p.state) {
		s := p.state[id]
		what += fmt.Sprintf(" (owned %t, pins %d)", s.owned, s.pins)
	}
	return &Error{Reason: ReasonBadBlock, Req: ReqBlocks, What: what}
}
