package child

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// netDevices is UCX's variable with the interfaces that it listens on.
const netDevices = "UCX_NET_DEVICES"

// Process is a running child as its driver sees it.
type Process struct {
	cmd *exec.Cmd
	in  *Lines
}

// Launch starts exe with the argument "child" and gives it st. Each report goes to
// report, from one goroutine, and after the last one exit is called with what
// Wait said. The child's log goes to log, which must bear concurrent use when
// several children share it; nil discards.
func Launch(exe string, st Start, log io.Writer, report func(Report), exit func(error)) (*Process, error) {
	cmd := exec.Command(exe, "child")
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "GOTRACEBACK=single")
	if _, set := os.LookupEnv(netDevices); !set && (st.Transport == "nixl" || st.Role == RoleRaw) {
		// All of a driver's children are on this host (KS-SEC-2).
		cmd.Env = append(cmd.Env, netDevices+"=lo")
	}
	// A group of its own: what a terminal or a supervisor signals to the driver's group
	// is the driver's to handle, which then ends its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", st.Role, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", st.Role, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", st.Role, err)
	}
	p := &Process{cmd: cmd, in: NewLines(stdin)}
	p.in.Send(st)
	go func() {
		readReports(stdout, report)
		err := cmd.Wait()
		p.in.Close()
		exit(err)
	}()
	return p, nil
}

func readReports(r io.Reader, report func(Report)) {
	br := bufio.NewReaderSize(r, 1<<16)
	for dec := json.NewDecoder(br); ; {
		var rep Report
		if dec.Decode(&rep) != nil {
			// The rest is of no use, but must be read for the process to end.
			_, _ = io.Copy(io.Discard, br)
			return
		}
		report(rep)
	}
}

// Send queues one command. It never blocks, and does nothing once the child is gone.
func (p *Process) Send(c Command) { p.in.Send(c) }

// Signal sends a signal to the child; an ended one gets none.
func (p *Process) Signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Ended is the state of a child whose exit was reported, else nil.
func (p *Process) Ended() *os.ProcessState { return p.cmd.ProcessState }

// Kill ends the child at once. Its exit is still reported.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// probe is the command of a process that loads metadata before this one does: this
// program in the same role.
func probe() *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	cmd := exec.Command(exe, "child")
	// What is signalled to this process's group is not meant for it; it ends with its input.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}
