package native

import (
	"encoding/hex"
	"strconv"
)

// describe renders a decoded value in the form of the shared vectors: 64-bit
// numbers as decimal strings, text with one code point per byte.

type object = map[string]any

func text(s string) string {
	r := make([]rune, len(s))
	for i := range r {
		r[i] = rune(s[i])
	}
	return string(r)
}

func u64(v uint64) string { return strconv.FormatUint(v, 10) }

func list[T, U any](in []T, f func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

func same[T any](v T) T { return v }

func optional(has bool, v any) any {
	if !has {
		return nil
	}
	return v
}

func describe(p Profile, value any) any {
	switch v := value.(type) {
	case AgentState:
		return object{"agentName": text(v.Name), "agentNameHex": hex.EncodeToString([]byte(v.Name)), "connectionInfo": text(v.ConnInfo)}
	case CommState:
		return describeComm(&v)
	case CacheState:
		return describeCache(p, &v)
	case DataTransceiverState:
		return describeState(p, v)
	case MemoryDesc:
		return describeMemory(v)
	case BlockKey:
		return describeKey(v)
	case RequestInfo:
		return describeInfo(v)
	case Notification:
		return describeNotification(v)
	case ContextPhaseParams:
		o := object{
			"reqId": u64(v.RequestID), "firstGenTokens": list(v.FirstGenTokens, same[int32]),
			"draftTokens": optional(v.HasDraft, list(v.DraftTokens, same[int32])), "state": nil,
		}
		if v.State != nil {
			o["state"] = describeState(p, *v.State)
		}
		return o
	}
	return nil
}

func describeComm(c *CommState) any {
	o := object{"selfIdx": c.SelfIdx, "variantIndex": int(c.Kind)}
	switch c.Kind {
	case CommMPI:
		o["mpiRanks"] = list(c.Ranks, same[int32])
	case CommSocket:
		o["sockets"] = list(c.Sockets, func(s Socket) any { return object{"port": s.Port, "ip": text(s.IP)} })
	case CommAgent:
		o["agents"] = list(c.Agents, func(a AgentState) any {
			return object{"agentName": text(a.Name), "connectionInfo": text(a.ConnInfo)}
		})
	}
	return o
}

func describeCache(p Profile, c *CacheState) any {
	o := object{
		"nbKvHeadsPerLayer": list(c.KVHeadsPerLayer, same[int32]), "sizePerHead": c.SizePerHead,
		"tokensPerBlock": c.TokensPerBlock, "tensorParallelism": c.TP, "pipelineParallelism": c.PP,
		"contextParallelism": c.CP, "enableAttentionDP": c.AttentionDP, "dpRank": c.DPRank, "dpSize": c.DPSize,
		"attentionLayerNumPerPP": list(c.AttentionLayerNumPerPP, same[int32]), "dataType": c.DataType,
		"attentionType": c.AttentionType, "kvFactor": c.KVFactor, "enableBlockReuse": c.BlockReuse,
		"hasIndexerKCache": c.HasIndexer, "indexerDimPerHead": c.IndexerDimPerHead,
		"indexerKCacheQuantBlockSize": c.IndexerQuantBlockSize,
	}
	if p == Mid2026 {
		o["enablePartialReuse"] = c.PartialReuse
		o["indexerKCacheUseFp4"] = c.IndexerFP4
		o["rnn"] = nil
		if s := c.RNN; s != nil {
			o["rnn"] = object{
				"dState": s.DState, "dConv": s.DConv, "hiddenSize": s.HiddenSize, "headDim": s.HeadDim,
				"convDimSize": s.ConvDimSize, "nGroups": s.NGroups, "numLayers": s.NumLayers, "numHeads": s.NumHeads,
				"convSectionLayout": s.ConvSectionLayout, "convStateDataType": s.ConvDataType,
				"ssmStateDataType": s.SSMDataType, "layerNumPerPP": list(s.LayerNumPerPP, same[int32]),
			}
		}
	}
	return o
}

func describeState(p Profile, s DataTransceiverState) any {
	o := object{"commState": nil, "cacheState": nil}
	if s.Comm != nil {
		o["commState"] = describeComm(s.Comm)
	}
	if s.Cache != nil {
		o["cacheState"] = describeCache(p, s.Cache)
	}
	return o
}

func describeMemory(m MemoryDesc) any {
	return object{"addr": u64(m.Addr), "len": u64(m.Len), "deviceId": m.Device}
}

func describeKey(k BlockKey) any {
	return object{
		"usesExtraIds": k.UsesExtraIDs, "loraTaskId": optional(k.HasLora, u64(k.LoraTaskID)),
		"uniqueTokens": list(k.Tokens, func(t UniqueToken) any {
			return object{"tokenId": t.ID, "tokenExtraId": u64(t.Extra)}
		}),
		"extraKeys": list(k.ExtraKeys, func(m MmKey) any {
			return object{
				"hash": hex.EncodeToString(m.Hash[:]), "startOffset": m.StartOffset, "uuid": optional(m.HasUUID, text(m.UUID)),
			}
		}),
		"cacheSaltID": optional(k.HasSalt, u64(k.CacheSaltID)),
	}
}

func describeInfo(v RequestInfo) any {
	return object{
		"requestId": u64(v.RequestID), "indexFromEnd": v.IndexFromEnd,
		"lastBlockKey": describeKey(v.LastBlockKey), "transState": describeState(Mid2026, v.State),
	}
}

func describeNotification(n Notification) any {
	switch n.Kind {
	case KindSync:
		return object{"variantIndex": 1, "agentName": text(n.Sync.AgentName), "tag": n.Sync.Tag}
	case KindReady:
		return object{"variantIndex": 2, "agentName": text(n.Ready.AgentName), "tag": n.Ready.Tag, "isReady": n.Ready.Ready}
	}
	v := n.Request
	return object{
		"variantIndex": 0, "agentName": text(v.AgentName), "address": text(v.Address), "requestInfo": describeInfo(v.Info),
		"bufferDescs": list(v.Buffers, describeMemory), "metadataHex": optional(v.HasMetadata, hex.EncodeToString(v.Metadata)),
		"validConnectionIdx": v.ConnIndex, "bufferKinds": list(v.Kinds, func(k BufferKind) int { return int(k) }),
	}
}
