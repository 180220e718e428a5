package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

func TestLedgerSays(t *testing.T) {
	e := tla.Entry{Result: "ok", States: 5, Depth: 2}
	require.Empty(t, ledgerSays(e, tlc.Outcome{Distinct: 5, Depth: 2}, "ok"))
	require.Contains(t, ledgerSays(e, tlc.Outcome{Distinct: 6, Depth: 2}, "ok"), "6 distinct states")
	require.Contains(t, ledgerSays(e, tlc.Outcome{Distinct: 5, Depth: 3}, "ok"), "depth 3")
	require.Contains(t, ledgerSays(e, tlc.Outcome{Distinct: 5, Depth: 2}, "Safe"), "result Safe")
	require.Empty(t, ledgerSays(tla.Entry{Result: "Safe"}, tlc.Outcome{Distinct: 3}, "Safe"), "a violation on purpose")
}

// TestCheckAndCompare runs both commands on the smallest models, as people do.
func TestCheckAndCompare(t *testing.T) {
	code, _, errs := command("doctor")
	require.Equal(t, exitOK, code, errs)
	file := filepath.Join(t.TempDir(), "check.xml")
	code, out, errs := command("check", "slot", "round", "--size", "small", "--json", "--junit", file)
	require.Equal(t, exitOK, code, errs)
	var checked struct{ Models []checkResult }
	require.NoError(t, json.Unmarshal([]byte(out), &checked))
	require.Len(t, checked.Models, 2)
	for _, m := range checked.Models {
		require.Equal(t, "ok", m.Result)
		require.Equal(t, []string{"Settles"}, m.Temporal)
		require.NotEmpty(t, m.Invariants)
	}
	xml, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(xml), `tests="2" failures="0" errors="0"`)

	code, out, errs = command("compare", "slot", "--size", "small", "--json")
	require.Equal(t, exitOK, code, errs)
	var compared compareResult
	require.NoError(t, json.Unmarshal([]byte(out), &compared))
	require.True(t, compared.Models[0].Equal)
	require.Equal(t, compared.Models[0].GoStates, compared.States)
	require.Positive(t, compared.Edges)
}

// TestMutateSample breaks a few places of the slot model; every one must be seen.
func TestMutateSample(t *testing.T) {
	code, out, errs := command("mutate", "slot", "--size", "small", "--sample", "4", "--seed", "3", "--json")
	require.Equal(t, exitOK, code, errs)
	var r mutateResult
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Len(t, r.Models, 1)
	require.Len(t, r.Models[0].TLA, 4)
	require.Equal(t, r.Mutants, r.Killed+r.KilledByCompare+r.Equivalent)
	require.Positive(t, r.Killed)
	require.Zero(t, r.Survived)
}

func TestExplainTLA(t *testing.T) {
	dir := t.TempDir()
	cfg := filepath.Join(dir, "Slot.never.cfg")
	text, err := tla.Files().ReadFile("Slot.small.cfg")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cfg, append(tla.GraphConfig(text, false), "INVARIANT Settled\n"...), 0o600))
	code, _, errs := command("explain", "slot", "Settled", "--config", cfg, "--size", "small", "--out", dir)
	require.Equal(t, exitOK, code, errs)
	story, err := os.ReadFile(filepath.Join(dir, "slot-Settled-Slot.never.cfg.txt"))
	require.NoError(t, err)
	require.Contains(t, string(story), "Lease")
	require.Contains(t, string(story), `phase[1]: "new" -> "held"`)
}
