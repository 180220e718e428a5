package simulate

import (
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// startWrites lets the writes of an edge be posted, one after the other.
func (s *Sim) startWrites(x uint16, c, g uint8) {
	e := s.edge(x, c, g)
	if e.begun {
		s.bad(&s.res.NoAuthority, "transfer %d is written twice by CTX %d", x, c)
		return
	}
	e.begun, e.open = true, true
	if p := s.srv[ctxSide].pools[c]; p != nil && s.sch.Dialect.V2() {
		b := s.seats[ctxSide][at(x, c)].binding
		if st, _, _ := p.Look(b.Slot); st == slot.Leased {
			s.poolMove(ctxSide, x, c, slot.Begin)
		}
	}
	if s.wrong.NoticeFirst && !s.sch.Dialect.V2() {
		s.send(ctxSide, x, event{rank: g, edge: c, m: msgSync}, true)
	}
	s.later(20*Microsecond, event{kind: evPost, side: ctxSide, rank: c, edge: g, x: x})
}

// post enters one write.
func (s *Sim) post(e *event) {
	t := s.edge(e.x, e.rank, e.edge)
	if !t.open || t.seal || t.failed {
		return
	}
	bit := uint8(1) << e.n
	t.made |= bit
	t.active |= bit
	s.judgeWrite(e.x, e.rank, e.edge)
	if s.sch.Dialect.V2() {
		s.ctxStep(e.x, e.rank, ctx.ParentInput{Kind: ctx.OnPosted, Edge: e.edge, Count: 1})
	}
	took := 300*Microsecond + s.draw(e.x, 5*Millisecond)
	if s.xs[e.x].faults > 0 && e.n == 0 {
		if f := s.fault(e.x, SlowWrite, e.rank, e.edge); f != nil {
			s.res.Applied[SlowWrite]++
			took += f.For
		}
	}
	w := *e
	w.kind, w.d, w.a = evWritten, 0, 0
	s.later(took, w)
	if w.n+1 < uint16(s.sch.Transfers[e.x].Chunks) {
		w.kind, w.n = evPost, w.n+1
		s.later(50*Microsecond+s.draw(e.x, 500*Microsecond), w)
	}
}

// broke says whether this write ends in error, or is given up.
func (s *Sim) broke(e *event, k Kind) *Fault {
	if s.xs[e.x].faults == 0 {
		return nil
	}
	f := s.fault(e.x, k, e.rank, e.edge)
	if f == nil || uint16(f.N)%uint16(s.sch.Transfers[e.x].Chunks) != e.n {
		return nil
	}
	return f
}

// landed is the moment at which the data of a write is in memory.
func (s *Sim) landed(e *event) {
	t := s.edge(e.x, e.rank, e.edge)
	bit := uint8(1) << e.n
	if t.active&bit == 0 || s.broke(e, WriteFail) != nil || t.intoInc != s.srv[genSide].inc || !s.srv[genSide].up {
		return
	}
	s.judgeWrite(e.x, e.rank, e.edge)
	t.landed |= bit
}

// written is the end of a write, as its owner hears of it.
func (s *Sim) written(e *event) {
	t := s.edge(e.x, e.rank, e.edge)
	bit := uint8(1) << e.n
	if v := &s.srv[ctxSide]; !v.up || v.inc != e.inc {
		// Its owner is gone; what is loose lands all the same.
		if t.loose&bit != 0 {
			s.judgeWrite(e.x, e.rank, e.edge)
			t.loose &^= bit
		}
		return
	}
	if f := s.broke(e, Release); f != nil && e.a == 0 {
		// The handle is given up, the write is not.
		s.res.Applied[Release]++
		w := *e
		w.a = 1
		s.later(f.For, w)
		if s.sch.Dialect.V2() {
			s.ctxStep(e.x, e.rank, ctx.ParentInput{Kind: ctx.OnReleased, Edge: e.edge})
		}
		return
	}
	if e.d == 0 {
		s.landed(e)
	}
	t.active &^= bit
	again := e.a == 1
	if t.landed&bit == 0 {
		s.failed(e, t, bit, again)
		return
	}
	if s.sch.Dialect.V2() {
		s.ctxStep(e.x, e.rank, ctx.ParentInput{Kind: ctx.OnWritten, Edge: e.edge, Chunk: e.n, Again: again})
		return
	}
	s.writeEnds(e.x, e.rank, e.edge)
}

// failed is a write that ended in error: with bit 3 of the contract it touches
// nothing any more, without it may.
func (s *Sim) failed(e *event, t *edge, bit uint8, again bool) {
	t.failed = t.failed || !s.sch.Dialect.V2()
	if f := s.broke(e, WriteFail); f != nil {
		s.res.Applied[WriteFail]++
		if !s.sch.ErrorQuiet {
			t.loose |= bit
			s.later(f.For, event{kind: evLand, side: nobody, rank: e.rank, edge: e.edge, x: e.x, n: e.n, inc: e.inc})
		}
	}
	if s.sch.Dialect.V2() {
		s.ctxStep(e.x, e.rank, ctx.ParentInput{Kind: ctx.OnWriteFailed, Edge: e.edge, Again: again})
		return
	}
	s.writeEnds(e.x, e.rank, e.edge)
}

// landLate is a write that landed after it had ended in error.
func (s *Sim) landLate(e *event) {
	t := s.edge(e.x, e.rank, e.edge)
	bit := uint8(1) << e.n
	if t.loose&bit == 0 {
		return
	}
	s.judgeWrite(e.x, e.rank, e.edge)
	t.loose &^= bit
	if v := &s.srv[ctxSide]; v.up && v.inc == s.xs[e.x].ctxInc && !s.sch.Dialect.V2() {
		s.writeEnds(e.x, e.rank, e.edge)
	}
}

// writeEnds tells a v1 machine once nothing of an edge is posted any more.
func (s *Sim) writeEnds(x uint16, c, g uint8) {
	t := s.edge(x, c, g)
	if t.active|t.loose != 0 {
		return
	}
	all := uint8(1)<<s.sch.Transfers[x].Chunks - 1
	switch {
	case t.landed == all:
		t.open = false
		s.ctx1Step(x, c, ctx.Input{Kind: ctx.Written, Edge: g})
	case t.failed || t.seal:
		t.open = false
		s.ctx1Step(x, c, ctx.Input{Kind: ctx.Ended, Edge: g})
	}
}
