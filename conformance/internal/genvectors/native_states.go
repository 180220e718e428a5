package main

import (
	"fmt"
	"math"

	"github.com/kvsettle/kvsettle/conformance/vectors"
	"github.com/kvsettle/kvsettle/wire/native"
)

// both lists the native profiles with the part of an id that stands for each.
var both = []struct {
	name string
	p    native.Profile
}{{vectors.Mid2026, native.Mid2026}, {vectors.Late2025, native.Late2025}}

// must takes bytes that an encoder made of a value in this folder.
func (s *set) must(id string) func([]byte, error) []byte {
	return func(b []byte, err error) []byte {
		s.fail(id, err)
		return b
	}
}

func nativeStates(s *set) {
	agents(s)
	comms(s)
	for _, p := range both {
		caches(s, p.name, p.p)
		states(s, p.name, p.p)
	}
	cachesOfMid(s)
}

func agents(s *set) {
	for _, p := range both {
		id := func(what string) string { return "agent-" + p.name + "-" + what }
		plain := join(str(ctxBase), str(ctxConn))
		const typ = "AgentState"
		s.good(typ, p.name, id("plain"), "a legacy name", "KS-NAT-3 KS-NAT-10", plain, "")
		s.good(typ, p.name, id("descriptor"), "a name with its descriptor", "KS-NAT-10 KS-DESC-14", join(str(v2Name(ctxBase, ctxEpoch)), str(ctxConn)), "")
		s.good(typ, p.name, id("empty"), "both strings empty", "KS-NAT-8 KS-NAT-10", join(str(""), str("")), "")
		s.good(typ, p.name, id("bytes"), "strings hold any bytes", "KS-NAT-10", join(str("\x00\xff\xc3\xa9"), str("[::1]:9")), "")
		s.bad(typ, p.name, id("cut-length"), "ends inside the first length", "KS-NAT-2", cut(plain, 7), "short-input", 0)
		s.bad(typ, p.name, id("cut-text"), "ends inside the name", "KS-NAT-4", cut(plain, 12), "bad-length", 0)
		s.bad(typ, p.name, id("huge-length"), "a length of 2^64-1", "KS-NAT-4", at(plain, 0, 255, 255, 255, 255, 255, 255, 255, 255), "bad-length", 0)
		s.bad(typ, p.name, id("trailing"), "one byte left over", "KS-NAT-2", join(plain, []byte{0}), "trailing-bytes", len(plain))
	}
}

func comms(s *set) {
	for _, p := range both {
		id := func(what string) string { return "comm-" + p.name + "-" + what }
		write := func(what string, v native.CommState) []byte { return s.must(id(what))(native.AppendComm(nil, &v)) }
		const typ, good = "CommState", "KS-NAT-7 KS-NAT-10"
		mpi := native.CommState{SelfIdx: 1, Kind: native.CommMPI, Ranks: []int32{0, 1, math.MaxInt32}}
		s.good(typ, p.name, id("mpi"), "MPI ranks", good, write("mpi", mpi), "ok")
		s.good(typ, p.name, id("socket"), "sockets", good, write("socket", native.CommState{
			Kind: native.CommSocket, Sockets: []native.Socket{{Port: 65535, IP: "10.0.0.1"}, {IP: "fe80::1"}},
		}), "ok")
		agents := *ctxState().Comm
		s.good(typ, p.name, id("agents"), "two agents, the second speaks", good, write("agents", agents), "ok")
		s.good(typ, p.name, id("empty-list"), "no rank: structure is good, no self is in range", good+" KS-NAT-8 KS-NAT-13",
			write("empty-list", native.CommState{Kind: native.CommMPI}), "out-of-range")
		self := agents
		self.SelfIdx = -1
		s.good(typ, p.name, id("self-unset"), "self unset", "KS-NAT-8 KS-NAT-13", write("self-unset", self), "out-of-range")
		self.SelfIdx = 2
		s.good(typ, p.name, id("self-beyond"), "self beyond the list", "KS-NAT-8 KS-NAT-13", write("self-beyond", self), "out-of-range")
		s.good(typ, p.name, id("mpi-negative"), "a negative MPI rank", "KS-NAT-8 KS-NAT-13", write("mpi-negative",
			native.CommState{Kind: native.CommMPI, Ranks: []int32{-5}}), "out-of-range")

		b := write("mpi", mpi)
		for _, n := range []byte{0, 4} {
			s.bad(typ, p.name, id(fmt.Sprint("index-", n)), fmt.Sprint("index ", n), "KS-NAT-7", at(b, 4, n), "bad-index", 4)
		}
		s.bad(typ, p.name, id("index-64-bits"), "the index is compared over all 64 bits", "KS-NAT-7", at(b, 8, 1), "bad-index", 4)
		s.bad(typ, p.name, id("count-beyond"), "a count above what is left", "KS-NAT-4", at(b, 12, 4), "bad-count", 12)
		s.bad(typ, p.name, id("count-overflow"), "a count whose product overflows", "KS-NAT-4", at(b, 12, 0, 0, 0, 0, 0, 0, 0, 0x40), "bad-count", 12)
		s.bad(typ, p.name, id("cut-self"), "ends inside self", "KS-NAT-2", cut(b, 3), "short-input", 0)
		s.bad(typ, p.name, id("trailing"), "four bytes left over", "KS-NAT-2", join(b, []byte{0, 0, 0, 0}), "trailing-bytes", len(b))
		a := write("agents", agents)
		s.bad(typ, p.name, id("agent-length"), "an agent name longer than what is left", "KS-NAT-4", at(a, 21, 0xFF), "bad-length", 20)
		sock := write("socket", native.CommState{Kind: native.CommSocket, Sockets: []native.Socket{{Port: 1, IP: "h"}}})
		s.bad(typ, p.name, id("socket-cut"), "an address that is cut", "KS-NAT-4", cut(sock, -1), "bad-length", 22)
	}
}

// Offsets in the bytes of fullCache.
const (
	atLayers      = 0            // count of nbKvHeadsPerLayer
	atAttentionDP = 8 + 3*4 + 20 // enableAttentionDP
	atPerPP       = atAttentionDP + 1 + 8
	atDataType    = atPerPP + 8 + 2*4
	atBlockReuse  = atDataType + 4 + 1 + 4
)

func caches(s *set, profile string, p native.Profile) {
	id := func(what string) string { return "cache-" + profile + "-" + what }
	write := func(what string, v native.CacheState) []byte { return s.must(id(what))(native.AppendCache(nil, p, &v)) }
	const typ = "CacheState"
	full := write("full", fullCache())
	s.good(typ, profile, id("usual"), "bf16, 8 heads in 4 layers, TP 2", "KS-NAT-1 KS-NAT-3 KS-NAT-10", write("usual", aCache()), "ok")
	s.good(typ, profile, id("full"), "every field has a value of its own", "KS-NAT-1 KS-NAT-3 KS-NAT-10", full, "ok")
	s.good(typ, profile, id("zero"), "all zero: structure is good, ranges are not", "KS-NAT-8 KS-NAT-19", write("zero", native.CacheState{}), "out-of-range")
	for _, c := range []struct {
		id, note, req, code string
		change              func(*native.CacheState)
	}{
		{"heads-negative", "a negative number of heads", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.KVHeadsPerLayer[0] = -1 }},
		{"head-size-zero", "head size 0", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.SizePerHead = 0 }},
		{"block-negative", "a negative block size", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.TokensPerBlock = math.MinInt32 }},
		{"tp-zero", "tensor parallelism 0", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.TP = 0 }},
		{"dp-rank-beyond", "a data-parallel rank beyond the size", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.DPRank = 4 }},
		{"dp-size-zero", "data-parallel size 0", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.DPRank, c.DPSize = 0, 0 }},
		{"dp-rank-negative", "a negative data-parallel rank", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.DPRank = -1 }},
		{"kv-factor-three", "kvFactor 3", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.KVFactor = 3 }},
		{"per-pp-negative", "a negative number of layers", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.AttentionLayerNumPerPP[1] = -1 }},
		{"data-type-unknown", "data type 12", "KS-NAT-8 KS-NAT-18", "out-of-range", func(c *native.CacheState) { c.DataType = 12 }},
		{"attention-unknown", "attention type 2", "KS-NAT-8 KS-NAT-18", "out-of-range", func(c *native.CacheState) { c.AttentionType = 2 }},
		{"kv-factor-zero", "kvFactor 0", "KS-NAT-8 KS-NAT-19", "out-of-range", func(c *native.CacheState) { c.KVFactor = 0 }},
		{"per-pp-count", "three layer numbers for two pipeline ranks", "KS-NAT-8 KS-NAT-19", "bad-count", func(c *native.CacheState) { c.AttentionLayerNumPerPP = []int32{1, 1, 1} }},
	} {
		v := fullCache()
		c.change(&v)
		s.good(typ, profile, id(c.id), c.note, c.req, write(c.id, v), c.code)
	}
	s.bad(typ, profile, id("bool-two"), "a bool of 2", "KS-NAT-5", at(full, atAttentionDP, 2), "bad-bool", atAttentionDP)
	s.bad(typ, profile, id("bool-255"), "a bool of 255", "KS-NAT-5", at(full, atBlockReuse, 255), "bad-bool", atBlockReuse)
	s.bad(typ, profile, id("layers-beyond"), "a count of layers above what is left", "KS-NAT-4", at(full, atLayers+7, 1), "bad-count", atLayers)
	s.bad(typ, profile, id("per-pp-beyond"), "a count of layer numbers above what is left", "KS-NAT-4", at(full, atPerPP+1, 1), "bad-count", atPerPP)
	s.bad(typ, profile, id("cut"), "ends inside the last number", "KS-NAT-2", cut(write("usual", aCache()), -3), "short-input", lastNumber(p, len(write("usual", aCache()))))
	s.bad(typ, profile, id("trailing"), "one byte left over", "KS-NAT-2", join(full, []byte{0}), "trailing-bytes", len(full))
}

// lastNumber is where a read fails that lacks three bytes of a usual CacheState:
// in the indexer's block size, which ends in front of the two bools of 2026mid.
func lastNumber(p native.Profile, size int) int {
	if p == native.Mid2026 {
		return size - 6
	}
	return size - 4
}

func cachesOfMid(s *set) {
	const typ, p = "CacheState", vectors.Mid2026
	write := func(id string, v native.CacheState) []byte {
		return s.must(id)(native.AppendCache(nil, native.Mid2026, &v))
	}
	v := fullCache()
	v.PartialReuse, v.IndexerFP4, v.RNN = true, true, aRNN()
	rnn := write("cache-2026mid-rnn", v)
	s.good(typ, p, "cache-2026mid-rnn", "all of 2026mid: partial reuse, FP4 indexer, recurrent part", "KS-NAT-1 KS-NAT-10", rnn, "ok")
	v.RNN.SSMDataType = 12
	s.good(typ, p, "cache-2026mid-rnn-type", "an unknown data type of the recurrent part", "KS-NAT-8 KS-NAT-18", write("cache-2026mid-rnn-type", v), "out-of-range")
	v.RNN.SSMDataType, v.RNN.ConvSectionLayout = native.Float, 3
	s.good(typ, p, "cache-2026mid-rnn-layout", "section layout 3", "KS-NAT-8 KS-NAT-18", write("cache-2026mid-rnn-layout", v), "out-of-range")
	plain := write("cache-2026mid-full", fullCache())
	s.bad(typ, p, "cache-2026mid-rnn-flag", "a recurrent part is announced and not there", "KS-NAT-2", at(plain, len(plain)-1, 1), "short-input", len(plain))
	s.bad(typ, p, "cache-2026mid-rnn-bool", "the flag of the recurrent part is 2", "KS-NAT-5", at(plain, len(plain)-1, 2), "bad-bool", len(plain)-1)
	s.bad(typ, p, "cache-2026mid-rnn-count", "the list of the recurrent part does not fit", "KS-NAT-4", at(rnn, len(rnn)-16, 3), "bad-count", len(rnn)-16)
	late := s.must("late")(native.AppendCache(nil, native.Late2025, ptr(aCache())))
	s.bad(typ, p, "cache-2026mid-late-bytes", "bytes of 2025late read as 2026mid", "KS-NAT-1 KS-NAT-2", late, "short-input", len(late)-3)
	s.bad(typ, vectors.Late2025, "cache-2025late-mid-bytes", "bytes of 2026mid read as 2025late", "KS-NAT-1 KS-NAT-2",
		write("mid", aCache()), "trailing-bytes", len(late))
}

func ptr[T any](v T) *T { return &v }

func states(s *set, profile string, p native.Profile) {
	id := func(what string) string { return "state-" + profile + "-" + what }
	write := func(what string, v native.DataTransceiverState) []byte {
		return s.must(id(what))(native.AppendState(nil, p, v))
	}
	const typ, good, structure = "DataTransceiverState", "KS-NAT-10", "KS-NAT-8 KS-NAT-12"
	s.good(typ, profile, id("ctx"), "two CTX ranks", good, write("ctx", ctxState()), "ok")
	s.good(typ, profile, id("gen"), "one GEN rank", good, write("gen", genState()), "ok")
	s.good(typ, profile, id("empty"), "neither part", structure, []byte{0, 0}, "missing")
	s.good(typ, profile, id("comm-only"), "no CacheState", structure, write("comm-only", native.DataTransceiverState{Comm: ctxState().Comm}), "missing")
	s.good(typ, profile, id("cache-only"), "no CommState", structure, write("cache-only", native.DataTransceiverState{Cache: ctxState().Cache}), "missing")
	mpi := ctxState()
	mpi.Comm = &native.CommState{Kind: native.CommMPI, Ranks: []int32{0}}
	s.good(typ, profile, id("mpi"), "no agent list", structure, write("mpi", mpi), "bad-value")
	s.bad(typ, profile, id("none"), "no byte", "KS-NAT-2", nil, "short-input", 0)
	s.bad(typ, profile, id("cut"), "the second flag is missing", "KS-NAT-2", []byte{0}, "short-input", 1)
	s.bad(typ, profile, id("bool"), "the first flag is 0xD7: tagged, and this reader is not told so", "KS-NAT-5", []byte{0xD7, 0}, "bad-bool", 0)
	s.bad(typ, profile, id("comm-index"), "CommState index 0", "KS-NAT-7", join([]byte{1}, u32le(0), u64le(0), u64le(0), []byte{0}), "bad-index", 5)
	s.bad(typ, profile, id("trailing"), "one byte left over", "KS-NAT-2", []byte{0, 0, 0}, "trailing-bytes", 2)
}
