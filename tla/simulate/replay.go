package simulate

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/timeline"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// ErrReplay says that a timeline is no run of the machines: an actor, action or
// argument that is unknown, or a step that ends otherwise than it says.
var ErrReplay = errors.New("simulate: the machines do not do this")

// player replays a timeline, with one machine for each actor.
type player struct {
	v2    bool
	rules wrong.Rules
	cp    map[string]ctx.Parent
	gp    map[string]gen.Parent
	cm    map[string]ctx.Machine
	gm    map[string]gen.Machine
	cb    []ctx.ParentEffect
	gb    []gen.ParentEffect
	c1    []ctx.Effect
	g1    []gen.Effect
}

// Replay gives every input of a timeline to the machines, one after another, and
// compares what they do with what the timeline says. The error wraps ErrReplay and
// names the first event that does not fit. It returns what the judges found in the
// run, which replaying does not judge again.
func Replay(t *timeline.Timeline) (found []string, err error) {
	name, _ := t.Arg("dialect")
	d, err := ParseDialect(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	p := &player{v2: d.V2(), cp: map[string]ctx.Parent{}, gp: map[string]gen.Parent{}, cm: map[string]ctx.Machine{}, gm: map[string]gen.Machine{}}
	if p.rules, err = rulesOf(t); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	for i := range t.Events {
		e := &t.Events[i]
		if err := p.play(e); err != nil {
			return found, fmt.Errorf("%w: event %d, %s %s: %w", ErrReplay, i+1, e.Actor, e.Action, err)
		}
		if e.Actor == "judge" {
			what, _ := e.Arg(argWhat)
			found = append(found, strings.ReplaceAll(what, "_", " "))
		}
	}
	return found, nil
}

var (
	errActor  = errors.New("no such actor")
	errAction = errors.New("no such action")
)

func (p *player) play(e *timeline.Event) error {
	side, _, seat := strings.Cut(e.Actor, "-")
	switch {
	case e.Actor == "judge":
		if _, ok := e.Arg(argWhat); e.Action != "found" || !ok || len(e.Args) != 1 {
			return errAction
		}
		return nil
	case !seat && (e.Actor == "ctx" || e.Actor == "gen"):
		return p.service(e)
	case side == "ctx" && p.v2:
		return play(e, p.cp, ctxEvents, func(m ctx.Parent, kind uint64, in *ctx.ParentInput) (ctx.Parent, string, string, error) {
			in.Kind = ctx.Event(kind)
			if in.Kind == ctx.OnPublish {
				m = m.WithWrongRules(p.rules)
			}
			next, out, err := m.Step(*in, p.cb[:0])
			p.cb = out
			return next, next.State().String(), ctxDoes(out), err
		})
	case side == "gen" && p.v2:
		return play(e, p.gp, genEvents, func(m gen.Parent, kind uint64, in *gen.ParentInput) (gen.Parent, string, string, error) {
			in.Kind = gen.Event(kind)
			if in.Kind == gen.OnValidate {
				m = m.WithWrongRules(p.rules)
			}
			next, out, err := m.Step(*in, p.gb[:0])
			p.gb = out
			return next, next.State().String(), genDoes(out), err
		})
	case side == "ctx":
		return play(e, p.cm, ctxKinds, func(m ctx.Machine, kind uint64, in *ctx.Input) (ctx.Machine, string, string, error) {
			in.Kind = ctx.Kind(kind)
			next, out, err := m.Step(*in, p.c1[:0])
			p.c1 = out
			return next, next.State().String(), ctx1Does(out), err
		})
	case side == "gen":
		return play(e, p.gm, genKinds, func(m gen.Machine, kind uint64, in *gen.Input) (gen.Machine, string, string, error) {
			in.Kind = gen.Kind(kind)
			next, out, err := m.Step(*in, p.g1[:0])
			p.g1 = out
			return next, next.State().String(), gen1Does(out), err
		})
	}
	return errActor
}

// service is the beginning or end of a process: with it its machines end.
func (p *player) service(e *timeline.Event) error {
	if len(e.Args) > 0 || e.Action != "start" && e.Action != "end" {
		return errAction
	}
	if e.Action == "end" && e.Actor == "ctx" {
		clear(p.cp)
		clear(p.cm)
	} else if e.Action == "end" {
		clear(p.gp)
		clear(p.gm)
	}
	return nil
}

// play gives one input to the machine of an actor.
func play[M, I any](e *timeline.Event, all map[string]M, names []string, step func(M, uint64, *I) (next M, state, does string, err error)) error {
	kind, ok := actionKind(names, e.Action)
	if !ok {
		return errAction
	}
	var in I
	if err := unflatten(e.Args, reflect.ValueOf(&in).Elem(), argThen, argDoes, argRefused); err != nil {
		return err
	}
	next, state, does, err := step(all[e.Actor], kind, &in)
	then, ends := e.Arg(argThen)
	why, refused := e.Arg(argRefused)
	var ref *sm.Refusal
	switch {
	case ends == refused:
		return errors.New("it has to say either what comes of it or why it is refused")
	case err != nil && ends:
		return fmt.Errorf("refused: %w", err)
	case err == nil && refused:
		return fmt.Errorf("not refused as %s", why)
	case err != nil && (!errors.As(err, &ref) || string(ref.Reason) != why):
		return fmt.Errorf("refused otherwise than as %s: %w", why, err)
	case err == nil && state != then:
		return fmt.Errorf("ends in %s, not in %s", state, then)
	case err == nil:
		if said, _ := e.Arg(argDoes); does != said {
			return fmt.Errorf("does %q, not %q", does, said)
		}
		all[e.Actor] = next
	}
	return nil
}

// Tell makes a picture of a timeline: an arrow where one service's step was caused by
// the other's, and what became of it beside it.
func Tell(title string, t *timeline.Timeline) explore.Story {
	st := explore.Story{Title: title}
	column := func(actor string) string {
		seat, _, _ := strings.Cut(actor, "/")
		seat = strings.Replace(seat, "-", " ", 1)
		for _, side := range []string{"ctx", "gen"} {
			seat = strings.Replace(seat, side, strings.ToUpper(side), 1)
		}
		return seat
	}
	seen := map[string]bool{}
	for i := range t.Events {
		e := &t.Events[i]
		step := explore.Step{To: column(e.Actor)}
		step.From = step.To
		if len(e.Causes) > 0 {
			from := column(t.Events[e.Causes[len(e.Causes)-1]-1].Actor)
			if from != "judge" && strings.HasPrefix(from, "CTX") != strings.HasPrefix(step.To, "CTX") && step.To != "judge" {
				step.From = from
			}
		}
		_, x, _ := strings.Cut(e.Actor, "/")
		step.Label = e.Action
		if x != "" {
			step.Label += " of " + x
		}
		for _, a := range e.Args {
			switch a.Key {
			case argThen:
				step.Notes = append(step.Notes, a.Value)
			case argDoes:
				step.Notes = append(step.Notes, strings.ReplaceAll(a.Value, "+", ", "))
			case argRefused, argWhat:
				step.Notes = append(step.Notes, a.Key+": "+strings.ReplaceAll(a.Value, "_", " "))
			case "Match", "Contract", "Caps", "RetentionMS", "Now":
			default:
				if !strings.Contains(a.Key, ".") {
					step.Label += " " + a.Key + "=" + a.Value
				}
			}
		}
		for _, a := range []string{step.From, step.To} {
			if !seen[a] {
				seen[a] = true
				st.Actors = append(st.Actors, a)
			}
		}
		st.Steps = append(st.Steps, step)
	}
	return st
}
