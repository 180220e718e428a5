package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/tla/catalog"
)

// call runs the command in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestExploreJSON(t *testing.T) {
	code, stdout, stderr := call(t, "explore", "--all", "--json", "--size", "small")
	require.Equal(t, exitOK, code, stderr)
	var res exploreResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &res))
	require.Len(t, res.Models, len(catalog.Names()))
	total := 0
	for i, m := range res.Models {
		require.Equal(t, catalog.Names()[i], m.Name)
		require.Zero(t, m.Violations, m.Name)
		require.Zero(t, m.Hangs, m.Name)
		require.Empty(t, m.Error)
		require.Positive(t, m.States)
		require.Positive(t, m.Edges)
		require.Positive(t, m.Depth)
		require.Positive(t, m.Settled)
		require.Less(t, m.CollisionBound, -64)
		require.NotEmpty(t, m.Bounds)
		total += m.States
	}
	require.Equal(t, total, res.States)
	require.Positive(t, res.Actions["DeliverOpen"])
	require.Positive(t, res.Rows["ctx-bind"])
}

// The medium configurations are what a bare `explore --all` runs: each model with a
// network has every fault in its bounds, and no action is dead.
func TestBoundsOfMedium(t *testing.T) {
	for _, name := range catalog.Names() {
		m, err := catalog.New(name, "medium")
		require.NoError(t, err)
		bounds := map[string]int{}
		for _, b := range m.Bounds() {
			bounds[b.Name] = b.Value
		}
		switch name {
		case "slot": // no network
			continue
		case "negotiate": // agents are replaced rather than crash, and only GEN's user waits
			require.Positive(t, bounds["upgrade"])
		case "round":
			require.Positive(t, bounds["cancel at any rank"])
			require.Positive(t, bounds["crash"])
		default:
			require.Positive(t, bounds["cancel at GEN"], name)
			require.Positive(t, bounds["cancel at CTX"], name)
			require.Positive(t, bounds["crash"], name)
		}
		require.Positive(t, bounds["drop"], name)
		require.Positive(t, bounds["duplicate"], name)
		require.NotZero(t, bounds["reorder"], name)
	}
}

func TestExploreTable(t *testing.T) {
	code, stdout, _ := call(t, "explore", "--size", "small", "slot", "round", "--workers", "1")
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, "slot")
	require.Contains(t, stdout, "fingerprint with probability at most 2^-")
	require.Contains(t, stdout, "rows of the tables taken")
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"no-such"}, {"explore"}, {"explore", "no-such"}, {"explore", "slot", "--all"}, {"explore", "slot", "--size", "huge"},
		{"explore", "slot", "--workers", "-1"}, {"explore", "slot", "--nonsense"}, {"bench", "slot", "v1"}, {"bench", "no-such"},
		{"list", "x"}, {"finding"}, {"finding", "no-such"}, {"finding", "N1", "--all"},
	} {
		code, stdout, stderr := call(t, args...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, stdout, args)
		require.NotEmpty(t, stderr, args)
	}
	code, stdout, _ := call(t, "help")
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, "exit codes")
}

func TestStoppedEarly(t *testing.T) {
	code, stdout, stderr := call(t, "explore", "v1", "--size", "small", "--max-states", "100", "--json")
	require.Equal(t, exitUnusable, code)
	require.Contains(t, stderr, "reached")
	var res exploreResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &res))
	require.Contains(t, res.Models[0].Error, "more states than the limit")
	require.Greater(t, res.Models[0].States, 100)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, exitUnusable, run(ctx, []string{"explore", "--all", "--size", "small"}, &out, &errs))
	require.Contains(t, errs.String(), "stopped before the end")
}

func TestFindingsAndPictures(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := call(t, "finding", "N3", "--svg", dir, "--mermaid", dir)
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stdout, "violated CancelNeverUnknown")
	svgs, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	require.NoError(t, err)
	require.Len(t, svgs, 1)
	f, err := os.Open(svgs[0])
	require.NoError(t, err)
	defer f.Close()
	d := xml.NewDecoder(f)
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
	mmd, err := filepath.Glob(filepath.Join(dir, "*.mmd"))
	require.NoError(t, err)
	require.Len(t, mmd, 1)
	text, err := os.ReadFile(mmd[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "sequenceDiagram")
}

func TestListAndBench(t *testing.T) {
	code, stdout, _ := call(t, "list")
	require.Equal(t, exitOK, code)
	for _, name := range catalog.Names() {
		require.Contains(t, stdout, name)
	}
	code, stdout, _ = call(t, "bench", "--size", "small", "--json")
	require.Equal(t, exitOK, code)
	var res benchResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &res))
	require.Positive(t, res.Go.StatesPerS)
	require.Equal(t, res.Go.States, res.TLC.States)
	require.InDelta(t, res.Go.StatesPerS/res.TLC.StatesPerS, res.Ratio, 1e-9)
	code, stdout, _ = call(t, "bench", "v1", "--size", "small", "--go-only")
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, "bytes per state")
	require.NotContains(t, stdout, "TLC")
	code, _, stderr := call(t, "bench", "v1", "--size", "large", "--max-states", "10")
	require.Equal(t, exitUnusable, code)
	require.Contains(t, stderr, "reached")
}
