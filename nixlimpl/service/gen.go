package service

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
	"github.com/kvsettle/kvsettle/wire/handover"
	"github.com/kvsettle/kvsettle/wire/native"
)

// GEN is the generation service: it asks CTX for the blocks it lacks and puts them
// in place.
type GEN struct {
	base

	// ---- loop only ----
	records map[uint64]*genRecord
	queue   []uint64
	peers   map[string]*peer
	onSent  func(id uint64)
	buf     []gen.Effect
	pumping bool
	again   bool
}

// peer is one CTX agent as this GEN knows it.
type peer struct {
	name, address string
	tags          *tag.Table
	// up says that the transport knows it; dialing that a worker is at it.
	up, dialing, gone bool
	// answered: a ready or sync of it arrived, so it knows this agent.
	answered bool
	failed   error
	open     int
}

type genRecord struct {
	id      uint64
	m       gen.Machine
	hand    handover.Handover
	reply   func(Outcome)
	peer    *peer
	plan    *kv.Plan
	bind    slot.Binding
	leased  bool // bind is ours but not yet the machine's
	checks  bool // a worker is at the slot's stamp
	copying bool
	queued  bool
	dialled bool // an attempt to reach the peer failed while it waited
	tagged  bool
	dropped bool
	fullHit bool
	waiting spec.Reason
	// expected is why a refusal by CTX is expected; empty where it is not.
	expected spec.Reason
	sent     sm.Time
	done     sm.Time
	blocks   int
	corrupt  int
	hits     int // prefix blocks
	misses   int
	message  string
}

// NewGEN starts a generation service. onSent is called on the loop when a
// request may have become visible to CTX.
func NewGEN(cfg Config, onSent func(id uint64)) (*GEN, error) {
	g := &GEN{records: make(map[uint64]*genRecord), peers: make(map[string]*peer), onSent: onSent}
	ready := make(chan struct{})
	sink := func(ev transport.Event) {
		<-ready
		g.loop.Post(func() { g.event(ev) })
	}
	if err := g.open(cfg, true, sink); err != nil {
		return nil, err
	}
	g.onFreed = g.pump
	close(ready)
	return g, nil
}

// OnUnhealthy sets what is called on the loop when the quarantine budget is used
// up and everything open has been failed. Set it before the first request.
func (g *GEN) OnUnhealthy(f func()) {
	g.loop.Post(func() {
		g.onOver = func() {
			// After the step that is under way: it still has effects to carry out.
			g.loop.Post(func() {
				g.abortAll(sm.PoolUnhealthy)
				f()
			})
		}
	})
}

// Generation admits a request with a context result. reply is called once on the
// loop with the outcome.
func (g *GEN) Generation(h handover.Handover, reply func(Outcome)) {
	g.loop.Post(func() { g.admit(h, reply) })
}

// Cancel asks for the end of a request. An unknown id is not an error.
func (g *GEN) Cancel(id uint64, reason spec.Reason) {
	g.loop.Post(func() {
		if r := g.records[id]; r != nil {
			g.step(r, gen.Input{Kind: gen.Cancel, Reason: reason})
		}
	})
}

// Abort fails every open request: what is under way is not waited for, and slots
// that nothing proves quiet are quarantined.
func (g *GEN) Abort(reason spec.Reason) { g.loop.Post(func() { g.abortAll(reason) }) }

// Verify makes GEN check every byte of every block from the next request on.
func (g *GEN) Verify() { g.loop.Post(func() { g.cfg.Verify = true }) }

// State calls f on the loop with a snapshot.
func (g *GEN) State(f func(State)) { g.loop.Post(func() { f(g.look()) }) }

func (g *GEN) look() State {
	s := g.snapshot()
	s.Waiting = len(g.queue)
	for _, r := range g.records {
		if r.m.State() == gen.Unproven {
			s.Unproven++
		} else {
			s.Open++
		}
	}
	return s
}

func failed(id uint64, reason spec.Reason, text string) Outcome {
	return Outcome{RequestID: id, Disposition: sm.Failed, Reason: reason, Message: text}
}

func (g *GEN) admit(h handover.Handover, reply func(Outcome)) {
	id := h.RequestID
	switch {
	case g.closing:
		reply(failed(id, sm.PoolClosed, "generation after admission stopped (KS-SLOT-11)"))
		return
	case !g.pool.Healthy():
		reply(failed(id, sm.PoolUnhealthy, "generation while the quarantine budget is used up (KS-SLOT-5)"))
		return
	case g.records[id] != nil || id == ^uint64(0):
		reply(failed(id, sm.DuplicateID, "request id is active (KS-V1-12)"))
		return
	}
	agent, peers, cache, err := remote(h)
	if err != nil {
		g.count("handovers_refused")
		reply(failed(id, "bad-handover", err.Error()))
		return
	}
	r := &genRecord{id: id, hand: h, reply: reply, peer: g.peerOf(agent)}
	g.records[id] = r
	s := g.cfg.Settings
	d := negotiate.GEN(g.cfg.Local, g.desc, peers)
	g.step(r, gen.Input{Kind: gen.Start, Edges: 1, ExpectReject: d.Action == negotiate.ProceedExpectReject, CancelBeatsSuccess: g.Enabled(), Settings: gen.Settings{
		Admission: nanos(s.Admission), Request: nanos(s.request(h.KVSettle.DeadlineMS)), Control: nanos(s.Control)}})
	if d.Action == negotiate.RefuseLocally {
		g.step(r, gen.Input{Kind: gen.RefusedLocally, Reason: d.Reason})
		return
	}
	// Why CTX will refuse is known here; its ready=false does not say.
	r.expected = d.Reason
	if !sameLayout(g.state.Cache, cache) {
		g.step(r, gen.Input{Kind: gen.RefusedLocally, Reason: "layout-mismatch"})
		return
	}
	g.pump()
}

// remote takes the context result apart.
func remote(h handover.Handover) (native.AgentState, []string, *native.CacheState, error) {
	bad := func(what string) error { return sm.Refuse("bad-handover", "KS-HTTP-1", what) }
	p := h.DisaggregatedParams
	switch {
	case p.EncodedOpaqueState == nil:
		return native.AgentState{}, nil, nil, bad("disaggregated_params.encoded_opaque_state is missing")
	case p.CtxRequestID == nil || *p.CtxRequestID != h.RequestID:
		return native.AgentState{}, nil, nil, bad("disaggregated_params.ctx_request_id is missing or another request's")
	}
	raw, err := handover.DecodeState(*p.EncodedOpaqueState)
	if err != nil {
		return native.AgentState{}, nil, nil, err
	}
	s, err := native.DecodeState(native.Mid2026, raw)
	if err != nil {
		return native.AgentState{}, nil, nil, err
	}
	if err := s.Validate(); err != nil {
		return native.AgentState{}, nil, nil, err
	}
	if s.Comm == nil || s.Cache == nil || s.Comm.Kind != native.CommAgent || len(s.Comm.Agents) != 1 {
		return native.AgentState{}, nil, nil, bad("the context state must name exactly one agent and a cache layout")
	}
	return s.Comm.Agents[0], []string{s.Comm.Agents[0].Name}, s.Cache, nil
}

func (g *GEN) peerOf(a native.AgentState) *peer {
	p := g.peers[a.Name]
	if p == nil {
		p = &peer{name: a.Name, address: a.ConnInfo, tags: &tag.Table{}}
		g.peers[a.Name] = p
	}
	if !p.up && !p.dialing {
		p.address = a.ConnInfo // the latest word: an earlier one may have been a stranger's
	}
	return p
}

func (g *GEN) sorted() []*genRecord {
	out := make([]*genRecord, 0, len(g.records))
	for _, r := range g.records {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *genRecord) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return out
}

func (g *GEN) step(r *genRecord, in gen.Input) {
	in.Now = g.now()
	m, effects, err := r.m.Step(in, g.buf[:0])
	if err != nil {
		g.count("steps_refused")
		g.log.Warn("step refused", "err", err, "request_id", r.id)
		return
	}
	r.m = m
	g.buf = nil
	if m.Disposition() == sm.Completed && r.plan != nil && r.done == 0 {
		r.done = in.Now
		if err := g.cache.Commit(r.plan); err != nil {
			g.log.Error("cache", "err", err)
		}
	}
	var then []gen.Input
	for _, e := range effects {
		then = g.do(r, e, then)
	}
	g.buf = effects[:0]
	for _, in := range then {
		g.step(r, in)
	}
}

func (g *GEN) do(r *genRecord, e gen.Effect, then []gen.Input) []gen.Input {
	switch e.Kind {
	case gen.Admit:
		r.queued, r.waiting = true, sm.AdmissionDeadlineSlot
		g.queue = append(g.queue, r.id)
	case gen.Withdraw:
		r.queued = false
	case gen.AdvertiseSlot:
		g.mustSlot(slot.Input{Kind: slot.Advertise, Binding: e.Binding})
		r.peer.open++
		g.pin(r.peer.name, 1)
	case gen.SendRequest:
		return append(then, gen.Input{Kind: g.ask(r), Edge: e.Edge})
	case gen.BeginSlot:
		g.mustSlot(slot.Input{Kind: slot.Begin, Binding: e.Binding})
	case gen.Scatter:
		g.scatter(r)
	case gen.ReleaseSlot:
		r.peer.open--
		g.pin(r.peer.name, -1)
		g.giveBack(slot.Release, e.Binding, e.Proof, g.used(r))
	case gen.QuarantineSlot:
		if g.cfg.unsafeReuse {
			g.mustSlot(slot.Input{Kind: slot.Release, Binding: e.Binding, Proof: slot.Settled})
			break
		}
		g.mustSlot(slot.Input{Kind: slot.Quarantine, Binding: e.Binding})
		g.letGo(r)
	case gen.ProveSlot:
		r.peer.open--
		g.pin(r.peer.name, -1)
		g.count("slots_proven_late")
		if !g.cfg.unsafeReuse {
			g.giveBack(slot.Prove, e.Binding, e.Proof, g.used(r))
		}
	case gen.EndTag:
		g.endTag(r)
	case gen.Timer:
		g.loop.SetTimer(r.id, e.At, func(sm.Time) { g.step(r, gen.Input{Kind: gen.Tick, Reason: r.waiting}) })
	case gen.Stray:
		g.count("stray_" + string(e.Reason))
	case gen.Settle:
		g.settle(r, e)
	case gen.Drop:
		r.dropped = true
		delete(g.records, r.id)
		g.letGo(r)
		g.forget(r.peer)
	}
	return then
}

func (g *GEN) used(r *genRecord) int {
	if r.plan == nil {
		return g.cfg.SlotBytes
	}
	return len(r.plan.NewBlocks()) * g.cfg.Geometry.BlockBytes()
}

func (g *GEN) endTag(r *genRecord) {
	if !r.tagged {
		return
	}
	r.tagged = false
	until := g.now() + nanos(g.cfg.Settings.ControlLifetime())
	if err := r.peer.tags.End(r.id, until); err != nil {
		g.log.Error("tag", "err", err)
	}
}

func (g *GEN) settle(r *genRecord, e gen.Effect) {
	if e.Reason == sm.PeerRejected && r.expected != "" {
		e.Reason = r.expected
	}
	o := Outcome{RequestID: r.id, Disposition: e.Disposition, Reason: e.Reason, Message: g.explain(e.Reason),
		FullHit: r.fullHit, Blocks: r.blocks, Corrupt: r.corrupt, Hits: r.hits, Misses: r.misses}
	if r.message != "" {
		o.Message += ": " + r.message
	}
	if e.Disposition == sm.Completed && !r.fullHit {
		o.Latency = time.Duration(r.done - r.sent)
		o.Bytes = int64(r.blocks) * int64(g.cfg.Geometry.BlockBytes())
	}
	g.count("ended_" + e.Disposition.String())
	g.log.Info("request ended", "request_id", r.id, "disposition", e.Disposition.String(), "reason", string(e.Reason))
	if r.reply != nil {
		reply := r.reply
		r.reply = nil
		reply(o)
	}
}

// letGo returns the blocks of a record that has ended, and a lease that the
// machine never got, once no worker uses them.
func (g *GEN) letGo(r *genRecord) {
	if r.copying || r.checks {
		return
	}
	if r.leased {
		r.leased = false
		g.giveBack(slot.Release, r.bind, slot.NeverAdvertised, 0)
		g.endTag(r)
	}
	if r.plan != nil {
		plan := r.plan
		r.plan = nil
		if err := g.cache.Release(plan); err != nil {
			g.log.Error("cache", "err", err)
		}
		g.pump()
	}
}

func (g *GEN) scatter(r *genRecord) {
	geo, blocks := g.cfg.Geometry, r.plan.NewBlocks()
	layout := kv.Layout{Geometry: geo, Blocks: len(blocks)}
	src := g.slotMem(r.bind.Slot)
	r.copying = true
	var bad atomic.Int64
	finish := func() {
		g.loop.Post(func() {
			r.copying = false
			r.blocks, r.corrupt = len(blocks), int(bad.Load())
			g.step(r, gen.Input{Kind: gen.Scattered, Value: r.corrupt == 0})
			if r.dropped {
				g.letGo(r)
			}
		})
	}
	if g.cfg.NoCopy {
		finish()
		return
	}
	verify := func() {
		if !g.cfg.Verify {
			finish()
			return
		}
		hashes, tokens, first := r.hand.KVSettle.HashIDs, r.plan.Tokens, r.plan.HitBlocks
		g.group.Split(len(blocks), 16, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				if ok, _ := g.kvpool.VerifyBlock(blocks[i], kv.ContentOf(geo, hashes, tokens, first+i)); !ok {
					bad.Add(1)
				}
			}
		}, finish)
	}
	g.group.Split(layout.Bytes(), g.cfg.Chunk, func(lo, hi int) {
		if err := layout.Scatter(src[lo:hi], g.kvpool, blocks, lo, hi-lo); err != nil {
			bad.Add(1)
		}
	}, verify)
}

func (g *GEN) abortAll(reason spec.Reason) {
	for _, r := range g.sorted() {
		g.step(r, gen.Input{Kind: gen.Abort, Reason: reason})
	}
}

// Close stops admission, cancels what is open, waits at most the control deadline
// and takes the service down. It returns the last snapshot.
func (g *GEN) Close() (State, error) {
	last := make(chan State, 1)
	g.loop.Post(func() {
		g.closing = true
		for _, r := range g.sorted() {
			g.step(r, gen.Input{Kind: gen.Cancel, Reason: sm.ShutdownCancel})
		}
		g.settleDown(g.now()+nanos(g.cfg.Settings.Control), func() bool { return g.look().Open == 0 }, func() {
			g.sweep()
			last <- g.look()
		})
	})
	s := <-last
	return s, g.shut()
}

var errConnect = errors.New("peer could not be reached")
