package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/native"
)

// The dialects of the tests: plain v2, and each extension alone and both.
var (
	plain    = Dialect{Version: 1, Caps: descriptor.CapCancel | descriptor.CapReject | descriptor.CapPeerCancel}
	recovers = Dialect{Version: 1, Caps: plain.Caps | descriptor.CapRecovery}
	quiesces = Dialect{Version: 1, Caps: plain.Caps | descriptor.CapQuiescence}
	both     = Dialect{Version: 1, Caps: recovers.Caps | quiesces.Caps}
)

func goldenKey() identity.TransferKey {
	k := identity.TransferKey{
		Ticket:     identity.Ticket{RequestID: 42, InstanceEpoch: 0x1122334455667788, Attempt: 3, Direction: identity.CTXToGEN},
		GenAttempt: 9, SourceRank: 1, DestinationRank: 2, SourceEpoch: 0xAAAA, DestinationEpoch: 0xBBBB,
	}
	for i := range k.Digest {
		k.Digest[i] = byte(i * 7)
	}
	return k
}

func goldenTerminal() Terminal {
	return Terminal{ID: 77, Key: goldenKey(), Evidence: SourceComplete}
}

func goldenReceipt() Receipt {
	r := Receipt{ID: 78, Key: goldenKey(), TerminalID: 77, Evidence: SourceComplete}
	for i := range r.SHA256 {
		r.SHA256[i] = byte(255 - i)
	}
	return r
}

// goldenOpen returns an OPEN whose native request has size bytes.
func goldenOpen(t testing.TB, size int) Open {
	v := native.RequestAndBufferInfo{
		AgentName: "gen-host-1_77_5555555555555555555_0__trtllm_protocol_v2_1_1_7_1_00000000deadbeef_1__trtllm_protocol_end",
		Address:   "10.0.0.2:40001",
		Info: native.RequestInfo{RequestID: 42, State: native.DataTransceiverState{
			Comm: &native.CommState{Kind: native.CommAgent},
			Cache: &native.CacheState{
				KVHeadsPerLayer: []int32{8, 8, 8, 8}, SizePerHead: 128, TokensPerBlock: 32, TP: 1, PP: 1, CP: 1, DPSize: 1,
				AttentionLayerNumPerPP: []int32{4}, DataType: native.BF16, KVFactor: 2, IndexerQuantBlockSize: native.DefaultQuantBlockSize,
			},
		}},
		Buffers: []native.MemoryDesc{{Addr: 1 << 40, Len: 1 << 29}}, Kinds: []native.BufferKind{native.KV}, HasMetadata: true,
	}
	v.Info.State.Comm.Agents = []native.AgentState{{Name: v.AgentName, ConnInfo: v.Address}}
	body, err := native.AppendRequestBody(nil, &v)
	require.NoError(t, err)
	if len(body) < size {
		v.Metadata = make([]byte, size-len(body))
		body, err = native.AppendRequestBody(nil, &v)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, size, len(body))
	return Open{ID: 5, Key: goldenKey(), Request: body}
}
