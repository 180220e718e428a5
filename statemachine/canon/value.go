// Package canon is the one form in which states of a model are compared: a small
// tree of values with TLA+'s notion of equality. The worlds write their states
// into it, and the reader of a model checker's output writes into it too.
package canon

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Kind says what a Value is.
type Kind uint8

// The kinds. As in TLA+, a sequence is a function on 1..n, a record is a function
// on strings, and the two empty ones are equal.
const (
	KindBool Kind = iota + 1
	KindInt
	KindStr
	KindAtom
	KindSet
	KindFun
)

// Value is an immutable tree. Two Values are equal in TLA+ exactly when Compare
// returns 0, which is exactly when their texts are equal. The zero Value is none.
type Value struct {
	kind Kind
	num  int64
	str  string
	keys []Value // a set's members, or a function's domain; sorted, no duplicates
	vals []Value // a function's values, by key
}

// Pair is one point of a function.
type Pair struct{ Key, Value Value }

// Field is one field of a record.
type Field struct {
	Name  string
	Value Value
}

// Bool returns TRUE or FALSE.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, num: 1}
	}
	return Value{kind: KindBool}
}

// Int returns a number.
func Int(n int64) Value { return Value{kind: KindInt, num: n} }

// Str returns a string.
func Str(s string) Value { return Value{kind: KindStr, str: s} }

// Atom returns a model value, which TLA+ prints without quotes.
func Atom(name string) Value { return Value{kind: KindAtom, str: name} }

// Set returns the set of the given members; repeated ones count once. The slice
// stays the caller's.
func Set(members ...Value) Value {
	keys := slices.Clone(members)
	slices.SortFunc(keys, Value.Compare)
	keys = slices.CompactFunc(keys, func(a, b Value) bool { return a.Compare(b) == 0 })
	return Value{kind: KindSet, keys: keys}
}

// Bits returns the set of the positions of the ones in mask, position 0 as first.
func Bits(mask uint64, first int64) Value {
	v := Value{kind: KindSet}
	for i := range int64(64) {
		if mask>>i&1 != 0 {
			v.keys = append(v.keys, Int(first+i))
		}
	}
	return v
}

// Seq returns the sequence of the given values. The slice stays the caller's.
func Seq(vals ...Value) Value {
	v := Value{kind: KindFun, vals: slices.Clone(vals)}
	if len(vals) > 0 {
		v.keys = make([]Value, len(vals))
	}
	for i := range vals {
		v.keys[i] = Int(int64(i) + 1)
	}
	return v
}

// Fun returns the function with the given points. Where a key stands twice the
// first one counts, as with TLA+'s @@.
func Fun(points ...Pair) Value {
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b Pair) int { return a.Key.Compare(b.Key) })
	v := Value{kind: KindFun}
	if len(sorted) > 0 {
		v.keys, v.vals = make([]Value, 0, len(sorted)), make([]Value, 0, len(sorted))
	}
	for _, p := range sorted {
		if n := len(v.keys); n > 0 && v.keys[n-1].Compare(p.Key) == 0 {
			continue
		}
		v.keys, v.vals = append(v.keys, p.Key), append(v.vals, p.Value)
	}
	return v
}

// Rec returns a record. Where a name stands twice the first one counts.
func Rec(fields ...Field) Value {
	points := make([]Pair, len(fields))
	for i, f := range fields {
		points[i] = Pair{Str(f.Name), f.Value}
	}
	return Fun(points...)
}

// Kind returns what v is; 0 for the zero Value.
func (v Value) Kind() Kind { return v.kind }

// Int64 returns the number of an integer.
func (v Value) Int64() (n int64, ok bool) { return v.num, v.kind == KindInt }

// IsTrue returns the value of a boolean.
func (v Value) IsTrue() (b, ok bool) { return v.num != 0, v.kind == KindBool }

// Text returns the characters of a string or atom.
func (v Value) Text() (s string, ok bool) {
	return v.str, v.kind == KindStr || v.kind == KindAtom
}

// Len is the number of members of a set or of points of a function.
func (v Value) Len() int { return len(v.keys) }

// At returns the i-th member of a set (the second value is then none) or the i-th
// point of a function, in canonical order.
func (v Value) At(i int) (key, value Value) {
	if v.kind == KindFun {
		return v.keys[i], v.vals[i]
	}
	return v.keys[i], Value{}
}

// Apply returns the value of a function at key.
func (v Value) Apply(key Value) (Value, bool) {
	if v.kind != KindFun {
		return Value{}, false
	}
	i, ok := slices.BinarySearchFunc(v.keys, key, Value.Compare)
	if !ok {
		return Value{}, false
	}
	return v.vals[i], true
}

// Get returns a field of a record.
func (v Value) Get(name string) (Value, bool) { return v.Apply(Str(name)) }

// Compare orders all Values: by kind, then by content. It returns 0 exactly for
// equal ones.
func (v Value) Compare(w Value) int {
	if c := cmp.Compare(v.kind, w.kind); c != 0 {
		return c
	}
	switch v.kind {
	case KindBool, KindInt:
		return cmp.Compare(v.num, w.num)
	case KindStr, KindAtom:
		return strings.Compare(v.str, w.str)
	}
	if c := slices.CompareFunc(v.keys, w.keys, Value.Compare); c != 0 {
		return c
	}
	return slices.CompareFunc(v.vals, w.vals, Value.Compare)
}

// String returns the value in TLA+ notation.
func (v Value) String() string { return string(v.Append(nil)) }

// Append appends the value in TLA+ notation on one line. Equal values have equal
// texts, different values different ones.
func (v Value) Append(dst []byte) []byte {
	switch v.kind {
	case KindBool:
		if v.num != 0 {
			return append(dst, "TRUE"...)
		}
		return append(dst, "FALSE"...)
	case KindInt:
		return strconv.AppendInt(dst, v.num, 10)
	case KindStr:
		return appendQuoted(dst, v.str)
	case KindAtom:
		return append(dst, v.str...)
	case KindSet:
		dst = append(dst, '{')
		for i, k := range v.keys {
			dst = k.Append(comma(dst, i))
		}
		return append(dst, '}')
	case KindFun:
		return v.appendFun(dst)
	}
	return append(dst, "none"...)
}

// appendQuoted writes TLA+'s escapes, which are fewer than Go's.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch s[i] {
		case '"', '\\':
			dst = append(dst, '\\', s[i])
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, s[i])
		}
	}
	return append(dst, '"')
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ", "...)
	}
	return dst
}

func (v Value) appendFun(dst []byte) []byte {
	switch {
	case v.isSeq():
		dst = append(dst, "<<"...)
		for i, e := range v.vals {
			dst = e.Append(comma(dst, i))
		}
		return append(dst, ">>"...)
	case v.isRecord():
		dst = append(dst, '[')
		for i, k := range v.keys {
			dst = append(comma(dst, i), k.str...)
			dst = v.vals[i].Append(append(dst, " |-> "...))
		}
		return append(dst, ']')
	}
	dst = append(dst, '(')
	for i, k := range v.keys {
		if i > 0 {
			dst = append(dst, " @@ "...)
		}
		dst = append(k.Append(dst), " :> "...)
		dst = v.vals[i].Append(dst)
	}
	return append(dst, ')')
}

func (v Value) isSeq() bool {
	for i, k := range v.keys {
		if k.kind != KindInt || k.num != int64(i)+1 {
			return false
		}
	}
	return true
}

func (v Value) isRecord() bool {
	for _, k := range v.keys {
		if k.kind != KindStr || !isName(k.str) {
			return false
		}
	}
	return true
}

func isName(s string) bool {
	letter := false
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			letter = true
		case c == '_', c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return letter
}
