package gen

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// success: the data is here and processed on every rank.
func (s *step) success() {
	for i := range s.edges {
		s.move(RowEdgeDone, i, EdgeDestinationComplete)
	}
	s.take(RowComplete)
	s.state, s.result = ParentSuccess, sm.Completed
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RequestWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.SoftWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RetryWait})
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

// proven moves a pending cancel on once an edge is proven installed.
func (s *step) proven() {
	if s.state != ParentCancelPending || !s.anyProven() {
		return
	}
	for i := range s.edges {
		if st := s.edge[i].state; s.edge[i].proven && (st == EdgeCancelSent || st == EdgeUnknown) {
			s.take(RowCancelReady)
			s.state = ParentCancelSent
			return
		}
	}
}

// progress takes the rows that the evidence in hand allows.
func (s *step) progress() {
	switch s.state {
	case ParentCancelSent, ParentReducing, ParentUnknown:
		s.claim()
	}
	if s.state == ParentCancelSent {
		s.evidence()
	}
}

// claim says what the destination of a cancelled edge may say with bit 49.
func (s *step) claim() {
	if !s.X49() {
		return
	}
	for i := range s.edges {
		if s.edge[i].state != EdgeCancelSent {
			continue
		}
		d := settle.Destination{Busy: s.flags&busy != 0, Source: s.edge[i].peer}
		switch d.Claim() {
		case settle.DestinationNotStarted:
			s.move(RowEdgeCancelNotStarted, i, EdgeNotStarted)
		case settle.DestinationQuiesced:
			s.move(RowEdgeCancelQuiesced, i, EdgeQuiesced)
		default:
			continue
		}
		s.tell(i)
	}
}

// evidence leaves CANCEL_SENT when every edge has evidence, or at the deadline.
func (s *step) evidence() {
	for i := range s.edges {
		if s.Evidence(i) == settle.Missing && s.flags&expired == 0 {
			return
		}
	}
	s.take(RowCancelEvidence)
	s.state = ParentReducing
	for i := range s.edges {
		if !s.edge[i].told {
			s.tell(i)
		}
	}
}

// reduce enters REDUCING from anywhere but CANCEL_SENT.
func (s *step) reduce() {
	s.state = ParentReducing
	s.flags = s.flags&^wanted | settling
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RetentionWait})
	s.settleWaits()
	for i := range s.edges {
		if !s.edge[i].told {
			s.tell(i)
		}
	}
}

// uninstalled isolates an attempt of which no peer is proven to know: silent, and
// without anything to wait for but the other ranks.
func (s *step) uninstalled(r Row) {
	s.take(r)
	s.state = ParentUninstalled
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RequestWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RetryWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.SoftWait})
	switch {
	case s.flags&leased == 0:
	case s.Quiet():
		s.free() // no address left this process (KS-SLOT-18)
	default:
		s.isolate()
	}
}

func (s *step) isolate() {
	s.flags = s.flags&^leased | isolated
	s.do(ParentEffect{Kind: DoQuarantine})
}

// reducedTo ends the attempt by the disposition of all ranks.
func (s *step) reducedTo(v *round.Verdict) {
	t := v.Topology
	if t == settle.Quiesced && !s.X49() {
		t = settle.Unknown
	}
	// What all ranks decided holds on all of them, whatever one of them has heard since
	// (KS-RND-14).
	late := t != settle.Unknown && !s.bad.Has(wrong.EpochAfterVerdict)
	if s.flags&stale != 0 && s.state != ParentUninstalled && !late {
		s.take(RowEpochChanged)
		s.end(ParentUnknown, settle.Unknown)
		return
	}
	switch s.state {
	case ParentCancelPending:
		switch {
		case t == settle.NotStarted:
			s.refused()
			return
		case t == settle.Unknown && !s.anyProven():
			s.uninstalled(RowCancelUninstalled)
			s.take(RowUninstalled)
			s.end(ParentUnknown, settle.Unknown)
			return
		}
		s.take(RowCancelUnproven)
		s.state = ParentReducing
	case ParentCancelSent:
		s.flags |= expired // a rank is missing: no evidence can help any more
		s.controlDeadline()
	case ParentUninstalled:
		s.take(RowUninstalled)
		s.end(ParentUnknown, settle.Unknown)
		return
	}
	switch t {
	case settle.NotStarted:
		s.take(RowReduceNotStarted)
		s.end(ParentNotStarted, t)
	case settle.Completed:
		s.take(RowReduceCompleted)
		s.end(ParentCompleted, t)
	case settle.Quiesced:
		s.take(RowReduceQuiesced)
		s.end(ParentQuiesced, t)
	default:
		s.take(RowReduceUnknown)
		s.end(ParentUnknown, settle.Unknown)
	}
}

// end fixes the disposition: leases by proof, one outcome, answers cached.
func (s *step) end(to ParentState, t settle.Topology) {
	s.state = to
	for _, w := range [...]settle.Wait{settle.RequestWait, settle.SoftWait, settle.ControlWait, settle.RetryWait} {
		s.do(ParentEffect{Kind: DoDisarm, Wait: w})
	}
	s.leave(t)
	if s.result == sm.Open {
		s.result = t.Outcome(s.cause == settle.ByPeerRefusal, s.cause.Cancels())
		s.do(ParentEffect{Kind: DoSettle, Disposition: s.result, Cause: s.cause})
	}
	s.do(ParentEffect{Kind: DoCache})
	s.do(ParentEffect{Kind: DoArm, Wait: settle.RetentionWait})
}

// leave lets the slot go as far as proof allows, after the local work.
func (s *step) leave(t settle.Topology) {
	if s.bad.Has(wrong.UnknownTouchesReleased) && t == settle.Unknown {
		if s.flags&(leased|isolated) == 0 {
			s.do(ParentEffect{Kind: DoQuarantine})
			return
		}
		s.free()
		return
	}
	if s.flags&busy != 0 && s.flags&leased != 0 {
		s.flags |= owed
		return
	}
	s.leaveNow(t)
}

func (s *step) leaveNow(t settle.Topology) {
	switch {
	case s.flags&leased != 0 && s.Quiet():
		s.free()
		return
	case s.flags&leased != 0:
		s.isolate()
	case s.flags&isolated == 0:
		return
	case s.Quiet():
		s.lateProof()
		return
	}
	if t.Restarts(true, s.X49()) && !s.bad.Has(wrong.NoRestart) {
		s.do(ParentEffect{Kind: DoRestart})
	}
}

// free ends the lease once, by its token.
func (s *step) free() {
	if s.flags&leased == 0 && !s.bad.Has(wrong.CleanUpTwice) {
		return
	}
	s.flags &^= leased
	s.do(ParentEffect{Kind: DoFree, Proof: s.proof()})
}

// lateProof returns the quarantined slot once the last edge is proven, and changes
// nothing else about the attempt (KS-SLOT-6, KS-GEN-8).
func (s *step) lateProof() {
	if s.flags&isolated == 0 || !s.Quiet() {
		return
	}
	s.flags &^= isolated
	if s.state == ParentUnknown {
		s.take(RowLateProof)
	}
	p := s.proof()
	if p == slot.NeverAdvertised {
		p = slot.Settled
	}
	s.do(ParentEffect{Kind: DoProve, Proof: p})
}
