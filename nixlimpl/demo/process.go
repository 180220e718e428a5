package demo

import (
	"syscall"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
)

// process is one incarnation of one side.
type process struct {
	role  string
	inc   int
	child *child.Process
	name  string
	up    bool
	gone  bool
	bye   *child.Report
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
	pr := &process{role: role, inc: inc}
	started := make(chan struct{})
	c, err := child.Launch(p.Exe, p.start(role, inc), p.Log,
		func(rep child.Report) { <-started; out <- report{from: pr, Report: rep} },
		func(err error) { <-started; out <- report{from: pr, exit: true, err: err} })
	if err != nil {
		return nil, err
	}
	pr.child = c
	close(started)
	return pr, nil
}

func (pr *process) send(c child.Command) { pr.child.Send(c) }

func (pr *process) kill() {
	pr.killed = true
	pr.child.Kill()
}

func (pr *process) signal(s syscall.Signal) { pr.child.Signal(s) }

// usage returns CPU seconds and peak resident bytes of an ended process.
func (pr *process) usage() (cpu time.Duration, peak int64) {
	st := pr.child.Ended()
	if st == nil {
		return 0, 0
	}
	cpu = st.UserTime() + st.SystemTime()
	if ru, ok := st.SysUsage().(*syscall.Rusage); ok {
		peak = ru.Maxrss * maxrssUnit
	}
	return cpu, peak
}
