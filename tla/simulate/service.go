package simulate

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/escalate"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

// startService makes a fresh process: new epoch, empty registries, fresh memory.
func (s *Sim) startService(side int) {
	v := &s.srv[side]
	v.inc++
	v.up, v.open, v.cuts, v.due, v.reason = true, 0, 0, 0, NoFault
	v.round.reset()
	v.senders = nil
	// The settings are valid, so nothing here refuses.
	v.proc, _ = escalate.New(escalate.Config{Budget: 1 << 20, Deadline: restartDeadline})
	for r := range v.ranks {
		v.pools[r], _ = slot.New(slot.Config{ID: uint32(side*MaxRanks + r), Slots: s.sch.Slots, Bytes: 1, Budget: -1})
		v.waiting[r] = v.waiting[r][:0]
		if side == ctxSide && s.sch.Dialect.V2() || side == genSide && !s.sch.Dialect.Tags() {
			continue
		}
		if side == ctxSide {
			v.ids[r], _ = registry.New(1<<14, 1<<14, s.set.Lifetime())
			continue
		}
		for c := range s.srv[ctxSide].ranks {
			if v.tags[r][c] == nil {
				v.tags[r][c] = new(tag.Table)
			} else {
				*v.tags[r][c] = tag.Table{}
			}
		}
	}
	if s.rec != nil {
		s.rec.service(s, side, "start")
	}
}

// admits says whether a service takes new requests.
func (s *Sim) admits(side int) bool {
	v := &s.srv[side]
	return v.up && v.proc.Admits()
}

// arrive brings a transfer to CTX.
func (s *Sim) arrive(x uint16) {
	v := &s.srv[ctxSide]
	if !s.admits(ctxSide) {
		return
	}
	s.xs[x].ctxInc = v.inc
	for c := range uint8(v.ranks) {
		st := &s.seats[ctxSide][at(x, c)]
		if s.sch.Dialect.V2() {
			st.start, st.queued = s.now, true
			v.waiting[c] = append(v.waiting[c], x)
			continue
		}
		st.live, st.start = true, s.now
		v.open++
		if err := v.ids[c].Open(s.sch.Transfers[x].ID, s.now); err != nil {
			s.bad(&s.res.Outcomes, "CTX refuses a new request id: %v", err)
			return
		}
		s.ctx1Step(x, c, ctx.Input{Kind: ctx.Start, Edges: uint8(s.srv[genSide].ranks), Settings: ctx.Settings{
			Admission: s.set.Admission, Context: s.set.Context, Request: s.set.Request, Control: s.set.Control}})
	}
	if s.sch.Dialect.V2() {
		s.grant(ctxSide, 0)
	}
}

// hand gives a published context to GEN, by way of the router.
func (s *Sim) hand(x uint16) {
	s.q.push(event{at: s.now + 200*Microsecond + s.draw(x, 300*Microsecond), cause: s.cause, kind: evImport, side: genSide, x: x, inc: anyInc})
}

// imports is the context result at GEN.
func (s *Sim) imports(e *event) {
	x, xf := e.x, &s.xs[e.x]
	if !s.admits(genSide) {
		if !s.sch.Transfers[x].RouterDies {
			s.q.push(event{at: s.now + detect, cause: s.cause, kind: evUser, side: ctxSide, x: x, inc: anyInc, a: 1})
		}
		return
	}
	g := &s.srv[genSide]
	xf.genInc, xf.imported = g.inc, true
	reachable := s.srv[ctxSide].up && s.srv[ctxSide].inc == xf.ctxInc
	for r := range uint8(g.ranks) {
		st := &s.seats[genSide][at(x, r)]
		st.live, st.start = true, s.now
		g.open++
		if !s.sch.Dialect.V2() {
			s.gen1Import(x, r, reachable)
			continue
		}
		s.gp[at(x, r)] = gen.Parent{}.WithWrongRules(s.wrong.Machines)
		st.alarms.Arm(settle.AdmissionWait, s.now, s.set.Admission)
		s.arm(genSide, x, r)
		in := gen.ParentInput{Kind: gen.OnValidate, Value: reachable, Cause: settle.ByEpoch, Edges: uint8(s.srv[ctxSide].ranks), Parts: 1, Caps: s.sch.Dialect.Caps()}
		s.genStep(x, r, in)
	}
	if xf.early {
		s.cancelGen(x)
	}
}

// user is a user's cancel, or the router's.
func (s *Sim) user(e *event) {
	xf := &s.xs[e.x]
	if e.side == genSide {
		if !xf.imported {
			xf.early = true
			return
		}
		s.cancelGen(e.x)
		return
	}
	v := &s.srv[ctxSide]
	if !v.up || xf.ctxInc != v.inc {
		return
	}
	c := uint8(s.sch.Transfers[e.x].Key) % uint8(v.ranks)
	if e.a == 0 {
		s.count(e.x, CancelCtx)
	}
	if s.sch.Dialect.V2() {
		s.ctxStep(e.x, c, ctx.ParentInput{Kind: ctx.OnCancel, Cause: settle.ByUser})
		return
	}
	for r := range uint8(v.ranks) {
		s.ctx1Step(e.x, r, ctx.Input{Kind: ctx.Cancel})
	}
}

func (s *Sim) cancelGen(x uint16) {
	v := &s.srv[genSide]
	if !v.up || s.xs[x].genInc != v.inc {
		return
	}
	g := uint8(s.sch.Transfers[x].Key) % uint8(v.ranks)
	s.count(x, CancelGen)
	if s.sch.Dialect.V2() {
		s.genStep(x, g, gen.ParentInput{Kind: gen.OnCancel, Cause: settle.ByUser})
		return
	}
	for r := range uint8(v.ranks) {
		s.gen1Step(x, r, gen.Input{Kind: gen.Cancel})
	}
}

// count records a cancel, and whether it met its attempt between the ready commit and
// the end of the transfer on either side.
func (s *Sim) count(x uint16, k Kind) {
	if s.fault(x, k, anyRank, 0) == nil {
		return
	}
	s.res.Applied[k]++
	if s.ctxBusy(x, 0) || s.genBusy(x, 0) {
		s.res.InFlight[k]++
	}
}

// settled records the outcome of an attempt on one rank.
func (s *Sim) settled(side int, x uint16, r uint8, d sm.Disposition) {
	st := &s.seats[side][at(x, r)]
	st.settled++
	st.disp = d
	if st.settled > 1 {
		s.bad(&s.res.Outcomes, "transfer %d has %d outcomes at %s %d", x, st.settled, sideName(side), r)
		return
	}
	if took := s.now - st.start; took > s.bound(side) {
		s.bad(&s.res.Hangs, "transfer %d was open at %s %d for %d ms", x, sideName(side), r, took/Millisecond)
	}
	v := &s.srv[side]
	v.open--
	if v.open == 0 && v.proc.State() == escalate.Unhealthy {
		s.process(side, escalate.Input{Kind: escalate.Answered})
	}
}

func sideName(side int) string {
	if side == ctxSide {
		return "CTX"
	}
	return "GEN"
}

// lease carries out what a machine says about its lease.
func (s *Sim) lease(side int, x uint16, r uint8, in slot.Input) {
	st := &s.seats[side][at(x, r)]
	in.Binding = st.binding
	if s.wrong.ForgetLease && (in.Kind == slot.Release || in.Kind == slot.Prove) {
		return
	}
	if s.wrong.NoQuarantine && in.Kind == slot.Quarantine {
		in.Kind, in.Proof = slot.Release, slot.Settled
	}
	s.leaseOnce(side, x, r, in)
	if s.wrong.EndTwice && in.Kind == slot.Release {
		s.leaseOnce(side, x, r, in)
	}
}

func (s *Sim) leaseOnce(side int, x uint16, r uint8, in slot.Input) {
	st := &s.seats[side][at(x, r)]
	out, err := s.srv[side].pools[r].Step(in, s.pbuf[:0])
	s.pbuf = out[:0]
	if err != nil {
		s.bad(&s.res.DoubleCleanup, "transfer %d at %s %d: %v", x, sideName(side), r, err)
		return
	}
	switch in.Kind {
	case slot.Quarantine:
		st.held = true
	case slot.Release, slot.Prove:
		if st.ended++; st.ended > 1 {
			s.bad(&s.res.DoubleCleanup, "transfer %d at %s %d ended its lease %d times", x, sideName(side), r, st.ended)
		}
		st.held = false
		s.judgeFree(side, x, r)
		if side == genSide && s.sch.Dialect.V2() && s.sch.Dialect.Tags() {
			s.endTags(x, r)
		}
		s.later(10*Microsecond, event{kind: evGrant, side: uint8(side), rank: r})
	}
	for _, e := range out {
		if e.Kind == slot.OverBudget {
			s.mustExit(side, x, escalate.Input{Kind: escalate.OverBudget, Reason: sm.PoolUnhealthy})
		}
	}
}

// mustExit tells the process of a finding of transfer x.
func (s *Sim) mustExit(side int, x uint16, in escalate.Input) {
	k := s.blame(x)
	s.res.Asked[k]++
	if v := &s.srv[side]; v.proc.Admits() {
		v.reason = k
	}
	s.process(side, in)
}

// process steps the health of a process.
func (s *Sim) process(side int, in escalate.Input) {
	v := &s.srv[side]
	in.Now = s.now
	p, out, err := v.proc.Step(in, s.ebuf[:0])
	s.ebuf = out[:0]
	if err != nil {
		return
	}
	v.proc = p
	for _, e := range out {
		switch e.Do {
		case escalate.EndOpen:
			v.due = s.now + restartDeadline
			s.later(0, event{kind: evShut, side: uint8(side)})
		case escalate.Arm:
			s.later(e.At-s.now, event{kind: evDue, side: uint8(side)})
		case escalate.AskExit, escalate.Force:
			s.later(0, event{kind: evExit, side: uint8(side)})
		}
	}
}

// shut ends what is open in a process that has to exit.
func (s *Sim) shut(side int) {
	v := &s.srv[side]
	for x := range uint16(len(s.xs)) {
		for r := range uint8(v.ranks) {
			st := &s.seats[side][at(x, r)]
			st.queued = st.queued && st.live // a queue at CTX is told no
			if !st.live || st.settled > 0 {
				continue
			}
			s.xs[x].caught = true
			switch v2 := s.sch.Dialect.V2(); {
			case v2 && side == ctxSide:
				s.ctxStep(x, r, ctx.ParentInput{Kind: ctx.OnCancel, Cause: settle.ByShutdown})
			case v2:
				s.genStep(x, r, gen.ParentInput{Kind: gen.OnCancel, Cause: settle.ByShutdown})
			case side == ctxSide:
				s.ctx1Step(x, r, ctx.Input{Kind: ctx.Abort})
			default:
				s.gen1Step(x, r, gen.Input{Kind: gen.Abort})
			}
		}
	}
	if v.open == 0 {
		s.process(side, escalate.Input{Kind: escalate.Answered})
	}
}

// exit ends a process that was asked to.
func (s *Sim) exit(side int) {
	v := &s.srv[side]
	if v.due > 0 && s.now > v.due+s.slack {
		s.bad(&s.res.Hangs, "%s outlived its restart deadline", sideName(side))
	}
	s.res.Restarts[v.reason]++
	s.end(side, 300*Millisecond)
}

// end ends a process, whatever it was doing; back is how long it is away.
func (s *Sim) end(side int, back sm.Time) {
	v := &s.srv[side]
	if s.rec != nil {
		s.rec.service(s, side, "end")
	}
	v.up, v.open = false, 0
	v.round.reset()
	for i := range s.seats[side] {
		st := &s.seats[side][i]
		if st.live && st.settled == 0 {
			s.xs[i/MaxRanks].caught = true
		}
		st.live, st.queued, st.timer, st.held, st.dirty, st.barrier = false, false, 0, false, false, false
	}
	for i := range s.edges {
		if e := &s.edges[i]; side == ctxSide {
			// Whether posted writes end with their writer is the contract's to say.
			e.open = false
			e.loose |= e.active
			e.active = 0
			if s.sch.DeathQuiet {
				e.loose = 0
			}
		}
	}
	inc := v.inc
	s.q.push(event{at: s.now + back, cause: s.cause, kind: evStart, side: nobody, a: uint8(side)})
	s.q.push(event{at: s.now + detect, cause: s.cause, kind: evGone, side: uint8(1 - side), inc: anyInc, a: inc})
}

// gone tells a service that incarnation a of the other one is no more.
func (s *Sim) gone(e *event) {
	side := int(e.side)
	v := &s.srv[side]
	if !v.up {
		return
	}
	peers := uint8(s.srv[1-side].ranks)
	for x := range uint16(len(s.xs)) {
		xf := &s.xs[x]
		if !xf.imported || side == genSide && xf.ctxInc != e.a || side == ctxSide && xf.genInc != e.a {
			continue
		}
		for r := range uint8(v.ranks) {
			st := &s.seats[side][at(x, r)]
			if !st.live {
				continue
			}
			xf.caught = xf.caught || st.settled == 0
			s.lost(side, x, r, peers)
		}
	}
}

// lost tells one attempt that its peer is no more.
func (s *Sim) lost(side int, x uint16, r, peers uint8) {
	if s.sch.Dialect.V2() {
		if side == ctxSide {
			s.ctxStep(x, r, ctx.ParentInput{Kind: ctx.OnEpochChanged})
			return
		}
		s.genStep(x, r, gen.ParentInput{Kind: gen.OnEpochChanged})
		for c := range peers {
			if s.sch.DeathQuiet && s.seats[genSide][at(x, r)].live {
				s.genStep(x, r, gen.ParentInput{Kind: gen.OnPeerQuiet, Edge: c})
			}
		}
		return
	}
	mask := uint64(1)<<peers - 1
	if side == ctxSide {
		s.ctx1Step(x, r, ctx.Input{Kind: ctx.PeerLost, Mask: mask})
		return
	}
	s.gen1Step(x, r, gen.Input{Kind: gen.PeerLost, Mask: mask})
	if s.sch.DeathQuiet {
		s.gen1Step(x, r, gen.Input{Kind: gen.PeerQuiet, Mask: mask})
	}
}

// timed carries out a fault of a whole service.
func (s *Sim) timed(f *Fault) {
	side := ctxSide
	switch f.Kind {
	case CrashGen, StallGen, SlowGen:
		side = genSide
	case AbsentRank:
		side = int(f.N & 1)
	}
	v := &s.srv[side]
	if !v.up {
		return
	}
	s.res.Applied[f.Kind]++
	switch f.Kind {
	case CrashCtx, CrashGen:
		s.res.Crashes++
		s.end(side, f.For)
	case StallCtx, StallGen:
		v.stall = max(v.stall, s.now+f.For)
		s.slack += f.For
	case SlowCtx, SlowGen:
		v.slow = s.now + f.For
		s.slack += 20 * f.For
	case AbsentRank:
		if v.ranks > 1 {
			v.round.absent |= 1 << f.Edge
		}
	}
}

// arm puts the next wait of a v2 machine into the queue.
func (s *Sim) arm(side int, x uint16, r uint8) {
	st := &s.seats[side][at(x, r)]
	_, due, ok := st.alarms.Next()
	if !ok || st.timer != 0 && st.timer <= due {
		return
	}
	st.timer = max(due, s.now+1)
	s.later(st.timer-s.now, event{kind: evTimer, side: uint8(side), rank: r, x: x})
}

// timer is the end of a wait. An event that was replaced by an earlier one is
// ignored.
func (s *Sim) timer(e *event) {
	st := &s.seats[e.side][at(e.x, e.rank)]
	if !st.live || st.timer == 0 || st.timer > s.now {
		return
	}
	st.timer = 0
	if s.wrong.NoTimers {
		return
	}
	if !s.sch.Dialect.V2() {
		if e.side == ctxSide {
			s.ctx1Step(e.x, e.rank, ctx.Input{Kind: ctx.Tick})
		} else {
			s.gen1Step(e.x, e.rank, gen.Input{Kind: gen.Tick})
		}
		return
	}
	if w, due, ok := st.alarms.Next(); ok && due <= s.now {
		st.alarms.Disarm(w)
		if e.side == ctxSide {
			s.ctxStep(e.x, e.rank, ctx.ParentInput{Kind: ctx.OnWait, Wait: w})
		} else {
			s.genStep(e.x, e.rank, gen.ParentInput{Kind: gen.OnWait, Wait: w})
		}
	}
	if st.live {
		s.arm(int(e.side), e.x, e.rank)
	}
}
