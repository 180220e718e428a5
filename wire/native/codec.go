package native

import (
	"encoding/binary"
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

const reasonProfile = wire.ReasonProfile

// Every type has one function that reads it. With a nil destination the
// function checks and skips; decode runs it once that way, so that memory is
// taken only for input that is sound to its end, and then once to build.

// reader is the shared cursor with what the native layouts need besides: the
// profile, and limits where the caller has some.
type reader struct {
	wire.Reader
	profile Profile
	limits  Limits
}

func newReader(what string, p Profile, b []byte) reader {
	return reader{Reader: wire.NewReader(what, &rules, b), profile: p}
}

// list reads a count of elements of at least min bytes each, and applies a limit
// that is 0 where there is none.
func (r *reader) list(field string, min, limit int) int {
	at := r.Offset()
	n := r.CountLE(field, min)
	if limit > 0 && n > limit {
		r.Fail(wire.ReasonTooLarge, reqLength, field, at, strconv.Itoa(n)+" above "+strconv.Itoa(limit))
		return 0
	}
	return n
}

// str reads a string and applies the limit on texts.
func (r *reader) str(field string) []byte {
	at := r.Offset()
	b := r.StrLE(field)
	if r.limits.Text > 0 && len(b) > r.limits.Text {
		r.Fail(wire.ReasonTooLarge, reqLength, field, at, strconv.Itoa(len(b))+" above "+strconv.Itoa(r.limits.Text))
		return nil
	}
	return b
}

func decode[T any](what string, p Profile, b []byte, read func(*reader, *T)) (T, error) {
	var v T
	r := newReader(what, p, b)
	read(&r, nil)
	if err := r.Finish(); err != nil {
		return v, err
	}
	r = newReader(what, p, b)
	read(&r, &v)
	return v, nil
}

func readI32s(r *reader, field string, limit int, build bool) []int32 {
	n := r.list(field, 4, limit)
	b := r.Take(field, 4*n)
	if !build || n == 0 {
		return nil
	}
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

func appendU16(dst []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(dst, v) }
func appendU32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }
func appendU64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }
func appendI32(dst []byte, v int32) []byte  { return appendU32(dst, uint32(v)) }

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendStr(dst []byte, s string) []byte {
	return append(appendU64(dst, uint64(len(s))), s...)
}

func appendI32s(dst []byte, v []int32) []byte {
	dst = appendU64(dst, uint64(len(v)))
	for _, x := range v {
		dst = appendI32(dst, x)
	}
	return dst
}
