package ctx

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle/rows"
)

// Rows finds the row of the table of CTX attempts (chapter 12) that a step of a
// Machine took. Models count rows with it; it decides nothing.
type Rows struct{ x *rows.Index }

// LoadRows prepares the table v1-ctx-transitions.
func LoadRows() (*Rows, error) {
	x, err := rows.NewIndex("v1-ctx-transitions")
	return &Rows{x}, err
}

// IDs lists the rows in order. The slice is the caller's own.
func (r *Rows) IDs() []string { return r.x.IDs() }

// Len is the number of rows.
func (r *Rows) Len() int { return r.x.Len() }

// Of returns the index of the one row that the step from before to after by in took,
// and -1 for an input that was taken and changed nothing. A step without a row, or
// with two, is an error.
func (r *Rows) Of(before Machine, in Input, after Machine) (int, error) {
	if before == after && in.Kind != Request {
		return -1, nil
	}
	s := rows.Step{From: before.state.String(), Event: eventName(in.Kind, before.state), To: after.state.String()}
	if before.result == sm.Open {
		s.Decided = after.result
	}
	return r.x.Find(&s, func(id string) bool {
		switch id {
		case "v1-ctx-duplicate":
			return before == after
		case "v1-ctx-collect":
			return before != after
		}
		return true
	})
}

// eventName is the input's name in the table.
func eventName(k Kind, from State) string {
	switch k {
	case Start:
		return "start"
	case Granted:
		return "granted"
	case Denied:
		return "denied"
	case Request:
		return "request"
	case Written:
		return "written"
	case Ended:
		return "ended"
	case Cancel:
		return "cancel"
	case Abort:
		return "abort"
	case PeerLost:
		return "peer lost"
	}
	switch from {
	case Waiting:
		return "admission deadline"
	case Published:
		return "context deadline"
	case Draining:
		return "control deadline"
	}
	return "request deadline"
}
