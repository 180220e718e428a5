// Package slot is the pool of staging slots: who owns which slot, in which
// generation, and on what proof it may be used again.
//
// A Pool is a container with one owner. Step checks first and changes after: a
// refused input leaves the pool as it was.
package slot

import (
	"math"
	"strconv"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/wire/native"
)

// State of one slot.
type State uint8

// The slot states. Quarantined slots come back on proof; Retired ones do not come
// back in this process (KS-SLOT-7).
const (
	Free State = iota
	Leased
	Advertised
	InFlight
	Quarantined
	Retired
	numStates
)

// String returns the name that the spec uses.
func (s State) String() string {
	names := [numStates]string{"FREE", "LEASED", "ADVERTISED", "IN_FLIGHT", "QUARANTINED", "RETIRED"}
	if s < numStates {
		return names[s]
	}
	return "INVALID"
}

// Proof says why nobody can touch a slot's memory any more. None proves nothing.
type Proof uint8

// The proofs. Which of them an adaptor can give is its contract's to say
// (KS-BACK-4).
const (
	None Proof = iota
	// NeverAdvertised: no peer was ever told of the slot.
	NeverAdvertised
	// NotStarted: every writer said, before its ready commit, that it posted nothing.
	NotStarted
	// Written: every writer's write has reached final success.
	Written
	// OwnWritesFinal: every write that this process posted from the slot is final.
	OwnWritesFinal
	// WriterDead: the writing process is gone and the contract counts that as quiet.
	WriterDead
	// Settled: a mixture of the others that together covers every writer.
	Settled
	// Quiesced: the source of every edge has said LOCAL_QUIESCED or
	// LOCAL_SOURCE_COMPLETE (bit 49).
	Quiesced
	// NewIncarnation: the holder's own agent was destroyed, so that no address that it
	// advertised can be reached (KS-SLOT-21).
	NewIncarnation
	numProofs
)

// String returns the name in the table of proofs.
func (p Proof) String() string {
	names := [numProofs]string{"none", "never advertised", "not started", "written", "own writes final", "writer dead",
		"settled", "quiesced", "new incarnation"}
	if p < numProofs {
		return names[p]
	}
	return "invalid"
}

// Binding names one lease: pool, slot, generation and buffer kind, with its clean-up
// token (KS-SLOT-12). It is a value; holding one gives no right after the generation
// has moved on.
type Binding struct {
	Pool       uint32
	Slot       uint32
	Generation uint64
	// Token is the clean-up token: the one right to end this lease (KS-SLOT-3).
	Token uint64
	// Buffer is what the slot holds; the same for all slots of a pool.
	Buffer native.BufferKind
}

// Config fixes a pool for its life.
type Config struct {
	ID uint32
	// Buffer is the kind of all slots of the pool.
	Buffer native.BufferKind
	// Slots is the number of slots, 1 to 65,536.
	Slots int
	// Bytes is the size of each slot.
	Bytes uint64
	// Budget is how many slots may be quarantined while the pool stays healthy. A
	// negative value means the default: half of the pool, rounded down, at least 1.
	Budget int
}

// Kind of an Input.
type Kind uint8

// The inputs of a pool.
const (
	// Lease asks for a free slot of at least Need bytes for Owner.
	Lease Kind = iota + 1
	// Advertise: peers are about to be told of the slot.
	Advertise
	// Begin: writes to (GEN) or from (CTX) the slot may now happen.
	Begin
	// Release ends the lease on Proof; Quarantine ends it without.
	Release
	Quarantine
	// Prove returns a quarantined slot.
	Prove
	// Retire takes a quarantined slot out for the life of the process.
	Retire
	// Close refuses all further leases.
	Close
)

// Input of Step. Which fields count depends on Kind.
type Input struct {
	Kind    Kind
	Binding Binding
	Owner   uint64
	Need    uint64
	Proof   Proof
}

// EffectKind of an Effect.
type EffectKind uint8

// The effects of a pool.
const (
	// Granted hands out Binding. Its stamp must be checked before use (KS-SLOT-10).
	Granted EffectKind = iota + 1
	// Freed: the slot is free; stamp it, then wake whoever waits.
	Freed
	// Isolated: the slot is quarantined.
	Isolated
	// OverBudget: the quarantine budget is used up. Emitted once: stop admission, end
	// what is open, exit within unknown_restart_deadline (KS-SLOT-5).
	OverBudget
)

// Effect of Step.
type Effect struct {
	Kind    EffectKind
	Binding Binding
	Owner   uint64
}

type entry struct {
	state State
	gen   uint64
	token uint64
	owner uint64
}

// Pool is the container. Use New; the zero value has no slots.
type Pool struct {
	cfg       Config
	entries   []entry
	counts    [numStates]int
	nextToken uint64
	unhealthy bool
	closed    bool
}

const maxSlots = 1 << 16

// New returns a pool with all slots free in generation 0. It refuses a number of
// slots outside 1 to 65,536 and a slot size of zero.
func New(cfg Config) (*Pool, error) {
	if cfg.Slots < 1 || cfg.Slots > maxSlots {
		return nil, sm.Refuse(sm.BadRequest, reqBounds, "slot pool: slots = "+strconv.Itoa(cfg.Slots)+" is not within 1 to 65536")
	}
	if cfg.Bytes == 0 {
		return nil, sm.Refuse(sm.BadRequest, reqBounds, "slot pool: slot bytes = 0 is not positive")
	}
	if cfg.Budget < 0 {
		cfg.Budget = DefaultBudget(cfg.Slots)
	}
	p := &Pool{cfg: cfg, entries: make([]entry, cfg.Slots)}
	p.counts[Free] = cfg.Slots
	return p, nil
}

// DefaultBudget is half of the pool, rounded down, at least 1.
func DefaultBudget(slots int) int { return max(slots/2, 1) }

// Counts of slots by state class, as reports show them: leased covers LEASED,
// ADVERTISED and IN_FLIGHT; quarantined covers QUARANTINED and RETIRED.
type Counts struct {
	Free        int `json:"free"`
	Leased      int `json:"leased"`
	Quarantined int `json:"quarantined"`
	Total       int `json:"total"`
}

// Counts returns the present numbers.
func (p *Pool) Counts() Counts {
	return Counts{
		Free:        p.counts[Free],
		Leased:      p.counts[Leased] + p.counts[Advertised] + p.counts[InFlight],
		Quarantined: p.counts[Quarantined] + p.counts[Retired],
		Total:       len(p.entries),
	}
}

// Healthy reports whether the pool has stayed within its quarantine budget so far.
// Late proof returns slots, not health: the process is to exit (KS-SLOT-5).
func (p *Pool) Healthy() bool { return !p.unhealthy }

// Bytes is the size of each slot.
func (p *Pool) Bytes() uint64 { return p.cfg.Bytes }

// Slots is the number of slots.
func (p *Pool) Slots() int { return len(p.entries) }

// Look returns state and generation of slot i; ok is false outside the pool.
func (p *Pool) Look(i uint32) (s State, generation uint64, ok bool) {
	if int(i) >= len(p.entries) {
		return 0, 0, false
	}
	return p.entries[i].state, p.entries[i].gen, true
}

// Step applies one input and appends its effects to dst. On an error nothing has
// changed and dst comes back as it was.
func (p *Pool) Step(in Input, dst []Effect) ([]Effect, error) {
	switch in.Kind {
	case Lease:
		return p.lease(in, dst)
	case Close:
		p.closed = true
		return dst, nil
	}
	e, err := p.find(in.Binding)
	if err != nil {
		return dst, err
	}
	switch in.Kind {
	case Advertise:
		return dst, p.move(e, Advertised, Leased)
	case Begin:
		return dst, p.move(e, InFlight, Leased, Advertised)
	case Release:
		return p.release(e, in, dst)
	case Quarantine:
		return p.quarantine(e, in, dst)
	case Prove:
		if e.state != Quarantined {
			return dst, wrong("late proof", e.state)
		}
		if in.Proof == None || in.Proof >= numProofs {
			return dst, sm.Refuse(sm.NoProof, reqLateProof, "late proof without a proof")
		}
		return p.free(e, in, dst), nil
	case Retire:
		return dst, p.move(e, Retired, Quarantined)
	}
	return dst, sm.Refuse(sm.WrongState, reqListed, "slot pool: unknown input")
}

func (p *Pool) lease(in Input, dst []Effect) ([]Effect, error) {
	switch {
	case p.closed:
		return dst, sm.Refuse(sm.PoolClosed, reqShutdown, "lease after admission stopped")
	case p.unhealthy:
		return dst, sm.Refuse(sm.PoolUnhealthy, reqBudget, "lease while the quarantine budget is used up")
	case in.Need > p.cfg.Bytes:
		return dst, sm.Refuse(sm.SlotTooSmall, reqTooLarge, "request larger than a slot")
	case p.nextToken == math.MaxUint64:
		return dst, sm.Refuse(sm.GenerationExhausted, reqGeneration, "clean-up tokens used up")
	}
	for i := range p.entries {
		e := &p.entries[i]
		// A generation never wraps: a slot that has used all of them stays free but unused.
		if e.state != Free || e.gen == math.MaxUint64 {
			continue
		}
		e.gen++
		p.nextToken++
		e.token, e.owner = p.nextToken, in.Owner
		p.set(e, Leased)
		return append(dst, Effect{Granted, p.binding(uint32(i)), in.Owner}), nil
	}
	return dst, sm.Refuse(sm.SlotsExhausted, reqOwner, "no free slot")
}

func (p *Pool) binding(i uint32) Binding {
	e := &p.entries[i]
	return Binding{Pool: p.cfg.ID, Slot: i, Generation: e.gen, Token: e.token, Buffer: p.cfg.Buffer}
}

// find checks that b names the current lease of its slot (KS-SLOT-8). The binding is
// all that selects memory (KS-SLOT-12).
func (p *Pool) find(b Binding) (*entry, error) {
	if b.Pool != p.cfg.ID || b.Buffer != p.cfg.Buffer || int(b.Slot) >= len(p.entries) {
		return nil, sm.Refuse(sm.NotOwner, reqBinding, "binding of another pool")
	}
	e := &p.entries[b.Slot]
	if e.gen != b.Generation {
		return nil, sm.Refuse(sm.StaleGeneration, reqStale, "binding of another generation")
	}
	if e.token != b.Token || e.state == Free || e.state == Retired {
		return nil, sm.Refuse(sm.NotOwner, reqToken, "clean-up token already used or not of this lease")
	}
	return e, nil
}

func (p *Pool) move(e *entry, to State, from ...State) error {
	for _, f := range from {
		if e.state == f {
			p.set(e, to)
			return nil
		}
	}
	return wrong(to.String(), e.state)
}

func (p *Pool) release(e *entry, in Input, dst []Effect) ([]Effect, error) {
	switch e.state {
	case Leased:
		// Nobody was told: the lease alone is proof.
	case Advertised, InFlight:
		if in.Proof == None || in.Proof == NeverAdvertised && e.state == InFlight || in.Proof >= numProofs {
			return dst, sm.Refuse(sm.NoProof, reqProof, "release of a slot that a peer may write, without proof")
		}
	default:
		return dst, wrong("release", e.state)
	}
	return p.free(e, in, dst), nil
}

func (p *Pool) quarantine(e *entry, in Input, dst []Effect) ([]Effect, error) {
	if e.state != Advertised && e.state != InFlight {
		return dst, wrong("quarantine", e.state)
	}
	p.set(e, Quarantined)
	dst = append(dst, Effect{Isolated, in.Binding, e.owner})
	// A pool without a slot left serves nobody, whatever its budget says (KS-SLOT-24).
	if n := p.counts[Quarantined] + p.counts[Retired]; !p.unhealthy && (n > p.cfg.Budget || n == len(p.entries)) {
		p.unhealthy = true
		dst = append(dst, Effect{OverBudget, in.Binding, e.owner})
	}
	return dst, nil
}

// free ends the lease. The token is spent, so a second clean-up is refused.
func (p *Pool) free(e *entry, in Input, dst []Effect) []Effect {
	owner := e.owner
	e.token, e.owner = 0, 0
	p.set(e, Free)
	return append(dst, Effect{Freed, in.Binding, owner})
}

func (p *Pool) set(e *entry, to State) {
	p.counts[e.state]--
	p.counts[to]++
	e.state = to
}

func wrong(what string, s State) error {
	return sm.Refuse(sm.WrongState, reqListed, "slot: "+what+" in state "+s.String())
}
