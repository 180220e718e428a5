package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
)

// process is one incarnation of one side.
type process struct {
	role string
	inc  int
	cmd  *exec.Cmd
	in   *child.Lines
	name string
	up   bool
	gone bool
	bye  *child.Report
	// killed means that the driver did it.
	killed  bool
	stopped bool
}

// report is a line of a child, or its end (exit set).
type report struct {
	from *process
	child.Report
	exit bool
	err  error
}

// launch starts one child. Its reports and finally its end go to out.
func launch(p *plan, role string, inc int, out chan<- report) (*process, error) {
	cmd := exec.Command(p.Exe, "child")
	cmd.Stderr = p.Log
	cmd.Env = append(os.Environ(), "GOTRACEBACK=single")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	pr := &process{role: role, inc: inc, cmd: cmd, in: child.NewLines(stdin)}
	pr.in.Send(p.start(role, inc))
	go func() {
		pr.read(stdout, out)
		err := cmd.Wait()
		out <- report{from: pr, exit: true, err: err}
	}()
	return pr, nil
}

func (pr *process) read(r io.Reader, out chan<- report) {
	br := bufio.NewReaderSize(r, 1<<16)
	dec := json.NewDecoder(br)
	for {
		var rep child.Report
		if err := dec.Decode(&rep); err != nil {
			// The rest is of no use, but must be read for the process to end.
			_, _ = io.Copy(io.Discard, dec.Buffered())
			_, _ = io.Copy(io.Discard, br)
			return
		}
		out <- report{from: pr, Report: rep}
	}
}

func (pr *process) send(c child.Command) { pr.in.Send(c) }

func (pr *process) kill() {
	pr.killed = true
	_ = pr.cmd.Process.Kill()
}

func (pr *process) signal(s syscall.Signal) { _ = pr.cmd.Process.Signal(s) }

// usage returns CPU seconds and peak resident bytes of an ended process.
func (pr *process) usage() (cpu time.Duration, peak int64) {
	st := pr.cmd.ProcessState
	if st == nil {
		return 0, 0
	}
	cpu = st.UserTime() + st.SystemTime()
	if ru, ok := st.SysUsage().(*syscall.Rusage); ok {
		peak = ru.Maxrss * maxrssUnit
	}
	return cpu, peak
}
