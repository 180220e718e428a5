package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Kind says how the rows of a Table are to be read.
type Kind string

// The kinds of tables.
const (
	// List: every row is a fact of its own.
	List Kind = "list"
	// Decision: rows are tried in order and the first that applies decides.
	Decision Kind = "decision"
	// Transitions: rows are the transitions of one machine. The first four columns are
	// from, event, guard, to.
	Transitions Kind = "transitions"
)

// Unchanged is the value of "to" in a transition row that keeps its state.
const Unchanged = "unchanged"

// None is the cell of a row that has nothing to say in that column.
const None = "none"

// Table is one decision, transition or list table of the specification.
type Table struct {
	// Name is the file name without ".json".
	Name string `json:"name"`
	// Title is for people.
	Title string `json:"title"`
	// Chapter is the chapter that shows the table.
	Chapter string `json:"chapter"`
	// Kind says how to read the rows.
	Kind Kind `json:"kind"`
	// States lists every state of a transition table; empty otherwise.
	States []string `json:"states,omitempty"`
	// Initial is the state that a machine begins in; empty otherwise.
	Initial string `json:"initial,omitempty"`
	// Final lists the states that a machine never leaves.
	Final []string `json:"final,omitempty"`
	// Columns names the cells of a row, in order.
	Columns []string `json:"columns"`
	// Rows are in the order of the text; in a Decision table the order counts.
	Rows []Row `json:"rows"`
}

// Row is one row of a Table.
type Row struct {
	// ID names the row within its table; it is stable, so that models and cases can
	// refer to it.
	ID string `json:"id"`
	// Cells are the values, one per column.
	Cells []string `json:"cells"`
	// Req are the requirements that the row is part of; at least one.
	Req []string `json:"req"`
}

// ErrNoTable is returned by LoadTable for a name that no table has.
var ErrNoTable = errors.New("no such table")

var loadTables = sync.OnceValues(func() (map[string]Table, error) { return ParseTables(files) })

// LoadTable returns the table with this name. The value is the caller's own. The
// error wraps ErrNoTable for an unknown name.
func LoadTable(name string) (Table, error) {
	all, err := loadTables()
	if err != nil {
		return Table{}, err
	}
	t, ok := all[name]
	if !ok {
		return Table{}, fmt.Errorf("%w: %q", ErrNoTable, name)
	}
	return t.clone(), nil
}

// Tables returns every table, sorted by name. The values are the caller's own.
func Tables() []Table {
	all, err := loadTables()
	if err != nil {
		return nil
	}
	out := make([]Table, 0, len(all))
	for _, t := range all {
		out = append(out, t.clone())
	}
	slices.SortFunc(out, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (t Table) clone() Table {
	t.States, t.Final, t.Columns = slices.Clone(t.States), slices.Clone(t.Final), slices.Clone(t.Columns)
	t.Rows = slices.Clone(t.Rows)
	for i := range t.Rows {
		t.Rows[i].Cells = slices.Clone(t.Rows[i].Cells)
		t.Rows[i].Req = slices.Clone(t.Rows[i].Req)
	}
	return t
}

// Cell returns the value of a row in the named column, or "" when the table has
// no such column.
func (t Table) Cell(r Row, column string) string {
	i := slices.Index(t.Columns, column)
	if i < 0 || i >= len(r.Cells) {
		return ""
	}
	return r.Cells[i]
}

// List returns the parts of a cell that holds several values, for example the
// states of "from". They are separated by a comma and a space in the data.
func (t Table) List(r Row, column string) []string {
	c := t.Cell(r, column)
	if c == "" || c == None {
		return nil
	}
	return strings.Split(c, ", ")
}

// Row returns the row with this id.
func (t Table) Row(id string) (Row, bool) {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.ID == id })
	if i < 0 {
		return Row{}, false
	}
	return t.Rows[i], true
}

// ParseTables reads every table of tables/*.json in fsys and checks its form:
// name, kind, one cell per column, unique row ids, and for transitions known
// states, each of them reachable and each non-final one left by some row.
func ParseTables(fsys fs.FS) (map[string]Table, error) {
	names, err := fs.Glob(fsys, "tables/*.json")
	if err != nil {
		return nil, err
	}
	out := make(map[string]Table, len(names))
	for _, name := range names {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		var t Table
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.DisallowUnknownFields()
		if err := d.Decode(&t); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if "tables/"+t.Name+".json" != name {
			return nil, fmt.Errorf("%s: its name is %q", name, t.Name)
		}
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[t.Name] = t
	}
	return out, nil
}

func (t Table) check() error {
	if t.Title == "" || t.Chapter == "" || len(t.Columns) == 0 || len(t.Rows) == 0 {
		return errors.New("title, chapter, columns and rows are needed")
	}
	seen := make(map[string]bool, len(t.Rows))
	for _, r := range t.Rows {
		if r.ID == "" || seen[r.ID] {
			return fmt.Errorf("row id %q is empty or used twice", r.ID)
		}
		seen[r.ID] = true
		if len(r.Cells) != len(t.Columns) {
			return fmt.Errorf("row %s has %d cells for %d columns", r.ID, len(r.Cells), len(t.Columns))
		}
		if slices.Contains(r.Cells, "") {
			return fmt.Errorf("row %s has an empty cell; write %q", r.ID, None)
		}
		if len(r.Req) == 0 {
			return fmt.Errorf("row %s cites no requirement", r.ID)
		}
	}
	switch t.Kind {
	case List, Decision:
		if len(t.States) > 0 || t.Initial != "" || len(t.Final) > 0 {
			return errors.New("only a table of transitions has states")
		}
		return nil
	case Transitions:
		return t.checkTransitions()
	}
	return fmt.Errorf("unknown kind %q", t.Kind)
}

func (t Table) checkTransitions() error {
	if len(t.Columns) < 4 || !slices.Equal(t.Columns[:4], []string{"from", "event", "guard", "to"}) {
		return errors.New("the columns of transitions begin with from, event, guard, to")
	}
	known := func(s string) bool { return slices.Contains(t.States, s) }
	if !known(t.Initial) {
		return fmt.Errorf("initial state %q is not listed", t.Initial)
	}
	reached := map[string]bool{t.Initial: true}
	left := map[string]bool{}
	for _, s := range t.Final {
		if !known(s) {
			return fmt.Errorf("final state %q is not listed", s)
		}
	}
	for _, r := range t.Rows {
		to := t.Cell(r, "to")
		if to != Unchanged && !known(to) {
			return fmt.Errorf("row %s: unknown state %q", r.ID, to)
		}
		for _, from := range t.List(r, "from") {
			if !known(from) {
				return fmt.Errorf("row %s: unknown state %q", r.ID, from)
			}
			if to == Unchanged {
				continue
			}
			if slices.Contains(t.Final, from) {
				return fmt.Errorf("row %s leaves the final state %s", r.ID, from)
			}
			left[from] = true
			reached[to] = true
		}
	}
	for _, s := range t.States {
		if !reached[s] {
			return fmt.Errorf("no row reaches state %s", s)
		}
		if !left[s] && !slices.Contains(t.Final, s) {
			return fmt.Errorf("no row leaves state %s", s)
		}
	}
	return nil
}
