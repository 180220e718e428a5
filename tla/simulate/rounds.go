package simulate

import (
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
)

// rounds are the decision rounds of one service: one at a time, for everything that
// has something to say.
type rounds struct {
	busy     bool
	absent   uint8 // ranks that miss the next one
	missed   uint8 // ranks that missed the present one
	waiting  uint8 // ranks that have not heard its verdicts
	dirty    []uint16
	held     []uint16
	verdicts []round.Verdict // by held and rank
}

func (r *rounds) reset() {
	*r = rounds{dirty: r.dirty[:0], held: r.held[:0], verdicts: r.verdicts[:0]}
}

// missing is the verdict on a rank that did not reach the installation barrier.
var missing = round.Verdict{Decision: round.EndUnknown, Row: round.RowMissing}

// enter sees that a round is held for a transfer.
func (s *Sim) enter(side int, x uint16) {
	st := &s.seats[side][at(x, 0)]
	if st.dirty || s.mute {
		return
	}
	st.dirty = true
	r := &s.srv[side].round
	r.dirty = append(r.dirty, x)
	if !r.busy {
		r.busy = true
		s.later(tick, event{kind: evRound, side: uint8(side)})
	}
}

func (s *Sim) holdRound(side int) {
	v := &s.srv[side]
	r := &v.round
	r.held, r.dirty = r.dirty, r.held[:0]
	r.verdicts = r.verdicts[:0]
	r.missed, r.absent = r.absent, 0
	for _, x := range r.held {
		s.seats[side][at(x, 0)].dirty = false
		s.xs[x].caught = s.xs[x].caught || r.missed != 0
		s.decide(side, x)
	}
	r.waiting = uint8(v.ranks)
	for k := range uint8(v.ranks) {
		d := 50 * Microsecond
		if v.ranks > 1 {
			d += s.draw(r.held[0], 300*Microsecond)
		}
		s.later(d, event{kind: evVerdict, side: uint8(side), rank: k})
	}
}

// decide collects what the ranks say about one transfer and appends their verdicts.
func (s *Sim) decide(side int, x uint16) {
	v := &s.srv[side]
	r := &v.round
	view := round.View{X49: s.sch.Dialect >= Quiescence, Ranks: uint8(v.ranks), Absent: r.missed}
	var phases [MaxRanks]round.Phase
	var committed [MaxRanks]bool
	for k := range uint8(v.ranks) {
		i := at(x, k)
		st := &s.seats[side][i]
		if side == ctxSide {
			phases[k], committed[k] = s.cp[i].Phase()
			if r.missed>>k&1 == 0 && st.live {
				p, out, err := s.cp[i].Step(ctx.ParentInput{Kind: ctx.OnContribute}, s.cbuf[:0])
				s.cbuf = out[:0]
				if s.rec != nil {
					s.rec.ctxParent(s, x, k, ctx.ParentInput{Kind: ctx.OnContribute}, p, out, err)
				}
				s.cp[i] = p
				for _, e := range out {
					if e.Kind == ctx.DoContribute {
						view.By[k] = round.Contribution{Intent: e.Intent, Evidence: e.Evidence}
					}
				}
			}
		} else {
			phases[k], committed[k] = s.gp[i].Phase()
			if r.missed>>k&1 == 0 && st.live {
				p, out, err := s.gp[i].Step(gen.ParentInput{Kind: gen.OnContribute}, s.gbuf[:0])
				s.gbuf = out[:0]
				if s.rec != nil {
					s.rec.genParent(s, x, k, gen.ParentInput{Kind: gen.OnContribute}, p, out, err)
				}
				s.gp[i] = p
				for _, e := range out {
					if e.Kind == gen.DoContribute {
						view.By[k] = round.Contribution{Intent: e.Intent, Evidence: e.Evidence, Publication: e.Publication}
						if k == 0 {
							view.By[k].GenAttempt = uint64(x) + 1
						}
					}
				}
			}
		}
		st.touched = false
	}
	for k := range v.ranks {
		mine := view
		mine.Phase, mine.Committed = phases[k], committed[k]
		r.verdicts = append(r.verdicts, round.Decide(&mine))
	}
}

// hearVerdict tells one rank what was decided about every transfer of the round.
func (s *Sim) hearVerdict(side int, k uint8) {
	v := &s.srv[side]
	r := &v.round
	for i, x := range r.held {
		s.verdict(side, x, k, r.verdicts[i*v.ranks+int(k)])
	}
	if r.waiting--; r.waiting > 0 {
		return
	}
	for _, x := range r.held {
		for k := range uint8(v.ranks) {
			if s.seats[side][at(x, k)].barrier {
				s.later(tick/5, event{kind: evBarrier, side: uint8(side)})
				return
			}
		}
	}
	s.endRound(side)
}

func (s *Sim) verdict(side int, x uint16, k uint8, d round.Verdict) {
	// What waits for another rank is said again when that rank has something new, or
	// this one has.
	i := at(x, k)
	s.mute = d.Decision == round.Wait && !s.seats[side][i].touched
	var pending bool
	if side == ctxSide {
		s.ctxStep(x, k, ctx.ParentInput{Kind: ctx.OnRound, Verdict: d})
		pending = s.cp[i].Pending()
	} else {
		s.genStep(x, k, gen.ParentInput{Kind: gen.OnRound, Verdict: d})
		pending = s.gp[i].Pending()
	}
	if pending && s.seats[side][i].live {
		s.enter(side, x)
	}
	s.mute = false
}

// passBarrier ends the installation barrier: every rank of a transfer is in it, or
// those that are hear that one is missing.
func (s *Sim) passBarrier(side int) {
	v := &s.srv[side]
	for _, x := range v.round.held {
		in, all := 0, true
		for k := range uint8(v.ranks) {
			if s.seats[side][at(x, k)].barrier {
				in++
			} else {
				all = false
			}
		}
		if in == 0 {
			continue
		}
		for k := range uint8(v.ranks) {
			st := &s.seats[side][at(x, k)]
			if !st.barrier {
				continue
			}
			st.barrier = false
			switch {
			case !all:
				s.verdict(side, x, k, missing)
			case side == ctxSide:
				s.ctxStep(x, k, ctx.ParentInput{Kind: ctx.OnBarrier})
			default:
				s.genStep(x, k, gen.ParentInput{Kind: gen.OnBarrier})
			}
		}
	}
	s.endRound(side)
}

// endRound begins the next round where there is something to say.
func (s *Sim) endRound(side int) {
	r := &s.srv[side].round
	r.busy = false
	if len(r.dirty) > 0 {
		r.busy = true
		s.later(tick, event{kind: evRound, side: uint8(side)})
	}
}
