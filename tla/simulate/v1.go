package simulate

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

// The messages of v1.
const (
	msgRequest = iota
	msgReady
	msgSync
)

// gen1Import begins an attempt on a GEN rank of v1.
func (s *Sim) gen1Import(x uint16, g uint8, reachable bool) {
	s.gen1Step(x, g, gen.Input{Kind: gen.Start, Edges: uint8(s.srv[ctxSide].ranks), CancelBeatsSuccess: s.sch.Dialect == Enabled,
		Settings: gen.Settings{Admission: s.set.Admission, Request: s.set.Request, Control: s.set.Control}})
	if !reachable {
		s.gen1Step(x, g, gen.Input{Kind: gen.Denied, Reason: sm.PeerLost})
	}
}

// ctx1Step gives an input to the machine of a CTX rank and carries out its effects.
func (s *Sim) ctx1Step(x uint16, c uint8, in ctx.Input) {
	i := at(x, c)
	st := &s.seats[ctxSide][i]
	if !st.live {
		return
	}
	in.Now = s.now
	m, out, err := s.cm[i].Step(in, s.c1buf[:0])
	s.c1buf = out[:0]
	if s.rec != nil {
		defer s.restore(s.cause)
		s.rec.ctxMachine(s, x, c, in, m, out, err)
	}
	if err != nil {
		return
	}
	s.cm[i] = m
	for k := range out {
		s.ctx1Do(x, c, &out[k])
	}
}

func (s *Sim) ctx1Do(x uint16, c uint8, e *ctx.Effect) {
	st := &s.seats[ctxSide][at(x, c)]
	switch e.Kind {
	case ctx.Admit:
		s.queue1(ctxSide, x, c)
	case ctx.Withdraw:
		st.queued = false
	case ctx.Publish:
		st.shown = true
		for r := range uint8(s.srv[ctxSide].ranks) {
			if !s.seats[ctxSide][at(x, r)].shown {
				return
			}
		}
		s.hand(x)
	case ctx.BeginSlot:
		s.poolMove(ctxSide, x, c, slot.Begin)
	case ctx.SendReady:
		v := uint8(0)
		if e.Value {
			v = 1
		}
		s.send(ctxSide, x, event{rank: e.Edge, edge: c, m: msgReady, a: v}, false)
	case ctx.StartWrite:
		s.startWrites(x, c, e.Edge)
	case ctx.StopWrite:
		t := s.edge(x, c, e.Edge)
		t.seal = true
		if t.active|t.loose == 0 {
			s.later(0, event{kind: evEnded, side: ctxSide, rank: c, edge: e.Edge, x: x})
		}
	case ctx.SendSync:
		s.send(ctxSide, x, event{rank: e.Edge, edge: c, m: msgSync}, true)
	case ctx.ReleaseSlot:
		s.lease(ctxSide, x, c, slot.Input{Kind: slot.Release, Proof: e.Proof})
	case ctx.QuarantineSlot:
		s.lease(ctxSide, x, c, slot.Input{Kind: slot.Quarantine})
	case ctx.ProveSlot:
		s.lease(ctxSide, x, c, slot.Input{Kind: slot.Prove, Proof: e.Proof})
	case ctx.Settle:
		s.settled(ctxSide, x, c, e.Disposition)
		if s.wrong.SettleTwice {
			s.settled(ctxSide, x, c, e.Disposition)
		}
	case ctx.Timer:
		s.arm1(ctxSide, x, c, e.At)
	case ctx.Drop:
		m := &s.cm[at(x, c)]
		if err := s.srv[ctxSide].ids[c].Close(s.sch.Transfers[x].ID, m.Committed(), m.Reason(), s.now); err != nil {
			s.bad(&s.res.DoubleCleanup, "CTX %d forgets transfer %d twice: %v", c, x, err)
		}
		st.live = false
	}
}

// gen1Step gives an input to the machine of a GEN rank and carries out its effects.
func (s *Sim) gen1Step(x uint16, g uint8, in gen.Input) {
	i := at(x, g)
	st := &s.seats[genSide][i]
	if !st.live {
		return
	}
	in.Now = s.now
	m, out, err := s.gm[i].Step(in, s.g1buf[:0])
	s.g1buf = out[:0]
	if s.rec != nil {
		defer s.restore(s.cause)
		s.rec.genMachine(s, x, g, in, m, out, err)
	}
	if err != nil {
		return
	}
	s.gm[i] = m
	for k := range out {
		s.gen1Do(x, g, &out[k])
	}
}

func (s *Sim) gen1Do(x uint16, g uint8, e *gen.Effect) {
	st := &s.seats[genSide][at(x, g)]
	switch e.Kind {
	case gen.Admit:
		s.queue1(genSide, x, g)
	case gen.Withdraw:
		st.queued = false
	case gen.AdvertiseSlot:
		s.poolMove(genSide, x, g, slot.Advertise)
	case gen.BeginSlot:
		s.poolMove(genSide, x, g, slot.Begin)
	case gen.SendRequest:
		s.request1(x, g, e.Edge)
	case gen.Scatter:
		s.later(50*Microsecond+s.draw(x, 400*Microsecond), event{kind: evProcessed, side: genSide, rank: g, x: x})
	case gen.ReleaseSlot:
		s.lease(genSide, x, g, slot.Input{Kind: slot.Release, Proof: e.Proof})
	case gen.QuarantineSlot:
		st.unknown = true
		s.lease(genSide, x, g, slot.Input{Kind: slot.Quarantine})
	case gen.ProveSlot:
		s.lease(genSide, x, g, slot.Input{Kind: slot.Prove, Proof: e.Proof})
	case gen.Settle:
		if e.Disposition == sm.Completed {
			s.judgeDone(x, g)
		}
		s.settled(genSide, x, g, e.Disposition)
		if s.wrong.SettleTwice {
			s.settled(genSide, x, g, e.Disposition)
		}
	case gen.EndTag:
		s.endTags(x, g)
	case gen.Timer:
		s.arm1(genSide, x, g, e.At)
	case gen.Drop:
		st.live = false
	}
}

// endTags lets the tag of an attempt rest for the control lifetime.
func (s *Sim) endTags(x uint16, g uint8) {
	until := s.now + s.set.Lifetime()
	for c := range s.srv[ctxSide].ranks {
		if err := s.srv[genSide].tags[g][c].End(s.sch.Transfers[x].ID, until); err != nil {
			s.bad(&s.res.DoubleCleanup, "GEN %d returns the tag of transfer %d: %v", g, x, err)
		}
	}
	s.later(until-s.now, event{kind: evGrant, side: genSide, rank: g})
}

// request1 sends a request; the call returns later.
func (s *Sim) request1(x uint16, g, c uint8) {
	t := s.edge(x, c, g)
	t.into, t.intoInc = s.seats[genSide][at(x, g)].binding, s.srv[genSide].inc
	s.later(10*Microsecond+s.draw(x, 100*Microsecond), event{kind: evSent, side: genSide, rank: g, edge: c, x: x})
	if f := s.fault(x, SendFail, c, g); f != nil {
		s.res.Applied[SendFail]++
		if f.N&1 == 0 {
			return
		}
	}
	s.send(genSide, x, event{rank: c, edge: g, m: msgRequest}, false)
}

func (s *Sim) queue1(side int, x uint16, r uint8) {
	v := &s.srv[side]
	s.seats[side][at(x, r)].queued = true
	v.waiting[r] = append(v.waiting[r], x)
	s.later(20*Microsecond, event{kind: evGrant, side: uint8(side), rank: r})
}

func (s *Sim) arm1(side int, x uint16, r uint8, due sm.Time) {
	st := &s.seats[side][at(x, r)]
	st.timer = due
	if due != 0 {
		s.later(max(due-s.now, 0), event{kind: evTimer, side: uint8(side), rank: r, x: x})
	}
}

// grant1 leases free slots in the order of asking, passing over those whose tag is
// taken. A pair whose peer knows one tag only holds one attempt at a time. Where there
// are several ranks nobody is passed over: they grant in one order (KS-GEN-14), or
// would wait for each other.
func (s *Sim) grant1(side int, r uint8) {
	v := &s.srv[side]
	keep := v.waiting[r][:0]
	full := false
	for _, x := range v.waiting[r] {
		st := &s.seats[side][at(x, r)]
		switch {
		case !st.queued || !st.live:
			continue
		case full || side == genSide && !s.tagsFree(x, r) || !s.take(side, x, r):
			keep = append(keep, x)
			full = full || side == ctxSide || s.sch.FixedTag || v.ranks > 1 || v.pools[r].Counts().Free == 0
			continue
		}
		st.queued = false
		if side == ctxSide {
			s.ctx1Step(x, r, ctx.Input{Kind: ctx.Granted, Binding: st.binding})
			continue
		}
		s.holdTags(x, r)
		s.gen1Step(x, r, gen.Input{Kind: gen.Granted, Binding: st.binding})
	}
	v.waiting[r] = keep
}

func (s *Sim) holdTags(x uint16, g uint8) {
	for c := range s.srv[ctxSide].ranks {
		if err := s.srv[genSide].tags[g][c].Hold(s.sch.Transfers[x].ID, s.now); err != nil {
			s.bad(&s.res.DoubleCleanup, "GEN %d holds the tag of transfer %d: %v", g, x, err)
		}
	}
}

// tagsFree says whether no attempt of any pair of GEN rank g has the tag of x.
func (s *Sim) tagsFree(x uint16, g uint8) bool {
	for c := range s.srv[ctxSide].ranks {
		t := s.srv[genSide].tags[g][c]
		if s.sch.FixedTag && t.Busy() > 0 {
			return false
		}
		if free, _ := t.FreeAt(s.sch.Transfers[x].ID, s.now); !free {
			return false
		}
	}
	return true
}

// deliver1 brings a message of v1 to its service.
func (s *Sim) deliver1(e *event) {
	v := &s.srv[e.side]
	if e.inc != v.inc {
		return // its connection is gone
	}
	if e.m == msgRequest {
		s.heardRequest(e)
		return
	}
	x, live := s.tagged(e)
	if !live {
		return
	}
	k := gen.Ready
	if e.m == msgSync {
		k = gen.Sync
	}
	s.gen1Step(x, e.rank, gen.Input{Kind: k, Edge: e.edge, Value: e.a == 1})
}

// tagged finds the attempt that a native ready or sync is for: it carries 12 bits of
// the id, no more.
func (s *Sim) tagged(e *event) (uint16, bool) {
	id := s.sch.Transfers[e.x].ID
	owner, live := s.srv[genSide].tags[e.rank][e.edge].Owner(tag.Of(id))
	if !live || owner == id {
		return e.x, live
	}
	for x := range s.sch.Transfers {
		if s.sch.Transfers[x].ID == owner {
			return uint16(x), true
		}
	}
	return 0, false
}

func (s *Sim) heardRequest(e *event) {
	v := &s.srv[ctxSide]
	active, answer, _ := v.ids[e.rank].Look(s.sch.Transfers[e.x].ID)
	if !active {
		if answer == registry.Reject {
			s.send(ctxSide, e.x, event{rank: e.edge, edge: e.rank, m: msgReady}, false)
		}
		return
	}
	in := ctx.Input{Kind: ctx.Request, Edge: e.edge, Value: true}
	for _, k := range [...]Kind{Refuse, Mismatch} {
		if s.fault(e.x, k, anyRank, 0) != nil {
			s.res.Applied[k]++
			in.Value, in.Reason = false, sm.BadRequest
		}
	}
	s.ctx1Step(e.x, e.rank, in)
}
