package gen

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
)

// round carries out what the local ranks decided.
func (s *step) round() error {
	v := &s.in.Verdict
	if v.Decision == round.EndDrain && !s.X49() {
		return errRound
	}
	agreed := s.flags&sealed != 0
	s.flags &^= sealed
	if s.flags&settling != 0 && s.state != ParentSuccess {
		if v.Decision == round.Reduced && !s.state.Terminal() && s.state != ParentRetired {
			s.reducedTo(v)
		}
		return nil
	}
	switch s.state {
	case ParentImported, ParentPrepared:
		return s.roundAdmission(v, agreed)
	case ParentAdmitted:
		return s.roundAdmitted(v)
	case ParentPublishing, ParentOpenSent:
		return s.roundOpen(v, agreed)
	case ParentInFlight:
		return s.roundData(v)
	case ParentUninstalled:
		switch v.Decision {
		case round.EndUnknown, round.EndDrain, round.EndNotStarted, round.Refuse:
			s.flags |= settling
			s.take(RowUninstalled)
			s.end(ParentUnknown, settle.Unknown)
		}
	case ParentSuccess:
		if v.Decision == round.KeepEvidence {
			s.take(RowLateCancel)
			s.reduce()
		}
	case ParentRetired:
		return errGone
	}
	return nil
}

func (s *step) roundAdmission(v *round.Verdict, agreed bool) error {
	switch v.Decision {
	case round.GoOn:
		if s.state != ParentPrepared || !agreed || v.GenAttempt == 0 {
			return errRound
		}
		s.take(RowAdmit)
		s.state = ParentAdmitted
		s.do(ParentEffect{Kind: DoPublish})
	case round.Refuse, round.EndUnknown, round.EndNotStarted, round.EndDrain:
		if s.cause == settle.NoCause {
			s.cause = settle.BySibling
			if v.Row == round.RowMissing {
				s.cause = settle.ByRound
			} else if !v.Cancelled {
				s.cause = settle.ByRanks
			}
		}
		s.localRow(v)
	}
	return nil
}

// localRow ends an attempt that nobody published, by the row that its cause names.
func (s *step) localRow(v *round.Verdict) {
	switch {
	case s.cause == settle.ByAdmissionDeadline:
		s.take(RowAdmissionDeadline)
		s.localEnd(sm.Failed)
	case s.state == ParentPrepared && (v.Decision != round.EndNotStarted || !s.cause.Cancels() || s.flags&wanted == 0):
		s.take(RowAdmitRefused)
		if s.cause.Cancels() {
			s.localEnd(sm.Cancelled)
		} else {
			s.localEnd(sm.Rejected)
		}
	default:
		s.take(RowCancelLocal)
		s.localEnd(sm.Cancelled)
	}
}

// localEnd ends an attempt of which no peer was told.
func (s *step) localEnd(d sm.Disposition) {
	if s.flags&queued != 0 {
		s.flags &^= queued
		s.do(ParentEffect{Kind: DoWithdraw})
	}
	s.state, s.result = ParentLocalCancelled, d
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.AdmissionWait})
	s.free()
	s.do(ParentEffect{Kind: DoSettle, Disposition: d, Cause: s.cause})
	s.do(ParentEffect{Kind: DoArm, Wait: settle.RetentionWait})
}

func (s *step) roundAdmitted(v *round.Verdict) error {
	switch v.Decision {
	case round.Adopt:
		s.want(settle.BySibling)
	case round.EndNotStarted, round.EndUnknown, round.EndDrain, round.Refuse:
		s.blame(v)
		if v.AllUnset {
			s.localRow(v)
			return nil
		}
		s.flags |= settling
		s.take(RowCancelSiblings)
		s.state = ParentCancelPending
		s.do(ParentEffect{Kind: DoDisarm, Wait: settle.AdmissionWait})
		s.do(ParentEffect{Kind: DoArm, Wait: settle.ControlWait})
		if s.MayPublish() {
			s.do(ParentEffect{Kind: DoPublish})
		}
	case round.GoOn:
		return errRound
	}
	return nil
}

// blame names a reason on a rank that had none of its own.
func (s *step) blame(v *round.Verdict) {
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

func (s *step) roundOpen(v *round.Verdict, agreed bool) error {
	switch v.Decision {
	case round.GoOn:
		if !agreed || s.state != ParentOpenSent || s.flags&installed != 0 || !s.every(EdgeReadyAccepted) {
			return errRound
		}
		s.flags |= installed
		s.do(ParentEffect{Kind: DoInstall})
	case round.Adopt:
		s.want(settle.BySibling)
	case round.EndNotStarted:
		s.blame(v)
		if v.AllReject && s.every(EdgeNotStarted) {
			s.flags |= settling
			s.refused()
			return nil
		}
		s.cancelled()
	case round.EndUnknown, round.Refuse, round.EndDrain:
		s.blame(v)
		if v.Row == round.RowMissing || v.Row == round.RowConflict {
			s.flags |= doubtful
		}
		switch {
		case s.flags&stale != 0 && s.state == ParentOpenSent:
			s.flags |= settling
			s.take(RowEpochChanged)
			s.end(ParentUnknown, settle.Unknown)
		case s.X49() || s.state == ParentPublishing || s.cancels() || v.Cancelled:
			s.cancelled()
		default:
			s.mixed()
		}
	}
	return nil
}

// refused ends an attempt that every source refused before its commit.
func (s *step) refused() {
	if s.anyProven() || s.state == ParentCancelPending {
		s.take(RowRefusedBound)
	} else {
		s.take(RowNoPeer)
	}
	s.end(ParentNotStarted, settle.NotStarted)
}

// cancelled is the decided cancel of an attempt that was, or may have been,
// published.
func (s *step) cancelled() {
	s.flags |= settling
	s.take(RowCancel)
	s.state = ParentCancelPending
	s.settleWaits()
	for i := range s.edges {
		if s.edge[i].state == EdgeReadyAccepted {
			s.move(RowEdgeCancel, i, EdgeCancelSent)
			s.sendCancel(i)
		}
	}
	s.proven()
	s.progress()
}

// settleWaits starts the clock of the terminal exchange.
func (s *step) settleWaits() {
	s.flags &^= asking
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RequestWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.SoftWait})
	s.do(ParentEffect{Kind: DoArm, Wait: settle.ControlWait})
	s.again(true)
}

// mixed is doubt in plain v2 before the data phase.
func (s *step) mixed() {
	s.flags |= settling
	for i := range s.edges {
		switch s.edge[i].state {
		case EdgeOpenSent:
			s.move(RowEdgeOpenDeadline, i, EdgeUnknown)
		case EdgeReadyAccepted:
			s.move(RowEdgeDoubt, i, EdgeUnknown)
		}
	}
	if s.anyProven() {
		s.take(RowMixedInstalled)
		s.reduce()
		return
	}
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RequestWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.SoftWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RetryWait})
	s.do(ParentEffect{Kind: DoArm, Wait: settle.ControlWait})
	s.uninstalled(RowMixedUninstalled)
}

func (s *step) roundData(v *round.Verdict) error {
	switch v.Decision {
	case round.Commit:
		if s.flags&processed == 0 {
			return errRound
		}
		s.success()
	case round.EndUnknown, round.EndDrain, round.Refuse, round.EndNotStarted:
		s.blame(v)
		if v.Row == round.RowMissing || v.Row == round.RowConflict {
			s.flags |= doubtful
		}
		s.flags |= settling
		switch {
		case s.flags&stale != 0:
			s.take(RowEpochChanged)
			s.end(ParentUnknown, settle.Unknown)
		case s.X49():
			s.drain()
		default:
			s.plainDoubt()
		}
	}
	return nil
}

// plainDoubt ends the data phase of plain v2: nothing can be claimed.
func (s *step) plainDoubt() {
	for i := range s.edges {
		s.sendCancel(i)
		s.move(RowEdgeDoubt, i, EdgeUnknown)
	}
	s.take(RowDoubt)
	s.reduce()
}

// drain cancels the data phase with bit 49.
func (s *step) drain() {
	s.take(RowCancelDrain)
	s.state = ParentCancelSent
	s.settleWaits()
	for i := range s.edges {
		s.move(RowEdgeCancel, i, EdgeCancelSent)
		s.sendCancel(i)
	}
	s.progress()
}
