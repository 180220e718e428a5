package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// modelResult is one model in the JSON of explore.
type modelResult struct {
	Name       string         `json:"name"`
	Size       string         `json:"size"`
	States     int            `json:"states"`
	Edges      int            `json:"edges"`
	Depth      int            `json:"depth"`
	Settled    int            `json:"settled"`
	Violations int            `json:"violations"`
	Hangs      int            `json:"hangs"`
	Seconds    float64        `json:"seconds"`
	Bounds     map[string]any `json:"bounds"`
	Memory     explore.Memory `json:"memory"`
	// CollisionBound: the probability that two states share a fingerprint is at most
	// two to this power.
	CollisionBound int      `json:"collision_bound_log2"`
	Failed         []string `json:"failed,omitempty"`
	Error          string   `json:"error,omitempty"`
}

// exploreResult is the JSON of explore.
type exploreResult struct {
	Models  []modelResult    `json:"models"`
	States  int              `json:"states"`
	Edges   int              `json:"edges"`
	Actions map[string]int64 `json:"actions"`
	// Dead lists the actions that never happened in any of these models.
	Dead []string `json:"dead"`
	// Rows counts the rows of the transition tables that the machines report, and
	// RowsNever lists those that no model took and no reason excuses; RowsUnreached has
	// the reasons of the others.
	Rows      map[string]int64 `json:"rows"`
	RowsNever []string         `json:"rows_never"`

	RowsUnreached map[string]string `json:"rows_unreached"`
}

type exploreFlags struct {
	all, asJSON, symmetry bool
	size, svg, mermaid    string
	workers, max          int
	models                []string
}

// parseExplore reads flags and names of models.
func parseExplore(name string, args []string, stderr io.Writer) (exploreFlags, bool) {
	f, ok := parseFlags(name, args, stderr)
	if !ok {
		return f, false
	}
	for _, m := range f.models {
		if !slices.Contains(catalog.Names(), m) {
			fmt.Fprintf(stderr, "kvmodel: no model %q: there are %v\n", m, catalog.Names())
			return f, false
		}
	}
	return f, true
}

func parseFlags(name string, args []string, stderr io.Writer) (f exploreFlags, ok bool) {
	return parseFlagsWith(name, args, stderr, func(*flag.FlagSet) {})
}

// parseFlagsWith is parseFlags with flags of one command more.
func parseFlagsWith(name string, args []string, stderr io.Writer, more func(*flag.FlagSet)) (f exploreFlags, ok bool) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	more(fs)
	fs.BoolVar(&f.all, "all", false, "every model")
	fs.BoolVar(&f.asJSON, "json", false, "one JSON object on stdout")
	fs.BoolVar(&f.symmetry, "symmetry", false, "merge states that differ by names only")
	fs.StringVar(&f.size, "size", "medium", "small, medium or large")
	fs.StringVar(&f.svg, "svg", "", "folder for counterexamples as SVG")
	fs.StringVar(&f.mermaid, "mermaid", "", "folder for counterexamples as Mermaid")
	fs.IntVar(&f.workers, "workers", 0, "goroutines; 0 is one per CPU")
	fs.IntVar(&f.max, "max-states", 0, "limit of states; 0 is none")
	// Flags may stand before and after the names.
	for rest := args; len(rest) > 0; rest = fs.Args()[1:] {
		if err := fs.Parse(rest); err != nil {
			return f, false
		}
		if fs.NArg() == 0 {
			break
		}
		f.models = append(f.models, fs.Arg(0))
	}
	switch {
	case !slices.Contains(catalog.Sizes(), f.size):
		fmt.Fprintf(stderr, "kvmodel: size %q: there are %v\n", f.size, catalog.Sizes())
		return f, false
	case f.workers < 0 || f.max < 0:
		fmt.Fprintln(stderr, "kvmodel: workers and max-states must not be negative")
		return f, false
	}
	return f, true
}

func exploreCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, ok := parseExplore("explore", args, stderr)
	if ok && f.all == (len(f.models) > 0) {
		fmt.Fprintln(stderr, "kvmodel: explore needs names of models, or --all")
		ok = false
	}
	if !ok {
		return exitUsage
	}
	if f.all {
		f.models = catalog.Names()
	}
	res := exploreResult{Models: []modelResult{}, Actions: map[string]int64{}, Dead: []string{},
		Rows: map[string]int64{}, RowsNever: []string{}, RowsUnreached: map[string]string{}}
	reasons := world.Unreached()
	code := exitOK
	for _, name := range f.models {
		m, err := catalog.New(name, f.size)
		if err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUnusable
		}
		rep, err := m.Explore(ctx, explore.Options{Workers: f.workers, MaxStates: f.max, Symmetry: f.symmetry,
			Every: 5 * time.Second, Progress: progress(stderr, name)})
		r := resultOf(m, rep)
		if err != nil {
			r.Error = err.Error()
			fmt.Fprintf(stderr, "kvmodel: %s: %v; reached %d states, %d edges, depth %d\n", name, err, rep.States, rep.Edges, rep.Depth)
			code = exitUnusable
		}
		res.Models = append(res.Models, r)
		res.States, res.Edges = res.States+rep.States, res.Edges+rep.Edges
		for a, info := range m.Actions() {
			n := int64(0)
			if a < len(rep.Fired) {
				n = rep.Fired[a]
			}
			res.Actions[info.Name] += n
		}
		for i, row := range m.Rows() {
			n := int64(0)
			if i < len(rep.Rows) {
				n = rep.Rows[i]
			}
			res.Rows[row] += n
		}
		if bad := append(slices.Clone(rep.Violations), rep.Hangs...); len(bad) > 0 {
			code = max(code, exitViolated)
			if err := tell(m, bad, f, stderr); err != nil {
				fmt.Fprintf(stderr, "kvmodel: %v\n", err)
				code = exitUnusable
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	for _, name := range slices.Sorted(maps.Keys(res.Actions)) {
		if res.Actions[name] == 0 {
			res.Dead = append(res.Dead, name)
		}
	}
	for _, row := range slices.Sorted(maps.Keys(res.Rows)) {
		why, excused := reasons[row]
		switch {
		case res.Rows[row] > 0:
		case excused:
			res.RowsUnreached[row] = why
		default:
			res.RowsNever = append(res.RowsNever, row)
		}
	}
	// An action that never happens in the whole catalog is a rule that nobody checks.
	// Small configurations leave some out to stay small.
	if f.all && f.size != "small" && code == exitOK && len(res.Dead)+len(res.RowsNever) > 0 {
		code = exitViolated
	}
	if f.asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		_ = enc.Encode(res)
		return code
	}
	table(stdout, res)
	return code
}

func resultOf(m catalog.Model, rep explore.Report) modelResult {
	r := modelResult{Name: m.Name(), Size: m.Size(), States: rep.States, Edges: rep.Edges, Depth: rep.Depth, Settled: rep.Settled,
		Violations: len(rep.Violations), Hangs: len(rep.Hangs), Seconds: rep.Seconds, Memory: rep.Memory,
		CollisionBound: explore.CollisionBound(rep.States), Bounds: map[string]any{}}
	for _, b := range m.Bounds() {
		r.Bounds[b.Name] = b.Value
		if b.Value < 0 {
			r.Bounds[b.Name] = "any"
		}
	}
	for _, v := range append(slices.Clone(rep.Violations), rep.Hangs...) {
		r.Failed = append(r.Failed, v.Property)
	}
	return r
}

// tell prints counterexamples and writes their pictures.
func tell(m catalog.Model, bad []explore.Violation, f exploreFlags, stderr io.Writer) error {
	for i, v := range bad {
		story, err := m.Tell(v)
		if err != nil {
			return err
		}
		fmt.Fprintln(stderr, story.Text())
		for _, p := range []struct {
			dir, ext string
			text     func() string
		}{{f.svg, ".svg", story.SVG}, {f.mermaid, ".mmd", story.Mermaid}} {
			if p.dir == "" {
				continue
			}
			if err := os.MkdirAll(p.dir, 0o755); err != nil {
				return err
			}
			file := filepath.Join(p.dir, fmt.Sprintf("%s-%s-%d%s", m.Name(), v.Property, i+1, p.ext))
			if err := os.WriteFile(file, []byte(p.text()), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(stderr, "written: %s\n", file)
		}
	}
	return nil
}

func progress(stderr io.Writer, name string) func(explore.Progress) {
	return func(p explore.Progress) {
		fmt.Fprintf(stderr, "%s: %d states, %d edges, depth %d, %.0f states/s\n", name, p.States, p.Edges, p.Depth, float64(p.States)/max(p.Seconds, 1e-9))
	}
}

func table(out io.Writer, res exploreResult) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "model\tsize\tstates\tedges\tdepth\tviolations\thangs\tseconds\tstates/s\tbytes/state\t")
	for _, m := range res.Models {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.0f\t%.1f\t\n", m.Name, m.Size, m.States, m.Edges, m.Depth, m.Violations, m.Hangs,
			m.Seconds, float64(m.States)/max(m.Seconds, 1e-9), m.Memory.PerState)
	}
	_ = w.Flush()
	fmt.Fprintf(out, "together %d states, %d edges; two different states share a fingerprint with probability at most 2^%d\n",
		res.States, res.Edges, explore.CollisionBound(res.States))
	if len(res.Dead) > 0 {
		fmt.Fprintf(out, "never happened: %s\n", strings.Join(res.Dead, ", "))
	}
	if len(res.RowsNever) > 0 {
		fmt.Fprintf(out, "rows never taken: %s\n", strings.Join(res.RowsNever, ", "))
	}
	for _, row := range slices.Sorted(maps.Keys(res.RowsUnreached)) {
		fmt.Fprintf(out, "row %s cannot be taken: %s\n", row, res.RowsUnreached[row])
	}
	fmt.Fprintf(out, "%d of %d rows of the tables taken\n", len(res.Rows)-len(res.RowsNever)-len(res.RowsUnreached), len(res.Rows))
	fmt.Fprintf(out, "%d different actions fired\n", len(res.Actions)-len(res.Dead))
}

func listCommand(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		fmt.Fprintln(stderr, "kvmodel: list takes no arguments")
		return exitUsage
	}
	for _, name := range catalog.Names() {
		for _, size := range catalog.Sizes() {
			m, err := catalog.New(name, size)
			if errors.Is(err, catalog.ErrUnknown) {
				continue
			}
			if err != nil {
				fmt.Fprintf(stderr, "kvmodel: %v\n", err)
				return exitUnusable
			}
			var bounds []string
			for _, b := range m.Bounds() {
				if b.Value < 0 {
					bounds = append(bounds, b.Name+" any")
				} else {
					bounds = append(bounds, fmt.Sprintf("%s %d", b.Name, b.Value))
				}
			}
			fmt.Fprintf(stdout, "%-11s %-6s  %d actions, %d invariants; %s\n", name, size, len(m.Actions()), len(m.Invariants()), strings.Join(bounds, ", "))
		}
	}
	return exitOK
}
