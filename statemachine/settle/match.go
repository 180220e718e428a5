package settle

import (
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
)

// Match says which parts of a received message agree with the attempt that it was
// routed to. Package wire/identity compares; the machines judge. Only Exact lets a
// message change anything (KS-ID-17). A part that has nothing to be compared with yet,
// such as gen_attempt while a ticket is not bound, counts as the same.
type Match uint8

// The parts. SameRequest alone is what the request id says, and never enough.
const (
	SameRequest Match = 1 << iota
	// SameTicket: publication session, ctx_attempt and direction.
	SameTicket
	// SameAttempt: gen_attempt.
	SameAttempt
	// SameEpochs: sender, source and destination epochs, as the transport and the
	// key report them.
	SameEpochs
	// SameRanks: both ranks are those of the edge.
	SameRanks
	// SameDigest: the topology digest.
	SameDigest
	// SameSelection: version, capabilities and ABI as recomputed here (OPEN only;
	// set for every other message).
	SameSelection

	Exact = SameRequest | SameTicket | SameAttempt | SameEpochs | SameRanks | SameDigest | SameSelection
)

// Has reports whether all of parts agree.
func (m Match) Has(parts Match) bool { return m&parts == parts }

// Reason codes of v2 that the machines share.
const (
	StaleEpoch      spec.Reason = "stale-epoch"
	UnknownTicket   spec.Reason = "unknown-ticket"
	TicketBound     spec.Reason = "ticket-bound"
	ProtocolError   spec.Reason = "protocol-error"
	RetryExhausted  spec.Reason = "retry-exhausted"
	PeerUnknown     spec.Reason = "peer-unknown"
	RankMismatch    spec.Reason = "rank-mismatch"
	Uninstalled     spec.Reason = "uninstalled-unknown"
	WasNotStarted   spec.Reason = "not-started"
	WasQuiesced     spec.Reason = "quiesced"
	ControlDeadline spec.Reason = "control-deadline"
	RoundDeadline   spec.Reason = "round-deadline"
	AttemptConflict spec.Reason = "attempt-conflict"
)

// The refusals of Check. They are values so that refusing costs no allocation.
var (
	errRequest error = &sm.Refusal{Reason: UnknownTicket, Req: reqRequest, What: "settle: message of another request"}
	errTicket  error = &sm.Refusal{Reason: UnknownTicket, Req: reqAttempt, What: "settle: message of another ticket"}
	errAttempt error = &sm.Refusal{Reason: TicketBound, Req: reqAttempt, What: "settle: message of another attempt"}
	errEpochs  error = &sm.Refusal{Reason: StaleEpoch, Req: reqEpoch, What: "settle: message of another epoch"}
	errParts   error = &sm.Refusal{Reason: ProtocolError, Req: reqKey, What: "settle: ranks, digest or selection differ"}
)

// Check returns nil for an exact match and otherwise a *statemachine.Refusal that
// names the first part that differs.
func (m Match) Check() error {
	switch {
	case m.Has(Exact):
		return nil
	case !m.Has(SameRequest):
		return errRequest
	case !m.Has(SameTicket):
		return errTicket
	case !m.Has(SameEpochs):
		return errEpochs
	case !m.Has(SameAttempt):
		return errAttempt
	}
	return errParts
}
