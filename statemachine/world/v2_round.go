package world

import (
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// A round here is one event in which every rank contributes, then one event per
// rank that hears the verdict. How payloads travel is the round model's subject.

// missed is the verdict on a rank that did not reach the installation barrier.
var missed = round.Verdict{Decision: round.EndUnknown, Row: round.RowMissing}

func (w *v2World) nextCtxRound(s *V2State, out *Out[V2State]) {
	c := w.at(s)
	r := &s.CtxRound
	if !r.Busy {
		pending := false
		for k := range c.Ctxs {
			pending = pending || s.Ctx[k].Pending()
		}
		if !pending {
			return
		}
		if w.usefulCtx(out, s) {
			w.holdCtx(out, out.From(s), 0)
			out.Emit(v2CtxRound)
		}
		if s.Left.RoundFails > 0 {
			for k := range c.Ctxs {
				n := out.From(s)
				n.Left.RoundFails--
				n.Harmed = true
				w.holdCtx(out, n, 1<<k)
				out.Emit(v2CtxRoundMissing, int8(k))
			}
		}
		return
	}
	for k := range c.Ctxs {
		if r.Verdicts>>k&1 != 0 {
			n := out.From(s)
			for i := range c.Ctxs {
				if r.Verdicts>>i&1 != 0 && (i == k || c.Lockstep) {
					n.CtxRound.Verdicts &^= 1 << i
					w.ctxStep(out, n, i, ctx.ParentInput{Kind: ctx.OnRound, Verdict: s.CtxRound.By[i]})
					n.CtxRound.By[i] = round.Verdict{}
				}
			}
			w.endVerdicts(&n.CtxRound, c.Ctxs)
			out.Emit(v2CtxVerdict, int8(k))
			if c.Lockstep {
				break
			}
		}
	}
	passing := r.Passing
	if w.cfg.Wrong.BarrierIgnored {
		passing |= r.Installed
	}
	for k := range c.Ctxs {
		if passing>>k&1 != 0 {
			n := out.From(s)
			for i := range c.Ctxs {
				if passing>>i&1 != 0 && (i == k || c.Lockstep) {
					n.CtxRound.Passing &^= 1 << i
					n.CtxRound.Installed &^= 1 << i
					w.ctxStep(out, n, i, ctx.ParentInput{Kind: ctx.OnBarrier})
				}
			}
			w.endBarrier(&n.CtxRound)
			out.Emit(v2CtxBarrier, int8(k))
			if c.Lockstep {
				break
			}
		}
	}
	if s.Left.RoundFails > 0 && r.Passing == 1<<c.Ctxs-1 {
		n := out.From(s)
		n.Harmed = true
		n.Left.RoundFails--
		n.CtxRound = v2Round{}
		for k := range c.Ctxs {
			w.ctxStep(out, n, k, ctx.ParentInput{Kind: ctx.OnRound, Verdict: missed})
		}
		out.Emit(v2BarrierBroken, 0)
	}
}

// usefulCtx says whether a round would change anything. Ranks enter one in every
// iteration; those that only wait for the others are left out here.
func (w *v2World) usefulCtx(out *Out[V2State], s *V2State) bool {
	out.mute(true)
	defer out.mute(false)
	n := *s
	w.holdCtx(out, &n, 0)
	for k := range w.at(s).Ctxs {
		w.ctxStep(out, &n, k, ctx.ParentInput{Kind: ctx.OnRound, Verdict: n.CtxRound.By[k]})
	}
	n.CtxRound = s.CtxRound
	return n != *s
}

func (w *v2World) holdCtx(out *Out[V2State], n *V2State, absent uint8) {
	c := w.at(n)
	v := round.View{X49: c.Caps.Has(descriptor.CapQuiescence), Ranks: uint8(c.Ctxs), Absent: absent}
	mem := scratchOf(out)
	for k := range c.Ctxs {
		p, effects, err := n.Ctx[k].Step(ctx.ParentInput{Kind: ctx.OnContribute}, mem.ctx[3][:0])
		if err != nil {
			continue
		}
		n.Ctx[k] = p
		for _, e := range effects {
			if e.Kind == ctx.DoContribute {
				v.By[k] = round.Contribution{Intent: e.Intent, Evidence: e.Evidence}
			}
		}
	}
	n.CtxRound = v2Round{Busy: true, Verdicts: 1<<c.Ctxs - 1}
	for k := range c.Ctxs {
		mine := v
		mine.Phase, mine.Committed = n.Ctx[k].Phase()
		d := round.Decide(&mine)
		if d.Row != round.NoRow {
			out.Take(roundRow(d.Row))
		}
		n.CtxRound.By[k] = d
	}
}

// endVerdicts goes on when every rank has heard the verdict: to the barrier if all
// installed, to the end of the round if none did. Should only some install, this
// world hangs, and the explorer says so.
func (w *v2World) endVerdicts(r *v2Round, ranks int) {
	all := uint8(1)<<ranks - 1
	switch {
	case r.Verdicts != 0:
	case r.Installed == 0:
		*r = v2Round{}
	case r.Installed == all:
		r.Passing = all
	}
}

func (w *v2World) endBarrier(r *v2Round) {
	if r.Passing == 0 && r.Installed == 0 && r.Verdicts == 0 {
		*r = v2Round{}
	}
}

func (w *v2World) nextGenRound(s *V2State, out *Out[V2State]) {
	c := w.at(s)
	r := &s.GenRound
	if !r.Busy {
		pending := false
		for g := range c.Gens {
			pending = pending || s.Gen[g].Pending()
		}
		if !pending {
			return
		}
		if w.usefulGen(out, s) {
			w.holdGen(out, out.From(s), 0)
			out.Emit(v2GenRound)
		}
		if s.Left.RoundFails > 0 {
			for g := range c.Gens {
				n := out.From(s)
				n.Left.RoundFails--
				n.Harmed = true
				w.holdGen(out, n, 1<<g)
				out.Emit(v2GenRoundMissing, int8(g))
			}
		}
		return
	}
	for g := range c.Gens {
		if r.Verdicts>>g&1 != 0 {
			n := out.From(s)
			for i := range c.Gens {
				if r.Verdicts>>i&1 != 0 && (i == g || c.Lockstep) {
					n.GenRound.Verdicts &^= 1 << i
					w.genStep(out, n, i, gen.ParentInput{Kind: gen.OnRound, Verdict: s.GenRound.By[i]})
					n.GenRound.By[i] = round.Verdict{}
				}
			}
			w.endVerdicts(&n.GenRound, c.Gens)
			out.Emit(v2GenVerdict, int8(g))
			if c.Lockstep {
				break
			}
		}
	}
	passing := r.Passing
	if w.cfg.Wrong.BarrierIgnored {
		passing |= r.Installed
	}
	for g := range c.Gens {
		if passing>>g&1 != 0 {
			n := out.From(s)
			for i := range c.Gens {
				if passing>>i&1 != 0 && (i == g || c.Lockstep) {
					n.GenRound.Passing &^= 1 << i
					n.GenRound.Installed &^= 1 << i
					w.genStep(out, n, i, gen.ParentInput{Kind: gen.OnBarrier})
				}
			}
			w.endBarrier(&n.GenRound)
			out.Emit(v2GenBarrier, int8(g))
			if c.Lockstep {
				break
			}
		}
	}
	if s.Left.RoundFails > 0 && r.Passing == 1<<c.Gens-1 {
		n := out.From(s)
		n.Harmed = true
		n.Left.RoundFails--
		n.GenRound = v2Round{}
		for g := range c.Gens {
			w.genStep(out, n, g, gen.ParentInput{Kind: gen.OnRound, Verdict: missed})
		}
		out.Emit(v2BarrierBroken, 1)
	}
}

// usefulGen says whether a round would change anything. Ranks enter one in every
// iteration; those that only wait for the others are left out here.
func (w *v2World) usefulGen(out *Out[V2State], s *V2State) bool {
	out.mute(true)
	defer out.mute(false)
	n := *s
	w.holdGen(out, &n, 0)
	for g := range w.at(s).Gens {
		w.genStep(out, &n, g, gen.ParentInput{Kind: gen.OnRound, Verdict: n.GenRound.By[g]})
	}
	n.GenRound = s.GenRound
	return n != *s
}

func (w *v2World) holdGen(out *Out[V2State], n *V2State, absent uint8) {
	c := w.at(n)
	v := round.View{X49: c.Caps.Has(descriptor.CapQuiescence), Ranks: uint8(c.Gens), Absent: absent}
	mem := scratchOf(out)
	for g := range c.Gens {
		p, effects, err := n.Gen[g].Step(gen.ParentInput{Kind: gen.OnContribute}, mem.gen[3][:0])
		if err != nil {
			continue
		}
		n.Gen[g] = p
		for _, e := range effects {
			if e.Kind == gen.DoContribute {
				v.By[g] = round.Contribution{Intent: e.Intent, Evidence: e.Evidence, Publication: e.Publication}
				if g == 0 {
					v.By[g].GenAttempt = uint64(n.GenInc) + 1
				}
			}
		}
	}
	n.GenRound = v2Round{Busy: true, Verdicts: 1<<c.Gens - 1}
	for g := range c.Gens {
		mine := v
		mine.Phase, mine.Committed = n.Gen[g].Phase()
		d := round.Decide(&mine)
		if d.Row != round.NoRow {
			out.Take(roundRow(d.Row))
		}
		n.GenRound.By[g] = d
	}
}

// calm says that nothing is under way: no message, no write, no local work, no
// round, no call. Only time can change such a state.
func (w *v2World) calm(out *Out[V2State], s *V2State) bool {
	c := w.at(s)
	if s.CtxRound.Busy || s.GenRound.Busy {
		return false
	}
	for i := range s.Net {
		for j := range s.Net[i] {
			if !s.Net[i][j].empty() {
				return false
			}
		}
	}
	for g := range c.Gens {
		if s.GenDown {
			break
		}
		if s.Work[g] || s.LeaseAsked[g] || s.Gen[g].Pending() && w.usefulGen(out, s) ||
			!s.Imported[g] && genOpen(&s.Gen[g]) && w.visible(s) {
			return false
		}
		if s.Gen[g].MayPublish() {
			return false
		}
		for k := range c.Ctxs {
			if s.Call[g][k] != noCall {
				return false
			}
		}
	}
	for k := range c.Ctxs {
		if s.CtxDown {
			break
		}
		p := &s.Ctx[k]
		if p.State() == ctx.ParentAbsent && s.CtxInc == 0 || p.Pending() && w.usefulCtx(out, s) {
			return false
		}
		for g := range c.Gens {
			x := &s.Edge[k][g]
			if x.Active != 0 || x.Seal || x.Open && int(x.Made) < c.Chunks || p.State() == ctx.ParentBound && p.Edge(uint8(g)) == ctx.EdgeBound {
				return false
			}
		}
	}
	return true
}

func (w *v2World) visible(s *V2State) bool {
	for k := range w.at(s).Ctxs {
		if !s.Published[k] {
			return false
		}
	}
	return true
}

// nextWaits are the ends of the armed waits. In a patient world re-sends and the
// soft deadline wait for calm, and the hard deadlines wait for those.
func (w *v2World) nextWaits(s *V2State, out *Out[V2State]) {
	c := w.at(s)
	soft, hard := true, true
	if c.Patient {
		soft = w.calm(out, s)
		hard = soft
		for g := range c.Gens {
			if !s.GenDown && (s.GenWaits[g]>>settle.SoftWait&1 != 0 && !w.cfg.Wrong.NeverAsk || w.genMayRetry(s, g)) {
				hard = false
			}
		}
		for k := range c.Ctxs {
			if !s.CtxDown && w.ctxMayRetry(s, k) {
				hard = false
			}
		}
	}
	for g := range c.Gens {
		if s.GenDown {
			break
		}
		for wait, a := range genWaitActions {
			if s.GenWaits[g]>>wait&1 == 0 || a == 0 || w.cfg.Wrong.NeverAsk && settle.Wait(wait) == settle.SoftWait {
				continue
			}
			switch settle.Wait(wait) {
			case settle.RetryWait:
				if !soft || !w.genMayRetry(s, g) {
					continue
				}
			case settle.SoftWait:
				if !soft {
					continue
				}
			case settle.RetentionWait:
				if !c.Retires || !hard {
					continue
				}
			default:
				if !hard {
					continue
				}
			}
			w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnWait, Wait: settle.Wait(wait)}, a, func(n *V2State) {
				n.GenWaits[g] &^= 1 << wait
				if settle.Wait(wait) == settle.RetryWait {
					n.GenRetried[g]++
					n.Retrying = true
				}
			}, int8(g))
		}
	}
	for k := range c.Ctxs {
		if s.CtxDown {
			break
		}
		for wait, a := range ctxWaitActions {
			if s.CtxWaits[k]>>wait&1 == 0 || a == 0 {
				continue
			}
			switch settle.Wait(wait) {
			case settle.RetryWait:
				if !soft || !w.ctxMayRetry(s, k) {
					continue
				}
			case settle.RetentionWait:
				if !c.Retires || !hard {
					continue
				}
			default:
				if !hard {
					continue
				}
			}
			w.tryCtx(s, out, k, ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.Wait(wait)}, a, func(n *V2State) {
				n.CtxWaits[k] &^= 1 << wait
				if settle.Wait(wait) == settle.RetryWait {
					n.CtxRetried[k]++
					n.Retrying = true
				}
			}, int8(k))
		}
	}
}

// genMayRetry says whether GEN rank g has armed the pause before a re-send and has
// re-sends left.
func (w *v2World) genMayRetry(s *V2State, g int) bool {
	return s.GenWaits[g]>>settle.RetryWait&1 != 0 && s.GenRetried[g] < s.Left.Retries
}

func (w *v2World) ctxMayRetry(s *V2State, k int) bool {
	return s.CtxWaits[k]>>settle.RetryWait&1 != 0 && s.CtxRetried[k] < s.Left.Retries
}

var genWaitActions = [settle.NumWaits]Action{
	settle.AdmissionWait: v2GenAdmissionDeadline, settle.RequestWait: v2GenRequestDeadline, settle.SoftWait: v2GenSoftDeadline,
	settle.ControlWait: v2GenControlDeadline, settle.RetryWait: v2GenRetry, settle.RetentionWait: v2GenRetire,
}

var ctxWaitActions = [settle.NumWaits]Action{
	settle.ContextWait: v2CtxContextDeadline, settle.RequestWait: v2CtxRequestDeadline, settle.ControlWait: v2CtxControlDeadline,
	settle.RetryWait: v2CtxRetry, settle.RetentionWait: v2CtxRetire,
}
