package rows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
)

// Index finds the one row of a table of chapter 12 that a step took. Its columns are
// from, event, guard, to, outcome and effects.
type Index struct {
	ids []string
	by  map[moment][]candidate
}

type moment struct{ from, event string }

type candidate struct {
	row     int
	id, to  string
	outcome string
}

// Step is one step of a machine as the tables see it.
type Step struct {
	// From and To are the names of states, Event is the name of what happened.
	From, Event, To string
	// Decided is the outcome that this step decided; Open if none.
	Decided sm.Disposition
	// Cancelled says that a cancel was taken, at the latest by this step.
	Cancelled bool
}

// NewIndex prepares the table with this name.
func NewIndex(name string) (*Index, error) {
	t, err := spec.LoadTable(name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(t.Columns, "outcome") {
		return nil, fmt.Errorf("table %s has no outcomes", name)
	}
	x := &Index{by: map[moment][]candidate{}}
	for i, r := range t.Rows {
		x.ids = append(x.ids, r.ID)
		c := candidate{i, r.ID, t.Cell(r, "to"), t.Cell(r, "outcome")}
		for _, from := range t.List(r, "from") {
			for _, event := range t.List(r, "event") {
				m := moment{from, event}
				x.by[m] = append(x.by[m], c)
			}
		}
	}
	return x, nil
}

// IDs lists the rows in order. The slice is the caller's own.
func (x *Index) IDs() []string { return slices.Clone(x.ids) }

// Len is the number of rows.
func (x *Index) Len() int { return len(x.ids) }

// orCancelled ends the cells of outcomes that a cancel changes.
const orCancelled = ", or cancelled after a cancel"

func (c *candidate) fits(s *Step) bool {
	if c.to != s.To && !(c.to == spec.Unchanged && s.To == s.From) {
		return false
	}
	first, either := strings.CutSuffix(c.outcome, orCancelled)
	switch {
	case c.outcome == spec.None:
		return s.Decided == sm.Open
	case either && s.Cancelled:
		return s.Decided == sm.Cancelled
	}
	return s.Decided.String() == first
}

// Find returns the index of the row whose cells fit the step and for whose id guard
// returns true. It is an error if there is none, or more than one.
func (x *Index) Find(s *Step, guard func(id string) bool) (int, error) {
	found := -1
	for i, list := 0, x.by[moment{s.From, s.Event}]; i < len(list); i++ {
		c := &list[i]
		if !c.fits(s) || !guard(c.id) {
			continue
		}
		if found >= 0 {
			return -1, fmt.Errorf("rows %s and %s both fit: %+v", x.ids[found], c.id, *s)
		}
		found = c.row
	}
	if found < 0 {
		return -1, fmt.Errorf("no row fits: %+v", *s)
	}
	return found, nil
}
