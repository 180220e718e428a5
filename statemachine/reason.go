package statemachine

import "github.com/kvsettle/kvsettle/spec"

// Reason codes that the machines of legacy and v1 give. A code that ends a wait
// starts with the name of the setting that bounds it (KS-TIME-1).
const (
	ReasonNone             spec.Reason = ""
	AdmissionDeadlineSlot  spec.Reason = "admission-deadline-slot"
	AdmissionDeadlineTag   spec.Reason = "admission-deadline-tag"
	AdmissionDeadlineBlock spec.Reason = "admission-deadline-blocks"
	RequestDeadlineReady   spec.Reason = "request-deadline-ready"
	RequestDeadlineData    spec.Reason = "request-deadline-completion"
	RequestDeadlineLocal   spec.Reason = "request-deadline-scatter"
	RequestDeadlineBind    spec.Reason = "request-deadline-bind"
	RequestDeadlineWrite   spec.Reason = "request-deadline-write"
	ContextDeadline        spec.Reason = "context-deadline"
	UserCancel             spec.Reason = "user-cancel"
	ShutdownCancel         spec.Reason = "shutdown"
	PeerRejected           spec.Reason = "peer-rejected"
	MixedReadiness         spec.Reason = "mixed-readiness"
	ConflictingReady       spec.Reason = "conflicting-ready"
	UnexpectedReady        spec.Reason = "unexpected-ready"
	PublishFailed          spec.Reason = "publish-failed"
	PeerLost               spec.Reason = "peer-lost"
	WriteFailed            spec.Reason = "write-failed"
	VerifyFailed           spec.Reason = "verify-failed"
	SlotTooSmall           spec.Reason = "slot-too-small"
	SlotsExhausted         spec.Reason = "slots-exhausted"
	PoolUnhealthy          spec.Reason = "pool-unhealthy"
	PoolClosed             spec.Reason = "pool-closed"
	StaleGeneration        spec.Reason = "stale-generation"
	NotOwner               spec.Reason = "not-owner"
	NoProof                spec.Reason = "no-proof"
	WrongState             spec.Reason = "wrong-state"
	UnknownEdge            spec.Reason = "unknown-edge"
	GenerationExhausted    spec.Reason = "generation-exhausted"
	DuplicateID            spec.Reason = "duplicate-id"
	RegistryFull           spec.Reason = "registry-full"
	TagBusy                spec.Reason = "tag-busy"
	UnknownContext         spec.Reason = "unknown-context"
	ContextEnded           spec.Reason = "context-ended"
	BadRequest             spec.Reason = "bad-request"
)

// Refuse returns a *Refusal: reason is its stable code, req the requirement that
// forbids the input, what the input and the state in a few words.
func Refuse(reason spec.Reason, req, what string) error {
	return &Refusal{Reason: reason, Req: req, What: what}
}
