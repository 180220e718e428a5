package spec_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
)

// id builds an id that is not defined, so that the search for citations does not
// find it here.
func id(topic string) string { return "KS-" + topic + "-1" }

// root returns the folder with go.mod.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		require.NotEqual(t, dir, up, "no go.mod above the test")
		dir = up
	}
}

func TestChaptersParse(t *testing.T) {
	list, err := spec.ParseChapters(os.DirFS("."))
	require.NoError(t, err)
	require.Equal(t, list, spec.Requirements())
	require.GreaterOrEqual(t, len(list), 200)
	for i, r := range list {
		require.NotEmpty(t, r.Title, r.ID)
		require.NotEmpty(t, r.Anchor, r.ID)
		require.True(t, strings.HasSuffix(r.Text, "."), "%s ends with a full stop", r.ID)
		require.LessOrEqual(t, len(strings.Fields(r.Text)), 60, "%s is one short statement", r.ID)
		if i > 0 {
			require.Negative(t, spec.CompareIDs(list[i-1].ID, r.ID))
		}
		got, ok := spec.Lookup(r.ID)
		require.True(t, ok)
		require.Equal(t, r, got)
	}
}

// TestEveryNormativeSentenceHasAnID finds RFC 2119 words outside requirements.
func TestEveryNormativeSentenceHasAnID(t *testing.T) {
	word := regexp.MustCompile(`\b(MUST|SHOULD|SHALL|MAY|REQUIRED|RECOMMENDED|OPTIONAL)\b`)
	chapters, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.NotEmpty(t, chapters)
	for _, name := range chapters {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		for n, line := range strings.Split(string(b), "\n") {
			if strings.HasPrefix(line, "**KS-") || strings.HasPrefix(line, "The words MUST,") || strings.Contains(line, "MUST of that class") {
				continue
			}
			require.False(t, word.MatchString(line), "%s:%d: %s", name, n+1, line)
		}
	}
}

func TestParseChaptersRefuses(t *testing.T) {
	one := "# C\n\n## S\n\n**" + id("A") + "** (MUST) **T.** It MUST work.\n"
	cases := map[string]struct{ doc, want string }{
		"no level":       {"**" + id("A") + "** It MUST work.\n", "a requirement is"},
		"no title":       {"**" + id("A") + "** (MUST) It MUST work.\n", "a requirement is"},
		"level unborne":  {"**" + id("A") + "** (MUST) **T.** It works.\n", "does not say so"},
		"level stronger": {"**" + id("A") + "** (MAY) **T.** It MAY and MUST work.\n", "text says MUST"},
		"used twice":     {one + "\n" + one, "already defined at c.md:5"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := spec.ParseChapters(fstest.MapFS{"c.md": {Data: []byte(c.doc)}})
			require.ErrorContains(t, err, c.want)
		})
	}
	list, err := spec.ParseChapters(fstest.MapFS{"c.md": {Data: []byte(one)}})
	require.NoError(t, err)
	require.Equal(t, []spec.Requirement{{ID: id("A"), Level: spec.Must, Title: "T", Text: "It MUST work.", Chapter: "c", Anchor: "s"}}, list)
	require.Equal(t, "spec/c.md#s", list[0].Link())
}

func TestAnchorsAreUnique(t *testing.T) {
	doc := "## A b, c!\n\n**" + id("A") + "** (MAY) **T.** x MAY y.\n\n## A b c\n\n**" + id("B") + "** (MAY) **T.** x MAY y.\n"
	list, err := spec.ParseChapters(fstest.MapFS{"c.md": {Data: []byte(doc)}})
	require.NoError(t, err)
	require.Equal(t, "a-b-c", list[0].Anchor)
	require.Equal(t, "a-b-c-1", list[1].Anchor)
}

func TestNoDanglingCitation(t *testing.T) {
	spec.Covers(t, "KS-VER-1")
	all, err := spec.Citations(os.DirFS(root(t)))
	require.NoError(t, err)
	require.Greater(t, len(all), 500)
	for _, c := range spec.Dangling(all) {
		t.Errorf("%s:%d cites %s, which no chapter defines", c.File, c.Line, c.ID)
	}
}

func TestDanglingIsFound(t *testing.T) {
	fsys := fstest.MapFS{
		"a/x.go":               {Data: []byte("package a\n\n// see " + id("NOWHERE") + "\n")},
		"a/x_test.go":          {Data: []byte(id("T"))},
		"a/y.go":               {Data: []byte(id("T"))},
		"a/x.txt":              {Data: []byte(id("NOWHERE"))},
		".git/x.go":            {Data: []byte(id("NOWHERE"))},
		"a/testdata/fuzz/F/x":  {Data: []byte(id("NOWHERE"))},
		"m.tla":                {Data: []byte("\\* KS-SLOT-4, KS-SLOT-*, XKS-" + "NO-1\n")},
		"spec/c.md":            {Data: []byte("**" + id("HERE") + "** (MAY) **T.** It MAY cite KS-SLOT-1.\n")},
		"conformance/v1.jsonl": {Data: []byte("{\"req\":\"" + id("JSON") + "\"}\n")},
	}
	all, err := spec.Citations(fsys)
	require.NoError(t, err)
	require.Equal(t, []spec.Citation{
		{ID: id("NOWHERE"), File: "a/x.go", Line: 3},
		{ID: id("T"), File: "a/y.go", Line: 1},
		{ID: id("JSON"), File: "conformance/v1.jsonl", Line: 1},
		{ID: "KS-SLOT-4", File: "m.tla", Line: 1},
		{ID: "KS-SLOT-1", File: "spec/c.md", Line: 1},
	}, all)
	require.Equal(t, []spec.Citation{all[0], all[1], all[2]}, spec.Dangling(all))
}

func TestRetiredIDsStayRetired(t *testing.T) {
	spec.Covers(t, "KS-VER-1")
	retired, err := spec.Retired()
	require.NoError(t, err)
	for _, r := range retired {
		require.NotEmpty(t, spec.Topic(r), "%q is no id", r)
		_, ok := spec.Lookup(r)
		require.False(t, ok, "%s is retired and defined", r)
	}
}

func TestUntestedListIsHonest(t *testing.T) {
	excuses, err := spec.Excuses()
	require.NoError(t, err)
	for id, reason := range excuses {
		_, ok := spec.Lookup(id)
		require.True(t, ok, "%s is excused and not defined", id)
		require.NotEmpty(t, reason)
	}
}

func TestChaptersAreNumberedAndTitled(t *testing.T) {
	chapters, err := fs.Glob(os.DirFS("."), "*.md")
	require.NoError(t, err)
	for i, name := range chapters {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		number := name[:2]
		require.Equal(t, i+1, int(number[0]-'0')*10+int(number[1]-'0'), name)
		require.True(t, strings.HasPrefix(string(b), "# "+number+" "), name)
	}
}
