package gen_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// faults of one run of the pair. Rates are per mille.
type faults struct {
	drop, duplicate, dropNotice int
	delay                       int // longest delay of a message
	writeFail                   int
	release                     int
	slowWrite                   int // longest time of a write
	absent                      int // a rank misses a round
	barrier                     int // the barrier fails
	cancelGen, cancelCtx        int // chance of a user cancel
	epoch                       int
	sendFail                    int
	refuse                      int // CTX refuses by REJECT
	mismatch                    int // CTX computes another selection
	verify                      int // content is wrong
}

type pairConfig struct {
	ctxRanks, genRanks int
	chunks             uint16
	caps               descriptor.Caps
	contract           settle.Contract
	perChunk           bool
	f                  faults
	bad                wrong.Rules
	parts              uint8
}

var pairTimes = settle.Settings{Admission: 3000, Context: 6000, Request: 10000, Soft: 2500, Control: 2000,
	RetryFirst: 50, RetryMax: 400, Queue: 100, Replay: 100, Retention: 15000}

var (
	pairCtxTables, _ = ctx.LoadTables()
	pairGenTables, _ = gen.LoadTables()
)

type pairEvent struct {
	at  sm.Time
	seq int
	run func()
}

type pairQueue []pairEvent

func (e pairQueue) Len() int { return len(e) }
func (e pairQueue) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e pairQueue) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *pairQueue) Push(x any)   { *e = append(*e, x.(pairEvent)) }
func (e *pairQueue) Pop() any {
	o := *e
	x := o[len(o)-1]
	*e = o[:len(o)-1]
	return x
}

type write struct {
	active, done bool
}

type rankC struct {
	p       ctx.Parent
	alarms  settle.Alarms
	timer   sm.Time
	settled int
	endAt   sm.Time
	freed   int
	restart int
	sealed  [8]bool
	writes  [8][]*write
	final   ctx.Parent // as the disposition was fixed
}

type rankG struct {
	p       gen.Parent
	alarms  settle.Alarms
	timer   sm.Time
	settled int
	endAt   sm.Time
	opened  sm.Time
	freed   int
	slot    bool // someone else may own the slot: it was freed
	restart int
	landed  [8]uint16
	final   gen.Parent // as the disposition was fixed
}

type pair struct {
	cfg    pairConfig
	rng    *rand.Rand
	now    sm.Time
	seq    int
	q      pairQueue
	c      []*rankC
	g      []*rankG
	rows   map[string]int
	bad    []string
	rounds [2]struct{ wanted, busy bool }
	sentN  int
	cbuf   []ctx.ParentEffect
	gbuf   []gen.ParentEffect
	trace  bool
	cancel bool // a user cancelled
	noRows bool // rules are broken: rows are not checked
}

func newPair(seed uint64, cfg pairConfig) *pair {
	p := &pair{cfg: cfg, rng: rand.New(rand.NewPCG(seed, 7)), rows: map[string]int{}}
	for range cfg.ctxRanks {
		p.c = append(p.c, &rankC{p: ctx.Parent{}.WithWrongRules(cfg.bad)})
	}
	for range cfg.genRanks {
		p.g = append(p.g, &rankG{p: gen.Parent{}.WithWrongRules(cfg.bad)})
	}
	return p
}

func (w *pair) after(d sm.Time, f func()) {
	w.seq++
	heap.Push(&w.q, pairEvent{w.now + d, w.seq, f})
}

func (w *pair) chance(perMille int) bool { return perMille > 0 && w.rng.IntN(1000) < perMille }

func (w *pair) fail(format string, a ...any) { w.bad = append(w.bad, fmt.Sprintf(format, a...)) }

func (w *pair) run(limit sm.Time) {
	for i, r := range w.c {
		w.stepC(i, ctx.ParentInput{Kind: ctx.OnPublish, Room: true, Contract: w.cfg.contract, Binding: slot.Binding{Slot: uint32(i), Generation: 1, Token: 1}})
		_ = r
	}
	for i, r := range w.g {
		r.alarms.Arm(settle.AdmissionWait, 0, pairTimes.Admission)
		w.armG(i)
		w.after(sm.Time(w.rng.IntN(30)), func() {
			w.stepG(i, gen.ParentInput{Kind: gen.OnValidate, Value: true, Edges: uint8(w.cfg.ctxRanks), Parts: max(1, w.cfg.parts), Caps: w.cfg.caps})
		})
		if w.chance(w.cfg.f.cancelGen) {
			w.after(sm.Time(w.rng.IntN(600)), func() {
				w.cancel = true
				w.stepG(i, gen.ParentInput{Kind: gen.OnCancel, Cause: settle.ByUser})
			})
		}
		if w.chance(w.cfg.f.epoch) {
			w.after(sm.Time(w.rng.IntN(800)), func() { w.stepG(i, gen.ParentInput{Kind: gen.OnEpochChanged}) })
		}
	}
	for i := range w.c {
		if w.chance(w.cfg.f.cancelCtx) {
			w.after(sm.Time(w.rng.IntN(600)), func() {
				w.cancel = true
				w.stepC(i, ctx.ParentInput{Kind: ctx.OnCancel, Cause: settle.ByUser})
			})
		}
		if w.chance(w.cfg.f.refuse) {
			w.after(sm.Time(w.rng.IntN(300)), func() { w.stepC(i, ctx.ParentInput{Kind: ctx.OnReject, Cause: settle.ByIncompatible}) })
		}
		if w.chance(w.cfg.f.epoch) {
			w.after(sm.Time(w.rng.IntN(800)), func() { w.stepC(i, ctx.ParentInput{Kind: ctx.OnEpochChanged}) })
		}
	}
	for len(w.q) > 0 {
		e := heap.Pop(&w.q).(pairEvent)
		if e.at > limit {
			break
		}
		w.now = e.at
		e.run()
	}
}

func (w *pair) armC(i int) {
	r := w.c[i]
	_, at, ok := r.alarms.Next()
	if !ok || r.timer > w.now && r.timer <= at {
		return
	}
	r.timer = max(at, w.now+1)
	mine := r.timer
	w.after(mine-w.now, func() {
		if r.timer != mine {
			return
		}
		r.timer = 0
		if k, at, ok := r.alarms.Next(); ok && at <= w.now {
			r.alarms.Disarm(k)
			w.stepC(i, ctx.ParentInput{Kind: ctx.OnWait, Wait: k})
		}
		w.armC(i)
	})
}

func (w *pair) armG(i int) {
	r := w.g[i]
	_, at, ok := r.alarms.Next()
	if !ok || r.timer > w.now && r.timer <= at {
		return
	}
	r.timer = max(at, w.now+1)
	mine := r.timer
	w.after(mine-w.now, func() {
		if r.timer != mine {
			return
		}
		r.timer = 0
		if k, at, ok := r.alarms.Next(); ok && at <= w.now {
			r.alarms.Disarm(k)
			w.stepG(i, gen.ParentInput{Kind: gen.OnWait, Wait: k})
		}
		w.armG(i)
	})
}

// send delivers f with the faults of the network.
func (w *pair) send(f func()) {
	w.sentN++
	n := 1
	if w.chance(w.cfg.f.drop) {
		n = 0
	} else if w.chance(w.cfg.f.duplicate) {
		n = 2
	}
	for range n {
		w.after(1+sm.Time(w.rng.IntN(max(1, w.cfg.f.delay))), f)
	}
}

func (w *pair) stepC(i int, in ctx.ParentInput) {
	r := w.c[i]
	before := r.p
	next, out, err := r.p.Step(in, w.cbuf[:0])
	w.cbuf = nil
	if err != nil {
		if next != before {
			w.fail("ctx %d changed on refusal", i)
		}
		w.cbuf = out
		return
	}
	if w.trace {
		fmt.Printf("%6d C%d in=%d e=%d ev=%v wait=%v d=%v %v->%v\n", w.now, i, in.Kind, in.Edge, in.Evidence, in.Wait, in.Verdict.Decision, before.State(), next.State())
	}
	if err := pairCtxTables.Explain(before, next, out); err != nil && !w.noRows {
		w.fail("ctx %d: %v", i, err)
	}
	r.p = next
	if next.State().Terminal() && !before.State().Terminal() {
		r.final = next
	}
	arm := false
	for _, e := range out {
		switch e.Kind {
		case ctx.DoTake:
			w.rows[e.Row.String()]++
			if w.trace {
				fmt.Printf("              %v edge %d\n", e.Row, e.Edge)
			}
		case ctx.DoEnter:
			w.wantRound(0)
		case ctx.DoSend:
			w.fromC(i, e)
		case ctx.DoSync:
			if !w.chance(w.cfg.f.dropNotice) {
				w.send(func() {
					w.stepG(int(e.Edge), gen.ParentInput{Kind: gen.OnSync, Edge: uint8(i), Match: settle.Exact})
				})
			}
		case ctx.DoWrite:
			w.startWrites(i, e.Edge)
		case ctx.DoSeal:
			r.sealed[e.Edge] = true
			w.after(sm.Time(w.rng.IntN(5)), func() { w.stepC(i, ctx.ParentInput{Kind: ctx.OnSealed, Edge: e.Edge}) })
		case ctx.DoFree, ctx.DoProve:
			r.freed++
			for k := range r.writes {
				for _, x := range r.writes[k] {
					if x.active {
						w.fail("ctx %d frees a slot that a write reads", i)
					}
				}
				if r.p.Edge(uint8(k)) == ctx.EdgeInFlight {
					w.fail("ctx %d frees a slot in flight", i)
				}
			}
		case ctx.DoRestart:
			r.restart++
		case ctx.DoSettle:
			r.settled++
			r.endAt = w.now
		case ctx.DoArm:
			r.alarms.Arm(e.Wait, w.now, pairTimes.Length(e.Wait, e.Step))
			arm = true
		case ctx.DoDisarm:
			r.alarms.Disarm(e.Wait)
		}
	}
	if arm {
		w.armC(i)
	}
	w.cbuf = out
	if in.Kind == ctx.OnRound && next.State() == ctx.ParentBound && before.State() != ctx.ParentBound {
		w.after(sm.Time(w.rng.IntN(40)), func() { w.prepare(i) })
	}
	if in.Kind == ctx.OnOpen && next.State() == ctx.ParentBound {
		w.after(sm.Time(w.rng.IntN(10)), func() { w.prepare(i) })
	}
}

func (w *pair) prepare(i int) { w.stepC(i, ctx.ParentInput{Kind: ctx.OnPrepare}) }

func (w *pair) startWrites(i int, edge uint8) {
	r := w.c[i]
	r.writes[edge] = make([]*write, w.cfg.chunks)
	for k := range w.cfg.chunks {
		r.writes[edge][k] = &write{}
	}
	var post func(k uint16)
	post = func(k uint16) {
		if k >= w.cfg.chunks || r.sealed[edge] {
			return
		}
		x := r.writes[edge][k]
		x.active = true
		w.stepC(i, ctx.ParentInput{Kind: ctx.OnPosted, Edge: edge, Count: 1})
		w.after(sm.Time(1+w.rng.IntN(max(1, w.cfg.f.slowWrite))), func() { w.endWrite(i, edge, k, x, false) })
		w.after(sm.Time(w.rng.IntN(20)), func() { post(k + 1) })
	}
	w.after(0, func() { post(0) })
}

func (w *pair) endWrite(i int, edge uint8, k uint16, x *write, released bool) {
	if !released && w.chance(w.cfg.f.release) {
		w.stepC(i, ctx.ParentInput{Kind: ctx.OnReleased, Edge: edge})
		w.after(sm.Time(w.rng.IntN(5000)), func() { w.endWrite(i, edge, k, x, true) })
		return
	}
	g := w.g[edge]
	if g.slot {
		w.fail("a write of ctx %d lands in a slot of gen %d that was freed", i, edge)
	}
	if w.chance(w.cfg.f.writeFail) {
		if w.cfg.contract.Has(settle.ErrorQuiet) {
			x.active = false
		} else {
			w.after(sm.Time(w.rng.IntN(4000)), func() {
				if g.slot {
					w.fail("a failed write of ctx %d lands in a freed slot of gen %d", i, edge)
				}
				x.active = false
			})
		}
		w.stepC(i, ctx.ParentInput{Kind: ctx.OnWriteFailed, Edge: edge, Again: released})
		return
	}
	x.active, x.done = false, true
	g.landed[i]++
	w.stepC(i, ctx.ParentInput{Kind: ctx.OnWritten, Edge: edge, Chunk: k, Again: released})
}

// fromC carries a message of CTX rank i.
func (w *pair) fromC(i int, e ctx.ParentEffect) {
	to := int(e.Edge)
	if to >= len(w.g) {
		return
	}
	in := gen.ParentInput{Edge: uint8(i), Match: settle.Exact, Evidence: e.Evidence}
	switch e.Msg {
	case control.TypeReady:
		in.Kind, in.Decision = gen.OnReady, e.Decision
		in.Contract, in.RetentionMS = w.cfg.contract, 15
	case control.TypeTerminal:
		in.Kind = gen.OnTerminal
	case control.TypeReceipt:
		in.Kind = gen.OnReceipt
	case control.TypeStatus:
		in.Kind, in.State = gen.OnStatus, e.State
	case control.TypeDataComplete:
		in.Kind, in.Chunk, in.Count = gen.OnData, e.Chunk, e.Count
		if w.chance(w.cfg.f.dropNotice) {
			return
		}
	}
	w.send(func() { w.stepG(to, in) })
}

func (w *pair) stepG(i int, in gen.ParentInput) {
	r := w.g[i]
	before := r.p
	next, out, err := r.p.Step(in, w.gbuf[:0])
	w.gbuf = nil
	if err != nil {
		if next != before {
			w.fail("gen %d changed on refusal", i)
		}
		w.gbuf = out
		return
	}
	if w.trace {
		fmt.Printf("%6d G%d in=%d e=%d ev=%v wait=%v d=%v %v->%v\n", w.now, i, in.Kind, in.Edge, in.Evidence, in.Wait, in.Verdict.Decision, before.State(), next.State())
	}
	if err := pairGenTables.Explain(before, next, out); err != nil && !w.noRows {
		w.fail("gen %d: %v", i, err)
	}
	r.p = next
	if next.State().Terminal() && !before.State().Terminal() {
		r.final = next
	}
	arm := false
	for _, e := range out {
		switch e.Kind {
		case gen.DoTake:
			w.rows[e.Row.String()]++
			if w.trace {
				fmt.Printf("              %v edge %d\n", e.Row, e.Edge)
			}
		case gen.DoEnter:
			w.wantRound(1)
		case gen.DoLease:
			w.after(sm.Time(w.rng.IntN(50)), func() {
				w.stepG(i, gen.ParentInput{Kind: gen.OnGranted, Binding: slot.Binding{Slot: uint32(i), Generation: 1, Token: 1}})
			})
		case gen.DoPublish:
			w.after(sm.Time(w.rng.IntN(5)), func() {
				r.opened = w.now
				w.stepG(i, gen.ParentInput{Kind: gen.OnPublish})
			})
		case gen.DoSend:
			w.fromG(i, e)
		case gen.DoProcess:
			parts := max(1, w.cfg.parts)
			for part := range parts {
				w.after(sm.Time(1+w.rng.IntN(50)), func() {
					w.stepG(i, gen.ParentInput{Kind: gen.OnProcessed, Part: part, Value: !w.chance(w.cfg.f.verify)})
				})
			}
		case gen.DoFree, gen.DoProve:
			r.freed++
			r.slot = true
			for c := range w.c {
				for _, x := range w.c[c].writes[i] {
					if x.active {
						w.fail("gen %d frees a slot that a write of ctx %d can touch", i, c)
					}
				}
				if st := w.c[c].p.Edge(uint8(i)); (st == ctx.EdgeInFlight || st == ctx.EdgeDecided) && !w.c[c].sealed[i] {
					w.fail("gen %d frees a slot that ctx %d may write", i, c)
				}
			}
			if e.Kind == gen.DoFree && next.State() == gen.ParentSuccess {
				for c := range w.c {
					if r.landed[c] != w.cfg.chunks {
						w.fail("gen %d completes without all data", i)
					}
				}
			}
		case gen.DoRestart:
			r.restart++
		case gen.DoSettle:
			r.settled++
			r.endAt = w.now
		case gen.DoClip:
			r.alarms.Limit(settle.RequestWait, r.opened+pairTimes.Clip(pairTimes.Retention))
		case gen.DoArm:
			r.alarms.Arm(e.Wait, w.now, pairTimes.Length(e.Wait, e.Step))
			arm = true
		case gen.DoDisarm:
			r.alarms.Disarm(e.Wait)
		}
	}
	if arm {
		w.armG(i)
	}
	w.gbuf = out
}

// fromG carries a message of GEN rank i.
func (w *pair) fromG(i int, e gen.ParentEffect) {
	to := int(e.Edge)
	in := ctx.ParentInput{Edge: uint8(i), Match: settle.Exact, Evidence: e.Evidence}
	switch e.Msg {
	case control.TypeOpen:
		in.Kind, in.Edges, in.Chunks, in.Caps, in.PerChunk = ctx.OnOpen, uint8(len(w.g)), w.cfg.chunks, w.cfg.caps, w.cfg.perChunk
		if w.chance(w.cfg.f.mismatch) {
			in.Match &^= settle.SameSelection
		}
		if !e.Again {
			bad := w.chance(w.cfg.f.sendFail)
			w.after(sm.Time(w.rng.IntN(10)), func() {
				if bad {
					w.stepG(i, gen.ParentInput{Kind: gen.OnSendFailed, Edge: e.Edge})
				} else {
					w.stepG(i, gen.ParentInput{Kind: gen.OnSent, Edge: e.Edge})
				}
			})
		}
	case control.TypeCancel:
		in.Kind = ctx.OnCancelMessage
	case control.TypeTerminal:
		in.Kind = ctx.OnTerminal
	case control.TypeReceipt:
		in.Kind = ctx.OnReceipt
	case control.TypeQuery:
		in.Kind = ctx.OnQuery
	}
	w.send(func() { w.stepC(to, in) })
}
