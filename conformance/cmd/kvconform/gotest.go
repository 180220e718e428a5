package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kvsettle/kvsettle/spec"
)

const module = "github.com/kvsettle/kvsettle"

// findRoot returns the folder of this module, at or above the current one.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), "module "+module+"\n") {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no checkout of %s at or above the current folder", module)
		}
		dir = up
	}
}

// runTests runs every test of the module with the record going to dir. failed
// says that tests failed; an error, that some did not run at all. The folder is
// new for each run, so that no cached result stands in for a record.
func (c *command) runTests(root, dir string) (failed bool, err error) {
	cmd := exec.CommandContext(c.ctx, "go", "test", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), spec.CoversVariable+"="+dir)
	// A test may leave a process behind that holds the output open.
	cmd.WaitDelay = 30 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	fmt.Fprintln(c.stderr, "kvconform: go test ./... in", root)
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	broken := make(chan string, 1)
	go func() { broken <- c.watch(out) }()
	err = cmd.Run()
	in.Close()
	notRun := <-broken
	var exit *exec.ExitError
	switch {
	case c.ctx.Err() != nil:
		return false, c.ctx.Err()
	case err != nil && !errors.As(err, &exit):
		return false, err
	case notRun != "":
		return false, errors.New(notRun)
	}
	return err != nil, nil
}

// watch passes on the output of go test and returns the first line about a
// package whose tests did not run.
func (c *command) watch(out io.Reader) (notRun string) {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		io.WriteString(c.stderr, line)
		for _, mark := range []string{"[build failed]", "[setup failed]"} {
			if notRun == "" && strings.HasSuffix(strings.TrimSpace(line), mark) {
				notRun = strings.TrimSpace(line)
			}
		}
		if err != nil {
			return notRun
		}
	}
}
