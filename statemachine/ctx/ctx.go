// Package ctx is CTX's machine of one published context in the legacy layer and in
// v1 (baseline and enabled). A Machine is a value of fixed size; Step returns the
// next one and appends what has to be done to the caller's slice.
package ctx

import (
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// MaxEdges is the largest number of GEN ranks that one CTX rank serves for one
// context.
const MaxEdges = 64

// State of the context.
type State uint8

// The states. Draining has no more to say to the peer but waits, within the
// control deadline, for its own posted writes; Unproven has ended for the user
// while its staging slot waits in quarantine for them.
const (
	Imported State = iota
	Waiting
	Published
	Bound
	InFlight
	Draining
	Unproven
	Retired
	numStates
)

// String returns the name that the spec uses.
func (s State) String() string {
	names := [numStates]string{"IMPORTED", "WAITING", "PUBLISHED", "BOUND", "IN_FLIGHT", "DRAINING", "UNPROVEN", "RETIRED"}
	if s < numStates {
		return names[s]
	}
	return "INVALID"
}

// Settings are the bounds of this machine's waits, in nanoseconds, all positive.
type Settings struct {
	// Admission bounds the wait for blocks and a staging slot (KS-TIME-3).
	Admission sm.Time
	// Context bounds how long a published context waits for GEN (KS-TIME-6).
	Context sm.Time
	// Request bounds the time from the first request heard to written (KS-TIME-2).
	Request sm.Time
	// Control bounds the drain of posted writes after the peer was lost (KS-TIME-4).
	Control sm.Time
}

// Kind of an Input.
type Kind uint8

// The inputs.
const (
	// Start admits a context. Edges (1 to MaxEdges) and Settings count.
	Start Kind = iota + 1
	// Granted: blocks and staging slot are ours; Binding counts. Denied: never; Reason
	// counts (bad-request if empty).
	Granted
	Denied
	// Request of GEN rank Edge was heard and judged: Value true accepts, false means
	// that it must be answered with ready=false; Reason says why (bad-request if empty).
	Request
	// Written: every chunk of Edge reached final success. Ended: no posted write of
	// Edge is left, but not all of it was written; Reason says why (write-failed if
	// empty).
	Written
	Ended
	// Cancel is the router's or the service's wish; Reason counts (user-cancel if empty).
	Cancel
	// Abort ends an open context as failed: the service cannot go on. Reason counts
	// (shutdown if empty).
	Abort
	// PeerLost: the connections of the edges in Mask ended.
	PeerLost
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
}

// EffectKind of an Effect.
type EffectKind uint8

// The effects. They are carried out in the order given.
const (
	// Admit: get blocks and slot, then answer with Granted or Denied.
	Admit EffectKind = iota + 1
	// Publish makes the context result visible. The lease exists before it.
	Publish
	// BeginSlot marks the ready commit: from here on "nothing was written" is never
	// said again.
	BeginSlot
	// SendReady tells Edge Value. It comes before StartWrite of the same edge.
	SendReady
	// StartWrite gathers and writes; answer with Written or Ended.
	StartWrite
	// StopWrite: post nothing more for Edge; answer with Ended once nothing posted is
	// left (or Written, if it was complete).
	StopWrite
	// SendSync tells Edge that its data is complete.
	SendSync
	// ReleaseSlot on Proof; QuarantineSlot without; ProveSlot returns it later.
	ReleaseSlot
	QuarantineSlot
	ProveSlot
	// Withdraw: leave the admission queue.
	Withdraw
	// Settle reports the outcome. Exactly once (KS-V1-12).
	Settle
	// Timer asks for a Tick at At (0: none); it replaces the earlier one.
	Timer
	// Drop: forget this machine; keep its answer in the terminal cache. Nothing follows it.
	Drop
	// Stray counts a signal that changed nothing.
	Stray
)

// Effect of Step.
type Effect struct {
	Kind        EffectKind
	Edge        uint8
	Value       bool
	Proof       slot.Proof
	Disposition sm.Disposition
	Reason      spec.Reason
	At          sm.Time
	Binding     slot.Binding
}

// Machine is one context. The zero value takes Start.
type Machine struct {
	state     State
	result    sm.Disposition
	reason    spec.Reason
	edges     uint8
	started   bool
	hasSlot   bool
	committed bool
	wanted    bool
	deadline  sm.Time
	set       Settings
	binding   slot.Binding
	why       spec.Reason // first reason to answer ready=false

	bound   uint64 // edges whose request was heard
	stopped uint64 // edges told to stop
	written uint64 // edges completely written
	ended   uint64 // edges with no posted write left
}

// State returns the present state.
func (m Machine) State() State { return m.state }

// Disposition returns how the context ended; Open while it has not.
func (m Machine) Disposition() sm.Disposition { return m.result }

// Reason returns the code of the outcome; empty for success and while open.
func (m Machine) Reason() spec.Reason { return m.reason }

// Deadline is the time of the next Tick that matters; 0 if none does.
func (m Machine) Deadline() sm.Time { return m.deadline }

// Committed says whether the ready commit was crossed, so that a late duplicate
// request must never be answered with ready=false (KS-V1-7).
func (m Machine) Committed() bool { return m.committed }

// Bound says whether the request of edge was heard.
func (m Machine) Bound(edge uint8) bool { return edge < MaxEdges && m.bound&(1<<edge) != 0 }

func (m Machine) all() uint64 {
	if m.edges >= MaxEdges {
		return ^uint64(0)
	}
	return 1<<m.edges - 1
}

func (m Machine) quiet() bool { return m.written|m.ended == m.all() }
