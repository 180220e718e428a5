package main

import (
	"crypto/sha256"

	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/native"
)

// The agents that the vectors speak of: one GEN rank and two CTX ranks, with
// session tokens as epochs.
const (
	genBase, genEpoch   = "gen-b-0_7_2001_0", uint64(0x0000000000005EED)
	ctxBase, ctxEpoch   = "ctx-a-0_7_1001_0", uint64(0x00000000DEADBEEF)
	ctx1Base, ctx1Epoch = "ctx-a-1_7_1001_1", uint64(0xFEDCBA9876543210)
	genConn             = "10.0.0.2:40001"
	ctxConn             = "10.0.0.1:50051"
)

const v2Caps = descriptor.CapCancel | descriptor.CapReject | descriptor.CapPeerCancel

func v1Descriptor(token uint64) descriptor.Descriptor {
	return descriptor.Descriptor{
		Min: 1, Max: 1, Caps: descriptor.CapCancel | descriptor.CapReject, Mode: descriptor.Enabled, Token: token, Schema: 1,
	}
}

func v2Descriptor(token uint64) descriptor.Descriptor {
	return descriptor.Descriptor{Min: 1, Max: 1, Caps: v2Caps, Mode: descriptor.Enabled, Token: token, ABI: 1, Schema: 2}
}

func v2Name(base string, token uint64) string {
	return base + string(descriptor.AppendRaw(nil, v2Descriptor(token)))
}

func aTicket() identity.Ticket {
	return identity.Ticket{RequestID: 42, InstanceEpoch: 0x1122334455667788, Attempt: 3, Direction: identity.CTXToGEN}
}

// aTopology is two CTX ranks and one GEN rank, both edges used.
func aTopology() identity.Topology {
	return identity.Topology{
		Direction: identity.CTXToGEN, Version: 1, Caps: v2Caps, ABI: 1,
		Sources:      []identity.Member{{Name: v2Name(ctxBase, ctxEpoch), Epoch: ctxEpoch}, {Name: v2Name(ctx1Base, ctx1Epoch), Epoch: ctx1Epoch}},
		Destinations: []identity.Member{{Name: v2Name(genBase, genEpoch), Epoch: genEpoch}},
		Edges:        []identity.Edge{{Source: 0}, {Source: 1}},
	}
}

// aKey is edge 1 -> 0 of aTopology, GEN attempt 9.
func aKey() identity.TransferKey {
	t := aTopology()
	digest, err := t.Digest()
	if err != nil {
		return identity.TransferKey{} // refused by every user of the key
	}
	return identity.TransferKey{
		Ticket: aTicket(), GenAttempt: 9, SourceRank: 1, SourceEpoch: ctx1Epoch, DestinationEpoch: genEpoch, Digest: digest,
	}
}

// keyBytes writes a key by its layout.
func keyBytes(k identity.TransferKey) []byte {
	return join(u64be(k.Ticket.RequestID), u64be(k.Ticket.InstanceEpoch), u64be(k.Ticket.Attempt), u64be(k.GenAttempt),
		[]byte{byte(k.Ticket.Direction)}, u32be(k.SourceRank), u32be(k.DestinationRank), u64be(k.SourceEpoch),
		u64be(k.DestinationEpoch), k.Digest[:])
}

func sum(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:]
}

func aCache() native.CacheState {
	return native.CacheState{
		KVHeadsPerLayer: []int32{8, 8, 8, 8}, SizePerHead: 128, TokensPerBlock: 32, TP: 2, PP: 1, CP: 1, DPSize: 1,
		AttentionLayerNumPerPP: []int32{4}, DataType: native.BF16, KVFactor: 2,
		IndexerQuantBlockSize: native.DefaultQuantBlockSize,
	}
}

// fullCache sets every field to a value of its own.
func fullCache() native.CacheState {
	return native.CacheState{
		KVHeadsPerLayer: []int32{1, 2, 3}, SizePerHead: 576, TokensPerBlock: 64, TP: 4, PP: 2, CP: 3, AttentionDP: true,
		DPRank: 1, DPSize: 4, AttentionLayerNumPerPP: []int32{2, 1}, DataType: native.FP8, AttentionType: native.AttentionMLA,
		KVFactor: 1, BlockReuse: true, HasIndexer: true, IndexerDimPerHead: 132, IndexerQuantBlockSize: 64,
	}
}

func aRNN() *native.RNNState {
	return &native.RNNState{
		DState: 128, DConv: 4, HiddenSize: 4096, HeadDim: 64, ConvDimSize: 4352, NGroups: 1, NumLayers: 24, NumHeads: 64,
		ConvSectionLayout: 1, ConvDataType: native.BF16, SSMDataType: native.Float, LayerNumPerPP: []int32{12, 12},
	}
}

func genState() native.DataTransceiverState {
	c := aCache()
	c.TP = 1
	return native.DataTransceiverState{
		Comm:  &native.CommState{Kind: native.CommAgent, Agents: []native.AgentState{{Name: v2Name(genBase, genEpoch), ConnInfo: genConn}}},
		Cache: &c,
	}
}

func ctxState() native.DataTransceiverState {
	c := aCache()
	return native.DataTransceiverState{
		Comm: &native.CommState{SelfIdx: 1, Kind: native.CommAgent, Agents: []native.AgentState{
			{Name: v2Name(ctxBase, ctxEpoch), ConnInfo: ctxConn}, {Name: v2Name(ctx1Base, ctx1Epoch), ConnInfo: ctxConn},
		}},
		Cache: &c,
	}
}

// aRequest is what the GEN rank asks of CTX rank 1: one KV buffer of 2 MiB.
func aRequest() native.RequestAndBufferInfo {
	return native.RequestAndBufferInfo{
		AgentName: v2Name(genBase, genEpoch), Address: genConn,
		Info:    native.RequestInfo{RequestID: 42, State: genState()},
		Buffers: []native.MemoryDesc{{Addr: 0x7F0000000000, Len: 2 << 20, Device: 1}}, Kinds: []native.BufferKind{native.KV},
		HasMetadata: true, Metadata: []byte{0, 1, 2, 0xFF}, ConnIndex: 1,
	}
}
