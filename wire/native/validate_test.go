package native

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

func validRequest() RequestAndBufferInfo {
	return RequestAndBufferInfo{
		AgentName: "gen", Address: "10.0.0.2:5000",
		Info: RequestInfo{RequestID: 7, State: DataTransceiverState{
			Comm: &CommState{Kind: CommAgent, Agents: []AgentState{{"gen", "10.0.0.2:5000"}}},
			Cache: &CacheState{
				KVHeadsPerLayer: []int32{8, 8}, SizePerHead: 128, TokensPerBlock: 32, TP: 1, PP: 1, CP: 1, DPSize: 1,
				AttentionLayerNumPerPP: []int32{2}, DataType: BF16, KVFactor: 2, IndexerQuantBlockSize: DefaultQuantBlockSize,
				RNN: &RNNState{LayerNumPerPP: []int32{1}},
			},
		}},
		Buffers: []MemoryDesc{{Addr: 4096, Len: 64}, {Addr: 8192, Len: 64}}, Kinds: []BufferKind{KV, RNN},
	}
}

func TestValidate(t *testing.T) {
	spec.Covers(t, "KS-NAT-12", "KS-NAT-13", "KS-NAT-18", "KS-NAT-20", "KS-NAT-23", "KS-NAT-24")
	valid := validRequest()
	require.NoError(t, valid.Validate())
	for name, c := range map[string]struct {
		reason any
		req    string
		change func(*RequestAndBufferInfo)
	}{
		"no name":          {wire.ReasonOutOfRange, "KS-NAT-24", func(v *RequestAndBufferInfo) { v.AgentName = "" }},
		"index from end":   {wire.ReasonOutOfRange, "KS-NAT-13", func(v *RequestAndBufferInfo) { v.Info.IndexFromEnd = -1 }},
		"connection":       {wire.ReasonOutOfRange, "KS-NAT-13", func(v *RequestAndBufferInfo) { v.ConnIndex = -1 }},
		"no buffers":       {wire.ReasonMissing, "KS-NAT-23", func(v *RequestAndBufferInfo) { v.Buffers = nil }},
		"fewer kinds":      {wire.ReasonBadCount, "KS-NAT-23", func(v *RequestAndBufferInfo) { v.Kinds = v.Kinds[:1] }},
		"unknown kind":     {wire.ReasonOutOfRange, "KS-NAT-18", func(v *RequestAndBufferInfo) { v.Kinds[1] = 3 }},
		"kind twice":       {wire.ReasonDuplicate, "KS-NAT-23", func(v *RequestAndBufferInfo) { v.Kinds[1] = KV }},
		"empty buffer":     {wire.ReasonOutOfRange, "KS-NAT-20", func(v *RequestAndBufferInfo) { v.Buffers[1].Len = 0 }},
		"wrapping buffer":  {wire.ReasonOutOfRange, "KS-NAT-20", func(v *RequestAndBufferInfo) { v.Buffers[1].Addr = math.MaxUint64 - 62 }},
		"one byte too far": {wire.ReasonOutOfRange, "KS-NAT-20", func(v *RequestAndBufferInfo) { v.Buffers[1].Addr = math.MaxUint64 - 63 }},
		"no comm":          {wire.ReasonMissing, "KS-NAT-12", func(v *RequestAndBufferInfo) { v.Info.State.Comm = nil }},
		"no cache":         {wire.ReasonMissing, "KS-NAT-12", func(v *RequestAndBufferInfo) { v.Info.State.Cache = nil }},
		"mpi":              {wire.ReasonBadValue, "KS-NAT-12", func(v *RequestAndBufferInfo) { v.Info.State.Comm = &CommState{Kind: CommMPI, Ranks: []int32{0}} }},
		"self":             {wire.ReasonOutOfRange, "KS-NAT-13", func(v *RequestAndBufferInfo) { v.Info.State.Comm.SelfIdx = 1 }},
		"self unset":       {wire.ReasonOutOfRange, "KS-NAT-13", func(v *RequestAndBufferInfo) { v.Info.State.Comm.SelfIdx = -1 }},
		"nameless agent":   {wire.ReasonOutOfRange, "KS-NAT-24", func(v *RequestAndBufferInfo) { v.Info.State.Comm.Agents[0].Name = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			v := validRequest()
			c.change(&v)
			e := requireRefused(t, v.Validate(), 0)
			require.Equal(t, c.reason, e.Reason)
			require.Equal(t, c.req, e.Req)
		})
	}
}

func TestValidateCache(t *testing.T) {
	spec.Covers(t, "KS-NAT-18", "KS-NAT-19")
	for name, c := range map[string]struct {
		req    string
		change func(*CacheState)
	}{
		"heads":         {"KS-NAT-19", func(c *CacheState) { c.KVHeadsPerLayer[1] = -1 }},
		"head size":     {"KS-NAT-19", func(c *CacheState) { c.SizePerHead = 0 }},
		"block size":    {"KS-NAT-19", func(c *CacheState) { c.TokensPerBlock = -1 }},
		"tp":            {"KS-NAT-19", func(c *CacheState) { c.TP = 0 }},
		"pp":            {"KS-NAT-19", func(c *CacheState) { c.PP = 0 }},
		"cp":            {"KS-NAT-19", func(c *CacheState) { c.CP = 0 }},
		"dp size":       {"KS-NAT-19", func(c *CacheState) { c.DPSize = 0 }},
		"dp rank":       {"KS-NAT-19", func(c *CacheState) { c.DPRank = 1 }},
		"data type":     {"KS-NAT-18", func(c *CacheState) { c.DataType = E8M0 + 1 }},
		"neg data type": {"KS-NAT-18", func(c *CacheState) { c.DataType = -1 }},
		"attention":     {"KS-NAT-18", func(c *CacheState) { c.AttentionType = 2 }},
		"kv factor":     {"KS-NAT-19", func(c *CacheState) { c.KVFactor = 0 }},
		"indexer dim":   {"KS-NAT-19", func(c *CacheState) { c.IndexerDimPerHead = -1 }},
		"quant block":   {"KS-NAT-19", func(c *CacheState) { c.IndexerQuantBlockSize = -1 }},
		"layers":        {"KS-NAT-19", func(c *CacheState) { c.AttentionLayerNumPerPP = []int32{1, 1} }},
		"neg layers":    {"KS-NAT-19", func(c *CacheState) { c.AttentionLayerNumPerPP[0] = -1 }},
		"rnn scalar":    {"KS-NAT-19", func(c *CacheState) { c.RNN.HeadDim = -1 }},
		"rnn layout":    {"KS-NAT-18", func(c *CacheState) { c.RNN.ConvSectionLayout = 3 }},
		"rnn conv type": {"KS-NAT-18", func(c *CacheState) { c.RNN.ConvDataType = 12 }},
		"rnn ssm type":  {"KS-NAT-18", func(c *CacheState) { c.RNN.SSMDataType = 12 }},
		"rnn layers":    {"KS-NAT-19", func(c *CacheState) { c.RNN.LayerNumPerPP = []int32{1, 2} }},
	} {
		t.Run(name, func(t *testing.T) {
			v := validRequest()
			c.change(v.Info.State.Cache)
			require.Equal(t, c.req, requireRefused(t, v.Info.State.Cache.Validate(), 0).Req)
			require.Error(t, v.Validate())
		})
	}
	v := validRequest()
	v.Info.State.Cache.AttentionLayerNumPerPP = nil
	require.NoError(t, v.Validate())
}

func TestValidateComm(t *testing.T) {
	require.NoError(t, (&CommState{Kind: CommMPI, Ranks: []int32{3}}).Validate())
	require.NoError(t, (&CommState{Kind: CommSocket, Sockets: make([]Socket, 2), SelfIdx: 1}).Validate())
	require.Error(t, (&CommState{Kind: CommMPI, Ranks: []int32{0, -3}}).Validate())
	require.Error(t, (&CommState{}).Validate())
	require.Zero(t, (&CommState{}).Count())
}

func TestTags(t *testing.T) {
	spec.Covers(t, "KS-TAG-1", "KS-TAG-6")
	require.EqualValues(t, 10795, DataTag(42))
	require.EqualValues(t, 43, DataTag(0))
	require.EqualValues(t, 1048363, DataTag(math.MaxUint64))
	require.Equal(t, DataTag(1), DataTag(4097))
	for id := range uint64(4096) {
		require.NoError(t, ValidateTag(DataTag(id), false))
	}
	for _, tag := range []int32{-1, 0, 42, 44, 298, 1048363 + 256, math.MinInt32, math.MaxInt32} {
		requireRefused(t, ValidateTag(tag, false), 0)
		require.Error(t, Sync{Tag: tag}.Validate())
		require.Equal(t, tag == 42, Ready{Tag: tag}.Validate(true) == nil)
	}
	require.NoError(t, Sync{Tag: 299}.Validate())
	require.NoError(t, Ready{Tag: 299}.Validate(false))
}

func TestAddress(t *testing.T) {
	spec.Covers(t, "KS-NAT-21")
	require.NoError(t, ValidateAddress("10.0.0.1:80"))
	requireRefused(t, ValidateAddress("[::1]:80"), 0)
	requireRefused(t, ValidateAddress("/run/socket"), 0)
}

func TestNames(t *testing.T) {
	spec.Covers(t, "KS-NAT-15", "KS-DESC-14")
	const gen, ctx = "gen__trtllm_protocol_v1_1_1_3_1_0000000000000001__trtllm_protocol_end", "ctx"
	request := validRequest()
	request.AgentName = gen
	for _, n := range []Notification{
		{Kind: KindRequest, Request: request}, {Kind: KindSync, Sync: Sync{gen, DataTag(7)}},
		{Kind: KindReady, Ready: Ready{AgentName: gen, Tag: DataTag(7)}},
	} {
		b, err := AppendNotification(nil, &n)
		require.NoError(t, err)
		got, err := DecodeNotification(b)
		require.NoError(t, err)
		sender, receiver := gen, ctx
		if n.Kind != KindRequest {
			sender, receiver = ctx, gen
		}
		require.NoError(t, got.CheckNames(sender, receiver), "the whole name, descriptor included")
		for _, other := range []string{ctx, "gen", gen + "x", ""} {
			if n.Kind == KindRequest {
				sender = other
			} else {
				receiver = other
			}
			e := requireRefused(t, got.CheckNames(sender, receiver), 0)
			require.Equal(t, wire.ReasonBadValue, e.Reason)
			require.Equal(t, "KS-NAT-15", e.Req)
		}
	}
}
