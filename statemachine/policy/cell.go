package policy

import (
	"time"

	"github.com/kvsettle/kvsettle/spec"
)

// Transceiver is the style of the cache transceiver.
type Transceiver uint8

// The transceiver styles. Only AsyncNative is qualified.
const (
	TransceiverUnknown Transceiver = iota
	// AsyncNative is the asynchronous one: upstream's in C++, and kvsettle's.
	AsyncNative
	// Python is upstream's second transceiver.
	Python
)

// Transport moves the bytes.
type Transport uint8

// The transports. NIXLUCX and SHM are qualified.
const (
	TransportUnknown Transport = iota
	// NIXLUCX is NIXL with its UCX plugin.
	NIXLUCX
	// SHM is kvsettle's shared-memory transport.
	SHM
	// DirectUCX is UCX without NIXL.
	DirectUCX
	MPI
	Mooncake
	// NIXLLibfabric is NIXL with its libfabric plugin.
	NIXLLibfabric
)

// Executor is the loop that drives the transceiver.
type Executor uint8

// The executors. Only ExecutorCurrent is qualified.
const (
	ExecutorUnknown Executor = iota
	// ExecutorCurrent is upstream's present one, and kvsettle's.
	ExecutorCurrent
	// ExecutorLegacy is upstream's older one in C++.
	ExecutorLegacy
	AutoDeploy
)

// Cell is what a service is made of, as far as enabled mode depends on it. The
// zero Cell is qualified for nothing.
type Cell struct {
	Transceiver Transceiver
	Transport   Transport
	Executor    Executor
	// Staged: received data lands in preallocated slots (a positive
	// max_tokens_in_buffer), not in memory made for one request.
	Staged bool
	// ZeroCopyDestination: peers write straight into the KV blocks.
	ZeroCopyDestination bool
	// SourceDirect: a contiguous run is written from where it lies, past the source's
	// staging slot. That is allowed; it stands here so that a report can show it.
	SourceDirect bool
	// Deadline bounds a transfer (kv_transfer_timeout_ms); it must be positive.
	Deadline time.Duration
	// Overlap: transfer and computation overlap.
	Overlap bool
	// TP, PP and CP are the sizes of tensor, pipeline and context parallelism, each
	// at least 1. Any TP is qualified.
	TP, PP, CP int
	// AttentionDP: attention data parallelism.
	AttentionDP bool
	// DWDP: distributed weight data parallelism.
	DWDP bool
	// Connector: a KV connector is in use at the same time.
	Connector bool
	// Layerwise: KV is sent layer by layer while it is computed.
	Layerwise bool
	// BoundedAdmission: the number of admitted requests has a limit.
	BoundedAdmission bool
	// SynchronousReceive: GEN blocks its executor while it receives.
	SynchronousReceive bool
}

// NIXLCell is upstream's reference cell: NIXL with UCX, staged.
func NIXLCell(tp int, deadline time.Duration) Cell {
	return Cell{
		Transceiver: AsyncNative, Transport: NIXLUCX, Executor: ExecutorCurrent, Staged: true,
		Deadline: deadline, Overlap: true, TP: tp, PP: 1, CP: 1, BoundedAdmission: true,
	}
}

// SHMCell is kvsettle's own reference cell: shared memory, staged.
func SHMCell(tp int, deadline time.Duration) Cell {
	c := NIXLCell(tp, deadline)
	c.Transport = SHM
	return c
}

// Qualify returns why the cell is not qualified for enabled mode: every reason,
// in the order of the fields, or nil (KS-POL-7, KS-POL-8). The slice belongs to the caller.
func (c Cell) Qualify() []spec.Reason {
	var why []spec.Reason
	refuse := func(when bool, r spec.Reason) {
		if when {
			why = append(why, r)
		}
	}
	switch c.Transceiver {
	case AsyncNative:
	case Python:
		why = append(why, TransceiverPython)
	default:
		why = append(why, TransceiverOther)
	}
	switch c.Transport {
	case NIXLUCX, SHM:
	case DirectUCX:
		why = append(why, TransportDirectUCX)
	case MPI:
		why = append(why, TransportMPI)
	case Mooncake:
		why = append(why, TransportMooncake)
	case NIXLLibfabric:
		why = append(why, TransportLibfabric)
	default:
		why = append(why, TransportOther)
	}
	switch c.Executor {
	case ExecutorCurrent:
	case ExecutorLegacy:
		why = append(why, LegacyExecutor)
	case AutoDeploy:
		why = append(why, AutoDeployExecutor)
	default:
		why = append(why, ExecutorOther)
	}
	refuse(!c.Staged, NotStaged)
	refuse(c.ZeroCopyDestination, ZeroCopy)
	refuse(c.Deadline <= 0, NoDeadline)
	refuse(!c.Overlap, NoOverlap)
	refuse(c.TP < 1, TensorParallelism)
	refuse(c.PP != 1, PipelineParallelism)
	refuse(c.CP != 1, ContextParallelism)
	refuse(c.AttentionDP, AttentionDPOn)
	refuse(c.DWDP, DWDPOn)
	refuse(c.Connector, ConnectorOn)
	refuse(c.Layerwise, LayerwiseOn)
	refuse(!c.BoundedAdmission, AdmissionUnbounded)
	refuse(c.SynchronousReceive, ReceiveSynchronous)
	return why
}
