package service

import (
	"slices"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/wire/native"
)

// sorted lists the records by request id, so that nothing depends on map order.
func (c *CTX) sorted() []*ctxRecord {
	out := make([]*ctxRecord, 0, len(c.records))
	for _, r := range c.records {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *ctxRecord) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return out
}

func (c *CTX) event(ev transport.Event) {
	switch ev.Kind {
	case transport.Notice:
		c.count("notices_received")
		c.notice(ev)
	case transport.PeerLost:
		c.count("peers_lost")
		for _, r := range c.sorted() {
			if r.peer == ev.Peer {
				c.step(r, ctx.Input{Kind: ctx.PeerLost, Mask: 1})
			}
		}
	}
}

// refuse counts and logs a message that changes nothing. The worker lives on
// (KS-V1-34).
func (b *base) refuse(peer string, reason spec.Reason, req string, err error) {
	b.count("refused_" + string(reason))
	b.log.Warn("message refused", "peer", peer, "reason", string(reason), "requirement", req, "err", err)
}

func (c *CTX) notice(ev transport.Event) {
	n, err := native.DecodeNotification(ev.Payload)
	if err != nil {
		c.refuse(ev.Peer, "malformed-notification", "KS-V1-34", err)
		return
	}
	if n.Kind != native.KindRequest {
		c.refuse(ev.Peer, "unexpected-notification", "KS-V1-34", nil)
		return
	}
	req := &n.Request
	// The claimed sender decides nothing unless the transport confirms it.
	if req.AgentName != ev.Peer {
		c.refuse(ev.Peer, "sender-mismatch", "KS-V1-13", nil)
		return
	}
	if k, ok := c.agent.(connecter); ok && !k.Connected(ev.Peer) {
		c.meet(ev.Peer, req)
		return
	}
	c.request(ev.Peer, req)
}

// connecter is what an agent has to which notices may come from peers that it
// cannot answer yet.
type connecter interface{ Connected(peer string) bool }

// expecter is what an agent has that polls more often when notices are due.
type expecter interface{ Expect() }

// request judges a request whose sender can be answered.
func (c *CTX) request(from string, req *native.RequestAndBufferInfo) {
	id := req.Info.RequestID
	active, answer, why := c.reg.Look(id)
	if !active {
		c.refuse(from, why, "KS-V1-3", nil)
		if answer == registry.Reject {
			c.send(from, native.AppendReady, native.Ready{AgentName: from, Tag: native.DataTag(id)})
		}
		return
	}
	r := c.records[id]
	if r.m.State() != ctx.Published && r.m.State() != ctx.Bound || r.m.Bound(0) {
		// Heard before or decided already: the machine counts it.
		c.step(r, ctx.Input{Kind: ctx.Request, Edge: 0})
		return
	}
	reason, req2, err := c.judge(r, from, req)
	if reason != sm.ReasonNone {
		c.refuse(from, reason, req2, err)
	}
	c.pin(r.peer, -1)
	c.pin(from, 1)
	r.peer = from
	c.step(r, ctx.Input{Kind: ctx.Request, Edge: 0, Value: reason == sm.ReasonNone, Reason: reason})
}

// judge makes the checks of a request whose sender and id are right, in the order
// of the spec, and keeps what the write needs.
func (c *CTX) judge(r *ctxRecord, peer string, req *native.RequestAndBufferInfo) (spec.Reason, string, error) {
	if err := req.Validate(); err != nil {
		return "bad-request", "KS-V1-14", err
	}
	comm := req.Info.State.Comm
	if comm == nil || comm.Kind != native.CommAgent || len(comm.Agents) != 1 || comm.SelfIdx != 0 {
		return "unsupported-ranks", "KS-V1-13", nil
	}
	if a := comm.Agents[0]; a.Name != req.AgentName || a.ConnInfo != req.Address {
		return "sender-mismatch", "KS-V1-13", nil
	}
	if d := negotiate.CTX(c.cfg.Local, c.desc, []string{req.AgentName}); d.Action != negotiate.Accept {
		return d.Reason, "KS-V1-2", nil
	}
	if !sameLayout(c.state.Cache, req.Info.State.Cache) {
		return "layout-mismatch", "KS-V1-2", nil
	}
	if len(req.Kinds) != 1 || req.Kinds[0] != native.KV {
		return "unknown-buffer-kind", "KS-V1-14", nil
	}
	total := len(r.plan.Blocks)
	n := total
	if len(req.Info.LastBlockKey.Tokens) != 0 || req.Info.IndexFromEnd != 0 {
		n = int(req.Info.IndexFromEnd) + 1
		want := lastKey(c.cfg.Geometry, r.hand.KVSettle.HashIDs, int(r.hand.KVSettle.InputLength), total-1)
		if n > total || !sameKey(req.Info.LastBlockKey, want) {
			return "tail-mismatch", "KS-V1-16", nil
		}
	}
	d := req.Buffers[0]
	need := uint64(n) * uint64(c.cfg.Geometry.BlockBytes())
	if d.Len < need {
		return "buffer-too-small", "KS-V1-14", nil
	}
	target := transport.Target{Addr: d.Addr, Len: d.Len, Device: d.Device}
	if !c.agent.Covers(peer, target) {
		return "outside-region", "KS-V1-14", nil
	}
	r.target, r.blocks = target, r.plan.Blocks[total-n:]
	return sm.ReasonNone, "", nil
}
