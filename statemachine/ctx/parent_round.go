package ctx

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
)

// round carries out what the local ranks decided.
func (s *step) round() error {
	v := &s.in.Verdict
	agreed := s.flags&sealed != 0
	s.flags &^= sealed
	switch s.state {
	case ParentPublished:
		return s.roundPublished(v)
	case ParentBound:
		return s.roundBound(v, agreed)
	case ParentSuccess:
		if v.Decision == round.KeepEvidence {
			s.take(RowLateCancel)
			s.reduce()
		}
		return nil
	case ParentReducing:
		if v.Decision == round.Reduced {
			s.reducedTo(v.Topology)
		}
		return nil
	case ParentAbsent, ParentRetired:
		return errUnknown
	}
	return nil
}

func (s *step) roundPublished(v *round.Verdict) error {
	switch v.Decision {
	case round.GoOn:
		if s.flags&opened == 0 {
			return errRound
		}
		s.take(RowBind)
		s.state = ParentBound
		s.do(ParentEffect{Kind: DoDisarm, Wait: settle.ContextWait})
		s.do(ParentEffect{Kind: DoArm, Wait: settle.RequestWait})
		s.do(ParentEffect{Kind: DoBind})
		if s.flags&stale != 0 {
			s.voided()
		} else if s.flags&wanted != 0 {
			s.mark()
		}
	case round.EndNotStarted:
		s.unbound(RowCancelPublished, ParentNotStarted, settle.NotStarted, control.NotStarted)
	case round.Refuse, round.EndUnknown, round.EndDrain:
		if v.Row == round.RowMissing {
			// Nothing was exposed: the OPEN may come again, until the context deadline.
			return nil
		}
		if s.cause == settle.NoCause {
			s.cause = settle.ByRanks
		}
		s.unbound(RowIncompatible, ParentUnknown, settle.Unknown, control.Unknown)
	}
	return nil
}

// unbound ends a ticket to which nothing was ever bound. Edges that had asked get
// the answer; no child is left, so that the ticket can never be bound.
func (s *step) unbound(r Row, to ParentState, t settle.Topology, e control.Evidence) {
	s.take(r)
	if s.cause == settle.NoCause {
		s.cause = settle.BySibling
	}
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.ContextWait})
	for i := range s.edges {
		if s.edge[i].state != EdgeAbsent {
			s.answer(i, e)
		}
		s.edge[i] = edge{}
	}
	s.edges = 0
	s.end(to, t)
}

func (s *step) roundBound(v *round.Verdict, agreed bool) error {
	before := s.flags&committed == 0
	switch v.Decision {
	case round.GoOn:
		if !before || !agreed || !s.every(EdgePrepared) {
			return errRound
		}
		s.flags |= committed
		for i := range s.edges {
			s.move(RowEdgeInstall, i, EdgeDecided)
		}
		s.do(ParentEffect{Kind: DoInstall})
	case round.Adopt:
		s.want(settle.BySibling)
	case round.Wait:
		if s.flags&wanted != 0 {
			s.mark()
		}
	case round.Commit:
		if before || !s.every(EdgeSourceComplete) {
			return errRound
		}
		s.complete()
	case round.EndNotStarted:
		if !before {
			return errRound
		}
		s.endBefore(v, true)
		s.start(RowCancelBound)
	case round.EndUnknown, round.Refuse:
		if v.Row == round.RowMissing || v.Row == round.RowConflict {
			s.flags |= doubtful
		}
		s.noCause(v)
		if before {
			s.endBefore(v, false)
		} else {
			s.endAfter(v)
		}
		s.start(RowDoubt)
	case round.EndDrain:
		if !s.X49() {
			return errRound
		}
		s.noCause(v)
		if before {
			s.endBefore(v, true)
		} else {
			s.endAfter(v)
		}
		s.start(RowDrain)
	}
	return nil
}

// noCause names a reason on a rank that had none of its own.
func (s *step) noCause(v *round.Verdict) {
	switch {
	case s.cause != settle.NoCause:
	case v.Row == round.RowMissing:
		s.cause = settle.ByRound
	case v.Cancelled:
		s.cause = settle.BySibling
	default:
		s.cause = settle.ByRanks
	}
}

// endBefore ends every edge before its commit: proven says that all of them are
// NOT_STARTED, by the decision of all ranks or by what this rank knows itself.
func (s *step) endBefore(v *round.Verdict, proven bool) {
	s.noCause(v)
	for i := range s.edges {
		switch st := s.edge[i].state; {
		case st == EdgeAbsent:
			continue
		case st == EdgePrepared && proven && !v.Cancelled:
			s.move(RowEdgeReject, i, EdgeNotStarted)
		case st == EdgePrepared && v.Row == round.RowMissing:
			s.move(RowEdgeRoundFailed, i, EdgeUnknown)
		default:
			if st == EdgeBound || st == EdgePrepared {
				s.move(RowEdgeCancel, i, EdgeCancelPending)
			}
			if proven {
				s.move(RowEdgeCancelled, i, EdgeNotStarted)
			} else {
				s.move(RowEdgeCancelDoubt, i, EdgeUnknown)
			}
		}
		if proven {
			s.answer(i, control.NotStarted)
		}
	}
}

// endAfter ends edges at or past their commit: in plain v2 as UNKNOWN, with bit 49
// by sealing and draining them.
func (s *step) endAfter(v *round.Verdict) {
	for i := range s.edges {
		switch s.edge[i].state {
		case EdgeDecided:
			switch {
			case v.Row == round.RowMissing:
				s.move(RowEdgeRoundFailed, i, EdgeUnknown)
			case s.X49():
				s.move(RowEdgeDecidedDrain, i, EdgeDraining)
				s.seal(i)
			default:
				s.move(RowEdgeDecidedCancel, i, s.afterCommit())
			}
		case EdgeInFlight:
			if s.X49() {
				s.move(RowEdgeDrain, i, EdgeDraining)
			} else {
				s.move(RowEdgeDoubt, i, s.afterCommit())
			}
			s.seal(i)
		}
	}
}

func (s *step) seal(i uint8) {
	s.edge[i].sealing = true
	s.do(ParentEffect{Kind: DoSeal, Edge: i})
}

// start enters REDUCING.
func (s *step) start(r Row) {
	s.take(r)
	s.reduce()
}

func (s *step) complete() {
	s.take(RowComplete)
	s.state, s.result = ParentSuccess, sm.Completed
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RequestWait})
	s.free()
	s.do(ParentEffect{Kind: DoSettle, Disposition: sm.Completed})
	s.do(ParentEffect{Kind: DoCache})
	s.do(ParentEffect{Kind: DoArm, Wait: settle.RetentionWait})
	// A wish of this side ends with its success; a peer's CANCEL is still answered.
	if s.flags&wanted != 0 && s.cause != settle.ByPeer {
		s.flags &^= wanted
	}
	if s.flags&wanted == 0 {
		s.cause = settle.NoCause
	}
}

// afterCommit is the plain claim of an edge in doubt.
func (s *step) afterCommit() EdgeState {
	if s.bad.Has(wrong.NotStartedAfterCommit) {
		return EdgeNotStarted
	}
	return EdgeUnknown
}
