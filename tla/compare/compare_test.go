package compare

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

func tools(t *testing.T) tlc.Tools {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	tt, err := tlc.Find(ctx, tlc.Options{Progress: func(s string) { t.Log(s) }})
	require.NoError(t, err, "without TLC nothing here is checked")
	return tt
}

// tiny is a v1 world of a few hundred states, with the module that says the same.
func tiny(t *testing.T, wrong world.V1Wrong) (catalog.Model, map[string][]byte) {
	t.Helper()
	w, err := world.V1(world.V1Config{Size: "tiny", Wrong: wrong, Cases: []world.V1Case{
		{Gens: 1, Ctxs: 1, Reqs: 1, Enabled: true, DeathQuiet: true, Slots: 1}}})
	require.NoError(t, err)
	m, err := catalog.Of(w)
	require.NoError(t, err)
	cases, err := tla.Files().ReadFile("V1Cases.tla")
	require.NoError(t, err)
	return m, map[string][]byte{"V1Cases.tla": replaced(t, cases, "SmallCases ==\n  <<", "SmallCases ==\n  <<One({})>>\nOldCases ==\n  <<")}
}

func replaced(t *testing.T, text []byte, from, to string) []byte {
	t.Helper()
	require.Contains(t, string(text), from)
	return []byte(strings.Replace(string(text), from, to, 1))
}

var tinyEntry = tla.Entry{Model: "v1", Size: "small", Module: "V1Cases", Config: "V1.small.cfg", Result: "ok"}

// withoutTwin lists the models of the catalog that have no TLA+ module. Every model
// has one; a new one would stand here until its module is written.
var withoutTwin []string

// TestSmallModelsAreEqual compares every small configuration of the ledger.
func TestSmallModelsAreEqual(t *testing.T) {
	list, err := tla.Ledger()
	require.NoError(t, err)
	tt := tools(t)
	n := 0
	for _, e := range list {
		if e.Size != "small" {
			continue
		}
		n++
		t.Run(e.Model, func(t *testing.T) {
			m, err := catalog.New(e.Model, e.Size)
			require.NoError(t, err)
			r, err := Run(context.Background(), Options{Model: m, Entry: e, Tools: tt, Invariants: true})
			require.NoError(t, err)
			require.Empty(t, r.Violated)
			if r.Difference != nil {
				t.Fatal(r.Difference.Text())
			}
			require.True(t, r.Equal)
			require.EqualValues(t, e.States, r.TLCStates, "the ledger's states")
			t.Logf("%s: %d states, %d edges on either side", e.Model, r.GoStates, r.GoEdges)
		})
	}
	var twins []string
	for _, name := range catalog.Names() {
		if _, err := tla.Find(list, name, "small"); err == nil {
			twins = append(twins, name)
		}
	}
	require.ElementsMatch(t, catalog.Names(), append(twins, withoutTwin...), "a model without a module, or a list that is out of date")
	require.Len(t, twins, n)
	if len(withoutTwin) > 0 {
		t.Logf("NO TLA+ MODULE YET: %v", withoutTwin)
	}
}

// TestDifferencesAreSeen changes one side only and sees the comparison go red.
func TestDifferencesAreSeen(t *testing.T) {
	tt := tools(t)
	module := func(name string) []byte {
		text, err := tla.Files().ReadFile(name)
		require.NoError(t, err)
		return text
	}
	for _, c := range []struct {
		name  string
		wrong world.V1Wrong
		file  string
		// from and to change the TLA+ file.
		from, to      string
		onlyGo, onTLA string // an action that must be among those of one side only
	}{
		{"guard removed in TLA+", world.V1Wrong{}, "V1.tla", `    /\ call[g][r].state = "visible"`, "    /\\ TRUE", "", "RequestSent"},
		{"guard removed in Go", world.V1Wrong{FreeOnTimeout: true}, "", "", "", "GenRequestDeadline", "GenRequestDeadline"},
		{"extra effect in Go", world.V1Wrong{SettleTwice: true}, "", "", "", "GenAdmissionDeadline", "GenAdmissionDeadline"},
		{"action renamed", world.V1Wrong{}, "V1.tla", "ScatterDone", "ScatterEnds", "ScatterDone", "ScatterEnds"},
		{"assignment lost in TLA+", world.V1Wrong{}, "V1Gen.tla", `!.m.wait = "none"]`, `!.m.wait = @]`, "GenAdmissionDeadline", "GenAdmissionDeadline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, replace := tiny(t, c.wrong)
			if c.file != "" {
				require.Contains(t, string(module(c.file)), c.from)
				replace[c.file] = []byte(strings.ReplaceAll(string(module(c.file)), c.from, c.to))
			}
			r, err := Run(context.Background(), Options{Model: m, Entry: tinyEntry, Tools: tt, Replace: replace})
			require.NoError(t, err)
			require.False(t, r.Equal)
			require.NotNil(t, r.Difference)
			text := r.Difference.Text()
			t.Log("\n" + text)
			require.True(t, len(r.Difference.OnlyGo)+len(r.Difference.OnlyTLC) > 0)
			if c.onlyGo != "" {
				require.Contains(t, names(r.Difference.OnlyGo), c.onlyGo, text)
			}
			if c.onTLA != "" {
				require.Contains(t, names(r.Difference.OnlyTLC), c.onTLA, text)
			}
		})
	}
	t.Run("nothing changed", func(t *testing.T) {
		m, replace := tiny(t, world.V1Wrong{})
		r, err := Run(context.Background(), Options{Model: m, Entry: tinyEntry, Tools: tt, Replace: replace})
		require.NoError(t, err)
		require.True(t, r.Equal)
		require.Positive(t, r.GoStates)
	})
}

func names(steps []Step) []string {
	out := []string{}
	for _, s := range steps {
		out = append(out, s.Action)
	}
	return out
}

// TestUnusable: what is no complete graph is never "equal".
func TestUnusable(t *testing.T) {
	m, replace := tiny(t, world.V1Wrong{})
	run := func(tt tlc.Tools, more map[string][]byte) error {
		for k, v := range more {
			replace[k] = v
		}
		_, err := Run(context.Background(), Options{Model: m, Entry: tinyEntry, Tools: tt, Replace: replace})
		for k := range more {
			delete(replace, k)
		}
		return err
	}
	fake := func(script string) tlc.Tools {
		p := filepath.Join(t.TempDir(), "java")
		require.NoError(t, os.WriteFile(p, []byte("#!/bin/sh\nfor a; do [ \"$prev\" = dot,actionlabels ] && dump=$a; prev=$a; done\n"+script), 0o700))
		return tlc.Tools{Java: p, Jar: "none"}
	}
	head := `printf 'strict digraph G {\n1 [label="x = 0",style = filled]\n' > "$dump"; `
	require.ErrorIs(t, run(fake(head+"exit 0"), nil), tlc.ErrTruncated, "a dump that was cut short")
	require.ErrorIs(t, run(fake(`printf 'strict digraph G {\n1 [label="x = ?"]\n}\n' > "$dump"; sleep 1`), nil), ErrUnusable, "a value that cannot be read")
	require.ErrorIs(t, run(fake("exit 143"), nil), tlc.ErrUnusable, "TLC was killed")
	err := run(tools(t), map[string][]byte{"V1Gen.tla": []byte("---- MODULE V1Gen ----\nNew == \n====\n")})
	require.ErrorIs(t, err, tlc.ErrUnusable)
	require.Contains(t, err.Error(), "V1Gen")
}
