package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

func explainCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var mutant, config, out string
	f, ok := parseTools("explain", args, stderr, "medium", func(fs *flag.FlagSet) {
		fs.StringVar(&mutant, "mutant", "", "a broken rule of the Go world, or a TLA+ mutant as mutate names it")
		fs.StringVar(&config, "config", "", "a configuration of the TLA+ model that violates the property")
		fs.StringVar(&out, "out", ".", "folder to write to")
	})
	if ok && (len(f.names) != 2 || (mutant == "") == (config == "") || strings.Contains(f.size, ",")) {
		fmt.Fprintln(stderr, "kvmodel: explain needs a model, a property, one size, and --mutant or --config")
		ok = false
	}
	if !ok {
		return exitUsage
	}
	name, property := f.names[0], f.names[1]
	if !slices.Contains(catalog.Names(), name) {
		fmt.Fprintf(stderr, "kvmodel: no model %q: there are %v\n", name, catalog.Names())
		return exitUsage
	}
	var files map[string][]byte
	var err error
	if slices.Contains(catalog.Wrongs(name), mutant) {
		files, err = explainRule(ctx, name, f.size, property, mutant)
	} else {
		files, err = explainTLA(ctx, f, name, property, mutant, config, stderr)
	}
	switch {
	case errors.Is(err, errNotViolated):
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitViolated
	case err != nil:
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUnusable
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUnusable
	}
	for _, file := range slices.Sorted(keys(files)) {
		path := filepath.Join(out, file)
		if err := os.WriteFile(path, files[file], 0o644); err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUnusable
		}
		fmt.Fprintf(stdout, "written: %s\n", path)
	}
	return exitOK
}

func keys(m map[string][]byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// errNotViolated says that there is nothing to explain.
var errNotViolated = errors.New("the property is not violated")

// explainRule finds the counterexample in the Go world with a broken rule.
func explainRule(ctx context.Context, name, size, property, rule string) (map[string][]byte, error) {
	m, err := catalog.NewWrong(name, size, rule)
	if err != nil {
		return nil, err
	}
	rep, err := m.Explore(ctx, explore.Options{Only: []string{property}})
	if err != nil {
		return nil, err
	}
	all := append(rep.Violations, rep.Hangs...)
	i := slices.IndexFunc(all, func(v explore.Violation) bool { return v.Property == property })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s in %s %s with %s", errNotViolated, property, name, size, rule)
	}
	story, err := m.Tell(all[i])
	if err != nil {
		return nil, err
	}
	story.Title += ", rule broken: " + rule
	r, ok := m.(catalog.Replayer)
	if !ok {
		return nil, fmt.Errorf("%w: %s cannot be replayed", catalog.ErrUnknown, name)
	}
	events := r.Events(all[i].Path)
	base := strings.Join([]string{name, property, rule}, "-")
	head := traceHead{Model: name, Size: size, Rule: rule, Init: all[i].Path.Init}
	return map[string][]byte{
		base + ".txt":   []byte(story.Text()),
		base + ".svg":   []byte(story.SVG()),
		base + ".jsonl": writeTrace(head, events),
		strings.ReplaceAll(strings.ToLower(base), "-", "_") + "_test.go": []byte(scenario(head, property, events)),
	}, nil
}

// scenario is a Go test that replays a counterexample.
func scenario(head traceHead, property string, events []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `package scenario_test

import (
	"slices"
	"testing"

	"github.com/kvsettle/kvsettle/tla/catalog"
)

// Test%[1]s%[2]s replays how the %[3]s world violates %[1]s when its rule %[2]s is
// broken. Written by: kvmodel explain %[3]s %[1]s --mutant %[2]s --size %[4]s
func Test%[1]s%[2]s(t *testing.T) {
	m, err := catalog.NewWrong(%[3]q, %[4]q, %[2]q)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.(catalog.Replayer).Replay(t.Name(), %[5]d, []string{
`, property, head.Rule, head.Model, head.Size, head.Init)
	for _, e := range events {
		fmt.Fprintf(&b, "\t\t%q,\n", e)
	}
	b.WriteString("\t})\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n")
	if property == explore.Stuck || property == explore.Cycle {
		b.WriteString("\tif r.Settled {\n\t\tt.Fatal(\"settled\")\n\t}\n}\n")
		return b.String()
	}
	fmt.Fprintf(&b, "\tif !slices.Contains(r.Violated, %q) {\n\t\tt.Fatal(r.Violated)\n\t}\n}\n", property)
	return b.String()
}
