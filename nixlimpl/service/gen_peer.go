package service

import (
	"errors"
	"fmt"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
	"github.com/kvsettle/kvsettle/wire/native"
)

// pump admits whatever can go on. Requests that wait for their own peer or tag
// hold up nobody else; for blocks and slots the order of arrival counts.
func (g *GEN) pump() {
	if g.pumping {
		g.again = true
		return
	}
	g.pumping = true
	defer func() { g.pumping = false }()
	for {
		g.again = false
		g.pass()
		if !g.again {
			return
		}
	}
}

func (g *GEN) pass() {
	keep := make([]uint64, 0, len(g.queue))
	queue := g.queue
	g.queue = nil
	full := false
	for _, id := range queue {
		r := g.records[id]
		if r == nil || !r.queued {
			continue
		}
		if full || !g.try(r, &full) {
			keep = append(keep, id)
		}
	}
	g.queue = append(keep, g.queue...)
}

// try takes one request as far as it can go; true means that it left the queue.
// full is set when blocks or slots are short, so that nobody overtakes.
func (g *GEN) try(r *genRecord, full *bool) bool {
	ks := r.hand.KVSettle
	tokens := int(ks.InputLength)
	if hit := g.cache.Lookup(ks.HashIDs, tokens); hit == tokens {
		return g.hit(r)
	}
	if !g.connected(r) {
		return r.m.Disposition() != sm.Open
	}
	if free, again := r.peer.tags.FreeAt(r.id, g.now()); !free {
		r.waiting = sm.AdmissionDeadlineTag
		if again != 0 {
			g.loop.SetTimer(r.id|1<<63, again, func(sm.Time) { g.pump() })
		}
		return false
	}
	if g.cfg.PeerReady42 && r.peer.open > 0 {
		r.waiting = sm.AdmissionDeadlineTag
		return false
	}
	if g.pool.Counts().Free == 0 || !g.pool.Healthy() {
		r.waiting, *full = sm.AdmissionDeadlineSlot, true
		return false
	}
	plan, err := g.cache.Reserve(ks.HashIDs, tokens)
	if errors.Is(err, kv.ErrFull) {
		r.waiting, *full = sm.AdmissionDeadlineBlock, true
		return false
	}
	r.queued = false
	if err != nil {
		r.message = err.Error()
		g.step(r, gen.Input{Kind: gen.Denied, Reason: reasonOf(err, sm.BadRequest)})
		return true
	}
	r.plan = plan
	r.count(plan)
	need := len(plan.NewBlocks()) * g.cfg.Geometry.BlockBytes()
	bind, err := g.slotStep(slot.Input{Kind: slot.Lease, Owner: r.id, Need: uint64(need)})
	if err != nil {
		r.message = fmt.Sprintf("%d bytes for a slot of %d bytes (setting --slot-bytes)", need, g.cfg.SlotBytes)
		g.step(r, gen.Input{Kind: gen.Denied, Reason: reasonOf(err, sm.SlotsExhausted)})
		return true
	}
	if err := r.peer.tags.Hold(r.id, g.now()); err != nil {
		g.log.Error("tag", "err", err)
	}
	r.bind, r.leased, r.tagged, r.checks = bind, true, true, true
	g.inspect(bind, func() {
		r.checks = false
		if r.dropped {
			g.letGo(r)
			return
		}
		r.leased = false
		g.step(r, gen.Input{Kind: gen.Granted, Binding: r.bind})
	})
	return true
}

func (g *GEN) hit(r *genRecord) bool {
	plan, err := g.cache.Reserve(r.hand.KVSettle.HashIDs, int(r.hand.KVSettle.InputLength))
	if err != nil {
		return false
	}
	r.queued, r.fullHit, r.plan = false, true, plan
	r.count(plan)
	g.step(r, gen.Input{Kind: gen.Nothing})
	return true
}

func (r *genRecord) count(p *kv.Plan) {
	r.hits = (p.HitTokens + kv.PrefixTokens - 1) / kv.PrefixTokens
	r.misses = len(r.hand.KVSettle.HashIDs) - r.hits
}

// connected makes the transport know the peer, one attempt at a time, in a worker.
func (g *GEN) connected(r *genRecord) bool {
	p := r.peer
	switch {
	case p.up:
		return true
	case p.dialing:
		return false
	case p.failed != nil && r.dialled:
		r.queued = false
		r.message = p.failed.Error()
		g.step(r, gen.Input{Kind: gen.Denied, Reason: "peer-unreachable"})
		return false
	}
	// A peer whose connection broke may live and be reachable again (KS-BACK-18).
	p.gone, p.failed = false, nil
	p.dialing = true
	dialled := func(err error) {
		g.loop.Post(func() {
			p.dialing, p.up = false, err == nil && !p.gone
			if err != nil {
				p.failed = fmt.Errorf("%w: %w", errConnect, err)
				g.count("connects_failed")
				g.log.Warn("peer not reached", "peer", p.name, "err", err)
				for _, w := range g.records {
					w.dialled = w.dialled || w.queued && w.peer == p
				}
			}
			g.pump()
			if !p.up {
				g.forget(p)
			}
		})
	}
	if !g.joins.start(func() { dialled(g.agent.AddPeer(p.name, p.address, nil)) }) {
		dialled(errTooManyJoins)
	}
	return false
}

// forget drops a peer that is gone or failed once no request names it.
func (g *GEN) forget(p *peer) {
	if p == nil || !p.gone && p.failed == nil {
		return
	}
	for _, r := range g.records {
		if r.peer == p {
			return
		}
	}
	if g.peers[p.name] == p {
		delete(g.peers, p.name)
	}
}

// ask sends the request and says what is known of it.
func (g *GEN) ask(r *genRecord) gen.Kind {
	ks := r.hand.KVSettle
	n := len(r.plan.NewBlocks())
	mem := g.slotMem(r.bind.Slot)
	// Until CTX has answered once, it may not have heard of this agent: a request that
	// is lost or cancelled must not take the only copy with it (KS-V1-23).
	var metadata []byte
	var err error
	if !r.peer.answered {
		metadata, err = g.agent.Metadata()
	}
	if err != nil {
		r.message = err.Error()
		return gen.PublishError
	}
	msg, err := native.AppendRequest(nil, native.RequestAndBufferInfo{
		AgentName: g.name, Address: g.agent.Address(),
		Info: native.RequestInfo{RequestID: r.id, IndexFromEnd: int32(n - 1),
			LastBlockKey: lastKey(g.cfg.Geometry, ks.HashIDs, int(ks.InputLength), len(r.plan.Blocks)-1),
			State:        g.state},
		Buffers: []native.MemoryDesc{{Addr: g.region.Addr + uint64(g.slotAt(r.bind.Slot)),
			Len: uint64(len(mem)), Device: g.region.Device}},
		Kinds:       []native.BufferKind{native.KV},
		HasMetadata: len(metadata) > 0, Metadata: metadata,
	})
	r.sent = g.now()
	if err == nil {
		err = g.agent.Notify(r.peer.name, msg)
	}
	if err != nil {
		r.message = err.Error()
		g.log.Warn("request not sent", "request_id", r.id, "err", err)
		return gen.PublishError
	}
	g.count("notices_sent")
	if g.onSent != nil {
		g.onSent(r.id)
	}
	return gen.Published
}

func (g *GEN) event(ev transport.Event) {
	switch ev.Kind {
	case transport.Notice:
		g.count("notices_received")
		g.notice(ev)
	case transport.PeerLost:
		g.count("peers_lost")
		g.lost(ev.Peer, gen.PeerLost)
	case transport.PeerDead:
		g.count("peers_dead")
		if g.agent.Contract().DeathQuiet {
			g.lost(ev.Peer, gen.PeerQuiet)
		}
	}
}

func (g *GEN) lost(name string, kind gen.Kind) {
	p := g.peers[name]
	if p == nil {
		return
	}
	p.up, p.gone, p.answered = false, true, false
	for _, r := range g.sorted() {
		if r.peer == p {
			g.step(r, gen.Input{Kind: kind, Mask: 1})
		}
	}
	g.pump()
	g.forget(p)
}

// notice matches a ready or sync by sender, addressee and tag. What matches no
// attempt is dropped and counted (KS-TAG-4).
func (g *GEN) notice(ev transport.Event) {
	n, err := native.DecodeNotification(ev.Payload)
	if err != nil {
		g.refuse(ev.Peer, "malformed-notification", "KS-V1-34", err)
		return
	}
	var in gen.Input
	var to string
	var t int32
	switch n.Kind {
	case native.KindReady:
		in, to, t = gen.Input{Kind: gen.Ready, Value: n.Ready.Ready}, n.Ready.AgentName, n.Ready.Tag
	case native.KindSync:
		in, to, t = gen.Input{Kind: gen.Sync}, n.Sync.AgentName, n.Sync.Tag
	default:
		g.refuse(ev.Peer, "unexpected-notification", "KS-V1-34", nil)
		return
	}
	p := g.peers[ev.Peer]
	if to != g.name || p == nil {
		g.refuse(ev.Peer, "sender-mismatch", "KS-V1-13", nil)
		return
	}
	p.answered = true
	if r := g.match(p, t, n.Kind); r != nil {
		g.step(r, in)
		return
	}
	g.count("notices_unmatched")
	g.log.Debug("notice matches no attempt", "peer", ev.Peer, "tag", t, "requirement", "KS-TAG-4")
}

func (g *GEN) match(p *peer, t int32, kind native.NotificationKind) *genRecord {
	if kind == native.KindReady && t == native.ReadyTag42 {
		// A legacy peer's constant tag names no request: it can only mean the single
		// outstanding one.
		var only *genRecord
		for _, r := range g.records {
			if r.peer == p && r.tagged && !r.leased {
				if only != nil {
					return nil
				}
				only = r
			}
		}
		return only
	}
	if t < 0 || t&0xff != 43 || t>>8 >= tag.Width {
		return nil
	}
	id, live := p.tags.Owner(uint16(t >> 8))
	if !live {
		return nil
	}
	r := g.records[id]
	if r == nil || r.leased || r.peer != p {
		return nil
	}
	return r
}
