package catalog

import (
	"fmt"
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// Followed is what a model makes of a run that is given by its states.
type Followed struct {
	// Init is the initial state, counted from 0, and Events are the steps that the model
	// can do as well, from there on.
	Init   int
	Events []string
	// Whole: these are all steps of the run. Otherwise Possible lists what the model can
	// do where it cannot follow any more.
	Whole    bool
	Possible []string
	// Violated names the invariants that do not hold after Events; Settled says whether
	// nothing is owed there.
	Violated []string
	Settled  bool
}

// Follower is a Model that can follow a run given by its states in canonical form.
// Every model of this package is one.
type Follower interface {
	// Follow takes the names of the actions, and the states: the initial one, and one
	// after each action. It goes on as long as the model has an event of that action
	// that leads to that state. The error wraps ErrImpossible where the first state is no
	// initial state of the model.
	Follow(actions []string, states []canon.Value) (Followed, error)
}

func (t *typed[S]) Follow(actions []string, states []canon.Value) (Followed, error) {
	f := Followed{Init: -1}
	if t.m.Canon == nil || len(states) != len(actions)+1 {
		return f, fmt.Errorf("%w: %s: %d states for %d actions", explore.ErrModel, t.m.Name, len(states), len(actions))
	}
	is := func(s *S, v canon.Value) (bool, error) {
		c, err := t.m.Canon(s)
		return err == nil && c.Compare(v) == 0, err
	}
	var s S
	for i := range t.m.Init {
		ok, err := is(&t.m.Init[i], states[0])
		if err != nil {
			return f, err
		}
		if ok {
			f.Init, s = i, t.m.Init[i]
			break
		}
	}
	if f.Init < 0 {
		return f, fmt.Errorf("%w: %s does not begin so", ErrImpossible, t.m.Name)
	}
	f.Whole = true
	for i, action := range actions {
		var next S
		var failed error
		found := false
		f.Possible = nil
		t.m.Next(&s, world.NewOut(func(ev world.Event, n *S) {
			text := t.m.Describe(ev)
			f.Possible = append(f.Possible, text)
			if found || t.m.Actions[ev.Action].Name != action {
				return
			}
			ok, err := is(n, states[i+1])
			if err != nil {
				failed = err
			}
			if ok {
				found, next = true, *n
				f.Events = append(f.Events, text)
			}
		}))
		if failed != nil {
			return f, failed
		}
		if !found {
			f.Whole = false
			slices.Sort(f.Possible)
			break
		}
		s, f.Possible = next, nil
	}
	f.Settled = t.m.Settled(&s)
	for _, inv := range t.m.Invariants {
		if !inv.Holds(&s) {
			f.Violated = append(f.Violated, inv.Name)
		}
	}
	return f, nil
}
