package canon

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrUnreadable is returned by Read for a Go value that has no canonical form.
var ErrUnreadable = errors.New("value has no canonical form")

// Read turns a Go value into a tree, with every field, exported or not: structs
// become records, arrays and slices sequences, maps functions, named numbers plain
// ones. A pointer to a struct is read through at the top only. It returns an error
// that wraps ErrUnreadable for pointers inside, interfaces, functions, channels,
// floats, and numbers beyond int64.
//
// It goes by way of fmt's Go syntax, the one way in the pure packages to see a
// machine's own fields, and is meant for comparing and printing, not for hot paths.
func Read(v any) (Value, error) {
	r := reader{text: strings.TrimPrefix(fmt.Sprintf("%#v", v), "&")}
	out, err := r.value()
	if err != nil {
		return Value{}, fmt.Errorf("%w: %T: %w", ErrUnreadable, v, err)
	}
	if r.text != "" {
		return Value{}, fmt.Errorf("%w: %T: %q is left over", ErrUnreadable, v, r.text)
	}
	return out, nil
}

type reader struct{ text string }

func (r *reader) skip(prefix string) bool {
	rest, ok := strings.CutPrefix(r.text, prefix)
	if ok {
		r.text = rest
	}
	return ok
}

func (r *reader) value() (Value, error) {
	switch {
	case r.text == "":
		return Value{}, errors.New("text ends early")
	case r.skip("true"):
		return Bool(true), nil
	case r.skip("false"):
		return Bool(false), nil
	case r.text[0] == '"':
		q, err := strconv.QuotedPrefix(r.text)
		if err != nil {
			return Value{}, err
		}
		r.text = r.text[len(q):]
		s, err := strconv.Unquote(q)
		return Str(s), err
	case r.text[0] == '-' || r.text[0] >= '0' && r.text[0] <= '9':
		return r.number()
	}
	return r.composite()
}

func (r *reader) number() (Value, error) {
	i := strings.IndexAny(r.text, ",}: ")
	if i < 0 {
		i = len(r.text)
	}
	n, err := strconv.ParseInt(r.text[:i], 0, 64)
	if err != nil {
		return Value{}, err
	}
	r.text = r.text[i:]
	return Int(n), nil
}

// composite reads a type, then its elements in braces. The type says which they are.
func (r *reader) composite() (Value, error) {
	isMap, isList := strings.HasPrefix(r.text, "map["), r.text[0] == '['
	// An anonymous struct type has braces of its own.
	for depth := 0; ; {
		i := strings.IndexAny(r.text, "{}(")
		if i < 0 {
			return Value{}, fmt.Errorf("no value in %q", r.text)
		}
		typ, c := r.text[:i], r.text[i]
		r.text = r.text[i+1:]
		if c == '(' {
			if isList && r.skip("nil)") {
				return Seq(), nil
			}
			if isMap && r.skip("nil)") {
				return Fun(), nil
			}
			if typ != "" && r.skip("nil)") {
				return Seq(), nil // of a named slice or map
			}
			return Value{}, fmt.Errorf("a pointer, interface or function %q", typ)
		}
		if c == '}' {
			depth--
			continue
		}
		if strings.HasSuffix(typ, "struct ") {
			depth++
			continue
		}
		if depth == 0 {
			break
		}
	}
	// The type of a named slice does not say that it is one, its content does.
	isList = isList || !isMap && !r.named() && r.text[0] != '}'
	var points []Pair
	var list []Value
	for n := 0; !r.skip("}"); n++ {
		if n > 0 && !r.skip(", ") {
			return Value{}, fmt.Errorf("no comma before %q", r.text)
		}
		switch {
		case isList:
			v, err := r.value()
			if err != nil {
				return Value{}, err
			}
			list = append(list, v)
		default:
			p, err := r.point(isMap)
			if err != nil {
				return Value{}, err
			}
			points = append(points, p)
		}
	}
	if isList {
		return Seq(list...), nil
	}
	return Fun(points...), nil
}

// named says whether a field's name comes next.
func (r *reader) named() bool {
	name, _, ok := strings.Cut(r.text, ":")
	return ok && !strings.ContainsAny(name, " ,{}()[]\"")
}

func (r *reader) point(isMap bool) (p Pair, err error) {
	if isMap {
		if p.Key, err = r.value(); err != nil {
			return p, err
		}
		if !r.skip(":") {
			return p, fmt.Errorf("no colon before %q", r.text)
		}
	} else {
		name, rest, ok := strings.Cut(r.text, ":")
		if !ok {
			return p, fmt.Errorf("no field name in %q", r.text)
		}
		p.Key, r.text = Str(name), rest
	}
	p.Value, err = r.value()
	return p, err
}
