package fetch

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/internal/pins"
)

// wheel builds an archive and the pin that fits it.
func wheel(t testing.TB, files map[string]string) (pins.Artifact, []byte) {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, content := range files {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	sum := sha256.Sum256(buf.Bytes())
	return pins.Artifact{Name: "thing", Version: "1.2", File: "thing-1.2.whl", SHA256: hex.EncodeToString(sum[:]),
		Size: int64(buf.Len()), Entry: pins.Member{Path: "thing/run", Executable: true}}, buf.Bytes()
}

// fakePip is a pip that copies a file to --dest and counts its runs.
func fakePip(t testing.TB, name string, content []byte, script string) (runs func() int) {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	require.NoError(t, os.WriteFile(src, content, 0o644))
	if script == "" {
		script = `while [ "$1" != --dest ]; do shift; done; cp ` + src + ` "$2/` + name + `"; sleep 0.2`
	}
	exe := filepath.Join(dir, "pip")
	require.NoError(t, os.WriteFile(exe, []byte("#!/bin/sh\necho run >>"+dir+"/runs\n"+script+"\n"), 0o755))
	t.Setenv(PipVariable, exe)
	t.Setenv(CacheVariable, t.TempDir())
	return func() int {
		b, _ := os.ReadFile(filepath.Join(dir, "runs"))
		return strings.Count(string(b), "run")
	}
}

func TestGetKeepsOnlyWhatIsWanted(t *testing.T) {
	a, content := wheel(t, map[string]string{"thing/run": "#!", "thing/lib/a.txt": "a", "other/big": "b"})
	runs := fakePip(t, a.File, content, "")
	w := Want{Artifact: a, Keep: []string{"thing/lib/*"}}
	_, err := Have(w)
	require.ErrorIs(t, err, ErrNotCached)
	var said []string
	dir, err := Get(context.Background(), w, func(s string) { said = append(said, s) })
	require.NoError(t, err)
	require.Len(t, said, 1)
	require.FileExists(t, filepath.Join(dir, "thing/lib/a.txt"))
	require.NoFileExists(t, filepath.Join(dir, "other/big"))
	st, err := os.Stat(w.Entry(dir))
	require.NoError(t, err)
	require.NotZero(t, st.Mode()&0o100, "the entry is executable")
	require.NoError(t, Check(dir))
	again, err := Get(context.Background(), w, nil)
	require.NoError(t, err)
	require.Equal(t, dir, again)
	require.Equal(t, 1, runs())
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*.part-*"))
	require.NoError(t, err)
	require.Empty(t, left, "nothing half done stays")
}

func TestParallelGetFetchesOnce(t *testing.T) {
	a, content := wheel(t, map[string]string{"thing/run": "#!"})
	runs := fakePip(t, a.File, content, "")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = Get(context.Background(), Want{Artifact: a}, nil) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, runs())
}

func TestGetRefuses(t *testing.T) {
	a, content := wheel(t, map[string]string{"thing/run": "#!"})
	for _, c := range []struct {
		name   string
		spoil  func(a *pins.Artifact)
		wheel  []byte
		script string
		want   error
		text   string
	}{
		{name: "another hash", spoil: func(a *pins.Artifact) { a.SHA256 = strings.Repeat("0", 64) }, want: pins.ErrHash, text: "fetch it again"},
		{name: "another size", wheel: content[:len(content)-1], want: pins.ErrSize},
		{name: "pip fails", script: "echo no such version >&2; exit 1", text: "no such version"},
		{name: "pip brings nothing", script: "exit 0", want: os.ErrNotExist},
		{name: "no entry", spoil: func(a *pins.Artifact) { a.Entry.Path = "thing/walk" }, text: `no member "thing/walk"`},
		{name: "entry has another hash", spoil: func(a *pins.Artifact) { a.Entry.SHA256 = strings.Repeat("1", 64) }, text: "thing/run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := a, content
			if c.spoil != nil {
				c.spoil(&a)
			}
			if c.wheel != nil {
				b = c.wheel
			}
			fakePip(t, a.File, b, c.script)
			_, err := Get(context.Background(), Want{Artifact: a}, nil)
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			require.Contains(t, err.Error(), c.text)
			_, err = Have(Want{Artifact: a})
			require.ErrorIs(t, err, ErrNotCached, "nothing unverified stays in the cache")
		})
	}
}

func TestNoPip(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(PipVariable, "")
	t.Setenv(CacheVariable, t.TempDir())
	a, _ := wheel(t, map[string]string{"thing/run": "#!"})
	_, err := Get(context.Background(), Want{Artifact: a}, nil)
	require.ErrorIs(t, err, ErrNoPip)
	require.Contains(t, err.Error(), PipVariable)
}

func TestGetIsBounded(t *testing.T) {
	a, content := wheel(t, map[string]string{"thing/run": "#!"})
	fakePip(t, a.File, content, "exec sleep 60")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := Get(ctx, Want{Artifact: a}, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(begun), 10*time.Second)
}

func TestArchiveCannotEscape(t *testing.T) {
	a, content := wheel(t, map[string]string{"thing/run": "#!", "../out": "x"})
	fakePip(t, a.File, content, "")
	_, err := Get(context.Background(), Want{Artifact: a}, nil)
	require.ErrorContains(t, err, `"../out"`)
}

func TestCheckFindsAChange(t *testing.T) {
	a, content := wheel(t, map[string]string{"thing/run": "#!", "thing/a": "a"})
	fakePip(t, a.File, content, "")
	dir, err := Get(context.Background(), Want{Artifact: a}, nil)
	require.NoError(t, err)
	file := filepath.Join(dir, "thing/a")
	require.NoError(t, os.WriteFile(file, []byte("b"), 0o644))
	err = Check(dir)
	require.ErrorIs(t, err, pins.ErrHash)
	require.Contains(t, err.Error(), file)
	require.NoError(t, os.Remove(file))
	require.ErrorContains(t, Check(dir), "no file")
}

func ExampleHave() {
	os.Setenv(CacheVariable, filepath.Join(os.TempDir(), "kvsettle-example-empty"))
	defer os.Unsetenv(CacheVariable)
	a, _ := pins.ByName("nixl-cu13")
	_, err := Have(Want{Artifact: a})
	fmt.Println(err != nil)
	// Output: true
}

func ExampleGet() {
	// The address of a package is not here: the ordinary client finds it by name, and
	// what it brings must have the pinned hash.
	os.Setenv(CacheVariable, filepath.Join(os.TempDir(), "kvsettle-example-empty"))
	defer os.Unsetenv(CacheVariable)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a, _ := pins.ByName("nixl-cu13")
	_, err := Get(ctx, Want{Artifact: a}, nil)
	fmt.Println(errors.Is(err, context.Canceled))
	// Output: true
}

// What was changed is fetched again, and the list of hashes is itself pinned.
func TestRenew(t *testing.T) {
	a, content := wheel(t, map[string]string{"thing/run": "#!", "thing/a": "a"})
	runs := fakePip(t, a.File, content, "")
	w := Want{Artifact: a}
	dir, err := Renew(context.Background(), w, nil)
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(dir, manifestName))
	require.NoError(t, err)
	w.Manifest = fmt.Sprintf("%x", sha256.Sum256(sums))
	for name, spoil := range map[string]func() error{
		"nothing":        func() error { return nil },
		"a file":         func() error { return os.WriteFile(filepath.Join(dir, "thing/a"), []byte("b"), 0o644) },
		"a missing file": func() error { return os.Remove(filepath.Join(dir, "thing/run")) },
		"an empty list":  func() error { return os.WriteFile(filepath.Join(dir, manifestName), nil, 0o644) },
		"a shorter list": func() error {
			line, _, _ := strings.Cut(string(sums), "\n")
			return os.WriteFile(filepath.Join(dir, manifestName), []byte(line+"\n"), 0o644)
		},
	} {
		before := runs()
		require.NoError(t, spoil())
		changed := w.Check(dir)
		if name == "nothing" {
			require.NoError(t, changed)
		} else {
			require.ErrorIs(t, changed, pins.ErrHash, name)
		}
		again, err := Renew(context.Background(), w, nil)
		require.NoError(t, err, name)
		require.Equal(t, dir, again)
		require.NoError(t, w.Check(dir), name)
		require.Equal(t, changed != nil, runs() > before, name)
	}
}
