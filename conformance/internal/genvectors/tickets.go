package main

import (
	"fmt"
	"math"

	"github.com/kvsettle/kvsettle/conformance/vectors"
	"github.com/kvsettle/kvsettle/wire/native"
)

// trailer items as chapter 09 lists them.
func ticketItems() [][]byte {
	return [][]byte{
		item(1, u64be(42)), item(2, u64be(0x1122334455667788)), item(3, u64be(3)), item(4, []byte{1}),
		item(5, u64be(uint64(v2Caps))), item(6, u64be(1)),
	}
}

// footer closes a payload.
func footer(payload []byte) []byte {
	return join([]byte("TRTLCTX1"), u16be(1), u16be(0), u32be(uint32(len(payload))), u32be(crc32c(payload)))
}

func trailer(items ...[]byte) []byte { return join(join(items...), footer(join(items...))) }

func tickets(s *set) {
	const typ = "OpaqueState"
	state := s.must("opaque")(native.AppendState(nil, native.Mid2026, ctxState()))
	late := s.must("opaque")(native.AppendState(nil, native.Late2025, ctxState()))
	n, items := len(state), ticketItems()
	opaque := join(state, trailer(items...))
	withItem := func(i int, b []byte) []byte {
		all := ticketItems()
		all[i] = b
		return join(state, trailer(all...))
	}
	good := func(p, id, note, req string, b []byte) { s.good(typ, p, "opaque-"+id, note, req, b, "") }
	good(mid, "usual", "state and ticket", "KS-TKT-2 KS-TKT-4", opaque)
	good(mid, "plain", "a state without ticket", "KS-TKT-2 KS-TKT-12", state)
	good(vectors.Late2025, "plain-late", "a state of 2025late without ticket", "KS-TKT-2 KS-TKT-12", late)
	good(vectors.Late2025, "abi-decides", "the ABI id decides about the layouts, not what the caller would take", "KS-TKT-5", opaque)
	good(mid, "any-order", "items in any order, written ascending", "KS-TKT-4", join(state, trailer(items[5], items[4], items[3], items[2], items[1], items[0])))
	good(mid, "unknown-optional", "an unknown item with flags 0 is skipped", "KS-TKT-4", join(state, trailer(join(items...), tlv(9, 0, []byte("x")))))
	good(mid, "no-caps", "no required capability, request id 0", "KS-TKT-4", join(state, trailer(item(1, u64be(0)), items[1], items[2], items[3], item(5, u64be(0)), items[5])))

	bad := func(id, note, req string, b []byte, code string, offset int) {
		s.bad(typ, mid, "opaque-"+id, note, req, b, code, offset)
	}
	foot, size := len(opaque)-20, len(opaque)-20-n
	bad("schema", "schema 2", "KS-TKT-3", at(opaque, foot+9, 2), "bad-version", foot+8)
	bad("flags", "flags 1", "KS-TKT-3", at(opaque, foot+11, 1), "bad-flags", foot+10)
	bad("payload-large", "a payload of 4097 bytes", "KS-TKT-3", at(opaque, foot+12, u32be(4097)...), "too-large", foot+12)
	bad("payload-beyond", "a payload that begins before the state", "KS-TKT-3", join(trailer(items...)[1:]), "bad-length", size-1+12)
	bad("crc", "one bit of the checksum", "KS-TKT-3", at(opaque, foot+19, opaque[foot+19]^1), "bad-checksum", foot+16)
	bad("crc-payload", "one bit of the payload", "KS-TKT-3", at(opaque, n+15, 43), "bad-checksum", foot+16)
	for i := range items {
		fewer := append(ticketItems()[:i:i], ticketItems()[i+1:]...)
		b := join(state, trailer(fewer...))
		bad(fmt.Sprint("missing-", i+1), fmt.Sprint("item ", i+1, " is missing"), "KS-TKT-4", b, "missing", len(b)-20)
	}
	bad("twice", "the request id twice", "KS-TKT-4", join(state, trailer(items[0], join(items...))), "duplicate", n+16)
	bad("known-optional", "a known item with flags 0", "KS-TKT-4", withItem(0, tlv(1, 0, u64be(42))), "bad-flags", n+2)
	bad("flags-2", "an unknown item with flags 2", "KS-TKT-4", join(state, trailer(tlv(9, 2, nil), join(items...))), "bad-flags", n+2)
	bad("unknown-required", "an unknown item with flags 1", "KS-TKT-4", join(state, trailer(tlv(7, 1, nil), join(items...))), "unknown-required", n)
	bad("item-length", "a request id of 4 bytes", "KS-TKT-4", withItem(0, item(1, u32be(42))), "bad-length", n+4)
	bad("item-beyond", "an item longer than the payload", "KS-TKT-4", join(state, trailer(join(items...), at(tlv(9, 0, nil), 7, 1))), "bad-length", foot+4)
	bad("item-header", "seven bytes of an item header", "KS-TKT-4", join(state, trailer(join(items...), make([]byte, 7))), "short-input", foot)
	bad("epoch", "epoch 0", "KS-ID-7", withItem(1, item(2, u64be(0))), "bad-value", n+24)
	bad("attempt", "attempt 0", "KS-ID-7", withItem(2, item(3, u64be(0))), "bad-value", n+40)
	bad("direction", "direction 2", "KS-ID-12", withItem(3, item(4, []byte{2})), "bad-value", n+56)
	bad("abi-zero", "ABI 0", "KS-TKT-4 KS-TKT-5", withItem(5, item(6, u64be(0))), "bad-value", n+81)
	bad("abi-unknown", "an ABI that is not served", "KS-TKT-5", withItem(5, item(6, u64be(2))), "bad-version", n+81)
	bad("trailer-first", "trailer and prefix are broken: the trailer decides", "KS-TKT-5", join([]byte{2, 0}, at(trailer(items...), size+9, 2)), "bad-version", 2+size+8)
	bad("prefix", "a sound trailer behind a broken state", "KS-TKT-5", join([]byte{2, 0}, trailer(items...)), "bad-bool", 0)
	bad("prefix-trailing", "bytes between state and payload", "KS-NAT-2", join(state, []byte{0}, trailer(items...)), "trailing-bytes", n)
	bad("magic", "without the magic all of it is state", "KS-TKT-2 KS-NAT-2", at(opaque, foot, 't'), "trailing-bytes", n)
	bad("behind-footer", "a footer that does not end the state is none", "KS-TKT-2 KS-NAT-2", join(opaque, []byte{0}), "trailing-bytes", n)

	tagged(s, opaque)
}

func tagged(s *set, opaque []byte) {
	const typ = "TaggedState"
	b := join([]byte{0xD7}, []byte("TRTLCTX1"), u32be(uint32(len(opaque))), opaque)
	bad := func(id, note string, b []byte, code string, offset int) {
		s.bad(typ, vectors.V2, "tagged-"+id, note, "KS-TKT-11", b, code, offset)
	}
	s.good(typ, vectors.V2, "tagged-usual", "tag, length and opaque state", "KS-TKT-11", b, "")
	s.good(typ, vectors.V2, "tagged-rest", "what follows is the caller's", "KS-TKT-11", join(b, []byte{1, 2, 3}), "")
	s.good(typ, vectors.V2, "tagged-old-0", "0 begins the old encoding", "KS-TKT-11 KS-TKT-12", []byte{0, 9}, "")
	s.good(typ, vectors.V2, "tagged-old-1", "1 begins the old encoding", "KS-TKT-11 KS-TKT-12", []byte{1}, "")
	bad("none", "no byte", nil, "short-input", 0)
	bad("2", "a byte of 2", []byte{2, 0}, "bad-value", 0)
	bad("255", "a byte of 255", []byte{255}, "bad-value", 0)
	bad("cut", "ends inside the header", cut(b, 12), "short-input", 0)
	bad("magic", "another magic", at(b, 8, '2'), "bad-magic", 1)
	bad("beyond", "a length beyond the input", cut(b, -1), "bad-length", 9)
	plain := s.must("tagged-plain")(native.AppendState(nil, native.Mid2026, ctxState()))
	wrap := func(state []byte) []byte {
		return join([]byte{0xD7}, []byte("TRTLCTX1"), u32be(uint32(len(state))), state)
	}
	s.bad(typ, vectors.V2, "tagged-plain", "a tagged state without a trailer", "KS-TKT-12", wrap(plain), "missing", 13+len(plain))
	s.bad(typ, vectors.V2, "tagged-crc", "a tagged state whose trailer is refused", "KS-TKT-12 KS-TKT-3",
		wrap(at(opaque, len(opaque)-1, opaque[len(opaque)-1]^1)), "bad-checksum", 13+len(opaque)-4)
	s.bad(typ, vectors.V2, "tagged-large", "a length above 16 MiB", "KS-TKT-1 KS-TKT-11", at(b, 9, u32be(16<<20+1)...), "too-large", 9)
	bad("huge", "a length of 2^32-1", at(b, 9, u32be(math.MaxUint32)...), "too-large", 9)
}
