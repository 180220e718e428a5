package spec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// CoversVariable names the environment variable that makes Covers keep a record:
// an existing folder, new for each run. The folder's path must differ from run to
// run, because `go test` answers from its cache when the environment is the same,
// and a cached test records nothing.
const CoversVariable = "KVSETTLE_COVERS"

// TB is what Covers needs of a *testing.T, *testing.B, *testing.F or *rapid.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
	Failed() bool
	Name() string
}

// Covered is one line of the record: a test that passed showed a requirement.
type Covered struct {
	ID      string
	Package string
	Test    string
}

// Covers states that the running test shows the requirements ids hold. An id that
// is not defined fails the test. With CoversVariable set, each id is recorded when
// the test has ended without failing or being skipped; a record that cannot be
// written fails the test. Call it at the start of the test, so that its clean-up
// runs after the others.
func Covers(t TB, ids ...string) {
	t.Helper()
	pkg := callerPackage()
	good := make([]string, 0, len(ids))
	for _, id := range ids {
		if _, ok := Lookup(id); !ok {
			t.Errorf("spec.Covers: %s is not defined in any chapter", id)
			continue
		}
		good = append(good, id)
	}
	dir := os.Getenv(CoversVariable)
	if dir == "" || len(good) == 0 {
		return
	}
	t.Cleanup(func() {
		if s, ok := t.(interface{ Skipped() bool }); t.Failed() || ok && s.Skipped() {
			return
		}
		if err := record(dir, pkg, t.Name(), good); err != nil {
			t.Errorf("spec.Covers: %v", err)
		}
	})
}

func callerPackage() string {
	pc, _, _, ok := runtime.Caller(2)
	if !ok {
		return ""
	}
	name := runtime.FuncForPC(pc).Name()
	slash := strings.LastIndexByte(name, '/')
	if dot := strings.IndexByte(name[slash+1:], '.'); dot >= 0 {
		name = name[:slash+1+dot]
	}
	return strings.TrimSuffix(name, "_test")
}

var recorder struct {
	sync.Mutex
	files map[string]*os.File
}

// record appends to this process's own file in dir, so that the packages that go
// test runs side by side never share one.
func record(dir, pkg, test string, ids []string) error {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "%s\t%s\t%s\n", id, pkg, test)
	}
	recorder.Lock()
	defer recorder.Unlock()
	f := recorder.files[dir]
	if f == nil {
		var err error
		if f, err = os.CreateTemp(dir, "covers-*.tsv"); err != nil {
			return err
		}
		if recorder.files == nil {
			recorder.files = make(map[string]*os.File)
		}
		recorder.files[dir] = f
	}
	_, err := f.WriteString(b.String())
	return err
}

// ReadCovered reads every record in dir. It fails on a line that Covers did not
// write and on a folder without any record.
func ReadCovered(dir string) ([]Covered, error) {
	names, err := filepath.Glob(filepath.Join(dir, "covers-*.tsv"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no record in %s: run go test with %s set to it", dir, CoversVariable)
	}
	slices.Sort(names)
	var out []Covered
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		list, err := parseCovered(f)
		err = errors.Join(err, f.Close())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

func parseCovered(r io.Reader) ([]Covered, error) {
	var out []Covered
	s := bufio.NewScanner(r)
	for s.Scan() {
		p := strings.Split(s.Text(), "\t")
		if len(p) != 3 || Topic(p[0]) == "" {
			return nil, fmt.Errorf("line %d is not a record: %.80q", len(out)+1, s.Text())
		}
		out = append(out, Covered{ID: p[0], Package: p[1], Test: p[2]})
	}
	return out, s.Err()
}
