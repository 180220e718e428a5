package world

import (
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/retry"
)

// The actions of the registry model.
const (
	regPublish Action = iota
	regPublishFull
	regGenOpens
	regGenResends
	regGenGivesUp
	regGenDeadline
	regDeliverToCtx
	regDeliverTampered
	regDeliverToGen
	regDrop
	regDuplicate
	regWrite
	regUserCancelGen
	regUserCancelCtx
	regCtxDeadline
	regAge
	regCrashGen
	regCrashCtx
	regRestartCtx
	regEpochChanged
)

const regKindArg = "kind=OPEN|CANCEL|READY|NOT_READY NOT_STARTED|NOT_READY UNKNOWN|TERMINAL UNKNOWN|TERMINAL SOURCE_COMPLETE|sync"

var regActions = []Info{
	regPublish:         {Name: "Publish", Fair: true, From: "CTX", To: "router", Args: []string{"ticket"}},
	regPublishFull:     {Name: "PublishFull", Fair: true, From: "CTX", To: "router", Args: []string{"ticket"}},
	regGenOpens:        {Name: "GenOpens", Fair: true, From: "GEN", To: "network", Args: []string{"ticket"}},
	regGenResends:      {Name: "GenResends", Fair: true, From: "GEN", To: "network", Args: []string{"ticket"}},
	regGenGivesUp:      {Name: "GenGivesUp", Fair: true, From: "GEN", To: "GEN", Args: []string{"ticket"}},
	regGenDeadline:     {Name: "GenDeadline", Fair: true, From: "GEN", To: "GEN", Args: []string{"ticket"}},
	regDeliverToCtx:    {Name: "DeliverToCtx", Fair: true, From: "network", To: "CTX", Args: []string{"ticket", regKindArg}},
	regDeliverTampered: {Name: "DeliverTampered", From: "network", To: "CTX", Args: []string{"ticket", regKindArg}},
	regDeliverToGen:    {Name: "DeliverToGen", Fair: true, From: "network", To: "GEN", Args: []string{"ticket", regKindArg}},
	regDrop:            {Name: "Drop", From: "network", To: "network", Args: []string{"ticket", regKindArg}},
	regDuplicate:       {Name: "Duplicate", From: "network", To: "network", Args: []string{"ticket", regKindArg}},
	regWrite:           {Name: "Write", Fair: true, From: "CTX", To: "GEN", Args: []string{"ticket"}},
	regUserCancelGen:   {Name: "UserCancelGen", From: "router", To: "GEN", Args: []string{"ticket"}},
	regUserCancelCtx:   {Name: "UserCancelCtx", From: "router", To: "CTX", Args: []string{"ticket"}},
	regCtxDeadline:     {Name: "CtxDeadline", Fair: true, From: "CTX", To: "CTX", Args: []string{"ticket"}},
	regAge:             {Name: "Age", From: "CTX", To: "CTX"},
	regCrashGen:        {Name: "CrashGen", From: "GEN", To: "GEN"},
	regCrashCtx:        {Name: "CrashCtx", From: "CTX", To: "CTX"},
	regRestartCtx:      {Name: "RestartCtx", Fair: true, From: "CTX", To: "CTX"},
	regEpochChanged:    {Name: "EpochChanged", Fair: true, From: "network", To: "CTX", Args: []string{"ticket"}},
}

func (w *regWorld) next(s *RegistryState, out *Out[RegistryState]) {
	for t := range uint8(w.at(s).Tickets) {
		if !s.GenDown {
			w.nextGen(s, t, out)
		}
		if !s.CtxDown {
			w.nextCtx(s, t, out)
		}
		for kind := range regKinds {
			if s.Net[0]&regBit(kind, t) != 0 {
				w.nextMessage(s, kind, t, out)
			}
		}
	}
	w.nextServices(s, out)
}

func (w *regWorld) nextGen(s *RegistryState, t uint8, out *Out[RegistryState]) {
	g := &s.Gen[t]
	a := int8(t)
	if g.State == regHeld && s.Given[t] == 1 {
		n := out.From(s)
		n.Gen[t].State = regOpening
		w.wire(n, t, retry.Input{Kind: retry.Start, ID: 1})
		out.Emit(regGenOpens, a)
	}
	switch {
	case g.Wire.State() == retry.Waiting:
		n := out.From(s)
		w.wire(n, t, retry.Input{Kind: retry.Due, Now: w.at(s).due(&g.Wire)})
		out.Emit(regGenResends, a)
	case g.Wire.State() == retry.Last && !w.cfg.Wrong.NeverExhaust:
		n := out.From(s)
		if w.wire(n, t, retry.Input{Kind: retry.Due, Now: w.at(s).due(&g.Wire)}) {
			n.Gen[t].State = regEndUnknown
		}
		out.Emit(regGenGivesUp, a)
	}
	if g.State == regInFlight {
		out.From(s).Gen[t].State = regEndUnknown
		out.Emit(regGenDeadline, a)
	}
	if s.Left.CancelGen > 0 && s.Given[t] == 1 && (g.State == regHeld || g.State == regOpening || g.State == regInFlight) {
		n := out.From(s)
		n.Left.CancelGen--
		if g.State == regHeld {
			n.Gen[t].State = regNotStarted // nobody was told
		} else {
			if g.Wire.Open() {
				w.wire(n, t, retry.Input{Kind: retry.Stop})
			}
			n.Gen[t].State = regCancelling
			w.wire(n, t, retry.Input{Kind: retry.Start, ID: 2})
		}
		out.Emit(regUserCancelGen, a)
	}
}

func (w *regWorld) nextCtx(s *RegistryState, t uint8, out *Out[RegistryState]) {
	a := int8(t)
	if s.Given[t] == 0 && (t == 0 || s.Given[t-1] != 0) {
		n := out.From(s)
		refused := w.use(n, publishTicket, t).refused
		n.Given[t] = 1
		if refused && !w.cfg.Wrong.PublishFull {
			n.Given[t] = 2
		}
		if refused {
			out.Emit(regPublishFull, a)
		} else {
			out.Emit(regPublish, a)
		}
	}
	l := w.look(s, t)
	active := l.where == "active"
	if active && l.bound && !s.Wrote[t] || w.cfg.Wrong.WriteUnbound && active && !s.Wrote[t] {
		n := out.From(s)
		n.Wrote[t] = true
		w.put(n, regSync, t)
		w.use(n, endComplete, t)
		out.Emit(regWrite, a)
	}
	if active && s.Left.CancelCtx > 0 {
		n := out.From(s)
		n.Left.CancelCtx--
		w.endActive(n, t)
		out.Emit(regUserCancelCtx, a)
	}
	if active && l.since >= 1 {
		n := out.From(s)
		x := w.use(n, expireTickets, 0)
		switch {
		case x.expired != t+1:
		case x.verdict == registry.ToCancel:
			w.use(n, endNoPeer, t)
		default:
			w.use(n, endUnknown, t)
		}
		out.Emit(regCtxDeadline, a)
	}
	if active && l.bound && s.GenDown {
		w.use(out.From(s), endUnknown, t)
		out.Emit(regEpochChanged, a)
	}
}

// endActive ends an attempt of CTX before its data is complete.
func (w *regWorld) endActive(n *RegistryState, t uint8) {
	if w.look(n, t).bound {
		w.use(n, endUnknown, t)
		return
	}
	w.use(n, endNoPeer, t)
}

func (w *regWorld) nextMessage(s *RegistryState, kind, t uint8, out *Out[RegistryState]) {
	a, b, bit := int8(t), int8(kind), regBit(kind, t)
	take := func() *RegistryState {
		n := out.From(s)
		if n.Net[1]&bit != 0 {
			n.Net[1] &^= bit
		} else {
			n.Net[0] &^= bit
		}
		return n
	}
	n := take()
	if kind >= regReady {
		w.genHears(n, kind, t)
		out.Emit(regDeliverToGen, a, b)
	} else {
		w.ctxHears(n, kind, t, false)
		out.Emit(regDeliverToCtx, a, b)
		if s.Left.Tampers > 0 {
			n := take()
			n.Left.Tampers--
			w.ctxHears(n, kind, t, true)
			out.Emit(regDeliverTampered, a, b)
		}
	}
	if s.Left.Drops > 0 {
		take().Left.Drops--
		out.Emit(regDrop, a, b)
	}
	if s.Left.Dups > 0 && s.Net[1]&bit == 0 {
		n := out.From(s)
		n.Left.Dups--
		n.Net[1] |= bit
		out.Emit(regDuplicate, a, b)
	}
}

// quiet: no message is on its way and nobody waits for one. Only then a control
// lifetime can pass.
func (w *regWorld) quiet(s *RegistryState) bool {
	for t := range w.at(s).Tickets {
		if s.Gen[t].Wire.Open() && !s.GenDown {
			return false
		}
	}
	return s.Net[0] == 0
}

func (w *regWorld) nextServices(s *RegistryState, out *Out[RegistryState]) {
	if !s.CtxDown && s.Left.Ages > 0 && w.quiet(s) {
		n := out.From(s)
		n.Left.Ages--
		w.use(n, ageBook, 0)
		out.Emit(regAge)
	}
	if s.Left.Crashes > 0 && !s.GenDown {
		n := out.From(s)
		n.Left.Crashes--
		n.GenDown = true
		n.Gen = [regTickets]RegistryGen{}
		n.clear(regReady, regKinds)
		out.Emit(regCrashGen)
	}
	if s.Left.Crashes > 0 && !s.CtxDown {
		n := out.From(s)
		n.Left.Crashes--
		n.CtxDown = true
		n.Book, n.Window = 0, [regTickets]uint16{}
		n.clear(regOpen, regReady)
		out.Emit(regCrashCtx)
	}
	if s.CtxDown && s.Restarts == 0 {
		n := out.From(s)
		n.CtxDown = false
		n.Restarts++
		out.Emit(regRestartCtx)
	}
}

// clear drops the messages of some kinds.
func (s *RegistryState) clear(from, below uint8) {
	for kind := from; kind < below; kind++ {
		for t := range uint8(regTickets) {
			s.Net[0] &^= regBit(kind, t)
			s.Net[1] &^= regBit(kind, t)
		}
	}
}

func (w *regWorld) every(s *RegistryState, f func(t uint8) bool) bool {
	for t := range uint8(w.at(s).Tickets) {
		if !f(t) {
			return false
		}
	}
	return true
}

func (w *regWorld) invariants() []Invariant[RegistryState] {
	all := func(f func(s *RegistryState, t uint8) bool) func(*RegistryState) bool {
		return func(s *RegistryState) bool { return w.every(s, func(t uint8) bool { return f(s, t) }) }
	}
	said := func(s *RegistryState, t, kind uint8) bool { return s.Said[t]>>(kind-regReady)&1 != 0 }
	return []Invariant[RegistryState]{
		{"AllowList", []string{"KS-REG-1"}, all(func(s *RegistryState, t uint8) bool {
			return !s.Wrote[t] && !said(s, t, regReady) || s.Bound[t] > 0
		})},
		{"BoundOnce", []string{"KS-REG-12", "KS-REG-20"}, all(func(s *RegistryState, t uint8) bool { return s.Bound[t] <= 1 })},
		{"NotStartedIsTrue", []string{"KS-REG-19", "KS-REG-7"}, all(func(s *RegistryState, t uint8) bool {
			return !s.Wrote[t] || !said(s, t, regRefusal) && s.Gen[t].State != regNotStarted
		})},
		{"OneAnswer", []string{"KS-REG-12", "KS-REG-19"}, all(func(s *RegistryState, t uint8) bool { return !said(s, t, regReady) || !said(s, t, regRefusal) })},
		{"CompletedHasData", []string{"KS-SET-3"}, all(func(s *RegistryState, t uint8) bool { return s.Gen[t].State != regDone || s.Wrote[t] })},
		{"Bounded", []string{"KS-REG-2", "KS-REG-6"}, w.bounded},
		{"AnswersKept", []string{"KS-REG-6"}, func(s *RegistryState) bool { return !s.Early }},
		{"FullExposesNothing", []string{"KS-REG-2"}, w.fullExposesNothing},
		{"WindowsEnd", []string{"KS-REG-8", "KS-TIME-18"}, all(func(s *RegistryState, t uint8) bool {
			return w.look(s, t).where != "nowhere" || s.Window[t] == 0 || !w.known(s.Window[t])
		})},
		{"FreshStart", []string{"KS-REG-17"}, all(func(s *RegistryState, t uint8) bool {
			return !s.CtxDown || w.look(s, t).where == "nowhere"
		})},
	}
}

func (w *regWorld) known(row uint16) bool {
	v, _ := w.window.states[row].Get("known")
	return v.Compare(canon.Bool(true)) == 0
}

func (w *regWorld) bounded(s *RegistryState) bool {
	active, cached := 0, 0
	w.every(s, func(t uint8) bool {
		switch w.look(s, t).where {
		case "active", "waiting":
			active++
		case "cache":
			cached++
		}
		return true
	})
	return active <= 1 && cached <= 1
}

// fullExposesNothing: at most one published ticket is live, and a refused one is
// known to nobody.
func (w *regWorld) fullExposesNothing(s *RegistryState) bool {
	return w.every(s, func(t uint8) bool {
		refused := s.Given[t] == 2 && (s.Gen[t].State != regHeld || s.Said[t] != 0)
		unknown := s.Given[t] == 1 && s.Restarts == 0 && !s.CtxDown && s.Bound[t] == 0 && w.look(s, t).where == "nowhere" && s.Left == w.at(s).Faults && w.young(s)
		return !refused && !unknown
	})
}

// young: no lifetime has passed.
func (w *regWorld) young(s *RegistryState) bool {
	return w.every(s, func(t uint8) bool { l := w.look(s, t); return l.since == 0 && l.idle == 0 })
}

// settled: GEN waits for nothing, and no message is on its way.
func (w *regWorld) settled(s *RegistryState) bool {
	if s.Net[0] != 0 || s.CtxDown && s.Restarts == 0 {
		return false
	}
	return w.every(s, func(t uint8) bool {
		if l := w.look(s, t); !s.CtxDown && l.where == "active" && l.bound || !s.CtxDown && s.Given[t] == 0 {
			return false
		}
		switch s.Gen[t].State {
		case regHeld:
			return s.GenDown || s.Given[t] != 1
		case regDone, regNotStarted, regEndUnknown:
			return true
		}
		return false
	})
}

func (w *regWorld) canon(s *RegistryState) (canon.Value, error) {
	c := w.at(s)
	var errs error
	by := func(f func(t uint8) canon.Value) canon.Value {
		return seq(c.Tickets, func(i int) canon.Value { return f(uint8(i)) })
	}
	num := func(n uint8) canon.Value { return canon.Int(int64(n)) }
	var net []canon.Value
	for kind := range regKinds {
		for t := range uint8(regTickets) {
			n := 0
			for i := range s.Net {
				if s.Net[i]&regBit(kind, t) != 0 {
					n++
				}
			}
			if n > 0 {
				net = append(net, canon.Rec(field("kind", canon.Str(regKindNames[kind])), field("ticket", canon.Int(int64(t)+1)), field("n", canon.Int(int64(n)))))
			}
		}
	}
	wire := func(e *retry.Exchange) canon.Value {
		f := canon.Open(e)
		v := canon.Rec(field("state", canon.Str(retry.State(f.Int("state")).String())), field("resends", f.Take("step")), field("id", f.Take("id")))
		f.Leave("next", "end", "bad")
		if err := f.Err(); err != nil {
			errs = err
		}
		return v
	}
	v := canon.Rec(
		field("case", canon.Int(int64(s.Case)+1)),
		field("given", by(func(t uint8) canon.Value { return canon.Str(regGivenNames[s.Given[t]]) })),
		field("gen", by(func(t uint8) canon.Value {
			g := &s.Gen[t]
			return canon.Rec(field("state", canon.Str(regGenNames[g.State])), field("arrived", canon.Bool(g.Arrived)), field("wire", wire(&g.Wire)))
		})),
		field("book", w.books[s.Case].states[s.Book]),
		field("window", by(func(t uint8) canon.Value { return w.window.states[s.Window[t]] })),
		field("net", canon.Set(net...)),
		field("bound", by(func(t uint8) canon.Value { return num(s.Bound[t]) })),
		field("wrote", by(func(t uint8) canon.Value { return canon.Bool(s.Wrote[t]) })),
		field("said", by(func(t uint8) canon.Value {
			var list []canon.Value
			for kind := regReady; kind < regSync; kind++ {
				if s.Said[t]>>(kind-regReady)&1 != 0 {
					list = append(list, canon.Str(regKindNames[kind]))
				}
			}
			return canon.Set(list...)
		})),
		field("ctxDown", canon.Bool(s.CtxDown)), field("genDown", canon.Bool(s.GenDown)), field("restarts", num(s.Restarts)),
		field("early", canon.Bool(s.Early)),
		field("left", canon.Rec(field("drops", num(s.Left.Drops)), field("dups", num(s.Left.Dups)), field("tampers", num(s.Left.Tampers)),
			field("cancelGen", num(s.Left.CancelGen)), field("cancelCtx", num(s.Left.CancelCtx)), field("crashes", num(s.Left.Crashes)), field("ages", num(s.Left.Ages)))),
	)
	return v, errs
}
