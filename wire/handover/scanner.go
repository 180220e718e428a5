package handover

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

// maxDepth bounds nesting, skipped values included.
const maxDepth = 32

// scanner reads JSON (RFC 8259) from front to back and keeps its first error. The
// package does not use encoding/json to read, because that matches names without
// regard to case and lets the last of two equal names win, and what is signed
// must be what is used.
type scanner struct {
	b     []byte
	off   int
	depth int
	err   *wire.Error
}

func (s *scanner) fail(reason spec.Reason, name string, at int, detail string) {
	if s.err == nil {
		req := reqJSON
		if reason == wire.ReasonTooLarge {
			req = sizeReq(name)
		}
		s.err = &wire.Error{Reason: reason, Req: req, What: name, Offset: at, Detail: detail}
	}
}

// sizeReq is what bounds the field.
func sizeReq(name string) string {
	if name == stateField {
		return reqSize
	}
	return reqBody
}

func (s *scanner) bad(name, detail string) { s.fail(wire.ReasonBadEncoding, name, s.off, detail) }

func (s *scanner) space() {
	for s.off < len(s.b) {
		switch s.b[s.off] {
		case ' ', '\t', '\n', '\r':
			s.off++
		default:
			return
		}
	}
}

// expect reads one structural byte.
func (s *scanner) expect(name string, c byte) bool {
	s.space()
	if s.err != nil {
		return false
	}
	if s.off >= len(s.b) || s.b[s.off] != c {
		s.bad(name, "want "+strconv.QuoteRune(rune(c)))
		return false
	}
	s.off++
	return true
}

// open begins an object or list.
func (s *scanner) open(name string, c byte) bool {
	if s.depth >= maxDepth {
		s.fail(wire.ReasonTooLarge, name, s.off, "nested too deep")
		return false
	}
	if !s.expect(name, c) {
		return false
	}
	s.depth++
	return true
}

// more reports whether another member follows, and reads the comma or the end.
func (s *scanner) more(name string, end byte, first bool) bool {
	s.space()
	if s.err != nil {
		return false
	}
	if s.off < len(s.b) && s.b[s.off] == end {
		s.off++
		return false
	}
	if first {
		return true
	}
	return s.expect(name, ',')
}

// null reads a null if one is there.
func (s *scanner) null() bool {
	s.space()
	if s.err == nil && len(s.b)-s.off >= 4 && string(s.b[s.off:s.off+4]) == "null" {
		s.off += 4
		return true
	}
	return false
}

// integer returns the digits of an integer and its sign.
func (s *scanner) integer(name string) (digits []byte, negative bool) {
	s.space()
	at := s.off
	if s.off < len(s.b) && s.b[s.off] == '-' {
		negative = true
		s.off++
	}
	start := s.off
	for s.off < len(s.b) && s.b[s.off] >= '0' && s.b[s.off] <= '9' {
		s.off++
	}
	digits = s.b[start:s.off]
	if s.err != nil {
		return nil, false
	}
	whole := s.off == len(s.b) || s.b[s.off] != '.' && s.b[s.off] != 'e' && s.b[s.off] != 'E'
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' || !whole {
		s.fail(wire.ReasonBadEncoding, name, at, "want an integer")
		return nil, false
	}
	return digits, negative
}

// magnitude reads at most 20 digits into 64 bits.
func magnitude(digits []byte) (v uint64, ok bool) {
	for _, c := range digits {
		d := uint64(c - '0')
		if v > (math.MaxUint64-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	return v, true
}

func (s *scanner) u64(name string) uint64 {
	at := s.off
	digits, negative := s.integer(name)
	v, ok := magnitude(digits)
	if s.err == nil && (negative || !ok) {
		s.fail(wire.ReasonOutOfRange, name, at, "")
		return 0
	}
	return v
}

func (s *scanner) i64(name string) int64 {
	at := s.off
	digits, negative := s.integer(name)
	v, ok := magnitude(digits)
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	if s.err == nil && (!ok || v > limit) {
		s.fail(wire.ReasonOutOfRange, name, at, "")
		return 0
	}
	if negative {
		return -int64(v)
	}
	return int64(v)
}

// quoted finds the end of a string and says whether it holds escapes.
func (s *scanner) quoted(name string, limit int) (raw []byte, escaped bool) {
	if !s.expect(name, '"') {
		return nil, false
	}
	start, quote := s.off, s.off-1
	for s.off < len(s.b) {
		switch c := s.b[s.off]; {
		case c == '"':
			raw = s.b[start:s.off]
			s.off++
			if len(raw) > limit {
				s.fail(wire.ReasonTooLarge, name, quote, strconv.Itoa(len(raw))+" bytes")
				return nil, false
			}
			if !utf8.Valid(raw) {
				s.fail(wire.ReasonBadEncoding, name, quote, "not UTF-8")
				return nil, false
			}
			return raw, escaped
		case c == '\\':
			escaped = true
			s.off += 2
		case c < ' ':
			s.bad(name, "control character in a string")
			return nil, false
		default:
			s.off++
		}
	}
	s.off = len(s.b)
	s.bad(name, "string without end")
	return nil, false
}

// text reads a string of at most limit bytes as it stands in the input.
func (s *scanner) text(name string, limit int) string {
	s.space()
	at := s.off
	raw, escaped := s.quoted(name, limit)
	if s.err != nil {
		return ""
	}
	if !escaped {
		return string(raw)
	}
	out, ok := unescape(raw)
	if !ok {
		s.fail(wire.ReasonBadEncoding, name, at, "bad escape")
		return ""
	}
	return string(out)
}

// skip reads a value that nobody wants.
func (s *scanner) skip(name string) {
	s.space()
	if s.err != nil || s.off >= len(s.b) {
		s.bad(name, "want a value")
		return
	}
	switch s.b[s.off] {
	case '{', '[':
		object := s.b[s.off] == '{'
		end := s.b[s.off] + 2 // '}' follows '{' by two, as ']' follows '['
		if !s.open(name, s.b[s.off]) {
			return
		}
		for first := true; s.more(name, end, first); first = false {
			if object {
				s.skipText(name)
				if !s.expect(name, ':') {
					return
				}
			}
			s.skip(name)
		}
		s.depth--
	case '"':
		s.skipText(name)
	default:
		s.scalar(name)
	}
}

// skipText checks a string without keeping it.
func (s *scanner) skipText(name string) {
	s.space()
	at := s.off
	raw, escaped := s.quoted(name, MaxBody)
	if escaped && !checkEscapes(raw) {
		s.fail(wire.ReasonBadEncoding, name, at, "bad escape")
	}
}
