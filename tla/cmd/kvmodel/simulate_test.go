package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSimulate(t *testing.T) {
	code, out, errs := command("simulate", "--schedules", "140", "--seed", "1", "--json")
	require.Equal(t, exitOK, code, errs)
	var r map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	for _, zero := range []string{"hangs", "unsafe_reuse", "lost_slots", "double_cleanup"} {
		require.Zero(t, r[zero], zero)
	}
	for _, some := range []string{"completed", "recovered", "quiesced", "cancelled", "failed", "unknown", "seconds", "schedules_per_minute"} {
		require.Positive(t, r[some], some)
	}
	require.NotEmpty(t, r["restarts"])
	require.Len(t, r["dialects"], 7)
	require.Empty(t, r["failures"])

	code, out, errs = command("simulate", "--schedules", "20", "--dialects", "plain,48+49", "--compare", "--transfers", "100")
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "lost completion notice, 1 rank(s) a side, 20 schedules:  plain ")
	require.Contains(t, out, "user cancel in flight, 2 rank(s) a side, 20 schedules:  plain ")
	require.NotContains(t, out, "baseline")

	for _, args := range [][]string{{"simulate", "x"}, {"simulate", "--schedules", "0"}, {"simulate", "--dialects", "v9"}, {"simulate", "--what"}, {"simulate", "--transfers", "5000"}} {
		code, _, _ = command(args...)
		require.Equal(t, exitUsage, code, "%v", args)
	}
}

// TestSimulateOnly writes the timeline of a seed down, and trace replays it step by
// step: a step that is unknown, ends otherwise, or comes after the end is refused.
func TestSimulateOnly(t *testing.T) {
	code, out, errs := command("simulate", "--only", "6")
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "seed 6, 48+49, ")

	dir := t.TempDir()
	code, _, errs = command("simulate", "--only", "6", "--transfers", "6", "--out", dir)
	require.Equal(t, exitOK, code, errs)
	text, err := os.ReadFile(filepath.Join(dir, "seed-6.timeline"))
	require.NoError(t, err)
	svg, err := os.ReadFile(filepath.Join(dir, "seed-6.svg"))
	require.NoError(t, err)
	require.Contains(t, string(svg), "</svg>")

	code, out, errs = command("trace", "--tell", filepath.Join(dir, "seed-6.timeline"))
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "events replayed")
	require.Contains(t, out, "OnOpen")
	for name, c := range map[string]struct {
		from, to string
		code     int
		says     string
	}{
		"unknown action":   {" OnPublish ", " OnPublished ", exitViolated, "no such action"},
		"unknown actor":    {" ctx-0/", " cxt-0/", exitViolated, "no such actor"},
		"unknown argument": {" Room=true", " Clock=true", exitViolated, "not known"},
		"other value":      {" Room=true", " Room=yes", exitViolated, "Room=yes"},
		"other end":        {"then=PUBLISHED", "then=BOUND", exitViolated, "ends in PUBLISHED"},
		"refused":          {"then=PUBLISHED", "refused=wrong-state", exitViolated, "not refused"},
		"no end":           {" then=PUBLISHED", "", exitViolated, "either"},
		"dialect":          {"dialect=48+49", "dialect=50", exitViolated, "no dialect"},
		"rules":            {"dialect=48+49", "dialect=48+49 rules=x", exitViolated, "invalid syntax"},
		"service":          {" ctx start", " ctx begin", exitViolated, "no such action"},
		"tail":             {"\nend ", "\nend 0\nend ", exitUnusable, "the end says"},
	} {
		require.Contains(t, string(text), c.from, name)
		p := filepath.Join(t.TempDir(), "t.timeline")
		require.NoError(t, os.WriteFile(p, []byte(strings.Replace(string(text), c.from, c.to, 1)), 0o600))
		code, _, errs := command("trace", p)
		require.Equal(t, c.code, code, "%s: %s", name, errs)
		require.Contains(t, errs, c.says, name)
	}
	p := filepath.Join(t.TempDir(), "t.timeline")
	require.NoError(t, os.WriteFile(p, append(text, "9 - ctx-0/1 OnCancel\n"...), 0o600))
	code, _, errs = command("trace", p)
	require.Equal(t, exitUnusable, code)
	require.Contains(t, errs, "after the end")
	code, _, errs = command("trace", "/nowhere")
	require.Equal(t, exitUnusable, code, errs)
}
