package nixl

import (
	"errors"
	"strings"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

// Error is every error of this package except UnsupportedError. It matches another
// *Error of equal Reason, the sentinel of package transport that has the same code,
// and whatever its cause Err matches.
type Error struct {
	// Reason is the stable code.
	Reason spec.Reason
	// What names the operation and the peer.
	What string
	// Call is the function of the library that failed, and Status what it returned;
	// empty when the library was not asked.
	Call, Status string
	// Detail is an optional short text with the values involved and the setting that
	// moves a bound.
	Detail string
	// Err is an optional cause.
	Err error
}

// Error returns one line with operation, code, call, values, cause and requirement.
func (e *Error) Error() string {
	parts := []string{"nixl: " + e.What, string(e.Reason)}
	if e.Call != "" {
		parts = append(parts, e.Call+": "+e.Status)
	}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	text := strings.Join(parts, ": ")
	if req := requirement(e.Reason); req != "" {
		text += " (" + req + ")"
	}
	return text
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

// Code is the reason code, and Requirement the id of the requirement behind it.
func (e *Error) Code() spec.Reason { return e.Reason }

// Requirement is the id of the requirement behind the reason; see Code.
func (e *Error) Requirement() string { return requirement(e.Reason) }

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

func sentinel(r spec.Reason) error {
	switch r {
	case ReasonUnknownPeer:
		return transport.ErrUnknownPeer
	case ReasonPeerGone:
		return transport.ErrPeerGone
	case ReasonOutsideRegion:
		return transport.ErrOutsideRegion
	case ReasonClosed:
		return transport.ErrClosed
	case ReasonTooLarge:
		return transport.ErrTooLarge
	}
	return nil
}

// UnsupportedError says that this system or this program cannot run the adaptor. It
// matches errors.ErrUnsupported.
type UnsupportedError struct {
	// Missing lists what the adaptor needs and did not get, each with the file it is
	// about.
	Missing []string
	// Fix says what to do.
	Fix string
}

// Error names everything that is missing and the fix.
func (e *UnsupportedError) Error() string {
	return "nixl: " + string(ReasonUnsupported) + ": " + strings.Join(e.Missing, "; ") + ": " + e.Fix + " (" + reqContract + ")"
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

// failed is an error of one call of the library.
func failed(r spec.Reason, what, call string, st status) *Error {
	return &Error{Reason: r, What: what, Call: "nixl_capi_" + call, Status: st.String()}
}
