package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// findingResult is one finding in the JSON of finding.
type findingResult struct {
	Name     string `json:"name"`
	Question string `json:"question"`
	// Answer is "confirmed" or "refuted", of the rule as upstream has it.
	Answer string `json:"answer"`
	// Same says that every recorded answer was found again.
	Same bool        `json:"same"`
	Asks []askResult `json:"asks"`
}

type askResult struct {
	Rule         string         `json:"rule"`
	Property     string         `json:"property"`
	Requirements []string       `json:"requirements"`
	Holds        bool           `json:"holds"`
	Recorded     bool           `json:"recorded"`
	States       int            `json:"states"`
	Edges        int            `json:"edges"`
	Depth        int            `json:"depth"`
	Bounds       map[string]any `json:"bounds"`
	// Steps is the length of the shortest counterexample; 0 where the property holds.
	Steps   int     `json:"steps"`
	Seconds float64 `json:"seconds"`
}

// answered is a finding with what the explorer says now.
type answered struct {
	f       world.Finding
	answers []catalog.Answer
}

// findingCommand asks the findings again: it succeeds when every recorded answer is
// found again.
func findingCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var pages string
	f, ok := parseFlagsWith("finding", args, stderr, func(fs *flag.FlagSet) {
		fs.StringVar(&pages, "pages", "", "folder of the findings pages: write their generated parts anew")
	})
	if ok && f.all == (len(f.models) > 0) {
		fmt.Fprintf(stderr, "kvmodel: finding needs names, or --all: there are %v\n", catalog.Findings())
		ok = false
	}
	if !ok {
		return exitUsage
	}
	if f.all {
		f.models = catalog.Findings()
	}
	for _, name := range f.models {
		if _, ok := world.LookupFinding(name); !ok {
			fmt.Fprintf(stderr, "kvmodel: no finding %q: there are %v\n", name, catalog.Findings())
			return exitUsage
		}
	}
	code := exitOK
	var all []answered
	for _, name := range f.models {
		finding, answers, err := catalog.Ask(ctx, name, explore.Options{Workers: f.workers, MaxStates: f.max})
		if err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUnusable
		}
		a := answered{finding, answers}
		all = append(all, a)
		if !a.same() {
			code = exitViolated
		}
		if err := a.pictures(f, stderr); err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUnusable
		}
		if !f.asJSON {
			a.print(stdout, !f.all)
		}
	}
	if pages != "" {
		if err := writePages(pages, all, f.all, stderr); err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUnusable
		}
	}
	if f.asJSON {
		res := struct {
			Findings []findingResult `json:"findings"`
		}{}
		for i := range all {
			res.Findings = append(res.Findings, all[i].result())
		}
		enc := json.NewEncoder(stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		_ = enc.Encode(res)
	}
	return code
}

func (a *answered) same() bool {
	for i := range a.answers {
		if !a.answers[i].Same() {
			return false
		}
	}
	return true
}

// verdict is the answer to the doubt as it is found now.
func (a *answered) verdict() string {
	if a.answers[0].Holds {
		return "refuted"
	}
	return "confirmed"
}

func (a *answered) result() findingResult {
	r := findingResult{Name: a.f.Name, Question: a.f.Question, Answer: a.verdict(), Same: a.same()}
	for i := range a.answers {
		x := &a.answers[i]
		r.Asks = append(r.Asks, askResult{Rule: x.Ask.Rule, Property: x.Ask.Property, Requirements: x.Requirements(), Holds: x.Holds,
			Recorded: x.Ask.Holds, States: x.Report.States, Edges: x.Report.Edges, Depth: x.Report.Depth, Bounds: boundsOf(x.Model),
			Steps: len(x.Story.Steps), Seconds: x.Report.Seconds})
	}
	return r
}

// print writes a finding as lines, and its counterexamples where stories is set.
func (a *answered) print(out io.Writer, stories bool) {
	fmt.Fprintf(out, "%s %s: %s\n", a.f.Name, a.verdict(), a.f.Question)
	for i := range a.answers {
		x := &a.answers[i]
		fmt.Fprintf(out, "  %d. %-8s %s (%s): %s\n", i+1, holds(x.Holds), x.Ask.Property, x.Ask.Rule, figures(x))
		if !x.Same() {
			fmt.Fprintf(out, "     this is not the recorded answer, which is: %s\n", holds(x.Ask.Holds))
		}
	}
	if !stories {
		return
	}
	for i := range a.answers {
		if x := &a.answers[i]; !x.Holds {
			fmt.Fprintf(out, "\n%s", x.Story.Text())
		}
	}
}

func holds(b bool) string {
	if b {
		return "holds"
	}
	return "violated"
}

// figures says how much was looked at.
func figures(x *catalog.Answer) string {
	if x.Holds {
		return fmt.Sprintf("all %d states, %d edges", x.Report.States, x.Report.Edges)
	}
	return fmt.Sprintf("after %d events, found in %d states", len(x.Story.Steps), x.Report.States)
}

// picture is the name of the picture of answer i without its ending: that of the
// finding for the first counterexample, with the number of the question for others.
func (a *answered) picture(i int) string {
	for j := range i {
		if !a.answers[j].Holds {
			return fmt.Sprintf("%s-%d", a.f.Name, i+1)
		}
	}
	return a.f.Name
}

func (a *answered) pictures(f exploreFlags, stderr io.Writer) error {
	for i := range a.answers {
		x := &a.answers[i]
		if x.Holds {
			continue
		}
		for _, p := range []struct {
			dir, ext string
			text     func() string
		}{{f.svg, ".svg", x.Story.SVG}, {f.mermaid, ".mmd", x.Story.Mermaid}} {
			if p.dir == "" {
				continue
			}
			if err := os.MkdirAll(p.dir, 0o755); err != nil {
				return err
			}
			file := filepath.Join(p.dir, a.picture(i)+p.ext)
			if err := os.WriteFile(file, []byte(p.text()), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(stderr, "written: %s\n", file)
		}
	}
	return nil
}

// boundsOf are the bounds of a model that are not zero.
func boundsOf(m catalog.Model) map[string]any {
	out := map[string]any{}
	for _, b := range m.Bounds() {
		switch {
		case b.Value > 0:
			out[b.Name] = b.Value
		case b.Value < 0:
			out[b.Name] = "any"
		}
	}
	return out
}
