package simulate

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/escalate"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
)

// corrupted marks a message whose bytes were damaged.
const corrupted = 1

// send puts a message of transfer x into the network. w.rank is the rank that it is
// for, w.edge the one that sends it. Messages of one connection arrive in order, but
// for faults.
func (s *Sim) send(from int, x uint16, w event, notice bool) {
	s.res.Messages++
	xf := &s.xs[x]
	w.kind, w.side, w.x, w.cause = evDeliver, uint8(1-from), x, s.cause
	w.inc, w.peer = xf.genInc, s.srv[from].inc
	if from == genSide {
		w.inc = xf.ctxInc
	}
	lat := 50*Microsecond + s.draw(x, 400*Microsecond)
	copies, jump := 1, false
	if xf.faults > 0 {
		copies, jump, lat = s.disturb(from, x, &w, notice, lat)
	}
	last := &s.last[from][w.rank][w.edge]
	for range copies {
		w.at = s.now + lat
		if !jump {
			w.at = max(w.at, *last+1)
			*last = w.at
		}
		s.q.push(w)
		lat += s.draw(x, 2*Millisecond)
	}
}

// disturb applies the faults of a transfer to one of its messages.
func (s *Sim) disturb(from int, x uint16, w *event, notice bool, lat sm.Time) (copies int, jump bool, late sm.Time) {
	xf := &s.xs[x]
	n := xf.sent
	c, g := w.edge, w.rank
	if from == genSide {
		c, g = w.rank, w.edge
	}
	first := false
	if notice {
		e := s.edge(x, c, g)
		first, e.noted = !e.noted, true
	} else {
		xf.sent++
	}
	copies = 1
	for i := xf.first; i < xf.first+xf.faults; i++ {
		f := &s.sch.Faults[i]
		if f.Kind == LostNotice {
			if first && f.Edge == c+MaxRanks*g {
				s.res.Applied[LostNotice]++
				copies = 0
			}
			continue
		}
		if notice || f.N != n || f.Kind > Corrupt {
			continue
		}
		s.res.Applied[f.Kind]++
		switch f.Kind {
		case Drop:
			copies = 0
		case Duplicate:
			copies *= 2
		case Reorder:
			jump = true
			lat += f.For
		case Delay:
			lat += f.For
		case Corrupt:
			w.n |= corrupted
		}
	}
	return copies, jump, lat
}

// deliver brings a message to its service.
func (s *Sim) deliver(e *event) {
	v := &s.srv[e.side]
	if !v.up {
		return
	}
	if v.cuts > 0 && !s.fromAdmitted(e) {
		return
	}
	if e.n&corrupted != 0 {
		if s.sch.Dialect.V2() && e.inc == v.inc {
			s.broken(e)
		}
		return // v1 drops and counts it
	}
	if !s.sch.Dialect.V2() {
		s.deliver1(e)
		return
	}
	i := at(e.x, e.rank)
	live := s.seats[e.side][i].live && e.inc == v.inc
	if e.side == genSide {
		if live && e.m == syncType {
			if e.x, live = s.tagged(e); !live {
				return
			}
		}
		if live {
			in := s.genInput(e)
			s.genStep(e.x, e.rank, in)
		}
		return
	}
	in := s.ctxInput(e)
	if live {
		s.ctxStep(e.x, e.rank, in)
		return
	}
	s.absent(e, in)
}

// absent answers for a ticket that this incarnation does not have. Nothing but
// answers may come of it.
func (s *Sim) absent(e *event, in ctx.ParentInput) {
	in.Match &^= settle.SameEpochs
	none := ctx.Parent{}.WithWrongRules(s.wrong.Machines)
	_, out, err := none.Step(in, s.cbuf[:0])
	s.cbuf = out[:0]
	if err != nil {
		return
	}
	for k := range out {
		switch o := &out[k]; {
		case o.Kind == ctx.DoSend && o.Decision != control.DecisionReady:
			s.ctxSend(e.x, e.rank, o)
		case o.Kind != ctx.DoTake && o.Kind != ctx.DoStray:
			s.bad(&s.res.NoAuthority, "CTX %d acts for transfer %d, which it does not have", e.rank, e.x)
		}
	}
}

// match says how a message fits the attempt that it names.
func (s *Sim) match(e *event) settle.Match {
	m := settle.Exact
	bound := s.xs[e.x].ctxInc
	if e.side == ctxSide {
		bound = s.xs[e.x].genInc
	}
	if e.peer != bound {
		m &^= settle.SameEpochs
	}
	return m
}

func (s *Sim) ctxInput(e *event) ctx.ParentInput {
	in := ctx.ParentInput{Edge: e.edge, Match: s.match(e), Evidence: control.Evidence(e.b)}
	switch control.Type(e.m) {
	case control.TypeOpen:
		t := &s.sch.Transfers[e.x]
		in.Kind, in.Edges, in.Chunks, in.PerChunk = ctx.OnOpen, uint8(s.srv[genSide].ranks), uint16(t.Chunks), t.PerChunk
		in.Caps = s.sch.Dialect.Caps()
		if s.fault(e.x, Mismatch, anyRank, 0) != nil {
			in.Match &^= settle.SameSelection
			s.res.Applied[Mismatch]++
		} else if s.fault(e.x, Refuse, anyRank, 0) != nil && s.seats[ctxSide][at(e.x, e.rank)].live {
			s.res.Applied[Refuse]++
			s.ctxStep(e.x, e.rank, ctx.ParentInput{Kind: ctx.OnReject, Cause: settle.ByIncompatible})
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
	return in
}

func (s *Sim) genInput(e *event) gen.ParentInput {
	in := gen.ParentInput{Edge: e.edge, Match: s.match(e), Evidence: control.Evidence(e.b)}
	switch control.Type(e.m) {
	case syncType:
		in.Kind = gen.OnSync
	case control.TypeReady:
		in.Kind, in.Decision = gen.OnReady, control.Decision(e.a)
		in.Contract, in.RetentionMS = s.contract(), uint32(s.set.Retention/Millisecond)
	case control.TypeTerminal:
		in.Kind = gen.OnTerminal
	case control.TypeReceipt:
		in.Kind = gen.OnReceipt
	case control.TypeStatus:
		in.Kind, in.State = gen.OnStatus, control.SourceState(e.a)
	case control.TypeDataComplete:
		in.Kind, in.Chunk, in.Count = gen.OnData, uint16(e.c), uint16(e.d)
	}
	return in
}

// broken is a frame with a bad checksum: its sender is cut off, and every binding to
// it is in doubt.
func (s *Sim) broken(e *event) {
	v := &s.srv[e.side]
	if v.senders == nil {
		v.senders, _ = escalate.NewSenders[uint8](escalate.SenderConfig{Limit: 2 * MaxRanks, Pause: s.set.Lifetime(), Returns: 2, Window: 10 * s.set.Lifetime()})
	}
	cut, err := v.senders.Fault(e.edge, uint64(e.peer), s.now)
	if err != nil || !cut {
		return
	}
	v.cuts++
	for x := range uint16(len(s.xs)) {
		xf := &s.xs[x]
		bound := xf.ctxInc
		if e.side == ctxSide {
			bound = xf.genInc
		}
		st := &s.seats[e.side][at(x, e.rank)]
		if !st.live || st.settled > 0 || !xf.imported || bound != e.peer {
			continue
		}
		xf.caught, st.doubted = true, true
		if e.side == ctxSide {
			s.ctxStep(x, e.rank, ctx.ParentInput{Kind: ctx.OnDoubt, Cause: settle.ByProtocol})
		} else {
			s.genStep(x, e.rank, gen.ParentInput{Kind: gen.OnDoubt, Cause: settle.ByProtocol})
		}
	}
}

// fromAdmitted says whether messages of this sender are taken.
func (s *Sim) fromAdmitted(e *event) bool {
	v := &s.srv[e.side]
	settledAll := true
	for x := range s.xs {
		st := &s.seats[e.side][at(uint16(x), e.rank)]
		settledAll = settledAll && (!st.doubted || !st.live || st.settled > 0)
	}
	if settledAll {
		v.senders.Settled(e.edge, uint64(e.peer))
	}
	return v.senders.Admits(e.edge, uint64(e.peer), s.now)
}
