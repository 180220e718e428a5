package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
)

// nextService is what happens to whole services: crash, exit, restart, and what the
// other side hears of it.
func (w *v2World) nextService(s *V2State, out *Out[V2State]) {
	c := w.at(s)
	if !s.GenDown {
		if s.Left.Crashes > 0 {
			n := out.From(s)
			n.Left.Crashes--
			n.Harmed = true
			w.endGen(n)
			out.Emit(v2CrashGen)
		}
		if w.genMustExit(s) {
			w.endGen(out.From(s))
			out.Emit(v2ExitGen)
		}
	} else if c.Restarts && s.GenInc == 0 {
		n := out.From(s)
		n.GenDown = false
		n.GenInc++
		w.bornGen(n)
		out.Emit(v2RestartGen)
	}
	if !s.CtxDown {
		if s.Left.Crashes > 0 {
			n := out.From(s)
			n.Left.Crashes--
			n.Harmed = true
			w.endCtx(n)
			out.Emit(v2CrashCtx)
		}
		if w.ctxMustExit(s) {
			w.endCtx(out.From(s))
			out.Emit(v2ExitCtx)
		}
	} else if c.Restarts && s.CtxInc == 0 {
		n := out.From(s)
		n.CtxDown = false
		n.CtxInc++
		w.bornCtx(n)
		out.Emit(v2RestartCtx)
	}
	w.nextTold(s, out)
}

// nextTold tells one side that the other is not what it was.
func (w *v2World) nextTold(s *V2State, out *Out[V2State]) {
	c := w.at(s)
	if (s.CtxDown || s.CtxInc > 0) && !s.GenDown {
		for g := range c.Gens {
			bit := uint8(1) << g
			if s.CtxTold&bit == 0 && s.Imported[g] {
				w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnEpochChanged}, v2GenEpochChanged, func(n *V2State) { n.CtxTold |= bit }, int8(g))
			}
			if s.GenQuiet&bit == 0 && s.Imported[g] && (c.DeathQuiet || w.cfg.Wrong.TrustDeath) {
				n := out.From(s)
				n.GenQuiet |= bit
				took := false
				for k := range c.Ctxs {
					took = w.genStep(out, n, g, gen.ParentInput{Kind: gen.OnPeerQuiet, Edge: uint8(k)}) || took
				}
				if took {
					out.Emit(v2GenPeerQuiet, int8(g))
				}
			}
		}
	}
	if (s.GenDown || s.GenInc > 0) && !s.CtxDown {
		for k := range c.Ctxs {
			if bit := uint8(1) << k; s.GenTold&bit == 0 {
				w.tryCtx(s, out, k, ctx.ParentInput{Kind: ctx.OnEpochChanged}, v2CtxEpochChanged, func(n *V2State) { n.GenTold |= bit }, int8(k))
			}
		}
	}
}

// genMustExit: a rank asked for it, and every rank has reported what is open.
func (w *v2World) genMustExit(s *V2State) bool {
	must := false
	for g := range w.at(s).Gens {
		must = must || s.GenUnknown[g]
	}
	return must
}

func (w *v2World) ctxMustExit(s *V2State) bool {
	must := false
	for k := range w.at(s).Ctxs {
		must = must || s.CtxUnknown[k]
	}
	return must
}

// endGen ends the GEN service. Its memory is gone: nothing can land there any more.
func (w *v2World) endGen(n *V2State) {
	n.GenDown = true
	n.Gen = [v2Gens]gen.Parent{}
	n.GenWaits, n.GenRound, n.GenPool = [v2Gens]uint8{}, v2Round{}, [v2Gens]uint16{}
	n.Call, n.Imported = [v2Gens][v2Ctxs]uint8{}, [v2Gens]bool{}
	n.LeaseAsked, n.Work, n.GenUnknown = [v2Gens]bool{}, [v2Gens]bool{}, [v2Gens]bool{}
	n.GenOutcomes = [v2Gens]uint8{}
	n.CtxTold, n.GenQuiet, n.GenRetried = 0, 0, [v2Gens]uint8{}
	for i := range n.Net {
		for j := range n.Net[i] {
			n.Net[i][j].clear(1)
		}
	}
	for k := range n.Edge {
		for g := range n.Edge[k] {
			n.Edge[k][g].Loose = 0
		}
	}
}

// endCtx ends the CTX service. Whether its writes end with it is the contract's to
// say.
func (w *v2World) endCtx(n *V2State) {
	n.CtxDown = true
	n.Ctx = [v2Ctxs]ctx.Parent{}
	n.CtxWaits, n.CtxRound, n.CtxPool = [v2Ctxs]uint8{}, v2Round{}, [v2Ctxs]uint16{}
	n.CtxUnknown, n.CtxOutcomes, n.BoundTo = [v2Ctxs]bool{}, [v2Ctxs]uint8{}, [v2Ctxs]uint8{}
	n.GenTold, n.CtxRetried = 0, [v2Ctxs]uint8{}
	for i := range n.Net {
		for j := range n.Net[i] {
			n.Net[i][j].clear(0)
		}
	}
	for k := range n.Edge {
		for g := range n.Edge[k] {
			x := &n.Edge[k][g]
			x.Loose |= x.Active
			if w.at(n).DeathQuiet {
				x.Loose = 0
			}
			x.Active, x.Handed, x.Open, x.Seal = 0, 0, false, false
		}
	}
}

// settled: every service that lives has reported its request, no exchange, round or
// local work is open, and a service that must exit has gone.
func (w *v2World) settled(s *V2State) bool {
	c := w.at(s)
	if !s.GenDown {
		if s.GenRound.Busy || w.genMustExit(s) {
			return false
		}
		for g := range c.Gens {
			p := &s.Gen[g]
			if !s.Imported[g] && p.Disposition() == sm.Open {
				if w.visible(s) {
					return false
				}
				continue
			}
			if p.Disposition() == sm.Open || s.Work[g] || s.LeaseAsked[g] || p.Pending() && w.usefulGen(nil, s) {
				return false
			}
			if st := p.State(); st != gen.ParentSuccess && st != gen.ParentRetired && !st.Terminal() {
				return false
			}
		}
	}
	if s.CtxDown {
		return true
	}
	if s.CtxRound.Busy || w.ctxMustExit(s) {
		return false
	}
	for k := range c.Ctxs {
		p := &s.Ctx[k]
		if p.State() == ctx.ParentAbsent && s.CtxInc > 0 {
			continue // a new incarnation
		}
		if p.Disposition() == sm.Open || p.Pending() && w.usefulCtx(nil, s) {
			return false
		}
		if st := p.State(); st != ctx.ParentSuccess && st != ctx.ParentRetired && !st.Terminal() {
			return false
		}
	}
	return true
}
