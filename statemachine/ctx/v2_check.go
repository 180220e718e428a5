package ctx

import (
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/settle/rows"
)

// Tables checks the steps of a Parent against the two CTX tables of chapter 13.
type Tables struct{ parent, edge *rows.Table }

// LoadTables prepares the tables, with the steps that the specification asks for
// elsewhere and no row describes.
func LoadTables() (*Tables, error) {
	all := []string{"BOUND", "REDUCING", "SUCCESS_COMPLETE", "TERMINAL_NOT_STARTED", "TERMINAL_COMPLETED",
		"TERMINAL_UNKNOWN", "TERMINAL_QUIESCED"}
	ended := append([]string{"REDUCING"}, all[3:]...)
	p, err := rows.Load("ctx-parent-transitions",
		rows.Extra{ID: RowQuery.String(), From: append([]string{"PUBLISHED"}, all...), To: "unchanged"},
		rows.Extra{ID: RowAnswer.String(), From: all[1:3], To: "unchanged"},
		rows.Extra{ID: RowPendingOther.String(), From: []string{"PUBLISHED"}, To: "unchanged"},
		rows.Extra{ID: RowLateOpen.String(), From: ended, To: "unchanged"},
		rows.Extra{ID: RowLateProof.String(), From: all[3:], To: "unchanged"})
	if err != nil {
		return nil, err
	}
	e, err := rows.Load("ctx-edge-transitions")
	return &Tables{p, e}, err
}

// IDs lists the rows of both tables. The slice is the caller's own.
func (t *Tables) IDs() []string { return slices.Concat(t.parent.IDs(), t.edge.IDs()) }

// Explain returns nil if the rows in out are rows of the tables and lead from
// before to after; otherwise it says which does not (KS-CTX-1).
func (t *Tables) Explain(before, after Parent, out []ParentEffect) error {
	var parent []string
	var edge [MaxParentEdges][]string
	for _, e := range out {
		switch {
		case e.Kind != DoTake:
		case e.Row.OfEdge() && e.Edge < MaxParentEdges:
			edge[e.Edge] = append(edge[e.Edge], e.Row.String())
		default:
			parent = append(parent, e.Row.String())
		}
	}
	if err := t.parent.Explain(before.state.String(), after.state.String(), "-", parent); err != nil {
		return err
	}
	for i := range edge {
		from, to := before.edge[i].state, after.edge[i].state
		switch {
		case to == EdgeAbsent && len(edge[i]) == 0:
			continue // a proposal that was not bound leaves no child
		case from == EdgeAbsent && to == EdgeNotStarted && len(edge[i]) == 0:
			continue // RowLateOpen
		}
		if err := t.edge.Explain(from.String(), to.String(), EdgeAbsent.String(), edge[i]); err != nil {
			return err
		}
	}
	return nil
}
