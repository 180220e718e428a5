package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl/raw"
	"github.com/kvsettle/kvsettle/nixlimpl/service"
	"github.com/kvsettle/kvsettle/nixlimpl/shm"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/handover"
)

// maxLine bounds one command or report line.
const maxLine = 32 << 20

// The exit codes of a child process.
const (
	ExitOK        = 0
	ExitStart     = 3
	ExitUnhealthy = 75
)

// side is what the loop below needs of either service.
type side interface {
	Name() string
	Cancel(id uint64, reason spec.Reason)
	Abort(reason spec.Reason)
	State(func(service.State))
	Close() (service.State, error)
	OnUnhealthy(func())
}

// Run is the child process: it serves until its input ends or it is told to stop,
// and returns the exit code. It logs to logTo.
func Run(in io.Reader, out, logTo io.Writer) int {
	r := &runner{in: bufio.NewReaderSize(in, 1<<16), out: NewLines(out), over: make(chan int, 1)}
	code := r.run(logTo)
	r.out.Close()
	<-r.out.Done()
	return code
}

type runner struct {
	in   *bufio.Reader
	out  *Lines
	over chan int
	inj  *fault.Injector
	ctx  *service.CTX
	gen  *service.GEN
}

func (r *runner) run(logTo io.Writer) int {
	var st Start
	line, err := readLine(r.in)
	if err == nil {
		err = json.Unmarshal(line, &st)
	}
	if err != nil {
		r.out.Send(Report{Op: Refused, Message: "first line is no start command: " + err.Error()})
		return ExitStart
	}
	if st.Role == nixl.RoleProbe {
		return nixl.ServeProbe(line, r.in)
	}
	level := slog.LevelError
	if st.Debug {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(logTo, &slog.HandlerOptions{Level: level})).With("role", st.Role)
	// The heap is small and short-lived; the KV memory lives outside it.
	debug.SetGCPercent(400)
	if st.Role == RoleRaw {
		err := raw.Serve(raw.Config{Name: service.NewBase(), Library: st.Library, Bytes: st.SlotBytes, Logger: log}, r.in, r.out.Send)
		if err != nil {
			r.out.Send(Report{Op: Refused, Message: err.Error()})
			return ExitStart
		}
		return ExitOK
	}
	s, err := r.start(st, log)
	if err != nil {
		r.out.Send(Report{Op: Refused, Message: err.Error()})
		return ExitStart
	}
	s.OnUnhealthy(func() {
		r.out.Send(Report{Op: Unhealthy, Reason: string(sm.PoolUnhealthy)})
		select {
		case r.over <- ExitUnhealthy:
		default:
		}
	})
	r.out.Send(Report{Op: Ready, Name: s.Name()})
	go r.commands(s)
	code := <-r.over
	bound := service.DefaultSettings().Restart
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r.inj != nil && st.Role == "ctx" {
			// Late writes end before the memory they read goes away.
			r.inj.Close()
		}
		last, err := s.Close()
		msg := ""
		if err != nil {
			msg = err.Error()
		}
		r.out.Send(Report{Op: Bye, State: &last, Message: msg})
	}()
	select {
	case <-done:
	case <-time.After(bound + st.Deadline*2):
		log.Error("orderly end took too long, leaving by force", "setting", "unknown-restart-deadline", "bound", bound)
	}
	return code
}

func (r *runner) start(st Start, log *slog.Logger) (side, error) {
	local, err := ParseLocal(st.Local)
	if err != nil {
		return nil, err
	}
	geo, err := BuildGeometry(st.Geometry, st.TokensPerBlock, st.Scale)
	if err != nil {
		return nil, err
	}
	r.inj = fault.New(fault.Config{Faults: st.Faults, Seed: st.Seed, Deadline: st.Deadline,
		Struck: func(name string) { r.out.Send(Report{Op: Fault, Name: name}) }})
	cfg := service.Config{
		Local: local, ModeSource: st.ModeSource, Geometry: geo, KVBlocks: st.KVBlocks, Slots: st.Slots, SlotBytes: st.SlotBytes, Budget: st.Budget,
		Chunk: st.Chunk, Workers: st.Workers, Settings: service.DefaultSettings().Scaled(st.Deadline),
		Stamp: !st.Bare, Verify: !st.Bare, NoCopy: st.NoCopy, Logger: log,
		Open: func(name string, sink transport.Sink) (transport.Agent, error) {
			switch st.Transport {
			case "", "shm":
				return shm.Open(shm.Config{Name: name, Logger: log, Writers: st.Workers,
					// A peer that stands still for some deadlines is slow, not lost.
					StallDeadline: min(max(time.Minute, 4*st.Deadline), time.Hour)}, r.inj.Sink(sink))
			case "nixl":
				return nixl.Open(nixl.Config{Name: name, Logger: log, Library: st.Library, Listen: st.Listen, ListenIP: st.ListenIP, Probe: probe}, r.inj.Sink(sink))
			}
			return nil, fmt.Errorf("unknown transport %q; known: shm, nixl", st.Transport)
		},
	}
	if st.Role == "ctx" {
		cfg.Hooks.Poster = r.inj.Poster
		r.ctx, err = service.NewCTX(cfg, func(o service.Outcome) {
			r.out.Send(Report{Op: Ended, RequestID: o.RequestID, Disposition: o.Disposition.String(), Reason: string(o.Reason), Bytes: o.Bytes})
		})
		return r.ctx, err
	}
	r.gen, err = service.NewGEN(cfg, func(id uint64) { r.out.Send(Report{Op: Sent, RequestID: id}) })
	return r.gen, err
}

// commands reads until the input ends, which is how a dead driver looks.
func (r *runner) commands(s side) {
	code := ExitOK
	for {
		line, err := readLine(r.in)
		if err != nil {
			break
		}
		var c Command
		if err := json.Unmarshal(line, &c); err != nil {
			r.out.Send(Report{Op: Refused, Message: "command is no JSON: " + err.Error()})
			continue
		}
		if c.Op == OpShutdown {
			break
		}
		if err := r.command(s, c); err != nil {
			r.out.Send(Report{Op: Refused, RequestID: c.RequestID, Message: err.Error()})
		}
	}
	select {
	case r.over <- code:
	default:
	}
}

func (r *runner) command(s side, c Command) error {
	switch c.Op {
	case OpContext:
		if r.ctx == nil || c.Handover == nil {
			return errors.New("context needs a CTX service and a handover")
		}
		r.ctx.Context(*c.Handover, func(h handover.Handover, err error) {
			if err != nil {
				r.out.Send(refusal(ContextError, h.RequestID, err))
				return
			}
			r.out.Send(Report{Op: Context, RequestID: h.RequestID, Handover: &h})
		})
	case OpGeneration:
		if r.gen == nil || c.Handover == nil {
			return errors.New("generation needs a GEN service and a handover")
		}
		r.gen.Generation(*c.Handover, func(o service.Outcome) {
			r.out.Send(Report{Op: Outcome, RequestID: o.RequestID, Disposition: o.Disposition.String(), Reason: string(o.Reason),
				Message: o.Message, FullHit: o.FullHit, Bytes: o.Bytes, Latency: o.Latency, Blocks: o.Blocks, Corrupt: o.Corrupt,
				Hits: o.Hits, Misses: o.Misses})
		})
	case OpCancel:
		s.Cancel(c.RequestID, spec.Reason(c.Reason))
	case OpAbort:
		s.Abort(spec.Reason(c.Reason))
	case OpVerify:
		if r.gen == nil {
			return errors.New("verify needs a GEN service")
		}
		r.gen.Verify()
	case OpState:
		s.State(func(st service.State) { r.out.Send(Report{Op: StateReport, State: &st}) })
	default:
		return fmt.Errorf("unknown command %q", c.Op)
	}
	return nil
}

func refusal(op string, id uint64, err error) Report {
	rep := Report{Op: op, RequestID: id, Message: err.Error()}
	var ref *sm.Refusal
	if errors.As(err, &ref) {
		rep.Reason, rep.Requirement = string(ref.Reason), ref.Req
	}
	return rep
}

// ParseLocal reads off, on or legacy.
func ParseLocal(s string) (negotiate.Local, error) {
	switch s {
	case "off":
		return negotiate.Off, nil
	case "on":
		return negotiate.On, nil
	case "legacy":
		return negotiate.Legacy, nil
	}
	return 0, fmt.Errorf("mode %q: known modes are off, on, legacy", s)
}

// BuildGeometry looks a geometry up and scales it. Scale 0 means about 1 KiB per
// token.
func BuildGeometry(slug string, tokensPerBlock, scale int) (kv.Geometry, error) {
	g, err := kv.Lookup(slug)
	if err != nil {
		return g, err
	}
	if g, err = g.WithTokensPerBlock(tokensPerBlock); err != nil {
		return g, err
	}
	if scale == 0 {
		scale = g.DefaultScale()
	}
	return g.Scaled(scale)
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := r.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case err == nil:
			return out, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(out) > maxLine:
			return nil, fmt.Errorf("line longer than %d bytes", maxLine)
		}
	}
}
