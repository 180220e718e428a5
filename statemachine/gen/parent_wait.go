package gen

import (
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
)

func (s *step) waited() error {
	if s.bad.Has(wrong.NoDeadline) {
		return nil
	}
	switch w := s.in.Wait; {
	case w == settle.AdmissionWait && s.state <= ParentAdmitted:
		s.timeout(settle.ByAdmissionDeadline)
	case w == settle.RequestWait && s.open() && s.state >= ParentPublishing && s.state != ParentUninstalled:
		s.timeout(settle.ByRequestDeadline)
	case w == settle.SoftWait && s.flags&hasX48 != 0 && s.open() && s.state >= ParentPublishing:
		s.flags |= soft
		if s.state == ParentInFlight {
			s.ask()
		}
	case w == settle.ControlWait && s.flags&settling != 0 && !s.state.Terminal():
		s.controlDeadline()
	case w == settle.RetryWait:
		s.resend()
	case w == settle.RetentionWait && (s.state == ParentSuccess || s.state.Terminal()):
		return s.retire()
	default:
		s.stray(settle.NoCause) // a wait that ended while its disarm was under way
	}
	return nil
}

func (s *step) timeout(c settle.Cause) {
	if s.bad.Has(wrong.FreeOnTimeout) {
		s.free()
	}
	if s.bad.Has(wrong.TimeoutDecides) {
		s.end(ParentUnknown, settle.Unknown)
		return
	}
	s.want(c)
}

// controlDeadline ends the wait for evidence; the ranks then reduce what there is.
func (s *step) controlDeadline() {
	s.flags |= expired
	if s.bad.Has(wrong.FreeOnTimeout) {
		s.free()
	}
	missing := false
	for i := range s.edges {
		switch s.edge[i].state {
		case EdgeOpenSent:
			s.move(RowEdgeOpenDeadline, i, EdgeUnknown)
		case EdgeCancelSent:
			if !s.X49() {
				s.move(RowEdgeCancelUnknown, i, EdgeUnknown)
				s.tell(i)
			}
		}
		if e := s.Evidence(i); e != control.NotStarted {
			missing = true
		}
	}
	switch {
	case s.state == ParentCancelPending && missing && !s.anyProven():
		s.uninstalled(RowCancelUninstalled)
	case s.state == ParentCancelPending && missing:
		s.take(RowCancelReady)
		s.state = ParentCancelSent
		s.evidence()
	case s.state == ParentCancelSent:
		s.evidence()
	}
	if s.bad.Has(wrong.TimeoutDecides) {
		s.end(ParentUnknown, settle.Unknown)
	}
}

// resend repeats what waits for an answer, with growing pauses (KS-REG-13).
func (s *step) resend() {
	switch s.state {
	case ParentPublishing:
		s.again(false)
		return
	case ParentOpenSent, ParentCancelPending:
		if s.flags&expired != 0 {
			return
		}
		s.take(RowResendOpen)
	case ParentCancelSent:
		s.take(RowResendCancel)
	case ParentReducing:
		if s.flags&expired != 0 {
			return
		}
		s.take(RowResendTerminal)
	case ParentInFlight:
		if s.flags&soft != 0 {
			s.ask()
			return
		}
		s.stray(settle.NoCause)
		return
	default:
		s.stray(settle.NoCause)
		return
	}
	for i := range s.edges {
		e := &s.edge[i]
		switch {
		case e.state == EdgeOpenSent && s.state != ParentReducing:
			s.do(ParentEffect{Kind: DoSend, Msg: control.TypeOpen, Edge: i, Again: true})
		case e.state == EdgeCancelSent:
			s.sendCancel(i)
		case s.state == ParentReducing:
			if s.X49() && e.cancelled {
				s.sendCancel(i)
			}
			if e.told && (!e.receipted || e.peer == settle.Missing) {
				s.tell(i)
			}
		}
	}
	s.again(false)
}

func (s *step) retire() error {
	s.take(RowRetire)
	for i := range s.edges {
		if st := s.edge[i].state; st != EdgeAbsent {
			if st >= EdgeNotStarted {
				s.takeEdge(RowEdgeRetire, i)
			}
			s.edge[i].state = EdgeRetired
		}
	}
	if s.flags&isolated != 0 {
		s.flags &^= isolated
		s.do(ParentEffect{Kind: DoAbandon})
	}
	s.state = ParentRetired
	s.do(ParentEffect{Kind: DoDrop})
	return nil
}
