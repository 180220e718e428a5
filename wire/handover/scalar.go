package handover

import (
	"unicode/utf16"
	"unicode/utf8"
)

// scalar skips a number, true, false or null.
func (s *scanner) scalar(name string) {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(s.b)-s.off >= len(word) && string(s.b[s.off:s.off+len(word)]) == word {
			s.off += len(word)
			return
		}
	}
	at := s.off
	digits := func() bool {
		start := s.off
		for s.off < len(s.b) && s.b[s.off] >= '0' && s.b[s.off] <= '9' {
			s.off++
		}
		return s.off > start
	}
	at0 := func(set string) bool {
		for i := 0; s.off < len(s.b) && i < len(set); i++ {
			if s.b[s.off] == set[i] {
				s.off++
				return true
			}
		}
		return false
	}
	at0("-")
	start := s.off
	ok := digits() && (s.b[start] != '0' || s.off == start+1)
	if ok && at0(".") {
		ok = digits()
	}
	if ok && at0("eE") {
		at0("+-")
		ok = digits()
	}
	if !ok {
		s.off = at
		s.bad(name, "want a value")
	}
}

// checkEscapes reports whether every escape of raw is one that JSON has and every
// surrogate has its half.
func checkEscapes(raw []byte) bool {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			i++
			continue
		}
		_, n := escape(raw[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

func unescape(raw []byte) ([]byte, bool) {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		r, n := escape(raw[i:])
		if n == 0 {
			return nil, false
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return out, true
}

// escape reads the escape at the front of b and returns its length, 0 when it is
// none.
func escape(b []byte) (rune, int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := hex4(b[2:])
		if !ok {
			return 0, 0
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(b) < 12 || b[6] != '\\' || b[7] != 'u' {
			return 0, 0
		}
		low, ok := hex4(b[8:])
		both := utf16.DecodeRune(r, low)
		if !ok || both == utf8.RuneError {
			return 0, 0
		}
		return both, 12
	}
	return 0, 0
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var v rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
