//go:build linux

package nixl_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
	"github.com/kvsettle/kvsettle/nixlimpl/service"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/nixlimpl/work"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/handover"
)

func init() { nixl.ServiceMain = serve }

// setup is how a test wants a service.
type setup struct {
	Role     string        `json:"role"`
	Scale    int           `json:"scale"`
	Slots    int           `json:"slots"`
	Budget   int           `json:"budget"`
	Bytes    int           `json:"bytes"`
	Deadline time.Duration `json:"deadline"`
	Verify   bool          `json:"verify"`
}

// command is one order to a service: that of a driver, or what it is to lose.
type command struct {
	child.Command
	// Drop is the variant of the notices to lose from now on; -1 none.
	Drop int `json:"drop"`
	// Late: the writes of the following requests outlast their deadline by a quarter.
	Late bool `json:"late"`
}

const (
	opArm        = "arm"
	opGoroutines = "goroutines"
)

// serve is a service like package child's, whose faults can be switched on and off.
func serve() int {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	dec := json.NewDecoder(in)
	var s setup
	if err := dec.Decode(&s); err != nil {
		return 4
	}
	out := child.NewLines(os.Stdout)
	geo, err := child.BuildGeometry("llama-3.1-8b", 32, s.Scale)
	if err != nil {
		return 4
	}
	var drop atomic.Int64
	var late atomic.Bool
	drop.Store(-1)
	inj := fault.New(fault.Config{Faults: []fault.Spec{{Name: fault.LateWrite, Rate: 1}}, Seed: 1, Deadline: s.Deadline})
	settings := service.DefaultSettings().Scaled(s.Deadline)
	level := slog.LevelError
	if os.Getenv("KVSETTLE_TEST_DEBUG") != "" {
		level = slog.LevelDebug
	}
	cfg := service.Config{
		Local: negotiate.On, Geometry: geo, KVBlocks: 4 * max(s.Bytes/geo.BlockBytes(), 64), Slots: s.Slots, SlotBytes: s.Bytes, Budget: s.Budget,
		Chunk: min(1<<20, s.Bytes), Workers: 2, Settings: settings, Stamp: true, Verify: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})).With("role", s.Role),
		Open: func(name string, sink transport.Sink) (transport.Agent, error) {
			sink = inj.Sink(sink)
			return nixl.Open(nixl.Config{Name: name}, func(ev transport.Event) {
				if ev.Kind == transport.Notice && len(ev.Payload) >= 8 && int64(binary.LittleEndian.Uint64(ev.Payload)) == drop.Load() {
					return
				}
				sink(ev)
			})
		},
		Hooks: service.Hooks{Poster: func(id uint64, total int, inner work.Poster) work.Poster {
			if late.Load() {
				return inj.Poster(id, total, inner)
			}
			return inner
		}},
	}
	var c *service.CTX
	var g *service.GEN
	ended := func(o service.Outcome) {
		out.Send(child.Report{Op: child.Ended, RequestID: o.RequestID, Disposition: o.Disposition.String(), Reason: string(o.Reason)})
	}
	if s.Role == "ctx" {
		c, err = service.NewCTX(cfg, ended)
	} else {
		g, err = service.NewGEN(cfg, func(id uint64) { out.Send(child.Report{Op: child.Sent, RequestID: id}) })
	}
	if err != nil {
		out.Send(child.Report{Op: child.Refused, Message: err.Error()})
		out.Close()
		<-out.Done()
		return 3
	}
	out.Send(child.Report{Op: child.Ready})
	for {
		var o command
		if dec.Decode(&o) != nil {
			break
		}
		switch {
		case o.Op == opArm:
			drop.Store(int64(o.Drop))
			late.Store(o.Late)
			out.Send(child.Report{Op: opArm})
		case o.Op == opGoroutines:
			runtime.GC()
			out.Send(child.Report{Op: opGoroutines, Blocks: runtime.NumGoroutine()})
		case o.Op == child.OpContext:
			c.Context(*o.Handover, func(h handover.Handover, err error) {
				if err != nil {
					out.Send(child.Report{Op: child.ContextError, RequestID: h.RequestID, Message: err.Error()})
					return
				}
				out.Send(child.Report{Op: child.Context, RequestID: h.RequestID, Handover: &h})
			})
		case o.Op == child.OpGeneration:
			g.Generation(*o.Handover, func(o service.Outcome) {
				out.Send(child.Report{Op: child.Outcome, RequestID: o.RequestID, Disposition: o.Disposition.String(), Reason: string(o.Reason), Message: o.Message, Blocks: o.Blocks, Corrupt: o.Corrupt})
			})
		case o.Op == child.OpCancel && c != nil:
			c.Cancel(o.RequestID, spec.Reason(o.Reason))
		case o.Op == child.OpCancel:
			g.Cancel(o.RequestID, spec.Reason(o.Reason))
		case o.Op == child.OpState:
			say := func(st service.State) { out.Send(child.Report{Op: child.StateReport, State: &st}) }
			if c != nil {
				c.State(say)
			} else {
				g.State(say)
			}
		}
	}
	inj.Close()
	var last service.State
	if c != nil {
		last, err = c.Close()
	} else {
		last, err = g.Close()
	}
	rep := child.Report{Op: child.Bye, State: &last}
	if err != nil {
		rep.Message = err.Error()
	}
	out.Send(rep)
	out.Close()
	<-out.Done()
	return 0
}

// side is a service in another process.
type side struct {
	t       testing.TB
	setup   setup
	cmd     *exec.Cmd
	in      *json.Encoder
	stop    func()
	reports chan child.Report
	dead    bool
}

func startSide(t testing.TB, s setup, env []string, wrap ...string) *side {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	args := append(wrap, exe, "-test.run=^$")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), nixl.ServiceVariable+"=1"), env...)
	if testing.Verbose() {
		cmd.Stderr = os.Stderr
	}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &side{t: t, setup: s, cmd: cmd, in: json.NewEncoder(in), stop: func() { _ = in.Close() }, reports: make(chan child.Report, 4096)}
	go func() {
		defer close(p.reports)
		for dec := json.NewDecoder(out); ; {
			var r child.Report
			if dec.Decode(&r) != nil {
				_ = cmd.Wait()
				return
			}
			p.reports <- r
		}
	}()
	t.Cleanup(func() { p.kill() })
	require.NoError(t, p.in.Encode(s))
	return p
}

func (p *side) kill() {
	_ = p.cmd.Process.Kill()
	p.dead = true
}

func (p *side) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *side) send(c command) { _ = p.in.Encode(c) }

// wait returns the next report of that kind about that request, and drops others.
func (p *side) wait(bound time.Duration, op string, id uint64) (child.Report, bool) {
	for end := time.After(bound); ; {
		select {
		case r, ok := <-p.reports:
			if !ok {
				return r, false
			}
			if r.Op == child.Refused {
				p.t.Fatalf("%s: %s", p.setup.Role, r.Message)
			}
			if r.Op == op && (r.RequestID == id || id == 0) {
				return r, true
			}
		case <-end:
			return child.Report{}, false
		}
	}
}

func (p *side) must(op string, id uint64) child.Report {
	p.t.Helper()
	r, ok := p.wait(30*time.Second, op, id)
	require.True(p.t, ok, "%s: no %s", p.setup.Role, op)
	return r
}

func (p *side) arm(drop int, late bool) {
	p.t.Helper()
	p.send(command{Command: child.Command{Op: opArm}, Drop: drop, Late: late})
	p.must(opArm, 0)
}

func (p *side) state() service.State {
	p.t.Helper()
	p.send(command{Command: child.Command{Op: child.OpState}})
	return *p.must(child.StateReport, 0).State
}

// bye ends the service in order and returns what it found at the end.
func (p *side) bye() service.State {
	p.t.Helper()
	p.stop()
	return *p.must(child.Bye, 0).State
}

// request is a hand-over of n tokens whose content nobody else asks for.
func request(id uint64, n int) handover.Handover {
	h := handover.Handover{RequestID: id, KVSettle: handover.KVSettle{InputLength: uint64(n)}}
	for i := range (n + 511) / 512 {
		h.KVSettle.HashIDs = append(h.KVSettle.HashIDs, id<<32|uint64(i))
	}
	return h
}

// context asks CTX and returns the context result.
func context1(c *side, id uint64, n int) handover.Handover {
	c.t.Helper()
	h := request(id, n)
	c.send(command{Command: child.Command{Op: child.OpContext, Handover: &h}})
	return *c.must(child.Context, id).Handover
}

// release tells CTX that nobody will fetch, as a router does.
func (p *side) release(id uint64) {
	p.send(command{Command: child.Command{Op: child.OpCancel, RequestID: id, Reason: "router-release"}})
}

func generate(g *side, h handover.Handover) {
	g.send(command{Command: child.Command{Op: child.OpGeneration, Handover: &h}})
}

// served tries requests until one completes, and returns how many failed before.
func served(t testing.TB, c, g *side, first uint64, tokens, tries int) int {
	t.Helper()
	for i := range tries {
		id := first + uint64(i)
		generate(g, context1(c, id, tokens))
		if r := g.must(child.Outcome, id); r.Disposition == sm.Completed.String() {
			require.Zero(t, r.Corrupt)
			return i
		} else {
			t.Logf("request %d: %s: %s %s", id, r.Disposition, r.Reason, r.Message)
		}
		c.release(id)
	}
	t.Fatalf("none of the next %d requests completed", tries)
	return 0
}
