package gen

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
	errState   error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Rows, What: "gen parent: no row for this input in this state"}
	errEdge    error = &sm.Refusal{Reason: sm.UnknownEdge, Req: reqV2Key, What: "gen parent: edge outside the topology"}
	errBounds  error = &sm.Refusal{Reason: sm.BadRequest, Req: reqV2Bounds, What: "gen parent: number of edges or parts out of bounds"}
	errRound   error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Admit, What: "gen parent: the round agreed to what this rank did not offer"}
	errPublish error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Publish, What: "gen parent: OPEN may not be sent now"}
	errBarrier error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Barrier, What: "gen parent: not in the installation barrier"}
	errExtra   error = &sm.Refusal{Reason: settle.ProtocolError, Req: reqV2Recovery, What: "gen parent: message of another dialect"}
	errChunk   error = &sm.Refusal{Reason: settle.ProtocolError, Req: reqV2Chunks, What: "gen parent: chunk out of bounds"}
	errReceipt error = &sm.Refusal{Reason: settle.ProtocolError, Req: reqV2Receipt, What: "gen parent: receipt for what was not sent"}
	errPart    error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Bundle, What: "gen parent: no work runs on this part"}
	errGone    error = &sm.Refusal{Reason: settle.UnknownTicket, Req: reqV2Gone, What: "gen parent: no such attempt"}
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

func (s *step) do(e ParentEffect) { s.dst = append(s.dst, e) }

// take records a row of the parent; takeEdge one of an edge.
func (s *step) take(r Row) { s.do(ParentEffect{Kind: DoTake, Row: r}) }

func (s *step) takeEdge(r Row, i uint8) { s.do(ParentEffect{Kind: DoTake, Row: r, Edge: i}) }

func (s *step) move(r Row, i uint8, to EdgeState) {
	s.takeEdge(r, i)
	s.edge[i].state = to
}

func (s *step) stray(c settle.Cause) { s.do(ParentEffect{Kind: DoStray, Edge: s.in.Edge, Cause: c}) }

func (s *step) apply() error {
	switch s.in.Kind {
	case OnReady, OnCancelMessage, OnTerminal, OnReceipt, OnStatus, OnSync, OnData:
		return s.message()
	case OnSent, OnSendFailed, OnPeerQuiet:
		if s.in.Edge >= s.edges {
			return errEdge
		}
		if s.in.Kind == OnPeerQuiet {
			return s.peerQuiet()
		}
		return s.sent()
	case OnValidate:
		return s.validate()
	case OnContribute:
		return s.contribute()
	case OnRound:
		return s.round()
	case OnGranted, OnDenied:
		return s.lease()
	case OnPublish:
		return s.publish()
	case OnBarrier:
		return s.barrier()
	case OnWorkBegan, OnProcessed:
		return s.work()
	case OnCancel:
		return s.cancel()
	case OnDoubt:
		return s.doubt()
	case OnWait:
		return s.waited()
	case OnEpochChanged:
		return s.epochChanged()
	}
	return errState
}

func (s *step) validate() error {
	in := &s.in
	if s.state != ParentImported || s.edges != 0 {
		return errState
	}
	if !in.Value {
		s.cause = in.Cause
		s.take(RowRefuse)
		s.localEnd(sm.Rejected)
		return nil
	}
	if in.Edges == 0 || in.Edges > MaxParentEdges || in.Parts == 0 || in.Parts > MaxParts {
		return errBounds
	}
	s.take(RowPrepare)
	s.state, s.edges, s.parts = ParentPrepared, in.Edges, in.Parts
	s.flags |= queued
	if in.Caps.Has(descriptor.CapRecovery) {
		s.flags |= hasX48
	}
	if in.Caps.Has(descriptor.CapQuiescence) {
		s.flags |= hasX49
	}
	s.do(ParentEffect{Kind: DoLease})
	return nil
}

// contribute hands this rank's contribution to the round and remembers an
// agreement that the others may act on.
func (s *step) contribute() error {
	c := s.says()
	if c.intent == 0 {
		return nil
	}
	if c.intent == wireround.Admit || c.intent == wireround.Complete {
		s.flags |= sealed
	}
	s.do(ParentEffect{Kind: DoContribute, Intent: c.intent, Evidence: c.evidence, Publication: s.pub})
	return nil
}

// lease takes the answer to DoLease. A rank agrees to the admission only with its
// lease in hand, so that no rank can publish while a sibling still waits for a slot
// (KS-GEN-13).
func (s *step) lease() error {
	if s.flags&queued == 0 {
		return errState
	}
	s.flags &^= queued
	if s.in.Kind == OnDenied {
		s.want(s.in.Cause)
		return nil
	}
	s.flags |= leased
	s.binding = s.in.Binding
	return nil
}

// publish marks every edge as possibly told before the first send: the call may be
// observed before it returns (KS-GEN-2).
func (s *step) publish() error {
	if !s.MayPublish() {
		return errPublish
	}
	s.pub = wireround.MaybeObservable
	if s.state == ParentCancelPending {
		s.take(RowCommitCancelled)
		s.again(true)
	} else {
		s.take(RowCommit)
		s.state = ParentPublishing
		s.do(ParentEffect{Kind: DoDisarm, Wait: settle.AdmissionWait})
		s.do(ParentEffect{Kind: DoArm, Wait: settle.RequestWait})
		s.do(ParentEffect{Kind: DoArm, Wait: settle.RetryWait})
		if s.flags&hasX48 != 0 {
			s.do(ParentEffect{Kind: DoArm, Wait: settle.SoftWait})
		}
	}
	s.do(ParentEffect{Kind: DoAdvertise})
	for i := range s.edges {
		s.edge[i].state = EdgeOpenSent
		s.do(ParentEffect{Kind: DoSend, Msg: control.TypeOpen, Edge: i})
	}
	return nil
}

// sent collects the results of the fan-out, which goes on after a failure.
func (s *step) sent() error {
	e := &s.edge[s.in.Edge]
	if s.pub == wireround.Unset || e.sent {
		return errPublish
	}
	e.sent = true
	if s.in.Kind == OnSendFailed {
		s.flags |= failed
		s.pub = wireround.FailedIndeterminate
		if s.in.Value && e.state == EdgeOpenSent && e.peer == settle.Missing && e.got == 0 {
			e.state = EdgeAbsent // definitely never told (KS-SLOT-18)
		}
	}
	for i := range s.edges {
		if !s.edge[i].sent {
			return nil
		}
	}
	if s.flags&failed == 0 {
		s.pub = wireround.Acked
	}
	if s.state != ParentPublishing {
		return nil
	}
	if s.flags&failed != 0 {
		s.cause = settle.ByPublish
		s.flags |= wanted
		s.uninstalled(RowPublishFailed)
		return nil
	}
	s.take(RowPublished)
	s.state = ParentOpenSent
	s.answers()
	return nil
}

func (s *step) barrier() error {
	if s.state != ParentOpenSent || s.flags&installed == 0 || s.flags&settling != 0 {
		return errBarrier
	}
	s.take(RowAllReady)
	s.state = ParentInFlight
	s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RetryWait})
	s.do(ParentEffect{Kind: DoBegin})
	for i := range s.edges {
		s.move(RowEdgeInstall, i, EdgeInFlight)
	}
	s.arrived()
	if s.flags&soft != 0 && s.state == ParentInFlight {
		s.ask()
	}
	return nil
}

// cancel records the wish; only a round decides (KS-TIME-14, KS-TIME-15).
func (s *step) cancel() error {
	switch {
	case s.state == ParentRetired:
		return errGone
	case s.state == ParentSuccess, s.state.Terminal(), s.flags&settling != 0, s.state == ParentUninstalled,
		s.flags&wanted != 0:
		s.stray(s.in.Cause)
		if s.bad.Has(wrong.CancelTwice) {
			s.do(ParentEffect{Kind: DoSettle, Disposition: sm.Cancelled, Cause: s.in.Cause})
		}
	default:
		s.want(s.in.Cause)
	}
	return nil
}

// want records why this rank wants the end.
func (s *step) want(c settle.Cause) {
	if s.flags&wanted != 0 || s.flags&settling != 0 && s.state != ParentSuccess {
		return
	}
	s.flags |= wanted
	s.cause = c
	if s.bad.Has(wrong.FreeOnCancel) {
		s.free()
	}
	if s.bad.Has(wrong.DecideAlone) && s.pub != wireround.Unset {
		s.end(ParentUnknown, settle.Unknown)
	}
}

// open says that the attempt is under way and was not decided to end.
func (s *step) open() bool { return s.state < ParentReducing && s.flags&settling == 0 }

func (s *step) doubt() error {
	switch {
	case s.state == ParentRetired:
		return errGone
	case s.open():
		if s.pub != wireround.Unset {
			s.flags |= doubtful
		}
		s.want(s.in.Cause)
	case s.state == ParentReducing, s.state == ParentCancelPending, s.state == ParentCancelSent:
		s.flags |= doubtful
	default:
		s.stray(s.in.Cause)
	}
	return nil
}

func (s *step) epochChanged() error {
	if s.bad.Has(wrong.IgnoreEpochs) {
		return nil
	}
	switch {
	case s.state == ParentRetired:
		return errGone
	case s.open():
		if s.pub != wireround.Unset {
			s.flags |= stale
		}
		if s.cause == settle.NoCause || s.cause.Cancels() {
			s.flags &^= wanted
		}
		s.want(settle.ByEpoch)
	case s.flags&settling != 0 && !s.state.Terminal():
		s.flags |= stale
	default:
		s.stray(settle.ByEpoch)
	}
	return nil
}

func (s *step) peerQuiet() error {
	s.edge[s.in.Edge].quiet = true
	s.lateProof()
	return nil
}
