package gen

import (
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
)

// data takes a notice. It is kept before READY too (KS-REC-10), and counts as late
// proof after the end.
func (s *step) data() error {
	i, e := s.in.Edge, &s.edge[s.in.Edge]
	if (s.in.Kind == OnData) != (s.flags&hasX48 != 0) {
		return errExtra
	}
	if s.in.Kind == OnSync {
		s.complete(i)
		return nil
	}
	switch {
	case s.in.Count == 0 || s.in.Count > MaxChunks || s.in.Chunk >= s.in.Count:
		return errChunk
	case e.count != 0 && e.count != s.in.Count:
		s.contradiction(i)
		return nil
	}
	e.count = s.in.Count
	e.got |= 1 << s.in.Chunk
	if e.got == ^uint64(0)>>(64-e.count) || s.bad.Has(wrong.PartIsBundle) {
		s.complete(i)
	}
	return nil
}

// complete records that all data of the edge is here.
func (s *step) complete(i uint8) {
	e := &s.edge[i]
	if e.peer == control.NotStarted {
		s.contradiction(i)
	}
	if e.done {
		return
	}
	e.done = true
	s.arrived()
	s.lateProof()
}

// arrived starts the local work once every edge is complete.
func (s *step) arrived() {
	if s.state != ParentInFlight || s.flags&(settling|processed) != 0 || !s.allDone() {
		return
	}
	if s.flags&asking != 0 {
		s.flags &^= asking
		s.do(ParentEffect{Kind: DoDisarm, Wait: settle.RetryWait})
	}
	s.flags |= busy
	s.do(ParentEffect{Kind: DoProcess})
	if s.bad.Has(wrong.CompleteEarly) {
		s.flags |= processed
	}
}

// work follows the local work on the slot.
func (s *step) work() error {
	if s.in.Kind == OnWorkBegan {
		if s.state != ParentInFlight || s.flags&processed != 0 {
			return errState
		}
		s.flags |= busy
		return nil
	}
	if s.flags&busy == 0 || s.in.Part >= s.parts || s.ready&(1<<s.in.Part) != 0 || s.open() && s.in.Value && !s.allDone() {
		return errPart
	}
	s.ready |= 1 << s.in.Part
	bad := !s.in.Value
	if bad && s.open() {
		s.want(settle.ByVerify)
	}
	if s.ready != uint8(1<<s.parts-1) && !s.bad.Has(wrong.PartIsBundle) {
		return nil
	}
	s.flags &^= busy
	if s.state == ParentInFlight && s.flags&settling == 0 && !bad && s.cause != settle.ByVerify {
		s.flags |= processed
	}
	if s.flags&owed != 0 {
		s.flags &^= owed
		s.leaveNow(settle.Unknown)
	}
	s.lateProof()
	s.progress()
	return nil
}

func (s *step) allDone() bool {
	for i := range s.edges {
		if !s.edge[i].done {
			return false
		}
	}
	return true
}

// status is no evidence and frees nothing; one answer stands for the notices.
func (s *step) status() error {
	i, e := s.in.Edge, &s.edge[s.in.Edge]
	if s.flags&hasX48 == 0 {
		return errExtra
	}
	if !e.proven {
		return errState
	}
	switch {
	case s.in.State == control.StateSourceComplete && s.con.Has(settle.Visible):
		s.complete(i)
	case s.in.State == control.StateQuiesced && s.open():
		s.want(settle.ByPeer)
	default:
		s.stray(settle.NoCause) // wait on
	}
	return nil
}

// ask sends QUERY on every proven edge whose data is not complete, and again with
// growing pauses. Each QUERY is a message of its own: its answer must be fresh.
func (s *step) ask() {
	open := false
	for i := range s.edges {
		if e := &s.edge[i]; e.proven && !e.done {
			if !open {
				s.take(RowAsk)
			}
			open = true
			s.do(ParentEffect{Kind: DoSend, Msg: control.TypeQuery, Edge: i})
		}
	}
	if open {
		s.again(s.flags&asking == 0)
		s.flags |= asking
	}
}

// again arms the next pause; first begins to count anew.
func (s *step) again(first bool) {
	if first {
		s.retries = 0
	} else if s.retries < maxRetries && !s.bad.Has(wrong.NoPause) {
		s.retries++
	}
	s.do(ParentEffect{Kind: DoArm, Wait: settle.RetryWait, Step: s.retries})
}
