package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const chapters = "../.."

// TestChaptersMatchTheirTables fails when a table or a chapter was changed and
// `go generate ./spec` was not run.
func TestChaptersMatchTheirTables(t *testing.T) {
	stale, err := update(chapters, true)
	require.NoError(t, err)
	require.Empty(t, stale, "run go generate ./spec")
}

// copyOf holds the chapters and tables in memory.
func copyOf(t *testing.T) fstest.MapFS {
	m := fstest.MapFS{}
	fsys := os.DirFS(chapters)
	for _, pattern := range []string{"*.md", "tables/*.json"} {
		names, err := fs.Glob(fsys, pattern)
		require.NoError(t, err)
		require.NotEmpty(t, names)
		for _, name := range names {
			b, err := fs.ReadFile(fsys, name)
			require.NoError(t, err)
			m[name] = &fstest.MapFile{Data: b}
		}
	}
	return m
}

func (c chapter) stale() bool { return !bytes.Equal(c.old, c.new) }

func TestChangedTableIsSeen(t *testing.T) {
	m := copyOf(t)
	f := m["tables/slot-transitions.json"]
	f.Data = bytes.Replace(f.Data, []byte("no proof can arrive"), []byte("no proof may arrive"), 1)
	rendered, err := render(m)
	require.NoError(t, err)
	var stale []string
	for _, c := range rendered {
		if c.stale() {
			stale = append(stale, c.name)
		}
	}
	require.Equal(t, []string{"11-slots.md"}, stale)
}

func TestEditedChapterIsSeen(t *testing.T) {
	m := copyOf(t)
	f := m["11-slots.md"]
	f.Data = bytes.Replace(f.Data, []byte("FREE --> LEASED"), []byte("FREE --> RETIRED"), 1)
	rendered, err := render(m)
	require.NoError(t, err)
	for _, c := range rendered {
		require.Equal(t, c.name == "11-slots.md", c.stale(), c.name)
	}
}

func TestRenderRefuses(t *testing.T) {
	cases := map[string]struct {
		old, new, want string
	}{
		"unknown table": {"<!-- table: proofs -->", "<!-- table: no-such -->", "does not exist"},
		"twice closed":  {"<!-- table: proofs -->\n", "<!-- diagram: proofs -->\n", "is closed as table"},
		"not shown":     {"<!-- table: proofs -->", "<!-- tables: proofs -->", "no chapter shows the table proofs"},
		"no diagram":    {"<!-- diagram: slot-transitions -->", "<!-- dia: slot-transitions -->", "diagram of slot-transitions"},
		"other chapter": {"<!-- table: proofs -->", "<!-- table: waits -->", "belongs to 20-time"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := copyOf(t)
			f := m["11-slots.md"]
			require.Contains(t, string(f.Data), c.old)
			f.Data = []byte(strings.Replace(string(f.Data), c.old, c.new, 1))
			_, err := render(m)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, copyOf(t)))
	var out, errs bytes.Buffer
	require.Equal(t, 0, run([]string{"-check", "-dir", dir}, &out, &errs))
	name := filepath.Join(dir, "11-slots.md")
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, bytes.Replace(b, []byte("token spent"), []byte("token kept"), 1), 0o600))
	require.Equal(t, 1, run([]string{"-check", "-dir", dir}, &out, &errs))
	require.Contains(t, out.String(), "11-slots.md")
	require.Equal(t, 0, run([]string{"-dir", dir}, &out, &errs))
	again, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, b, again)
	require.Equal(t, 2, run([]string{"-no-such-flag"}, &out, &errs))
	require.Equal(t, 2, run([]string{"-dir", filepath.Join(dir, "tables")}, &out, &errs))
}
