package ctx

import (
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	wireround "github.com/kvsettle/kvsettle/wire/round"
)

// Event is the kind of a ParentInput.
type Event uint8

// The inputs of a Parent. Messages have passed every check of form and sender; how
// their key fits the attempt stands in Match.
const (
	// OnPublish makes the ticket. Room, Contract and Binding count; Binding is the
	// publication lease, held already.
	OnPublish Event = iota + 1
	// OnOpen: OPEN of Edge. Match, Edges, Chunks and Caps count.
	OnOpen
	// OnContribute: the rank is about to send its payload of the next round.
	OnContribute
	// OnRound: Verdict is what the round decided. A failed installation barrier is
	// the verdict of a missing rank.
	OnRound
	// OnPrepare: the context is ready on this rank; edges whose OPEN was heard seal
	// their ready intent.
	OnPrepare
	// OnReject: this rank cannot serve the attempt; Cause says why.
	OnReject
	// OnBarrier: every rank has passed the installation barrier.
	OnBarrier
	// OnPosted: Count posts of Edge were entered. Where the contract has bit 3, a
	// chunk whose post failed may be posted again.
	OnPosted
	// OnWritten: one post of Edge reached final success. Chunk is its index. Again
	// says that its handle had been reported by OnReleased.
	OnWritten
	// OnWriteFailed: one post of Edge reached a final error. Count not 0 says that it
	// will be posted again. Again as above.
	OnWriteFailed
	// OnReleased: the handle of one post of Edge was given up before it was final.
	OnReleased
	// OnSealed: the seal of Edge holds; every post that was entered before it has been
	// reported.
	OnSealed
	// OnCancel: the service or a user wants the end; Cause counts.
	OnCancel
	// OnCancelMessage, OnTerminal, OnReceipt, OnQuery: messages of Edge. Evidence
	// counts in the second and third.
	OnCancelMessage
	OnTerminal
	OnReceipt
	OnQuery
	// OnWait: the armed wait Wait is over.
	OnWait
	// OnEpochChanged: the peer's epoch is another one now.
	OnEpochChanged
	// OnDoubt: a protocol violation or a connection fault; Cause counts.
	OnDoubt
	numEvents
)

// ParentInput is one input of a Parent. Which fields count depends on Kind.
type ParentInput struct {
	Kind Event
	// Edge is the index of the edge among those of this rank, below Edges.
	Edge uint8
	// Edges is how many edges the proposed topology gives to this rank, 1 to
	// MaxParentEdges.
	Edges    uint8
	Match    settle.Match
	Evidence control.Evidence
	Cause    settle.Cause
	Wait     settle.Wait
	Contract settle.Contract
	// Room says that the active registry has room for the ticket.
	Room  bool
	Again bool
	// PerChunk: with bit 48, one DATA_COMPLETE per chunk; otherwise one per edge.
	PerChunk bool
	// Chunks is how many writes the edge consists of, 1 to MaxChunks.
	Chunks  uint16
	Chunk   uint16
	Count   uint16
	Caps    descriptor.Caps
	Verdict round.Verdict
	Binding slot.Binding
}

// Do is the kind of a ParentEffect.
type Do uint8

// The effects of a Parent. They are carried out in the order given, outside of the
// registry's lock, before the next Step of the same parent.
const (
	// DoTake records that Row was taken, of Edge where the row is of an edge. Nothing
	// has to be done; counters and models use it.
	DoTake Do = iota + 1
	// DoPublish makes the context result visible. The lease exists before it.
	DoPublish
	// DoBind turns the publication lease into the attempt's lease and registers one
	// child per key, before anything of the attempt is visible.
	DoBind
	// DoEnter: the parent has something new to say; see that a round is held. It may
	// come again before that. After a verdict look at Pending: words that stay the same
	// are not announced again.
	DoEnter
	// DoContribute puts Intent and Evidence, with the session of the attempt, into
	// this rank's payload of the next round.
	DoContribute
	// DoInstall: READY_DECIDED is recorded; enter the installation barrier after it.
	DoInstall
	// DoSend sends Msg to the peer of Edge: READY with Decision and Evidence,
	// TERMINAL, RECEIPT with Evidence, STATUS with State, DATA_COMPLETE with Chunk and
	// Count. Again means the same bytes and message id as the last of its type on
	// this edge. A READY is visible before the DoWrite that follows it.
	DoSend
	// DoSync sends the native sync of Edge; after the final success of every write.
	DoSync
	// DoWrite: the writes of Edge may be posted. The slot is IN_FLIGHT before the
	// first of them.
	DoWrite
	// DoSeal: no post of Edge after this, under the lock that every post takes; then
	// answer OnSealed.
	DoSeal
	// DoFree ends the lease on Proof, exactly once, by its token.
	DoFree
	// DoQuarantine isolates the lease; DoProve returns it later, exactly once.
	DoQuarantine
	DoProve
	// DoRestart: stop admission, end what is open, exit within
	// unknown-restart-deadline.
	DoRestart
	// DoSettle reports Disposition and Cause to whoever waits. Exactly once.
	DoSettle
	// DoCache keeps the answers of this key in the terminal cache.
	DoCache
	// DoArm starts Wait, with Step re-sends before it; DoDisarm ends it.
	DoArm
	DoDisarm
	// DoDrop: the metadata may be forgotten.
	DoDrop
	// DoStray counts an input that changed nothing; Cause says what it was.
	DoStray
)

// ParentEffect is one effect of a Step.
type ParentEffect struct {
	Kind        Do
	Edge        uint8
	Row         Row
	Msg         control.Type
	Decision    control.Decision
	Evidence    control.Evidence
	State       control.SourceState
	Again       bool
	Wait        settle.Wait
	Step        uint8
	Intent      wireround.Intent
	Disposition sm.Disposition
	Cause       settle.Cause
	Proof       slot.Proof
	Chunk       uint16
	Count       uint16
}

// Reason is the stable code of Cause.
func (e ParentEffect) Reason() spec.Reason { return e.Cause.Reason() }
