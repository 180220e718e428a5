// Package rows checks that the transitions a machine reports are those of its table
// in the specification: each row is taken from one of its states, leads to its
// state, and the rows of one step together explain the step. Tests and models use
// it on every step they make.
package rows

import (
	"fmt"
	"slices"

	"github.com/kvsettle/kvsettle/spec"
)

// Table is a transition table prepared for checking.
type Table struct {
	rows  map[string]row
	ids   []string
	start string
}

type row struct {
	from []string
	to   string
}

// Load prepares the transition table with this name and adds rows that the table
// does not have, for steps that the specification demands elsewhere.
func Load(name string, extra ...Extra) (*Table, error) {
	t, err := spec.LoadTable(name)
	if err != nil {
		return nil, err
	}
	out := &Table{rows: map[string]row{}, start: t.Initial}
	for _, r := range t.Rows {
		out.rows[r.ID] = row{t.List(r, "from"), t.Cell(r, "to")}
		out.ids = append(out.ids, r.ID)
	}
	for _, e := range extra {
		if _, ok := out.rows[e.ID]; ok {
			return nil, fmt.Errorf("row %s is in table %s", e.ID, name)
		}
		out.rows[e.ID] = row{e.From, e.To}
	}
	return out, nil
}

// Extra is a row that the table does not have.
type Extra struct {
	ID   string
	From []string
	// To is a state or spec.Unchanged.
	To string
}

// IDs lists the rows of the table itself, in order. The slice is the caller's own.
func (t *Table) IDs() []string { return slices.Clone(t.ids) }

// Has says whether the table, or its extra rows, has a row.
func (t *Table) Has(id string) bool {
	_, ok := t.rows[id]
	return ok
}

// Explain returns nil if the rows taken, in order, lead from one state to the
// other. A from of absent stands for a machine that does not exist yet: it comes
// into being in the table's initial state.
func (t *Table) Explain(from, to, absent string, taken []string) error {
	at := from
	for _, id := range taken {
		r, ok := t.rows[id]
		if !ok {
			return fmt.Errorf("row %s is not in the table", id)
		}
		if at == absent && !slices.Contains(r.from, at) {
			at = t.start
		}
		if !slices.Contains(r.from, at) {
			return fmt.Errorf("row %s was taken from %s", id, at)
		}
		if r.to != spec.Unchanged {
			at = r.to
		}
	}
	if at != to && (at != absent || to != t.start) {
		return fmt.Errorf("rows %v lead from %s to %s, the machine is in %s", taken, from, at, to)
	}
	return nil
}
