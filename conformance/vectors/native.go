package vectors

import (
	"encoding/hex"

	"github.com/kvsettle/kvsettle/wire/native"
)

var nativeCodecs = map[string]codec{
	"AgentState": nativeCodec(byNative, native.DecodeAgent,
		func(v *native.AgentState) ([]byte, error) { return native.AppendAgent(nil, *v), nil }, showAgent, nil),
	"CommState": nativeCodec(byNative, native.DecodeComm,
		func(v *native.CommState) ([]byte, error) { return native.AppendComm(nil, v) },
		showComm, (*native.CommState).Validate),
	"MemoryDesc": nativeCodec(onlyMid, native.DecodeMemoryDesc,
		func(v *native.MemoryDesc) ([]byte, error) { return native.AppendMemoryDesc(nil, *v), nil }, showMemory,
		func(v *native.MemoryDesc) error { return v.Validate() }),
	"BlockKey": nativeCodec(onlyMid, native.DecodeBlockKey,
		func(v *native.BlockKey) ([]byte, error) { return native.AppendBlockKey(nil, v) }, showBlockKey, nil),
	"RequestInfo": nativeCodec(onlyMid, native.DecodeRequestInfo,
		func(v *native.RequestInfo) ([]byte, error) { return native.AppendRequestInfo(nil, v) }, showInfo, nil),
	"RequestBody": nativeCodec(onlyMid, native.DecodeRequestBody,
		func(v *native.RequestAndBufferInfo) ([]byte, error) { return native.AppendRequestBody(nil, v) },
		func(v *native.RequestAndBufferInfo) any { return showRequest(v) }, (*native.RequestAndBufferInfo).Validate),
	"NotificationInfo": nativeCodec(onlyMid, native.DecodeNotification,
		func(v *native.Notification) ([]byte, error) { return native.AppendNotification(nil, v) },
		showNotification, validateNotification),
	"CacheState": profiledCodec(native.DecodeCache, native.AppendCache, showCache, (*native.CacheState).Validate),
	"DataTransceiverState": profiledCodec(native.DecodeState,
		func(dst []byte, p native.Profile, v *native.DataTransceiverState) ([]byte, error) {
			return native.AppendState(dst, p, *v)
		}, showState, (*native.DataTransceiverState).Validate),
	"ContextPhaseParams": profiledCodec(native.DecodeContextPhase, native.AppendContextPhase, showContextPhase, nil),
}

// nativeCodec makes the codec of a type whose bytes are the same in all profiles
// that have it.
func nativeCodec[T any](profiles []string, read func([]byte) (T, error), write func(*T) ([]byte, error),
	show func(*T) any, validate func(*T) error,
) codec {
	return codec{profiles: profiles, run: func(_ string, b []byte, _ map[string]any) (outcome, error) {
		v, err := read(b)
		if err != nil {
			return outcome{}, err
		}
		again, err := write(&v)
		if err != nil {
			return outcome{}, unwritten(err)
		}
		o := outcome{fields: show(&v), again: again}
		if validate != nil {
			o.checked, o.validate = true, validate(&v)
		}
		return o, nil
	}}
}

// profiledCodec makes the codec of a type whose bytes differ by profile.
func profiledCodec[T any](read func(native.Profile, []byte) (T, error),
	write func([]byte, native.Profile, *T) ([]byte, error), show func(native.Profile, *T) any, validate func(*T) error,
) codec {
	return codec{profiles: byNative, run: func(profile string, b []byte, fields map[string]any) (outcome, error) {
		p := nativeProfile(profile)
		one := nativeCodec(byNative,
			func(b []byte) (T, error) { return read(p, b) },
			func(v *T) ([]byte, error) { return write(nil, p, v) },
			func(v *T) any { return show(p, v) }, validate)
		return one.run(profile, b, fields)
	}}
}

func validateNotification(n *native.Notification) error {
	switch n.Kind {
	case native.KindSync:
		return n.Sync.Validate()
	case native.KindReady:
		return n.Ready.Validate(false)
	}
	return n.Request.Validate()
}

func showAgent(v *native.AgentState) any {
	return object{
		"agentName": latin(v.Name), "agentNameHex": hex.EncodeToString([]byte(v.Name)), "connectionInfo": latin(v.ConnInfo),
	}
}

func showI32(v int32) any { return v }

func showComm(c *native.CommState) any {
	o := object{"selfIdx": c.SelfIdx, "variantIndex": c.Kind}
	switch c.Kind {
	case native.CommMPI:
		o["mpiRanks"] = list(c.Ranks, showI32)
	case native.CommSocket:
		o["sockets"] = list(c.Sockets, func(s native.Socket) any { return object{"port": s.Port, "ip": latin(s.IP)} })
	case native.CommAgent:
		o["agents"] = list(c.Agents, func(a native.AgentState) any {
			return object{"agentName": latin(a.Name), "connectionInfo": latin(a.ConnInfo)}
		})
	}
	return o
}

func showCache(p native.Profile, c *native.CacheState) any {
	o := object{
		"nbKvHeadsPerLayer": list(c.KVHeadsPerLayer, showI32), "sizePerHead": c.SizePerHead,
		"tokensPerBlock": c.TokensPerBlock, "tensorParallelism": c.TP, "pipelineParallelism": c.PP,
		"contextParallelism": c.CP, "enableAttentionDP": c.AttentionDP, "dpRank": c.DPRank, "dpSize": c.DPSize,
		"attentionLayerNumPerPP": list(c.AttentionLayerNumPerPP, showI32), "dataType": c.DataType,
		"attentionType": c.AttentionType, "kvFactor": c.KVFactor, "enableBlockReuse": c.BlockReuse,
		"hasIndexerKCache": c.HasIndexer, "indexerDimPerHead": c.IndexerDimPerHead,
		"indexerKCacheQuantBlockSize": c.IndexerQuantBlockSize,
	}
	if p == native.Late2025 {
		return o
	}
	o["enablePartialReuse"], o["indexerKCacheUseFp4"], o["rnn"] = c.PartialReuse, c.IndexerFP4, nil
	if s := c.RNN; s != nil {
		o["rnn"] = object{
			"dState": s.DState, "dConv": s.DConv, "hiddenSize": s.HiddenSize, "headDim": s.HeadDim,
			"convDimSize": s.ConvDimSize, "nGroups": s.NGroups, "numLayers": s.NumLayers, "numHeads": s.NumHeads,
			"convSectionLayout": s.ConvSectionLayout, "convStateDataType": s.ConvDataType,
			"ssmStateDataType": s.SSMDataType, "layerNumPerPP": list(s.LayerNumPerPP, showI32),
		}
	}
	return o
}

func showState(p native.Profile, s *native.DataTransceiverState) any {
	o := object{"commState": nil, "cacheState": nil}
	if s.Comm != nil {
		o["commState"] = showComm(s.Comm)
	}
	if s.Cache != nil {
		o["cacheState"] = showCache(p, s.Cache)
	}
	return o
}

func showMemory(m *native.MemoryDesc) any {
	return object{"addr": u64(m.Addr), "len": u64(m.Len), "deviceId": m.Device}
}

func showBlockKey(k *native.BlockKey) any {
	return object{
		"usesExtraIds": k.UsesExtraIDs, "loraTaskId": optional(k.HasLora, u64(k.LoraTaskID)),
		"uniqueTokens": list(k.Tokens, func(t native.UniqueToken) any {
			return object{"tokenId": t.ID, "tokenExtraId": u64(t.Extra)}
		}),
		"extraKeys": list(k.ExtraKeys, func(m native.MmKey) any {
			return object{
				"hash": hex.EncodeToString(m.Hash[:]), "startOffset": m.StartOffset, "uuid": optional(m.HasUUID, latin(m.UUID)),
			}
		}),
		"cacheSaltID": optional(k.HasSalt, u64(k.CacheSaltID)),
	}
}

func showInfo(v *native.RequestInfo) any {
	return object{
		"requestId": u64(v.RequestID), "indexFromEnd": v.IndexFromEnd, "lastBlockKey": showBlockKey(&v.LastBlockKey),
		"transState": showState(native.Mid2026, &v.State),
	}
}

func showRequest(v *native.RequestAndBufferInfo) object {
	return object{
		"agentName": latin(v.AgentName), "address": latin(v.Address), "requestInfo": showInfo(&v.Info),
		"bufferDescs":        list(v.Buffers, func(m native.MemoryDesc) any { return showMemory(&m) }),
		"metadataHex":        optional(v.HasMetadata, hex.EncodeToString(v.Metadata)),
		"validConnectionIdx": v.ConnIndex, "bufferKinds": list(v.Kinds, func(k native.BufferKind) any { return k }),
	}
}

func showNotification(n *native.Notification) any {
	switch n.Kind {
	case native.KindSync:
		return object{"variantIndex": 1, "agentName": latin(n.Sync.AgentName), "tag": n.Sync.Tag}
	case native.KindReady:
		return object{"variantIndex": 2, "agentName": latin(n.Ready.AgentName), "tag": n.Ready.Tag, "isReady": n.Ready.Ready}
	}
	o := showRequest(&n.Request)
	o["variantIndex"] = 0
	return o
}

func showContextPhase(p native.Profile, v *native.ContextPhaseParams) any {
	o := object{
		"reqId": u64(v.RequestID), "firstGenTokens": list(v.FirstGenTokens, showI32),
		"draftTokens": optional(v.HasDraft, list(v.DraftTokens, showI32)), "state": nil,
	}
	if v.State != nil {
		o["state"] = showState(p, v.State)
	}
	return o
}
