package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

func (w *v2World) next(s *V2State, out *Out[V2State]) {
	c := w.at(s)
	if !s.GenDown {
		for g := range c.Gens {
			w.nextGen(s, g, out)
			for k := range c.Ctxs {
				w.nextOpen(s, g, k, out)
			}
		}
		w.nextGenRound(s, out)
	}
	if !s.CtxDown {
		for k := range c.Ctxs {
			w.nextCtx(s, k, out)
		}
		w.nextCtxRound(s, out)
	}
	for k := range c.Ctxs {
		for g := range c.Gens {
			w.nextEdge(s, k, g, out)
		}
	}
	w.nextNet(s, out)
	w.nextStray(s, out)
	w.nextService(s, out)
	w.nextWaits(s, out)
}

// try gives an input to a parent and reports the event if the parent took it. pay
// takes its budget.
func (w *v2World) tryGen(s *V2State, out *Out[V2State], g int, in gen.ParentInput, a Action, pay func(*V2State), args ...int8) {
	n := out.From(s)
	if pay != nil {
		pay(n)
	}
	took := w.genStep(out, n, g, in)
	n.Retrying = false
	if took {
		out.Emit(a, args...)
	}
}

func (w *v2World) tryCtx(s *V2State, out *Out[V2State], k int, in ctx.ParentInput, a Action, pay func(*V2State), args ...int8) {
	n := out.From(s)
	if pay != nil {
		pay(n)
	}
	took := w.ctxStep(out, n, k, in)
	n.Retrying = false
	if took {
		out.Emit(a, args...)
	}
}

// genOpen says whether the attempt of GEN rank g has no outcome yet.
func genOpen(p *gen.Parent) bool { return p.Disposition() == sm.Open }

func (w *v2World) nextGen(s *V2State, g int, out *Out[V2State]) {
	c := w.at(s)
	p := &s.Gen[g]
	a := int8(g)
	if !s.Imported[g] {
		for k := range c.Ctxs {
			if !s.Published[k] {
				return
			}
		}
		in := gen.ParentInput{Kind: gen.OnValidate, Value: true, Edges: uint8(c.Ctxs), Parts: 1, Caps: c.Caps}
		w.tryGen(s, out, g, in, v2GenImport, func(n *V2State) {
			n.Imported[g] = true
			n.GenWaits[g] |= 1 << settle.AdmissionWait
		}, a)
		if s.Left.Refusals > 0 {
			w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnValidate, Cause: settle.ByIncompatible}, v2GenRefuse, func(n *V2State) {
				n.Imported[g], n.Harmed = true, true
				n.Left.Refusals--
			}, a)
		}
		return
	}
	if s.LeaseAsked[g] {
		n := out.From(s)
		n.LeaseAsked[g] = false
		lease := w.poolStep(n, &n.GenPool[g], slot.Input{Kind: slot.Lease, Owner: 1})
		// An attempt that has ended withdrew from the queue.
		n.Refused = !w.genStep(out, n, g, gen.ParentInput{Kind: gen.OnGranted, Binding: lease.granted}) || n.Refused
		out.Emit(v2GenGrant, a)
		if s.Left.Denials > 0 {
			w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnDenied, Cause: settle.BySlot}, v2GenDeny, func(n *V2State) {
				n.LeaseAsked[g], n.Harmed = false, true
				n.Left.Denials--
			}, a)
		}
	}
	if p.MayPublish() {
		w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnPublish}, v2GenPublish, nil, a)
	}
	if s.Work[g] {
		done := func(n *V2State) { n.Work[g] = false }
		w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnProcessed, Value: true}, v2Processed, done, a)
		if s.Left.VerifyFails > 0 {
			w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnProcessed}, v2VerifyFails, func(n *V2State) {
				done(n)
				n.Left.VerifyFails--
				n.Harmed = true
			}, a)
		}
	}
	if s.Left.CancelGen > 0 && genOpen(p) {
		w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnCancel, Cause: settle.ByUser}, v2UserCancelGen, func(n *V2State) {
			n.Left.CancelGen--
			n.Cancelled = true
		}, a)
	}
	if s.Left.Doubts > 0 && genOpen(p) {
		w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnDoubt, Cause: settle.ByProtocol}, v2DoubtGen, func(n *V2State) {
			n.Left.Doubts--
			n.Harmed = true
		}, a)
	}
}

// nextOpen is the call that sends the OPEN of one edge.
func (w *v2World) nextOpen(s *V2State, g, k int, out *Out[V2State]) {
	if !w.at(s).Calls || s.Call[g][k] == noCall {
		return
	}
	a, b := int8(g), int8(k)
	if s.Call[g][k] == calling {
		n := out.From(s)
		n.Call[g][k] = visible
		w.toCtx(n, g, k, v2Open)
		out.Emit(v2OpenVisible, a, b)
	}
	end := func(n *V2State) { n.Call[g][k] = noCall }
	fail := func(n *V2State) {
		end(n)
		n.Left.SendFails--
		n.Harmed = true
	}
	if s.Call[g][k] == visible {
		w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnSent, Edge: uint8(k)}, v2OpenSent, end, a, b)
	}
	if s.Left.SendFails > 0 {
		w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnSendFailed, Edge: uint8(k)}, v2OpenDoubtful, fail, a, b)
		if s.Call[g][k] == calling {
			w.tryGen(s, out, g, gen.ParentInput{Kind: gen.OnSendFailed, Edge: uint8(k), Value: true}, v2OpenFailed, fail, a, b)
		}
	}
}

func (w *v2World) nextCtx(s *V2State, k int, out *Out[V2State]) {
	p := &s.Ctx[k]
	a := int8(k)
	if p.State() == ctx.ParentAbsent && s.CtxInc == 0 {
		in := ctx.ParentInput{Kind: ctx.OnPublish, Room: true, Contract: w.at(s).Contract, Binding: w.lease}
		w.tryCtx(s, out, k, in, v2CtxPublish, nil, a)
		in.Room = false
		w.tryCtx(s, out, k, in, v2CtxPublishFull, nil, a)
		return
	}
	if p.State() == ctx.ParentBound {
		n := out.From(s)
		if w.ctxStep(out, n, k, ctx.ParentInput{Kind: ctx.OnPrepare}) && n.Ctx[k] != *p {
			out.Emit(v2CtxPrepare, a)
		}
		if s.Left.Rejects > 0 {
			w.tryCtx(s, out, k, ctx.ParentInput{Kind: ctx.OnReject, Cause: settle.ByIncompatible}, v2CtxReject, func(n *V2State) {
				n.Left.Rejects--
				n.Harmed = true
			}, a)
		}
	}
	if s.Left.CancelCtx > 0 && p.State() != ctx.ParentAbsent && (p.Disposition() == sm.Open || p.State() == ctx.ParentSuccess) {
		w.tryCtx(s, out, k, ctx.ParentInput{Kind: ctx.OnCancel, Cause: settle.ByUser}, v2UserCancelCtx, func(n *V2State) {
			n.Left.CancelCtx--
			n.Cancelled = true
		}, a)
	}
	if s.Left.Doubts > 0 && p.Disposition() == sm.Open && p.State() != ctx.ParentAbsent {
		w.tryCtx(s, out, k, ctx.ParentInput{Kind: ctx.OnDoubt, Cause: settle.ByProtocol}, v2DoubtCtx, func(n *V2State) {
			n.Left.Doubts--
			n.Harmed = true
		}, a)
	}
}

// nextEdge is the life of the writes of one edge, in the hands of the backend.
func (w *v2World) nextEdge(s *V2State, k, g int, out *Out[V2State]) {
	c := w.at(s)
	x := &s.Edge[k][g]
	a, b := int8(k), int8(g)
	in := ctx.ParentInput{Edge: uint8(g), Count: 1}
	if x.Open && int(x.Made) < c.Chunks && !s.CtxDown {
		in.Kind = ctx.OnPosted
		chunk := x.Made
		n := out.From(s)
		n.Edge[k][g].Made++
		n.Edge[k][g].Active |= 1 << chunk
		if w.ctxStep(out, n, k, in) || w.cfg.Wrong.SealIgnored {
			out.Emit(v2Post, a, b, int8(chunk))
		}
	}
	if x.Seal {
		in.Kind = ctx.OnSealed
		w.tryCtx(s, out, k, in, v2Sealed, func(n *V2State) { n.Edge[k][g].Seal = false }, a, b)
	}
	for chunk := range c.Chunks {
		bit := uint8(1) << chunk
		in := ctx.ParentInput{Edge: uint8(g), Chunk: uint16(chunk)}
		d := int8(chunk)
		switch {
		case x.Active&bit != 0 && x.Handed&bit == 0:
			in.Kind = ctx.OnWritten
			w.tryCtx(s, out, k, in, v2WriteEnds, func(n *V2State) {
				n.Edge[k][g].Active &^= bit
				n.Edge[k][g].Landed |= bit
			}, a, b, d)
			if s.Left.WriteFails > 0 {
				in.Kind = ctx.OnWriteFailed
				w.tryCtx(s, out, k, in, v2WriteFails, func(n *V2State) {
					n.Left.WriteFails--
					n.Harmed = true
					n.Edge[k][g].Active &^= bit
					if !c.Contract.Has(settle.ErrorQuiet) {
						n.Edge[k][g].Loose |= bit
					}
				}, a, b, d)
			}
			if s.Left.Releases > 0 {
				in.Kind = ctx.OnReleased
				w.tryCtx(s, out, k, in, v2Release, func(n *V2State) {
					n.Left.Releases--
					n.Harmed = true
					n.Edge[k][g].Handed |= bit
				}, a, b, d)
			}
		case x.Active&bit != 0:
			in.Kind, in.Again = ctx.OnWritten, true
			w.tryCtx(s, out, k, in, v2ReleasedEnds, func(n *V2State) {
				n.Edge[k][g].Active &^= bit
				n.Edge[k][g].Handed &^= bit
				n.Edge[k][g].Landed |= bit
			}, a, b, d)
		case x.Loose&bit != 0:
			n := out.From(s)
			n.Edge[k][g].Loose &^= bit
			n.Edge[k][g].Landed |= bit
			out.Emit(v2LooseLands, a, b, d)
		}
	}
}

func (w *v2World) nextNet(s *V2State, out *Out[V2State]) {
	c := w.at(s)
	for genInc := range uint8(v2Incs) {
		for ctxInc := range uint8(v2Incs) {
			net := &s.Net[genInc][ctxInc]
			for k := range c.Ctxs {
				for g := range c.Gens {
					for dir := range 2 {
						if net[k][g][dir] != 0 {
							w.nextMessage(s, genInc, ctxInc, k, g, dir, out)
						}
					}
				}
			}
		}
	}
}

// nextMessage is what can happen to the oldest message of a channel.
func (w *v2World) nextMessage(s *V2State, genInc, ctxInc uint8, k, g, dir int, out *Out[V2State]) {
	channel := s.Net[genInc][ctxInc][k][g][dir]
	kind, rest := channel.head(), channel.pop()
	with := func(c v2Channel) *V2State {
		n := out.From(s)
		n.Net[genInc][ctxInc][k][g][dir] = c
		return n
	}
	w.hear(out, with(rest), genInc, ctxInc, kind, k, g, false)
	a, args := v2Delivery(kind, int8(k), int8(g))
	out.Emit(a, args[:]...)
	if kind == v2Open && s.Left.Mismatches > 0 {
		n := with(rest)
		n.Left.Mismatches--
		n.Harmed = true
		w.hear(out, n, genInc, ctxInc, kind, k, g, true)
		out.Emit(v2DeliverOddOpen, int8(k), int8(g))
	}
	if s.Left.Drops > 0 {
		with(rest).Left.Drops--
		out.Emit(v2DropMessage, int8(kind), int8(k), int8(g))
	}
	if s.Left.DropNotices > 0 && kind >= v2Sync && kind < v2Status {
		with(rest).Left.DropNotices--
		out.Emit(v2DropNotice, int8(kind), int8(k), int8(g))
	}
	if again, fits := channel.push(kind); fits && s.Left.Dups > 0 {
		with(again).Left.Dups--
		out.Emit(v2Duplicate, int8(kind), int8(k), int8(g))
	}
	if back, _ := rest.push(kind); rest != 0 && s.Left.Reorders > 0 {
		with(back).Left.Reorders--
		out.Emit(v2Reorder, int8(kind), int8(k), int8(g))
	}
}

// v2Delivery is the event that delivers a message.
func v2Delivery(kind v2Kind, k, g int8) (Action, [3]int8) {
	switch {
	case kind < v2GenTerminal:
		a := v2DeliverQuery
		switch kind {
		case v2Open:
			a = v2DeliverOpen
		case v2Cancel:
			a = v2DeliverCancel
		}
		return a, [3]int8{k, g}
	case kind < v2GenReceipt:
		return v2DeliverGenTerminal, [3]int8{k, g, int8(kind - v2GenTerminal)}
	case kind < v2Ready:
		return v2DeliverGenReceipt, [3]int8{k, g, int8(kind - v2GenReceipt)}
	case kind == v2Ready:
		return v2DeliverReady, [3]int8{k, g}
	case kind < v2Sync:
		return v2DeliverNotReady, [3]int8{k, g, int8(kind - v2Refuse)}
	case kind == v2Sync:
		return v2DeliverSync, [3]int8{k, g}
	case kind < v2Status:
		return v2DeliverData, [3]int8{k, g, int8(kind - v2Data)}
	case kind < v2CtxTerminal:
		return v2DeliverStatus, [3]int8{k, g, int8(kind - v2Status)}
	case kind < v2CtxReceipt:
		return v2DeliverCtxTerminal, [3]int8{k, g, int8(kind - v2CtxTerminal)}
	}
	return v2DeliverCtxReceipt, [3]int8{k, g, int8(kind - v2CtxReceipt)}
}
