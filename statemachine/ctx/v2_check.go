package ctx

import (
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/settle/rows"
)

// Tables checks the steps of a Parent against the two CTX tables of chapter 13.
type Tables struct{ parent, edge *rows.Table }

// LoadTables prepares the tables.
func LoadTables() (*Tables, error) {
	p, err := rows.Load("ctx-parent-transitions")
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
