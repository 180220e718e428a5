package shm

import (
	"errors"
	"strings"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

// Error is every error of this package except UnsupportedError. Its text ends with
// the requirement that stands beside the code in the table of reason codes. It matches
// another *Error of equal Reason, the sentinel of package transport that has the
// same code, and whatever its cause Err matches.
type Error struct {
	// Reason is the stable code.
	Reason spec.Reason
	// What names the operation and the peer.
	What string
	// Detail is an optional short text with the values involved and the setting that
	// moves a bound.
	Detail string
	// Err is an optional cause.
	Err error
}

// Error returns one line with operation, code, values, cause and requirement.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("shm: ")
	b.WriteString(e.What)
	b.WriteString(": ")
	b.WriteString(string(e.Reason))
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	if req := requirement(e.Reason); req != "" {
		b.WriteString(" (")
		b.WriteString(req)
		b.WriteString(")")
	}
	return b.String()
}

// Is reports whether target is an *Error with the same Reason or the sentinel of
// package transport for it.
func (e *Error) Is(target error) bool {
	if t, ok := target.(*Error); ok {
		return t.Reason == e.Reason
	}
	s := sentinel(e.Reason)
	return s != nil && s == target
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

func sentinel(r spec.Reason) error {
	switch r {
	case ReasonUnknownPeer:
		return transport.ErrUnknownPeer
	case ReasonPeerGone:
		return transport.ErrPeerGone
	case ReasonPeerSlow:
		return transport.ErrPeerSlow
	case ReasonOutsideRegion:
		return transport.ErrOutsideRegion
	case ReasonClosed:
		return transport.ErrClosed
	case ReasonTooLarge:
		return transport.ErrTooLarge
	}
	return nil
}

// UnsupportedError says that this system cannot run the adaptor. It matches
// errors.ErrUnsupported.
type UnsupportedError struct {
	// Missing lists what the adaptor needs and did not find, in words.
	Missing []string
}

// Error names everything that is missing.
func (e *UnsupportedError) Error() string {
	return "shm: " + string(ReasonUnsupported) + ": needs " + strings.Join(e.Missing, ", ") +
		" (" + reqContract + ")"
}

// Is reports whether target is errors.ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// reasonOf is the code of err for counting; other errors count as system errors.
func reasonOf(err error) spec.Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ReasonSystem
}
