package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// ctxStep gives an input to the machine of request r on CTX rank k and carries out
// its effects, as the service does.
func (w *v1World) ctxStep(s *V1State, k, r int, in ctx.Input) {
	if st := s.Ctx[k][r].State(); st == ctx.Retired || st == ctx.Imported && in.Kind != ctx.Start {
		return // the service has no record of it: not yet, or no more
	}
	var buf [16]ctx.Effect
	m, effects, err := s.Ctx[k][r].Step(in, buf[:0])
	if err != nil {
		return // counted by the service, changes nothing
	}
	row, err := w.ctxRows.Of(s.Ctx[k][r], in, m)
	if row >= 0 {
		row += w.genRows.Len()
	}
	w.took(row, err)
	s.Ctx[k][r] = m
	for i := range effects {
		w.ctxDo(s, k, r, &effects[i])
	}
}

func (w *v1World) ctxDo(s *V1State, k, r int, e *ctx.Effect) {
	g := int(e.Edge)
	row := &s.CtxPool[k]
	switch e.Kind {
	case ctx.Publish:
		s.Published[k][r] = true
	case ctx.BeginSlot:
		w.poolStep(s, row, slot.Input{Kind: slot.Begin, Binding: e.Binding})
	case ctx.SendReady:
		w.say(s, k, g, r, e.Value)
		if w.cfg.Wrong.WriteAfterReject && !e.Value {
			s.Write[k][g][r] = writing
		}
	case ctx.StartWrite:
		s.Write[k][g][r] = writing
		if w.cfg.Wrong.SyncEarly {
			w.sendSync(s, k, g, r)
		}
	case ctx.StopWrite:
		s.Stop[k][g][r] = true
	case ctx.SendSync:
		w.sendSync(s, k, g, r)
	case ctx.ReleaseSlot:
		w.poolStep(s, row, slot.Input{Kind: slot.Release, Binding: e.Binding, Proof: e.Proof})
	case ctx.QuarantineSlot:
		if w.cfg.Wrong.FreeSourceOnTimeout {
			w.poolStep(s, row, slot.Input{Kind: slot.Release, Binding: e.Binding, Proof: slot.Settled})
			return
		}
		w.poolStep(s, row, slot.Input{Kind: slot.Quarantine, Binding: e.Binding})
	case ctx.ProveSlot:
		if !w.cfg.Wrong.FreeSourceOnTimeout {
			w.poolStep(s, row, slot.Input{Kind: slot.Prove, Binding: e.Binding, Proof: e.Proof})
		}
	case ctx.Settle:
		s.CtxOutcomes[k][r]++
	case ctx.Drop:
		w.reg(s, k, regIn{use: closeID, id: v1ID(r), committed: s.Ctx[k][r].Committed()})
	}
}

// say sends ready with the given flag to GEN rank g.
func (w *v1World) say(s *V1State, k, g, r int, yes bool) {
	kind, said := msgReadyNo, saidNo
	if yes {
		kind, said = msgReadyYes, saidYes
	}
	s.Said[k][g][r] |= said
	if !s.GenDown[g] {
		s.Net.add(v1Bit(kind, k, g, r))
	}
}

func (w *v1World) sendSync(s *V1State, k, g, r int) {
	s.Said[k][g][r] |= saidSync
	if !s.GenDown[g] {
		s.Net.add(v1Bit(msgSync, k, g, r))
	}
}

func (w *v1World) reg(s *V1State, k int, in regIn) regOut {
	next, out, ok := w.regs.step(s.Reg[k], in)
	if !ok || out.refused {
		s.Refused = true
	}
	s.Reg[k] = next
	return out
}

func (w *v1World) ctxAdmit(s *V1State, k, r int) {
	out := w.poolStep(s, &s.CtxPool[k], slot.Input{Kind: slot.Lease, Owner: uint64(r) + 1})
	w.ctxStep(s, k, r, ctx.Input{Kind: ctx.Granted, Binding: out.granted})
}

// ctxHears delivers the request of GEN rank g. good says that CTX finds nothing wrong
// with it.
func (w *v1World) ctxHears(s *V1State, k, g, r int, good bool) {
	look := w.reg(s, k, regIn{use: lookID, id: v1ID(r)})
	if !look.active {
		if look.answer == registry.Reject || w.cfg.Wrong.RejectLate {
			w.say(s, k, g, r, false)
		}
		return
	}
	in := ctx.Input{Kind: ctx.Request, Edge: uint8(g), Value: good}
	if !good {
		in.Reason = "bad-buffers"
	}
	w.ctxStep(s, k, r, in)
}

// ctxCrash ends the process of CTX rank k with all that it had. Whether its writes
// end with it is the contract's to say.
func (w *v1World) ctxCrash(s *V1State, k int) {
	s.CtxDown[k] = true
	s.Ctx[k] = [v1Reqs]ctx.Machine{}
	s.CtxPool[k], s.Reg[k] = 0, 0
	s.CtxLost[k] = [v1Gens]bool{}
	s.Stop[k] = [v1Gens][v1Reqs]bool{}
	for g := range v1Gens {
		for r := range v1Reqs {
			if s.Write[k][g][r] != writing {
				continue
			}
			s.Write[k][g][r] = orphan
			if w.at(s).DeathQuiet {
				s.Write[k][g][r] = writeEnded
			}
		}
	}
	for bit := range v1Messages {
		if kind, to, _, _ := v1Message(bit); to == k && kind == msgRequest {
			s.Net.clear(bit)
		}
	}
}

func (w *v1World) ctxOpen(s *V1State, k, r int) bool {
	m := &s.Ctx[k][r]
	return m.State() != ctx.Imported && m.Disposition() == sm.Open
}
