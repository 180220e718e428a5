package vectors

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/native"
)

// object is the fields of a value as they are rendered.
type object = map[string]any

// outcome is what a codec made of the bytes, or of the fields, of a line.
type outcome struct {
	// fields is the value, and again what a writer makes of it.
	fields any
	again  []byte
	// validate is the answer of the range checks; checked says whether the type has
	// any.
	checked  bool
	validate error
}

// codec reads and writes one type.
type codec struct {
	// profiles are those that exist for the type.
	profiles []string
	// input names the fields that the codec takes from a line, from a refused one
	// too: the type is written or checked, not only read.
	input []string
	run   func(profile string, b []byte, fields map[string]any) (outcome, error)
}

var (
	byNative = []string{Mid2026, Late2025}
	onlyMid  = []string{Mid2026}
	onlyV2   = []string{V2}
	onlyHTTP = []string{HTTP}
)

// The profiles of vectors.
const (
	// Mid2026 and Late2025 are the native layouts.
	Mid2026  = "2026mid"
	Late2025 = "2025late"
	// V1, V2, V1V2 and Old are the forms of descriptors that a reader looks for.
	V1   = "v1"
	V2   = "v2"
	V1V2 = "v1+v2"
	Old  = "old"
	// V2Recovery, V2Quiescence and V2Both are the control carrier with capability
	// bit 48, 49 or both selected; V2 is the carrier without.
	V2Recovery   = "v2+48"
	V2Quiescence = "v2+49"
	V2Both       = "v2+48+49"
	// HTTP is what stands in bodies and headers of the hand-over.
	HTTP = "http"
)

var codecs = merge(nativeCodecs, descriptorCodecs, controlCodecs, identityCodecs, handoverCodecs)

func merge(sets ...map[string]codec) map[string]codec {
	all := map[string]codec{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}

// Types returns the names of all types, sorted.
func Types() []string { return slices.Sorted(maps.Keys(codecs)) }

// Profiles returns the profiles that exist for a type; nil for a type that does
// not. The slice is the caller's own.
func Profiles(typ string) []string { return slices.Clone(codecs[typ].profiles) }

func (l *Line) run() (outcome, error) {
	c, ok := codecs[l.Type]
	if !ok {
		return outcome{}, harness("unknown type %q", l.Type)
	}
	if !slices.Contains(c.profiles, l.Profile) {
		return outcome{}, harness("unknown profile %q of type %s", l.Profile, l.Type)
	}
	b, err := unhex(l.Hex)
	if err != nil {
		return outcome{}, harness("hex: %v", err)
	}
	fields, ok := l.Fields.(map[string]any)
	switch {
	case c.input != nil && !ok:
		return outcome{}, harness("type %s needs fields", l.Type)
	case c.input != nil:
		if err := onlyKeys(fields, c.input); err != nil {
			return outcome{}, harness("fields: %v", err)
		}
	case ok && l.Result == Error:
		return outcome{}, harness("type %s has no fields in bytes that are refused", l.Type)
	}
	return c.run(l.Profile, b, fields)
}

// harnessError is about the vector, not about the bytes in it, so that it can
// never pass for the refusal that a vector asks for.
type harnessError struct{ text string }

func (e *harnessError) Error() string { return e.text }

func harness(format string, args ...any) error {
	return &harnessError{fmt.Sprintf(format, args...)}
}

// unwritten says that a reader accepted what its writer refuses. The writer's
// refusal must not pass for the reader's.
func unwritten(err error) error { return harness("read, but not written again: %v", err) }

// classError is the refusal of a descriptor, which has a class and no offset.
type classError struct{ class descriptor.Class }

func (e *classError) Error() string { return string(e.class) }

// classOf returns the class of a refusal and its offset; nil where there is none.
func classOf(err error) (class string, offset *int) {
	var w *wire.Error
	var c *classError
	switch {
	case errors.As(err, &c):
		return string(c.class), nil
	case errors.As(err, &w):
		if w.Offset >= 0 {
			return string(w.Reason), &w.Offset
		}
		return string(w.Reason), nil
	}
	return "", nil
}

// Check runs the Go codec on the line and returns the first difference between
// what the line asks for and what happened; empty when there is none.
func (l *Line) Check() string {
	got, err := l.run()
	var h *harnessError
	if errors.As(err, &h) {
		return h.text
	}
	if l.Result == Error {
		if err == nil {
			return "want error " + l.Error + ", got no error"
		}
		class, offset := classOf(err)
		if class != l.Error {
			return "want error " + l.Error + ", got " + err.Error()
		}
		return differentOffset(l.Offset, offset)
	}
	if err != nil {
		return "want no error, got " + err.Error()
	}
	fields, err := treeOf(got.fields)
	if err != nil {
		return err.Error()
	}
	if d := difference("fields", l.Fields, fields); d != "" {
		return d
	}
	want := l.Hex
	if l.Reencode != "" {
		want = l.Reencode
	}
	if d := differentHex("written again", want, got.again); d != "" {
		return d
	}
	if l.Validate == "" {
		return ""
	}
	if !got.checked {
		return "validate: type " + l.Type + " has no range checks"
	}
	class := "ok"
	if got.validate != nil {
		class, _ = classOf(got.validate)
	}
	if class != l.Validate {
		return "validate: want " + l.Validate + ", got " + class
	}
	return ""
}

func differentOffset(want, got *int) string {
	show := func(n *int) string {
		if n == nil {
			return "none"
		}
		return strconv.Itoa(*n)
	}
	if show(want) != show(got) {
		return "want offset " + show(want) + ", got " + show(got)
	}
	return ""
}

func differentHex(what, want string, got []byte) string {
	g := hex.EncodeToString(got)
	if g == want {
		return ""
	}
	n := 0
	for n < len(g) && n < len(want) && g[n] == want[n] {
		n++
	}
	return fmt.Sprintf("%s: %d bytes where %d are wanted, first difference at byte %d", what, len(got), len(want)/2, n/2)
}

// latin writes bytes as text with one code point per byte.
func latin(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

// unlatin is the way back.
func unlatin(s string) (string, bool) {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xFF {
			return "", false
		}
		b = append(b, byte(r))
	}
	return string(b), true
}

func u64[T ~uint64](v T) string { return strconv.FormatUint(uint64(v), 10) }

func list[T any](in []T, f func(T) any) []any {
	out := make([]any, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

func optional(has bool, v any) any {
	if !has {
		return nil
	}
	return v
}

func nativeProfile(p string) native.Profile {
	if p == Late2025 {
		return native.Late2025
	}
	return native.Mid2026
}

// Codes returns the reason codes that vectors of package wire can carry, sorted:
// those that the specification lists for it.
func Codes() []spec.Reason {
	var out []spec.Reason
	for _, r := range spec.Reasons() {
		if r.Area == "wire" {
			out = append(out, r.Code)
		}
	}
	slices.Sort(out)
	return out
}
