package kv

import (
	"strings"

	"github.com/kvsettle/kvsettle/spec"
)

// Reason codes of Error.
const (
	// ReasonUnknownGeometry: no geometry has this slug.
	ReasonUnknownGeometry spec.Reason = "kv-geometry-unknown"
	// ReasonBadGeometry: a size of a geometry lies outside its bounds.
	ReasonBadGeometry spec.Reason = "kv-geometry-invalid"
	// ReasonBadScale: a scale is not positive or larger than MaxScale.
	ReasonBadScale spec.Reason = "kv-scale-invalid"
	// ReasonBadMemory: the memory given is too small for what it should hold.
	ReasonBadMemory spec.Reason = "kv-memory-too-small"
	// ReasonBadBlock: a block id is outside the pool, or not in the state that the
	// call needs.
	ReasonBadBlock spec.Reason = "kv-block-invalid"
	// ReasonBadRequest: token count and hash ids do not belong together.
	ReasonBadRequest spec.Reason = "kv-request-invalid"
	// ReasonTooLarge: a request needs more blocks than the pool has in all.
	ReasonTooLarge spec.Reason = "kv-request-too-large"
	// ReasonFull: not enough blocks are free or evictable now; a Release may help.
	ReasonFull spec.Reason = "kv-pool-full"
	// ReasonBadPlan: a plan was used twice or with another cache.
	ReasonBadPlan spec.Reason = "kv-plan-invalid"
	// ReasonBadContent: a piece or a token range does not fit a block.
	ReasonBadContent spec.Reason = "kv-content-invalid"
	// ReasonBadRange: a range lies outside the slot layout or the buffer.
	ReasonBadRange spec.Reason = "kv-range-invalid"
)

// Errors to compare with errors.Is; each matches every *Error of its reason.
var (
	// ErrFull: try again after a Release.
	ErrFull = &Error{Reason: ReasonFull}
	// ErrTooLarge: this request never fits into this pool.
	ErrTooLarge = &Error{Reason: ReasonTooLarge}
)

// Error is what this package returns, always. Match it with errors.As, or with
// errors.Is against another *Error: the Reason decides.
type Error struct {
	// Reason is the stable code.
	Reason spec.Reason
	// Req is the requirement that was broken, one of the Req constants.
	Req string
	// What names the call and the item refused.
	What string
}

// Error returns one line with what, reason and requirement.
func (e *Error) Error() string {
	var b strings.Builder
	if e.What != "" {
		b.WriteString(e.What)
		b.WriteString(": ")
	}
	b.WriteString(string(e.Reason))
	if e.Req != "" {
		b.WriteString(" (")
		b.WriteString(e.Req)
		b.WriteString(")")
	}
	return b.String()
}

// Is reports whether target is an *Error with the same Reason.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Reason == e.Reason
}
