package native

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// RequestInfo says which request a GEN rank asks for and who it is.
type RequestInfo struct {
	// RequestID is the context request id.
	RequestID uint64
	// IndexFromEnd is the number of requested trailing blocks minus one; with an
	// empty LastBlockKey, 0 means everything.
	IndexFromEnd int32
	LastBlockKey BlockKey
	// State is the GEN rank's own state.
	State DataTransceiverState
}

// AppendRequestInfo appends the encoding of v (Mid2026).
func AppendRequestInfo(dst []byte, v *RequestInfo) ([]byte, error) {
	start := len(dst)
	dst = appendI32(appendU64(dst, v.RequestID), v.IndexFromEnd)
	dst, err := AppendBlockKey(dst, &v.LastBlockKey)
	if err != nil {
		return dst[:start], err
	}
	if dst, err = AppendState(dst, Mid2026, v.State); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// DecodeRequestInfo decodes exactly one RequestInfo (Mid2026). It owns its memory.
func DecodeRequestInfo(b []byte) (RequestInfo, error) {
	return decode("requestInfo", Mid2026, b, readRequestInfo)
}

func readRequestInfo(r *reader, dst *RequestInfo) {
	id, index := r.U64LE("requestId"), r.I32LE("indexFromEnd")
	r.Enter("lastBlockKey")
	if dst == nil {
		readBlockKey(r, nil)
	} else {
		dst.RequestID, dst.IndexFromEnd = id, index
		readBlockKey(r, &dst.LastBlockKey)
	}
	r.Leave()
	r.Enter("transState")
	if dst == nil {
		readState(r, nil)
	} else {
		readState(r, &dst.State)
	}
	r.Leave()
}

// BufferKind says what a buffer is for.
type BufferKind uint8

// The buffer kinds.
const (
	KV BufferKind = iota
	Indexer
	RNN
)

// RequestAndBufferInfo is variant 0, GEN to CTX: a request and the memory that
// may be written for it.
type RequestAndBufferInfo struct {
	// AgentName is the sender's own name; Address its connection info.
	AgentName, Address string
	Info               RequestInfo
	// Buffers and Kinds belong together index by index.
	Buffers []MemoryDesc
	// Metadata is the backend's agent metadata, present on first contact.
	HasMetadata bool
	Metadata    []byte
	// ConnIndex is the receiver's position among the sender's chosen connections.
	ConnIndex int32
	Kinds     []BufferKind
}

// AppendRequestBody appends v without the variant index, as control message OPEN
// embeds it. It refuses metadata that its flag hides.
func AppendRequestBody(dst []byte, v *RequestAndBufferInfo) ([]byte, error) {
	if !v.HasMetadata && len(v.Metadata) != 0 {
		return dst, refuse(wire.ReasonBadValue, reqEncode, "request.metadata", "set without its flag")
	}
	start := len(dst)
	dst = appendStr(appendStr(dst, v.AgentName), v.Address)
	dst, err := AppendRequestInfo(dst, &v.Info)
	if err != nil {
		return dst[:start], err
	}
	dst = appendU64(dst, uint64(len(v.Buffers)))
	for _, m := range v.Buffers {
		dst = AppendMemoryDesc(dst, m)
	}
	dst = appendBool(dst, v.HasMetadata)
	if v.HasMetadata {
		dst = append(appendU64(dst, uint64(len(v.Metadata))), v.Metadata...)
	}
	dst = appendI32(dst, v.ConnIndex)
	dst = appendU64(dst, uint64(len(v.Kinds)))
	for _, k := range v.Kinds {
		dst = append(dst, byte(k))
	}
	return dst, nil
}

// DecodeRequestBody decodes exactly one request without variant index. The
// result owns its memory.
func DecodeRequestBody(b []byte) (RequestAndBufferInfo, error) {
	return decode("request", Mid2026, b, readRequest)
}

func readRequest(r *reader, dst *RequestAndBufferInfo) {
	name, address := r.str("agentName"), r.str("address")
	r.Enter("requestInfo")
	if dst == nil {
		readRequestInfo(r, nil)
	} else {
		dst.AgentName, dst.Address = string(name), string(address)
		readRequestInfo(r, &dst.Info)
	}
	r.Leave()
	n := r.list("bufferDescs", sizeMemory, r.limits.Buffers)
	if dst == nil {
		r.Take("bufferDescs", n*sizeMemory)
	} else if n > 0 {
		dst.Buffers = make([]MemoryDesc, n)
		for i := range dst.Buffers {
			readMemory(r, &dst.Buffers[i])
		}
	}
	if r.Bool("hasMetadata") {
		at := r.Offset()
		blob := r.StrLE("metadata")
		if r.limits.Metadata > 0 && len(blob) > r.limits.Metadata {
			r.Fail(wire.ReasonTooLarge, reqLength, "metadata", at, strconv.Itoa(len(blob))+" above "+strconv.Itoa(r.limits.Metadata))
		}
		if dst != nil {
			dst.HasMetadata, dst.Metadata = true, append([]byte(nil), blob...)
		}
	}
	index := r.I32LE("validConnectionIdx")
	n = r.list("bufferKinds", 1, r.limits.Buffers)
	kinds := r.Take("bufferKinds", n)
	if dst != nil {
		dst.ConnIndex = index
		if n > 0 {
			dst.Kinds = make([]BufferKind, n)
			for i, k := range kinds {
				dst.Kinds[i] = BufferKind(k)
			}
		}
	}
}

// Validate checks everything about the request that needs no knowledge of the
// receiver: indices not negative, as many kinds as buffers and at least one, each
// kind known and at most once, no range that wraps, both states present and in
// range.
func (v *RequestAndBufferInfo) Validate() error {
	switch {
	case v.AgentName == "":
		return refuse(wire.ReasonOutOfRange, reqNames, "request.agentName", "empty")
	case v.Info.IndexFromEnd < 0:
		return refuse(wire.ReasonOutOfRange, reqIndices, "request.indexFromEnd", strconv.Itoa(int(v.Info.IndexFromEnd)))
	case v.ConnIndex < 0:
		return refuse(wire.ReasonOutOfRange, reqIndices, "request.validConnectionIdx", strconv.Itoa(int(v.ConnIndex)))
	case len(v.Buffers) == 0:
		return refuse(wire.ReasonMissing, reqKinds, "request.bufferDescs", "none")
	case len(v.Buffers) != len(v.Kinds):
		return refuse(wire.ReasonBadCount, reqKinds, "request.bufferKinds",
			strconv.Itoa(len(v.Kinds))+" kinds for "+strconv.Itoa(len(v.Buffers))+" buffers")
	}
	var seen [RNN + 1]bool
	for i, k := range v.Kinds {
		if k > RNN {
			return refuse(wire.ReasonOutOfRange, reqEnum, "request.bufferKinds", strconv.Itoa(int(k)))
		}
		if seen[k] {
			return refuse(wire.ReasonDuplicate, reqKinds, "request.bufferKinds", strconv.Itoa(int(k)))
		}
		seen[k] = true
		if err := v.Buffers[i].Validate(); err != nil {
			return err
		}
	}
	return v.Info.State.Validate()
}
