// Package wiretest holds what the tests of every codec of this room share: cuts,
// bit flips, seeds of fuzz targets, and the bound on allocated bytes.
package wiretest

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire"
)

var update = flag.Bool("update", false, "write the seeds of the fuzz targets anew")

var (
	reasonForm = regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)*$`)
	reqForm    = regexp.MustCompile(`^KS-[A-Z0-9]+-[0-9]+$`)
)

// Refused asserts that err is a complete *wire.Error about an input of n bytes
// and returns it.
func Refused(t testing.TB, err error, n int) *wire.Error {
	t.Helper()
	var e *wire.Error
	require.Error(t, err)
	require.True(t, errors.As(err, &e), "%T is no *wire.Error: %v", err, err)
	require.Regexp(t, reasonForm, string(e.Reason))
	require.Regexp(t, reqForm, e.Req, "%v", err)
	require.NotEmpty(t, e.What)
	require.GreaterOrEqual(t, e.Offset, -1)
	require.LessOrEqual(t, e.Offset, n, "%v", err)
	require.ErrorIs(t, err, &wire.Error{Reason: e.Reason})
	return e
}

// Cuts asserts that decode refuses every proper prefix of msg and msg with one
// more byte.
func Cuts(t testing.TB, msg []byte, decode func([]byte) error) {
	t.Helper()
	require.NoError(t, decode(msg))
	for n := range msg {
		e := Refused(t, decode(msg[:n:n]), n)
		require.GreaterOrEqual(t, e.Offset, 0, "cut at %d: %v", n, e)
	}
	Refused(t, decode(append(msg[:len(msg):len(msg)], 0)), len(msg)+1)
}

// Flips changes every single bit of msg in turn and returns, for each change that
// decode accepts, the index of the byte. What decode refuses it must refuse with
// a complete error.
func Flips(t testing.TB, msg []byte, decode func([]byte) error) (accepted []int) {
	t.Helper()
	b := append([]byte(nil), msg...)
	for i := range b {
		for bit := range 8 {
			b[i] ^= 1 << bit
			if err := decode(b); err == nil {
				accepted = append(accepted, i)
			} else {
				require.GreaterOrEqual(t, Refused(t, err, len(b)).Offset, 0, "%v", err)
			}
			b[i] ^= 1 << bit
		}
	}
	return accepted
}

// Bound is how many bytes a decoder may allocate on an input of n bytes.
func Bound(n int) uint64 { return 3*uint64(n) + 16<<10 }

// Allocated returns how many bytes f allocates. Other goroutines may add to one
// measurement, so the smallest of a few counts.
func Allocated(f func()) uint64 {
	best := ^uint64(0)
	var before, after runtime.MemStats
	for range 4 {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		best = min(best, after.TotalAlloc-before.TotalAlloc)
	}
	return best
}

// Bounded asserts the bound for every input and returns the largest ratio of
// allocated to allowed bytes in percent.
func Bounded(t testing.TB, inputs [][]byte, decode func([]byte) error) int {
	t.Helper()
	worst := 0
	for _, b := range inputs {
		got := Allocated(func() { _ = decode(b) })
		require.LessOrEqual(t, got, Bound(len(b)), "%d input bytes", len(b))
		worst = max(worst, int(100*got/Bound(len(b))))
	}
	return worst
}

// Seeds asserts that testdata/fuzz/<target> holds exactly want, in order of
// name, and writes them first when the flag -update is given. It returns their
// number.
func Seeds(t testing.TB, target string, want [][]byte) int {
	t.Helper()
	dir := filepath.Join("testdata", "fuzz", target)
	if *update {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for i, b := range want {
			name := filepath.Join(dir, "seed-"+pad(i))
			require.NoError(t, os.WriteFile(name, []byte("go test fuzz v1\n[]byte("+strconv.Quote(string(b))+")\n"), 0o644))
		}
	}
	got := Corpus(t, target)
	require.Len(t, got, len(want), target)
	for i := range want {
		require.True(t, bytes.Equal(want[i], got[i]), "%s: seed %d is not as generated; run with -update", target, i)
	}
	return len(got)
}

func pad(i int) string {
	s := strconv.Itoa(i)
	return strings.Repeat("0", 3-len(s)) + s
}

// Corpus reads the checked-in seeds of a target, in order of name.
func Corpus(t testing.TB, target string) [][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
	require.NoError(t, err)
	var all [][]byte
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		line := strings.TrimSuffix(strings.TrimPrefix(string(raw), "go test fuzz v1\n"), "\n")
		line = strings.TrimSuffix(strings.TrimPrefix(line, "[]byte("), ")")
		if s, ok := strings.CutPrefix(line, "string("); ok {
			line = s
		}
		text, err := strconv.Unquote(line)
		require.NoError(t, err, name)
		all = append(all, []byte(text))
	}
	return all
}

// Broken returns a set of damaged forms of msg for seeds: a cut, a longer one, and
// some changed bytes.
func Broken(msg []byte) [][]byte {
	out := [][]byte{append([]byte(nil), msg[:len(msg)/2]...), append(append([]byte(nil), msg...), 0xFF)}
	for _, at := range []int{0, len(msg) / 3, len(msg) - 1} {
		b := append([]byte(nil), msg...)
		if len(b) > 0 {
			b[at] ^= 0x81
			out = append(out, b)
		}
	}
	return out
}
