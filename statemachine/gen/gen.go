// Package gen is GEN's machine of one attempt in the legacy layer and in v1
// (baseline and enabled). A Machine is a value of fixed size; Step returns the
// next one and appends what has to be done to the caller's slice.
//
// The machine decides everything that concerns one request on GEN: when it may
// advertise, what the answers of the CTX ranks mean, how it ends, and on what
// proof its receive slot may be used again.
package gen

import (
	"math/bits"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// MaxEdges is the largest number of CTX ranks one GEN rank can fetch from.
const MaxEdges = 64

// State of the attempt.
type State uint8

// The states. Draining waits, within the control deadline, for proof that a lost
// peer writes no more. Unproven has ended for the user but its slot waits in
// quarantine for proof. Retired has no obligations left.
const (
	Imported State = iota
	Waiting
	Publishing
	RequestSent
	CancelPending
	InFlight
	Scattering
	Draining
	Unproven
	Retired
	numStates
)

// String returns the name that the spec uses.
func (s State) String() string {
	names := [numStates]string{"IMPORTED", "WAITING", "PUBLISHING", "REQUEST_SENT", "CANCEL_PENDING",
		"IN_FLIGHT", "SCATTERING", "DRAINING", "UNPROVEN", "RETIRED"}
	if s < numStates {
		return names[s]
	}
	return "INVALID"
}

// Settings are the bounds of this machine's waits, in nanoseconds, all positive.
type Settings struct {
	// Admission bounds the wait for tag, blocks and slot (KS-TIME-3).
	Admission sm.Time
	// Request bounds the time from the first request sent to verified (KS-TIME-2).
	Request sm.Time
	// Control bounds the wait for proof after a peer was lost (KS-TIME-4).
	Control sm.Time
}

// Kind of an Input.
type Kind uint8

// The inputs.
const (
	// Start admits the attempt. Edges (1 to MaxEdges), CancelBeatsSuccess, ExpectReject
	// and Settings count.
	Start Kind = iota + 1
	// RefusedLocally: negotiation forbids even to ask; Reason says why (bad-request if
	// empty).
	RefusedLocally
	// Nothing: every block is there already, no transfer is needed.
	Nothing
	// Granted: tag, blocks and slot are ours; Binding counts.
	Granted
	// Denied: admission can never succeed (too large, pool closed); Reason counts
	// (bad-request if empty).
	Denied
	// Published: the request of Edge was handed to the transport. PublishError: it
	// definitely was not. PublishDoubt: nobody can say.
	Published
	PublishError
	PublishDoubt
	// Ready is the answer of Edge; Value is its flag.
	Ready
	// Sync: the data of Edge is complete.
	Sync
	// Scattered: post-processing ended and touches the slot no more; Value says whether
	// every byte was right.
	Scattered
	// Cancel is the user's or the service's wish; Reason counts (user-cancel if empty).
	Cancel
	// Abort ends an open attempt as failed: the service cannot go on. Reason counts
	// (shutdown if empty).
	Abort
	// PeerLost: the connection of the edges in Mask ended. PeerQuiet: the contract
	// proves that the writers of Mask write no more.
	PeerLost
	PeerQuiet
	// Tick: look at the clock. While WAITING, Reason says what is waited for
	// (admission-deadline-slot if empty).
	Tick
)

// Input of Step. Now is always set.
type Input struct {
	Kind     Kind
	Now      sm.Time
	Edge     uint8
	Edges    uint8
	Value    bool
	Mask     uint64
	Reason   spec.Reason
	Binding  slot.Binding
	Settings Settings
	// CancelBeatsSuccess is true in enabled mode: a cancel that comes before success
	// decides. In baseline and legacy it only ends waits (KS-V1-17).
	CancelBeatsSuccess bool
	// ExpectReject: the validation found a mismatch and every counterpart can reject, so
	// only ready=false is a right answer (KS-V1-42, KS-V1-44).
	ExpectReject bool
}

// EffectKind of an Effect.
type EffectKind uint8

// The effects. They are carried out in the order given.
const (
	// Admit: get tag, blocks and slot, then answer with Granted or Denied.
	Admit EffectKind = iota + 1
	// AdvertiseSlot must be done before any SendRequest of the same Step.
	AdvertiseSlot
	// SendRequest of Edge; answer with Published, PublishError or PublishDoubt.
	SendRequest
	// BeginSlot: writes to the slot are authorised from now on.
	BeginSlot
	// Scatter: copy from the slot to its blocks and check; answer with Scattered.
	Scatter
	// ReleaseSlot on Proof; QuarantineSlot without; ProveSlot returns it later.
	ReleaseSlot
	QuarantineSlot
	ProveSlot
	// Withdraw: leave the admission queue.
	Withdraw
	// Settle reports the outcome to the user. Exactly once (KS-V1-12).
	Settle
	// EndTag: the pair no longer needs this attempt's tag.
	EndTag
	// Timer asks for a Tick at At; it replaces the earlier one.
	Timer
	// Drop: forget this machine. Nothing follows it.
	Drop
	// Stray counts a signal that changed nothing; Reason says which.
	Stray
)

// Effect of Step.
type Effect struct {
	Kind        EffectKind
	Edge        uint8
	Proof       slot.Proof
	Disposition sm.Disposition
	Reason      spec.Reason
	At          sm.Time
	Binding     slot.Binding
}

// Machine is one attempt. The zero value takes Start.
type Machine struct {
	state    State
	result   sm.Disposition
	reason   spec.Reason
	edges    uint8
	next     uint8 // next edge to publish
	cancels  bool  // CancelBeatsSuccess
	expects  bool  // ExpectReject
	wanted   bool  // a cancel was asked for
	started  bool
	hasSlot  bool
	local    bool // scatter still touches the slot
	deadline sm.Time
	set      Settings
	binding  slot.Binding
	wantedBy spec.Reason

	asked   uint64 // edges whose request may be visible to CTX
	ready   uint64 // edges that answered true
	refused uint64 // edges that answered false, never true
	synced  uint64 // edges whose data is complete
	quiet   uint64 // edges whose writer is proven gone
	tainted uint64 // edges that contradicted themselves: only death proves
}

// State returns the present state.
func (m Machine) State() State { return m.state }

// Disposition returns how the attempt ended for the user; Open while it has not.
func (m Machine) Disposition() sm.Disposition { return m.result }

// Reason returns the code of the outcome; empty for success and while open.
func (m Machine) Reason() spec.Reason { return m.reason }

// Deadline is the time of the next Tick that matters; 0 if none does.
func (m Machine) Deadline() sm.Time { return m.deadline }

// Edges is the number of CTX ranks asked, 1 to MaxEdges.
func (m Machine) Edges() uint8 { return m.edges }

// Awaited returns the edges that still owe proof.
func (m Machine) Awaited() uint64 { return m.asked &^ m.proven() }

func (m Machine) all() uint64 {
	if m.edges >= MaxEdges {
		return ^uint64(0)
	}
	return 1<<m.edges - 1
}

// proven edges write no more: refused before their commit, or complete, or gone.
func (m Machine) proven() uint64 { return (m.refused|m.synced)&^m.tainted | m.quiet }

func (m Machine) isProven() bool { return m.asked&^m.proven() == 0 }

func (m Machine) proof() slot.Proof {
	switch {
	case m.asked == 0:
		return slot.NeverAdvertised
	case m.asked&^m.quiet == 0:
		return slot.WriterDead
	case m.asked&^(m.refused&^m.tainted) == 0:
		return slot.NotStarted
	case m.asked&^(m.synced&^m.tainted) == 0:
		return slot.Written
	}
	return slot.Settled
}

// missing names the first wait that has not ended, for the reason code.
func (m Machine) missing() spec.Reason {
	switch {
	case m.state == Scattering:
		return sm.RequestDeadlineLocal
	case m.asked&^(m.ready|m.refused|m.synced) != 0:
		return sm.RequestDeadlineReady
	}
	return sm.RequestDeadlineData
}

// Count returns how many edges are in each class: asked, ready, refused, synced.
func (m Machine) Count() (asked, ready, refused, synced int) {
	return bits.OnesCount64(m.asked), bits.OnesCount64(m.ready), bits.OnesCount64(m.refused), bits.OnesCount64(m.synced)
}
