package wire

import (
	"strconv"
	"strings"

	"github.com/kvsettle/kvsettle/spec"
)

// Error is what every decoder and encoder of this room returns when it refuses
// bytes or a value. Match it with errors.As, or compare with errors.Is against
// another *Error: two are equal in that sense when their Reason is equal.
type Error struct {
	// Reason is the stable code.
	Reason spec.Reason
	// Req is the id of the requirement that was broken, for example "KS-NAT-4".
	Req string
	// What names the message and field, for example "sync.agentName".
	What string
	// Offset is the byte offset in the decoder's input at which the refused item
	// starts; -1 where there is no input (encoders).
	Offset int
	// Detail is an optional short text with the values involved.
	Detail string
	// Err is an optional cause.
	Err error
}

// Error returns one line that names what, where, why and the requirement.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.What)
	if e.Offset >= 0 {
		b.WriteString(" at byte ")
		b.WriteString(strconv.Itoa(e.Offset))
	}
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
	if e.Req != "" {
		b.WriteString(" (")
		b.WriteString(e.Req)
		b.WriteString(")")
	}
	return b.String()
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error with the same Reason.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Reason == e.Reason
}
