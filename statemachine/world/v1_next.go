package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
)

func (w *v1World) next(s *V1State, out *Out[V1State]) {
	own, ok := out.scratch.(*v1World)
	if !ok || own.genRows != w.genRows {
		own = new(v1World)
		*own = *w
		own.out = out
		out.scratch = own
	}
	own.all(s, out)
}

func (w *v1World) all(s *V1State, out *Out[V1State]) {
	c := w.at(s)
	for k := range c.Ctxs {
		if !s.CtxDown[k] {
			w.nextCtx(s, k, out)
		}
	}
	for g := range c.Gens {
		if !s.GenDown[g] {
			w.nextGen(s, g, out)
		}
	}
	for k := range c.Ctxs {
		for g := range c.Gens {
			for r := range c.Reqs {
				w.nextWrite(s, k, g, r, out)
			}
		}
	}
	w.nextNet(s, out)
}

func (w *v1World) nextCtx(s *V1State, k int, out *Out[V1State]) {
	c := w.at(s)
	for r := range c.Reqs {
		m := &s.Ctx[k][r]
		a, b := int8(k), int8(r)
		if m.State() == ctx.Waiting {
			if row := s.CtxPool[k]; w.pool(s).counts[row].Free > 0 && w.pool(s).healthy[row] {
				w.ctxAdmit(out.From(s), k, r)
				out.Emit(v1CtxGrant, a, b)
			}
			if s.Left.Denials > 0 {
				n := out.From(s)
				n.Left.Denials--
				w.ctxStep(n, k, r, ctx.Input{Kind: ctx.Denied, Reason: sm.SlotTooSmall})
				out.Emit(v1CtxDeny, a, b)
			}
		}
		if s.Left.CancelCtx > 0 && m.Disposition() == sm.Open {
			n := out.From(s)
			n.Left.CancelCtx--
			w.ctxStep(n, k, r, ctx.Input{Kind: ctx.Cancel, Reason: sm.UserCancel})
			out.Emit(v1CancelCtx, a, b)
		}
		if d := m.Deadline(); d != 0 {
			w.ctxStep(out.From(s), k, r, ctx.Input{Kind: ctx.Tick, Now: d})
			out.Emit(ctxDeadline(d), a, b)
		}
	}
	for g := range c.Gens {
		if s.GenDown[g] && !s.CtxLost[k][g] {
			n := out.From(s)
			n.CtxLost[k][g] = true
			for r := range c.Reqs {
				w.ctxStep(n, k, r, ctx.Input{Kind: ctx.PeerLost, Mask: 1 << g})
			}
			out.Emit(v1CtxPeerLost, int8(k), int8(g))
		}
	}
	if s.Left.Crashes > 0 {
		n := out.From(s)
		n.Left.Crashes--
		w.ctxCrash(n, k)
		out.Emit(v1CrashCtx, int8(k))
	}
	if w.pool(s).healthy[s.CtxPool[k]] || w.cfg.Wrong.IgnoreBudget {
		return
	}
	for r := range c.Reqs {
		if w.ctxOpen(s, k, r) {
			n := out.From(s)
			for r := range c.Reqs {
				w.ctxStep(n, k, r, ctx.Input{Kind: ctx.Abort, Reason: sm.PoolUnhealthy})
			}
			out.Emit(v1CtxAbort, int8(k))
			return
		}
	}
	w.ctxCrash(out.From(s), k)
	out.Emit(v1CtxExit, int8(k))
}

func ctxDeadline(wait sm.Time) Action {
	switch wait {
	case waitAdmission:
		return v1CtxAdmissionDeadline
	case waitContext:
		return v1CtxContextDeadline
	case waitRequest:
		return v1CtxRequestDeadline
	}
	return v1CtxControlDeadline
}

func (w *v1World) nextGen(s *V1State, g int, out *Out[V1State]) {
	c := w.at(s)
	for r := range c.Reqs {
		w.nextRequest(s, g, r, out)
	}
	for k := range c.Ctxs {
		if !s.CtxDown[k] {
			continue
		}
		if !s.GenLost[g][k] {
			n := out.From(s)
			n.GenLost[g][k] = true
			w.genPeer(n, g, k, gen.PeerLost)
			out.Emit(v1GenPeerLost, int8(g), int8(k))
		}
		if !s.GenQuiet[g][k] && (c.DeathQuiet || w.cfg.Wrong.TrustDeath) {
			n := out.From(s)
			n.GenQuiet[g][k] = true
			w.genPeer(n, g, k, gen.PeerQuiet)
			out.Emit(v1GenPeerQuiet, int8(g), int8(k))
		}
	}
	if s.Left.Crashes > 0 {
		n := out.From(s)
		n.Left.Crashes--
		w.genCrash(n, g)
		out.Emit(v1CrashGen, int8(g))
	}
	if w.mayAge(s, g) {
		out.From(s).Aged[g] = true
		out.Emit(v1TagAges, int8(g))
	}
	if w.pool(s).healthy[s.GenPool[g]] || w.cfg.Wrong.IgnoreBudget {
		return
	}
	for r := range c.Reqs {
		if w.genOpen(s, g, r) {
			n := out.From(s)
			for r := range c.Reqs {
				w.genStep(n, g, r, gen.Input{Kind: gen.Abort, Reason: sm.PoolUnhealthy})
			}
			out.Emit(v1GenAbort, int8(g))
			return
		}
	}
	w.genCrash(out.From(s), g)
	out.Emit(v1GenExit, int8(g))
}

func (w *v1World) genPeer(s *V1State, g, k int, kind gen.Kind) {
	for r := range w.at(s).Reqs {
		w.genStep(s, g, r, gen.Input{Kind: kind, Mask: 1 << k})
	}
}

// mayAge says whether the control lifetime of an ended attempt on GEN rank g may
// have passed: none of its messages is left. It is offered only where somebody
// waits for it.
func (w *v1World) mayAge(s *V1State, g int) bool {
	c := w.at(s)
	if s.Aged[g] || c.Reqs < 2 {
		return false
	}
	for bit := range v1Messages {
		if _, _, to, _ := v1Message(bit); to == g && s.Net.count(bit) > 0 {
			return false
		}
	}
	for k := range c.Ctxs {
		_, out, _ := w.tags.step(s.Tags[g][k], tagIn{use: ownerOfTag, id: v1ID(0)})
		if out.owner != 0 && !out.live {
			return true
		}
	}
	return false
}

func (w *v1World) nextRequest(s *V1State, g, r int, out *Out[V1State]) {
	c := w.at(s)
	m := &s.Gen[g][r]
	a, b := int8(g), int8(r)
	step := func(action Action, in gen.Input) {
		w.genStep(out.From(s), g, r, in)
		out.Emit(action, a, b)
	}
	switch m.State() {
	case gen.Imported:
		for k := range c.Ctxs {
			if !s.Published[k][r] {
				return
			}
		}
		w.genImport(out.From(s), g, r)
		out.Emit(v1GenImport, a, b)
		return
	case gen.Waiting:
		if w.genMayAdmit(s, g, r) {
			w.genAdmit(out.From(s), g, r)
			out.Emit(v1GenGrant, a, b)
		}
		if s.Left.Hits > 0 {
			n := out.From(s)
			n.Left.Hits--
			w.genStep(n, g, r, gen.Input{Kind: gen.Nothing})
			out.Emit(v1GenNothing, a, b)
		}
		if s.Left.Denials > 0 {
			n := out.From(s)
			n.Left.Denials--
			w.genStep(n, g, r, gen.Input{Kind: gen.Denied, Reason: sm.SlotTooSmall})
			out.Emit(v1GenDeny, a, b)
		}
	}
	w.nextCall(s, g, r, out)
	if localWork(m) {
		step(v1ScatterDone, gen.Input{Kind: gen.Scattered, Value: !s.Early[g][r]})
		if s.Left.VerifyFails > 0 {
			n := out.From(s)
			n.Left.VerifyFails--
			w.genStep(n, g, r, gen.Input{Kind: gen.Scattered})
			out.Emit(v1VerifyFails, a, b)
		}
	}
	if s.Left.CancelGen > 0 && m.Disposition() == sm.Open {
		n := out.From(s)
		n.Left.CancelGen--
		n.Cancelled[g][r] = true
		w.genStep(n, g, r, gen.Input{Kind: gen.Cancel, Reason: sm.UserCancel})
		out.Emit(v1CancelGen, a, b)
	}
	if d := m.Deadline(); d != 0 && !(d == waitRequest && w.cfg.Wrong.NoRequestDeadline) {
		step(genDeadline(d), gen.Input{Kind: gen.Tick, Now: d})
	}
}

func genDeadline(wait sm.Time) Action {
	switch wait {
	case waitAdmission:
		return v1GenAdmissionDeadline
	case waitRequest:
		return v1GenRequestDeadline
	}
	return v1GenControlDeadline
}

// localWork says whether a scatter of this machine is under way. A machine keeps
// the state SCATTERING until it has ended, whatever its outcome.
func localWork(m *gen.Machine) bool { return m.State() == gen.Scattering }

// nextCall is the call that sends the request of one edge: a peer may see the
// message before the call returns.
func (w *v1World) nextCall(s *V1State, g, r int, out *Out[V1State]) {
	call := s.Call[g][r]
	if call.State == noCall {
		return
	}
	a, b := int8(g), int8(r)
	if call.State == calling {
		n := out.From(s)
		n.Call[g][r].State = visible
		if k := int(call.Edge); !n.CtxDown[k] {
			n.Net.add(v1Bit(msgRequest, k, g, r))
		}
		out.Emit(v1RequestVisible, a, b)
	}
	end := func(action Action, kind gen.Kind, fault bool) {
		n := out.From(s)
		n.Call[g][r] = v1Call{}
		if fault {
			n.Left.SendFails--
		}
		w.genStep(n, g, r, gen.Input{Kind: kind, Edge: call.Edge})
		out.Emit(action, a, b)
	}
	if call.State == visible {
		end(v1RequestSent, gen.Published, false)
	}
	if s.Left.SendFails > 0 {
		end(v1RequestDoubtful, gen.PublishDoubt, true)
		if call.State == calling {
			end(v1RequestFailed, gen.PublishError, true)
		}
	}
}

// nextWrite is the life of one write, in the hands of the adaptor.
func (w *v1World) nextWrite(s *V1State, k, g, r int, out *Out[V1State]) {
	a, b, c := int8(k), int8(g), int8(r)
	end := func(action Action, to uint8, in ctx.Input) *V1State {
		n := out.From(s)
		n.Write[k][g][r] = to
		in.Edge = uint8(g)
		w.ctxStep(n, k, r, in)
		return n
	}
	switch s.Write[k][g][r] {
	case writing:
		end(v1WriteEnds, written, ctx.Input{Kind: ctx.Written})
		out.Emit(v1WriteEnds, a, b, c)
		if s.Stop[k][g][r] {
			end(v1WriteStopped, writeEnded, ctx.Input{Kind: ctx.Ended, Reason: sm.PeerLost})
			out.Emit(v1WriteStopped, a, b, c)
		}
		if s.Left.WriteFails > 0 {
			n := end(v1WriteFails, writeEnded, ctx.Input{Kind: ctx.Ended, Reason: sm.WriteFailed})
			n.Left.WriteFails--
			out.Emit(v1WriteFails, a, b, c)
		}
	case orphan:
		out.From(s).Write[k][g][r] = written
		out.Emit(v1OrphanLands, a, b, c)
	}
}

func (w *v1World) nextNet(s *V1State, out *Out[V1State]) {
	for bit := range v1Messages {
		n := s.Net.count(bit)
		if n == 0 {
			continue
		}
		kind, k, g, r := v1Message(bit)
		a, b, c := int8(k), int8(g), int8(r)
		switch kind {
		case msgRequest:
			w.deliverRequest(s, bit, out)
		default:
			t := out.From(s)
			t.Net.remove(bit)
			w.genHears(t, kind, k, g, r)
			out.Emit(v1DeliverReady+Action(kind-msgReadyYes), a, b, c)
		}
		if s.Left.Drops > 0 {
			t := out.From(s)
			t.Left.Drops--
			t.Net.remove(bit)
			out.Emit(v1Drop, int8(kind), a, b, c)
		}
		if s.Left.Dups > 0 && n == 1 {
			t := out.From(s)
			t.Left.Dups--
			t.Net.add(bit)
			out.Emit(v1Duplicate, int8(kind), a, b, c)
		}
	}
}

func (w *v1World) deliverRequest(s *V1State, bit int, out *Out[V1State]) {
	_, k, g, r := v1Message(bit)
	if w.at(s).Fit == Compatible {
		t := out.From(s)
		t.Net.remove(bit)
		w.ctxHears(t, k, g, r, true)
		out.Emit(v1DeliverRequest, int8(k), int8(g), int8(r))
		if s.Left.Rejects == 0 {
			return
		}
	}
	t := out.From(s)
	t.Net.remove(bit)
	if w.at(s).Fit == Compatible {
		t.Left.Rejects--
	}
	w.ctxHears(t, k, g, r, false)
	out.Emit(v1RejectRequest, int8(k), int8(g), int8(r))
}
