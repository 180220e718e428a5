package tlc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Job is one run of TLC.
type Job struct {
	// Dir holds the modules; Module is the root module's name without extension;
	// Config is the configuration file, absolute or relative to Dir.
	Dir, Module, Config string
	// Dump, if set, is the file that the state graph is written to (dot with action
	// labels).
	Dump string
	// Workers is the number of TLC's workers; 0 means 2.
	Workers int
	// HeapMB bounds Java's heap; 0 means 3072.
	HeapMB int
	// Deadlock checks for deadlock. Models that settle on purpose leave it off.
	Deadlock bool
	// Progress gets the counts every now and then.
	Progress func(generated, distinct int64)
}

// Verdict is how a run ended.
type Verdict string

// The verdicts.
const (
	OK       Verdict = "ok"
	Violated Verdict = "violated"
)

// Outcome of a run that TLC brought to an end.
type Outcome struct {
	Verdict Verdict
	// Property is the name of the violated invariant or property, "Deadlock", or
	// empty.
	Property string
	// Trace is TLC's text of the counterexample.
	Trace     string
	Generated int64
	Distinct  int64
	Depth     int
	Seconds   float64
}

var (
	reCounts    = regexp.MustCompile(`^([\d,]+) states generated, ([\d,]+) distinct states found`)
	reProgress  = regexp.MustCompile(`^Progress\(\d+\).*: ([\d,]+) states generated.*?, ([\d,]+) distinct states found`)
	reDepth     = regexp.MustCompile(`^The depth of the complete state graph search is (\d+)`)
	reInvariant = regexp.MustCompile(`^Error: Invariant (\S+) is violated`)
	reTemporal  = regexp.MustCompile(`^Error: Temporal properties were violated|^Error: Property (\S+) is violated|^Error: Action property (\S+) is violated`)
)

// machine chooses Java's settings: a run of a few seconds is over before the second
// compiler and parallel collection have paid for themselves.
func machine(j Job) []string {
	if j.Workers == 1 {
		return []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	}
	return []string{"-XX:+UseParallelGC"}
}

// Run runs TLC. An error wraps ErrUnusable: the tool, the module or the
// configuration could not be used; it carries TLC's own lines with file and line
// number. Ending ctx ends TLC too.
func Run(ctx context.Context, t Tools, j Job) (Outcome, error) {
	if j.Workers == 0 {
		j.Workers = 2
	}
	if j.HeapMB == 0 {
		j.HeapMB = 3072
	}
	meta, err := os.MkdirTemp("", "kvsettle-tlc-")
	if err != nil {
		return Outcome{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	defer os.RemoveAll(meta)
	args := append(machine(j), fmt.Sprintf("-Xmx%dm", j.HeapMB), "-cp", t.Jar, "tlc2.TLC",
		"-workers", strconv.Itoa(j.Workers), "-metadir", meta, "-config", j.Config)
	if j.Dump != "" {
		args = append(args, "-dump", "dot,actionlabels", j.Dump)
	}
	if !j.Deadlock {
		args = append(args, "-deadlock")
	}
	args = append(args, j.Module)
	cmd := exec.CommandContext(ctx, t.Java, args...)
	cmd.Dir = j.Dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Outcome{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	cmd.Stderr = cmd.Stdout
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return Outcome{}, fmt.Errorf("%w: starting TLC: %w", ErrUnusable, err)
	}
	o, lines := read(out, j.Progress)
	err = cmd.Wait()
	o.Seconds = time.Since(begin).Seconds()
	if ctx.Err() != nil {
		return o, fmt.Errorf("%w: TLC was stopped after %d distinct states: %w", ErrUnusable, o.Distinct, ctx.Err())
	}
	code := cmd.ProcessState.ExitCode()
	switch {
	case err == nil:
		o.Verdict = OK
		return o, nil
	case code >= 10 && code <= 13:
		// 10 assumption, 11 deadlock, 12 safety, 13 liveness.
		o.Verdict = Violated
		if o.Property == "" {
			o.Property = map[int]string{10: "Assumption", 11: "Deadlock", 12: "Safety", 13: "Liveness"}[code]
		}
		return o, nil
	}
	return o, fmt.Errorf("%w: TLC on %s with %s ended with code %d: %s", ErrUnusable,
		filepath.Join(j.Dir, j.Module+".tla"), j.Config, code, strings.Join(lines, " | "))
}

// read takes TLC's output apart. lines are those that explain an error.
func read(r io.Reader, progress func(int64, int64)) (o Outcome, lines []string) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), 1<<24)
	var trace strings.Builder
	inTrace, keep := false, 0
	for sc.Scan() {
		line := sc.Text()
		if m := reCounts.FindStringSubmatch(line); m != nil {
			o.Generated, o.Distinct = number(m[1]), number(m[2])
			inTrace = false
		} else if m := reProgress.FindStringSubmatch(line); m != nil {
			o.Generated, o.Distinct = number(m[1]), number(m[2])
			if progress != nil {
				progress(o.Generated, o.Distinct)
			}
		} else if m := reDepth.FindStringSubmatch(line); m != nil {
			o.Depth, _ = strconv.Atoi(m[1])
		}
		switch {
		case strings.HasPrefix(line, "Error: The behavior up to this point is"), strings.HasPrefix(line, "Error: The following behavior constitutes a counter-example"):
			inTrace = true
		case strings.HasPrefix(line, "Finished in"), strings.HasPrefix(line, "Progress("):
			inTrace = false
		case inTrace:
			trace.WriteString(line)
			trace.WriteByte('\n')
		}
		if m := reInvariant.FindStringSubmatch(line); m != nil {
			o.Property = m[1]
		} else if m := reTemporal.FindStringSubmatch(line); m != nil && o.Property == "" {
			o.Property = "Liveness"
			for _, name := range m[1:] {
				if name != "" {
					o.Property = name
				}
			}
		} else if strings.HasPrefix(line, "Error: Deadlock reached") {
			o.Property = "Deadlock"
		}
		if strings.Contains(line, "rror") || strings.Contains(line, "xception") || strings.HasPrefix(line, "***") ||
			strings.Contains(line, "Unknown") || strings.Contains(line, "line ") && strings.Contains(line, "column") {
			keep = 3
		}
		if keep > 0 && len(lines) < 24 && strings.TrimSpace(line) != "" && !inTrace {
			lines = append(lines, strings.TrimSpace(line))
			keep--
		}
	}
	o.Trace = trace.String()
	return o, lines
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
	return n
}
