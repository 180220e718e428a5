package gen

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
	// OnValidate: the context result was judged. Value true: compatible, it fits a
	// slot, and the registry has room; then Edges, Parts and Caps count. False: Cause
	// says why.
	OnValidate Event = iota + 1
	// OnContribute: the rank is about to send its payload of the next round.
	OnContribute
	// OnRound: Verdict is what the round decided. A failed installation barrier is
	// the verdict of a missing rank.
	OnRound
	// OnGranted: the lease Binding is ours. OnDenied: it will not be; Cause counts.
	OnGranted
	OnDenied
	// OnPublish: open_publish_committed is set under the lock; now OPEN may be sent.
	OnPublish
	// OnSent: the OPEN of Edge was accepted. OnSendFailed: it was not; Value says that
	// definitely no byte of it left this process.
	OnSent
	OnSendFailed
	// OnReady: READY of Edge with Decision and Evidence; Contract and RetentionMS
	// count with READY=READY where bit 48 or 49 is selected.
	OnReady
	// OnCancelMessage, OnTerminal, OnReceipt: messages of Edge. Evidence counts in the
	// last two.
	OnCancelMessage
	OnTerminal
	OnReceipt
	// OnStatus: STATUS of Edge with State, for a QUERY of this attempt.
	OnStatus
	// OnSync: the native sync of Edge; plain v2 only.
	OnSync
	// OnData: DATA_COMPLETE of Edge with Chunk and Count; bit 48 only.
	OnData
	// OnBarrier: every rank has passed the installation barrier.
	OnBarrier
	// OnWorkBegan: local work touches the slot before all data is here.
	OnWorkBegan
	// OnProcessed: the local work on bundle part Part has ended; Value says that its
	// content was as expected.
	OnProcessed
	// OnCancel: the service or a user wants the end; Cause counts.
	OnCancel
	// OnWait: the armed wait Wait is over.
	OnWait
	// OnEpochChanged: the peer's epoch is another one now.
	OnEpochChanged
	// OnDoubt: a protocol violation or a connection fault; Cause counts.
	OnDoubt
	// OnPeerQuiet: the adaptor's contract counts the writer of Edge as ended.
	OnPeerQuiet
	numEvents
)

// ParentInput is one input of a Parent. Which fields count depends on Kind.
type ParentInput struct {
	Kind Event
	// Edge is the index of the edge among those of this rank, below Edges.
	Edge uint8
	// Edges is how many CTX ranks this rank fetches from, 1 to MaxParentEdges.
	Edges uint8
	// Parts is how many parts the bundle has (KV, indexer, RNN), 1 to MaxParts.
	Parts    uint8
	Part     uint8
	Value    bool
	Match    settle.Match
	Decision control.Decision
	Evidence control.Evidence
	State    control.SourceState
	Cause    settle.Cause
	Wait     settle.Wait
	Contract settle.Contract
	// Chunk is below Count; Count is 1 to MaxChunks and the same in all notices of
	// one edge.
	Chunk       uint16
	Count       uint16
	RetentionMS uint32
	Caps        descriptor.Caps
	Verdict     round.Verdict
	Binding     slot.Binding
}

// Do is the kind of a ParentEffect.
type Do uint8

// The effects of a Parent. They are carried out in the order given, outside of the
// registry's lock, before the next Step of the same parent.
const (
	// DoTake records that Row was taken, of Edge where the row is of an edge. Nothing
	// has to be done; counters and models use it.
	DoTake Do = iota + 1
	// DoEnter: the parent has something new to say; see that a round is held. After a
	// verdict look at Pending: words that stay the same are not announced again.
	DoEnter
	// DoContribute puts Intent, Evidence and Publication, with the session of the
	// attempt and the proposed gen_attempt, into this rank's payload of the next round.
	DoContribute
	// DoLease: get the parent's lease, for the whole bundle; answer OnGranted or
	// OnDenied. DoWithdraw: stop to wait for it; no answer comes after it.
	DoLease
	DoWithdraw
	// DoPublish: set open_publish_committed under the lock, then give OnPublish. The
	// attempt may have been cancelled meanwhile; then OnPublish is refused.
	DoPublish
	// DoAdvertise: the slot is ADVERTISED before any DoSend that follows it.
	DoAdvertise
	// DoSend sends Msg to the peer of Edge: OPEN, CANCEL with Cause, TERMINAL and
	// RECEIPT with Evidence, QUERY. Again means the same bytes and message id as the
	// last of its type on this edge.
	DoSend
	// DoInstall: READY was accepted on every edge; enter the installation barrier.
	DoInstall
	// DoBegin: the slot is IN_FLIGHT.
	DoBegin
	// DoProcess: all data is here; run the local work of every part of the bundle and
	// answer OnProcessed for each.
	DoProcess
	// DoFree ends the lease on Proof, exactly once, by its token.
	DoFree
	// DoQuarantine isolates the lease; DoProve returns it later, exactly once;
	// DoAbandon says that no proof can come any more.
	DoQuarantine
	DoProve
	DoAbandon
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
	// DoClip moves the end of RequestWait to settle.Settings.Clip of RetentionMS,
	// counted from the first OPEN, if that is earlier.
	DoClip
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
	Evidence    control.Evidence
	Again       bool
	Wait        settle.Wait
	Step        uint8
	Intent      wireround.Intent
	Publication wireround.Publication
	Disposition sm.Disposition
	Cause       settle.Cause
	Proof       slot.Proof
	RetentionMS uint32
}

// Reason is the stable code of Cause.
func (e ParentEffect) Reason() spec.Reason { return e.Cause.Reason() }

// CancelReason is what a CANCEL carries for its Cause.
func (e ParentEffect) CancelReason() control.Reason {
	switch e.Cause {
	case settle.ByRequestDeadline, settle.ByControlDeadline, settle.ByAdmissionDeadline, settle.ByRound:
		return control.ReasonDeadline
	case settle.ByShutdown:
		return control.ReasonShutdown
	case settle.ByPeer, settle.ByPeerRefusal, settle.ByPeerUnknown, settle.ByEpoch, settle.ByMixture:
		return control.ReasonPeerFailure
	case settle.ByProtocol:
		return control.ReasonProtocolError
	}
	return control.ReasonUser
}
