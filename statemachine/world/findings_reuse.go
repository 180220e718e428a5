package world

import (
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
)

// ReuseConfig fixes the world of D15: the one slot of GEN goes from an attempt that
// succeeded to the next one, while CANCELs of the first are still on their way.
type ReuseConfig struct {
	// Cancels is how many late CANCELs arrive, at either side. Drops is how many
	// messages are lost.
	Cancels, Drops uint8
	// Bad breaks rules of the machines.
	Bad wrong.Rules
	// ByIndex lets a clean-up name the slot alone, not its generation.
	ByIndex bool
}

// ReuseState is a state of that world.
type ReuseState struct {
	Ctx  ctx.Parent // of the first attempt
	Old  gen.Parent // of the first attempt
	Next gen.Parent // of the second
	Pool uint16
	// Net holds the messages of the first attempt: 0 to CTX, 1 to GEN.
	Net [2]v2Channel
	// Work: the data of the first attempt is being processed.
	Work bool
	// CtxWait and GenWait: the control deadline of the first attempt runs.
	CtxWait, GenWait bool
	// Touched: a clean-up of the first attempt changed the slot of the second.
	Touched bool
	Refused bool
	Left    ReuseLeft
}

// ReuseLeft are the budgets of a ReuseState.
type ReuseLeft struct{ Cancels, Drops uint8 }

type reuseWorld struct {
	cfg  ReuseConfig
	pool *poolTable
}

const (
	reToCtx Action = iota
	reToGen
	reDrop
	reCancelGen
	reCancelCtx
	reProcessed
	reGenRound
	reCtxRound
	reGenDeadline
	reCtxDeadline
	reGrant
	reOpen
	reReady
)

var reuseActions = [...]Info{
	reToCtx:       {Name: "DeliverToCtx", Fair: true, From: "network", To: "CTX, attempt 1", Args: []string{v2KindArg}},
	reToGen:       {Name: "DeliverToGen", Fair: true, From: "network", To: "GEN, attempt 1", Args: []string{v2KindArg}},
	reDrop:        {Name: "Drop", From: "network", To: "network", Args: []string{v2KindArg}},
	reCancelGen:   {Name: "LateCancelToGen", From: "network", To: "GEN, attempt 1"},
	reCancelCtx:   {Name: "LateCancelToCtx", From: "network", To: "CTX, attempt 1"},
	reProcessed:   {Name: "Processed", Fair: true, From: "GEN, attempt 1", To: "GEN, attempt 1"},
	reGenRound:    {Name: "GenRound", Fair: true, From: "GEN, attempt 1", To: "GEN, attempt 1"},
	reCtxRound:    {Name: "CtxRound", Fair: true, From: "CTX, attempt 1", To: "CTX, attempt 1"},
	reGenDeadline: {Name: "GenControlDeadline", Fair: true, From: "GEN, attempt 1", To: "GEN, attempt 1"},
	reCtxDeadline: {Name: "CtxControlDeadline", Fair: true, From: "CTX, attempt 1", To: "CTX, attempt 1"},
	reGrant:       {Name: "Lease", Fair: true, From: "GEN, attempt 2", To: "GEN, attempt 2"},
	reOpen:        {Name: "Advertise", Fair: true, From: "GEN, attempt 2", To: "network"},
	reReady:       {Name: "Ready", Fair: true, From: "network", To: "GEN, attempt 2"},
}

// Reuse is the model of D15. The first attempt begins when its data has arrived and
// its sync is on its way; the second one is followed until it is in flight.
func Reuse(cfg ReuseConfig) (*Model[ReuseState], error) {
	pool, err := tabulatePool(slot.Config{Slots: 1, Bytes: 1, Budget: 1}, 2, 2, true)
	if err != nil {
		return nil, err
	}
	w := &reuseWorld{cfg, pool}
	first, err := w.first()
	if err != nil {
		return nil, err
	}
	return &Model[ReuseState]{
		Name: "reuse", Size: "finding", Actors: []string{"CTX, attempt 1", "network", "GEN, attempt 1", "GEN, attempt 2"},
		Bounds:  []Bound{{"slots", 1}, {"attempts", 2}, {"late cancel", int(cfg.Cancels)}, {"drop", int(cfg.Drops)}},
		Actions: collect(len(reuseActions), func(i int) Info { return reuseActions[i] }),
		Init:    []ReuseState{first}, Next: w.next, Settled: w.settled, Canon: w.view,
		Invariants: []Invariant[ReuseState]{
			{"NewLeaseUntouched", []string{"KS-SLOT-8", "KS-SET-7", "KS-SLOT-13"}, func(s *ReuseState) bool { return !s.Touched }},
			{"CleanupOnce", []string{"KS-SLOT-3"}, func(s *ReuseState) bool { return !s.Refused }},
		},
	}, nil
}

// first makes the initial state by the machines' own steps.
func (w *reuseWorld) first() (s ReuseState, err error) {
	s.Left = ReuseLeft{w.cfg.Cancels, w.cfg.Drops}
	s.Ctx, s.Old, s.Next = ctx.Parent{}.WithWrongRules(w.cfg.Bad), gen.Parent{}.WithWrongRules(w.cfg.Bad), gen.Parent{}
	lease := w.slot(&s, slot.Input{Kind: slot.Lease, Owner: 1})
	goOn := round.Verdict{Decision: round.GoOn, Row: round.RowAdmit, GenAttempt: 1}
	for _, in := range []gen.ParentInput{{Kind: gen.OnValidate, Value: true, Edges: 1, Parts: 1}, {Kind: gen.OnGranted, Binding: lease},
		{Kind: gen.OnContribute}, {Kind: gen.OnRound, Verdict: goOn}, {Kind: gen.OnPublish}, {Kind: gen.OnSent},
		{Kind: gen.OnReady, Match: settle.Exact, Decision: control.DecisionReady}, {Kind: gen.OnContribute}, {Kind: gen.OnRound, Verdict: goOn}, {Kind: gen.OnBarrier}} {
		if err = w.gen(&s, &s.Old, in); err != nil {
			return s, err
		}
	}
	for _, in := range []ctx.ParentInput{{Kind: ctx.OnPublish, Room: true, Contract: settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet},
		{Kind: ctx.OnOpen, Match: settle.Exact, Edges: 1, Chunks: 1}, {Kind: ctx.OnContribute}, {Kind: ctx.OnRound, Verdict: goOn}, {Kind: ctx.OnPrepare},
		{Kind: ctx.OnContribute}, {Kind: ctx.OnRound, Verdict: goOn}, {Kind: ctx.OnBarrier}, {Kind: ctx.OnPosted, Count: 1}, {Kind: ctx.OnWritten}} {
		if err = w.ctx(&s, in); err != nil {
			return s, err
		}
	}
	err = w.gen(&s, &s.Next, gen.ParentInput{Kind: gen.OnValidate, Value: true, Edges: 1, Parts: 1})
	// READY of the first attempt was delivered above.
	s.Net[1] = 0
	s.Net[1], _ = s.Net[1].push(v2Sync)
	return s, err
}

// slot does one thing to the pool.
func (w *reuseWorld) slot(s *ReuseState, in slot.Input) slot.Binding {
	next, out, ok := w.pool.step(s.Pool, in)
	if !ok || out.refused != "" {
		s.Refused = true
	}
	if ok {
		s.Pool = next
	}
	return out.granted
}

// clean is a clean-up that a machine of GEN asked for.
func (w *reuseWorld) clean(s *ReuseState, p *gen.Parent, in slot.Input) {
	in.Binding = p.Binding()
	if p == &s.Old && s.Next.Leased() && w.cfg.ByIndex {
		in.Binding = s.Next.Binding()
	}
	before := s.Pool
	w.slot(s, in)
	if p == &s.Old && s.Next.Leased() && s.Pool != before {
		s.Touched = true
	}
}

func (w *reuseWorld) gen(s *ReuseState, p *gen.Parent, in gen.ParentInput) error {
	next, effects, err := p.Step(in, nil)
	if err != nil {
		return err
	}
	*p = next
	for i := range effects {
		e := &effects[i]
		switch e.Kind {
		case gen.DoAdvertise:
			w.slot(s, slot.Input{Kind: slot.Advertise, Binding: p.Binding()})
		case gen.DoBegin:
			w.slot(s, slot.Input{Kind: slot.Begin, Binding: p.Binding()})
		case gen.DoFree:
			w.clean(s, p, slot.Input{Kind: slot.Release, Proof: e.Proof})
		case gen.DoQuarantine:
			w.clean(s, p, slot.Input{Kind: slot.Quarantine})
		case gen.DoProve:
			w.clean(s, p, slot.Input{Kind: slot.Prove, Proof: max(e.Proof, slot.Settled)})
		case gen.DoAbandon:
			w.clean(s, p, slot.Input{Kind: slot.Retire})
		case gen.DoProcess:
			s.Work = s.Work || p == &s.Old
		case gen.DoSend:
			if p == &s.Old {
				w.send(s, e.Msg, e.Evidence, v2GenTerminal, v2GenReceipt)
			}
		case gen.DoArm:
			s.GenWait = s.GenWait || p == &s.Old && e.Wait == settle.ControlWait
		case gen.DoDisarm:
			s.GenWait = s.GenWait && (p != &s.Old || e.Wait != settle.ControlWait)
		}
	}
	return nil
}

func (w *reuseWorld) ctx(s *ReuseState, in ctx.ParentInput) error {
	next, effects, err := s.Ctx.Step(in, nil)
	if err != nil {
		return err
	}
	s.Ctx = next
	for i := range effects {
		e := &effects[i]
		switch e.Kind {
		case ctx.DoSend:
			w.send(s, e.Msg, e.Evidence, v2CtxTerminal, v2CtxReceipt)
		case ctx.DoArm:
			s.CtxWait = s.CtxWait || e.Wait == settle.ControlWait
		case ctx.DoDisarm:
			s.CtxWait = s.CtxWait && e.Wait != settle.ControlWait
		}
	}
	return nil
}

// send carries TERMINAL and its receipt; the rest of the first attempt's messages is
// behind it.
func (w *reuseWorld) send(s *ReuseState, m control.Type, e control.Evidence, terminal, receipt v2Kind) {
	kind := terminal
	switch m {
	case control.TypeTerminal:
	case control.TypeReceipt:
		kind = receipt
	default:
		return
	}
	kind += evidenceIndex(e)
	if c := &s.Net[direction(kind)]; !c.has(kind) {
		*c, _ = c.push(kind)
	}
}

func (w *reuseWorld) next(s *ReuseState, out *Out[ReuseState]) {
	n := out.From(s)
	emit := func(err error, a Action, args ...int8) {
		if err == nil && *n != *s {
			out.Emit(a, args...)
		}
		n = out.From(s)
	}
	for dir, c := range s.Net {
		if c == 0 {
			continue
		}
		n.Net[dir] = c.pop()
		w.hear(n, c.head())
		emit(nil, reToCtx+Action(dir), int8(c.head()))
		if s.Left.Drops > 0 {
			n.Net[dir] = c.pop()
			n.Left.Drops--
			emit(nil, reDrop, int8(c.head()))
		}
	}
	if s.Left.Cancels > 0 {
		n.Left.Cancels--
		emit(w.gen(n, &n.Old, gen.ParentInput{Kind: gen.OnCancelMessage, Match: settle.Exact}), reCancelGen)
		n.Left.Cancels--
		emit(w.ctx(n, ctx.ParentInput{Kind: ctx.OnCancelMessage, Match: settle.Exact}), reCancelCtx)
	}
	if s.Work {
		n.Work = false
		emit(w.gen(n, &n.Old, gen.ParentInput{Kind: gen.OnProcessed, Value: true}), reProcessed)
	}
	w.round(n, &n.Old)
	emit(nil, reGenRound)
	w.ctxRound(n)
	emit(nil, reCtxRound)
	if s.GenWait {
		n.GenWait = false
		emit(w.gen(n, &n.Old, gen.ParentInput{Kind: gen.OnWait, Wait: settle.ControlWait}), reGenDeadline)
	}
	if s.CtxWait {
		n.CtxWait = false
		emit(w.ctx(n, ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.ControlWait}), reCtxDeadline)
	}
	w.nextSecond(s, n, emit)
}

// nextSecond moves the second attempt on: lease, OPEN, READY.
func (w *reuseWorld) nextSecond(s, n *ReuseState, emit func(error, Action, ...int8)) {
	goOn := round.Verdict{Decision: round.GoOn, Row: round.RowAdmit, GenAttempt: 2}
	steps := func(list ...gen.ParentInput) error {
		for _, in := range list {
			if err := w.gen(n, &n.Next, in); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case s.Next.State() == gen.ParentPrepared && w.pool.slots[s.Pool][0].state == slot.Free:
		b := w.slot(n, slot.Input{Kind: slot.Lease, Owner: 2})
		emit(steps(gen.ParentInput{Kind: gen.OnGranted, Binding: b}, gen.ParentInput{Kind: gen.OnContribute}, gen.ParentInput{Kind: gen.OnRound, Verdict: goOn}), reGrant)
	case s.Next.State() == gen.ParentAdmitted:
		emit(steps(gen.ParentInput{Kind: gen.OnPublish}, gen.ParentInput{Kind: gen.OnSent}), reOpen)
	case s.Next.State() == gen.ParentOpenSent:
		emit(steps(gen.ParentInput{Kind: gen.OnReady, Match: settle.Exact, Decision: control.DecisionReady}, gen.ParentInput{Kind: gen.OnContribute},
			gen.ParentInput{Kind: gen.OnRound, Verdict: goOn}, gen.ParentInput{Kind: gen.OnBarrier}), reReady)
	}
}

// hear delivers a message of the first attempt.
func (w *reuseWorld) hear(n *ReuseState, kind v2Kind) {
	switch {
	case kind >= v2CtxReceipt:
		_ = w.gen(n, &n.Old, gen.ParentInput{Kind: gen.OnReceipt, Match: settle.Exact, Evidence: evidences[kind-v2CtxReceipt]})
	case kind >= v2CtxTerminal:
		_ = w.gen(n, &n.Old, gen.ParentInput{Kind: gen.OnTerminal, Match: settle.Exact, Evidence: evidences[kind-v2CtxTerminal]})
	case kind == v2Sync:
		_ = w.gen(n, &n.Old, gen.ParentInput{Kind: gen.OnSync, Match: settle.Exact})
	case kind >= v2GenReceipt:
		_ = w.ctx(n, ctx.ParentInput{Kind: ctx.OnReceipt, Match: settle.Exact, Evidence: evidences[kind-v2GenReceipt]})
	case kind >= v2GenTerminal:
		_ = w.ctx(n, ctx.ParentInput{Kind: ctx.OnTerminal, Match: settle.Exact, Evidence: evidences[kind-v2GenTerminal]})
	}
}

// round is a decision round of GEN's one rank.
func (w *reuseWorld) round(n *ReuseState, p *gen.Parent) {
	v := round.View{Ranks: 1}
	v.Phase, v.Committed = p.Phase()
	next, effects, err := p.Step(gen.ParentInput{Kind: gen.OnContribute}, nil)
	if err != nil {
		return
	}
	*p = next
	for _, e := range effects {
		if e.Kind == gen.DoContribute {
			v.By[0] = round.Contribution{Intent: e.Intent, Evidence: e.Evidence, Publication: e.Publication}
		}
	}
	_ = w.gen(n, p, gen.ParentInput{Kind: gen.OnRound, Verdict: round.Decide(&v)})
}

func (w *reuseWorld) ctxRound(n *ReuseState) {
	v := round.View{Ranks: 1}
	v.Phase, v.Committed = n.Ctx.Phase()
	next, effects, err := n.Ctx.Step(ctx.ParentInput{Kind: ctx.OnContribute}, nil)
	if err != nil {
		return
	}
	n.Ctx = next
	for _, e := range effects {
		if e.Kind == ctx.DoContribute {
			v.By[0] = round.Contribution{Intent: e.Intent, Evidence: e.Evidence}
		}
	}
	_ = w.ctx(n, ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Decide(&v)})
}

func (w *reuseWorld) settled(s *ReuseState) bool {
	return s.Net == [2]v2Channel{} && !s.Work && !s.GenWait && !s.CtxWait && s.Next.State() == gen.ParentInFlight
}

func (w *reuseWorld) view(s *ReuseState) (canon.Value, error) {
	look := w.pool.slots[s.Pool][0]
	return canon.Rec(field("attempt_1", canon.Rec(field("GEN", canon.Str(s.Old.State().String())), field("CTX", canon.Str(s.Ctx.State().String())))),
		field("attempt_2", canon.Str(s.Next.State().String())), field("slot", canon.Str(look.state.String())),
		field("generation", canon.Int(int64(look.gen)))), nil
}
