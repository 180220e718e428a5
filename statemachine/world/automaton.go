package world

import (
	"fmt"
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/canon"
)

// automaton is the transition table of a container, made by calling the
// container's own methods on every input of a finite alphabet in every state that
// they can reach. Other inputs are answered by a container made by the same history,
// as long as they lead to a known state. Pools, tag tables and registries live behind pointers, so a
// model's state holds the number of a row here instead. Two histories lead to the
// same row exactly when key says that the containers are equal.
type automaton[In comparable, Out any] struct {
	states []canon.Value // the container as look shows it, by row
	rows   []map[In]result[Out]
	// miss performs an input outside the alphabet on a container made for it.
	miss func(id uint16, in In) (result[Out], bool)
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
func tabulate[C, Out any, In comparable](fresh func() C, key func(C) string, look func(C) (canon.Value, error), apply func(C, In) Out,
	alphabet func([]past[In, Out]) []In) (*automaton[In, Out], error) {
	a := &automaton[In, Out]{}
	index := make(map[string]uint16)
	var paths [][]past[In, Out]
	add := func(c C, path []past[In, Out]) (uint16, error) {
		k := key(c)
		if id, ok := index[k]; ok {
			return id, nil
		}
		v, err := look(c)
		if err != nil {
			return 0, err
		}
		if len(a.states) >= maxRows {
			return 0, fmt.Errorf("container has more than %d states", maxRows)
		}
		id := uint16(len(a.states))
		index[k] = id
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
	a.miss = func(id uint16, in In) (result[Out], bool) {
		c := fresh()
		for _, p := range paths[id] {
			apply(c, p.in)
		}
		out := apply(c, in)
		next, ok := index[key(c)]
		return result[Out]{next, out}, ok
	}
	return a, nil
}

// step returns what the container does with in when it is in row id; ok is false
// for an input that leads out of the table.
func (a *automaton[In, Out]) step(id uint16, in In) (next uint16, out Out, ok bool) {
	if int(id) >= len(a.rows) {
		return id, out, false
	}
	r, ok := a.rows[id][in]
	if !ok {
		r, ok = a.miss(id, in)
	}
	return r.next, r.out, ok
}

// whole is the key of a container by every field of it.
func whole[C any](c C) string { return fmt.Sprintf("%#v", c) }
