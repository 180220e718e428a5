// Package notrun is how a test says that it did not run on this machine, so that
// green never hides it: a line on standard error and in the log, and, because
// `go test` drops the output of a package that passes, a line in the file that
// KVSETTLE_NOTRUN names. `.ci/run` sets that and counts the lines at its end.
package notrun

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Variable names the file; empty or unset writes none.
const Variable = "KVSETTLE_NOTRUN"

// T is the part of testing.TB that is needed.
type T interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Skip(args ...any)
}

// Skip records that the test did not run and why, and skips it.
func Skip(t T, why string) {
	t.Helper()
	Record(t, why)
	t.Skip("NOT RUN: " + why)
}

// Record records that a part of the test did not run; the test goes on.
func Record(t T, why string) {
	t.Helper()
	line := fmt.Sprintf("NOT RUN: %s.%s: %s", program(), t.Name(), oneLine(why))
	t.Logf("%s", line)
	fmt.Fprintln(os.Stderr, line)
	file := os.Getenv(Variable)
	if file == "" {
		return
	}
	// One write in append mode: the packages of a run share the file.
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		f.Close()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "NOT RUN: %s: %v\n", Variable, err)
	}
}

func program() string { return strings.TrimSuffix(filepath.Base(os.Args[0]), ".test") }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
