package native

import (
	"pgregory.net/rapid"
)

// Generators of values of every type, in range or not: decoding looks at
// structure only. Empty lists are nil, as decoding returns them.

func genText(t *rapid.T, name string) string {
	return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, name))
}

func genList[T any](t *rapid.T, name string, one func(*rapid.T) T) []T {
	var out []T
	for range rapid.IntRange(0, 4).Draw(t, name) {
		out = append(out, one(t))
	}
	return out
}

func genI32(t *rapid.T) int32 { return rapid.Int32().Draw(t, "i32") }

func genAgent(t *rapid.T) AgentState { return AgentState{genText(t, "name"), genText(t, "conn")} }

func genComm(t *rapid.T) CommState {
	c := CommState{SelfIdx: genI32(t), Kind: CommKind(rapid.IntRange(1, 3).Draw(t, "kind"))}
	switch c.Kind {
	case CommMPI:
		c.Ranks = genList(t, "ranks", genI32)
	case CommSocket:
		c.Sockets = genList(t, "sockets", func(t *rapid.T) Socket {
			return Socket{rapid.Uint16().Draw(t, "port"), genText(t, "ip")}
		})
	case CommAgent:
		c.Agents = genList(t, "agents", genAgent)
	}
	return c
}

func genCache(p Profile) func(t *rapid.T) CacheState {
	return func(t *rapid.T) CacheState {
		c := CacheState{
			KVHeadsPerLayer: genList(t, "heads", genI32), SizePerHead: genI32(t), TokensPerBlock: genI32(t),
			TP: genI32(t), PP: genI32(t), CP: genI32(t), AttentionDP: rapid.Bool().Draw(t, "dp"), DPRank: genI32(t), DPSize: genI32(t),
			AttentionLayerNumPerPP: genList(t, "layers", genI32), DataType: DataType(genI32(t)),
			AttentionType: rapid.Uint8().Draw(t, "attention"), KVFactor: genI32(t), BlockReuse: rapid.Bool().Draw(t, "reuse"),
			HasIndexer: rapid.Bool().Draw(t, "indexer"), IndexerDimPerHead: genI32(t), IndexerQuantBlockSize: genI32(t),
		}
		if p == Mid2026 {
			c.PartialReuse, c.IndexerFP4 = rapid.Bool().Draw(t, "partial"), rapid.Bool().Draw(t, "fp4")
			if rapid.Bool().Draw(t, "rnn") {
				c.RNN = &RNNState{}
				for _, v := range c.RNN.scalars() {
					*v = genI32(t)
				}
				c.RNN.LayerNumPerPP = genList(t, "rnnLayers", genI32)
			}
		}
		return c
	}
}

func genState(p Profile) func(t *rapid.T) DataTransceiverState {
	return func(t *rapid.T) DataTransceiverState {
		var s DataTransceiverState
		if rapid.Bool().Draw(t, "hasComm") {
			c := genComm(t)
			s.Comm = &c
		}
		if rapid.Bool().Draw(t, "hasCache") {
			c := genCache(p)(t)
			s.Cache = &c
		}
		return s
	}
}

func genKey(t *rapid.T) BlockKey {
	k := BlockKey{
		UsesExtraIDs: rapid.Bool().Draw(t, "extra"), HasLora: rapid.Bool().Draw(t, "lora"), HasSalt: rapid.Bool().Draw(t, "salt"),
		Tokens: genList(t, "tokens", func(t *rapid.T) UniqueToken { return UniqueToken{genI32(t), rapid.Uint64().Draw(t, "x")} }),
		ExtraKeys: genList(t, "keys", func(t *rapid.T) MmKey {
			m := MmKey{StartOffset: genI32(t), HasUUID: rapid.Bool().Draw(t, "uuid")}
			copy(m.Hash[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash"))
			if m.HasUUID {
				m.UUID = genText(t, "uuid")
			}
			return m
		}),
	}
	if k.HasLora {
		k.LoraTaskID = rapid.Uint64().Draw(t, "loraTaskId")
	}
	if k.HasSalt {
		k.CacheSaltID = rapid.Uint64().Draw(t, "salt")
	}
	return k
}

func genInfo(t *rapid.T) RequestInfo {
	return RequestInfo{rapid.Uint64().Draw(t, "id"), genI32(t), genKey(t), genState(Mid2026)(t)}
}

func genMemory(t *rapid.T) MemoryDesc {
	return MemoryDesc{rapid.Uint64().Draw(t, "addr"), rapid.Uint64().Draw(t, "len"), rapid.Uint32().Draw(t, "device")}
}

func genRequest(t *rapid.T) RequestAndBufferInfo {
	v := RequestAndBufferInfo{
		AgentName: genText(t, "name"), Address: genText(t, "address"), Info: genInfo(t),
		Buffers: genList(t, "buffers", genMemory), HasMetadata: rapid.Bool().Draw(t, "meta"), ConnIndex: genI32(t),
		Kinds: genList(t, "kinds", func(t *rapid.T) BufferKind { return BufferKind(rapid.Uint8().Draw(t, "kind")) }),
	}
	if v.HasMetadata {
		v.Metadata = rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "metadata")
		if len(v.Metadata) == 0 {
			v.Metadata = nil
		}
	}
	return v
}

func genNotification(t *rapid.T) Notification {
	n := Notification{Kind: NotificationKind(rapid.IntRange(0, 2).Draw(t, "variant"))}
	switch n.Kind {
	case KindRequest:
		n.Request = genRequest(t)
	case KindSync:
		n.Sync = Sync{genText(t, "name"), genI32(t)}
	case KindReady:
		n.Ready = Ready{genText(t, "name"), genI32(t), rapid.Bool().Draw(t, "ready")}
	}
	return n
}

func genContextPhase(t *rapid.T) ContextPhaseParams {
	v := ContextPhaseParams{
		RequestID: rapid.Uint64().Draw(t, "id"), FirstGenTokens: genList(t, "first", genI32), HasDraft: rapid.Bool().Draw(t, "draft"),
	}
	if v.HasDraft {
		v.DraftTokens = genList(t, "drafts", genI32)
	}
	if rapid.Bool().Draw(t, "hasState") {
		s := genState(Late2025)(t)
		v.State = &s
	}
	return v
}
