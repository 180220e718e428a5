// Package staging says where bytes lie inside a staging slot: layout slot-v1 of
// chapter 07. It computes sizes and offsets with overflow checks and touches no
// memory, so that a conformance suite, which owns neither end, can tell where each
// element of a transfer has to be.
package staging

import (
	"math/bits"
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

// Region is the shape of one edge region: what one edge carries in a slot, in the
// order [layer][K, V][block][token][head][dimension].
type Region struct {
	// Heads is the number of heads that the edge carries in each of its layers, in
	// ascending global order; 1 for MLA. The slice is read only.
	Heads []int
	// Factor is 2 for K and V and 1 for MLA, which has no V.
	Factor int
	// Blocks is the number of whole blocks, the oldest first.
	Blocks int
	// Tokens is the number of tokens of a block.
	Tokens int
	// HeadSize is the number of elements of one head.
	HeadSize int
	// ElementBytes is the size of one element in bytes.
	ElementBytes int
}

// Index names one element of a region. Every part counts from 0; KV is 0 for K, 1
// for V.
type Index struct{ Layer, KV, Block, Token, Head, Dim int }

func refuse(reason spec.Reason, req, what, detail string) error {
	return &wire.Error{Reason: reason, Req: req, What: "staging." + what, Offset: -1, Detail: detail}
}

// product multiplies with an overflow check. Factors are not negative.
func product(factors ...int) (p uint64, ok bool) {
	p = 1
	for _, f := range factors {
		if f < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(p, uint64(f))
		if hi != 0 {
			return 0, false
		}
		p = lo
	}
	return p, true
}

// layerBytes is the size of one layer with the given number of heads.
func (r *Region) layerBytes(heads int) (uint64, error) {
	for _, n := range [...]int{r.Factor, r.Blocks, r.Tokens, heads, r.HeadSize, r.ElementBytes} {
		if n < 1 {
			return 0, refuse(wire.ReasonOutOfRange, reqLayout, "region", "a size below 1")
		}
	}
	if r.Factor > 2 {
		return 0, refuse(wire.ReasonOutOfRange, reqLayout, "factor", strconv.Itoa(r.Factor))
	}
	n, ok := product(r.Factor, r.Blocks, r.Tokens, heads, r.HeadSize, r.ElementBytes)
	if !ok {
		return 0, refuse(wire.ReasonTooLarge, reqOverflow, "region", "a layer above 64 bits")
	}
	return n, nil
}

// base is the offset of a layer, for layer equal to len(Heads) the size of all.
func (r *Region) base(layer int) (uint64, error) {
	var sum uint64
	for _, heads := range r.Heads[:layer] {
		n, err := r.layerBytes(heads)
		if err != nil {
			return 0, err
		}
		next, carry := bits.Add64(sum, n, 0)
		if carry != 0 {
			return 0, refuse(wire.ReasonTooLarge, reqOverflow, "region", "above 64 bits")
		}
		sum = next
	}
	return sum, nil
}

// Size returns the bytes of the region. It refuses a size below 1 (out-of-range)
// and a sum above 64 bits (too-large). A region without layers has no byte.
func (r *Region) Size() (uint64, error) { return r.base(len(r.Heads)) }

// Offset returns where an element begins in the region. It refuses an index
// outside the region (out-of-range) and what Size refuses.
func (r *Region) Offset(i Index) (uint64, error) {
	if _, err := r.Size(); err != nil {
		return 0, err
	}
	if i.Layer < 0 || i.Layer >= len(r.Heads) || i.KV < 0 || i.KV >= r.Factor || i.Block < 0 || i.Block >= r.Blocks ||
		i.Token < 0 || i.Token >= r.Tokens || i.Head < 0 || i.Head >= r.Heads[i.Layer] || i.Dim < 0 || i.Dim >= r.HeadSize {
		return 0, refuse(wire.ReasonOutOfRange, reqLayout, "index", "outside the region")
	}
	base, err := r.base(i.Layer)
	if err != nil {
		return 0, err
	}
	// Below the size of the layer, which fits.
	at := (uint64(i.KV)*uint64(r.Blocks)+uint64(i.Block))*uint64(r.Tokens) + uint64(i.Token)
	at = (at*uint64(r.Heads[i.Layer])+uint64(i.Head))*uint64(r.HeadSize) + uint64(i.Dim)
	return base + at*uint64(r.ElementBytes), nil
}

// Place appends where each edge region begins in a slot: in the order of the
// connection indices, each directly behind the one before it. It refuses regions
// that together exceed limit, the length of the descriptor of their kind
// (out-of-range), and then returns dst as it was.
func Place(dst, sizes []uint64, limit uint64) ([]uint64, error) {
	start, at := len(dst), uint64(0)
	for i, n := range sizes {
		if n > limit || at > limit-n {
			return dst[:start], refuse(wire.ReasonOutOfRange, reqFits, "slot", "region "+strconv.Itoa(i)+" ends behind "+strconv.FormatUint(limit, 10))
		}
		dst = append(dst, at)
		at += n
	}
	return dst, nil
}

// Span is a part of a slot in bytes.
type Span struct{ Offset, Length uint64 }

// CheckChunks says whether chunks, in any order, cover a region of size bytes once
// each: it refuses a gap or a missing end (missing), an overlap (duplicate) and a
// chunk outside the region (out-of-range). An empty chunk covers nothing and is
// refused (bad-value).
func CheckChunks(size uint64, chunks []Span) error {
	bad := func(reason spec.Reason, req, detail string) error { return refuse(reason, req, "chunks", detail) }
	var sum uint64
	for i, c := range chunks {
		switch {
		case c.Length == 0:
			return bad(wire.ReasonBadValue, reqChunks, "chunk "+strconv.Itoa(i)+" is empty")
		case c.Offset > size || c.Length > size-c.Offset:
			return bad(wire.ReasonOutOfRange, reqFits, "chunk "+strconv.Itoa(i)+" leaves its region")
		}
		for _, o := range chunks[:i] {
			if c.Offset < o.Offset+o.Length && o.Offset < c.Offset+c.Length {
				return bad(wire.ReasonDuplicate, reqChunks, "chunk "+strconv.Itoa(i)+" overlaps another")
			}
		}
		sum += c.Length
	}
	if sum != size {
		return bad(wire.ReasonMissing, reqChunks, strconv.FormatUint(size-sum, 10)+" bytes are in no chunk")
	}
	return nil
}

// CheckPlaces says whether regions lie in a slot as Place puts them. It refuses
// another number of places (bad-count) and a place that is not where it belongs
// (bad-order).
func CheckPlaces(places, sizes []uint64, limit uint64) error {
	if len(places) != len(sizes) {
		return refuse(wire.ReasonBadCount, reqOrder, "places", strconv.Itoa(len(places))+" for "+strconv.Itoa(len(sizes))+" regions")
	}
	want, err := Place(nil, sizes, limit)
	if err != nil {
		return err
	}
	for i := range want {
		if places[i] != want[i] {
			return refuse(wire.ReasonBadOrder, reqOrder, "places", "region "+strconv.Itoa(i)+" is not behind the one before it")
		}
	}
	return nil
}
