package main

import (
	"math"

	"github.com/kvsettle/kvsettle/conformance/vectors"
	"github.com/kvsettle/kvsettle/wire/native"
)

func nativeMessages(s *set) {
	memories(s)
	blockKeys(s)
	requests(s)
	notifications(s)
	contextPhases(s)
}

const mid = vectors.Mid2026

func memories(s *set) {
	m := join(u64le(0x7F0000000000), u64le(2<<20), u32le(3))
	s.good("MemoryDesc", mid, "mem-usual", "2 MiB on device 3", "KS-NAT-3 KS-NAT-10", m, "ok")
	s.good("MemoryDesc", mid, "mem-largest", "ends at the last address", "KS-NAT-20", join(u64le(1), u64le(math.MaxUint64-1), u32le(math.MaxUint32)), "ok")
	s.good("MemoryDesc", mid, "mem-zero", "length 0", "KS-NAT-8 KS-NAT-20", join(u64le(1), u64le(0), u32le(0)), "out-of-range")
	s.good("MemoryDesc", mid, "mem-wraps", "address plus length is 2^64 + 1", "KS-NAT-8 KS-NAT-20", join(u64le(2), u64le(math.MaxUint64), u32le(0)), "out-of-range")
	s.good("MemoryDesc", mid, "mem-to-the-end", "address plus length is 2^64", "KS-NAT-8 KS-NAT-20", join(u64le(1), u64le(math.MaxUint64), u32le(0)), "out-of-range")
	s.bad("MemoryDesc", mid, "mem-cut", "19 of 20 bytes", "KS-NAT-2", cut(m, 19), "short-input", 16)
	s.bad("MemoryDesc", mid, "mem-trailing", "21 bytes", "KS-NAT-2", join(m, []byte{0}), "trailing-bytes", 20)
}

func blockKeys(s *set) {
	write := func(id string, k native.BlockKey) []byte { return s.must(id)(native.AppendBlockKey(nil, &k)) }
	const typ = "BlockKey"
	full := native.BlockKey{
		UsesExtraIDs: true, HasLora: true, LoraTaskID: math.MaxUint64,
		Tokens: []native.UniqueToken{{ID: -1, Extra: math.MaxUint64}, {ID: 32000}},
		ExtraKeys: []native.MmKey{
			{Hash: [32]byte{0: 1, 31: 0xFF}, StartOffset: -2}, {StartOffset: 7, HasUUID: true, UUID: "image-1"}, {HasUUID: true},
		},
		HasSalt: true, CacheSaltID: 1 << 63,
	}
	b := write("block-full", full)
	s.good(typ, mid, "block-empty", "the empty key of a request without selective transfer", "KS-NAT-10", write("block-empty", native.BlockKey{}), "")
	s.good(typ, mid, "block-full", "every field in use", "KS-NAT-3 KS-NAT-10", b, "")
	s.good(typ, mid, "block-zero-options", "optional numbers that are there and 0", "KS-NAT-10",
		write("block-zero-options", native.BlockKey{HasLora: true, HasSalt: true}), "")
	s.bad(typ, mid, "block-bool", "usesExtraIds is 2", "KS-NAT-5", at(b, 0, 2), "bad-bool", 0)
	s.bad(typ, mid, "block-option", "the flag of an optional is 3", "KS-NAT-5", at(b, 1, 3), "bad-bool", 1)
	s.bad(typ, mid, "block-tokens", "tokens of 12 bytes do not fit", "KS-NAT-4", at(b, 11, 1), "bad-count", 10)
	s.bad(typ, mid, "block-extra-keys", "extra keys of at least 37 bytes do not fit", "KS-NAT-4", at(b, 18+24, 5), "bad-count", 18+24)
	s.bad(typ, mid, "block-uuid", "a uuid longer than what is left", "KS-NAT-4", at(b, 18+24+8+37+37+1, 1), "bad-length", 18+24+8+37+37)
	s.bad(typ, mid, "block-cut", "ends inside the salt", "KS-NAT-2", cut(b, -1), "short-input", len(b)-8)
	s.bad(typ, mid, "block-trailing", "one byte left over", "KS-NAT-2", join(b, []byte{0}), "trailing-bytes", len(b))
}

func requests(s *set) {
	info := func(id string, v native.RequestInfo) []byte { return s.must(id)(native.AppendRequestInfo(nil, &v)) }
	r := aRequest()
	b := info("info-usual", r.Info)
	s.good("RequestInfo", mid, "info-usual", "everything of request 42", "KS-NAT-10", b, "")
	s.good("RequestInfo", mid, "info-selective", "the last three blocks up to a key", "KS-NAT-10", info("info-selective", native.RequestInfo{
		RequestID: math.MaxUint64, IndexFromEnd: 2, LastBlockKey: native.BlockKey{Tokens: []native.UniqueToken{{ID: 5}}}, State: genState(),
	}), "")
	s.good("RequestInfo", mid, "info-no-state", "without states the structure is good", "KS-NAT-8", info("info-no-state", native.RequestInfo{}), "")
	s.bad("RequestInfo", mid, "info-cut", "ends behind the key", "KS-NAT-2", cut(b, 12+19), "short-input", 12+19)
	s.bad("RequestInfo", mid, "info-bool", "the flag of the CommState is 2", "KS-NAT-5", at(b, 12+19, 2), "bad-bool", 12+19)
	s.bad("RequestInfo", mid, "info-trailing", "one byte left over", "KS-NAT-2", join(b, []byte{0}), "trailing-bytes", len(b))

	write := func(id string, v native.RequestAndBufferInfo) []byte {
		return s.must(id)(native.AppendRequestBody(nil, &v))
	}
	const typ = "RequestBody"
	usual := write("request-usual", r)
	s.good(typ, mid, "request-usual", "one KV buffer and metadata", "KS-NAT-10 KS-NAT-15", usual, "ok")
	for _, c := range []struct {
		id, note, req, code string
		change              func(*native.RequestAndBufferInfo)
	}{
		{"no-metadata", "metadata is sent on first contact only", "KS-NAT-10", "ok", func(v *native.RequestAndBufferInfo) { v.HasMetadata, v.Metadata = false, nil }},
		{"empty-metadata", "metadata of no byte is there", "KS-NAT-10", "ok", func(v *native.RequestAndBufferInfo) { v.Metadata = nil }},
		{"three-kinds", "one buffer of each kind", "KS-NAT-10", "ok", func(v *native.RequestAndBufferInfo) {
			v.Buffers = []native.MemoryDesc{{Addr: 1, Len: 1}, {Addr: 2, Len: 1}, {Addr: 3, Len: 1}}
			v.Kinds = []native.BufferKind{native.RNN, native.KV, native.Indexer}
		}},
		{"no-buffer", "no buffer", "KS-NAT-8 KS-NAT-23", "missing", func(v *native.RequestAndBufferInfo) { v.Buffers, v.Kinds = nil, nil }},
		{"kinds-count", "two kinds for one buffer", "KS-NAT-8 KS-NAT-23", "bad-count", func(v *native.RequestAndBufferInfo) { v.Kinds = []native.BufferKind{0, 1} }},
		{"kind-twice", "a kind twice", "KS-NAT-8 KS-NAT-23", "duplicate", func(v *native.RequestAndBufferInfo) {
			v.Buffers, v.Kinds = append(v.Buffers, v.Buffers[0]), []native.BufferKind{0, 0}
		}},
		{"kind-unknown", "buffer kind 3", "KS-NAT-8 KS-NAT-18", "out-of-range", func(v *native.RequestAndBufferInfo) { v.Kinds = []native.BufferKind{3} }},
		{"no-name", "a request without agent name", "KS-NAT-8 KS-NAT-24", "out-of-range", func(v *native.RequestAndBufferInfo) { v.AgentName = "" }},
		{"nameless-agent", "an agent without name", "KS-NAT-8 KS-NAT-24", "out-of-range", func(v *native.RequestAndBufferInfo) { v.Info.State.Comm.Agents[0].Name = "" }},
		{"index-negative", "indexFromEnd -1", "KS-NAT-8 KS-NAT-13", "out-of-range", func(v *native.RequestAndBufferInfo) { v.Info.IndexFromEnd = -1 }},
		{"connection-negative", "validConnectionIdx -1", "KS-NAT-8 KS-NAT-13", "out-of-range", func(v *native.RequestAndBufferInfo) { v.ConnIndex = -1 }},
		{"memory-wraps", "a buffer that wraps", "KS-NAT-8 KS-NAT-20", "out-of-range", func(v *native.RequestAndBufferInfo) { v.Buffers[0].Len = math.MaxUint64 }},
		{"no-state", "no states", "KS-NAT-8 KS-NAT-12", "missing", func(v *native.RequestAndBufferInfo) { v.Info.State = native.DataTransceiverState{} }},
	} {
		v := aRequest()
		c.change(&v)
		s.good(typ, mid, "request-"+c.id, c.note, c.req, write("request-"+c.id, v), c.code)
	}
	// From the end: kinds (8+1), validConnectionIdx (4), metadata (8+4) and its flag (1).
	n := len(usual)
	s.bad(typ, mid, "request-kinds-beyond", "more kinds than bytes", "KS-NAT-4", at(usual, n-9, 2), "bad-count", n-9)
	s.bad(typ, mid, "request-metadata-beyond", "metadata longer than what is left", "KS-NAT-4", at(usual, n-24, 0xFF), "bad-length", n-25)
	s.bad(typ, mid, "request-metadata-flag", "the flag of the metadata is 2", "KS-NAT-5", at(usual, n-26, 2), "bad-bool", n-26)
	s.bad(typ, mid, "request-buffers-beyond", "buffers of 20 bytes do not fit", "KS-NAT-4", at(usual, n-26-28, 3), "bad-count", n-26-28)
	s.bad(typ, mid, "request-no-kinds", "the request of a peer that sends no kinds", "KS-NAT-2", cut(usual, n-9), "short-input", n-9)
	s.bad(typ, mid, "request-trailing", "one byte left over", "KS-NAT-2", join(usual, []byte{0}), "trailing-bytes", n)
}

func notifications(s *set) {
	const typ = "NotificationInfo"
	request := s.must("notif-request")(native.AppendRequest(nil, aRequest()))
	sync := join(u64le(1), str(v2Name(genBase, genEpoch)), u32le(10795))
	ready := join(u64le(2), str("gen"), u32le(10795), []byte{1})
	s.good(typ, mid, "notif-request", "variant 0, GEN to CTX", "KS-NAT-6 KS-NAT-10", request, "ok")
	s.good(typ, mid, "notif-sync", "variant 1, data tag of request 42", "KS-NAT-6 KS-NAT-10 KS-TAG-1", sync, "ok")
	s.good(typ, mid, "notif-ready", "variant 2, ready", "KS-NAT-6 KS-NAT-10", ready, "ok")
	s.good(typ, mid, "notif-not-ready", "variant 2, not ready", "KS-NAT-10", at(ready, len(ready)-1, 0), "ok")
	tagged := func(tag int32) []byte { return join(u64le(1), str("gen"), u32le(uint32(tag))) }
	s.good(typ, mid, "notif-tag-smallest", "the data tag of id 0", "KS-TAG-6", tagged(43), "ok")
	s.good(typ, mid, "notif-tag-largest", "the data tag of id 4095", "KS-TAG-6", tagged(1048363), "ok")
	for _, c := range []struct {
		id, note string
		tag      int32
	}{
		{"42", "the constant 42 in a sync", 42},
		{"44", "a low byte that is not 43", 44},
		{"beyond", "above the largest data tag", 1048363 + 256},
		{"negative", "a negative tag", -213},
	} {
		s.good(typ, mid, "notif-tag-"+c.id, c.note, "KS-NAT-8 KS-TAG-6", tagged(c.tag), "out-of-range")
	}
	s.bad(typ, mid, "notif-none", "no byte", "KS-NAT-2", nil, "short-input", 0)
	s.bad(typ, mid, "notif-index-cut", "seven bytes", "KS-NAT-2", cut(sync, 7), "short-input", 0)
	s.bad(typ, mid, "notif-control", "variant 3 is for the control carrier", "KS-NAT-6", at(sync, 0, 3), "control-notification", 0)
	s.bad(typ, mid, "notif-index-4", "variant 4", "KS-NAT-6", at(sync, 0, 4), "bad-index", 0)
	s.bad(typ, mid, "notif-index-64-bits", "the index is compared over all 64 bits", "KS-NAT-6", at(sync, 4, 1), "bad-index", 0)
	s.bad(typ, mid, "notif-ready-bool", "isReady is 2", "KS-NAT-5", at(ready, len(ready)-1, 2), "bad-bool", len(ready)-1)
	s.bad(typ, mid, "notif-ready-255", "isReady is 255, which upstream takes", "KS-NAT-5", at(ready, len(ready)-1, 255), "bad-bool", len(ready)-1)
	s.bad(typ, mid, "notif-sync-name", "a name longer than what is left", "KS-NAT-4", at(sync, 9, 1), "bad-length", 8)
	s.bad(typ, mid, "notif-sync-cut", "ends inside the tag", "KS-NAT-2", cut(sync, -2), "short-input", len(sync)-4)
	s.bad(typ, mid, "notif-two", "two notifications in one", "KS-NAT-14 KS-NAT-2", join(ready, ready), "trailing-bytes", len(ready))
	s.bad(typ, mid, "notif-request-trailing", "one byte left over", "KS-NAT-2", join(request, []byte{0}), "trailing-bytes", len(request))
}

func contextPhases(s *set) {
	const typ, p = "ContextPhaseParams", vectors.Late2025
	write := func(id string, v native.ContextPhaseParams) []byte {
		return s.must(id)(native.AppendContextPhase(nil, native.Late2025, &v))
	}
	state := ctxState()
	b := write("phase-usual", native.ContextPhaseParams{RequestID: 42, FirstGenTokens: []int32{7, -1}, State: &state})
	s.good(typ, p, "phase-usual", "two tokens and a state", "KS-NAT-10", b, "")
	s.good(typ, p, "phase-empty", "nothing but the id", "KS-NAT-10", write("phase-empty", native.ContextPhaseParams{RequestID: 1}), "")
	s.good(typ, p, "phase-draft", "draft tokens", "KS-NAT-10", write("phase-draft", native.ContextPhaseParams{HasDraft: true, DraftTokens: []int32{1, 2, 3}}), "")
	s.good(typ, p, "phase-draft-empty", "draft tokens that are there and none", "KS-NAT-10", write("phase-draft-empty", native.ContextPhaseParams{HasDraft: true}), "")
	s.bad(typ, p, "phase-flag", "the flag of the draft tokens is 2", "KS-NAT-5", at(b, 8+16, 2), "bad-bool", 8+16)
	s.bad(typ, p, "phase-tokens", "more tokens than bytes", "KS-NAT-4", at(b, 8+7, 1), "bad-count", 8)
	s.bad(typ, p, "phase-cut", "ends behind the tokens", "KS-NAT-2", cut(b, 24), "short-input", 24)
	s.bad(typ, p, "phase-trailing", "one byte left over", "KS-NAT-2", join(b, []byte{0}), "trailing-bytes", len(b))
	s.bad(typ, mid, "phase-not-built", "no bytes of 2026mid are known, so it is not built", "KS-NAT-11", b, "profile-unsupported", none)
}
