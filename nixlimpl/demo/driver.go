package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/nixlimpl/service"
	"github.com/kvsettle/kvsettle/nixlimpl/trace"
	"github.com/kvsettle/kvsettle/wire/handover"
)

// phase of a request in the driver.
type phase uint8

const (
	idle     phase = iota
	atCTX          // context asked for
	atGEN          // generation asked for
	finished       // has its disposition
)

type request struct {
	id    uint64
	trace trace.Request
	phase phase
	// ctxInc and genInc are the incarnations that were asked.
	ctxInc, genInc int
	hand           handover.Handover
	sent           bool
	open           bool // GEN sent, not ended
	disposition    string
	reason         string
	ctxDone        string // CTX's disposition
	ctxOwes        bool   // CTX has it and has not ended it
	released       bool   // CTX was told that nobody will fetch
	cancelAt       cancelPlan
}

// cancelPlan is a user cancel drawn by the seed.
type cancelPlan struct {
	wanted   bool
	ctx, gen bool
	stage    phase // after the request got there
	onSent   bool
	after    time.Duration
}

type driver struct {
	*plan
	res      *Result
	rng      *rand.Rand
	reports  chan report
	ctx, gen *process
	reqs     []*request
	byID     map[uint64]*request
	next     int
	inFlight int
	started  time.Time
	rates    map[string]fault.Spec
	alarms   chan func()
	stopping bool
	ready    int

	latencies []time.Duration
	openSince time.Time
	openCount int
	openTotal time.Duration
	ctxBytes  map[int]int64 // by incarnation
	stops     int
	fatal     error
	incs      map[string]int
	peaks     map[string]int64
	asking    bool
	held      []func()
	quits     map[string]int // exits that the driver did not order, in a row
}

// Run starts the two processes, replays, and takes everything down again. The
// error is about the run itself (usage, a machine that cannot do it); broken
// invariants are in the result.
func Run(ctx context.Context, o Options) (*Result, error) {
	p, err := Prepare(o)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx)
}

// Plan is a run whose options and trace were found good. It runs once.
type Plan struct{ p *plan }

// Prepare reads the trace and judges the options; it starts nothing.
func Prepare(o Options) (*Plan, error) {
	p, err := check(o)
	if err != nil {
		return nil, err
	}
	if err := p.fits(); err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// Run is the run that Prepare found good; see the function Run.
func (pl *Plan) Run(ctx context.Context) (*Result, error) {
	p := pl.p
	var err error
	if p.Exe == "" {
		if p.Exe, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("finding the program to start: %w", err)
		}
	}
	d := newDriver(p)
	if err := d.launchBoth(ctx); err != nil {
		return nil, err
	}
	if d.ready < 2 {
		// Interrupted before anything began.
		d.quits["over"] = 1
		d.await(interruptGrace, func() bool { return d.ctx.gone && d.gen.gone })
		return d.res, nil
	}
	d.loop(ctx)
	d.finish()
	if d.fatal != nil {
		return nil, d.fatal
	}
	return d.res, nil
}

func newDriver(p *plan) *driver {
	d := &driver{plan: p, reports: make(chan report, 1024), alarms: make(chan func(), 1024),
		rng: rand.New(rand.NewPCG(p.Seed, 0x64656d6f)), byID: make(map[uint64]*request),
		rates: make(map[string]fault.Spec), ctxBytes: make(map[int]int64), incs: make(map[string]int), quits: make(map[string]int), peaks: make(map[string]int64)}
	d.res = &Result{Requests: len(p.requests), Reasons: map[string]int{}, FaultsInjected: map[string]int{},
		RestartsBy: map[string]int{"ctx": 0, "gen": 0}, CPUSeconds: map[string]Float{"ctx": 0, "gen": 0},
		Transport: p.Transport, Memory: "host", CTXMode: p.CTXMode, GENMode: p.GENMode, Seed: p.Seed}
	for _, f := range p.Faults {
		d.rates[f.Name] = f
		d.res.FaultsInjected[f.Name] = 0
	}
	for i, t := range p.requests {
		r := &request{id: uint64(i) + 1, trace: t}
		d.draw(r)
		d.reqs = append(d.reqs, r)
		d.byID[r.id] = r
	}
	return d
}

// draw decides by the seed whether and when a user cancels this request.
func (d *driver) draw(r *request) {
	f, ok := d.rates[fault.Cancel]
	if !ok || d.rng.Float64() >= f.Rate {
		return
	}
	c := cancelPlan{wanted: true}
	switch d.rng.IntN(3) {
	case 0:
		c.ctx = true
	case 1:
		c.gen = true
	default:
		c.ctx, c.gen = true, true
	}
	c.stage = atGEN
	if c.ctx && !c.gen && d.rng.IntN(2) == 0 {
		c.stage = atCTX
	}
	c.onSent = c.stage == atGEN && d.rng.IntN(2) == 0
	c.after = time.Duration(d.rng.Int64N(int64(20 * time.Millisecond)))
	r.cancelAt = c
}

func (d *driver) launchBoth(ctx context.Context) error {
	for _, role := range []string{"ctx", "gen"} {
		if err := d.launch(role); err != nil {
			d.killAll()
			return err
		}
	}
	// Slots are stamped and memory is mapped first: that takes its time.
	wait := 30*time.Second + time.Duration(d.plan.bytes()>>30)*10*time.Second
	bound := time.NewTimer(wait)
	defer bound.Stop()
	for d.ready < 2 {
		select {
		case rep := <-d.reports:
			d.report(rep)
			if d.fatal != nil {
				d.killAll()
				return d.fatal
			}
		case <-ctx.Done():
			// Nothing has begun: the loop sees it too, and there is nothing to wait for.
			d.stopping, d.res.Interrupted = true, true
			d.killAll()
			return nil
		case <-bound.C:
			d.killAll()
			return fmt.Errorf("a service did not start within %v; less memory (--slots, --slot-bytes, --kv-bytes, --scale) starts faster", wait)
		}
	}
	return nil
}

func (d *driver) launch(role string) error {
	d.incs[role]++
	pr, err := launch(d.plan, role, d.incs[role], d.reports)
	if err != nil {
		return err
	}
	if role == "ctx" {
		d.ctx = pr
	} else {
		d.gen = pr
	}
	return nil
}

func (d *driver) killAll() {
	for _, pr := range []*process{d.ctx, d.gen} {
		if pr != nil && !pr.gone {
			pr.kill()
		}
	}
}

// after posts f to the driver's loop.
func (d *driver) after(t time.Duration, f func()) {
	time.AfterFunc(t, func() { d.alarms <- f })
}

// loop runs until every request has its disposition, or the context ends.
func (d *driver) loop(ctx context.Context) {
	d.started = time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	done := ctx.Done()
	var grace <-chan time.Time
	aborted := false
	for d.fatal == nil {
		d.admit()
		if d.res.Dispositions.total() == len(d.reqs) || d.stopping && d.inFlight == 0 {
			break
		}
		var wake <-chan time.Time
		if w := d.nextStart(); w > 0 {
			wake = time.After(w)
		}
		select {
		case rep := <-d.reports:
			d.report(rep)
		case f := <-d.alarms:
			f()
		case <-wake:
		case <-tick.C:
			d.progress()
		case <-done:
			done = nil
			d.stopping, d.res.Interrupted = true, true
			for _, r := range d.reqs {
				if r.phase == atCTX || r.phase == atGEN {
					d.cancelBoth(r, "shutdown")
				}
			}
			// A cancel waits for proof as long as its request may; whoever interrupts does not.
			grace = time.After(service.DefaultSettings().Scaled(d.Deadline).Control + abortAfter)
		case <-grace:
			if aborted {
				return
			}
			aborted = true
			for _, pr := range []*process{d.ctx, d.gen} {
				pr.send(child.Command{Op: child.OpAbort, Reason: "shutdown"})
			}
			grace = time.After(interruptGrace)
		}
	}
	d.progressEnd()
}

// nextStart is the wait until the trace lets the next request in; 0 means that
// time is not what holds it up.
func (d *driver) nextStart() time.Duration {
	if d.stopping || d.next >= len(d.reqs) || d.inFlight >= d.Concurrency || d.Speed == 0 {
		return 0
	}
	return max(d.due(d.reqs[d.next])-time.Since(d.started), time.Microsecond)
}

func (d *driver) due(r *request) time.Duration {
	if d.Speed == 0 {
		return 0
	}
	ms := float64(r.trace.TimestampMS-d.reqs[0].trace.TimestampMS) / d.Speed
	return time.Duration(ms * 1e6)
}

func (d *driver) admit() {
	for !d.stopping && d.next < len(d.reqs) && d.inFlight < d.Concurrency && d.ctx.up && d.gen.up {
		r := d.reqs[d.next]
		if d.due(r) > time.Since(d.started) {
			return
		}
		d.next++
		d.inFlight++
		d.askCTX(r)
	}
}

func (d *driver) askCTX(r *request) {
	r.phase, r.ctxInc, r.ctxOwes = atCTX, d.ctx.inc, true
	r.hand = handover.Handover{RequestID: r.id,
		DisaggregatedParams: handover.DisaggregatedParams{RequestType: handover.ContextOnly},
		KVSettle: handover.KVSettle{HashIDs: r.trace.HashIDs, InputLength: uint64(r.trace.InputLength),
			OutputLength: uint64(r.trace.OutputLength), DeadlineMS: uint64(d.Deadline / time.Millisecond)}}
	d.ctx.send(child.Command{Op: child.OpContext, Handover: &r.hand})
	d.arm(r, atCTX, false)
}

func (d *driver) askGEN(r *request, h *handover.Handover) {
	if !d.gen.up {
		// A restart is under way; the context waits, within its own deadline.
		inc := r.ctxInc
		d.held = append(d.held, func() {
			// A CTX that was restarted meanwhile is asked again for it, with another result.
			if r.phase == atCTX && r.ctxInc == inc && d.ctx.inc == inc {
				d.askGEN(r, h)
			}
		})
		return
	}
	r.phase, r.genInc, r.hand = atGEN, d.gen.inc, *h
	r.hand.DisaggregatedParams.RequestType = handover.GenerationOnly
	d.gen.send(child.Command{Op: child.OpGeneration, Handover: &r.hand})
	d.arm(r, atGEN, false)
}

// arm sets off the user's cancel when the request gets where the seed said.
func (d *driver) arm(r *request, at phase, sent bool) {
	c := r.cancelAt
	if !c.wanted || c.stage != at || c.onSent != sent {
		return
	}
	r.cancelAt.wanted = false
	d.after(c.after, func() {
		if r.phase == finished || r.phase == idle {
			return
		}
		d.res.FaultsInjected[fault.Cancel]++
		if c.ctx {
			d.ctx.send(child.Command{Op: child.OpCancel, RequestID: r.id, Reason: "user-cancel"})
		}
		if c.gen {
			d.gen.send(child.Command{Op: child.OpCancel, RequestID: r.id, Reason: "user-cancel"})
		}
	})
}

func (d *driver) cancelBoth(r *request, why string) {
	d.ctx.send(child.Command{Op: child.OpCancel, RequestID: r.id, Reason: why})
	if r.phase == atGEN {
		d.gen.send(child.Command{Op: child.OpCancel, RequestID: r.id, Reason: why})
	}
}

// end gives a request its disposition.
func (d *driver) end(r *request, disposition, reason string) {
	if r.phase == finished {
		return
	}
	d.closeTransfer(r)
	r.phase, r.disposition, r.reason = finished, disposition, reason
	d.inFlight--
	d.res.Dispositions.add(disposition)
	if reason != "" {
		d.res.Reasons[reason]++
	}
}

// release tells CTX, as the holder of the context result, that nobody will fetch.
func (d *driver) release(r *request) {
	if r.ctxOwes && !r.released && d.ctx.inc == r.ctxInc {
		r.released = true
		d.ctx.send(child.Command{Op: child.OpCancel, RequestID: r.id, Reason: "router-release"})
	}
}

func (d *driver) openTransfer(r *request) {
	r.sent, r.open = true, true
	if d.openCount == 0 {
		d.openSince = time.Now()
	}
	d.openCount++
}

func (d *driver) closeTransfer(r *request) {
	if !r.open {
		return
	}
	r.open = false
	if d.openCount--; d.openCount == 0 {
		d.openTotal += time.Since(d.openSince)
	}
}

// strike kills or stops as the faults say, while r is being transferred.
func (d *driver) strike(r *request) {
	for _, name := range []string{fault.KillCTX, fault.KillGEN, fault.StopCTX} {
		f, ok := d.rates[name]
		if !ok {
			continue
		}
		if f.Once {
			late := d.next > len(d.reqs)/3 || d.next >= len(d.reqs)-1
			if d.res.FaultsInjected[name] > 0 || !late {
				continue
			}
		} else if d.rng.Float64() >= f.Rate {
			continue
		}
		d.hit(name)
	}
}

func (d *driver) hit(name string) {
	pr := d.ctx
	if name == fault.KillGEN {
		pr = d.gen
	}
	if pr.killed || pr.gone || pr.stopped || !pr.up {
		return
	}
	d.res.FaultsInjected[name]++
	if name != fault.StopCTX {
		pr.kill()
		return
	}
	pr.stopped = true
	pr.signal(syscall.SIGSTOP)
	d.stops++
	d.after(d.Deadline+d.Deadline/2, func() {
		pr.stopped = false
		d.stops--
		pr.signal(syscall.SIGCONT)
	})
}
