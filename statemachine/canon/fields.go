package canon

import (
	"fmt"
	"slices"
	"strings"
)

// Fields takes a Go struct apart for a canonical form and makes sure that no field
// is forgotten: Err reports every one that was neither taken nor left out by name.
// So a machine that gains a field breaks its models loudly instead of being merged
// silently. Use Open.
type Fields struct {
	rec   Value
	what  string
	taken []string
	errs  []string
}

// Open reads v, a struct or a pointer to one.
func Open(v any) *Fields {
	f := &Fields{what: fmt.Sprintf("%T", v)}
	rec, err := Read(v)
	if err != nil {
		f.errs = append(f.errs, err.Error())
	}
	f.rec = rec
	return f
}

// Take returns the named field; the zero Value, and an error from Err, when there
// is none.
func (f *Fields) Take(name string) Value {
	v, ok := f.rec.Get(name)
	if !ok {
		f.errs = append(f.errs, "no field "+name)
	}
	f.taken = append(f.taken, name)
	return v
}

// Int returns the named field as a number.
func (f *Fields) Int(name string) int64 {
	v := f.Take(name)
	n, ok := v.Int64()
	if !ok {
		f.errs = append(f.errs, name+" is no number")
	}
	return n
}

// Set returns the named bit mask as the set of its positions, counted from 0.
func (f *Fields) Set(name string) Value { return Bits(uint64(f.Int(name)), 0) }

// Leave names fields that the form leaves out on purpose, because they are the same
// in every state or follow from the others.
func (f *Fields) Leave(names ...string) {
	for _, n := range names {
		f.Take(n)
	}
}

// Err returns what went wrong, a forgotten field included, or nil.
func (f *Fields) Err() error {
	errs := slices.Clone(f.errs)
	for i := range f.rec.Len() {
		k, _ := f.rec.At(i)
		if name, _ := k.Text(); !slices.Contains(f.taken, name) {
			errs = append(errs, "field "+name+" is not in the form")
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("canonical form of %s: %s", f.what, strings.Join(errs, "; "))
}
