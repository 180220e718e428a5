package world

import (
	"fmt"
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/canon"
)

// automaton is the transition table of a container, made by calling the
// container's own methods on every input of a finite alphabet in every state that
// they can reach. Pools, tag tables and registries live behind pointers, so a
// model's state holds the number of a row here instead. Two histories lead to the
// same row exactly when look says that the containers are equal.
type automaton[In comparable, Out any] struct {
	states []canon.Value // the container as look sees it, by row
	rows   []map[In]result[Out]
}

type result[Out any] struct {
	next uint16
	out  Out
}

// past is one step of the history that leads to a row.
type past[In, Out any] struct {
	in  In
	out Out
}

// maxRows keeps a mistake in an alphabet from filling the memory.
const maxRows = 1 << 15

// tabulate walks every container that the inputs of alphabet lead to from fresh.
// apply performs one input; alphabet may use the history so far.
func tabulate[C, Out any, In comparable](fresh func() C, look func(C) (canon.Value, error), apply func(C, In) Out,
	alphabet func([]past[In, Out]) []In) (*automaton[In, Out], error) {
	a := &automaton[In, Out]{}
	index := make(map[string]uint16)
	var paths [][]past[In, Out]
	add := func(c C, path []past[In, Out]) (uint16, error) {
		v, err := look(c)
		if err != nil {
			return 0, err
		}
		key := v.String()
		if id, ok := index[key]; ok {
			return id, nil
		}
		if len(a.states) >= maxRows {
			return 0, fmt.Errorf("container has more than %d states", maxRows)
		}
		id := uint16(len(a.states))
		index[key] = id
		a.states, paths = append(a.states, v), append(paths, path)
		return id, nil
	}
	if _, err := add(fresh(), nil); err != nil {
		return nil, err
	}
	for id := 0; id < len(a.states); id++ {
		row := make(map[In]result[Out])
		for _, in := range alphabet(paths[id]) {
			c := fresh()
			for _, p := range paths[id] {
				apply(c, p.in)
			}
			out := apply(c, in)
			next, err := add(c, append(slices.Clone(paths[id]), past[In, Out]{in, out}))
			if err != nil {
				return nil, err
			}
			row[in] = result[Out]{next, out}
		}
		a.rows = append(a.rows, row)
	}
	return a, nil
}

// step returns what the container does with in when it is in row id; ok is false
// for an input outside the alphabet.
func (a *automaton[In, Out]) step(id uint16, in In) (next uint16, out Out, ok bool) {
	if int(id) >= len(a.rows) {
		return id, out, false
	}
	r, ok := a.rows[id][in]
	if !ok {
		return id, out, false
	}
	return r.next, r.out, true
}
