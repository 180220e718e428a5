// Package value reads the values and states that TLC prints into the canonical
// tree of statemachine/canon, so that they can be compared with the Go world's.
package value

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/kvsettle/kvsettle/statemachine/canon"
)

// ErrSyntax says that a text is no value that TLC prints.
var ErrSyntax = errors.New("not a TLA+ value")

// Parse reads one value: numbers, strings, booleans, model values, sets, intervals,
// sequences, records, and functions written with :> and @@. Line breaks count as
// blanks. An error wraps ErrSyntax and names the offset.
func Parse(text []byte) (canon.Value, error) {
	p := parser{text: text}
	v, err := p.value()
	if err != nil {
		return canon.Value{}, err
	}
	if p.blanks(); p.at < len(p.text) {
		return canon.Value{}, p.bad("end of the value")
	}
	return v, nil
}

// ParseState reads a state: a conjunction of "variable = value", as a record. One
// variable without the conjunction sign is a state too.
func ParseState(text []byte) (canon.Value, error) {
	p := parser{text: text}
	var fields []canon.Field
	for p.blanks(); p.at < len(p.text); p.blanks() {
		if !p.skip(`/\`) && len(fields) > 0 {
			return canon.Value{}, p.bad(`/\`)
		}
		p.blanks()
		name := p.name()
		if name == "" {
			return canon.Value{}, p.bad("name of a variable")
		}
		for _, f := range fields {
			if f.Name == name {
				return canon.Value{}, p.bad("another variable than " + name)
			}
		}
		p.blanks()
		if !p.skip("=") {
			return canon.Value{}, p.bad("=")
		}
		v, err := p.value()
		if err != nil {
			return canon.Value{}, err
		}
		fields = append(fields, canon.Field{Name: name, Value: v})
	}
	if len(fields) == 0 {
		return canon.Value{}, p.bad("a variable")
	}
	return canon.Rec(fields...), nil
}

// maxDepth bounds the nesting of a value.
const maxDepth = 200

type parser struct {
	text  []byte
	at    int
	depth int
}

func (p *parser) bad(want string) error {
	got := p.text[min(p.at, len(p.text)):]
	return fmt.Errorf("%w: offset %d: want %s, got %.40q", ErrSyntax, p.at, want, got)
}

func (p *parser) blanks() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) peek(s string) bool {
	return len(p.text)-p.at >= len(s) && string(p.text[p.at:p.at+len(s)]) == s
}

func (p *parser) skip(s string) bool {
	if !p.peek(s) {
		return false
	}
	p.at += len(s)
	return true
}

func (p *parser) name() string {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= '0' && c <= '9' {
			p.at++
			continue
		}
		break
	}
	return string(p.text[from:p.at])
}

func (p *parser) value() (canon.Value, error) {
	if p.depth++; p.depth > maxDepth {
		return canon.Value{}, p.bad("less nesting")
	}
	defer func() { p.depth-- }()
	p.blanks()
	if p.at >= len(p.text) {
		return canon.Value{}, p.bad("a value")
	}
	switch c := p.text[p.at]; {
	case c == '"':
		return p.str()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == '{':
		p.at++
		list, err := p.list("}")
		return canon.Set(list...), err
	case p.skip("<<"):
		list, err := p.list(">>")
		return canon.Seq(list...), err
	case c == '[':
		return p.record()
	case c == '(':
		return p.function()
	}
	switch name := p.name(); name {
	case "":
		return canon.Value{}, p.bad("a value")
	case "TRUE":
		return canon.Bool(true), nil
	case "FALSE":
		return canon.Bool(false), nil
	default:
		return canon.Atom(name), nil
	}
}

// str reads a string with TLA+'s escapes.
func (p *parser) str() (canon.Value, error) {
	p.at++
	var b []byte
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch c {
		case '"':
			return canon.Str(string(b)), nil
		case '\\':
			if p.at >= len(p.text) {
				return canon.Value{}, p.bad("an escaped character")
			}
			e := p.text[p.at]
			p.at++
			switch e {
			case 'n':
				e = '\n'
			case 't':
				e = '\t'
			case 'r':
				e = '\r'
			case 'f':
				e = '\f'
			}
			b = append(b, e)
		default:
			b = append(b, c)
		}
	}
	return canon.Value{}, p.bad(`closing "`)
}

func (p *parser) integer() (int64, error) {
	from := p.at
	p.skip("-")
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	n, err := strconv.ParseInt(string(p.text[from:p.at]), 10, 64)
	if err != nil {
		p.at = from
		return 0, p.bad("a number")
	}
	return n, nil
}

// maxInterval bounds the set that an interval stands for.
const maxInterval = 1 << 16

// number reads a number or an interval.
func (p *parser) number() (canon.Value, error) {
	n, err := p.integer()
	if err != nil {
		return canon.Value{}, err
	}
	if !p.skip("..") {
		return canon.Int(n), nil
	}
	m, err := p.integer()
	if err != nil {
		return canon.Value{}, err
	}
	if n < m && uint64(m-n) >= maxInterval {
		return canon.Value{}, p.bad("a smaller interval")
	}
	var list []canon.Value
	for i := n; i <= m; i++ {
		list = append(list, canon.Int(i))
	}
	return canon.Set(list...), nil
}

func (p *parser) list(end string) ([]canon.Value, error) {
	var out []canon.Value
	for p.blanks(); !p.skip(end); p.blanks() {
		if len(out) > 0 && !p.skip(",") {
			return nil, p.bad("a comma or " + end)
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (p *parser) record() (canon.Value, error) {
	p.at++
	var fields []canon.Field
	for p.blanks(); !p.skip("]"); p.blanks() {
		if len(fields) > 0 && !p.skip(",") {
			return canon.Value{}, p.bad("a comma or ]")
		}
		p.blanks()
		name := p.name()
		if p.blanks(); name == "" || !p.skip("|->") {
			return canon.Value{}, p.bad("name |-> value")
		}
		v, err := p.value()
		if err != nil {
			return canon.Value{}, err
		}
		fields = append(fields, canon.Field{Name: name, Value: v})
	}
	return canon.Rec(fields...), nil
}

// function reads (k :> v @@ k :> v), or a value in parentheses.
func (p *parser) function() (canon.Value, error) {
	p.at++
	var points []canon.Pair
	for {
		k, err := p.value()
		if err != nil {
			return canon.Value{}, err
		}
		p.blanks()
		if len(points) == 0 && p.skip(")") {
			return k, nil
		}
		if !p.skip(":>") {
			return canon.Value{}, p.bad(":>")
		}
		v, err := p.value()
		if err != nil {
			return canon.Value{}, err
		}
		points = append(points, canon.Pair{Key: k, Value: v})
		p.blanks()
		if p.skip(")") {
			return canon.Fun(points...), nil
		}
		if !p.skip("@@") {
			return canon.Value{}, p.bad("@@ or )")
		}
	}
}
