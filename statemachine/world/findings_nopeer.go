package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// NoPeerConfig fixes the world of D4: CTX has cancelled a ticket that nobody bound,
// and GEN opens it all the same.
type NoPeerConfig struct {
	// Ctxs and Gens are the numbers of ranks, 1 or 2.
	Ctxs, Gens int
	// PerEdge keeps and evicts the answer of each edge by itself.
	PerEdge bool
	// Bad breaks rules of the registries.
	Bad wrong.Rules
}

// NoPeerState is a state of that world.
type NoPeerState struct {
	Gen [2]gen.Parent
	// Cache is the registry that answers for an edge, a row of its table.
	Cache [2][2]uint16
	// Asked: the OPEN of the edge has arrived. Busy: another ticket has ended there.
	Asked, Busy [2][2]bool
}

type noPeerWorld struct {
	cfg   NoPeerConfig
	table *automaton[noPeerIn, noPeerOut]
}

type noPeerUse uint8

const (
	npEnd   noPeerUse = iota // the ticket is published and cancelled before it is bound
	npOther                  // the same with another ticket
	npLook                   // an OPEN of the ticket arrives
)

type noPeerIn struct{ use noPeerUse }

type noPeerOut struct {
	evidence control.Evidence
	refused  bool
}

const (
	npAnswer Action = iota
	npEvict
	npRound
)

var noPeerActions = [...]Info{
	npAnswer: {Name: "AnswerOpen", Fair: true, From: "CTX {ctx}", To: "GEN {gen}", Args: []string{"ctx", "gen", evidenceArg}},
	npEvict:  {Name: "OtherTicketEnds", From: "router", To: "CTX {ctx}", Args: []string{"ctx", "gen"}},
	npRound:  {Name: "GenRound", Fair: true, From: "GEN", To: "GEN"},
}

// NoPeer is the model of D4. Each CTX rank, or each edge, has a registry of its own
// in which the cancelled ticket waits for a late OPEN, and another ticket may take
// its place.
func NoPeer(cfg NoPeerConfig) (*Model[NoPeerState], error) {
	if cfg.Ctxs < 1 || cfg.Ctxs > 2 || cfg.Gens < 1 || cfg.Gens > 2 {
		return nil, sm.Refuse(sm.BadRequest, "KS-REG-19", "no-peer world: 1 or 2 ranks on each side")
	}
	w := &noPeerWorld{cfg: cfg}
	settings := settle.Settings{Admission: 9, Context: 9, Request: 9, Soft: 1, Control: 2, RetryFirst: 1, RetryMax: 1, Queue: 1, Replay: 1, Retention: 9}
	fresh := func() *registry.Tickets {
		t, err := registry.NewTickets(registry.Config{Session: 1, Active: 2, Cache: 1, Settings: settings})
		if err != nil {
			return nil
		}
		return t.WithWrongRules(cfg.Bad)
	}
	ticket := func(n uint64) identity.Ticket {
		return identity.Ticket{RequestID: n, InstanceEpoch: 1, Attempt: n, Direction: identity.CTXToGEN}
	}
	apply := func(t *registry.Tickets, in noPeerIn) (o noPeerOut) {
		n := uint64(1)
		switch in.use {
		case npLook:
			o.evidence = t.Look(&identity.TransferKey{Ticket: ticket(1), GenAttempt: 1}).Evidence
			return o
		case npOther:
			n = 2
		}
		err := t.Publish(ticket(n), uint32(n), 0)
		if err == nil {
			_, err = t.End(ticket(n), &registry.Ending{Kind: registry.NoPeer}, 0, nil)
		}
		o.refused = err != nil
		return o
	}
	alphabet := func(path []past[noPeerIn, noPeerOut]) []noPeerIn {
		ins := []noPeerIn{{npLook}}
		if len(path) == 0 {
			ins = append(ins, noPeerIn{npEnd})
		}
		if len(path) == 1 {
			ins = append(ins, noPeerIn{npOther})
		}
		return ins
	}
	// All that this world asks of a registry is where the two tickets are.
	key := func(t *registry.Tickets) string {
		var text []byte
		for n := range uint64(2) {
			text = append(text, byte('0'+t.Look(&identity.TransferKey{Ticket: ticket(n + 1), GenAttempt: 1}).Where))
		}
		return string(text)
	}
	look := func(t *registry.Tickets) (canon.Value, error) { return canon.Bool(key(t)[0] == '0'), nil }
	var err error
	if w.table, err = tabulate(fresh, key, look, apply, alphabet); err != nil {
		return nil, err
	}
	first, err := w.first()
	if err != nil {
		return nil, err
	}
	return &Model[NoPeerState]{
		Name: "no-peer", Size: "finding", Actors: []string{"router", "GEN", "GEN 1", "GEN 2", "CTX 1", "CTX 2"},
		Bounds:  []Bound{{"CTX ranks", cfg.Ctxs}, {"GEN ranks", cfg.Gens}, {"cache entries", 1}, {"other tickets by cache", 1}},
		Actions: collect(len(noPeerActions), func(i int) Info { return noPeerActions[i] }), Init: []NoPeerState{first},
		Next: w.next, Settled: w.settled, Canon: w.view,
		Invariants: []Invariant[NoPeerState]{{"HarmlessStaysHarmless", []string{"KS-REG-19", "KS-REG-21"}, w.harmless}},
	}, nil
}

// first: every GEN rank has sent its OPENs, and CTX has cancelled the ticket.
func (w *noPeerWorld) first() (s NoPeerState, err error) {
	row, _, _ := w.table.step(0, noPeerIn{npEnd})
	for k := range w.cfg.Ctxs {
		for g := range w.cfg.Gens {
			s.Cache[k][g] = row
		}
	}
	goOn := round.Verdict{Decision: round.GoOn, Row: round.RowAdmit, GenAttempt: 1, AllUnset: true}
	for g := range w.cfg.Gens {
		ins := []gen.ParentInput{{Kind: gen.OnValidate, Value: true, Edges: uint8(w.cfg.Ctxs), Parts: 1}, {Kind: gen.OnGranted},
			{Kind: gen.OnContribute}, {Kind: gen.OnRound, Verdict: goOn}, {Kind: gen.OnPublish}}
		for k := range w.cfg.Ctxs {
			ins = append(ins, gen.ParentInput{Kind: gen.OnSent, Edge: uint8(k)})
		}
		for _, in := range ins {
			if s.Gen[g], _, err = s.Gen[g].Step(in, nil); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

func (w *noPeerWorld) next(s *NoPeerState, out *Out[NoPeerState]) {
	for k := range w.cfg.Ctxs {
		for g := range w.cfg.Gens {
			if !s.Asked[k][g] {
				n := out.From(s)
				n.Asked[k][g] = true
				_, o, _ := w.table.step(s.Cache[k][g], noPeerIn{npLook})
				in := gen.ParentInput{Kind: gen.OnReady, Edge: uint8(k), Match: settle.Exact, Decision: control.DecisionNotReady, Evidence: o.evidence}
				if p, _, err := s.Gen[g].Step(in, nil); err == nil {
					n.Gen[g] = p
				}
				out.Emit(npAnswer, int8(k), int8(g), int8(evidenceIndex(o.evidence)))
			}
			if !s.Busy[k][g] && (w.cfg.PerEdge || g == 0) {
				n := out.From(s)
				for i := range w.cfg.Gens {
					if i == g || !w.cfg.PerEdge {
						n.Cache[k][i], _, _ = w.table.step(s.Cache[k][i], noPeerIn{npOther})
						n.Busy[k][i] = true
					}
				}
				out.Emit(npEvict, int8(k), int8(g))
			}
		}
	}
	n := out.From(s)
	decideGen(n.Gen[:w.cfg.Gens], false)
	if *n != *s {
		out.Emit(npRound)
	}
}

// decideGen holds a round of the given GEN ranks and tells every one the verdict.
func decideGen(ranks []gen.Parent, x49 bool) {
	v := round.View{X49: x49, Ranks: uint8(len(ranks))}
	before := make([]gen.Parent, len(ranks))
	copy(before, ranks)
	for i := range ranks {
		p, effects, err := ranks[i].Step(gen.ParentInput{Kind: gen.OnContribute}, nil)
		if err != nil {
			continue
		}
		ranks[i] = p
		for _, e := range effects {
			if e.Kind == gen.DoContribute {
				v.By[i] = round.Contribution{Intent: e.Intent, Evidence: e.Evidence, Publication: e.Publication}
			}
		}
	}
	for i := range ranks {
		mine := v
		mine.Phase, mine.Committed = ranks[i].Phase()
		if p, _, err := ranks[i].Step(gen.ParentInput{Kind: gen.OnRound, Verdict: round.Decide(&mine)}, nil); err == nil {
			ranks[i] = p
		} else {
			ranks[i] = before[i]
		}
	}
}

// harmless: nothing was ever bound, so nobody ends UNKNOWN.
func (w *noPeerWorld) harmless(s *NoPeerState) bool {
	for g := range w.cfg.Gens {
		if st := s.Gen[g].State(); st == gen.ParentUninstalled || st == gen.ParentUnknown {
			return false
		}
	}
	return true
}

func (w *noPeerWorld) settled(s *NoPeerState) bool {
	for g := range w.cfg.Gens {
		if s.Gen[g].Disposition() == sm.Open {
			return false
		}
	}
	return true
}

func (w *noPeerWorld) view(s *NoPeerState) (canon.Value, error) {
	gens := seq(w.cfg.Gens, func(g int) canon.Value {
		return canon.Rec(field("state", canon.Str(s.Gen[g].State().String())),
			field("edge", seq(w.cfg.Ctxs, func(k int) canon.Value { return canon.Str(s.Gen[g].Edge(uint8(k)).String()) })))
	})
	return canon.Rec(field("GEN", gens), field("evicted", seq(w.cfg.Ctxs, func(k int) canon.Value {
		return seq(w.cfg.Gens, func(g int) canon.Value { return w.table.states[s.Cache[k][g]] })
	}))), nil
}
