package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
)

func Example() {
	run(context.Background(), []string{"vectors", "--dir", "../../vectors"}, os.Stdout, os.Stderr)
	// Output: 626 passed, 0 failed, 10 files
}

// call runs the command and returns what it wrote.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// tree makes a folder with these files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return root
}

const (
	goodLine = `{"type":"MemoryDesc","name":"m","profile":"2026-mid x","size":20,"fields":{"addr":"1","len":"2","deviceId":3},"hex":"0100000000000000020000000000000003000000"}` + "\n"
	badLine  = `{"type":"MemoryDesc","name":"m","profile":"2026-mid x","size":20,"fields":{"addr":"1","len":"2","deviceId":4},"hex":"0100000000000000020000000000000003000000"}` + "\n"
)

func TestUsage(t *testing.T) {
	file := filepath.Join(tree(t, map[string]string{"f": ""}), "f")
	cases := []struct {
		name string
		args []string
		code int
		want string // in stderr; in stdout for code 0
	}{
		{"nothing", nil, exitUsage, "a command is missing"},
		{"unknown command", []string{"requirement"}, exitUsage, `unknown command "requirement"`},
		{"help", []string{"help"}, exitOK, "usage:"},
		{"help of a command", []string{"vectors", "--help"}, exitOK, "usage:"},
		{"unknown flag", []string{"vectors", "--folder", "x"}, exitUsage, "flag provided but not defined: -folder"},
		{"stray argument", []string{"vectors", "--dir", "x", "y"}, exitUsage, `vectors: unexpected "y"`},
		{"no folder", []string{"vectors"}, exitUsage, "--dir is missing"},
		{"missing folder", []string{"vectors", "--dir", "no/such/folder"}, exitUsage, "no/such/folder"},
		{"a file for a folder", []string{"vectors", "--dir", file}, exitUsage, "is no folder"},
		{"empty folder", []string{"vectors", "--dir", t.TempDir()}, exitHarness, "nothing ran"},
		{"no record", []string{"requirements", "--covers", t.TempDir()}, exitHarness, "no record in"},
		{"missing record", []string{"requirements", "--covers", "no/such/folder"}, exitUsage, "no/such/folder is no folder"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := call(t, c.args...)
			require.Equal(t, c.code, code, stderr)
			if c.code == exitOK {
				require.Contains(t, stdout, c.want)
				require.Empty(t, stderr)
			} else {
				require.Contains(t, stderr, c.want)
				require.Empty(t, stdout)
			}
		})
	}
}

func TestVectorsFindings(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.jsonl": goodLine + badLine + goodLine, "sub/b.jsonl": "nonsense\n", "c.jsonl": "", "README.md": "not a vector",
	})
	code, stdout, stderr := call(t, "vectors", "--dir", dir)
	require.Equal(t, exitFindings, code, stderr)
	require.Equal(t, `a.jsonl:2: "m": fields.deviceId: want 4, got 3
c.jsonl:0: "": the file holds no line
sub/b.jsonl:1: "": not JSON: invalid character 'o' in literal null (expecting 'u')
2 passed, 3 failed, 3 files
`, stdout)

	code, stdout, _ = call(t, "vectors", "--dir", dir, "--json")
	require.Equal(t, exitFindings, code)
	var report struct {
		Files, Passed, Failed int
		Failures              []struct {
			File, ID, Difference string
			Line                 int
		}
		Passed_By_Type map[string]int
	}
	dec := json.NewDecoder(strings.NewReader(stdout))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&report), stdout)
	require.Equal(t, 2, report.Passed)
	require.Equal(t, 3, report.Failed)
	require.Len(t, report.Failures, 3)
	require.Equal(t, "fields.deviceId: want 4, got 3", report.Failures[0].Difference)
	require.Equal(t, map[string]int{"MemoryDesc": 2}, report.Passed_By_Type)

	code, _, stderr = call(t, "vectors", "--dir", tree(t, map[string]string{"a.jsonl": goodLine}))
	require.Equal(t, exitOK, code, stderr)
	code, _, _ = call(t, "vectors", "--dir", tree(t, map[string]string{"a.jsonl": ""}))
	require.Equal(t, exitFindings, code, "a file without lines is no success")
}

// record is the record of a run that showed every requirement but the given ones.
func record(t *testing.T, except ...string) string {
	t.Helper()
	var b strings.Builder
	for _, r := range spec.Requirements() {
		if !strings.Contains(" "+strings.Join(except, " ")+" ", " "+r.ID+" ") {
			b.WriteString(r.ID + "\tp\tTest\n")
		}
	}
	return tree(t, map[string]string{"covers-1.tsv": b.String()})
}

const goMod = "module " + module + "\n\ngo 1.26\n"

// first returns the first requirement of a level that untested.json does not list.
func first(t *testing.T, level spec.Level) string {
	t.Helper()
	excuses, err := spec.Excuses()
	require.NoError(t, err)
	for _, r := range spec.Requirements() {
		if _, excused := excuses[r.ID]; r.Level == level && !excused {
			return r.ID
		}
	}
	t.Fatalf("every %s is excused", level)
	return ""
}

func TestRequirements(t *testing.T) {
	all := len(spec.Requirements())
	must, should := first(t, spec.Must), first(t, spec.Should)
	dangling := "KS-NOSUCHTOPIC" + "-1"
	cases := []struct {
		name     string
		files    map[string]string
		except   []string
		code     int
		untested []string
		dangling []spec.Citation
	}{
		{"all shown", nil, nil, exitOK, nil, nil},
		{"a MUST is not", nil, []string{must}, exitFindings, []string{must}, nil},
		{"a SHOULD is not", nil, []string{should}, exitOK, []string{should}, nil},
		{"one dangles", map[string]string{"wire/a.go": "package a\n// " + dangling + "\n"}, nil, exitFindings, nil,
			[]spec.Citation{{ID: dangling, File: "wire/a.go", Line: 2}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"go.mod": goMod, "deep/er/x": ""}
			for name, text := range c.files {
				files[name] = text
			}
			covers := record(t, c.except...)
			t.Chdir(filepath.Join(tree(t, files), "deep", "er"))
			code, stdout, stderr := call(t, "requirements", "--json", "--covers", covers)
			require.Equal(t, c.code, code, stderr)
			var got coverage
			dec := json.NewDecoder(strings.NewReader(stdout))
			dec.DisallowUnknownFields()
			require.NoError(t, dec.Decode(&got), stdout)
			require.Equal(t, all, got.Total)
			require.Equal(t, all-len(c.except), got.Tested)
			var untested []string
			for _, u := range got.Untested {
				untested = append(untested, u.ID)
				require.Equal(t, spec.Unexcused, u.Reason)
			}
			require.Equal(t, c.untested, untested)
			require.ElementsMatch(t, c.dangling, got.Dangling)
			require.Contains(t, stdout, `"untested": [`, "a list is never null")
			require.Contains(t, stdout, `"dangling": [`, "a list is never null")

			code, stdout, _ = call(t, "requirements", "--covers", covers)
			require.Equal(t, c.code, code)
			for _, id := range untested {
				require.Contains(t, stdout, "untested "+id+" ")
			}
		})
	}
}

func TestRequirementsOutsideACheckout(t *testing.T) {
	covers := record(t)
	t.Chdir(t.TempDir())
	code, stdout, stderr := call(t, "requirements", "--covers", covers)
	require.Equal(t, exitHarness, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "no checkout of "+module)
}

// TestRequirementsRunsTheTests lets the command run go test in small modules that
// carry the name of this one.
func TestRequirementsRunsTheTests(t *testing.T) {
	test := func(body string) string {
		return "package a\n\nimport (\n\t\"os\"\n\t\"path/filepath\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {\n" +
			"\terr := os.WriteFile(filepath.Join(os.Getenv(\"" + spec.CoversVariable + "\"), \"covers-1.tsv\"), []byte(\"KS-SEL-1\\tp\\tTestA\\n\"), 0o644)\n" +
			"\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n" + body + "}\n"
	}
	cases := []struct {
		name   string
		files  map[string]string
		code   int
		stderr string
	}{
		{"they pass", map[string]string{"a/a_test.go": test("")}, exitFindings, "ok  \t" + module + "/a"},
		{"one fails", map[string]string{"a/a_test.go": test("\tt.Fail()\n")}, exitFindings, "some tests failed"},
		{"one does not compile", map[string]string{"a/a_test.go": test(""), "b/b_test.go": "package b\n\nvar x int = \"\"\n"}, exitHarness, "[build failed]"},
		{"there is none", map[string]string{"a/a.go": "package a\n"}, exitHarness, "no record in"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.files["go.mod"] = goMod
			t.Chdir(tree(t, c.files))
			code, stdout, stderr := call(t, "requirements", "--json")
			require.Equal(t, c.code, code, stderr)
			require.Contains(t, stderr, c.stderr)
			if c.code == exitHarness {
				require.Empty(t, stdout)
				return
			}
			var got coverage
			require.NoError(t, json.Unmarshal([]byte(stdout), &got))
			require.Equal(t, 1, got.Tested)
			require.Equal(t, got.Total-1, len(got.Untested))
		})
	}
	t.Run("no go command", func(t *testing.T) {
		t.Chdir(tree(t, map[string]string{"go.mod": goMod}))
		t.Setenv("PATH", t.TempDir())
		code, _, stderr := call(t, "requirements")
		require.Equal(t, exitHarness, code)
		require.Contains(t, stderr, "the tests did not run")
	})
}
