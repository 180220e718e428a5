package statemachine

import (
	"github.com/kvsettle/kvsettle/spec"
)

// Time is a point on the caller's monotonic clock in nanoseconds (KS-TIME-10). It
// is never negative and never goes back. Only differences mean anything; zero is
// a valid point, but as a deadline it means that there is none.
type Time int64

// Disposition says how a request ended on one side. Open means that it has not.
type Disposition uint8

// The dispositions. Every admitted request reaches exactly one of the last four
// on each side (KS-V1-12).
const (
	Open Disposition = iota
	Completed
	Rejected
	Cancelled
	Failed
)

// String returns the lower-case word that reports use.
func (d Disposition) String() string {
	switch d {
	case Open:
		return "open"
	case Completed:
		return "completed"
	case Rejected:
		return "rejected"
	case Cancelled:
		return "cancelled"
	case Failed:
		return "failed"
	}
	return "invalid"
}

// Refusal is the error of a Step that refused its input. The machine and every
// container it was given are unchanged.
type Refusal struct {
	// Reason is the stable code.
	Reason spec.Reason
	// Req is the requirement that forbids the input here.
	Req string
	// What says in a few words what was refused and in which state.
	What string
}

// Error returns one line with text, code and requirement.
func (r *Refusal) Error() string {
	return r.What + ": " + string(r.Reason) + " (" + r.Req + ")"
}

// Is reports whether target is a *Refusal with the same Reason.
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t.Reason == r.Reason
}
