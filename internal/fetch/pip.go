package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kvsettle/kvsettle/internal/pins"
)

// ErrNoPip says that this machine has no pip to fetch with.
var ErrNoPip = errors.New("no-pip")

// PipError says that pip could not fetch an artifact.
type PipError struct {
	// Artifact is what was asked for.
	Artifact pins.Artifact
	// Output is the end of what pip said.
	Output string
	// Err is how pip ended.
	Err error
}

// Error names the artifact and what pip said last.
func (e *PipError) Error() string {
	return fmt.Sprintf("fetch: pip could not bring %s==%s: %v: %s", e.Artifact.Name, e.Artifact.Version, e.Err, e.Output)
}

// Unwrap returns how pip ended.
func (e *PipError) Unwrap() error { return e.Err }

// pip returns the command line that starts pip.
func pip() ([]string, error) {
	if p := os.Getenv(PipVariable); p != "" {
		return strings.Fields(p), nil
	}
	for _, c := range [][]string{{"pip3"}, {"pip"}, {"python3", "-m", "pip"}} {
		if p, err := exec.LookPath(c[0]); err == nil {
			return append([]string{p}, c[1:]...), nil
		}
	}
	return nil, fmt.Errorf("fetch: %w: neither pip3, pip nor python3 is on PATH; install one or name it with %s", ErrNoPip, PipVariable)
}

// download puts the wheel of a into folder dir and returns its verified path.
func download(ctx context.Context, a pins.Artifact, dir string) (string, error) {
	args, err := pip()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	req := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(req, []byte(a.Requirement()+"\n"), 0o644); err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	args = append(args, a.PipArgs(dir, req)...)
	args = append(args, "--disable-pip-version-check", "--no-input", "--progress-bar", "off")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", &PipError{Artifact: a, Output: tail(out), Err: err}
	}
	wheel := filepath.Join(dir, a.File)
	if err := a.Verify(wheel); err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	return wheel, nil
}

// tail is the last lines of what a command said, in one line.
func tail(out []byte) string {
	const lines, most = 4, 600
	parts := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	parts = parts[max(0, len(parts)-lines):]
	text := string(bytes.Join(parts, []byte(" | ")))
	return text[max(0, len(text)-most):]
}
