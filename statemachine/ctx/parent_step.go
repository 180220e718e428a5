package ctx

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	wireround "github.com/kvsettle/kvsettle/wire/round"
)

// The refusals of Step, as values so that refusing costs no allocation.
var (
	errState    error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Rows, What: "ctx parent: no row for this input in this state"}
	errEdge     error = &sm.Refusal{Reason: sm.UnknownEdge, Req: reqV2Key, What: "ctx parent: edge outside the topology"}
	errProposal error = &sm.Refusal{Reason: sm.BadRequest, Req: reqV2Key, What: "ctx parent: number of edges or chunks out of bounds"}
	errRound    error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Bind, What: "ctx parent: the round agreed to what this rank did not offer"}
	errPost     error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Seal, What: "ctx parent: a post that may not be made"}
	errFinal    error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Final, What: "ctx parent: the end of a post that was not made"}
	errExtra    error = &sm.Refusal{Reason: settle.ProtocolError, Req: reqV2Recovery, What: "ctx parent: bit 48 is not selected"}
	errPinned   error = &sm.Refusal{Reason: sm.NoProof, Req: reqV2Window, What: "ctx parent: a post is not proven final"}
	errReceipt  error = &sm.Refusal{Reason: settle.ProtocolError, Req: reqV2Rows, What: "ctx parent: receipt for what was not sent"}
	errUnknown  error = &sm.Refusal{Reason: settle.UnknownTicket, Req: reqV2Active, What: "ctx parent: no such ticket"}
	errBarrier  error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2First, What: "ctx parent: not in the installation barrier"}
)

// step is one Step under way: a working copy of the parent and the effects.
type step struct {
	Parent
	in  ParentInput
	dst []ParentEffect
}

// Step applies one input. It returns the next parent and dst with the effects
// appended. A refused input returns a *statemachine.Refusal, the parent unchanged
// and dst as it was. No input makes it panic.
func (p Parent) Step(in ParentInput, dst []ParentEffect) (Parent, []ParentEffect, error) {
	s := step{Parent: p, in: in, dst: dst}
	before := s.offer()
	if err := s.apply(); err != nil {
		return p, dst, err
	}
	if after := s.offer(); after != before && after.intent != 0 {
		s.do(ParentEffect{Kind: DoEnter})
	}
	return s.Parent, s.dst, nil
}

// offer is what would change something in the next round; nothing while an
// agreement is under way or the disposition is fixed.
func (p *Parent) offer() (o words) {
	if p.flags&sealed != 0 || p.state.Terminal() {
		return o
	}
	return p.says()
}

func (s *step) do(e ParentEffect) { s.dst = append(s.dst, e) }

// take records a row of the parent; takeEdge one of an edge.
func (s *step) take(r Row) { s.do(ParentEffect{Kind: DoTake, Row: r}) }

func (s *step) takeEdge(r Row, i uint8) { s.do(ParentEffect{Kind: DoTake, Row: r, Edge: i}) }

func (s *step) move(r Row, i uint8, to EdgeState) {
	s.takeEdge(r, i)
	s.edge[i].state = to
}

func (s *step) apply() error {
	switch s.in.Kind {
	case OnOpen, OnCancelMessage, OnTerminal, OnReceipt, OnQuery:
		return s.message()
	case OnPosted, OnWritten, OnWriteFailed, OnReleased, OnSealed:
		if s.in.Edge >= s.edges {
			return errEdge
		}
		return s.progress()
	case OnPublish:
		return s.publish()
	case OnContribute:
		return s.contribute()
	case OnRound:
		return s.round()
	case OnPrepare:
		return s.prepare()
	case OnBarrier:
		return s.barrier()
	case OnCancel:
		return s.cancel()
	case OnReject, OnDoubt:
		return s.doubt()
	case OnWait:
		return s.waited()
	case OnEpochChanged:
		return s.epochChanged()
	}
	return errState
}

func (s *step) publish() error {
	if s.state != ParentAbsent {
		return errState
	}
	if !s.in.Room {
		s.take(RowPublishFull)
		s.do(ParentEffect{Kind: DoStray, Cause: settle.ByAdmissionDeadline})
		return nil
	}
	s.take(RowPublish)
	s.state, s.con, s.binding = ParentPublished, s.in.Contract, s.in.Binding
	s.flags |= leased
	s.do(ParentEffect{Kind: DoArm, Wait: settle.ContextWait})
	s.do(ParentEffect{Kind: DoPublish})
	return nil
}

// match is how the message fits, by the rules that hold.
func (s *step) match() settle.Match {
	m := s.in.Match
	if s.bad.Has(wrong.IdentifyByRequestID) && m.Has(settle.SameRequest) {
		return settle.Exact
	}
	if s.bad.Has(wrong.IgnoreEpochs) {
		m |= settle.SameEpochs
	}
	if s.bad.Has(wrong.OldReachesNew) {
		m |= settle.SameAttempt
	}
	return m
}

// contribute hands this rank's contribution to the round and remembers an
// agreement that the others may act on: a cancel waits for that round (M36).
func (s *step) contribute() error {
	c := s.says()
	if c.intent == 0 {
		return nil
	}
	if c.intent == wireround.Admit || c.intent == wireround.Complete {
		s.flags |= sealed
	}
	s.do(ParentEffect{Kind: DoContribute, Intent: c.intent, Evidence: c.evidence})
	return nil
}

func (s *step) prepare() error {
	if s.state != ParentBound || s.flags&(committed|wanted) != 0 {
		return errState
	}
	for i := range s.edges {
		if s.edge[i].state == EdgeBound {
			s.move(RowEdgePrepare, i, EdgePrepared)
		}
	}
	return nil
}

func (s *step) barrier() error {
	if s.state != ParentBound || s.flags&committed == 0 {
		return errBarrier
	}
	for i := range s.edges {
		if s.edge[i].state != EdgeDecided {
			return errBarrier
		}
	}
	for i := range s.edges {
		s.show(i)
	}
	return nil
}

// show makes READY visible, then lets the writes begin (KS-CTX-7).
func (s *step) show(i uint8) {
	s.move(RowEdgeShow, i, EdgeInFlight)
	s.edge[i].shown = true
	s.do(ParentEffect{Kind: DoSend, Msg: control.TypeReady, Edge: i, Decision: control.DecisionReady})
	s.do(ParentEffect{Kind: DoWrite, Edge: i})
}

// cancel records the wish; only a round decides (KS-TIME-14, KS-TIME-15).
func (s *step) cancel() error {
	switch s.state {
	case ParentPublished, ParentBound:
		if s.flags&wanted != 0 && !s.bad.Has(wrong.CancelTwice) {
			s.do(ParentEffect{Kind: DoStray, Cause: s.in.Cause})
			return nil
		}
		s.want(s.in.Cause)
	case ParentSuccess:
		s.take(RowLocalCancelAfterSuccess)
	case ParentAbsent, ParentRetired:
		return errUnknown
	default:
		s.do(ParentEffect{Kind: DoStray, Cause: s.in.Cause})
		if s.bad.Has(wrong.CancelTwice) {
			s.do(ParentEffect{Kind: DoSettle, Disposition: s.result, Cause: s.in.Cause})
		}
	}
	return nil
}

// want records why this rank wants the end and marks every edge before its commit.
// An agreement that is in a round already is not taken back one-sidedly.
func (s *step) want(c settle.Cause) {
	if s.flags&wanted == 0 {
		s.flags |= wanted
		s.cause = c
	}
	if s.state == ParentBound && s.bad.Has(wrong.FreeOnCancel) {
		s.free()
	}
	if s.flags&sealed == 0 {
		s.mark()
	}
	if s.bad.Has(wrong.DecideAlone) && s.state == ParentBound {
		s.end(ParentUnknown, settle.Unknown)
	}
}

// mark moves every edge before its commit to CANCEL_PENDING (KS-RND-9).
func (s *step) mark() {
	if s.state != ParentBound || s.flags&committed != 0 {
		return
	}
	for i := range s.edges {
		if st := s.edge[i].state; st == EdgeBound || st == EdgePrepared {
			s.move(RowEdgeCancel, i, EdgeCancelPending)
		}
	}
}

// doubt is whatever makes this rank unable to go on or to trust its key.
func (s *step) doubt() error {
	switch s.state {
	case ParentPublished, ParentBound:
		if s.in.Kind == OnDoubt && s.state == ParentBound {
			s.flags |= doubtful
		}
		s.want(s.in.Cause)
	case ParentReducing:
		if s.in.Kind == OnDoubt {
			s.flags |= doubtful
		}
	case ParentAbsent, ParentRetired:
		return errUnknown
	default:
		s.do(ParentEffect{Kind: DoStray, Cause: s.in.Cause})
	}
	return nil
}

func (s *step) epochChanged() error {
	if s.bad.Has(wrong.IgnoreEpochs) {
		return nil
	}
	switch s.state {
	case ParentPublished:
		if s.flags&sealed != 0 {
			s.flags |= stale
			return nil
		}
		// The proposal died with its epoch; the ticket did not.
		for i := range s.edges {
			s.edge[i] = edge{}
		}
		s.edges, s.flags = 0, s.flags&^(opened|hasX48|hasX49|perChunk)
	case ParentBound:
		s.voided()
	case ParentReducing:
		s.flags |= stale
	case ParentAbsent, ParentRetired:
		return errUnknown
	default:
		s.do(ParentEffect{Kind: DoStray, Cause: settle.ByEpoch})
	}
	return nil
}

// voided ends a bound attempt whose peer has another epoch now (KS-REG-16).
func (s *step) voided() {
	s.flags |= stale
	if s.cause.Cancels() || s.cause == settle.NoCause {
		s.flags &^= wanted
	}
	s.want(settle.ByEpoch)
}

func (s *step) waited() error {
	if s.bad.Has(wrong.NoDeadline) {
		return nil
	}
	switch {
	case s.in.Wait == settle.ContextWait && s.state == ParentPublished:
		s.want(settle.ByContextDeadline)
	case s.in.Wait == settle.RequestWait && s.state == ParentBound:
		s.timeout(settle.ByRequestDeadline)
	case s.in.Wait == settle.ControlWait && s.state == ParentReducing:
		s.controlDeadline()
	case s.in.Wait == settle.RetryWait && s.state == ParentReducing:
		s.resend()
	case s.in.Wait == settle.RetentionWait && (s.state == ParentSuccess || s.state.Terminal()):
		return s.retire()
	default:
		// A wait that ended while its disarm was under way.
		s.do(ParentEffect{Kind: DoStray})
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

func (s *step) retire() error {
	if s.flags&isolated != 0 || !s.Quiet() {
		return errPinned
	}
	s.take(RowRetire)
	for i := range s.edges {
		if s.edge[i].state == EdgeDraining {
			// The attempt ended without waiting for this edge: a rank was missing.
			s.move(RowEdgeDrainUnknown, i, EdgeUnknown)
		}
		if s.edge[i].state != EdgeAbsent {
			s.move(RowEdgeRetire, i, EdgeRetired)
		}
	}
	s.state = ParentRetired
	s.do(ParentEffect{Kind: DoDrop})
	return nil
}

// adopt takes over what the OPEN's selection says.
func (s *step) adopt(in *ParentInput) {
	s.edges = in.Edges
	if in.Caps.Has(descriptor.CapRecovery) {
		s.flags |= hasX48
	}
	if in.Caps.Has(descriptor.CapQuiescence) {
		s.flags |= hasX49
	}
	if in.PerChunk {
		s.flags |= perChunk
	}
}
