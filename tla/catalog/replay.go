package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// ErrImpossible says that a run is no behaviour of a model.
var ErrImpossible = fmt.Errorf("%w: not a behaviour of the model", explore.ErrModel)

// Replayed is a run that a model can make.
type Replayed struct {
	Story explore.Story
	// Violated names the invariants that do not hold in the last state.
	Violated []string
	// Settled says that nothing is owed in the last state.
	Settled bool
}

// Replayer is a Model that can follow a run given as text. Every model of this
// package is one.
type Replayer interface {
	// Replay begins in initial state init, counted from 0, and takes the events, each
	// written as in stories: the action's name with its arguments. The error wraps
	// ErrImpossible and names the first event that is unknown or not possible there, with
	// those that are.
	Replay(title string, init int, events []string) (Replayed, error)
	// Events writes the events of a path in the same form.
	Events(p explore.Path) []string
}

func (t *typed[S]) Events(p explore.Path) []string {
	out := []string{}
	for _, ev := range p.Events {
		out = append(out, t.m.Describe(ev))
	}
	return out
}

func (t *typed[S]) Replay(title string, init int, events []string) (Replayed, error) {
	if init < 0 || init >= len(t.m.Init) {
		return Replayed{}, fmt.Errorf("%w: %s has no initial state %d", ErrImpossible, t.m.Name, init)
	}
	p := explore.Path{Init: init, Loop: -1}
	s := t.m.Init[init]
	for i, text := range events {
		name, _, _ := strings.Cut(text, "(")
		if !slices.ContainsFunc(t.m.Actions, func(a world.Info) bool { return a.Name == name }) {
			return Replayed{}, fmt.Errorf("%w: event %d: %s has no action %q", ErrImpossible, i+1, t.m.Name, name)
		}
		var next S
		var possible []string
		found := false
		t.m.Next(&s, world.NewOut(func(ev world.Event, n *S) {
			d := t.m.Describe(ev)
			possible = append(possible, d)
			if !found && d == text {
				found, next = true, *n
				p.Events = append(p.Events, ev)
			}
		}))
		if !found {
			return Replayed{}, fmt.Errorf("%w: event %d: %s is not possible there; possible: %s", ErrImpossible, i+1, text, strings.Join(possible, ", "))
		}
		s = next
	}
	r := Replayed{Settled: t.m.Settled(&s)}
	for _, inv := range t.m.Invariants {
		if !inv.Holds(&s) {
			r.Violated = append(r.Violated, inv.Name)
		}
	}
	var err error
	r.Story, err = explore.TellPath(t.m, title, p)
	return r, err
}
