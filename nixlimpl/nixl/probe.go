package nixl

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"
)

// RoleProbe is the role in the first line that a probe process reads.
const RoleProbe = "probe"

// probeStart is that line.
type probeStart struct {
	Role    string            `json:"role"`
	Library string            `json:"library"`
	Backend string            `json:"backend"`
	Params  map[string]string `json:"params,omitempty"`
	// Watch bounds one piece of work: a probe that hangs ends itself.
	Watch time.Duration `json:"watch"`
}

// probeAnswer is one line of a probe.
type probeAnswer struct {
	OK  bool   `json:"ok"`
	Why string `json:"why,omitempty"`
}

// The pace of a probe.
const (
	// startPause is the least time between two starts of a probe process, so that
	// metadata that ends it costs its sender's victims little.
	startPause = 200 * time.Millisecond
	// startBound is how long one start may take before it counts as hanging.
	startBound = 30 * time.Second
)

// prober loads metadata in another process before this one does. One piece at a
// time: whoever has the turn uses the process.
type prober struct {
	command func() *exec.Cmd
	first   []byte
	log     *slog.Logger
	turn    chan struct{}
	quit    <-chan struct{}

	// Of the turn's holder.
	next time.Time // no start before

	mu     sync.Mutex // child is also ended by close
	child  *probeChild
	closed bool
	starts int
}

// probeChild is one probe process.
type probeChild struct {
	cmd   *exec.Cmd
	in    *os.File
	out   *os.File
	lines *bufio.Reader
	begun time.Time
	ready bool
	used  bool // it has loaded something already
}

func newProber(cfg Config, library string, quit <-chan struct{}) (*prober, error) {
	first, err := json.Marshal(probeStart{Role: RoleProbe, Library: library, Backend: cfg.Backend, Params: cfg.BackendParams,
		Watch: startBound})
	if err != nil {
		return nil, err
	}
	p := &prober{command: cfg.Probe, first: append(first, '\n'), log: cfg.Logger, turn: make(chan struct{}, 1), quit: quit}
	// Ready before the first peer comes, without holding up anybody.
	if p.take(time.Time{}) == nil {
		err = p.start()
		p.give()
	}
	return p, err
}

var (
	errProbeLate   = errors.New("the probe process has not answered in time")
	errProbeBusy   = errors.New("the probe process is busy with the metadata of others")
	errProbeClosed = errors.New("the agent is closing")
)

func (p *prober) take(until time.Time) error {
	var bound <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		bound = t.C
	}
	select {
	case <-p.quit:
		return errProbeClosed
	default:
	}
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-p.quit:
		return errProbeClosed
	case <-bound:
		return errProbeBusy
	}
}

func (p *prober) give() { <-p.turn }

// judge says whether blob was loaded elsewhere without harm. An *probeRefusal says
// that the blob is to blame, another error that nobody knows.
func (p *prober) judge(blob []byte, until time.Time) error {
	if err := p.take(until); err != nil {
		return err
	}
	defer p.give()
	for {
		c, err := p.ready(until)
		if err != nil {
			return err
		}
		fresh := !c.used
		c.used = true
		got, err := c.ask(blob, until)
		switch {
		case err == nil && got.OK:
			return nil
		case err == nil:
			return &probeRefusal{got.Why}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.end()
			return errProbeLate
		}
		how := p.end()
		select {
		case <-p.quit:
			return errProbeClosed
		default:
		}
		if fresh {
			p.log.Warn("metadata ended the probe process", "how", how, "requirement", reqMetadata)
			return &probeRefusal{"loading it ended the probe process: " + how}
		}
		// Perhaps something that was loaded before has done it: a new process tells.
	}
}

// probeRefusal says that metadata must not be loaded.
type probeRefusal struct{ why string }

func (r *probeRefusal) Error() string { return r.why }

// ready returns a process that can be asked.
func (p *prober) ready(until time.Time) (*probeChild, error) {
	for range 3 {
		p.mu.Lock()
		c := p.child
		p.mu.Unlock()
		if c == nil {
			if wait := time.Until(p.next); wait > 0 {
				if time.Now().Add(wait).After(until) {
					return nil, errProbeBusy
				}
				select {
				case <-time.After(wait):
				case <-p.quit:
					return nil, errProbeClosed
				}
			}
			if err := p.start(); err != nil {
				return nil, err
			}
			continue
		}
		if c.ready {
			return c, nil
		}
		_ = c.out.SetReadDeadline(until)
		got, err := c.line()
		if err == nil && got.OK {
			c.ready = true
			return c, nil
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// It stays: the machine may be slow, and the next peer finds it ready.
			if time.Since(c.begun) > startBound {
				p.end()
			}
			return nil, errProbeLate
		}
		if how := p.end(); err != nil {
			got.Why = how
		}
		p.log.Error("the probe process does not start", "err", got.Why)
		return nil, fmt.Errorf("the probe process does not start: %s", got.Why)
	}
	return nil, errProbeLate
}

// start begins a process; it is ready when its first line comes.
func (p *prober) start() error {
	p.next = time.Now().Add(startPause)
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return err
	}
	cmd := p.command()
	cmd.Stdin = inR
	// The library prints on standard output and error; the answers go where it does not.
	cmd.Stdout, cmd.Stderr = nil, nil
	cmd.ExtraFiles = []*os.File{outW}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "GOTRACEBACK=none")
	c := &probeChild{cmd: cmd, in: inW, out: outR, lines: bufio.NewReaderSize(outR, 4096), begun: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err = errProbeClosed; !p.closed {
		err = cmd.Start()
	}
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return err
	}
	p.child = c
	p.starts++
	_, _ = inW.Write(p.first) // a new pipe holds it; that the process is gone shows when it is asked
	return nil
}

// end ends the process and says how it ended.
func (p *prober) end() string {
	p.mu.Lock()
	c := p.child
	p.child = nil
	p.mu.Unlock()
	if c == nil {
		return "closed"
	}
	// It may be on its way out by itself; how it ended is worth a moment.
	c.in.Close()
	late := time.AfterFunc(time.Second, func() { _ = c.cmd.Process.Kill() })
	_ = c.cmd.Wait()
	late.Stop()
	c.out.Close()
	return c.cmd.ProcessState.String()
}

// close ends the process for good; a judge under way ends with an error.
func (p *prober) close() {
	p.mu.Lock()
	p.closed = true
	if p.child != nil {
		_ = p.child.cmd.Process.Kill()
	}
	p.mu.Unlock()
	p.turn <- struct{}{} // soon: the one who has it sees the end of its process
	p.end()
	p.give()
}

func (c *probeChild) ask(blob []byte, until time.Time) (probeAnswer, error) {
	_ = c.in.SetWriteDeadline(until)
	_ = c.out.SetReadDeadline(until)
	if _, err := c.in.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(blob)))); err != nil {
		return probeAnswer{}, err
	}
	if _, err := c.in.Write(blob); err != nil {
		return probeAnswer{}, err
	}
	return c.line()
}

func (c *probeChild) line() (probeAnswer, error) {
	var a probeAnswer
	b, err := c.lines.ReadSlice('\n')
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(b, &a)
}
