package wire

import (
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
)

// Rules names the requirement ids that a Reader cites when a structural check
// fails. Each family of formats has its own set, because each has a chapter of
// its own.
type Rules struct {
	// Short is cited when the input ends inside a field.
	Short string
	// Length is cited when a length prefix does not fit.
	Length string
	// Count is cited when a count does not fit.
	Count string
	// Bool is cited when a bool byte is above 1.
	Bool string
	// Trailing is cited when bytes are left over.
	Trailing string
}

// maxScope bounds the path that a Reader keeps for its error text. Deeper levels
// are counted and not named.
const maxScope = 8

// Reader is a bounded cursor over bytes. Its first error sticks: every later
// read returns zero values and moves nothing, so that a decoder may check once
// at the end. It never allocates on the good path and never returns more than
// what the input holds. A Reader is a value; it must not be copied in use.
type Reader struct {
	rest  []byte
	size  int
	err   *Error
	rules *Rules
	depth int
	scope [maxScope]string
}

// NewReader returns a Reader over b, which stays the caller's and must not
// change while the Reader or any slice that it returned is in use. What is the
// name of the message in error texts; rules must not be nil.
func NewReader(what string, rules *Rules, b []byte) Reader {
	r := Reader{rest: b, size: len(b), rules: rules, depth: 1}
	r.scope[0] = what
	return r
}

// Enter names a nested part for error texts, until Leave.
func (r *Reader) Enter(part string) {
	if r.depth < maxScope {
		r.scope[r.depth] = part
	}
	r.depth++
}

// Leave ends the part that Enter began.
func (r *Reader) Leave() {
	if r.depth > 1 {
		r.depth--
	}
}

// Offset returns the offset of the next unread byte.
func (r *Reader) Offset() int { return r.size - len(r.rest) }

// Left returns how many bytes are unread; 0 after an error.
func (r *Reader) Left() int { return len(r.rest) }

// OK reports whether nothing has failed yet.
func (r *Reader) OK() bool { return r.err == nil }

// Err returns the first error, or nil.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Fail records a refusal of the item at offset off, unless one is recorded
// already.
//
//go:noinline
func (r *Reader) Fail(reason spec.Reason, req, field string, off int, detail string) {
	if r.err != nil {
		return
	}
	what := r.scope[0]
	for i := 1; i < r.depth && i < maxScope; i++ {
		what += "." + r.scope[i]
	}
	if field != "" {
		what += "." + field
	}
	r.err = &Error{Reason: reason, Req: req, What: what, Offset: off, Detail: detail}
	// With nothing left, every later read takes its short path and changes nothing.
	r.size -= len(r.rest)
	r.rest = nil
}

// short records that n bytes were wanted and are not there. It stays out of line
// so that the readers below fit into their callers.
//
//go:noinline
func (r *Reader) short(field string, n int) uint64 {
	if r.err == nil {
		r.Fail(ReasonShortInput, r.rules.Short, field, r.Offset(), "need "+strconv.Itoa(n)+", have "+strconv.Itoa(len(r.rest)))
	}
	return 0
}

// Finish returns the first error, or a trailing-bytes error when anything is
// left unread.
func (r *Reader) Finish() error {
	if len(r.rest) != 0 {
		r.Fail(ReasonTrailingBytes, r.rules.Trailing, "", r.Offset(), strconv.Itoa(len(r.rest))+" bytes left")
	}
	return r.Err()
}

// Take returns the next n bytes as a sub-slice of the input, or nil when they
// are not there.
func (r *Reader) Take(field string, n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.short(field, n)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// U8 reads one byte.
func (r *Reader) U8(field string) uint8 {
	if len(r.rest) >= 1 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return v
	}
	return uint8(r.short(field, 1))
}

// U16LE reads a little-endian 16-bit number.
func (r *Reader) U16LE(field string) uint16 {
	if len(r.rest) >= 2 {
		v := binary.LittleEndian.Uint16(r.rest)
		r.rest = r.rest[2:]
		return v
	}
	return uint16(r.short(field, 2))
}

// U32LE reads a little-endian 32-bit number.
func (r *Reader) U32LE(field string) uint32 {
	if len(r.rest) >= 4 {
		v := binary.LittleEndian.Uint32(r.rest)
		r.rest = r.rest[4:]
		return v
	}
	return uint32(r.short(field, 4))
}

// U64LE reads a little-endian 64-bit number.
func (r *Reader) U64LE(field string) uint64 {
	if len(r.rest) >= 8 {
		v := binary.LittleEndian.Uint64(r.rest)
		r.rest = r.rest[8:]
		return v
	}
	return r.short(field, 8)
}

// I32LE reads a little-endian two's complement 32-bit number.
func (r *Reader) I32LE(field string) int32 { return int32(r.U32LE(field)) }

// U16BE reads a 16-bit number in network order.
func (r *Reader) U16BE(field string) uint16 { return bits.ReverseBytes16(r.U16LE(field)) }

// U32BE reads a 32-bit number in network order.
func (r *Reader) U32BE(field string) uint32 { return bits.ReverseBytes32(r.U32LE(field)) }

// U64BE reads a 64-bit number in network order.
func (r *Reader) U64BE(field string) uint64 { return bits.ReverseBytes64(r.U64LE(field)) }

// Bool reads one byte that must be 0 or 1.
func (r *Reader) Bool(field string) bool {
	v := r.U8(field)
	if v > 1 {
		r.Fail(ReasonBadBool, r.rules.Bool, field, r.Offset()-1, strconv.Itoa(int(v)))
		return false
	}
	return v == 1
}

// StrLE reads a 64-bit little-endian length and that many bytes, and returns the
// bytes as a sub-slice of the input. The length is compared with what is left
// before it is used.
func (r *Reader) StrLE(field string) []byte {
	n := r.U64LE(field)
	if n > uint64(len(r.rest)) {
		r.Fail(ReasonBadLength, r.rules.Length, field, r.Offset()-8,
			strconv.FormatUint(n, 10)+" of "+strconv.Itoa(len(r.rest)))
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// CountLE reads a 64-bit little-endian element count and refuses it when that
// many elements of at least minElem bytes (minElem > 0) cannot follow. The
// result is thus safe to allocate for and to loop over.
func (r *Reader) CountLE(field string, minElem int) int {
	return r.count(field, 8, r.U64LE(field), minElem)
}

// Count32BE reads a 32-bit element count in network order, with the check of
// CountLE.
func (r *Reader) Count32BE(field string, minElem int) int {
	return r.count(field, 4, uint64(r.U32BE(field)), minElem)
}

func (r *Reader) count(field string, width int, n uint64, minElem int) int {
	if left := uint64(len(r.rest)); n > left || n*uint64(minElem) > left {
		r.Fail(ReasonBadCount, r.rules.Count, field, r.Offset()-width,
			strconv.FormatUint(n, 10)+" elements in "+strconv.Itoa(len(r.rest))+" bytes")
		return 0
	}
	return int(n)
}
