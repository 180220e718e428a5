package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

const pagesDir = "../../../docs/findings"

// askAll asks every finding once for all tests of this file.
func askAll(t *testing.T) []answered {
	t.Helper()
	var all []answered
	for _, name := range catalog.Findings() {
		f, answers, err := catalog.Ask(context.Background(), name, explore.Options{})
		require.NoError(t, err)
		all = append(all, answered{f, answers})
	}
	return all
}

// TestFindingPages: each page begins with the answer that is found now, and its
// generated part and pictures are what the command would write.
func TestFindingPages(t *testing.T) {
	all := askAll(t)
	const how = "write it anew: go run ./tla/cmd/kvmodel finding --all --pages docs/findings"
	known := []string{indexName}
	for i := range all {
		a := &all[i]
		name := a.f.Name + ".md"
		known = append(known, name)
		text, err := os.ReadFile(filepath.Join(pagesDir, name))
		require.NoError(t, err)
		require.NoError(t, frontLine(string(text), a))
		block, pictures := a.pageFiles()
		want, err := replaceBlock(string(text), a.f.Name, block)
		require.NoError(t, err, name)
		require.True(t, want == string(text), "%s: the generated part is not what is found now; %s", name, how)
		require.Contains(t, string(text), "**Question.** "+a.f.Question)
		require.Contains(t, string(text), "kvmodel finding "+a.f.Name+"\n")
		require.Contains(t, string(text), "## What kvsettle does")
		for file, svg := range pictures {
			known = append(known, file)
			have, err := os.ReadFile(filepath.Join(pagesDir, file))
			require.NoError(t, err)
			require.True(t, svg == string(have), "%s is not what is found now; %s", file, how)
			require.Contains(t, string(text), "]("+file+")")
		}
	}
	index, err := os.ReadFile(filepath.Join(pagesDir, indexName))
	require.NoError(t, err)
	want, err := replaceBlock(string(index), "--all", indexTable(all))
	require.NoError(t, err)
	require.True(t, want == string(index), "%s: the table is not what is found now; %s", indexName, how)
	entries, err := os.ReadDir(pagesDir)
	require.NoError(t, err)
	for _, e := range entries {
		require.True(t, slices.Contains(known, e.Name()), "%s belongs to no finding", e.Name())
	}
}

// frontLine says whether a page begins with the answer of its finding.
func frontLine(page string, a *answered) error {
	lines := strings.SplitN(page, "\n", 4)
	switch {
	case len(lines) < 4 || !strings.HasPrefix(lines[0], "# "+a.f.Name+": "):
		return fmt.Errorf("%s: the title is missing", a.f.Name)
	case !strings.HasPrefix(lines[2], "**Answer: "+a.verdict()):
		return fmt.Errorf("%s: the front line says %.40q, the answer is %s", a.f.Name, lines[2], a.verdict())
	case !a.answers[0].Same():
		return fmt.Errorf("%s: the recorded answer is another one", a.f.Name)
	}
	return nil
}

// TestFrontLine: a page with another answer, without one or without a title is
// noticed.
func TestFrontLine(t *testing.T) {
	f, answers, err := catalog.Ask(context.Background(), "D1", explore.Options{})
	require.NoError(t, err)
	a := &answered{f, answers}
	require.NoError(t, frontLine("# D1: x\n\n**Answer: confirmed** y\n\n", a))
	for _, page := range []string{"", "# D2: x\n\n**Answer: confirmed** y\n\n", "# D1: x\n\n**Answer: refuted** y\n\n", "# D1: x\n\nconfirmed\n\n"} {
		require.Error(t, frontLine(page, a))
	}
	a.answers[0].Ask.Holds = true
	require.Error(t, frontLine("# D1: x\n\n**Answer: confirmed** y\n\n", a))
}

// TestFindingPagesCite: a page names requirements that exist, and each page at least
// one.
func TestFindingPagesCite(t *testing.T) {
	id := regexp.MustCompile(`KS-[A-Z0-9]+-[0-9]+`)
	for _, name := range catalog.Findings() {
		text, err := os.ReadFile(filepath.Join(pagesDir, name+".md"))
		require.NoError(t, err)
		_, tail, found := strings.Cut(string(text), "## What kvsettle does")
		require.True(t, found)
		require.NotEmpty(t, id.FindAllString(tail, -1), name)
		for _, cited := range id.FindAllString(string(text), -1) {
			_, exists := spec.Lookup(cited)
			require.True(t, exists, "%s cites %s", name, cited)
		}
	}
}

func TestFindingCommand(t *testing.T) {
	code, out, errs := call(t, "finding", "D7")
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "D7 confirmed")
	require.Contains(t, out, "DeliverCancel")
	code, out, errs = call(t, "finding", "D11", "D2", "--json")
	require.Equal(t, exitOK, code, errs)
	var res struct{ Findings []findingResult }
	require.NoError(t, json.Unmarshal([]byte(out), &res))
	require.Len(t, res.Findings, 2)
	require.Equal(t, "refuted", res.Findings[0].Answer)
	require.Equal(t, "confirmed", res.Findings[1].Answer)
	for _, f := range res.Findings {
		require.True(t, f.Same)
		for _, a := range f.Asks {
			require.Equal(t, a.Recorded, a.Holds)
			require.Equal(t, a.Holds, a.Steps == 0)
			require.Positive(t, a.States)
			require.NotEmpty(t, a.Bounds)
		}
	}
	code, _, errs = call(t, "finding", "D1", "--max-states", "10")
	require.Equal(t, exitUnusable, code)
	require.Contains(t, errs, "more states than the limit")
}

// TestWritePages writes into a folder of pages whose generated parts are empty.
func TestWritePages(t *testing.T) {
	dir := t.TempDir()
	code, _, errs := call(t, "finding", "D4", "--pages", dir)
	require.Equal(t, exitUnusable, code)
	require.Contains(t, errs, "D4.md")
	file := filepath.Join(dir, "D4.md")
	require.NoError(t, os.WriteFile(file, []byte("# D4\nno place\n"), 0o600))
	code, _, errs = call(t, "finding", "D4", "--pages", dir)
	require.Equal(t, exitUnusable, code)
	require.Contains(t, errs, "page-unusable")
	page := "head\n" + fmt.Sprintf(pageBegin, "D4") + "\nstale words\n" + pageEnd + "\ntail\n"
	require.NoError(t, os.WriteFile(file, []byte(page), 0o600))
	code, _, errs = call(t, "finding", "D4", "--pages", dir)
	require.Equal(t, exitOK, code, errs)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "stale words")
	require.Contains(t, string(text), "AnswerOpen")
	require.True(t, strings.HasPrefix(string(text), "head\n") && strings.HasSuffix(string(text), "\ntail\n"))
	for _, name := range []string{"D4.svg", "D4-2.svg", "D4-3.svg"} {
		_, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
	}
}

// TestChangedAnswer: a recorded answer that is not found again makes the command
// fail.
func TestChangedAnswer(t *testing.T) {
	f, answers, err := catalog.Ask(context.Background(), "D4", explore.Options{})
	require.NoError(t, err)
	a := &answered{f, answers}
	require.True(t, a.same())
	a.answers[3].Ask.Holds = false
	require.False(t, a.same())
	require.False(t, a.result().Same)
	var out strings.Builder
	a.print(&out, false)
	require.Contains(t, out.String(), "this is not the recorded answer")
}
