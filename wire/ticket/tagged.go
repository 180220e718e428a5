package ticket

import (
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// TagByte begins a tagged state where an old encoding has the bool of an optional.
const TagByte = 0xD7

const tagHeader = 1 + len(magic) + 4

// AppendTagged appends the tagged form of an opaque state that has a trailer. A
// state without one is refused: it keeps its old encoding.
func AppendTagged(dst, opaque []byte) ([]byte, error) {
	s, err := Split(opaque)
	if err != nil {
		return dst, err
	}
	if !s.HasTrailer {
		return dst, untagged(-1)
	}
	dst = append(append(dst, TagByte), magic...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(opaque)))
	return append(dst, opaque...), nil
}

// ReadTagged reads what stands where a state begins in a positional stream. With
// a tagged state, tagged is true, opaque is its bytes and rest is what follows.
// With the old encoding, tagged is false and rest is the whole input, for the
// caller to read as ever. A tagged state whose trailer is absent or broken is
// refused, as AppendTagged refuses to write one. Nothing is copied.
func ReadTagged(b []byte) (opaque, rest []byte, tagged bool, err error) {
	if len(b) == 0 {
		return nil, nil, false, refuse(wire.ReasonShortInput, reqTag, "taggedState", 0, "")
	}
	switch b[0] {
	case 0, 1:
		return nil, b, false, nil
	case TagByte:
	default:
		return nil, nil, false, refuse(wire.ReasonBadValue, reqTag, "taggedState.tag", 0, strconv.Itoa(int(b[0])))
	}
	if len(b) < tagHeader {
		return nil, nil, false, refuse(wire.ReasonShortInput, reqTag, "taggedState", 0, "header cut")
	}
	if string(b[1:1+len(magic)]) != magic {
		return nil, nil, false, refuse(wire.ReasonBadMagic, reqTag, "taggedState.magic", 1, "")
	}
	n := int64(binary.BigEndian.Uint32(b[1+len(magic):]))
	if n > MaxState {
		return nil, nil, false, refuse(wire.ReasonTooLarge, reqBounds, "taggedState.length", 9, strconv.FormatInt(n, 10))
	}
	if n > int64(len(b)-tagHeader) {
		return nil, nil, false, refuse(wire.ReasonBadLength, reqTag, "taggedState.length", 9, strconv.FormatInt(n, 10))
	}
	end := tagHeader + int(n)
	s, err := Split(b[tagHeader:end])
	if err != nil {
		return nil, nil, false, shift(err, tagHeader)
	}
	if !s.HasTrailer {
		return nil, nil, false, untagged(end)
	}
	return b[tagHeader:end:end], b[end:], true, nil
}

func untagged(at int) error {
	return refuse(wire.ReasonMissing, reqOld, "taggedState.trailer", at, "a state without ticket keeps its old encoding")
}

// shift moves an error's offset to where the part stands in the stream.
func shift(err error, base int) error {
	var e *wire.Error
	if !errors.As(err, &e) || e.Offset < 0 {
		return err
	}
	moved := *e
	moved.Offset += base
	return &moved
}
