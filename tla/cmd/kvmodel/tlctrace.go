package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
	"github.com/kvsettle/kvsettle/tla/value"
)

var reTraceState = regexp.MustCompile(`^State \d+: <(\w+)?.*>$|^\d+: <(\w+)?.*>$`)

// tlcRun is a counterexample that TLC printed: a state, then for each step its
// action and the state after it.
type tlcRun struct {
	states  []canon.Value
	actions []string
}

// readTLCTrace reads the states of a counterexample.
func readTLCTrace(trace string) (tlcRun, error) {
	var run tlcRun
	action, block := "", []string{}
	flush := func() error {
		if len(block) == 0 {
			return nil
		}
		v, err := value.ParseState([]byte(strings.Join(block, "\n")))
		if err != nil {
			return fmt.Errorf("TLC's counterexample: %w", err)
		}
		block = nil
		if len(run.states) > 0 {
			run.actions = append(run.actions, action)
		}
		run.states = append(run.states, v)
		return nil
	}
	for _, line := range strings.Split(trace, "\n") {
		if g := reTraceState.FindStringSubmatch(strings.TrimSpace(line)); g != nil {
			if err := flush(); err != nil {
				return run, err
			}
			action = g[1] + g[2]
			continue
		}
		if strings.TrimSpace(line) != "" && !strings.HasSuffix(strings.TrimSpace(line), ": Stuttering") {
			block = append(block, line)
		}
	}
	return run, flush()
}

// story tells a counterexample. Who acts is what the Go model says of the action of
// that name, ranks left open.
func (run tlcRun) story(m catalog.Model, title string) explore.Story {
	st := explore.Story{Title: title}
	actors := map[string][2]string{}
	for _, info := range m.Actions() {
		actors[info.Name] = [2]string{strings.TrimRight(strings.Split(info.From, "{")[0], " "), strings.TrimRight(strings.Split(info.To, "{")[0], " ")}
	}
	for i, action := range run.actions {
		step := explore.Step{Label: action}
		step.From, step.To = actors[action][0], actors[action][1]
		if step.From == "" {
			step.From, step.To = "model", "model"
		}
		for _, c := range canon.Diff(run.states[i], run.states[i+1]) {
			step.Notes = append(step.Notes, c.String())
		}
		st.Steps = append(st.Steps, step)
		for _, a := range []string{step.From, step.To} {
			if !slices.Contains(st.Actors, a) {
				st.Actors = append(st.Actors, a)
			}
		}
	}
	return st
}
