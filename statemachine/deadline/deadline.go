// Package deadline adds durations to points in time without wrapping.
package deadline

import (
	"math"

	sm "github.com/kvsettle/kvsettle/statemachine"
)

// Never is a point in time that no clock reaches.
const Never sm.Time = math.MaxInt64

// After is the point length after now. A negative length counts as zero, and a sum
// that does not fit is Never: a deadline may be late, it is never in the past by
// overflow.
func After(now, length sm.Time) sm.Time {
	if length < 0 {
		length = 0
	}
	if now > Never-length {
		return Never
	}
	return now + length
}

// Over reports whether the deadline at has been reached. Never is not reached.
func Over(at, now sm.Time) bool { return at != Never && now >= at }
