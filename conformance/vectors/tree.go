package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// parseObject reads one JSON object into a tree, refusing repeated members and
// anything after it. The json package by itself lets the last of two members win
// and matches names without regard to case.
func parseObject(b []byte) (map[string]any, error) {
	v, err := parse(b)
	if err != nil {
		return nil, err
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("not a JSON object")
	}
	return tree, nil
}

func parse(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	v, err := parseValue(dec, maxDepth)
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("not JSON: something follows the value")
	}
	return v, nil
}

// maxDepth bounds nesting, so that no file can exhaust the stack.
const maxDepth = 64

func parseValue(dec *json.Decoder, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("nested too deep")
	}
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return parseMembers(dec, depth-1)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := parseValue(dec, depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	return t, nil
}

func parseMembers(dec *json.Decoder, depth int) (any, error) {
	tree := map[string]any{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if _, dup := tree[name]; dup {
			return nil, fmt.Errorf("member %q stands twice", name)
		}
		if tree[name], err = parseValue(dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return tree, err
}

// treeOf turns a Go value into the tree that its JSON reads as.
func treeOf(v any) (any, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return parse(b.Bytes())
}

// difference returns the first place at which two trees differ, and how; empty
// when they are equal.
func difference(path string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		all := maps.Clone(w)
		maps.Copy(all, g)
		for _, k := range slices.Sorted(maps.Keys(all)) {
			wv, inWant := w[k]
			gv, inGot := g[k]
			switch at := path + "." + k; {
			case !inWant:
				return at + ": not expected, got " + brief(gv)
			case !inGot:
				return at + ": want " + brief(wv) + ", got nothing"
			default:
				if d := difference(at, wv, gv); d != "" {
					return d
				}
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok {
			break
		}
		for i := range min(len(w), len(g)) {
			if d := difference(path+"["+strconv.Itoa(i)+"]", w[i], g[i]); d != "" {
				return d
			}
		}
		if len(w) == len(g) {
			return ""
		}
		return fmt.Sprintf("%s: want %d elements, got %d", path, len(w), len(g))
	default:
		if scalar(got) && want == got {
			return ""
		}
	}
	return path + ": want " + brief(want) + ", got " + brief(got)
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func brief(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 120 {
		return string(b[:120]) + "..."
	}
	return string(b)
}

// members reads the members of an object by name and keeps the first error.
type members struct {
	tree map[string]any
	err  error
}

func (m *members) fail(name, want string) {
	if m.err == nil {
		m.err = fmt.Errorf("member %s is no %s: %s", name, want, brief(m.tree[name]))
	}
}

func (m *members) may(name string) string {
	v, ok := m.tree[name]
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		m.fail(name, "string")
	}
	return s
}

func (m *members) need(name string) string {
	if _, ok := m.tree[name]; !ok && m.err == nil {
		m.err = fmt.Errorf("member %s is missing", name)
	}
	return m.may(name)
}

func (m *members) texts(name string) []string {
	list, ok := m.tree[name].([]any)
	if !ok {
		m.fail(name, "list")
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			m.fail(name, "list of strings")
		}
		out = append(out, s)
	}
	return out
}

func (m *members) number(name string) *int {
	v, ok := m.tree[name]
	if !ok {
		return nil
	}
	n, _ := v.(json.Number)
	i, err := strconv.Atoi(n.String())
	if err != nil {
		m.fail(name, "integer")
		return nil
	}
	return &i
}

// unsigned reads a number, or a decimal string as 64-bit numbers are written, of
// at most the given width.
func (m *members) unsigned(name string, bits int) uint64 {
	s, ok := m.tree[name].(string)
	if n, isNumber := m.tree[name].(json.Number); isNumber {
		s, ok = n.String(), bits < 64
	}
	v, err := strconv.ParseUint(s, 10, bits)
	if !ok || err != nil {
		m.fail(name, "unsigned number of "+strconv.Itoa(bits)+" bits")
	}
	return v
}

// objects reads a list of objects.
func (m *members) objects(name string) []*members {
	values, ok := m.tree[name].([]any)
	if !ok {
		m.fail(name, "list")
	}
	out := make([]*members, 0, len(values))
	for _, v := range values {
		tree, ok := v.(map[string]any)
		if !ok {
			m.fail(name, "list of objects")
		}
		out = append(out, &members{tree: tree})
	}
	return out
}

// join takes over the error of a nested reader.
func (m *members) join(o *members) {
	if m.err == nil {
		m.err = o.err
	}
}
