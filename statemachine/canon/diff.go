package canon

// Change is one place in which two values differ. Path is written as in TLA+:
// gen[1].state.
type Change struct {
	Path     string
	From, To Value
}

// Diff lists where b differs from a, in canonical order. Functions with the same
// domain are compared point by point; anything else counts as one change. Equal
// values give nil.
func Diff(a, b Value) []Change { return diff(nil, "", a, b) }

func diff(out []Change, path string, a, b Value) []Change {
	if a.Compare(b) == 0 {
		return out
	}
	if a.kind != KindFun || b.kind != KindFun || len(a.keys) != len(b.keys) {
		return append(out, Change{path, a, b})
	}
	for i := range a.keys {
		if a.keys[i].Compare(b.keys[i]) != 0 {
			return append(out, Change{path, a, b})
		}
	}
	for i, k := range a.keys {
		at := path + "[" + k.String() + "]"
		if k.kind == KindStr && isName(k.str) {
			at = k.str
			if path != "" {
				at = path + "." + k.str
			}
		}
		out = diff(out, at, a.vals[i], b.vals[i])
	}
	return out
}

// String returns the change on one line.
func (c Change) String() string { return c.Path + ": " + c.From.String() + " -> " + c.To.String() }
