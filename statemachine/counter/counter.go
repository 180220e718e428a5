// Package counter counts what is never named twice: attempts and message ids.
package counter

import (
	"math"

	sm "github.com/kvsettle/kvsettle/statemachine"
)

var errExhausted error = &sm.Refusal{Reason: sm.GenerationExhausted, Req: reqClosed, What: "counter: no number is left"}

// Counter gives 1, 2, 3 and so on, each number once. It is a value; the zero value
// has given nothing yet, and 0 is never given. A copy gives the same numbers again,
// so one owner holds it.
type Counter struct{ last uint64 }

// After returns a Counter whose last number was last.
func After(last uint64) Counter { return Counter{last} }

// Last is the number given last, 0 before the first.
func (c Counter) Last() uint64 { return c.last }

// Next gives the next number. At the end of 64 bits it returns a
// *statemachine.Refusal and stays there: a counter fails closed before it wraps
// (KS-ID-5).
func (c *Counter) Next() (uint64, error) {
	if c.last == math.MaxUint64 {
		return 0, errExhausted
	}
	c.last++
	return c.last, nil
}
