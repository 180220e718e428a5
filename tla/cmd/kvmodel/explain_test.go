package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/mutate"
)

// written returns the text of a file that explain wrote; Go files must parse.
func written(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	if strings.HasSuffix(name, ".go") {
		_, err = parser.ParseFile(token.NewFileSet(), name, text, parser.AllErrors)
		require.NoError(t, err)
	}
	return string(text)
}

// TestExplainConfig: what TLC finds with a configuration, the machines can do as well.
func TestExplainConfig(t *testing.T) {
	dir := t.TempDir()
	cfg := filepath.Join(dir, "Slot.never.cfg")
	text, err := tla.Files().ReadFile("Slot.small.cfg")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cfg, append(tla.GraphConfig(text, false), "INVARIANT Settled\n"...), 0o600))
	code, _, errs := command("explain", "slot", "Settled", "--config", cfg, "--size", "small", "--out", dir)
	require.Equal(t, exitOK, code, errs)
	test := written(t, dir, "slot_settled_slot_never_cfg_test.go")
	require.Contains(t, test, "The machines can do all of it.")
	require.Contains(t, test, `catalog.New("slot", "small")`)
	require.Contains(t, test, "r.Settled != false")
	require.NotEmpty(t, written(t, dir, "slot-Settled-Slot.never.cfg.svg"))
	code, out, errs := command("trace", filepath.Join(dir, "slot-Settled-Slot.never.cfg.jsonl"))
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "settled: false")
}

// TestExplainMutant: the machines follow a mutant up to the step that is its own. A
// run that begins elsewhere is none of theirs.
func TestExplainMutant(t *testing.T) {
	all, err := mutate.Of("Slot")
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(m mutate.Mutant) bool {
		return m.Definition == "Retire" && m.Kind == "assignment" && strings.Contains(m.From, "gone")
	})
	require.GreaterOrEqual(t, i, 0)
	dir := t.TempDir()
	code, _, errs := command("explain", "slot", "SlotsAddUp", "--mutant", all[i].Name, "--size", "small", "--out", dir)
	require.Equal(t, exitOK, code, errs)
	base := "slot-SlotsAddUp-" + strings.ReplaceAll(all[i].Name, ":", "-")
	test := written(t, dir, testName(base))
	require.Contains(t, test, "The machines can do the first 3 of its 4 steps. The next one, Retire, is the mutant's")
	require.Contains(t, test, `"Quarantine(owner=1)",`)
	code, _, errs = command("trace", filepath.Join(dir, base+".jsonl"))
	require.Equal(t, exitOK, code, errs)

	m, err := catalog.New("slot", "small")
	require.NoError(t, err)
	run, err := readTLCTrace("State 1: <Initial predicate>\n/\\ phase = 7\n")
	require.NoError(t, err)
	_, err = m.(catalog.Follower).Follow(run.actions, run.states)
	require.ErrorIs(t, err, catalog.ErrImpossible)
	_, err = m.(catalog.Follower).Follow([]string{"Lease"}, run.states)
	require.Error(t, err)
	_, err = readTLCTrace("State 1: <Initial predicate>\n/\\ phase = <<\n")
	require.Error(t, err)
}
