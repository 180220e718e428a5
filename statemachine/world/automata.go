package world

import (
	"slices"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

// poolOut is what a pool did with an input.
type poolOut struct {
	refused spec.Reason
	granted slot.Binding // of a lease
	freed   bool
	over    bool // the budget was passed by this step
}

// poolTable is the automaton of a slot pool, with what its rows look like.
type poolTable struct {
	*automaton[slot.Input, poolOut]
	counts  []slot.Counts
	healthy []bool
	slots   [][]slotLook
}

type slotLook struct {
	state slot.State
	gen   uint64
}

// tabulatePool makes the table of a pool that leases at most leases times, to the
// given number of owners. The alphabet holds every input with every binding that is
// in use. A full one has also leases that are too large, retirement and the close of
// the pool.
func tabulatePool(cfg slot.Config, owners, leases int, full bool) (*poolTable, error) {
	if _, err := slot.New(cfg); err != nil {
		return nil, err
	}
	t := &poolTable{}
	fresh := func() *slot.Pool {
		p, _ := slot.New(cfg)
		return p
	}
	look := func(p *slot.Pool) (canon.Value, error) { return canon.Read(p) }
	apply := func(p *slot.Pool, in slot.Input) (o poolOut) {
		var buf [4]slot.Effect
		effects, err := p.Step(in, buf[:0])
		if err != nil {
			o.refused = reasonOf(err)
		}
		for _, e := range effects {
			switch e.Kind {
			case slot.Granted:
				o.granted = e.Binding
			case slot.Freed:
				o.freed = true
			case slot.OverBudget:
				o.over = true
			}
		}
		return o
	}
	alphabet := func(path []past[slot.Input, poolOut]) []slot.Input {
		var held []slot.Binding
		p := fresh()
		for _, step := range path {
			apply(p, step.in)
			if step.out.granted.Token != 0 {
				held = append(held, step.out.granted)
			}
		}
		more := len(held) < leases
		// The alphabet is asked for once per row, in the order of the rows.
		looks := make([]slotLook, cfg.Slots)
		for i := range looks {
			looks[i].state, looks[i].gen, _ = p.Look(uint32(i))
		}
		held = slices.DeleteFunc(held, func(b slot.Binding) bool { return b.Generation != looks[b.Slot].gen })
		t.counts, t.healthy, t.slots = append(t.counts, p.Counts()), append(t.healthy, p.Healthy()), append(t.slots, looks)
		return poolInputs(cfg, owners, more, held, full)
	}
	var err error
	t.automaton, err = tabulate(fresh, whole[*slot.Pool], look, apply, alphabet)
	return t, err
}

func poolInputs(cfg slot.Config, owners int, more bool, held []slot.Binding, full bool) []slot.Input {
	var ins []slot.Input
	if more {
		for o := range owners {
			ins = append(ins, slot.Input{Kind: slot.Lease, Owner: uint64(o) + 1})
		}
	}
	if full {
		ins = append(ins, slot.Input{Kind: slot.Close}, slot.Input{Kind: slot.Lease, Owner: 1, Need: cfg.Bytes + 1})
	}
	for _, b := range held {
		ins = append(ins, slot.Input{Kind: slot.Advertise, Binding: b}, slot.Input{Kind: slot.Begin, Binding: b},
			slot.Input{Kind: slot.Quarantine, Binding: b})
		if full {
			ins = append(ins, slot.Input{Kind: slot.Retire, Binding: b})
		}
		for p := slot.None; p <= slot.Settled; p++ {
			ins = append(ins, slot.Input{Kind: slot.Release, Binding: b, Proof: p}, slot.Input{Kind: slot.Prove, Binding: b, Proof: p})
		}
	}
	return ins
}

func reasonOf(err error) spec.Reason {
	if r, ok := err.(*sm.Refusal); ok {
		return r.Reason
	}
	return "unknown"
}

// tagUse says what a tagIn does.
type tagUse uint8

const (
	holdTag tagUse = iota
	endTag
	freeTag
	ownerOfTag
)

// tagIn is one use of a tag table at time 0 or 1. A tag that is ended at 0 is
// reserved until 1.
type tagIn struct {
	use tagUse
	id  uint64
	now sm.Time
}

type tagOut struct {
	free, live, refused bool
	owner               uint64
}

type tagTable = automaton[tagIn, tagOut]

// tabulateTag makes the table of one 12-bit tag and the ids that share it.
func tabulateTag(ids []uint64) (*tagTable, error) {
	fresh := func() *tag.Table { return new(tag.Table) }
	apply := func(t *tag.Table, in tagIn) (o tagOut) {
		var err error
		switch in.use {
		case holdTag:
			err = t.Hold(in.id, in.now)
		case endTag:
			err = t.End(in.id, in.now+1)
		case freeTag:
			o.free, _ = t.FreeAt(in.id, in.now)
		case ownerOfTag:
			o.owner, o.live = t.Owner(tag.Of(in.id))
		}
		o.refused = err != nil
		return o
	}
	// All that a table of one tag does depends on these answers.
	look := func(t *tag.Table) (canon.Value, error) {
		owner, live := t.Owner(tag.Of(ids[0]))
		free0, _ := t.FreeAt(ids[0], 0)
		free1, _ := t.FreeAt(ids[0], 1)
		return canon.Rec(canon.Field{Name: "owner", Value: canon.Int(int64(owner))},
			canon.Field{Name: "held", Value: canon.Bool(live)},
			canon.Field{Name: "free", Value: canon.Seq(canon.Bool(free0), canon.Bool(free1))}), nil
	}
	alphabet := func([]past[tagIn, tagOut]) []tagIn {
		var ins []tagIn
		for _, id := range ids {
			for use := holdTag; use <= ownerOfTag; use++ {
				ins = append(ins, tagIn{use, id, 0}, tagIn{use, id, 1})
			}
		}
		return ins
	}
	key := func(t *tag.Table) string {
		v, _ := look(t)
		return v.String()
	}
	return tabulate(fresh, key, look, apply, alphabet)
}

// regUse says what a regIn does.
type regUse uint8

const (
	openID regUse = iota
	closeID
	lookID
)

// regIn is one use of a registry.
type regIn struct {
	use       regUse
	id        uint64
	committed bool
}

type regOut struct {
	active, refused bool
	answer          registry.Answer
}

type regTable = automaton[regIn, regOut]

// tabulateRegistry makes the table of CTX's memory of the given ids. The reason
// with which an id is closed is not varied: nothing is decided by it.
func tabulateRegistry(ids []uint64, active, cache int) (*regTable, error) {
	if _, err := registry.New(active, cache, 0); err != nil {
		return nil, err
	}
	fresh := func() *registry.Registry {
		r, _ := registry.New(active, cache, 0)
		return r
	}
	apply := func(r *registry.Registry, in regIn) (o regOut) {
		var err error
		switch in.use {
		case openID:
			err = r.Open(in.id, 0)
		case closeID:
			err = r.Close(in.id, in.committed, sm.ReasonNone, 0)
		case lookID:
			o.active, o.answer, _ = r.Look(in.id)
		}
		o.refused = err != nil
		return o
	}
	look := func(r *registry.Registry) (canon.Value, error) { return canon.Read(r) }
	alphabet := func([]past[regIn, regOut]) []regIn {
		var ins []regIn
		for _, id := range ids {
			ins = append(ins, regIn{openID, id, false}, regIn{closeID, id, false}, regIn{closeID, id, true}, regIn{lookID, id, false})
		}
		return ins
	}
	return tabulate(fresh, whole[*registry.Registry], look, apply, alphabet)
}
