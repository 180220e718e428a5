package ctx

import (
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
)

// authentic are the parts that say who sent a message about which ticket.
const authentic = settle.SameRequest | settle.SameTicket | settle.SameEpochs | settle.SameRanks

func (s *step) message() error {
	if s.state == ParentAbsent || s.state == ParentRetired {
		return s.stale()
	}
	m := s.match()
	switch {
	case s.in.Kind == OnOpen:
		return s.open(m)
	case s.in.Kind == OnCancelMessage && s.state == ParentPublished:
		if !m.Has(authentic) {
			return m.Check()
		}
		s.take(RowCancelUnbound)
		s.answer(s.in.Edge, control.Unknown)
		return nil
	case !m.Has(settle.Exact):
		return m.Check()
	case s.in.Edge >= s.edges:
		return errEdge
	case s.state == ParentPublished && s.in.Kind != OnQuery:
		return errState
	case s.state == ParentSuccess, s.state.Terminal():
		// Any message of the key keeps its metadata (KS-REG-8).
		s.do(ParentEffect{Kind: DoArm, Wait: settle.RetentionWait})
	}
	switch s.in.Kind {
	case OnCancelMessage:
		return s.cancelMessage()
	case OnTerminal:
		return s.terminal()
	case OnReceipt:
		return s.receipt()
	}
	return s.query()
}

// stale answers for a ticket that is not registered: authority is never assumed.
func (s *step) stale() error {
	switch {
	case s.in.Kind == OnOpen && s.bad.Has(wrong.ReadyWithoutHit):
		s.do(ParentEffect{Kind: DoSend, Msg: control.TypeReady, Edge: s.in.Edge, Decision: control.DecisionReady})
		s.do(ParentEffect{Kind: DoWrite, Edge: s.in.Edge})
	case s.in.Kind == OnOpen:
		s.take(RowStale)
		s.answer(s.in.Edge, control.Unknown)
	case s.in.Kind == OnCancelMessage && s.state == ParentAbsent:
		s.take(RowCancelUnbound)
		s.answer(s.in.Edge, control.Unknown)
	case s.in.Kind == OnTerminal:
		s.take(RowStale)
		s.do(ParentEffect{Kind: DoStray, Edge: s.in.Edge, Cause: settle.ByProtocol})
	case s.in.Kind == OnQuery:
		s.take(RowStale)
		s.status(s.in.Edge, control.StateUnknown)
	default:
		return errUnknown
	}
	return nil
}

// answer sends NOT_READY.
func (s *step) answer(i uint8, e control.Evidence) {
	s.do(ParentEffect{Kind: DoSend, Msg: control.TypeReady, Edge: i, Decision: control.DecisionNotReady, Evidence: e})
}

func (s *step) status(i uint8, state control.SourceState) {
	s.do(ParentEffect{Kind: DoSend, Msg: control.TypeStatus, Edge: i, State: state})
}

// tell sends TERMINAL with what is fixed; the bytes of a repeat are those of the
// first, because evidence is final (KS-QUI-7).
func (s *step) tell(i uint8) {
	e := s.Evidence(i)
	if e == settle.Missing || s.edge[i].state == EdgeAbsent {
		return
	}
	s.do(ParentEffect{Kind: DoSend, Msg: control.TypeTerminal, Edge: i, Evidence: e, Again: s.edge[i].told})
	s.edge[i].told = true
}

func (s *step) open(m settle.Match) error {
	if s.state == ParentPublished {
		return s.openPublished(m)
	}
	if !m.Has(authentic) {
		return m.Check()
	}
	if s.in.Edge >= MaxParentEdges || s.edges > 0 && s.in.Edge >= s.edges {
		return errEdge
	}
	if s.state.Terminal() || s.state == ParentSuccess {
		s.do(ParentEffect{Kind: DoArm, Wait: settle.RetentionWait})
	}
	switch {
	case s.state == ParentUnknown && s.edges == 0 && m.Has(settle.SameAttempt):
		// The proposal was refused, so its selection cannot match; its fingerprint does.
		s.take(RowIncompatibleRepeat)
		s.do(ParentEffect{Kind: DoSend, Msg: control.TypeReady, Edge: s.in.Edge, Decision: control.DecisionNotReady,
			Evidence: control.Unknown, Again: true})
		return nil
	case !m.Has(settle.SameAttempt):
		s.take(RowOtherAttempt)
		s.answer(s.in.Edge, control.Unknown)
		return nil
	case !m.Has(settle.Exact):
		return m.Check()
	}
	if s.edge[s.in.Edge].state == EdgeAbsent {
		return s.openFirst()
	}
	if s.state.Terminal() {
		s.take(RowRepeat)
	} else {
		s.takeEdge(RowEdgeDuplicateOpen, s.in.Edge)
	}
	s.answerAgain(s.in.Edge)
	return nil
}

// answerAgain repeats what was said about an edge; nothing where nothing was said.
func (s *step) answerAgain(i uint8) {
	e := &s.edge[i]
	ended := s.state == ParentReducing || s.state.Terminal()
	switch {
	case e.shown:
		s.do(ParentEffect{Kind: DoSend, Msg: control.TypeReady, Edge: i, Decision: control.DecisionReady, Again: true})
	case e.state == EdgeNotStarted:
		s.do(ParentEffect{Kind: DoSend, Msg: control.TypeReady, Edge: i, Decision: control.DecisionNotReady,
			Evidence: control.NotStarted, Again: true})
	}
	if ended && e.told {
		s.tell(i)
	}
}

// openFirst hears an edge for the first time while the ticket is not PUBLISHED any
// more.
func (s *step) openFirst() error {
	i := s.in.Edge
	if s.in.Chunks == 0 || s.in.Chunks > MaxChunks {
		return errProposal
	}
	switch {
	case s.state == ParentBound:
		s.edge[i].posts.Chunks = s.in.Chunks
		s.edge[i].state = EdgeBound
		if s.flags&(wanted|committed) == wanted {
			s.mark()
		}
	case s.state == ParentNotStarted && s.edges == 0:
		// The cached no-peer answer (KS-REG-19): no child, no authority.
		s.take(RowRepeat)
		if s.bad.Has(wrong.ReadyWithoutHit) {
			s.do(ParentEffect{Kind: DoSend, Msg: control.TypeReady, Edge: i, Decision: control.DecisionReady})
			s.do(ParentEffect{Kind: DoWrite, Edge: i})
			return nil
		}
		s.answer(i, control.NotStarted)
	default:
		s.take(RowLateOpen)
		s.edge[i].state = EdgeNotStarted
		s.answer(i, control.NotStarted)
		if s.X49() {
			s.tell(i)
		}
	}
	return nil
}

func (s *step) openPublished(m settle.Match) error {
	i := s.in.Edge
	if !m.Has(authentic) {
		return m.Check()
	}
	if s.in.Edges == 0 || s.in.Edges > MaxParentEdges || s.in.Chunks == 0 || s.in.Chunks > MaxChunks {
		return errProposal
	}
	if i >= s.in.Edges {
		return errEdge
	}
	switch {
	case !m.Has(settle.SameAttempt) && s.edges > 0:
		s.take(RowPendingOther)
		s.answer(i, control.Unknown)
		return nil
	case !m.Has(settle.SameDigest | settle.SameSelection), s.edges > 0 && s.in.Edges != s.edges:
		s.edges = max(s.edges, s.in.Edges)
		s.edge[i].state = EdgeBound
		s.want(settle.ByIncompatible)
		return nil
	}
	if s.edges == 0 {
		s.adopt(&s.in)
	}
	s.edge[i].state = EdgeBound
	s.edge[i].posts.Chunks = s.in.Chunks
	s.flags |= opened
	return nil
}

func (s *step) cancelMessage() error {
	i := s.in.Edge
	switch s.state {
	case ParentBound:
		if s.flags&wanted == 0 || s.bad.Has(wrong.CancelTwice) {
			s.want(settle.ByPeer)
		}
	case ParentSuccess:
		// The evidence is fixed, so the answer does not wait for the round.
		s.take(RowAnswer)
		s.tell(i)
		s.want(settle.ByPeer)
	case ParentReducing:
		s.take(RowAnswer)
		s.tell(i)
	default:
		s.take(RowRepeat)
		s.tell(i)
		if s.bad.Has(wrong.CleanUpTwice) {
			s.do(ParentEffect{Kind: DoFree})
		}
	}
	return nil
}

// terminal takes GEN's evidence, once, and acknowledges the bytes (KS-SET-9).
func (s *step) terminal() error {
	i := s.in.Edge
	e := &s.edge[i]
	if e.state == EdgeAbsent {
		return errState
	}
	if e.peer == settle.Missing {
		e.peer = s.in.Evidence
		if e.peer == settle.Missing || e.peer == control.SourceComplete || e.peer == control.Quiesced && !s.X49() {
			e.peer = control.Unknown // not a destination's to say here (KS-SET-11)
		}
	}
	s.do(ParentEffect{Kind: DoSend, Msg: control.TypeReceipt, Edge: i, Evidence: s.in.Evidence})
	switch s.state {
	case ParentBound:
		if s.in.Evidence != control.DestinationComplete {
			s.want(settle.ByPeer)
		}
	case ParentReducing, ParentSuccess:
		s.take(RowAnswer)
	default:
		s.take(RowRepeat)
	}
	if s.state != ParentBound && (!e.told || !e.receipted) {
		s.tell(i)
	}
	return nil
}

// receipt stops the re-sending of TERMINAL and does nothing else (KS-SET-9).
func (s *step) receipt() error {
	e := &s.edge[s.in.Edge]
	if !e.told || s.in.Evidence != s.Evidence(s.in.Edge) {
		return errReceipt
	}
	e.receipted = true
	if s.bad.Has(wrong.ReceiptIsEvidence) && e.peer == settle.Missing {
		e.peer = s.in.Evidence
		if e.peer == control.SourceComplete {
			e.peer = control.DestinationComplete
		}
	}
	return nil
}

// query answers from what is recorded and changes nothing (KS-REC-6, KS-REC-13).
func (s *step) query() error {
	if s.flags&hasX48 == 0 {
		return errExtra
	}
	state := control.StateInProgress
	switch s.edge[s.in.Edge].state {
	case EdgeAbsent, EdgeBound, EdgePrepared, EdgeCancelPending, EdgeNotStarted:
		state = control.StateNotStarted
	case EdgeSourceComplete:
		state = control.StateSourceComplete
	case EdgeQuiesced:
		state = control.StateQuiesced
	case EdgeUnknown:
		state = control.StateUnknown
	}
	s.take(RowQuery)
	s.status(s.in.Edge, state)
	return nil
}
