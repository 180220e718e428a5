package native

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// layout writes the native encodings a second time, field by field with a name
// for every byte, so that the tests can say which field a changed bit was in, and
// so that the encoders are compared with something that is not themselves.
type layout struct {
	b     []byte
	names []string
}

func (l *layout) put(name string, b ...byte) {
	l.b = append(l.b, b...)
	for range b {
		l.names = append(l.names, name)
	}
}

func (l *layout) i32(name string, v int32) {
	l.put(name, binary.LittleEndian.AppendUint32(nil, uint32(v))...)
}

func (l *layout) u64(name string, v uint64) {
	l.put(name, binary.LittleEndian.AppendUint64(nil, v)...)
}

func (l *layout) flag(name string, v bool) {
	if v {
		l.put(name, 1)
	} else {
		l.put(name, 0)
	}
}

func (l *layout) str(name string, s string) {
	l.u64(name+" length", uint64(len(s)))
	l.put(name, []byte(s)...)
}

func (l *layout) i32s(name string, v []int32) {
	l.u64(name+" count", uint64(len(v)))
	for _, x := range v {
		l.i32(name, x)
	}
}

func (l *layout) comm(c *CommState) {
	l.i32("selfIdx", c.SelfIdx)
	l.u64("comm index", uint64(c.Kind))
	switch c.Kind {
	case CommMPI:
		l.i32s("rank", c.Ranks)
	case CommSocket:
		l.u64("sockets count", uint64(len(c.Sockets)))
		for _, s := range c.Sockets {
			l.put("port", byte(s.Port), byte(s.Port>>8))
			l.str("ip", s.IP)
		}
	case CommAgent:
		l.u64("agents count", uint64(len(c.Agents)))
		for _, a := range c.Agents {
			l.str("agentName", a.Name)
			l.str("connectionInfo", a.ConnInfo)
		}
	}
}

func (l *layout) cache(p Profile, c *CacheState) {
	l.i32s("nbKvHeadsPerLayer", c.KVHeadsPerLayer)
	l.i32("sizePerHead", c.SizePerHead)
	l.i32("tokensPerBlock", c.TokensPerBlock)
	l.i32("tensorParallelism", c.TP)
	l.i32("pipelineParallelism", c.PP)
	l.i32("contextParallelism", c.CP)
	l.flag("enableAttentionDP", c.AttentionDP)
	l.i32("dpRank", c.DPRank)
	l.i32("dpSize", c.DPSize)
	l.i32s("attentionLayerNumPerPP", c.AttentionLayerNumPerPP)
	l.i32("dataType", int32(c.DataType))
	l.put("attentionType", c.AttentionType)
	l.i32("kvFactor", c.KVFactor)
	l.flag("enableBlockReuse", c.BlockReuse)
	if p == Mid2026 {
		l.flag("enablePartialReuse", c.PartialReuse)
	}
	l.flag("hasIndexerKCache", c.HasIndexer)
	l.i32("indexerDimPerHead", c.IndexerDimPerHead)
	l.i32("indexerKCacheQuantBlockSize", c.IndexerQuantBlockSize)
	if p != Mid2026 {
		return
	}
	l.flag("indexerKCacheUseFp4", c.IndexerFP4)
	l.flag("hasRnn", c.RNN != nil)
	if s := c.RNN; s != nil {
		for _, v := range []int32{
			s.DState, s.DConv, s.HiddenSize, s.HeadDim, s.ConvDimSize, s.NGroups, s.NumLayers, s.NumHeads,
			s.ConvSectionLayout, int32(s.ConvDataType), int32(s.SSMDataType),
		} {
			l.i32("rnn number", v)
		}
		l.i32s("rnn layerNumPerPP", s.LayerNumPerPP)
	}
}

func (l *layout) state(p Profile, s DataTransceiverState) {
	l.flag("hasCommState", s.Comm != nil)
	if s.Comm != nil {
		l.comm(s.Comm)
	}
	l.flag("hasCacheState", s.Cache != nil)
	if s.Cache != nil {
		l.cache(p, s.Cache)
	}
}

func (l *layout) key(k BlockKey) {
	l.flag("usesExtraIds", k.UsesExtraIDs)
	l.flag("hasLoraTaskId", k.HasLora)
	if k.HasLora {
		l.u64("loraTaskId", k.LoraTaskID)
	}
	l.u64("uniqueTokens count", uint64(len(k.Tokens)))
	for _, t := range k.Tokens {
		l.i32("tokenId", t.ID)
		l.u64("tokenExtraId", t.Extra)
	}
	l.u64("extraKeys count", uint64(len(k.ExtraKeys)))
	for _, m := range k.ExtraKeys {
		l.put("hash", m.Hash[:]...)
		l.i32("startOffset", m.StartOffset)
		l.flag("hasUuid", m.HasUUID)
		if m.HasUUID {
			l.str("uuid", m.UUID)
		}
	}
	l.flag("hasCacheSaltID", k.HasSalt)
	if k.HasSalt {
		l.u64("cacheSaltID", k.CacheSaltID)
	}
}

func (l *layout) notification(n Notification) {
	l.u64("variant index", uint64(n.Kind))
	switch n.Kind {
	case KindRequest:
		l.request(n.Request)
	case KindSync:
		l.str("agentName", n.Sync.AgentName)
		l.i32("tag", n.Sync.Tag)
	case KindReady:
		l.str("agentName", n.Ready.AgentName)
		l.i32("tag", n.Ready.Tag)
		l.flag("isReady", n.Ready.Ready)
	}
}

func (l *layout) request(v RequestAndBufferInfo) {
	l.str("agentName", v.AgentName)
	l.str("address", v.Address)
	l.u64("requestId", v.Info.RequestID)
	l.i32("indexFromEnd", v.Info.IndexFromEnd)
	l.key(v.Info.LastBlockKey)
	l.state(Mid2026, v.Info.State)
	l.u64("bufferDescs count", uint64(len(v.Buffers)))
	for _, m := range v.Buffers {
		l.u64("addr", m.Addr)
		l.u64("len", m.Len)
		l.put("deviceId", binary.LittleEndian.AppendUint32(nil, m.Device)...)
	}
	l.flag("hasMetadata", v.HasMetadata)
	if v.HasMetadata {
		l.str("metadata", string(v.Metadata))
	}
	l.i32("validConnectionIdx", v.ConnIndex)
	l.u64("bufferKinds count", uint64(len(v.Kinds)))
	for _, k := range v.Kinds {
		l.put("bufferKind", byte(k))
	}
}

// golden holds one message of each native kind with every optional part there.
func golden() []Notification {
	v := validRequest()
	v.Info.LastBlockKey = BlockKey{
		UsesExtraIDs: true, HasLora: true, LoraTaskID: 17, Tokens: []UniqueToken{{11, 4}, {-1, 1 << 63}},
		ExtraKeys: []MmKey{{Hash: hash(1), StartOffset: -3, HasUUID: true, UUID: "uuid-1"}, {Hash: hash(2), StartOffset: 64}},
		HasSalt:   true, CacheSaltID: 777,
	}
	v.Info.State.Comm.Agents = append(v.Info.State.Comm.Agents, AgentState{"gen-2", "10.0.0.3:5000"})
	v.HasMetadata, v.Metadata = true, []byte("NIXL")
	return []Notification{
		{Kind: KindRequest, Request: v},
		{Kind: KindSync, Sync: Sync{"gen", DataTag(42)}},
		{Kind: KindReady, Ready: Ready{"gen", DataTag(42), true}},
	}
}

func hash(n byte) (h [32]byte) {
	for i := range h {
		h[i] = n*0x55 + byte(i)*7
	}
	return h
}

func goldenRequest(t testing.TB) []byte {
	b, err := AppendRequestBody(nil, &golden()[0].Request)
	require.NoError(t, err)
	return b
}

func goldenPhase() ContextPhaseParams {
	return ContextPhaseParams{
		RequestID: 42, FirstGenTokens: []int32{17, -1}, HasDraft: true, DraftTokens: []int32{5},
		State: &DataTransceiverState{Comm: &CommState{Kind: CommSocket, Sockets: []Socket{{80, "10.0.0.1"}}},
			Cache: &CacheState{KVHeadsPerLayer: []int32{1}, PP: 1, AttentionLayerNumPerPP: []int32{1}}},
	}
}

func (l *layout) phase(v ContextPhaseParams) {
	l.u64("reqId", v.RequestID)
	l.i32s("firstGenToken", v.FirstGenTokens)
	l.flag("hasDraftTokens", v.HasDraft)
	if v.HasDraft {
		l.i32s("draftToken", v.DraftTokens)
	}
	l.flag("hasState", v.State != nil)
	if v.State != nil {
		l.state(Late2025, *v.State)
	}
}
