package gen_test

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
)

// wantRound sees that side holds a round; a wish during one is kept for the next.
func (w *pair) wantRound(side int) {
	r := &w.rounds[side]
	if r.busy {
		r.wanted = true
		return
	}
	r.busy = true
	w.after(sm.Time(1+w.rng.IntN(10)), func() { w.holdRound(side) })
}

func (w *pair) holdRound(side int) {
	v := &round.View{X49: w.cfg.caps.Has(1 << 49)}
	ranks := len(w.c)
	if side == 1 {
		ranks = len(w.g)
	}
	v.Ranks = uint8(ranks)
	for i := range ranks {
		if w.chance(w.cfg.f.absent) {
			v.Absent |= 1 << i
		}
	}
	var phases [4]round.Phase
	var committed [4]bool
	for i := range ranks {
		if side == 0 {
			phases[i], committed[i] = w.c[i].p.Phase()
			next, out, _ := w.c[i].p.Step(ctx.ParentInput{Kind: ctx.OnContribute}, nil)
			w.c[i].p = next
			for _, e := range out {
				if e.Kind == ctx.DoContribute {
					v.By[i] = round.Contribution{Intent: e.Intent, Evidence: e.Evidence}
				}
			}
			continue
		}
		phases[i], committed[i] = w.g[i].p.Phase()
		next, out, _ := w.g[i].p.Step(gen.ParentInput{Kind: gen.OnContribute}, nil)
		w.g[i].p = next
		for _, e := range out {
			if e.Kind == gen.DoContribute {
				v.By[i] = round.Contribution{Intent: e.Intent, Evidence: e.Evidence, Publication: e.Publication}
				if i == 0 {
					v.By[i].GenAttempt = 9
				}
			}
		}
	}
	wait := ranks
	barrier := 0
	done := func() {
		if wait--; wait > 0 {
			return
		}
		if barrier == ranks {
			w.after(sm.Time(1+w.rng.IntN(10)), func() { w.passBarrier(side, ranks) })
			return
		}
		w.endRound(side)
	}
	for i := range ranks {
		mine := *v
		mine.Phase, mine.Committed = phases[i], committed[i]
		d := round.Decide(&mine)
		w.rows[d.Row.String()]++
		w.after(sm.Time(w.rng.IntN(8)), func() {
			if side == 0 {
				w.stepC(i, ctx.ParentInput{Kind: ctx.OnRound, Verdict: d})
				for _, e := range w.cbuf {
					if e.Kind == ctx.DoInstall {
						barrier++
					}
				}
			} else {
				w.stepG(i, gen.ParentInput{Kind: gen.OnRound, Verdict: d})
				for _, e := range w.gbuf {
					if e.Kind == gen.DoInstall {
						barrier++
					}
				}
			}
			done()
		})
	}
}

func (w *pair) passBarrier(side, ranks int) {
	bad := w.chance(w.cfg.f.barrier)
	v := round.Verdict{Decision: round.EndUnknown, Row: round.RowMissing}
	for i := range ranks {
		switch {
		case side == 0 && bad:
			w.stepC(i, ctx.ParentInput{Kind: ctx.OnRound, Verdict: v})
		case side == 0:
			w.stepC(i, ctx.ParentInput{Kind: ctx.OnBarrier})
		case bad:
			w.stepG(i, gen.ParentInput{Kind: gen.OnRound, Verdict: v})
		default:
			w.stepG(i, gen.ParentInput{Kind: gen.OnBarrier})
		}
	}
	w.endRound(side)
}

// endRound lets the next round begin where a rank still has something to say.
func (w *pair) endRound(side int) {
	w.rounds[side].busy, w.rounds[side].wanted = false, false
	pending := false
	if side == 0 {
		for _, r := range w.c {
			pending = pending || r.p.Pending()
		}
	} else {
		for _, r := range w.g {
			pending = pending || r.p.Pending()
		}
	}
	if pending {
		w.rounds[side].busy = true
		w.after(sm.Time(5+w.rng.IntN(20)), func() { w.holdRound(side) })
	}
}
