package main

import (
	"context"
	"fmt"
	"go/format"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/mutate"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

// explainTLA lets TLC find the counterexample in a mutant of the TLA+ model, or in a
// configuration of it. The Go world then follows it: to the end where the module is
// the right one, and of a mutant up to the step that only the mutant can do.
func explainTLA(ctx context.Context, f toolFlags, name, property, mutant, config string, stderr io.Writer) (map[string][]byte, error) {
	ledger, err := tla.Ledger()
	if err != nil {
		return nil, err
	}
	e, err := tla.Find(ledger, name, f.size)
	if err != nil {
		return nil, err
	}
	replace := map[string][]byte{}
	what := mutant
	if mutant != "" {
		all, err := mutate.Of(e.Module)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(m mutate.Mutant) bool { return m.Name == mutant })
		if i < 0 {
			return nil, fmt.Errorf("%w: %s has no mutant %q", catalog.ErrUnknown, name, mutant)
		}
		replace[all[i].Module] = all[i].Text
		what = fmt.Sprintf("%s (%s became %s)", mutant, all[i].From, all[i].To)
	} else {
		text, err := os.ReadFile(config)
		if err != nil {
			return nil, err
		}
		what = filepath.Base(config)
		replace[e.Config] = text
	}
	tools, err := f.tools(ctx, stderr)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kvsettle-models-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := tla.Unpack(dir, replace); err != nil {
		return nil, err
	}
	o, err := tlc.Run(ctx, tools, tlc.Job{Dir: dir, Module: e.Module, Config: e.Config, Workers: 1, HeapMB: f.heap, Progress: tlcProgress(stderr, name)})
	if err != nil {
		return nil, err
	}
	if o.Verdict != tlc.Violated || o.Property != property {
		return nil, fmt.Errorf("%w: %s %s with %s: TLC says %s %s", errNotViolated, name, f.size, what, o.Verdict, o.Property)
	}
	m, err := catalog.New(name, f.size)
	if err != nil {
		return nil, err
	}
	run, err := readTLCTrace(o.Trace)
	if err != nil {
		return nil, err
	}
	story := run.story(m, fmt.Sprintf("%s (%s) violates %s, changed: %s", name, f.size, property, what))
	follower, ok := m.(catalog.Follower)
	if !ok {
		return nil, fmt.Errorf("%w: %s cannot follow a run", catalog.ErrUnknown, name)
	}
	way, err := follower.Follow(run.actions, run.states)
	if err != nil {
		return nil, err
	}
	base := strings.NewReplacer(":", "-", "/", "-").Replace(strings.Join([]string{name, property, mutant + filepath.Base(config)}, "-"))
	base = strings.TrimSuffix(base, ".")
	head := traceHead{Model: name, Size: f.size, Init: way.Init}
	return map[string][]byte{
		base + ".txt":   []byte(story.Text()),
		base + ".svg":   []byte(story.SVG()),
		base + ".jsonl": writeTrace(head, way.Events),
		testName(base):  []byte(followScenario(head, property, what, run, way)),
	}, nil
}

// testName is the name of a Go test's file.
func testName(base string) string {
	keep := func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return '_'
	}
	return strings.Map(keep, base) + "_test.go"
}

// followScenario is a Go test that replays what the Go world has of a run of TLC.
// The whole run ends where TLC says so; a part of it ends where the mutant and the
// machines part, and violates nothing.
func followScenario(head traceHead, property, what string, run tlcRun, way catalog.Followed) string {
	var b strings.Builder
	short, _, _ := strings.Cut(what, " ")
	ident := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, short)
	fmt.Fprintf(&b, `package scenario_test

import (
	"slices"
	"testing"

	"github.com/kvsettle/kvsettle/tla/catalog"
)

// Test%[1]s%[2]s replays on the machines how TLC violates %[1]s in %[3]s %[4]s.
// What was changed: %[5]s.
`, property, ident, head.Model, head.Size, what)
	if way.Whole {
		fmt.Fprintf(&b, "// The machines can do all of it.\n")
	} else {
		fmt.Fprintf(&b, "// The machines can do the first %d of its %d steps. The next one, %s, is the mutant's\n// alone; here they can do: %s.\n",
			len(way.Events), len(run.actions), run.actions[len(way.Events)], strings.Join(way.Possible, ", "))
	}
	fmt.Fprintf(&b, `func Test%[1]s%[2]s(t *testing.T) {
	m, err := catalog.New(%[3]q, %[4]q)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.(catalog.Replayer).Replay(t.Name(), %[5]d, []string{
`, property, ident, head.Model, head.Size, head.Init)
	for _, e := range way.Events {
		fmt.Fprintf(&b, "\t\t%q,\n", e)
	}
	fmt.Fprintf(&b, `	})
	if err != nil {
		t.Fatal(err)
	}
	if want := %#v; !slices.Equal(r.Violated, want) || r.Settled != %v {
		t.Fatal(r.Violated, r.Settled)
	}
}
`, append([]string{}, way.Violated...), way.Settled)
	if text, err := format.Source([]byte(b.String())); err == nil {
		return string(text)
	}
	return b.String()
}
