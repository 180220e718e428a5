package handover

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// A field of a JSON object: its exact name, whether it has to be there, and how
// its value is read.
type field struct {
	name string
	must bool
	read reader
}

type reader func(s *scanner, name string)

const (
	need = true
	may  = false
)

func decodeBody(b []byte, fields []field) error {
	if len(b) > MaxBody {
		return &wire.Error{Reason: wire.ReasonTooLarge, Req: reqBody, What: "body", Offset: 0, Detail: strconv.Itoa(len(b))}
	}
	s := scanner{b: b}
	s.object("body", fields)
	s.space()
	if s.err == nil && s.off != len(b) {
		s.fail(wire.ReasonTrailingBytes, "body", s.off, "")
	}
	if s.err != nil {
		return s.err
	}
	return nil
}

// object reads one object and hands every known member to its field.
func (s *scanner) object(name string, fields []field) {
	if !s.open(name, '{') {
		return
	}
	var seen uint64
	for first := true; s.more(name, '}', first); first = false {
		at := s.off
		key := s.text(name, MaxText)
		if !s.expect(name, ':') {
			return
		}
		i := 0
		for i < len(fields) && fields[i].name != key {
			i++
		}
		if i == len(fields) {
			s.skip(name)
			continue
		}
		if seen>>i&1 != 0 {
			s.fail(wire.ReasonDuplicate, fields[i].name, at, "")
			return
		}
		if s.null() {
			if fields[i].must {
				s.fail(wire.ReasonMissing, fields[i].name, at, "null")
			}
		} else {
			fields[i].read(s, fields[i].name)
		}
		seen |= 1 << i
	}
	for i, f := range fields {
		if f.must && seen>>i&1 == 0 {
			s.fail(wire.ReasonMissing, f.name, s.off, "")
		}
	}
	s.depth--
}

func readObject(fields []field) reader {
	return func(s *scanner, name string) { s.object(name, fields) }
}

func readU64(v *uint64) reader {
	return func(s *scanner, name string) { *v = s.u64(name) }
}

func readI64(v *int64) reader {
	return func(s *scanner, name string) { *v = s.i64(name) }
}

func readText(limit int, v *string) reader {
	return func(s *scanner, name string) { *v = s.text(name, limit) }
}

func readOpt[T any](v **T, read func(*T) reader) reader {
	return func(s *scanner, name string) {
		one := new(T)
		read(one)(s, name)
		*v = one
	}
}

// readEndpoint reads a string, or a list of strings of which the first counts.
func readEndpoint(v **string) reader {
	return func(s *scanner, name string) {
		s.space()
		if s.off >= len(s.b) || s.b[s.off] != '[' {
			text := s.text(name, MaxText)
			*v = &text
			return
		}
		s.open(name, '[')
		for first := true; s.more(name, ']', first); first = false {
			text := s.text(name, MaxText)
			if first {
				*v = &text
			}
		}
		s.depth--
	}
}

// readList counts the elements first, so that memory is taken once and only for
// what is there.
func readList[T any](limit int, v *[]T, read func(*scanner, string) T) reader {
	return func(s *scanner, name string) {
		start, depth := s.off, s.depth
		n := 0
		if !s.open(name, '[') {
			return
		}
		for first := true; s.more(name, ']', first); first = false {
			read(s, name)
			n++
		}
		s.depth--
		if s.err == nil && n > limit {
			s.fail(wire.ReasonTooLarge, name, start, strconv.Itoa(n)+" elements")
		}
		if s.err != nil {
			return
		}
		end := s.off
		s.off, s.depth = start, depth
		out := make([]T, 0, n)
		s.open(name, '[')
		for first := true; s.more(name, ']', first); first = false {
			out = append(out, read(s, name))
		}
		s.depth--
		s.off = end
		*v = out
	}
}
