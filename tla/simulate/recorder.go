package simulate

import (
	"errors"
	"reflect"
	"strconv"
	"strings"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/timeline"
)

// The arguments that a timeline has beside those of an input.
const (
	argThen    = "then"    // the state after the step
	argDoes    = "does"    // what the step asks for, as others see it
	argRefused = "refused" // the reason why the machine refused
	argWhat    = "what"    // what a judge found
)

// Recorder writes down one run: every input of every machine, what came of it, and
// what caused it.
type Recorder struct {
	w   *timeline.Writer
	err error
}

// Record runs a schedule and returns its timeline beside the result. w breaks rules;
// it is the zero value but in tests.
func Record(sch *Schedule, w Wrong) (Result, []byte, error) {
	about := []timeline.Arg{{Key: "dialect", Value: sch.Dialect.String()}, {Key: "seed", Value: strconv.FormatUint(sch.Seed, 10)},
		{Key: "transfers", Value: strconv.Itoa(len(sch.Transfers))}, {Key: "faults", Value: strconv.Itoa(len(sch.Faults))}}
	if w.Machines != 0 {
		about = append(about, timeline.Arg{Key: argRules, Value: strconv.FormatUint(uint64(w.Machines), 10)})
	}
	tw, err := timeline.New(nil, about)
	if err != nil {
		return Result{}, nil, err
	}
	r := &Recorder{w: tw}
	res := New().WithWrongRules(w).WithRecorder(r).Run(sch)
	return res, tw.End(), r.err
}

// argRules names the broken rules of the machines.
const argRules = "rules"

func (r *Recorder) add(s *Sim, e *timeline.Event) {
	if s.cause != 0 {
		e.Causes = []uint32{s.cause}
	}
	n, err := r.w.Add(e)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	s.cause = n
}

// step writes one input down. What the step leads to is caused by it.
func (r *Recorder) step(s *Sim, side string, rank uint8, x uint16, names []string, kind uint64, in reflect.Value, then, does string, err error) {
	e := timeline.Event{Actor: side + "-" + strconv.Itoa(int(rank)) + "/" + strconv.Itoa(int(x)), Action: actionName(names, kind)}
	e.Args = flatten(nil, "", in)
	if err != nil {
		reason := "error"
		var ref *sm.Refusal
		if errors.As(err, &ref) {
			reason = string(ref.Reason)
		}
		e.Args = append(e.Args, timeline.Arg{Key: argRefused, Value: reason})
	} else {
		e.Args = append(e.Args, timeline.Arg{Key: argThen, Value: then})
		if does != "" {
			e.Args = append(e.Args, timeline.Arg{Key: argDoes, Value: does})
		}
	}
	r.add(s, &e)
}

func (r *Recorder) ctxParent(s *Sim, x uint16, c uint8, in ctx.ParentInput, p ctx.Parent, out []ctx.ParentEffect, err error) {
	r.step(s, "ctx", c, x, ctxEvents, uint64(in.Kind), reflect.ValueOf(in), p.State().String(), ctxDoes(out), err)
}

func (r *Recorder) genParent(s *Sim, x uint16, g uint8, in gen.ParentInput, p gen.Parent, out []gen.ParentEffect, err error) {
	r.step(s, "gen", g, x, genEvents, uint64(in.Kind), reflect.ValueOf(in), p.State().String(), genDoes(out), err)
}

func (r *Recorder) ctxMachine(s *Sim, x uint16, c uint8, in ctx.Input, m ctx.Machine, out []ctx.Effect, err error) {
	r.step(s, "ctx", c, x, ctxKinds, uint64(in.Kind), reflect.ValueOf(in), m.State().String(), ctx1Does(out), err)
}

func (r *Recorder) genMachine(s *Sim, x uint16, g uint8, in gen.Input, m gen.Machine, out []gen.Effect, err error) {
	r.step(s, "gen", g, x, genKinds, uint64(in.Kind), reflect.ValueOf(in), m.State().String(), gen1Does(out), err)
}

// service writes the beginning or end of a process down.
func (r *Recorder) service(s *Sim, side int, what string) {
	saved := s.cause
	r.add(s, &timeline.Event{Actor: strings.ToLower(sideName(side)), Action: what})
	s.cause = saved
}

// find writes down what a judge found. Everything but tokens becomes an underscore.
func (r *Recorder) find(s *Sim, text string) {
	clean := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("._:/+-", c):
			return c
		}
		return '_'
	}, text)
	saved := s.cause
	r.add(s, &timeline.Event{Actor: "judge", Action: "found", Args: []timeline.Arg{{Key: argWhat, Value: clean[:min(len(clean), timeline.MaxToken)]}}})
	s.cause = saved
}

// rulesOf reads which rules of the machines were broken.
func rulesOf(t *timeline.Timeline) (wrong.Rules, error) {
	v, ok := t.Arg(argRules)
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 32)
	return wrong.Rules(n), err
}
