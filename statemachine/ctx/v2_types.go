package ctx

// ParentState is the state of a v2 parent.
type ParentState uint8

// The parent states.
const (
	ParentAbsent ParentState = iota
	ParentPublished
	ParentBound
	ParentReducing
	ParentSuccess
	ParentNotStarted
	ParentCompleted
	ParentUnknown
	ParentQuiesced
	ParentRetired
	numParentStates
)

// String returns the name that the spec uses.
func (s ParentState) String() string {
	names := [numParentStates]string{"ABSENT", "PUBLISHED", "BOUND", "REDUCING", "SUCCESS_COMPLETE",
		"TERMINAL_NOT_STARTED", "TERMINAL_COMPLETED", "TERMINAL_UNKNOWN", "TERMINAL_QUIESCED", "RETIRED"}
	if s < numParentStates {
		return names[s]
	}
	return "INVALID"
}

// Terminal says that the attempt has a disposition by reduction.
func (s ParentState) Terminal() bool { return s >= ParentNotStarted && s <= ParentQuiesced }

// EdgeState is the state of one edge of a v2 parent.
type EdgeState uint8

// The edge states. EdgeAbsent is an edge whose OPEN was not heard: it has no child
// yet, nothing can be written to it, and it is not a state of the table.
const (
	EdgeAbsent EdgeState = iota
	EdgeBound
	EdgePrepared
	EdgeCancelPending
	EdgeDecided
	EdgeInFlight
	EdgeDraining
	EdgeNotStarted
	EdgeSourceComplete
	EdgeQuiesced
	EdgeUnknown
	EdgeRetired
	numEdgeStates
)

// String returns the name that the spec uses.
func (s EdgeState) String() string {
	names := [numEdgeStates]string{"ABSENT", "BOUND", "READY_PREPARED", "CANCEL_PENDING", "READY_DECIDED",
		"IN_FLIGHT", "DRAINING", "EVIDENCE_NOT_STARTED", "EVIDENCE_SOURCE_COMPLETE", "EVIDENCE_QUIESCED",
		"EVIDENCE_UNKNOWN", "RETIRED"}
	if s < numEdgeStates {
		return names[s]
	}
	return "INVALID"
}

// Row names a row of the two CTX tables of chapter 13.
type Row uint8

// The rows, first of the parent, then of the edge.
const (
	RowPublish Row = iota
	RowPublishFull
	RowBind
	RowIncompatible
	RowIncompatibleRepeat
	RowCancelPublished
	RowCancelUnbound
	RowOtherAttempt
	RowCancelBound
	RowDoubt
	RowDrain
	RowComplete
	RowLateCancel
	RowLocalCancelAfterSuccess
	RowResend
	RowReduceNotStarted
	RowReduceCompleted
	RowReduceQuiesced
	RowReduceAlone
	RowReduceUnknown
	RowEpochChanged
	RowRepeat
	RowRetire
	RowStale
	RowEdgePrepare
	RowEdgeCancel
	RowEdgeCancelled
	RowEdgeCancelDoubt
	RowEdgeReject
	RowEdgeInstall
	RowEdgeRoundFailed
	RowEdgeShow
	RowEdgeDecidedCancel
	RowEdgeDecidedDrain
	RowEdgeDone
	RowEdgeDoubt
	RowEdgeDrain
	RowEdgeDrainedComplete
	RowEdgeDrained
	RowEdgeDrainUnknown
	RowEdgeDuplicateOpen
	RowEdgeRetire
	// RowQuery: a QUERY is answered from the active registry (KS-REC-6).
	RowQuery
	// RowAnswer: a CANCEL or TERMINAL in REDUCING or SUCCESS_COMPLETE is answered
	// (KS-CTX-9, KS-SET-9).
	RowAnswer
	// RowPendingOther: another attempt's OPEN while one waits for its round.
	RowPendingOther
	// RowLateOpen: the first OPEN of an edge after its parent was ended (KS-QUI-16).
	RowLateOpen
	// RowLateProof: the last post of a quarantined lease became final (KS-SLOT-6).
	RowLateProof
	// NumRows is how many there are.
	NumRows
)

// String returns the id of the row.
func (r Row) String() string {
	ids := [NumRows]string{
		"ctx-publish", "ctx-publish-full", "ctx-bind", "ctx-incompatible", "ctx-incompatible-repeat",
		"ctx-cancel-published", "ctx-cancel-unbound", "ctx-other-attempt", "ctx-cancel-bound", "ctx-doubt",
		"ctx-drain-x49", "ctx-complete", "ctx-late-cancel", "ctx-local-cancel-after-success", "ctx-resend",
		"ctx-reduce-not-started", "ctx-reduce-completed", "ctx-reduce-quiesced-x49", "ctx-reduce-alone-x49",
		"ctx-reduce-unknown", "ctx-epoch-changed", "ctx-repeat", "ctx-retire", "ctx-stale",
		"ctx-edge-prepare", "ctx-edge-cancel", "ctx-edge-cancelled", "ctx-edge-cancel-doubt", "ctx-edge-reject",
		"ctx-edge-install", "ctx-edge-round-failed", "ctx-edge-show", "ctx-edge-decided-cancel",
		"ctx-edge-decided-drain-x49", "ctx-edge-done", "ctx-edge-doubt", "ctx-edge-drain-x49",
		"ctx-edge-drained-complete-x49", "ctx-edge-drained-x49", "ctx-edge-drain-unknown-x49",
		"ctx-edge-duplicate-open", "ctx-edge-retire",
		"ctx-query-x48", "ctx-answer", "ctx-pending-other", "ctx-late-open", "ctx-late-proof",
	}
	if r < NumRows {
		return ids[r]
	}
	return "invalid"
}

// OfEdge says that the row is about one edge, the one that its effect names.
func (r Row) OfEdge() bool { return r >= RowEdgePrepare && r <= RowEdgeRetire }
