package gen

import (
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
	wireround "github.com/kvsettle/kvsettle/wire/round"
)

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
		m |= settle.SameAttempt | settle.SameTicket
	}
	return m
}

func (s *step) message() error {
	if m := s.match(); !m.Has(settle.Exact) {
		return m.Check()
	}
	if s.state == ParentRetired {
		switch s.in.Kind {
		case OnReady, OnCancelMessage, OnTerminal:
			s.take(RowStale)
			s.stray(settle.ByProtocol)
			return nil
		}
		return errGone
	}
	if s.in.Edge >= s.edges {
		return errEdge
	}
	if s.pub == wireround.Unset || s.edge[s.in.Edge].state == EdgeAbsent {
		return errState // nothing of this attempt was ever sent to that peer
	}
	if s.state == ParentSuccess || s.state.Terminal() {
		// Any message of the key keeps its metadata (KS-REG-8).
		s.do(ParentEffect{Kind: DoArm, Wait: settle.RetentionWait})
	}
	switch s.in.Kind {
	case OnReady:
		return s.readyMessage()
	case OnCancelMessage:
		return s.cancelMessage()
	case OnTerminal:
		return s.terminal()
	case OnReceipt:
		return s.receipt()
	case OnStatus:
		return s.status()
	}
	return s.data()
}

func (s *step) readyMessage() error {
	i := s.in.Edge
	e := &s.edge[i]
	if s.in.Decision != control.DecisionReady {
		s.notReady(i)
		return nil
	}
	if s.flags&(hasX48|hasX49) != 0 && e.state == EdgeOpenSent {
		if s.anyProven() {
			s.con &= s.in.Contract // what every source promises
		} else {
			s.con = s.in.Contract
		}
	}
	switch {
	case e.state != EdgeOpenSent:
		if e.state == EdgeNotStarted && e.peer == control.NotStarted {
			s.contradiction(i)
		}
		s.repeat()
	case s.state == ParentUninstalled || s.state.Terminal():
		s.stray(settle.ByPeer)
	case s.flags&settling != 0:
		e.proven = true
		s.move(RowEdgeReadyAfterCancel, i, EdgeCancelSent)
		s.sendCancel(i)
		s.proven()
		s.progress()
	default:
		e.proven = true
		s.move(RowEdgeReady, i, EdgeReadyAccepted)
		if s.flags&(hasX48|hasX49) != 0 {
			s.do(ParentEffect{Kind: DoClip, RetentionMS: s.in.RetentionMS})
		}
		s.answers()
	}
	return nil
}

// repeat answers a READY that says nothing new.
func (s *step) repeat() {
	if s.state.Terminal() {
		s.take(RowRepeat)
	} else {
		s.stray(settle.NoCause)
	}
}

// notReady takes a refusal: NOT_STARTED is the source's evidence, UNKNOWN is none.
func (s *step) notReady(i uint8) {
	e := &s.edge[i]
	refused := s.in.Evidence == control.NotStarted
	committed := e.state == EdgeReadyAccepted || e.state == EdgeInFlight || e.state == EdgeCancelSent ||
		e.state == EdgeDestinationComplete
	switch {
	case refused && (committed || e.done || e.got != 0):
		s.contradiction(i)
	case refused && e.peer == settle.Missing && e.state == EdgeOpenSent:
		e.peer = control.NotStarted
		if s.state == ParentUninstalled || s.state.Terminal() {
			s.lateProof()
			return
		}
		s.move(RowEdgeNoPeer, i, EdgeNotStarted)
		s.answers()
		s.progress()
	case refused && e.peer == settle.Missing:
		e.peer = control.NotStarted
		s.lateProof()
	case !refused && e.state == EdgeOpenSent && s.state != ParentUninstalled && !s.state.Terminal():
		s.move(RowEdgeRejected, i, EdgeUnknown)
		s.answers()
		s.progress()
	case !refused && committed && s.open() && !s.X49():
		s.flags |= doubtful
		s.want(settle.ByProtocol)
	default:
		// A miss fills gaps only (KS-QUI-8).
		s.repeat()
	}
}

// contradiction: the source said two things that exclude each other; neither proves
// anything any more.
func (s *step) contradiction(i uint8) {
	s.edge[i].tainted = true
	s.stray(settle.ByProtocol)
	if s.open() {
		s.flags |= doubtful
		s.want(settle.ByProtocol)
	}
}

// answers looks whether every edge has said something to its OPEN.
func (s *step) answers() {
	if s.state != ParentOpenSent || s.flags&(wanted|installed|settling) != 0 {
		return
	}
	var open, ready, refused int
	for i := range s.edges {
		switch s.edge[i].state {
		case EdgeOpenSent:
			open++
		case EdgeReadyAccepted:
			ready++
		case EdgeNotStarted:
			refused++
		}
	}
	n := int(s.edges)
	switch {
	case open > 0 || ready == n:
	case refused == n:
		s.want(settle.ByPeerRefusal)
	default:
		s.want(settle.ByMixture)
	}
}

func (s *step) cancelMessage() error {
	i := s.in.Edge
	switch {
	case s.state == ParentUninstalled:
		s.stray(settle.ByPeer) // silent (KS-GEN-4)
	case s.state == ParentSuccess:
		// The evidence is fixed, so the answer does not wait for the round.
		s.take(RowAnswer)
		s.tell(i)
		s.want(settle.ByPeer)
	case s.state.Terminal():
		s.take(RowRepeat)
		s.tell(i)
		if s.bad.Has(wrong.CleanUpTwice) {
			s.do(ParentEffect{Kind: DoFree})
		}
	case s.flags&settling != 0:
		s.take(RowAnswer)
		if s.edge[i].state == EdgeCancelSent && !s.X49() {
			s.move(RowEdgeCancelUnknown, i, EdgeUnknown)
		}
		s.tell(i)
		s.progress()
	default:
		s.want(settle.ByPeer)
	}
	return nil
}

// terminal takes the source's evidence, once, and acknowledges the bytes.
func (s *step) terminal() error {
	i, e := s.in.Edge, &s.edge[s.in.Edge]
	ev := s.in.Evidence
	if ev == settle.Missing || ev == control.DestinationComplete || ev == control.Quiesced && !s.X49() {
		ev = control.Unknown // not a source's to say here (KS-SET-11)
	}
	late := s.state == ParentUninstalled || s.state.Terminal()
	before := e.state
	if ev == control.NotStarted && (e.done || e.state == EdgeReadyAccepted || e.state == EdgeInFlight) ||
		ev != control.NotStarted && ev != control.Unknown && e.peer == control.NotStarted {
		s.contradiction(i)
	}
	if e.peer == settle.Missing {
		e.peer = ev
	}
	if s.state == ParentUninstalled {
		s.lateProof()
		return nil // silent (KS-GEN-4)
	}
	e.proven = true
	s.do(ParentEffect{Kind: DoSend, Msg: control.TypeReceipt, Edge: i, Evidence: s.in.Evidence})
	if !late {
		s.terminalOpen(i, ev)
	}
	switch {
	case before >= EdgeNotStarted && before <= EdgeUnknown:
		s.takeEdge(RowEdgeReceipt, i)
		fallthrough
	case late:
		if late {
			s.take(RowRepeat)
		}
		if s.Evidence(i) != settle.Missing && (!e.told || !e.receipted) && (late || s.state == ParentReducing || s.state == ParentSuccess) {
			s.tell(i)
		}
	}
	s.proven()
	s.lateProof()
	s.answers()
	s.progress()
	return nil
}

// terminalOpen is what a TERMINAL means for an edge that has no evidence here yet.
func (s *step) terminalOpen(i uint8, ev control.Evidence) {
	e := &s.edge[i]
	switch e.state {
	case EdgeOpenSent:
		switch {
		case ev == control.NotStarted:
			s.move(RowEdgeRefused, i, EdgeNotStarted)
		case s.X49() && ev != control.Unknown:
			s.move(RowEdgeTerminalDrained, i, EdgeCancelSent)
			s.want(settle.ByPeer)
		default:
			s.move(RowEdgeTerminal, i, EdgeUnknown)
		}
	case EdgeReadyAccepted, EdgeInFlight:
		switch {
		case ev == control.SourceComplete:
			if s.flags&(hasX48|wanted) == hasX48 && s.con.Has(settle.Visible) {
				s.complete(i) // stands for the notices (KS-REC-11)
			}
		case ev == control.Quiesced:
			s.want(settle.ByPeer)
		case ev == control.Unknown:
			s.want(settle.ByPeerUnknown)
		}
	case EdgeCancelSent:
		if !s.X49() {
			s.move(RowEdgeCancelUnknown, i, EdgeUnknown)
			s.tell(i)
		}
	}
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
		s.lateProof()
	}
	return nil
}

// tell sends TERMINAL with what is fixed, on proven edges only (KS-SEL-25).
func (s *step) tell(i uint8) {
	e := &s.edge[i]
	ev := s.Evidence(i)
	if ev == settle.Missing || !e.proven || s.state == ParentUninstalled {
		return
	}
	s.do(ParentEffect{Kind: DoSend, Msg: control.TypeTerminal, Edge: i, Evidence: ev, Again: e.told})
	e.told = true
}

// sendCancel sends CANCEL, on proven edges only, and not after the source's word.
func (s *step) sendCancel(i uint8) {
	e := &s.edge[i]
	if !e.proven || e.peer != settle.Missing {
		return
	}
	s.do(ParentEffect{Kind: DoSend, Msg: control.TypeCancel, Edge: i, Cause: s.cause, Again: e.cancelled})
	e.cancelled = true
}
