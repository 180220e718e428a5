package trace

import (
	"strconv"
	"strings"

	"github.com/kvsettle/kvsettle/spec"
)

// Reason codes of Error.
const (
	// ReasonMissing: the file does not exist.
	ReasonMissing spec.Reason = "trace-missing"
	// ReasonUnreadable: the file cannot be opened or read.
	ReasonUnreadable spec.Reason = "trace-unreadable"
	// ReasonEmpty: the trace has no line at all.
	ReasonEmpty spec.Reason = "trace-empty"
	// ReasonLineTooLong: a line has more than MaxLine bytes.
	ReasonLineTooLong spec.Reason = "trace-line-too-long"
	// ReasonNotJSON: a line is not one JSON object.
	ReasonNotJSON spec.Reason = "trace-not-json"
	// ReasonFieldMissing: a field is absent or null.
	ReasonFieldMissing spec.Reason = "trace-field-missing"
	// ReasonFieldType: a field is not an integer, or not a list of them.
	ReasonFieldType spec.Reason = "trace-field-type"
	// ReasonFieldRange: a field lies outside its bounds.
	ReasonFieldRange spec.Reason = "trace-field-range"
	// ReasonTimeBack: a timestamp is smaller than the one before it.
	ReasonTimeBack spec.Reason = "trace-time-back"
	// ReasonHashCount: the number of hash ids does not match input_length.
	ReasonHashCount spec.Reason = "trace-hash-count"
	// ReasonTooShort: more requests were asked for than the trace has.
	ReasonTooShort spec.Reason = "trace-too-short"
)

// Error is what this package returns, always. Match it with errors.As, or with
// errors.Is against another *Error: the Reason decides.
type Error struct {
	// File is the name that the caller gave.
	File string
	// Line is the 1-based line; 0 where no line is meant.
	Line int
	// Field is the JSON field; empty where no single field is meant.
	Field string
	// Reason is the stable code.
	Reason spec.Reason
	// Req is the requirement that was broken, one of the Req constants.
	Req string
	// Detail says in a few words which values are involved.
	Detail string
	// Err is an optional cause (errors.Is sees fs.ErrNotExist through it).
	Err error
}

// Error returns one line with file, line, field, reason, detail and requirement.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("trace ")
	b.WriteString(e.File)
	if e.Line > 0 {
		b.WriteString(": line ")
		b.WriteString(strconv.Itoa(e.Line))
	}
	if e.Field != "" {
		b.WriteString(": field ")
		b.WriteString(e.Field)
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
