package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
)

// fakeTB is a test whose end the test decides.
type fakeTB struct {
	failed, skipped bool
	errors          []string
	cleanups        []func()
}

func (f *fakeTB) Helper() {}
func (f *fakeTB) Errorf(format string, args ...any) {
	f.failed = true
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fakeTB) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Failed() bool     { return f.failed }
func (f *fakeTB) Skipped() bool    { return f.skipped }
func (f *fakeTB) Name() string     { return "TestFake" }

func (f *fakeTB) end() {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
}

func TestCoversRecordsPassedTests(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(spec.CoversVariable, dir)
	passed := &fakeTB{}
	spec.Covers(passed, "KS-SLOT-4", "KS-SLOT-6")
	passed.end()
	require.Empty(t, passed.errors)
	for _, not := range []*fakeTB{{failed: true}, {skipped: true}} {
		spec.Covers(not, "KS-SLOT-1")
		not.end()
	}
	later := &fakeTB{}
	spec.Covers(later, "KS-SLOT-2")
	later.failed = true // fails after Covers was called
	later.end()

	got, err := spec.ReadCovered(dir)
	require.NoError(t, err)
	pkg := "github.com/kvsettle/kvsettle/spec"
	require.Equal(t, []spec.Covered{{"KS-SLOT-4", pkg, "TestFake"}, {"KS-SLOT-6", pkg, "TestFake"}}, got)

	tested, untested, err := spec.Judge(got)
	require.NoError(t, err)
	require.Equal(t, []string{"KS-SLOT-4", "KS-SLOT-6"}, tested)
	require.Len(t, untested, len(spec.Requirements())-2)
	for _, u := range untested {
		require.NotEmpty(t, u.Reason, u.ID)
		require.NotEmpty(t, u.Level, u.ID)
	}
}

func TestCoversFailsOnUnknownIDs(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(spec.CoversVariable, dir)
	f := &fakeTB{}
	spec.Covers(f, id("NOWHERE"))
	f.end()
	require.Len(t, f.errors, 1)
	require.Contains(t, f.errors[0], "not defined")
	_, err := spec.ReadCovered(dir)
	require.ErrorContains(t, err, "no record")
}

func TestCoversWithoutARecordOnlyChecks(t *testing.T) {
	t.Setenv(spec.CoversVariable, "")
	f := &fakeTB{}
	spec.Covers(f, "KS-SLOT-4")
	require.Empty(t, f.cleanups)
	require.Empty(t, f.errors)
}

func TestCoversFailsWhenItCannotRecord(t *testing.T) {
	t.Setenv(spec.CoversVariable, filepath.Join(t.TempDir(), "gone"))
	f := &fakeTB{}
	spec.Covers(f, "KS-SLOT-4")
	f.end()
	require.Len(t, f.errors, 1)
}

func TestReadCoveredRefusesOtherLines(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "covers-x.tsv"), []byte("KS-SLOT-4 spaced\n"), 0o600))
	_, err := spec.ReadCovered(dir)
	require.ErrorContains(t, err, "line 1 is not a record")
}
