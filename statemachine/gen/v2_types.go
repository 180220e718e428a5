package gen

// ParentState is the state of a v2 parent.
type ParentState uint8

// The parent states; the zero value is the initial one.
const (
	ParentImported ParentState = iota
	ParentPrepared
	ParentAdmitted
	ParentPublishing
	ParentOpenSent
	ParentCancelPending
	ParentCancelSent
	ParentInFlight
	ParentReducing
	ParentUninstalled
	ParentSuccess
	ParentLocalCancelled
	ParentNotStarted
	ParentCompleted
	ParentQuiesced
	ParentUnknown
	ParentRetired
	numParentStates
)

// String returns the name that the spec uses.
func (s ParentState) String() string {
	names := [numParentStates]string{"CONTEXT_IMPORTED", "ADMISSION_PREPARED", "ADMISSION_DECIDED",
		"OPEN_PUBLISHING", "OPEN_SENT", "CANCEL_PENDING", "CANCEL_SENT", "IN_FLIGHT", "REDUCING",
		"UNINSTALLED_UNKNOWN", "SUCCESS_COMPLETE", "LOCAL_CANCELLED", "TERMINAL_NOT_STARTED",
		"TERMINAL_COMPLETED", "TERMINAL_QUIESCED", "TERMINAL_UNKNOWN", "RETIRED"}
	if s < numParentStates {
		return names[s]
	}
	return "INVALID"
}

// Terminal says that the attempt has a disposition that no round changes any more.
func (s ParentState) Terminal() bool { return s >= ParentLocalCancelled && s <= ParentUnknown }

// EdgeState is the state of one edge of a v2 parent.
type EdgeState uint8

// The edge states. EdgeAbsent is an edge whose OPEN was not sent: no peer was told
// of the slot by it, and it is not a state of the table.
const (
	EdgeAbsent EdgeState = iota
	EdgeOpenSent
	EdgeReadyAccepted
	EdgeInFlight
	EdgeCancelSent
	EdgeNotStarted
	EdgeDestinationComplete
	EdgeQuiesced
	EdgeUnknown
	EdgeRetired
	numEdgeStates
)

// String returns the name that the spec uses.
func (s EdgeState) String() string {
	names := [numEdgeStates]string{"ABSENT", "OPEN_SENT", "READY_ACCEPTED", "IN_FLIGHT", "CANCEL_SENT",
		"EVIDENCE_NOT_STARTED", "EVIDENCE_DESTINATION_COMPLETE", "EVIDENCE_QUIESCED", "EVIDENCE_UNKNOWN", "RETIRED"}
	if s < numEdgeStates {
		return names[s]
	}
	return "INVALID"
}

// Row names a row of the two GEN tables of chapter 14.
type Row uint8

// The rows, first of the parent, then of the edge.
const (
	RowRefuse Row = iota
	RowPrepare
	RowAdmit
	RowAdmitRefused
	RowAdmissionDeadline
	RowCancelLocal
	RowCancelSiblings
	RowCommit
	RowPublished
	RowPublishFailed
	RowCancel
	RowResendOpen
	RowAllReady
	RowNoPeer
	RowRefusedBound
	RowMixedInstalled
	RowMixedUninstalled
	RowCancelReady
	RowCancelUninstalled
	RowResendCancel
	RowCancelEvidence
	RowComplete
	RowDoubt
	RowCancelDrain
	RowLateCancel
	RowResendTerminal
	RowReduceNotStarted
	RowReduceCompleted
	RowReduceQuiesced
	RowReduceUnknown
	RowUninstalled
	RowEpochChanged
	RowLateProof
	RowRepeat
	RowRetire
	RowStale
	RowEdgeReady
	RowEdgeNoPeer
	RowEdgeRefused
	RowEdgeRejected
	RowEdgeTerminal
	RowEdgeOpenDeadline
	RowEdgeInstall
	RowEdgeDone
	RowEdgeDoubt
	RowEdgeReadyAfterCancel
	RowEdgeCancel
	RowEdgeCancelUnknown
	RowEdgeCancelQuiesced
	RowEdgeCancelNotStarted
	RowEdgeReceipt
	RowEdgeRetire
	// RowAsk: QUERY on every proven edge whose data is not complete (KS-REC-5).
	RowAsk
	// RowAnswer: a CANCEL or TERMINAL is answered outside of the cache (KS-CTX-9).
	RowAnswer
	// RowCancelUnproven: CANCEL_PENDING ends without a proven edge while a sibling
	// rank's edges were bound.
	RowCancelUnproven
	// RowEdgeTerminalDrained: with bit 49 a TERMINAL that stands for a lost READY
	// leaves the edge free to become QUIESCED (KS-QUI-11).
	RowEdgeTerminalDrained
	// RowCommitCancelled: with bit 49 OPEN is sent although the attempt is cancelled
	// (KS-QUI-18).
	RowCommitCancelled
	// NumRows is how many there are.
	NumRows
)

// String returns the id of the row.
func (r Row) String() string {
	ids := [NumRows]string{
		"gen-refuse", "gen-prepare", "gen-admit", "gen-admit-refused", "gen-admission-deadline",
		"gen-cancel-local", "gen-cancel-siblings", "gen-commit", "gen-published", "gen-publish-failed",
		"gen-cancel", "gen-resend-open", "gen-all-ready", "gen-no-peer", "gen-refused-bound",
		"gen-mixed-installed", "gen-mixed-uninstalled", "gen-cancel-ready", "gen-cancel-uninstalled",
		"gen-resend-cancel", "gen-cancel-evidence", "gen-complete", "gen-doubt", "gen-cancel-x49",
		"gen-late-cancel", "gen-resend-terminal", "gen-reduce-not-started", "gen-reduce-completed",
		"gen-reduce-quiesced-x49", "gen-reduce-unknown", "gen-uninstalled", "gen-epoch-changed",
		"gen-late-proof", "gen-repeat", "gen-retire", "gen-stale",
		"gen-edge-ready", "gen-edge-no-peer", "gen-edge-refused", "gen-edge-rejected", "gen-edge-terminal",
		"gen-edge-open-deadline", "gen-edge-install", "gen-edge-done", "gen-edge-doubt",
		"gen-edge-ready-after-cancel", "gen-edge-cancel", "gen-edge-cancel-unknown",
		"gen-edge-cancel-quiesced-x49", "gen-edge-cancel-not-started-x49", "gen-edge-receipt", "gen-edge-retire",
		"gen-ask-x48", "gen-answer", "gen-cancel-unproven", "gen-edge-terminal-x49",
		"gen-commit-cancelled-x49",
	}
	if r < NumRows {
		return ids[r]
	}
	return "invalid"
}

// OfEdge says that the row is about one edge, the one that its effect names.
func (r Row) OfEdge() bool {
	return r >= RowEdgeReady && r <= RowEdgeRetire || r == RowEdgeTerminalDrained
}
