package service

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/nixlimpl/work"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/handover"
	"github.com/kvsettle/kvsettle/wire/native"
)

// The bounds of CTX's memory of request ids.
const (
	maxActive   = 4096
	maxTerminal = 65536
)

// CTX is the context service: it publishes contexts and writes their blocks to
// whoever asks for them with an exact request.
type CTX struct {
	base
	source *work.Source

	// ---- loop only ----
	reg     *registry.Registry
	records map[uint64]*ctxRecord
	queue   []uint64                                  // waiting for blocks and a slot, first come first served
	meets   map[string][]*native.RequestAndBufferInfo // requests whose sender cannot be answered yet
	meeting int                                       // their number
	bytes   atomic.Int64
	onEnd   func(Outcome)
	buf     []ctx.Effect
}

type ctxRecord struct {
	id       uint64
	m        ctx.Machine
	hand     handover.Handover
	publish  func(handover.Handover, error)
	plan     *kv.Plan
	bind     slot.Binding
	leased   bool // bind is ours but not yet the machine's
	filling  bool
	queued   bool
	dropped  bool
	waiting  spec.Reason
	peer     string // of edge 0
	target   transport.Target
	blocks   []kv.BlockID // requested tail
	transfer *work.Transfer
	started  sm.Time
}

// NewCTX starts a context service. onEnd is called on the service's loop with the
// outcome of every context, after its slot is free or quarantined.
func NewCTX(cfg Config, onEnd func(Outcome)) (*CTX, error) {
	reg, err := registry.New(maxActive, maxTerminal, nanos(cfg.Settings.ControlLifetime()))
	if err != nil {
		return nil, err
	}
	c := &CTX{reg: reg, records: make(map[uint64]*ctxRecord), meets: make(map[string][]*native.RequestAndBufferInfo), onEnd: onEnd}
	ready := make(chan struct{})
	sink := func(ev transport.Event) {
		<-ready
		if ev.Kind == transport.WriteEnded {
			c.source.WriteEnded(ev)
			return
		}
		c.loop.Post(func() { c.event(ev) })
	}
	if err := c.open(cfg, false, sink); err != nil {
		return nil, err
	}
	c.source = work.NewSource(c.group, c.agent)
	c.onFreed = c.pump
	close(ready)
	return c, nil
}

// OnUnhealthy sets what is called on the loop when the quarantine budget is used
// up and everything open has been failed. Set it before the first request.
func (c *CTX) OnUnhealthy(f func()) {
	c.loop.Post(func() {
		c.onOver = func() {
			// After the step that is under way: it still has effects to carry out.
			c.loop.Post(func() {
				c.abortAll(sm.PoolUnhealthy)
				f()
			})
		}
	})
}

// Context admits a request. reply is called once on the loop: with the context
// result when it is visible to GEN, or with why it never will be.
func (c *CTX) Context(h handover.Handover, reply func(handover.Handover, error)) {
	c.loop.Post(func() { c.admit(h, reply) })
}

// Cancel ends the context of a request where it still can; after the ready commit
// it changes nothing (KS-V1-10). An unknown id is not an error.
func (c *CTX) Cancel(id uint64, reason spec.Reason) {
	c.loop.Post(func() {
		if r := c.records[id]; r != nil {
			c.step(r, ctx.Input{Kind: ctx.Cancel, Reason: reason})
		}
	})
}

// Abort fails every open context: what is under way is not waited for, and slots
// that nothing proves quiet are quarantined.
func (c *CTX) Abort(reason spec.Reason) { c.loop.Post(func() { c.abortAll(reason) }) }

// State calls f on the loop with a snapshot.
func (c *CTX) State(f func(State)) { c.loop.Post(func() { f(c.look()) }) }

func (c *CTX) look() State {
	s := c.snapshot()
	s.Cached = c.reg.Cached()
	s.Bytes = c.bytes.Load()
	s.Waiting = len(c.queue)
	for _, r := range c.records {
		if r.m.State() == ctx.Unproven {
			s.Unproven++
		} else {
			s.Open++
		}
	}
	return s
}

func (c *CTX) admit(h handover.Handover, reply func(handover.Handover, error)) {
	switch {
	case c.closing:
		reply(h, sm.Refuse(sm.PoolClosed, "KS-SLOT-11", "context after admission stopped"))
		return
	case !c.pool.Healthy():
		reply(h, sm.Refuse(sm.PoolUnhealthy, "KS-SLOT-5", "context while the quarantine budget is used up"))
		return
	}
	if err := c.reg.Open(h.RequestID, c.now()); err != nil {
		c.count("contexts_refused")
		reply(h, err)
		return
	}
	r := &ctxRecord{id: h.RequestID, hand: h, publish: reply, started: c.now()}
	c.records[r.id] = r
	s := c.cfg.Settings
	c.step(r, ctx.Input{Kind: ctx.Start, Edges: 1, Settings: ctx.Settings{
		Admission: nanos(s.Admission), Context: nanos(s.Context), Request: nanos(s.request(h.KVSettle.DeadlineMS)), Control: nanos(s.Control)}})
}

// step runs the machine and carries out its effects in order.
func (c *CTX) step(r *ctxRecord, in ctx.Input) {
	in.Now = c.now()
	m, effects, err := r.m.Step(in, c.buf[:0])
	if err != nil {
		c.count("steps_refused")
		c.log.Warn("step refused", "err", err, "request_id", r.id)
		return
	}
	r.m = m
	// Effects may step this or another machine; then the buffer is theirs.
	c.buf = nil
	for _, e := range effects {
		c.do(r, e)
	}
	c.buf = effects[:0]
}

func (c *CTX) do(r *ctxRecord, e ctx.Effect) {
	switch e.Kind {
	case ctx.Admit:
		r.queued, r.waiting = true, sm.AdmissionDeadlineSlot
		c.queue = append(c.queue, r.id)
		c.pump()
	case ctx.Withdraw:
		c.withdraw(r)
	case ctx.Publish:
		c.show(r)
	case ctx.BeginSlot:
		c.mustSlot(slot.Input{Kind: slot.Begin, Binding: e.Binding})
	case ctx.SendReady:
		c.send(r.peer, native.AppendReady, native.Ready{AgentName: r.peer, Tag: native.DataTag(r.id), Ready: e.Value})
	case ctx.SendSync:
		c.sendSync(r)
	case ctx.StartWrite:
		c.write(r, e.Edge)
	case ctx.StopWrite:
		c.source.Stop(r.transfer, transport.ErrPeerGone)
	case ctx.ReleaseSlot:
		c.giveBack(slot.Release, e.Binding, e.Proof, c.cfg.SlotBytes)
	case ctx.QuarantineSlot:
		if r.transfer != nil {
			c.source.Release(r.transfer)
		}
		c.mustSlot(slot.Input{Kind: slot.Quarantine, Binding: e.Binding})
	case ctx.ProveSlot:
		c.count("slots_proven_late")
		c.giveBack(slot.Prove, e.Binding, e.Proof, c.cfg.SlotBytes)
	case ctx.Timer:
		c.loop.SetTimer(r.id, e.At, func(sm.Time) { c.step(r, ctx.Input{Kind: ctx.Tick, Reason: r.waiting}) })
	case ctx.Stray:
		c.count("stray_" + string(e.Reason))
	case ctx.Settle:
		c.settle(r, e)
	case ctx.Drop:
		r.dropped = true
		delete(c.records, r.id)
		c.pin(r.peer, -1)
		if err := c.reg.Close(r.id, r.m.Committed(), r.m.Reason(), c.now()); err != nil {
			c.log.Error("registry", "err", err)
		}
		c.letGo(r)
	}
}

func (c *CTX) settle(r *ctxRecord, e ctx.Effect) {
	c.count("ended_" + e.Disposition.String())
	o := Outcome{RequestID: r.id, Disposition: e.Disposition, Reason: e.Reason, Message: c.explain(e.Reason), Bytes: c.bytes.Load()}
	if r.publish != nil {
		reply := r.publish
		r.publish = nil
		reply(r.hand, sm.Refuse(e.Reason, "KS-V1-3", "context ended before it was published: "+o.Message))
	}
	c.log.Info("context ended", "request_id", r.id, "disposition", e.Disposition.String(), "reason", string(e.Reason))
	if c.onEnd != nil {
		c.onEnd(o)
	}
}

func (b *base) explain(r spec.Reason) string {
	if s := settingOf(r, b.cfg.Settings); s != "" {
		return string(r) + ": " + s
	}
	return string(r)
}

// pump admits from the head of the queue while blocks and a slot are there.
func (c *CTX) pump() {
	for len(c.queue) > 0 {
		r := c.records[c.queue[0]]
		if r == nil || !r.queued {
			c.queue = c.queue[1:]
			continue
		}
		if c.pool.Counts().Free == 0 || !c.pool.Healthy() {
			r.waiting = sm.AdmissionDeadlineSlot
			return
		}
		plan, err := c.cache.Reserve(r.hand.KVSettle.HashIDs, int(r.hand.KVSettle.InputLength))
		if errors.Is(err, kv.ErrFull) {
			r.waiting = sm.AdmissionDeadlineBlock
			return
		}
		c.queue = c.queue[1:]
		r.queued = false
		if err != nil {
			c.step(r, ctx.Input{Kind: ctx.Denied, Reason: reasonOf(err, sm.BadRequest)})
			continue
		}
		r.plan = plan
		bind, err := c.slotStep(slot.Input{Kind: slot.Lease, Owner: r.id})
		if err != nil {
			c.step(r, ctx.Input{Kind: ctx.Denied, Reason: reasonOf(err, sm.SlotsExhausted)})
			continue
		}
		r.bind, r.leased, r.filling = bind, true, true
		c.prefill(r)
	}
}

// prefill makes the missing blocks in workers, then grants. It stands in for the
// model.
func (c *CTX) prefill(r *ctxRecord) {
	hashes, tokens := r.hand.KVSettle.HashIDs, int(r.hand.KVSettle.InputLength)
	plan := r.plan
	first := plan.HitBlocks
	c.group.Split(len(plan.NewBlocks()), 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			// The errors of FillBlock are mistakes in this loop's arguments; GEN's check finds them.
			_ = c.kvpool.FillBlock(plan.Blocks[first+i], kv.ContentOf(c.cfg.Geometry, hashes, tokens, first+i))
		}
	}, func() {
		c.loop.Post(func() {
			c.inspect(r.bind, func() { c.granted(r) })
		})
	})
}

func (c *CTX) granted(r *ctxRecord) {
	r.filling = false
	if r.dropped {
		c.letGo(r)
		return
	}
	if err := c.cache.Commit(r.plan); err != nil {
		c.log.Error("cache", "err", err)
	}
	r.leased = false
	c.step(r, ctx.Input{Kind: ctx.Granted, Binding: r.bind})
}

func (c *CTX) withdraw(r *ctxRecord) { r.queued = false }

// letGo returns what a dropped record still holds, once no worker uses it.
func (c *CTX) letGo(r *ctxRecord) {
	if r.filling {
		return
	}
	if r.leased {
		r.leased = false
		c.giveBack(slot.Release, r.bind, slot.NeverAdvertised, 0)
	}
	if r.plan != nil {
		plan := r.plan
		r.plan = nil
		if err := c.cache.Release(plan); err != nil {
			c.log.Error("cache", "err", err)
		}
		c.pump()
	}
}

// show makes the context result visible.
func (c *CTX) show(r *ctxRecord) {
	raw, err := native.AppendState(nil, native.Mid2026, c.state)
	if err != nil {
		c.step(r, ctx.Input{Kind: ctx.Abort, Reason: sm.BadRequest})
		return
	}
	h := r.hand
	text, id := handover.EncodeState(raw), r.id
	h.DisaggregatedParams = handover.DisaggregatedParams{RequestType: handover.ContextOnly,
		FirstGenTokens: []int64{int64(id & 0x7fff)}, CtxRequestID: &id, EncodedOpaqueState: &text}
	reply := r.publish
	r.publish = nil
	if e, ok := c.agent.(expecter); ok {
		e.Expect() // GEN's request comes next
	}
	reply(h, nil)
}

func (c *CTX) write(r *ctxRecord, edge uint8) {
	layout := kv.Layout{Geometry: c.cfg.Geometry, Blocks: len(r.blocks)}
	t := &work.Transfer{
		Peer: r.peer, Dst: r.target, Layout: layout, Pool: c.kvpool, Blocks: r.blocks,
		Staging: c.slotMem(r.bind.Slot), Chunk: min(c.cfg.Chunk, c.cfg.SlotBytes), NoGather: c.cfg.NoCopy,
	}
	if c.cfg.Hooks.Poster != nil {
		t.Poster = c.cfg.Hooks.Poster(r.id, layout.Bytes(), c.agent)
	}
	t.Progress = func(n int) { c.bytes.Add(int64(n)) }
	t.End = func(complete bool, err error) {
		c.loop.Post(func() {
			if complete {
				c.step(r, ctx.Input{Kind: ctx.Written, Edge: edge})
				return
			}
			reason := sm.WriteFailed
			if errors.Is(err, transport.ErrPeerGone) || errors.Is(err, transport.ErrUnknownPeer) {
				reason = sm.PeerLost
			}
			c.log.Warn("write ended early", "request_id", r.id, "err", err)
			if t.Broken() && !c.agent.Contract().ErrorQuiet {
				// Nothing proves this slot quiet any more (KS-BACK-4): the edge stays open, and the
				// control deadline quarantines the slot.
				c.count("writes_unproven")
				if reason == sm.PeerLost {
					c.step(r, ctx.Input{Kind: ctx.PeerLost, Mask: 1 << edge})
				} else {
					c.step(r, ctx.Input{Kind: ctx.Abort, Reason: reason})
				}
				return
			}
			c.step(r, ctx.Input{Kind: ctx.Ended, Edge: edge, Reason: reason})
		})
	}
	r.transfer = t
	c.source.Start(t)
}

func (c *CTX) sendSync(r *ctxRecord) {
	c.send2(r.peer, func(b []byte) ([]byte, error) {
		return native.AppendSync(b, native.Sync{AgentName: r.peer, Tag: native.DataTag(r.id)})
	})
}

func (c *CTX) send(peer string, enc func([]byte, native.Ready) ([]byte, error), v native.Ready) {
	c.send2(peer, func(b []byte) ([]byte, error) { return enc(b, v) })
}

func (c *CTX) send2(peer string, enc func([]byte) ([]byte, error)) {
	msg, err := enc(nil)
	if err == nil {
		err = c.agent.Notify(peer, msg)
	}
	if err != nil {
		// The loss of the peer follows as an event; the machine waits for that or its deadline.
		c.count("notices_failed")
		c.log.Warn("notice not sent", "peer", peer, "err", err)
		return
	}
	c.count("notices_sent")
}

func (c *CTX) abortAll(reason spec.Reason) {
	for _, r := range c.sorted() {
		c.step(r, ctx.Input{Kind: ctx.Abort, Reason: reason})
	}
}

// Close stops admission, ends what is open within the control deadline, and takes
// the service down. It returns the last snapshot.
func (c *CTX) Close() (State, error) {
	last := make(chan State, 1)
	c.loop.Post(func() {
		c.closing = true
		for _, r := range c.sorted() {
			c.step(r, ctx.Input{Kind: ctx.Cancel, Reason: sm.ShutdownCancel})
		}
		c.settleDown(c.now()+nanos(c.cfg.Settings.Control), func() bool { return c.look().Open == 0 }, func() {
			c.sweep()
			last <- c.look()
		})
	})
	s := <-last
	return s, c.shut()
}

// settleDown polls on the loop's own timer until quiet or the bound has passed.
func (b *base) settleDown(until sm.Time, quiet func() bool, then func()) {
	if b.stamping == 0 && quiet() || b.now() >= until {
		then()
		return
	}
	b.loop.SetTimer(^uint64(0), b.now()+nanos(2*time.Millisecond), func(sm.Time) { b.settleDown(until, quiet, then) })
}
