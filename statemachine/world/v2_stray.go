package world

import (
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
)

// strayParts are the ways in which a stray message differs from this attempt.
var strayParts = [...]settle.Match{
	settle.Exact &^ settle.SameAttempt,
	settle.Exact &^ settle.SameTicket,
	settle.Exact &^ settle.SameEpochs,
	settle.SameRequest,
}

// strayKinds are the messages that would do most harm.
var strayKinds = [...]v2Kind{v2Open, v2Cancel, v2GenTerminal, v2GenTerminal + 3, v2GenReceipt + 1,
	v2Ready, v2Refuse, v2Sync, v2Data, v2Status + 2, v2CtxTerminal, v2CtxTerminal + 1, v2CtxTerminal + 4}

// nextStray delivers messages of another attempt, ticket or epoch to the parents of
// this one. They may be answered, which is left out here, and must change nothing.
func (w *v2World) nextStray(s *V2State, out *Out[V2State]) {
	if s.Left.Strays == 0 {
		return
	}
	c := w.at(s)
	for k := range c.Ctxs {
		for g := range c.Gens {
			for i, kind := range strayKinds {
				for j := range strayParts {
					if kind >= v2Ready {
						w.strayToGen(s, out, k, g, i, j)
					} else {
						w.strayToCtx(s, out, k, g, i, j)
					}
				}
			}
		}
	}
}

func (w *v2World) strayToGen(s *V2State, out *Out[V2State], k, g, i, j int) {
	if s.GenDown || !s.Imported[g] {
		return
	}
	kind := strayKinds[i]
	in := gen.ParentInput{Edge: uint8(k), Match: strayParts[j], Contract: w.at(s).Contract, RetentionMS: 1}
	switch kind {
	case v2Ready:
		in.Kind, in.Decision = gen.OnReady, control.DecisionReady
	case v2Refuse:
		in.Kind, in.Decision, in.Evidence = gen.OnReady, control.DecisionNotReady, control.NotStarted
	case v2Sync:
		in.Kind = gen.OnSync
	case v2Data:
		in.Kind, in.Count = gen.OnData, 1
	case v2Status + 2:
		in.Kind, in.State = gen.OnStatus, control.StateSourceComplete
	default:
		in.Kind, in.Evidence = gen.OnTerminal, evidences[kind-v2CtxTerminal]
	}
	p, effects, err := s.Gen[g].Step(in, scratchOf(out).gen[0][:0])
	for i := range effects {
		if effects[i].Kind == gen.DoTake {
			out.Take(genRow(effects[i].Row))
		}
	}
	n := out.From(s)
	n.Left.Strays--
	n.Crossed = n.Crossed || err == nil && p != s.Gen[g]
	out.Emit(v2StrayToGen, int8(k), int8(g), int8(j), int8(kind))
}

func (w *v2World) strayToCtx(s *V2State, out *Out[V2State], k, g, i, j int) {
	p := &s.Ctx[k]
	if s.CtxDown || p.Edges() == 0 {
		return // an OPEN makes the key; before that there is no other one
	}
	c, kind := w.at(s), strayKinds[i]
	in := ctx.ParentInput{Edge: uint8(g), Match: strayParts[j], Edges: uint8(c.Gens), Chunks: uint16(c.Chunks), Caps: c.Caps, PerChunk: c.PerChunk}
	switch kind {
	case v2Open:
		in.Kind = ctx.OnOpen
	case v2Cancel:
		in.Kind = ctx.OnCancelMessage
	case v2GenReceipt + 1:
		in.Kind, in.Evidence = ctx.OnReceipt, control.SourceComplete
	default:
		in.Kind, in.Evidence = ctx.OnTerminal, evidences[kind-v2GenTerminal]
	}
	next, effects, err := p.Step(in, scratchOf(out).ctx[0][:0])
	for i := range effects {
		if effects[i].Kind == ctx.DoTake {
			out.Take(ctxRow(effects[i].Row))
		}
	}
	n := out.From(s)
	n.Left.Strays--
	n.Crossed = n.Crossed || err == nil && next != *p
	out.Emit(v2StrayToCtx, int8(k), int8(g), int8(j), int8(kind))
}
