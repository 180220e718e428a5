package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/wire/handover"
)

const (
	// deadline bounds each request, and each wait for a child's answer.
	deadline = time.Minute
	closing  = 10 * time.Second
)

// line is a report of one of the children, or its end.
type line struct {
	child.Report
	role string
	exit bool
	err  error
}

// pair is one CTX and one GEN process.
type pair struct {
	ctx, gen *child.Process
	lines    chan line
	gone     map[string]bool
	next     uint64
}

func startPair(ctx context.Context, o *Options, s shape) (*pair, error) {
	p := &pair{lines: make(chan line, 64), gone: map[string]bool{}}
	for _, role := range []string{"ctx", "gen"} {
		st := child.Start{
			Role: role, Local: "on", ModeSource: "bench", Geometry: s.slug, Scale: s.scale, TokensPerBlock: s.tokensPerBlock,
			KVBlocks: s.blocks(), Slots: 1, SlotBytes: s.Bytes, Budget: -1, Chunk: child.DefaultChunk,
			Workers: child.DefaultWorkers, Deadline: deadline, Transport: "shm", Seed: 1, Bare: true,
		}
		// GEN has room for one content, so that each request moves everything; CTX keeps
		// both in its cache.
		if role == "ctx" {
			st.KVBlocks *= 2
			st.SlotBytes = min(child.DefaultWindow*st.Chunk, s.Bytes)
		}
		if o.tune != nil {
			o.tune(&st)
		}
		pr, err := child.Launch(o.Exe, st, o.Log,
			func(r child.Report) { p.lines <- line{Report: r, role: role} },
			func(err error) { p.lines <- line{role: role, exit: true, err: err} })
		if err != nil {
			p.kill()
			return nil, err
		}
		if role == "ctx" {
			p.ctx = pr
		} else {
			p.gen = pr
		}
	}
	for range 2 {
		if _, err := p.wait(ctx, child.Ready); err != nil {
			p.kill()
			return nil, err
		}
	}
	return p, nil
}

// wait returns the first report of one of these kinds. Anything that says that
// there will be none is an error.
func (p *pair) wait(ctx context.Context, ops ...string) (child.Report, error) {
	bound := time.NewTimer(2 * deadline)
	defer bound.Stop()
	for {
		select {
		case l := <-p.lines:
			switch {
			case l.exit:
				p.gone[l.role] = true
				if l.err == nil {
					l.err = errors.New("exit status 0")
				}
				return child.Report{}, fmt.Errorf("bench: %s ended before its time: %w", l.role, l.err)
			case l.Op == child.Refused:
				return child.Report{}, fmt.Errorf("bench: %s: %s", l.role, l.Message)
			case l.Op == child.Unhealthy:
				return child.Report{}, broke("%s is unhealthy: %s", l.role, l.Reason)
			}
			for _, op := range ops {
				if l.Op == op {
					return l.Report, nil
				}
			}
		case <-ctx.Done():
			return child.Report{}, ctx.Err()
		case <-bound.C:
			return child.Report{}, broke("no %v within %v", ops, 2*deadline)
		}
	}
}

// transfer hands one request over and returns GEN's outcome, once CTX has ended
// it, too. tamper, if set, changes what GEN is told.
func (p *pair) transfer(ctx context.Context, hashes []uint64, tokens int, tamper func(*handover.Handover)) (child.Report, error) {
	p.next++
	h := &handover.Handover{RequestID: p.next,
		DisaggregatedParams: handover.DisaggregatedParams{RequestType: handover.ContextOnly},
		KVSettle:            handover.KVSettle{HashIDs: hashes, InputLength: uint64(tokens)}}
	p.ctx.Send(child.Command{Op: child.OpContext, Handover: h})
	rep, err := p.wait(ctx, child.Context, child.ContextError)
	if err != nil {
		return rep, err
	}
	if rep.Op == child.ContextError {
		return rep, broke("request %d: no context: %s", p.next, rep.Message)
	}
	g := *rep.Handover
	g.DisaggregatedParams.RequestType = handover.GenerationOnly
	if tamper != nil {
		tamper(&g)
	}
	p.gen.Send(child.Command{Op: child.OpGeneration, Handover: &g})
	var out child.Report
	for range 2 {
		rep, err := p.wait(ctx, child.Outcome, child.Ended)
		if err != nil {
			return rep, err
		}
		if rep.Op == child.Ended {
			continue
		}
		if out = rep; out.Disposition != "completed" || out.FullHit {
			return out, broke("request %d: %s %s, full hit %v, %d of %d blocks arrived wrong",
				p.next, out.Disposition, out.Message, out.FullHit, out.Corrupt, out.Blocks)
		}
	}
	return out, nil
}

// close takes both down in order and returns what they found wrong at the end.
func (p *pair) close() error {
	var wrong error
	for _, side := range []struct {
		role string
		pr   *child.Process
	}{{"ctx", p.ctx}, {"gen", p.gen}} {
		side.pr.Send(child.Command{Op: child.OpShutdown})
		bound := time.NewTimer(closing)
		for !p.gone[side.role] {
			select {
			case l := <-p.lines:
				switch {
				case l.exit:
					p.gone[l.role] = true
					if l.err != nil && wrong == nil {
						wrong = broke("%s ended badly: %v", l.role, l.err)
					}
				case l.Op == child.Bye && l.State.Canary > 0 && wrong == nil:
					wrong = broke("%s: %d guard pages were written", l.role, l.State.Canary)
				}
			case <-bound.C:
				wrong = broke("%s did not end when told to", side.role)
				side.pr.Kill()
			}
		}
		bound.Stop()
	}
	return wrong
}

// kill ends what runs, after an error.
func (p *pair) kill() {
	left := 0
	for role, pr := range map[string]*child.Process{"ctx": p.ctx, "gen": p.gen} {
		if pr != nil && !p.gone[role] {
			pr.Kill()
			left++
		}
	}
	for left > 0 {
		if l := <-p.lines; l.exit {
			left--
		}
	}
}
