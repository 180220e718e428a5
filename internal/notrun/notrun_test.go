package notrun

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is a test that only remembers.
type recorder struct{ logged, skipped string }

func (*recorder) Helper()                   {}
func (*recorder) Name() string              { return "TestThing" }
func (r *recorder) Logf(f string, a ...any) { r.logged = fmt.Sprintf(f, a...) }
func (r *recorder) Skip(a ...any)           { r.skipped = fmt.Sprint(a...) }

func TestEveryOneLeavesALine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notrun")
	t.Setenv(Variable, file)
	var r recorder
	Skip(&r, "needs\nroot")
	require.Equal(t, "NOT RUN: needs\nroot", r.skipped)
	Record(&r, "no network")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "NOT RUN: notrun.TestThing: needs root\nNOT RUN: notrun.TestThing: no network\n", string(b))
	require.Contains(t, r.logged, "no network")
}
