package gen

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle/rows"
)

// Rows finds the row of the table of GEN attempts (chapter 12) that a step of a
// Machine took. Models count rows with it; it decides nothing.
type Rows struct{ x *rows.Index }

// LoadRows prepares the table v1-gen-transitions.
func LoadRows() (*Rows, error) {
	x, err := rows.NewIndex("v1-gen-transitions")
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
	if before == after {
		return -1, nil
	}
	s := rows.Step{From: before.state.String(), Event: eventName(in.Kind, before.state), To: after.state.String(), Cancelled: after.wanted}
	if before.result == sm.Open {
		s.Decided = after.result
	}
	return r.x.Find(&s, func(id string) bool { return guard(id, &before, &in, &after) })
}

// eventName is the input's name in the table.
func eventName(k Kind, from State) string {
	switch k {
	case Start:
		return "start"
	case RefusedLocally, Nothing:
		return "validation"
	case Granted:
		return "granted"
	case Denied:
		return "denied"
	case Published:
		return "sent"
	case PublishError:
		return "send failed"
	case PublishDoubt:
		return "send doubtful"
	case Ready:
		return "ready"
	case Sync:
		return "sync"
	case Scattered:
		return "scattered"
	case Cancel:
		return "cancel"
	case Abort:
		return "abort"
	case PeerLost:
		return "peer lost"
	case PeerQuiet:
		return "peer quiet"
	}
	switch from {
	case Waiting:
		return "admission deadline"
	case Draining:
		return "control deadline"
	}
	return "request deadline"
}

// guard says whether a row's guard holds, as far as its other cells leave a choice.
func guard(id string, before *Machine, in *Input, after *Machine) bool {
	// What ends an attempt before its answers are judged.
	lost := before.reason != sm.ReasonNone || in.Kind == PublishError || in.Kind == PublishDoubt ||
		before.state == Publishing && after.quiet&after.asked&^after.synced != 0
	bit := uint64(1) << in.Edge
	conflict := in.Kind == Sync && before.refused&bit != 0 ||
		in.Kind == Ready && in.Value && before.refused&bit != 0 ||
		in.Kind == Ready && !in.Value && (before.ready|before.synced)&bit != 0
	mixed := after.refused != 0 && after.ready|after.synced != 0
	unexpected := after.expects && after.ready|after.synced != 0
	refused := after.refused == after.all()
	decides := after.wanted && after.cancels
	switch id {
	case "v1-gen-publish-failed", "v1-gen-publish-failed-proven":
		return lost
	case "v1-gen-unexpected-ready", "v1-gen-unexpected-ready-proven":
		return !lost && !conflict && unexpected && !decides
	case "v1-gen-all-rejected":
		return !lost && refused && !decides
	case "v1-gen-mixed", "v1-gen-mixed-proven":
		return !lost && !conflict && !unexpected && mixed && !after.wanted
	case "v1-gen-cancel-proven":
		return !lost && (decides || mixed && !unexpected)
	case "v1-gen-conflict", "v1-gen-scatter-conflict":
		return conflict
	}
	return true
}
