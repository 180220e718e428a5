package escalate

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
)

// Budget is the supervisor's: how many restarts that peers caused may happen within a
// window. A peer that can end a worker could otherwise end each of its successors
// (doubt D5). Restarts for a reason of one's own are not counted.
//
// A restart over the budget is not refused, memory without proof needs it: the old
// process ends as always. Its successor waits.
type Budget struct {
	window sm.Time
	past   []sm.Time // a ring of the last restarts
	head   int
	used   int
}

// MaxRestarts is the largest number of restarts of a Budget.
const MaxRestarts = 1024

// NewBudget returns a budget of restarts per window. It refuses a number outside 1 to
// 1024 and a window that is not positive.
func NewBudget(restarts int, window sm.Time) (*Budget, error) {
	if restarts < 1 || restarts > MaxRestarts || window <= 0 {
		return nil, sm.Refuse(sm.BadRequest, reqBounds, "escalate: restarts per window")
	}
	return &Budget{window: window, past: make([]sm.Time, restarts)}, nil
}

// Spend records a restart that a peer caused, at now, and returns when the successor
// may start: now while the budget lasts, else when the oldest of the last restarts
// has left the window. The time returned never goes back.
func (b *Budget) Spend(now sm.Time) (start sm.Time) {
	start = now
	if b.used == len(b.past) {
		start = max(now, deadline.After(b.past[b.head], b.window))
	} else {
		b.used++
	}
	b.past[b.head] = start
	b.head = (b.head + 1) % len(b.past)
	return start
}
