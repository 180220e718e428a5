package world

import (
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
)

// v2Scratch is where the parents put their effects; a step can lead to another one.
type v2Scratch struct {
	ctx   [4][24]ctx.ParentEffect
	gen   [4][24]gen.ParentEffect
	depth int
}

// scratchOf returns the memory that belongs to out. Without an Out it is new.
func scratchOf(out *Out[V2State]) *v2Scratch {
	if out == nil {
		return new(v2Scratch)
	}
	if s, ok := out.scratch.(*v2Scratch); ok {
		return s
	}
	s := new(v2Scratch)
	out.scratch = s
	return s
}

// ctxStep gives an input to the parent of CTX rank k and carries out its effects.
// It returns false when the parent refused.
func (w *v2World) ctxStep(out *Out[V2State], s *V2State, k int, in ctx.ParentInput) bool {
	mem := scratchOf(out)
	p, effects, err := s.Ctx[k].Step(in, mem.ctx[mem.depth%4][:0])
	if err != nil {
		return false
	}
	mem.depth++
	defer func() { mem.depth-- }()
	s.Alone = s.Alone || in.Kind != ctx.OnRound && s.Ctx[k].Disposition() != p.Disposition()
	s.Ctx[k] = p
	for i := range effects {
		w.ctxDo(out, s, k, &effects[i])
	}
	if w.at(s).Lockstep {
		for g := range w.at(s).Gens {
			if s.Edge[k][g].Seal {
				s.Edge[k][g].Seal = false
				w.ctxStep(out, s, k, ctx.ParentInput{Kind: ctx.OnSealed, Edge: uint8(g)})
			}
		}
	}
	if s.Ctx[k].Edges() == 0 {
		s.BoundTo[k] = 0
	}
	return true
}

func (w *v2World) ctxDo(out *Out[V2State], s *V2State, k int, e *ctx.ParentEffect) {
	g := int(e.Edge)
	binding := s.Ctx[k].Binding()
	row := &s.CtxPool[k]
	switch e.Kind {
	case ctx.DoTake:
		out.Take(ctxRow(e.Row))
	case ctx.DoPublish:
		s.Published[k] = true
	case ctx.DoInstall:
		s.CtxRound.Installed |= 1 << k
	case ctx.DoSend:
		w.ctxSend(s, k, g, e)
	case ctx.DoSync:
		w.notice(s, k, g, v2Sync)
	case ctx.DoWrite:
		s.Edge[k][g].Open, s.Edge[k][g].Into = true, s.GenInc+1
		if s.BoundTo[k] > 0 {
			s.Edge[k][g].Into = s.BoundTo[k]
		}
		if w.pool.slots[*row][0].state == slot.Leased {
			w.poolStep(s, row, slot.Input{Kind: slot.Begin, Binding: binding})
		}
	case ctx.DoSeal:
		s.Edge[k][g].Open = s.Edge[k][g].Open && w.cfg.Wrong.SealIgnored
		s.Edge[k][g].Seal = true
	case ctx.DoFree, ctx.DoQuarantine, ctx.DoProve:
		if w.cfg.Wrong.ForgetLease {
			return
		}
		in := slot.Input{Kind: slot.Release, Binding: binding, Proof: e.Proof}
		switch e.Kind {
		case ctx.DoQuarantine:
			in.Kind, in.Proof = slot.Quarantine, slot.None
		case ctx.DoProve:
			in.Kind = slot.Prove
		}
		w.poolStep(s, row, in)
	case ctx.DoRestart:
		s.CtxUnknown[k] = true
	case ctx.DoSettle:
		s.CtxOutcomes[k]++
	case ctx.DoArm:
		s.CtxWaits[k] |= 1 << e.Wait
		s.Hasty = s.Hasty || e.Wait == settle.RetryWait && s.Retrying && e.Step == 0
	case ctx.DoDisarm:
		s.CtxWaits[k] &^= 1 << e.Wait
	}
}

// ctxSend carries a message of CTX rank k. It goes to the incarnation of GEN that
// asked.
func (w *v2World) ctxSend(s *V2State, k, g int, e *ctx.ParentEffect) {
	var kind v2Kind
	switch e.Msg {
	case control.TypeReady:
		switch {
		case e.Decision == control.DecisionReady:
			kind = v2Ready
		case e.Evidence == control.NotStarted:
			kind = v2Refuse
		default:
			kind = v2NoTicket
		}
		if kind == v2Refuse && s.Edge[k][g].Made > 0 {
			s.Lied |= 1
		}
	case control.TypeTerminal:
		kind = v2CtxTerminal + evidenceIndex(e.Evidence)
		w.witness(s, k, g, e.Evidence)
	case control.TypeReceipt:
		kind = v2CtxReceipt + evidenceIndex(e.Evidence)
	case control.TypeStatus:
		kind = v2Status + v2Kind(min(max(int(e.State), 1), 5)-1)
		if e.State == control.StateSourceComplete {
			w.witness(s, k, g, control.SourceComplete)
		}
	case control.TypeDataComplete:
		w.notice(s, k, g, v2Data+v2Kind(min(int(e.Chunk), v2Chunks-1)))
		return
	default:
		return
	}
	w.toGen(s, k, g, kind)
}

// witness compares what CTX claims with the truth (I5, I6).
func (w *v2World) witness(s *V2State, k, g int, e control.Evidence) {
	x := &s.Edge[k][g]
	all := uint8(1)<<w.at(s).Chunks - 1
	switch e {
	case control.NotStarted:
		if x.Made > 0 {
			s.Lied |= 1
		}
	case control.SourceComplete:
		if x.Landed != all || x.Active|x.Loose != 0 {
			s.Lied |= 2
		}
	case control.Quiesced:
		if x.Active|x.Loose != 0 {
			s.Lied |= 4
		}
	}
}

func (w *v2World) notice(s *V2State, k, g int, kind v2Kind) {
	x := &s.Edge[k][g]
	chunk := uint8(1)<<w.at(s).Chunks - 1
	if kind != v2Sync && w.at(s).PerChunk {
		chunk = 1 << (kind - v2Data)
	}
	if x.Landed&chunk != chunk {
		s.Lied |= 8
	}
	w.toGen(s, k, g, kind)
}

func (w *v2World) toGen(s *V2State, k, g int, kind v2Kind) {
	inc := s.GenInc
	if to := s.BoundTo[k]; to > 0 {
		inc = to - 1
	}
	if g >= w.at(s).Gens || inc == s.GenInc && s.GenDown || inc != s.GenInc {
		return
	}
	s.Overflow = !s.Net[inc][s.CtxInc].send(kind, k, g) || s.Overflow
}

// genStep gives an input to the parent of GEN rank g and carries out its effects.
// It returns false when the parent refused.
func (w *v2World) genStep(out *Out[V2State], s *V2State, g int, in gen.ParentInput) bool {
	mem := scratchOf(out)
	p, effects, err := s.Gen[g].Step(in, mem.gen[mem.depth%4][:0])
	if err != nil {
		return false
	}
	mem.depth++
	defer func() { mem.depth-- }()
	s.Alone = s.Alone || in.Kind != gen.OnRound && in.Kind != gen.OnValidate && s.Gen[g].Disposition() != p.Disposition()
	s.Gen[g] = p
	for i := range effects {
		w.genDo(out, s, g, &effects[i])
	}
	if w.at(s).Calls {
		return true
	}
	// Without calls of their own, sends succeed at once.
	for k := range w.at(s).Ctxs {
		if s.Call[g][k] == visible {
			s.Call[g][k] = noCall
			w.genStep(out, s, g, gen.ParentInput{Kind: gen.OnSent, Edge: uint8(k)})
		}
	}
	return true
}

func (w *v2World) genDo(out *Out[V2State], s *V2State, g int, e *gen.ParentEffect) {
	binding := s.Gen[g].Binding()
	row := &s.GenPool[g]
	switch e.Kind {
	case gen.DoTake:
		out.Take(genRow(e.Row))
	case gen.DoLease:
		s.LeaseAsked[g] = true
	case gen.DoWithdraw:
		s.LeaseAsked[g] = false
	case gen.DoAdvertise:
		w.poolStep(s, row, slot.Input{Kind: slot.Advertise, Binding: binding})
	case gen.DoBegin:
		w.poolStep(s, row, slot.Input{Kind: slot.Begin, Binding: binding})
	case gen.DoSend:
		w.genSend(s, g, int(e.Edge), e)
	case gen.DoInstall:
		s.GenRound.Installed |= 1 << g
	case gen.DoProcess:
		s.Work[g] = true
	case gen.DoFree, gen.DoQuarantine, gen.DoProve, gen.DoAbandon:
		if w.cfg.Wrong.ForgetLease {
			return
		}
		in := slot.Input{Kind: slot.Release, Binding: binding, Proof: e.Proof}
		switch e.Kind {
		case gen.DoQuarantine:
			in.Kind, in.Proof = slot.Quarantine, slot.None
		case gen.DoProve:
			in.Kind = slot.Prove
			if in.Proof == slot.None {
				in.Proof = slot.Settled
			}
		case gen.DoAbandon:
			in.Kind, in.Proof = slot.Retire, slot.None
		}
		w.poolStep(s, row, in)
	case gen.DoRestart:
		s.GenUnknown[g] = true
	case gen.DoSettle:
		s.GenOutcomes[g]++
	case gen.DoArm:
		s.GenWaits[g] |= 1 << e.Wait
		s.Hasty = s.Hasty || e.Wait == settle.RetryWait && s.Retrying && e.Step == 0
	case gen.DoDisarm:
		s.GenWaits[g] &^= 1 << e.Wait
	}
}

func (w *v2World) genSend(s *V2State, g, k int, e *gen.ParentEffect) {
	var kind v2Kind
	switch e.Msg {
	case control.TypeOpen:
		if !e.Again {
			s.Call[g][k] = calling
			if w.at(s).Calls {
				return
			}
			s.Call[g][k] = visible
		}
		kind = v2Open
	case control.TypeCancel:
		kind = v2Cancel
	case control.TypeTerminal:
		kind = v2GenTerminal + evidenceIndex(e.Evidence)
		w.genWitness(s, g, k, e.Evidence)
	case control.TypeReceipt:
		kind = v2GenReceipt + evidenceIndex(e.Evidence)
	case control.TypeQuery:
		kind = v2Query
	default:
		return
	}
	w.toCtx(s, g, k, kind)
}

// genWitness compares what GEN claims with the truth (I6).
func (w *v2World) genWitness(s *V2State, g, k int, e control.Evidence) {
	all := uint8(1)<<w.at(s).Chunks - 1
	switch e {
	case control.DestinationComplete:
		if s.Edge[k][g].Landed != all || s.Work[g] {
			s.Lied |= 16
		}
	case control.Quiesced, control.NotStarted:
		if s.Work[g] {
			s.Lied |= 32
		}
	}
}

func (w *v2World) toCtx(s *V2State, g, k int, kind v2Kind) {
	if !s.CtxDown {
		s.Overflow = !s.Net[s.GenInc][s.CtxInc].send(kind, k, g) || s.Overflow
	}
}

// hear delivers a message that was sent between the given incarnations.
func (w *v2World) hear(out *Out[V2State], s *V2State, genInc, ctxInc uint8, kind v2Kind, k, g int, odd bool) {
	if kind >= v2Ready {
		w.genHears(out, s, ctxInc, kind, k, g)
		return
	}
	w.ctxHears(out, s, genInc, kind, k, g, odd)
}

func (w *v2World) genHears(out *Out[V2State], s *V2State, ctxInc uint8, kind v2Kind, k, g int) {
	in := gen.ParentInput{Edge: uint8(k), Match: settle.Exact}
	if ctxInc != 0 {
		// Every attempt of these worlds is one with the first incarnation of CTX.
		in.Match &^= settle.SameEpochs
	}
	c := w.at(s)
	switch {
	case kind == v2Ready:
		in.Kind, in.Decision, in.Contract, in.RetentionMS = gen.OnReady, control.DecisionReady, c.Contract, 1
	case kind == v2Refuse:
		in.Kind, in.Decision, in.Evidence = gen.OnReady, control.DecisionNotReady, control.NotStarted
	case kind == v2NoTicket:
		in.Kind, in.Decision, in.Evidence = gen.OnReady, control.DecisionNotReady, control.Unknown
	case kind == v2Sync:
		in.Kind = gen.OnSync
	case kind >= v2Data && kind < v2Status:
		in.Kind, in.Chunk, in.Count = gen.OnData, uint16(kind-v2Data), 1
		if c.PerChunk {
			in.Count = uint16(c.Chunks)
		}
	case kind >= v2Status && kind < v2CtxTerminal:
		in.Kind, in.State = gen.OnStatus, control.SourceState(kind-v2Status+1)
	case kind >= v2CtxTerminal && kind < v2CtxReceipt:
		in.Kind, in.Evidence = gen.OnTerminal, evidences[kind-v2CtxTerminal]
	default:
		in.Kind, in.Evidence = gen.OnReceipt, evidences[kind-v2CtxReceipt]
	}
	if w.cfg.Wrong.WorkUnseen && (in.Kind == gen.OnSync || in.Kind == gen.OnData) {
		s.Work[g] = true
	}
	w.genStep(out, s, g, in)
}

func (w *v2World) ctxHears(out *Out[V2State], s *V2State, genInc uint8, kind v2Kind, k, g int, odd bool) {
	in := ctx.ParentInput{Edge: uint8(g), Match: settle.Exact}
	if to := s.BoundTo[k]; to != 0 && to-1 != genInc || s.CtxInc != 0 {
		in.Match &^= settle.SameAttempt | settle.SameEpochs
	}
	c := w.at(s)
	switch {
	case kind == v2Open:
		in.Kind, in.Edges, in.Chunks, in.Caps, in.PerChunk = ctx.OnOpen, uint8(c.Gens), uint16(c.Chunks), c.Caps, c.PerChunk
		if odd {
			in.Match &^= settle.SameSelection
		}
	case kind == v2Cancel:
		in.Kind = ctx.OnCancelMessage
	case kind == v2Query:
		in.Kind = ctx.OnQuery
	case kind < v2GenReceipt:
		in.Kind, in.Evidence = ctx.OnTerminal, evidences[kind-v2GenTerminal]
	default:
		in.Kind, in.Evidence = ctx.OnReceipt, evidences[kind-v2GenReceipt]
	}
	before := s.Ctx[k].Edges()
	if before == 0 {
		// An answer to somebody who is not bound goes back to who asked.
		s.BoundTo[k] = genInc + 1
	}
	w.ctxStep(out, s, k, in)
	if s.Ctx[k].Edges() == 0 {
		s.BoundTo[k] = 0
	}
}
