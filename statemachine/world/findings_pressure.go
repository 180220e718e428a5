package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// The greatest sizes of a PressureConfig.
const (
	pressureReqs = 3
	pressureGens = 2
)

// PressureConfig fixes the world of D10: requests that need an entry of CTX's
// registry, then a slot on every GEN rank.
type PressureConfig struct {
	// Gens is the number of GEN ranks, each with one slot; Requests how many requests
	// there are, Active the limit of CTX's registry.
	Gens, Requests, Active int
	// Losses is how many transfers end in doubt: their slots go into quarantine.
	Losses uint8
	// Deadlines: admission-deadline and context-deadline exist.
	Deadlines bool
	// Restarts: a GEN rank without a slot that serves is ended and begins anew.
	Restarts bool
	// InOrder: tickets are published in order, and every rank leases in that order.
	InOrder bool
}

// The steps of a request.
const (
	prWaiting uint8 = iota
	prPublished
	prRunning
	prDone
	prFailed
)

var pressureSteps = [...]string{"waits for CTX", "published", "running", "done", "failed"}

// PressureState is a state of that world.
type PressureState struct {
	Registry uint16
	Pool     [pressureGens]uint16
	Step     [pressureReqs]uint8
	// Lease is the slot's binding, by rank and request.
	Lease [pressureGens][pressureReqs]slot.Binding
	Left  uint8
}

type pressureUse uint8

const (
	prPublish pressureUse = iota
	prBind
	prSettle
	prExpire
)

type pressureIn struct {
	use pressureUse
	req uint8
}

const (
	prActPublish Action = iota
	prActLease
	prActStart
	prActDone
	prActDoubt
	prActContext
	prActAdmission
	prActRestart
)

var pressureActions = [...]Info{
	prActPublish:   {Name: "CtxPublish", Fair: true, From: "CTX", To: "router", Args: []string{"req"}},
	prActLease:     {Name: "GenLease", Fair: true, From: "router", To: "GEN {gen}", Args: []string{"gen", "req"}},
	prActStart:     {Name: "OpenAndBind", Fair: true, From: "GEN 1", To: "CTX", Args: []string{"req"}},
	prActDone:      {Name: "Completes", Fair: true, From: "CTX", To: "GEN 1", Args: []string{"req"}},
	prActDoubt:     {Name: "EndsInDoubt", From: "CTX", To: "GEN 1", Args: []string{"req"}},
	prActContext:   {Name: "ContextDeadline", Fair: true, From: "CTX", To: "router", Args: []string{"req"}},
	prActAdmission: {Name: "AdmissionDeadline", Fair: true, From: "router", To: "router", Args: []string{"req"}},
	prActRestart:   {Name: "GenRestarts", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
}

type pressureWorld struct {
	cfg   PressureConfig
	table *automaton[pressureIn, bool]
	pool  *poolTable
}

// Pressure is the model of D10. The registry and the pools are those of the
// endpoints; a transfer is one event.
func Pressure(cfg PressureConfig) (*Model[PressureState], error) {
	if cfg.Gens < 1 || cfg.Gens > pressureGens || cfg.Requests < 1 || cfg.Requests > pressureReqs {
		return nil, sm.Refuse(sm.BadRequest, "KS-REG-2", "pressure world: 1 or 2 GEN ranks, 1 to 3 requests")
	}
	w := &pressureWorld{cfg: cfg}
	settings := settle.Settings{Admission: 9, Context: 9, Request: 9, Soft: 1, Control: 2, RetryFirst: 1, RetryMax: 1, Queue: 1, Replay: 1, Retention: 9}
	fresh := func() *registry.Tickets {
		t, _ := registry.NewTickets(registry.Config{Session: 1, Active: cfg.Active, Cache: 8, Settings: settings})
		return t
	}
	apply := func(t *registry.Tickets, in pressureIn) bool {
		n := uint64(in.req) + 1
		k := identity.Ticket{RequestID: n, InstanceEpoch: 1, Attempt: n, Direction: identity.CTXToGEN}
		var err error
		switch in.use {
		case prPublish:
			err = t.Publish(k, uint32(n), 0)
		case prBind:
			err = t.Bind(k, &registry.Attempt{GenAttempt: 1, Count: 1}, 0)
		case prSettle:
			_, err = t.End(k, &registry.Ending{Kind: registry.Settled}, 0, nil)
		case prExpire:
			_, err = t.End(k, &registry.Ending{Kind: registry.NoPeer}, 0, nil)
		}
		return err == nil
	}
	// Tickets differ in their place only, not in when they came there.
	key := func(t *registry.Tickets) string {
		var text []byte
		for r := range cfg.Requests {
			n := uint64(r) + 1
			h := t.Look(&identity.TransferKey{Ticket: identity.Ticket{RequestID: n, InstanceEpoch: 1, Attempt: n, Direction: identity.CTXToGEN}, GenAttempt: 1})
			text = append(text, byte('0'+h.Where), byte('0'+h.Phase))
		}
		return string(text)
	}
	alphabet := func([]past[pressureIn, bool]) []pressureIn {
		var ins []pressureIn
		for r := range uint8(cfg.Requests) {
			for use := prPublish; use <= prExpire; use++ {
				ins = append(ins, pressureIn{use, r})
			}
		}
		return ins
	}
	look := func(t *registry.Tickets) (canon.Value, error) { return canon.Int(int64(t.Counts().Active)), nil }
	var err error
	if w.table, err = tabulate(fresh, key, look, apply, alphabet); err != nil {
		return nil, err
	}
	if w.pool, err = tabulatePool(slot.Config{Slots: 1, Bytes: 1, Budget: 1}, cfg.Requests, cfg.Requests, false); err != nil {
		return nil, err
	}
	return &Model[PressureState]{
		Name: "pressure", Size: "finding", Actors: []string{"router", "GEN 1", "GEN 2", "CTX"},
		Bounds: []Bound{{"GEN ranks", cfg.Gens}, {"slots by rank", 1}, {"requests", cfg.Requests}, {"active-limit", cfg.Active},
			{"transfers in doubt", int(cfg.Losses)}},
		Actions: collect(len(pressureActions), func(i int) Info { return pressureActions[i] }),
		Init:    []PressureState{{Left: cfg.Losses}}, Next: w.next, Settled: w.settled, Canon: w.view,
		Invariants: []Invariant[PressureState]{{"LimitHolds", []string{"KS-REG-2", "KS-REG-3"}, func(s *PressureState) bool {
			n, _ := w.table.states[s.Registry].Int64()
			return n <= int64(cfg.Active)
		}}},
	}, nil
}

// reg does one thing to CTX's registry; false where it refuses.
func (w *pressureWorld) reg(n *PressureState, use pressureUse, r int) bool {
	next, ok, _ := w.table.step(n.Registry, pressureIn{use, uint8(r)})
	if ok {
		n.Registry = next
	}
	return ok
}

func (w *pressureWorld) next(s *PressureState, out *Out[PressureState]) {
	for r := range w.cfg.Requests {
		a := int8(r)
		switch s.Step[r] {
		case prWaiting:
			if n := out.From(s); (!w.cfg.InOrder || r == 0 || s.Step[r-1] != prWaiting) && w.reg(n, prPublish, r) {
				n.Step[r] = prPublished
				out.Emit(prActPublish, a)
			}
			if w.cfg.Deadlines {
				out.From(s).Step[r] = prFailed
				out.Emit(prActAdmission, a)
			}
		case prPublished:
			w.nextPublished(s, r, out)
		case prRunning:
			n := out.From(s)
			w.end(n, r, slot.Release)
			out.Emit(prActDone, a)
			if s.Left > 0 {
				n := out.From(s)
				n.Left--
				w.end(n, r, slot.Quarantine)
				out.Emit(prActDoubt, a)
			}
		}
	}
	for g := range w.cfg.Gens {
		if w.cfg.Restarts && w.pool.slots[s.Pool[g]][0].state == slot.Quarantined {
			n := out.From(s)
			n.Pool[g], n.Lease[g] = 0, [pressureReqs]slot.Binding{}
			out.Emit(prActRestart, int8(g))
		}
	}
}

func (w *pressureWorld) nextPublished(s *PressureState, r int, out *Out[PressureState]) {
	a := int8(r)
	all := true
	for g := range w.cfg.Gens {
		if s.Lease[g][r].Token != 0 {
			continue
		}
		all = false
		if w.cfg.InOrder && w.earlier(s, r, g) {
			continue
		}
		n := out.From(s)
		next, o, ok := w.pool.step(s.Pool[g], slot.Input{Kind: slot.Lease, Owner: uint64(r) + 1})
		if ok && o.refused == "" {
			n.Pool[g], n.Lease[g][r] = next, o.granted
			out.Emit(prActLease, int8(g), a)
		}
	}
	if n := out.From(s); all && w.reg(n, prBind, r) {
		n.Step[r] = prRunning
		for g := range w.cfg.Gens {
			for _, kind := range [...]slot.Kind{slot.Advertise, slot.Begin} {
				n.Pool[g], _, _ = w.pool.step(n.Pool[g], slot.Input{Kind: kind, Binding: n.Lease[g][r]})
			}
		}
		out.Emit(prActStart, a)
	}
	if w.cfg.Deadlines {
		if n := out.From(s); w.reg(n, prExpire, r) {
			n.Step[r] = prFailed
			for g := range w.cfg.Gens {
				w.drop(n, g, r, slot.Release, slot.NeverAdvertised)
			}
			out.Emit(prActContext, a)
		}
	}
}

// earlier says whether a ticket before r may still need the slot of rank g.
func (w *pressureWorld) earlier(s *PressureState, r, g int) bool {
	for q := range r {
		if s.Step[q] <= prPublished && s.Lease[g][q].Token == 0 {
			return true
		}
	}
	return false
}

// end ends a transfer: its slots are freed, or isolated; the ticket has an outcome.
func (w *pressureWorld) end(n *PressureState, r int, kind slot.Kind) {
	n.Step[r] = prDone
	w.reg(n, prSettle, r)
	for g := range w.cfg.Gens {
		if kind == slot.Quarantine {
			n.Pool[g], _, _ = w.pool.step(n.Pool[g], slot.Input{Kind: kind, Binding: n.Lease[g][r]})
			n.Step[r] = prFailed
			continue
		}
		w.drop(n, g, r, kind, slot.Settled)
	}
}

func (w *pressureWorld) drop(n *PressureState, g, r int, kind slot.Kind, p slot.Proof) {
	if b := n.Lease[g][r]; b.Token != 0 {
		n.Pool[g], _, _ = w.pool.step(n.Pool[g], slot.Input{Kind: kind, Binding: b, Proof: p})
		n.Lease[g][r] = slot.Binding{}
	}
}

func (w *pressureWorld) settled(s *PressureState) bool {
	for r := range w.cfg.Requests {
		if s.Step[r] < prDone {
			return false
		}
	}
	return true
}

func (w *pressureWorld) view(s *PressureState) (canon.Value, error) {
	return canon.Rec(field("active", w.table.states[s.Registry]),
		field("slot", seq(w.cfg.Gens, func(g int) canon.Value { return canon.Str(w.pool.slots[s.Pool[g]][0].state.String()) })),
		field("request", seq(w.cfg.Requests, func(r int) canon.Value { return canon.Str(pressureSteps[s.Step[r]]) }))), nil
}
