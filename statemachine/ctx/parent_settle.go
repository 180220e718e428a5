package ctx

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
)

// reduce is the entry into REDUCING: publish what is fixed, then retry.
func (s *step) reduce() {
	s.state = ParentReducing
	s.flags &^= wanted
	s.retries = 0
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RequestWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RetentionWait})
	s.do(ParentEffect{Kind: DoArm, Wait: settle.ControlWait})
	s.do(ParentEffect{Kind: DoArm, Wait: settle.RetryWait})
	for i := range s.edges {
		if s.edge[i].state == EdgeDraining {
			s.drained(i)
		} else if !s.edge[i].told {
			s.tell(i)
		}
	}
}

// claim is what the source of an edge may say now (KS-QUI-4).
func (s *step) claim(i uint8) settle.Claim {
	e := &s.edge[i]
	return settle.Source{
		Posts: e.posts, Committed: true, Sealed: e.sealed,
		Quiescence: s.X49() && s.con.MayQuiesce(),
		ErrorQuiet: s.con.Has(settle.ErrorQuiet),
		Deadline:   s.flags&expired != 0,
	}.Claim()
}

// drained looks whether a sealed edge has its evidence.
func (s *step) drained(i uint8) {
	if s.edge[i].state != EdgeDraining {
		return
	}
	if s.bad.Has(wrong.NotStartedAfterCommit) {
		s.edge[i].state = EdgeNotStarted
		s.tell(i)
		return
	}
	switch s.claim(i) {
	case settle.SourceComplete:
		s.move(RowEdgeDrainedComplete, i, EdgeSourceComplete)
	case settle.SourceQuiesced:
		s.move(RowEdgeDrained, i, EdgeQuiesced)
	case settle.SourceUnknown:
		s.move(RowEdgeDrainUnknown, i, EdgeUnknown)
	default:
		return
	}
	s.tell(i)
}

func (s *step) controlDeadline() {
	s.flags |= expired
	for i := range s.edges {
		s.drained(i)
	}
	if s.bad.Has(wrong.FreeOnTimeout) {
		s.free()
	}
	if s.bad.Has(wrong.TimeoutDecides) {
		s.reducedTo(settle.Unknown)
	}
}

// resend repeats TERMINAL where it may have been lost, or where GEN's own evidence
// is missing: GEN answers a repeat with both.
func (s *step) resend() {
	if s.flags&expired != 0 {
		return
	}
	s.take(RowResend)
	for i := range s.edges {
		if e := &s.edge[i]; e.told && (!e.receipted || e.peer == settle.Missing) {
			s.tell(i)
		}
	}
	if s.retries < maxRetries && !s.bad.Has(wrong.NoPause) {
		s.retries++
	}
	s.do(ParentEffect{Kind: DoArm, Wait: settle.RetryWait, Step: s.retries})
}

// reducedTo ends the attempt by the disposition of all ranks.
func (s *step) reducedTo(t settle.Topology) {
	// What all ranks decided holds on all of them, whatever one of them has heard since
	// (KS-RND-14).
	late := t != settle.Unknown && !s.bad.Has(wrong.EpochAfterVerdict)
	if s.flags&stale != 0 && !late {
		s.take(RowEpochChanged)
		s.end(ParentUnknown, settle.Unknown)
		return
	}
	if t == settle.Quiesced && !s.X49() {
		t = settle.Unknown
	}
	switch t {
	case settle.NotStarted:
		s.take(RowReduceNotStarted)
		s.end(ParentNotStarted, t)
	case settle.Completed:
		if s.answered(control.DestinationComplete) {
			s.take(RowReduceCompleted)
		} else {
			s.take(RowReduceAlone)
		}
		s.end(ParentCompleted, t)
	case settle.Quiesced:
		s.take(RowReduceQuiesced)
		s.end(ParentQuiesced, t)
	default:
		s.take(RowReduceUnknown)
		s.end(ParentUnknown, settle.Unknown)
	}
}

func (s *step) answered(e control.Evidence) bool {
	for i := range s.edges {
		if s.edge[i].peer != e {
			return false
		}
	}
	return true
}

// end fixes the disposition: leases by proof, one outcome, answers cached.
func (s *step) end(to ParentState, t settle.Topology) {
	s.state = to
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RequestWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.ControlWait})
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RetryWait})
	s.leave(t)
	if s.result == sm.Open {
		s.result = t.Outcome(s.cause == settle.ByPeerRefusal, s.cause.Cancels())
		if s.cause == settle.ByContextDeadline && t == settle.NotStarted {
			s.result = sm.Failed // KS-TIME-6
		}
		s.do(ParentEffect{Kind: DoSettle, Disposition: s.result, Cause: s.cause})
	}
	s.do(ParentEffect{Kind: DoCache})
	s.do(ParentEffect{Kind: DoArm, Wait: settle.RetentionWait})
}

// leave lets the source lease go as far as proof allows. On this side proof is what
// the writes themselves say, whatever the topology is called.
func (s *step) leave(t settle.Topology) {
	if s.bad.Has(wrong.UnknownTouchesReleased) && t == settle.Unknown {
		if s.flags&leased == 0 {
			s.do(ParentEffect{Kind: DoQuarantine})
			return
		}
		s.free()
		return
	}
	if s.flags&leased == 0 {
		return
	}
	if s.Quiet() {
		s.free()
		return
	}
	s.flags = s.flags&^leased | isolated
	s.do(ParentEffect{Kind: DoQuarantine})
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
	proof := slot.NotStarted
	for i := range s.edges {
		if s.edge[i].posts.Made > 0 {
			proof = slot.OwnWritesFinal
		}
	}
	s.do(ParentEffect{Kind: DoFree, Proof: proof})
}
