package simulate

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/escalate"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
)

// contract is what the backend of a schedule declares.
func (s *Sim) contract() settle.Contract {
	c := settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet
	if s.sch.ErrorQuiet {
		c |= settle.ErrorQuiet
	}
	return c
}

// ctxStep gives an input to the parent of a CTX rank and carries out its effects.
// It returns false when the parent refused or is not there.
func (s *Sim) ctxStep(x uint16, c uint8, in ctx.ParentInput) bool {
	i := at(x, c)
	st := &s.seats[ctxSide][i]
	if !st.live {
		return false
	}
	p, out, err := s.cp[i].Step(in, s.cbuf[:0])
	s.cbuf = out[:0]
	if s.rec != nil {
		defer s.restore(s.cause)
		s.rec.ctxParent(s, x, c, in, p, out, err)
	}
	if err != nil {
		return false
	}
	s.cp[i] = p
	st.touched = true
	arm := false
	for k := range out {
		arm = s.ctxDo(x, c, &out[k]) || arm
	}
	if arm {
		s.arm(ctxSide, x, c)
	}
	switch {
	case in.Kind == ctx.OnRound && p.State() == ctx.ParentBound, in.Kind == ctx.OnOpen && p.State() == ctx.ParentBound:
		for g := range p.Edges() {
			if p.Edge(g) == ctx.EdgeBound {
				s.later(100*Microsecond+s.draw(x, 2*Millisecond), event{kind: evPrepare, side: ctxSide, rank: c, x: x})
				break
			}
		}
	}
	return true
}

// ctxDo carries out one effect; true if it armed a wait.
func (s *Sim) ctxDo(x uint16, c uint8, e *ctx.ParentEffect) bool {
	st := &s.seats[ctxSide][at(x, c)]
	switch e.Kind {
	case ctx.DoPublish:
		if c == uint8(s.srv[ctxSide].ranks)-1 {
			s.hand(x) // ranks publish in order
		}
	case ctx.DoEnter:
		s.enter(ctxSide, x)
	case ctx.DoInstall:
		st.barrier = true
	case ctx.DoSend:
		s.ctxSend(x, c, e)
	case ctx.DoSync:
		s.send(ctxSide, x, event{rank: e.Edge, edge: c, m: syncType}, true)
	case ctx.DoWrite:
		s.startWrites(x, c, e.Edge)
	case ctx.DoSeal:
		s.edge(x, c, e.Edge).seal = true
		s.later(s.draw(x, 200*Microsecond), event{kind: evSealed, side: ctxSide, rank: c, edge: e.Edge, x: x})
	case ctx.DoFree:
		s.lease(ctxSide, x, c, slot.Input{Kind: slot.Release, Proof: e.Proof})
	case ctx.DoProve:
		s.lease(ctxSide, x, c, slot.Input{Kind: slot.Prove, Proof: e.Proof})
	case ctx.DoQuarantine:
		s.lease(ctxSide, x, c, slot.Input{Kind: slot.Quarantine})
	case ctx.DoRestart:
		s.mustExit(ctxSide, x, escalate.Input{Kind: escalate.Unknown, Unproven: true, X49: s.sch.Dialect >= Quiescence, Reason: settle.PeerUnknown})
	case ctx.DoSettle:
		s.settled(ctxSide, x, c, e.Disposition)
		if s.wrong.SettleTwice {
			s.settled(ctxSide, x, c, e.Disposition)
		}
	case ctx.DoArm:
		length := s.set.Length(e.Wait, e.Step)
		if p := &s.cp[at(x, c)]; e.Wait == settle.RetentionWait && p.State() == ctx.ParentNotStarted && p.Edges() == 0 {
			length = max(length, s.set.Context) // nobody was bound: GEN may still come (KS-REG-24)
		}
		st.alarms.Arm(e.Wait, s.now, length)
		return true
	case ctx.DoDisarm:
		st.alarms.Disarm(e.Wait)
	}
	return false
}

// syncType stands for the native sync among the types of v2.
const syncType = 0

// ctxSend sends a message of CTX rank c to GEN rank e.Edge.
func (s *Sim) ctxSend(x uint16, c uint8, e *ctx.ParentEffect) {
	w := event{rank: e.Edge, edge: c, m: uint16(e.Msg), b: uint8(e.Evidence)}
	notice := false
	switch e.Msg {
	case control.TypeReady:
		w.a = uint8(e.Decision)
	case control.TypeStatus:
		w.a = uint8(e.State)
	case control.TypeDataComplete:
		w.c, w.d = uint8(e.Chunk), uint8(e.Count)
		notice = true
	}
	s.send(ctxSide, x, w, notice)
}

// genStep gives an input to the parent of a GEN rank and carries out its effects.
func (s *Sim) genStep(x uint16, g uint8, in gen.ParentInput) bool {
	i := at(x, g)
	st := &s.seats[genSide][i]
	if !st.live {
		return false
	}
	p, out, err := s.gp[i].Step(in, s.gbuf[:0])
	s.gbuf = out[:0]
	if s.rec != nil {
		defer s.restore(s.cause)
		s.rec.genParent(s, x, g, in, p, out, err)
	}
	if err != nil {
		if in.Kind == gen.OnGranted {
			s.bad(&s.res.LostSlots, "GEN %d refused the lease of transfer %d: %v", g, x, err)
		}
		return false
	}
	s.gp[i] = p
	st.touched = true
	arm := false
	for k := range out {
		arm = s.genDo(x, g, &out[k]) || arm
	}
	if arm {
		s.arm(genSide, x, g)
	}
	return true
}

// genDo carries out one effect; true if it armed a wait.
func (s *Sim) genDo(x uint16, g uint8, e *gen.ParentEffect) bool {
	st := &s.seats[genSide][at(x, g)]
	switch e.Kind {
	case gen.DoTake:
		if e.Row == gen.RowAsk {
			st.asked = true
		}
	case gen.DoEnter:
		s.enter(genSide, x)
	case gen.DoLease:
		st.queued = true
		v := &s.srv[genSide]
		v.waiting[g] = append(v.waiting[g], x)
		s.later(20*Microsecond, event{kind: evGrant, side: genSide, rank: g})
	case gen.DoWithdraw:
		st.queued = false
	case gen.DoPublish:
		s.later(20*Microsecond+s.draw(x, 100*Microsecond), event{kind: evPublish, side: genSide, rank: g, x: x})
	case gen.DoAdvertise:
		st.opened = s.now
		s.poolMove(genSide, x, g, slot.Advertise)
	case gen.DoBegin:
		s.poolMove(genSide, x, g, slot.Begin)
	case gen.DoInstall:
		st.barrier = true
	case gen.DoSend:
		s.genSend(x, g, e)
	case gen.DoProcess:
		s.later(50*Microsecond+s.draw(x, 400*Microsecond), event{kind: evProcessed, side: genSide, rank: g, x: x})
	case gen.DoFree:
		s.lease(genSide, x, g, slot.Input{Kind: slot.Release, Proof: e.Proof})
	case gen.DoProve:
		s.lease(genSide, x, g, slot.Input{Kind: slot.Prove, Proof: e.Proof})
	case gen.DoQuarantine:
		s.lease(genSide, x, g, slot.Input{Kind: slot.Quarantine})
	case gen.DoAbandon:
		s.lease(genSide, x, g, slot.Input{Kind: slot.Retire})
	case gen.DoRestart:
		s.mustExit(genSide, x, escalate.Input{Kind: escalate.Unknown, Unproven: true, X49: s.sch.Dialect >= Quiescence, Reason: settle.PeerUnknown})
	case gen.DoSettle:
		p := &s.gp[at(x, g)]
		st.unknown, st.calm = p.State() == gen.ParentUnknown, p.State() == gen.ParentQuiesced
		if e.Disposition == sm.Completed {
			s.judgeDone(x, g)
		}
		s.settled(genSide, x, g, e.Disposition)
		if s.wrong.SettleTwice {
			s.settled(genSide, x, g, e.Disposition)
		}
	case gen.DoClip:
		st.alarms.Limit(settle.RequestWait, st.opened+s.set.Clip(sm.Time(e.RetentionMS)*Millisecond))
	case gen.DoArm:
		st.alarms.Arm(e.Wait, s.now, s.set.Length(e.Wait, e.Step))
		return true
	case gen.DoDisarm:
		st.alarms.Disarm(e.Wait)
	}
	return false
}

// poolMove is a step of a slot within its lease.
func (s *Sim) poolMove(side int, x uint16, r uint8, k slot.Kind) {
	out, err := s.srv[side].pools[r].Step(slot.Input{Kind: k, Binding: s.seats[side][at(x, r)].binding}, s.pbuf[:0])
	s.pbuf = out[:0]
	if err != nil {
		s.bad(&s.res.DoubleCleanup, "transfer %d at %s %d: %v", x, sideName(side), r, err)
	}
}

// genSend sends a message of GEN rank g to CTX rank e.Edge.
func (s *Sim) genSend(x uint16, g uint8, e *gen.ParentEffect) {
	w := event{rank: e.Edge, edge: g, m: uint16(e.Msg), b: uint8(e.Evidence)}
	if e.Msg == control.TypeOpen && !e.Again {
		t := s.edge(x, e.Edge, g)
		t.into, t.intoInc = s.seats[genSide][at(x, g)].binding, s.srv[genSide].inc
		f := s.fault(x, SendFail, e.Edge, g)
		s.later(10*Microsecond+s.draw(x, 100*Microsecond), event{kind: evSent, side: genSide, rank: g, edge: e.Edge, x: x})
		if f != nil {
			s.res.Applied[SendFail]++
			if f.N&1 == 0 {
				return // it was never heard
			}
		}
	}
	s.send(genSide, x, w, false)
}

// sentResult is what the notify call of an OPEN or a request returned.
func (s *Sim) sentResult(e *event) {
	f := s.fault(e.x, SendFail, e.edge, e.rank)
	if !s.sch.Dialect.V2() {
		k := gen.Published
		if f != nil {
			k = gen.PublishError
			if f.N&1 == 1 {
				k = gen.PublishDoubt
			}
		}
		s.gen1Step(e.x, e.rank, gen.Input{Kind: k, Edge: e.edge})
		return
	}
	in := gen.ParentInput{Kind: gen.OnSent, Edge: e.edge}
	if f != nil {
		in.Kind, in.Value = gen.OnSendFailed, f.N&1 == 0
	}
	s.genStep(e.x, e.rank, in)
}

// processed is the end of the local work on a slot.
func (s *Sim) processed(e *event) {
	right := true
	if s.fault(e.x, WrongBlock, anyRank, 0) != nil {
		s.res.Applied[WrongBlock]++
		right = false
	}
	if s.sch.Dialect.V2() {
		s.genStep(e.x, e.rank, gen.ParentInput{Kind: gen.OnProcessed, Value: right})
		return
	}
	s.gen1Step(e.x, e.rank, gen.Input{Kind: gen.Scattered, Value: right})
}

func (s *Sim) ctxBusy(x uint16, c uint8) bool {
	if !s.sch.Dialect.V2() {
		return s.seats[ctxSide][at(x, c)].live && s.cm[at(x, c)].State() == ctx.InFlight
	}
	p := &s.cp[at(x, c)]
	return s.seats[ctxSide][at(x, c)].live && p.State() == ctx.ParentBound && (p.Edge(0) == ctx.EdgeDecided || p.Edge(0) == ctx.EdgeInFlight)
}

func (s *Sim) genBusy(x uint16, g uint8) bool {
	if !s.sch.Dialect.V2() {
		return s.seats[genSide][at(x, g)].live && s.gm[at(x, g)].State() == gen.InFlight
	}
	return s.seats[genSide][at(x, g)].live && s.gp[at(x, g)].State() == gen.ParentInFlight
}

// grant gives free slots to those that wait longest.
func (s *Sim) grant(side int, r uint8) {
	switch {
	case !s.sch.Dialect.V2():
		s.grant1(side, r)
	case side == ctxSide:
		s.grantCtx()
	default:
		s.grantGen(r)
	}
}

// take leases a slot for a transfer; false if there is none.
func (s *Sim) take(side int, x uint16, r uint8) bool {
	v := &s.srv[side]
	if v.pools[r].Counts().Free == 0 || !v.pools[r].Healthy() {
		return false
	}
	out, err := v.pools[r].Step(slot.Input{Kind: slot.Lease, Owner: uint64(x)}, s.pbuf[:0])
	s.pbuf = out[:0]
	if err != nil || len(out) == 0 {
		return false
	}
	s.seats[side][at(x, r)].binding = out[0].Binding
	return true
}

// pop takes the head out of a queue and keeps its memory.
func popWaiting(w []uint16) []uint16 {
	copy(w, w[1:])
	return w[:len(w)-1]
}

// grantCtx publishes contexts, in the order of their arrival, as soon as every rank
// has a source slot.
func (s *Sim) grantCtx() {
	v := &s.srv[ctxSide]
	for len(v.waiting[0]) > 0 {
		x := v.waiting[0][0]
		st := &s.seats[ctxSide][at(x, 0)]
		if !st.queued || !v.proc.Admits() || s.now-st.start > s.set.Admission {
			for c := range v.ranks {
				v.waiting[c] = popWaiting(v.waiting[c])
			}
			continue
		}
		for c := range v.ranks {
			if v.pools[c].Counts().Free == 0 || !v.pools[c].Healthy() {
				return
			}
		}
		for c := range uint8(v.ranks) {
			v.waiting[c] = popWaiting(v.waiting[c])
			st := &s.seats[ctxSide][at(x, c)]
			s.take(ctxSide, x, c)
			st.queued, st.live, st.start = false, true, s.now
			v.open++
		}
		for c := range uint8(v.ranks) {
			b := s.seats[ctxSide][at(x, c)].binding
			s.cp[at(x, c)] = ctx.Parent{}.WithWrongRules(s.wrong.Machines)
			s.ctxStep(x, c, ctx.ParentInput{Kind: ctx.OnPublish, Room: true, Contract: s.contract(), Binding: b})
		}
	}
}

// grantGen leases free slots in the order of asking. Where completion is told by the
// native sync, an attempt whose tag is taken is passed over, unless there are several
// ranks: they grant in one order (KS-GEN-14).
func (s *Sim) grantGen(g uint8) {
	v := &s.srv[genSide]
	keep := v.waiting[g][:0]
	tags, full := s.sch.Dialect.Tags(), false
	for _, x := range v.waiting[g] {
		st := &s.seats[genSide][at(x, g)]
		switch {
		case !st.queued || !st.live:
			continue
		case full || tags && !s.tagsFree(x, g) || !s.take(genSide, x, g):
			keep = append(keep, x)
			full = full || v.ranks > 1
			continue
		}
		st.queued = false
		if tags {
			s.holdTags(x, g)
		}
		s.genStep(x, g, gen.ParentInput{Kind: gen.OnGranted, Binding: st.binding})
	}
	v.waiting[g] = keep
}
