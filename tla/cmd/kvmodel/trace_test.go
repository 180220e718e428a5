package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// command runs kvmodel and returns its exit code and what it printed.
func command(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(context.Background(), args, &out, &err)
	return code, out.String(), err.String()
}

func TestExplainAndTrace(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := command("explain", "v1", "SyncAfterSuccess", "--mutant", "SyncEarly", "--size", "small", "--out", dir)
	require.Equal(t, exitOK, code, errs)
	base := filepath.Join(dir, "v1-SyncAfterSuccess-SyncEarly")
	for _, ext := range []string{".txt", ".svg", ".jsonl"} {
		text, err := os.ReadFile(base + ext)
		require.NoError(t, err)
		require.NotEmpty(t, text)
		require.Contains(t, out, base+ext)
	}
	test, err := os.ReadFile(filepath.Join(dir, "v1_syncaftersuccess_syncearly_test.go"))
	require.NoError(t, err)
	require.Contains(t, string(test), "func TestSyncAfterSuccessSyncEarly(t *testing.T)")

	code, _, errs = command("trace", base+".jsonl")
	require.Equal(t, exitViolated, code)
	require.Contains(t, errs, "SyncAfterSuccess")

	// The same run in the right world: no rule is broken, so nothing is violated.
	text, err := os.ReadFile(base + ".jsonl")
	require.NoError(t, err)
	edit := func(from, to string) string {
		require.Contains(t, string(text), from)
		p := filepath.Join(t.TempDir(), "trace.jsonl")
		require.NoError(t, os.WriteFile(p, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
		return p
	}
	code, out, errs = command("trace", "--tell", edit(`,"rule":"SyncEarly"`, ""))
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "DeliverRequest")

	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[len(lines)-1]
	for name, c := range map[string]struct {
		from, to string
		code     int
		says     string
	}{
		"unknown event":   {"RequestVisible(", "RequestSeen(", exitViolated, "no action"},
		"impossible":      {"RequestVisible(", "RequestSent(", exitViolated, "not possible"},
		"unread tail":     {last, last + "\n{\"n\":99,\"event\":\"CrashGen(gen=1)\"}", exitUnusable, "after the end"},
		"cut short":       {"\n" + last, "", exitUnusable, "end is missing"},
		"gap":             {`{"n":2,`, `{"n":3,`, exitUnusable, "where 2 is due"},
		"wrong count":     {`{"events":`, `{"events":1`, exitUnusable, "says"},
		"unknown field":   {`{"n":2,`, `{"n":2,"clock":7,`, exitUnusable, "clock"},
		"unknown model":   {`"model":"v1"`, `"model":"v9"`, exitUnusable, "v9"},
		"no initial":      {`"init":`, `"init":9`, exitViolated, "initial state"},
		"unknown mistake": {"SyncEarly", "SyncNever", exitUnusable, "SyncNever"},
	} {
		code, _, errs := command("trace", edit(c.from, c.to))
		require.Equal(t, c.code, code, "%s: %s", name, errs)
		require.Contains(t, errs, c.says, name)
	}
}

func TestToolUsage(t *testing.T) {
	for _, args := range [][]string{
		{"check"}, {"compare"}, {"mutate"}, {"explain"}, {"trace"}, {"doctor", "v1"},
		{"check", "--all", "v1"}, {"check", "nothing"}, {"check", "v1", "--size", "huge"}, {"check", "v1", "--heap", "1"},
		{"explain", "v1", "Stuck"}, {"explain", "v1", "Stuck", "--mutant", "a", "--config", "b"}, {"compare", "--unknown"},
	} {
		code, _, errs := command(args...)
		require.Equal(t, exitUsage, code, "%v: %s", args, errs)
	}
	code, _, errs := command("check", "v1", "--size", "large")
	require.Equal(t, exitUnusable, code, "a line that the ledger lacks")
	require.Contains(t, errs, "no line for v1 large")
	t.Setenv("KVSETTLE_TLC_JAR", "/nowhere.jar")
	for _, name := range []string{"check", "compare"} {
		code, _, errs = command(name, "slot", "--size", "small")
		require.Equal(t, exitUnusable, code)
		require.Contains(t, errs, "/nowhere.jar")
	}
	code, _, errs = command("explain", "v1", "OneOutcome", "--mutant", "SyncEarly", "--size", "small", "--out", t.TempDir())
	require.Equal(t, exitViolated, code)
	require.Contains(t, errs, "not violated")
}
