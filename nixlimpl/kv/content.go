package kv

import (
	"encoding/binary"
	"fmt"
)

// Content says what a block holds: part of the prefix block of one hash id.
type Content struct {
	// Hash is the id of the prefix block.
	Hash uint64
	// FirstPos is the position of the block's first token inside the prefix block, 0
	// to PrefixTokens-1.
	FirstPos int
	// Valid is the number of tokens the block holds, from 0 to TokensPerBlock; the
	// rows after them are zero.
	Valid int
}

// ContentOf returns what block i of a request holds: i counts from 0 in token
// order, as Plan.Blocks does, and hashes and tokens are those of Reserve. The
// content of a block outside the request is all zero.
func ContentOf(g Geometry, hashes []uint64, tokens, i int) Content {
	first := i * g.TokensPerBlock
	at := first / PrefixTokens
	if i < 0 || first >= tokens || at >= len(hashes) {
		return Content{}
	}
	return Content{Hash: hashes[at], FirstPos: first % PrefixTokens, Valid: min(g.TokensPerBlock, tokens-first)}
}

// rowBase is the first word of the row of one token. For one hash id all rows
// differ in every word, and so do equal places of different hash ids, because
// each step is a bijection; place numbers (layer, kv, pos).
func rowBase(hash uint64, place int) uint64 {
	return mix(mix(hash^step) + uint64(place))
}

// place numbers the first row of a piece.
func (c Content) place(layer, kv int) int { return (layer*2+kv)*PrefixTokens + c.FirstPos }

func (g Geometry) checkContent(piece []byte, c Content, layer, kv int) error {
	if len(piece) == g.PieceBytes() && c.Valid >= 0 && c.Valid <= g.TokensPerBlock &&
		c.FirstPos >= 0 && c.FirstPos <= PrefixTokens-c.Valid &&
		layer >= 0 && layer < g.Layers && kv >= 0 && kv < g.KVFactor {
		return nil
	}
	return &Error{Reason: ReasonBadContent, Req: ReqContent,
		What: fmt.Sprintf("piece of %d bytes (want %d) for layer %d, kv %d, tokens %d + %d",
			len(piece), g.PieceBytes(), layer, kv, c.FirstPos, c.Valid)}
}

// Fill writes the content of one piece: layer and kv (0 K, 1 V) of a block that
// holds c, the rows past c.Valid zeroed (KS-STG-4). The piece must have PieceBytes; a wrong
// size or a range outside the prefix block is ReasonBadContent (KS-KV-5).
func (g Geometry) Fill(piece []byte, c Content, layer, kv int) error {
	if err := g.checkContent(piece, c, layer, kv); err != nil {
		return err
	}
	row, place := g.RowBytes(), c.place(layer, kv)
	for i := range c.Valid {
		fillWords(piece[i*row:(i+1)*row], rowBase(c.Hash, place+i))
	}
	clear(piece[c.Valid*row:])
	return nil
}

// Verify compares every byte of a piece with what Fill writes. It returns true
// and -1, or false and the offset of the first byte that differs; false and 0
// also for arguments that Fill would refuse.
func (g Geometry) Verify(piece []byte, c Content, layer, kv int) (ok bool, firstBad int) {
	if g.checkContent(piece, c, layer, kv) != nil {
		return false, 0
	}
	row, place := g.RowBytes(), c.place(layer, kv)
	for i := range c.Valid {
		w := rowBase(c.Hash, place+i)
		if b := piece[i*row : (i+1)*row]; !sameWords(b, w) {
			for j, have := range b {
				if have != wordByte(w, j) {
					return false, i*row + j
				}
			}
		}
	}
	rest := c.Valid * row
	if b := piece[rest:]; !allZero(b) {
		for j, have := range b {
			if have != 0 {
				return false, rest + j
			}
		}
	}
	return true, -1
}

// allZero takes a length that is a multiple of 16, as rows are.
func allZero(b []byte) bool {
	for len(b) >= 16 {
		if binary.LittleEndian.Uint64(b)|binary.LittleEndian.Uint64(b[8:]) != 0 {
			return false
		}
		b = b[16:]
	}
	return true
}

// FillBlock writes all pieces of a block of the pool. Errors: ReasonBadBlock for
// an id outside the pool, and those of Fill.
func (p *Pool) FillBlock(id BlockID, c Content) error {
	if int(id) >= len(p.state) {
		return p.refuse("fill", id)
	}
	for layer := range p.geo.Layers {
		for kv := range p.geo.KVFactor {
			if err := p.geo.Fill(p.Piece(id, layer, kv), c, layer, kv); err != nil {
				return err
			}
		}
	}
	return nil
}

// VerifyBlock compares every byte of a block of the pool with what FillBlock
// writes. It returns true and -1, or false and the offset in the block of the
// first byte that differs; false and 0 also for an id outside the pool or a
// content that FillBlock would refuse.
func (p *Pool) VerifyBlock(id BlockID, c Content) (ok bool, firstBad int) {
	if int(id) >= len(p.state) {
		return false, 0
	}
	for layer := range p.geo.Layers {
		for kv := range p.geo.KVFactor {
			if ok, at := p.geo.Verify(p.Piece(id, layer, kv), c, layer, kv); !ok {
				return false, (layer*p.geo.KVFactor+kv)*p.piece + at
			}
		}
	}
	return true, -1
}
