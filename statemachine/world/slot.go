package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// slotOwners is the greatest number of attempts of a slot world.
const slotOwners = 3

// SlotConfig fixes a slot model: a pool, and attempts that each lease one slot once.
type SlotConfig struct {
	Size string
	// Slots and Budget are the pool's; Owners is the number of attempts, 1 to 3.
	Slots, Budget, Owners int
	// Stales is how often somebody uses a binding that has ended.
	Stales uint8
	// Closes says that the pool may be closed.
	Closes bool
	// Wrong breaks rules on purpose. Its zero value is right; no size sets it.
	Wrong SlotWrong
}

// SlotWrong names the rules of a slot world that can be broken.
type SlotWrong struct {
	// TrustTimeout gives a proof that nobody has.
	TrustTimeout bool
	// TrustRelease proves a slot by the release of a handle.
	TrustRelease bool
	// IgnoreBudget builds the pool with a larger budget.
	IgnoreBudget bool
	// KeepQuiet never gives a proof, and never retires a slot.
	KeepQuiet bool
	// ForgetToken uses one clean-up token twice.
	ForgetToken bool
	// LoseLease ends an attempt without a word to the pool.
	LoseLease bool
	// OneForAll gives the lease of the first attempt to every other one.
	OneForAll bool
}

// The states of the peer that may write into a leased slot.
const (
	peerUntold uint8 = iota
	// peerTold may begin to write at any moment.
	peerTold
	peerWrites
	// peerDone: its write has ended. peerNever: it said that it never will write.
	peerDone
	peerNever
	// peerDead: it is gone, and the contract counts that as quiet.
	peerDead
)

var peerNames = [...]string{"untold", "told", "writes", "done", "never", "dead"}

// SlotState is a state of a slot world.
//
// As TLA+ variables: pool; lease (from attempts to bindings); phase (from attempts
// to "new", "held", "gone"); peer (from attempts to what the peer does); last
// (generations); stale, odd, closed.
type SlotState struct {
	Pool  uint16
	Lease [slotOwners]slotLease
	Phase [slotOwners]uint8
	Peer  [slotOwners]uint8
	// Odd says that the pool did what it must not: it took a stale binding, freed
	// without proof, leased beyond its budget, or refused what is right.
	Odd    bool
	Closed bool
	Stales uint8
}

type slotLease struct{ Slot, Gen, Token uint8 }

func (l slotLease) binding() slot.Binding {
	return slot.Binding{Slot: uint32(l.Slot), Generation: uint64(l.Gen), Token: uint64(l.Token)}
}

// The phases of an attempt.
const (
	ownerNew uint8 = iota
	ownerHolds
	ownerGone
)

var phaseNames = [...]string{"new", "held", "gone"}

type slotWorld struct {
	cfg  SlotConfig
	pool *poolTable
}

// SlotSize returns the configuration with that name.
func SlotSize(size string) (SlotConfig, bool) {
	switch size {
	case "small":
		return SlotConfig{Size: size, Slots: 1, Budget: 1, Owners: 2, Stales: 1, Closes: true}, true
	case "medium":
		return SlotConfig{Size: size, Slots: 2, Budget: 1, Owners: 3, Stales: 1, Closes: true}, true
	case "large":
		return SlotConfig{Size: size, Slots: 3, Budget: 1, Owners: 3, Stales: 1, Closes: true}, true
	}
	return SlotConfig{}, false
}

// The actions of the slot model.
const (
	slotLeaseIt Action = iota
	slotAdvertise
	slotBegin
	slotPeerWrites
	slotPeerEnds
	slotPeerRefuses
	slotPeerDies
	slotRelease
	slotReleaseUnproven
	slotQuarantine
	slotProve
	slotProveUnproven
	slotRetire
	slotStale
	slotClose
	slotLeaseRefused
)

var slotActions = []Info{
	slotLeaseIt:         {Name: "Lease", From: "attempt {owner}", To: "pool", Args: []string{"owner"}},
	slotAdvertise:       {Name: "Advertise", From: "attempt {owner}", To: "peer", Args: []string{"owner"}},
	slotBegin:           {Name: "Begin", From: "attempt {owner}", To: "pool", Args: []string{"owner"}},
	slotPeerWrites:      {Name: "PeerWrites", From: "peer", To: "pool", Args: []string{"owner"}},
	slotPeerEnds:        {Name: "PeerEnds", Fair: true, From: "peer", To: "attempt {owner}", Args: []string{"owner"}},
	slotPeerRefuses:     {Name: "PeerRefuses", From: "peer", To: "attempt {owner}", Args: []string{"owner"}},
	slotPeerDies:        {Name: "PeerDies", Fair: true, From: "peer", To: "attempt {owner}", Args: []string{"owner"}},
	slotRelease:         {Name: "Release", Fair: true, From: "attempt {owner}", To: "pool", Args: []string{"owner"}},
	slotReleaseUnproven: {Name: "ReleaseUnproven", From: "attempt {owner}", To: "pool", Args: []string{"owner"}},
	slotQuarantine:      {Name: "Quarantine", From: "attempt {owner}", To: "pool", Args: []string{"owner"}},
	slotProve:           {Name: "Prove", Fair: true, From: "attempt {owner}", To: "pool", Args: []string{"owner"}},
	slotProveUnproven:   {Name: "ProveUnproven", From: "attempt {owner}", To: "pool", Args: []string{"owner"}},
	slotRetire:          {Name: "Retire", From: "attempt {owner}", To: "pool", Args: []string{"owner"}},
	slotStale:           {Name: "StaleUse", From: "attempt {owner}", To: "pool", Args: []string{"owner", "use=Advertise|Begin|Release|Quarantine|Prove|Retire"}},
	slotClose:           {Name: "Close", From: "router", To: "pool"},
	slotLeaseRefused:    {Name: "LeaseRefused", From: "attempt {owner}", To: "pool", Args: []string{"owner"}},
}

// Slot is the model of one slot pool with attempts that lease, advertise, release
// and quarantine, and peers that write when they were told of a slot.
func Slot(cfg SlotConfig) (*Model[SlotState], error) {
	if cfg.Owners < 1 || cfg.Owners > slotOwners {
		return nil, sm.Refuse(sm.BadRequest, "KS-SLOT-2", "slot world: 1 to 3 attempts")
	}
	budget := cfg.Budget
	if cfg.Wrong.IgnoreBudget {
		budget = cfg.Slots
	}
	pool, err := tabulatePool(slot.Config{Slots: cfg.Slots, Bytes: 1, Budget: budget}, cfg.Owners, cfg.Owners, true)
	if err != nil {
		return nil, err
	}
	w := &slotWorld{cfg: cfg, pool: pool}
	closes := 0
	if cfg.Closes {
		closes = 1
	}
	return &Model[SlotState]{
		Name: "slot", Size: cfg.Size, Actors: []string{"router", "attempt 1", "attempt 2", "attempt 3", "pool", "peer"},
		Bounds:  []Bound{{"slots", cfg.Slots}, {"budget", cfg.Budget}, {"attempts", cfg.Owners}, {"stale use", int(cfg.Stales)}, {"close", closes}},
		Actions: slotActions, Init: []SlotState{{Stales: cfg.Stales}}, Next: w.next, Settled: w.settled, Canon: w.canon,
		Invariants: []Invariant[SlotState]{
			{"NoWriteIntoFreeSlot", []string{"KS-SLOT-4", "KS-SLOT-6"}, w.noWriteIntoFreeSlot},
			{"PoolBehaves", []string{"KS-SLOT-3", "KS-SLOT-5", "KS-SLOT-7", "KS-SLOT-8", "KS-SLOT-25"}, func(s *SlotState) bool { return !s.Odd }},
			{"OneOwner", []string{"KS-SLOT-2"}, w.oneOwner},
			{"SlotsAddUp", []string{"KS-SLOT-27"}, w.slotsAddUp},
			{"BudgetStopsAdmission", []string{"KS-SLOT-5", "KS-SLOT-24"}, w.budgetStopsAdmission},
		},
		Leaves: []string{"slot.Pool: cfg (constant), counts (sums over entries)"},
	}, nil
}

// quiet is the proof that the peer of attempt o gives, None while it gives none.
func quiet(peer uint8) slot.Proof {
	switch peer {
	case peerUntold:
		return slot.NeverAdvertised
	case peerDone:
		return slot.Written
	case peerNever:
		return slot.NotStarted
	case peerDead:
		return slot.WriterDead
	}
	return slot.None
}

func (w *slotWorld) next(s *SlotState, out *Out[SlotState]) {
	for o := range w.cfg.Owners {
		w.nextOwner(s, o, out)
	}
	if w.cfg.Closes && !s.Closed {
		n := out.From(s)
		n.Closed = true
		w.step(n, slot.Input{Kind: slot.Close}, false)
		out.Emit(slotClose)
	}
}

// step does one thing to the pool; it is odd when the pool refuses what it must
// take, or takes what it must refuse.
func (w *slotWorld) step(n *SlotState, in slot.Input, refuse bool) poolOut {
	before := n.Pool
	next, out, ok := w.pool.step(n.Pool, in)
	n.Pool = next
	if !ok || refuse != (out.refused != "") || refuse && next != before {
		n.Odd = true
	}
	return out
}

func (w *slotWorld) nextOwner(s *SlotState, o int, out *Out[SlotState]) {
	a := int8(o)
	lease := s.Lease[o].binding()
	state := slot.Free
	if s.Phase[o] == ownerHolds {
		state = w.pool.slots[s.Pool][s.Lease[o].Slot].state
	}
	do := func(action Action, in slot.Input, refuse bool, change func(*SlotState)) {
		n := out.From(s)
		in.Binding = lease
		w.step(n, in, refuse)
		if change != nil {
			change(n)
		}
		out.Emit(action, a)
	}
	switch s.Phase[o] {
	case ownerNew:
		w.nextLease(s, o, out)
		return
	case ownerGone:
		if s.Stales > 0 {
			for i, kind := range staleUses {
				n := out.From(s)
				n.Stales--
				in := slot.Input{Kind: kind, Binding: lease}
				if kind == slot.Release || kind == slot.Prove {
					in.Proof = slot.Settled
				}
				w.step(n, in, true)
				out.Emit(slotStale, a, int8(i))
			}
		}
		return
	}
	proof := quiet(s.Peer[o])
	if w.cfg.Wrong.TrustTimeout && s.Peer[o] != peerUntold {
		proof = slot.Settled
	}
	if w.cfg.Wrong.TrustRelease && s.Peer[o] == peerWrites {
		proof = slot.OwnWritesFinal
	}
	if w.cfg.Wrong.LoseLease {
		out.From(s).Phase[o] = ownerGone
		out.Emit(slotRelease, a)
	}
	free := func(n *SlotState) {
		if w.cfg.Wrong.ForgetToken {
			w.step(n, slot.Input{Kind: slot.Release, Binding: lease, Proof: slot.Settled}, false)
		}
		n.Phase[o] = ownerGone
	}
	switch state {
	case slot.Leased:
		do(slotAdvertise, slot.Input{Kind: slot.Advertise}, false, func(n *SlotState) { n.Peer[o] = peerTold })
		do(slotRelease, slot.Input{Kind: slot.Release, Proof: slot.NeverAdvertised}, false, free)
		do(slotProveUnproven, slot.Input{Kind: slot.Prove, Proof: slot.Settled}, true, nil)
	case slot.Advertised, slot.InFlight:
		if state == slot.Advertised {
			do(slotBegin, slot.Input{Kind: slot.Begin}, false, nil)
		}
		do(slotReleaseUnproven, slot.Input{Kind: slot.Release}, true, nil)
		if proof != slot.None {
			do(slotRelease, slot.Input{Kind: slot.Release, Proof: proof}, false, free)
		} else {
			do(slotQuarantine, slot.Input{Kind: slot.Quarantine}, false, nil)
		}
	case slot.Quarantined:
		do(slotProveUnproven, slot.Input{Kind: slot.Prove}, true, nil)
		if w.cfg.Wrong.KeepQuiet {
			return
		}
		if proof != slot.None {
			do(slotProve, slot.Input{Kind: slot.Prove, Proof: proof}, false, free)
		}
		do(slotRetire, slot.Input{Kind: slot.Retire}, false, func(n *SlotState) { n.Phase[o] = ownerGone })
	}
	w.nextPeer(s, o, out)
}

var staleUses = [...]slot.Kind{slot.Advertise, slot.Begin, slot.Release, slot.Quarantine, slot.Prove, slot.Retire}

func (w *slotWorld) nextLease(s *SlotState, o int, out *Out[SlotState]) {
	n := out.From(s)
	free := w.pool.counts[s.Pool].Free > 0 && w.pool.healthy[s.Pool] && !s.Closed
	// A pool that leases against this condition is odd, and so is one that refuses.
	got := w.step(n, slot.Input{Kind: slot.Lease, Owner: uint64(o) + 1}, !free)
	if !free {
		out.Emit(slotLeaseRefused, int8(o))
		return
	}
	b := got.granted
	before := w.pool.slots[s.Pool][b.Slot]
	n.Odd = n.Odd || b.Generation <= before.gen || before.state != slot.Free
	n.Lease[o] = slotLease{uint8(b.Slot), uint8(b.Generation), uint8(b.Token)}
	n.Phase[o] = ownerHolds
	if w.cfg.Wrong.OneForAll && s.Phase[0] == ownerHolds {
		n.Lease[o] = s.Lease[0]
	}
	out.Emit(slotLeaseIt, int8(o))
}

func (w *slotWorld) nextPeer(s *SlotState, o int, out *Out[SlotState]) {
	to := func(action Action, peer uint8) {
		out.From(s).Peer[o] = peer
		out.Emit(action, int8(o))
	}
	switch s.Peer[o] {
	case peerTold:
		to(slotPeerWrites, peerWrites)
		to(slotPeerRefuses, peerNever)
		to(slotPeerDies, peerDead)
	case peerWrites:
		to(slotPeerEnds, peerDone)
		to(slotPeerDies, peerDead)
	}
}

// mayWrite says whether the peer of attempt o can still write into the slot that it
// was told of. A retired slot belongs to nobody, so a write there harms nobody.
func (w *slotWorld) mayWrite(s *SlotState, o int) bool {
	return s.Peer[o] == peerTold || s.Peer[o] == peerWrites
}

func (w *slotWorld) noWriteIntoFreeSlot(s *SlotState) bool {
	for o := range w.cfg.Owners {
		if !w.mayWrite(s, o) {
			continue
		}
		look := w.pool.slots[s.Pool][s.Lease[o].Slot]
		if look.gen != uint64(s.Lease[o].Gen) || look.state == slot.Free || look.state == slot.Leased {
			return false
		}
	}
	return true
}

func (w *slotWorld) oneOwner(s *SlotState) bool {
	for o := range w.cfg.Owners {
		for p := range o {
			if s.Phase[o] == ownerHolds && s.Phase[p] == ownerHolds && s.Lease[o].Slot == s.Lease[p].Slot {
				return false
			}
		}
	}
	return true
}

func (w *slotWorld) slotsAddUp(s *SlotState) bool {
	held := 0
	for o := range w.cfg.Owners {
		if s.Phase[o] == ownerHolds {
			held++
		}
	}
	n, retired := w.pool.counts[s.Pool], 0
	for _, l := range w.pool.slots[s.Pool] {
		if l.state == slot.Retired {
			retired++
		}
	}
	return n.Free+n.Leased+n.Quarantined == n.Total && n.Total-n.Free-retired == held
}

func (w *slotWorld) budgetStopsAdmission(s *SlotState) bool {
	return w.pool.counts[s.Pool].Quarantined <= w.cfg.Budget || !w.pool.healthy[s.Pool]
}

// settled: no slot is in the hands of an attempt.
func (w *slotWorld) settled(s *SlotState) bool {
	for o := range w.cfg.Owners {
		if s.Phase[o] == ownerHolds {
			return false
		}
	}
	return true
}

func (w *slotWorld) canon(s *SlotState) (canon.Value, error) {
	pool, err := poolValue(w.pool.states[s.Pool])
	by := func(f func(o int) canon.Value) canon.Value { return seq(w.cfg.Owners, f) }
	num := func(n uint8) canon.Value { return canon.Int(int64(n)) }
	return canon.Rec(field("pool", pool),
		field("lease", by(func(o int) canon.Value {
			return canon.Rec(field("slot", num(s.Lease[o].Slot)), field("gen", num(s.Lease[o].Gen)), field("token", num(s.Lease[o].Token)))
		})),
		field("phase", by(func(o int) canon.Value { return canon.Str(phaseNames[s.Phase[o]]) })),
		field("peer", by(func(o int) canon.Value { return canon.Str(peerNames[s.Peer[o]]) })),
		field("odd", canon.Bool(s.Odd)), field("closed", canon.Bool(s.Closed)), field("stales", num(s.Stales)),
	), err
}
