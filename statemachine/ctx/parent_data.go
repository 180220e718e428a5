package ctx

import (
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
)

// maxPosts bounds the posts of one edge, repeats included.
const maxPosts = 1 << 14

// progress takes what the backend says about the writes of an edge. It counts also
// after the attempt has ended: a released or late write stays on watch (KS-BACK-5).
func (s *step) progress() error {
	i := s.in.Edge
	e := &s.edge[i]
	if !e.shown && !e.sealing {
		return errPost
	}
	switch s.in.Kind {
	case OnPosted:
		if err := s.posted(e); err != nil {
			return err
		}
	case OnWritten, OnWriteFailed, OnReleased:
		if err := s.ended(e); err != nil {
			return err
		}
	case OnSealed:
		if !e.sealing || e.sealed {
			return errPost
		}
		e.sealed = true
	}
	s.advance(i)
	if s.flags&isolated != 0 && s.Quiet() {
		s.flags &^= isolated
		s.take(RowLateProof)
		s.do(ParentEffect{Kind: DoProve, Proof: slot.OwnWritesFinal})
	}
	return nil
}

func (s *step) posted(e *edge) error {
	n, p := s.in.Count, &e.posts
	held := p.Made
	if s.con.Has(settle.ErrorQuiet) {
		// Only a final error that is known to be quiet lets its chunk go again.
		held -= p.Failed
	}
	if e.sealed || !e.shown || n == 0 || n > MaxChunks || held+n > p.Chunks || p.Made > maxPosts {
		return errPost
	}
	p.Made += n
	return nil
}

// ended counts the end of one post: final, or given up.
func (s *step) ended(e *edge) error {
	p := &e.posts
	open := p.Made - p.Done - p.Failed - p.Released
	late := s.in.Again
	switch {
	case late && (p.Released == 0 || s.in.Kind == OnReleased), !late && open == 0:
		return errFinal
	case late:
		p.Released--
	}
	switch s.in.Kind {
	case OnWritten:
		p.Done++
		if s.flags&(hasX48|perChunk) == hasX48|perChunk {
			s.do(ParentEffect{Kind: DoSend, Msg: control.TypeDataComplete, Edge: s.in.Edge, Chunk: s.in.Chunk, Count: p.Chunks})
		}
	case OnWriteFailed:
		p.Failed++
		if s.state == ParentBound && (s.in.Count == 0 || !s.con.Has(settle.ErrorQuiet)) {
			s.want(settle.ByWrite)
		}
	case OnReleased:
		p.Released++
		if s.state == ParentBound {
			s.want(settle.ByWrite)
		}
	}
	return nil
}

// advance takes the rows that the new counts allow.
func (s *step) advance(i uint8) {
	e := &s.edge[i]
	switch e.state {
	case EdgeInFlight:
		early := s.bad.Has(wrong.CompleteEarly) && e.posts.Made >= e.posts.Chunks
		part := s.bad.Has(wrong.PartIsBundle) && e.posts.Done > 0
		if e.posts.Complete() || early || part {
			s.move(RowEdgeDone, i, EdgeSourceComplete)
			s.notify(i)
		}
	case EdgeDraining:
		s.drained(i)
	case EdgeUnknown:
		// Every write was final and successful after all: GEN takes the notice as late
		// proof of its slot.
		if s.in.Kind == OnWritten && e.posts.Complete() {
			s.notify(i)
		}
	}
}

// notify tells GEN that all data of the edge is there.
func (s *step) notify(i uint8) {
	switch {
	case s.flags&hasX48 == 0:
		s.do(ParentEffect{Kind: DoSync, Edge: i})
	case s.flags&perChunk == 0:
		s.do(ParentEffect{Kind: DoSend, Msg: control.TypeDataComplete, Edge: i, Count: 1})
	}
}
