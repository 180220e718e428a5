package catalog

import (
	"context"
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// Findings lists the findings by name: the doubts D1 to D16, then what the models
// showed beyond them.
func Findings() []string {
	var out []string
	for _, f := range world.Findings() {
		out = append(out, f.Name)
	}
	return out
}

// Answer is what the explorer says to one question of a finding.
type Answer struct {
	// Ask is the question with the recorded answer.
	Ask world.Ask
	// Model is the world that it was asked of.
	Model Model
	// Holds is the answer that was found now.
	Holds bool
	// Report has the numbers of states and edges that were looked at.
	Report explore.Report
	// Story is the shortest counterexample; without steps where Holds.
	Story explore.Story
}

// Same says whether the answer is the recorded one.
func (a *Answer) Same() bool { return a.Holds == a.Ask.Holds }

// Requirements are those that the property checks.
func (a *Answer) Requirements() []string {
	for _, p := range a.Model.Invariants() {
		if p.Name == a.Ask.Property {
			return p.Reqs
		}
	}
	return nil
}

// Ask puts every question of a finding to its world. An error wraps ErrUnknown, or
// says why a world could not be explored; there is no answer then.
func Ask(ctx context.Context, name string, opt explore.Options) (world.Finding, []Answer, error) {
	f, ok := world.LookupFinding(name)
	if !ok {
		return f, nil, fmt.Errorf("%w: finding %q (there are %v)", ErrUnknown, name, Findings())
	}
	var out []Answer
	for i, ask := range f.Asks {
		m, err := askModel(ask)
		if err != nil {
			return f, nil, fmt.Errorf("%s, question %d: %w", name, i+1, err)
		}
		opt.Only = []string{ask.Property}
		rep, err := m.Explore(ctx, opt)
		if err != nil {
			return f, nil, fmt.Errorf("%s, question %d: %w", name, i+1, err)
		}
		a := Answer{Ask: ask, Model: m, Report: rep}
		bad := append(rep.Violations, rep.Hangs...)
		a.Holds = len(bad) == 0
		if !a.Holds {
			if a.Story, err = m.Tell(bad[0]); err != nil {
				return f, nil, fmt.Errorf("%s, question %d: %w", name, i+1, err)
			}
			a.Story.Title = fmt.Sprintf("%s, question %d: %s does not hold (%s)", name, i+1, ask.Property, ask.Rule)
		}
		out = append(out, a)
	}
	return f, out, nil
}

// askModel makes the world of a question.
func askModel(ask world.Ask) (Model, error) {
	switch cfg := ask.World.(type) {
	case world.V2Watch:
		return built(world.Watch(cfg))
	case world.V1Config:
		return built(world.WatchV1(cfg))
	case world.RoundWatch:
		return built(world.WatchRound(cfg))
	case world.NoPeerConfig:
		return built(world.NoPeer(cfg))
	case world.PressureConfig:
		return built(world.Pressure(cfg))
	case world.SortConfig:
		return built(world.Sort(cfg))
	case world.WindowConfig:
		return built(world.Window(cfg))
	case world.ReuseConfig:
		return built(world.Reuse(cfg))
	}
	return nil, fmt.Errorf("%w: a world of type %T", ErrUnknown, ask.World)
}

func built[S comparable](m *world.Model[S], err error) (Model, error) {
	if err != nil {
		return nil, err
	}
	return Of(m)
}
