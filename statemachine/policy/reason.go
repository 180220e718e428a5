package policy

import "github.com/kvsettle/kvsettle/spec"

// The reason codes of a whole decision.
const (
	// BadSwitch: the variable is set to something else than 0 or 1, or the flag's
	// choice is none that is defined.
	BadSwitch spec.Reason = "bad-switch"
	// SwitchedOff: baseline was asked for.
	SwitchedOff spec.Reason = "switched-off"
	// NotQualified: nothing was asked for, and the cell is not qualified.
	NotQualified spec.Reason = "not-qualified"
	// RequiredNotQualified: enabled mode is required, and the cell is not qualified.
	RequiredNotQualified spec.Reason = "required-not-qualified"
)

// The reason codes of what makes a cell unqualified.
const (
	TransceiverPython   spec.Reason = "unqualified-transceiver-python"
	TransceiverOther    spec.Reason = "unqualified-transceiver"
	TransportDirectUCX  spec.Reason = "unqualified-transport-direct-ucx"
	TransportMPI        spec.Reason = "unqualified-transport-mpi"
	TransportMooncake   spec.Reason = "unqualified-transport-mooncake"
	TransportLibfabric  spec.Reason = "unqualified-transport-nixl-libfabric"
	TransportOther      spec.Reason = "unqualified-transport"
	LegacyExecutor      spec.Reason = "unqualified-executor-legacy"
	AutoDeployExecutor  spec.Reason = "unqualified-executor-autodeploy"
	ExecutorOther       spec.Reason = "unqualified-executor"
	NotStaged           spec.Reason = "unqualified-staging"
	ZeroCopy            spec.Reason = "unqualified-zero-copy"
	NoDeadline          spec.Reason = "unqualified-deadline"
	NoOverlap           spec.Reason = "unqualified-overlap"
	TensorParallelism   spec.Reason = "unqualified-tensor-parallelism"
	PipelineParallelism spec.Reason = "unqualified-pipeline-parallelism"
	ContextParallelism  spec.Reason = "unqualified-context-parallelism"
	AttentionDPOn       spec.Reason = "unqualified-attention-dp"
	DWDPOn              spec.Reason = "unqualified-dwdp"
	ConnectorOn         spec.Reason = "unqualified-connector"
	LayerwiseOn         spec.Reason = "unqualified-layerwise"
	AdmissionUnbounded  spec.Reason = "unqualified-admission"
	ReceiveSynchronous  spec.Reason = "unqualified-synchronous-receive"
)

// Explain says in a few words what a reason code of this package means and what
// would change it. It returns the empty string for other codes.
func Explain(r spec.Reason) string {
	switch r {
	case BadSwitch:
		return Variable + " must be unset, 0 or 1"
	case SwitchedOff:
		return "baseline was asked for"
	case NotQualified:
		return "this configuration is not qualified for enabled mode"
	case RequiredNotQualified:
		return "enabled mode is required, but this configuration is not qualified"
	case TransceiverPython:
		return "the Python transceiver never qualifies: use the asynchronous native one"
	case TransceiverOther:
		return "the transceiver style is not known"
	case TransportDirectUCX:
		return "UCX without NIXL never qualifies: use NIXL with UCX"
	case TransportMPI:
		return "MPI never qualifies: use NIXL with UCX"
	case TransportMooncake:
		return "Mooncake never qualifies: use NIXL with UCX"
	case TransportLibfabric:
		return "NIXL with libfabric never qualifies: use its UCX plugin"
	case TransportOther:
		return "the transport is not known"
	case LegacyExecutor:
		return "the legacy executor never qualifies"
	case AutoDeployExecutor:
		return "AutoDeploy never qualifies"
	case ExecutorOther:
		return "the executor is not known"
	case NotStaged:
		return "receive slots are not preallocated: set a positive max_tokens_in_buffer"
	case ZeroCopy:
		return "peers write straight into KV blocks: receive into staging slots"
	case NoDeadline:
		return "a transfer has no deadline: set a positive kv_transfer_timeout_ms"
	case NoOverlap:
		return "overlap is off"
	case TensorParallelism:
		return "the tensor parallel size is below 1"
	case PipelineParallelism:
		return "pipeline parallelism is not 1: it runs in legacy and baseline only"
	case ContextParallelism:
		return "context parallelism is not 1: it runs in legacy and baseline only"
	case AttentionDPOn:
		return "attention data parallelism is on"
	case DWDPOn:
		return "distributed weight data parallelism is on"
	case ConnectorOn:
		return "a KV connector is in use at the same time"
	case LayerwiseOn:
		return "KV is sent layer by layer"
	case AdmissionUnbounded:
		return "admission has no limit"
	case ReceiveSynchronous:
		return "GEN receives synchronously"
	}
	return ""
}
