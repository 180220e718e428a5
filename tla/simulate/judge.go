package simulate

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// judgeFree looks at a slot that has just become free: no write may touch it any
// more.
func (s *Sim) judgeFree(side int, x uint16, r uint8) {
	chunks := s.sch.Transfers[x].Chunks
	for p := range uint8(s.srv[1-side].ranks) {
		e := s.edge(x, r, p)
		if side == genSide {
			e = s.edge(x, p, r)
			if e.intoInc != s.srv[genSide].inc {
				continue // other memory
			}
		}
		if e.hot(chunks) {
			s.bad(&s.res.UnsafeReuse, "%s %d freed the slot of transfer %d while a write of edge %d can touch it", sideName(side), r, x, p)
		}
	}
}

// judgeWrite looks at both ends of a write that is posted or lands.
func (s *Sim) judgeWrite(x uint16, c, g uint8) {
	e := s.edge(x, c, g)
	v := &s.srv[genSide]
	if !v.up || e.intoInc != v.inc {
		return // that memory is gone
	}
	state, generation, ok := v.pools[g].Look(e.into.Slot)
	if !ok || generation != e.into.Generation || state == slot.Free || state == slot.Leased {
		s.bad(&s.res.UnsafeReuse, "a write of transfer %d from CTX %d met a slot of GEN %d that is %v in generation %d, not %d", x, c, g, state, generation, e.into.Generation)
	}
}

// judgeDone looks at a request that GEN reports as completed.
func (s *Sim) judgeDone(x uint16, g uint8) {
	all := uint8(1)<<s.sch.Transfers[x].Chunks - 1
	for c := range uint8(s.srv[ctxSide].ranks) {
		if e := s.edge(x, c, g); e.landed != all || e.intoInc != s.srv[genSide].inc {
			s.bad(&s.res.FalseSuccess, "transfer %d completed at GEN %d without the data of CTX %d", x, g, c)
		}
	}
}

// finish looks at what is left when nothing can happen any more.
func (s *Sim) finish() {
	s.cause = 0
	for side := range s.srv {
		v := &s.srv[side]
		if v.up && !v.proc.Admits() {
			s.bad(&s.res.Hangs, "%s is unhealthy and has not exited", sideName(side))
		}
		var held [MaxRanks]int
		for i := range s.seats[side] {
			st := &s.seats[side][i]
			if st.live && st.settled == 0 {
				s.bad(&s.res.Hangs, "transfer %d is open at %s %d when everything has ended", i/MaxRanks, sideName(side), i%MaxRanks)
			}
			if st.held {
				held[i%MaxRanks]++
			}
		}
		for r := range v.ranks {
			if !v.up {
				break
			}
			n := v.pools[r].Counts()
			s.res.Held += n.Quarantined
			if lost := n.Total - n.Free - held[r]; lost != 0 || n.Quarantined != held[r] {
				s.bad(&s.res.LostSlots, "%s %d: %d of %d slots free, %d in quarantine, %d by the machines", sideName(side), r, n.Free, n.Total, n.Quarantined, held[r])
			}
		}
	}
	for x := range s.xs {
		s.classify(uint16(x))
	}
}

// classify sorts a transfer by what GEN told its user.
func (s *Sim) classify(x uint16) {
	xf := &s.xs[x]
	if !xf.imported {
		s.res.Refused++
		return
	}
	var st seat
	for g := range uint8(s.srv[genSide].ranks) {
		o := &s.seats[genSide][at(x, g)]
		if g == 0 {
			st = *o
			continue
		}
		if s.sch.Dialect.V2() && st.settled > 0 && o.settled > 0 && (st.disp == sm.Completed) != (o.disp == sm.Completed) {
			s.bad(&s.res.Disagree, "transfer %d: GEN ranks end %v and %v", x, st.disp, o.disp)
		}
		st.asked, st.unknown, st.calm = st.asked || o.asked, st.unknown || o.unknown, st.calm || o.calm
		if st.settled == 0 || o.settled > 0 && st.disp == sm.Completed {
			st.settled, st.disp = o.settled, o.disp // the worst of them
		}
	}
	r := &s.res.Ends
	switch {
	case st.settled == 0:
		r.Lost++
		return
	case st.disp == sm.Completed:
		r.Completed++
		if st.asked {
			r.Recovered++
		}
	case st.disp == sm.Rejected:
		r.Rejected++
	case st.disp == sm.Cancelled:
		r.Cancelled++
	default:
		r.Failed++
	}
	if st.calm {
		r.Quiesced++
	}
	if st.unknown {
		r.Unknown++
	}
}
