package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// V2Watch fixes a v2 world under observation: it may follow a rule that is not
// kvsettle's, remembers what a question needs to know of the past, and has the
// question as an invariant. No production code reads one.
type V2Watch struct {
	V2Config
	// rules see every event before it counts.
	rules []watchRule
	// asks are the questions, besides the invariants of v2.
	asks []watchAsk
	// settled replaces what v2 calls settled.
	settled func(w *v2World, s *V2State) bool
}

// watchRule sees an event that leads from s to n, which it may change. It returns
// false for an event that it forbids.
type watchRule func(w *v2World, s *V2Watched, ev Event, n *V2Watched) bool

type watchAsk struct {
	name  string
	reqs  []string
	holds func(w *v2World, s *V2Watched) bool
}

// V2Watched is a state of a watched world.
type V2Watched struct {
	V2State
	// Marks remembers events that the question is about, by bits of its own.
	Marks uint16
}

// Watch is the model of a watched v2 world. Its canonical form is what readers want
// to see, not all of the state; it is never compared with another model.
func Watch(cfg V2Watch) (*Model[V2Watched], error) {
	if len(cfg.Cases) != 1 {
		return nil, sm.Refuse(sm.BadRequest, "KS-RND-1", "watched v2 world: one case")
	}
	base, err := V2(cfg.V2Config)
	if err != nil {
		return nil, err
	}
	pool, err := tabulatePool(slot.Config{Slots: 1, Bytes: 1, Budget: 1}, 1, 1, true)
	if err != nil {
		return nil, err
	}
	w := &v2World{cfg: cfg.V2Config, pool: pool}
	m := &Model[V2Watched]{Name: base.Name, Size: base.Size, Bounds: cfg.Cases[0].bounds(base.Bounds), Actors: base.Actors, Actions: base.Actions}
	for i := range base.Init {
		m.Init = append(m.Init, V2Watched{V2State: base.Init[i]})
	}
	for _, inv := range base.Invariants {
		m.Invariants = append(m.Invariants, Invariant[V2Watched]{inv.Name, inv.Reqs, func(s *V2Watched) bool { return inv.Holds(&s.V2State) }})
	}
	for _, a := range cfg.asks {
		m.Invariants = append(m.Invariants, Invariant[V2Watched]{a.name, a.reqs, func(s *V2Watched) bool { return a.holds(w, s) }})
	}
	m.Settled = func(s *V2Watched) bool { return base.Settled(&s.V2State) }
	if cfg.settled != nil {
		m.Settled = func(s *V2Watched) bool { return base.Settled(&s.V2State) && cfg.settled(w, &s.V2State) }
		// Retention ends by time, and an adaptor reports a dead writer: both are due where
		// the question is how a run ends.
		for _, a := range [...]Action{v2CtxRetire, v2GenRetire, v2GenPeerQuiet} {
			m.Actions[a].Fair = true
		}
	}
	m.Next = func(s *V2Watched, out *Out[V2Watched]) {
		inner, ok := out.scratch.(*Out[V2State])
		if !ok {
			inner = NewOut[V2State](nil)
			out.scratch = inner
		}
		inner.emit = func(ev Event, n *V2State) {
			next := out.From(s)
			next.V2State = *n
			for _, allows := range cfg.rules {
				if !allows(w, s, ev, next) {
					return
				}
			}
			out.Emit(ev.Action, ev.Args[:]...)
		}
		base.Next(&s.V2State, inner)
	}
	m.Canon = func(s *V2Watched) (canon.Value, error) { return w.view(&s.V2State), nil }
	return m, nil
}

// bounds names the ranks of each side in the place of the largest number of both.
func (c *V2Case) bounds(all []Bound) []Bound {
	out := []Bound{{"GEN ranks", c.Gens}, {"CTX ranks", c.Ctxs}}
	for _, b := range all {
		if b.Name != "cases" && b.Name != "ranks" {
			out = append(out, b)
		}
	}
	return out
}

// view is what a reader of a counterexample wants to know of a state.
func (w *v2World) view(s *V2State) canon.Value {
	c := w.at(s)
	// side is one service: its ranks, each with its slot and its edges.
	side := func(down bool, ranks, edges int, state func(i int) string, row func(i int) uint16, edge func(i, j int) string) canon.Value {
		show := func(text string) canon.Value {
			if down {
				return canon.Str("gone")
			}
			return canon.Str(text)
		}
		return seq(ranks, func(i int) canon.Value {
			return canon.Rec(field("state", show(state(i))), field("slot", show(w.pool.slots[row(i)][0].state.String())),
				field("edge", seq(edges, func(j int) canon.Value { return show(edge(i, j)) })))
		})
	}
	gens := side(s.GenDown, c.Gens, c.Ctxs, func(g int) string { return s.Gen[g].State().String() },
		func(g int) uint16 { return s.GenPool[g] }, func(g, k int) string { return s.Gen[g].Edge(uint8(k)).String() })
	ctxs := side(s.CtxDown, c.Ctxs, c.Gens, func(k int) string { return s.Ctx[k].State().String() },
		func(k int) uint16 { return s.CtxPool[k] }, func(k, g int) string { return s.Ctx[k].Edge(uint8(g)).String() })
	return canon.Rec(field("GEN", gens), field("CTX", ctxs),
		field("must_restart", canon.Rec(field("GEN", canon.Bool(w.genMustExit(s))), field("CTX", canon.Bool(w.ctxMustExit(s))))))
}

// restart says whether a service that lives was asked to exit.
func (w *v2World) restart(s *V2State) bool { return w.genMustExit(s) || w.ctxMustExit(s) }

// genUnknownNow says whether some GEN rank ended, or is about to end, UNKNOWN.
func (w *v2World) genUnknownNow(s *V2State) bool {
	for g := range w.at(s).Gens {
		if st := s.Gen[g].State(); st == gen.ParentUnknown || st == gen.ParentUninstalled {
			return true
		}
	}
	return false
}

// owesReceipt says whether a parent has sent a TERMINAL that was not acknowledged.
// Parents do not show this, because no rule of kvsettle but re-sending reads it.
func owesReceipt(parent any) bool {
	v, err := canon.Read(parent)
	if err != nil {
		return false
	}
	list, _ := v.Get("edge")
	for i := range list.Len() {
		_, e := list.At(i)
		told, _ := e.Get("told")
		back, _ := e.Get("receipted")
		if told.Compare(canon.Bool(true)) == 0 && back.Compare(canon.Bool(true)) != 0 {
			return true
		}
	}
	return false
}

// retiredAll: every parent that was ever used has let its metadata go.
func (w *v2World) retiredAll(s *V2State) bool {
	c := w.at(s)
	for g := range c.Gens {
		if !s.GenDown && s.Imported[g] && s.Gen[g].State() != gen.ParentRetired {
			return false
		}
	}
	for k := range c.Ctxs {
		if st := s.Ctx[k].State(); !s.CtxDown && st != ctx.ParentRetired && st != ctx.ParentAbsent {
			return false
		}
	}
	return true
}

// slotsBack: no slot of a GEN that lives is in quarantine.
func (w *v2World) slotsBack(s *V2State) bool {
	for g := range w.at(s).Gens {
		if !s.GenDown && w.pool.slots[s.GenPool[g]][0].state == slot.Quarantined {
			return false
		}
	}
	return true
}
