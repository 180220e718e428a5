package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
	"github.com/kvsettle/kvsettle/tla/value"
)

var reTraceState = regexp.MustCompile(`^State \d+: <(\w+)?.*>$|^\d+: <(\w+)?.*>$`)

// traceStory tells a counterexample that TLC printed. Who acts is what the Go model
// says of the action of that name, ranks left open.
func traceStory(m catalog.Model, title, trace string) (explore.Story, error) {
	st := explore.Story{Title: title}
	actors := map[string][2]string{}
	for _, info := range m.Actions() {
		actors[info.Name] = [2]string{strings.TrimRight(strings.Split(info.From, "{")[0], " "), strings.TrimRight(strings.Split(info.To, "{")[0], " ")}
	}
	var before canon.Value
	action, block, first := "", []string{}, true
	flush := func() error {
		if len(block) == 0 {
			return nil
		}
		v, err := value.ParseState([]byte(strings.Join(block, "\n")))
		if err != nil {
			return fmt.Errorf("TLC's counterexample: %w", err)
		}
		block = nil
		if !first {
			step := explore.Step{Label: action}
			step.From, step.To = actors[action][0], actors[action][1]
			if step.From == "" {
				step.From, step.To = "model", "model"
			}
			for _, c := range canon.Diff(before, v) {
				step.Notes = append(step.Notes, c.String())
			}
			st.Steps = append(st.Steps, step)
			for _, a := range []string{step.From, step.To} {
				if !strings.Contains("|"+strings.Join(st.Actors, "|")+"|", "|"+a+"|") {
					st.Actors = append(st.Actors, a)
				}
			}
		}
		first, before = false, v
		return nil
	}
	for _, line := range strings.Split(trace, "\n") {
		if g := reTraceState.FindStringSubmatch(strings.TrimSpace(line)); g != nil {
			if err := flush(); err != nil {
				return st, err
			}
			action = g[1] + g[2]
			continue
		}
		if strings.TrimSpace(line) != "" && !strings.HasSuffix(strings.TrimSpace(line), ": Stuttering") {
			block = append(block, line)
		}
	}
	return st, flush()
}
