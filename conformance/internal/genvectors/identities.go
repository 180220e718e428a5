package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"github.com/kvsettle/kvsettle/conformance/vectors"
	"github.com/kvsettle/kvsettle/wire/identity"
)

func identities(s *set) {
	const v2 = vectors.V2
	t := join(u64be(42), u64be(0x1122334455667788), u64be(3), []byte{1})
	s.good("Ticket", v2, "ticket-usual", "25 bytes", "KS-ID-7 KS-ID-18", t, "")
	s.good("Ticket", v2, "ticket-extremes", "request id 0, largest epoch and attempt", "KS-ID-7",
		join(u64be(0), u64be(math.MaxUint64), u64be(math.MaxUint64), []byte{1}), "")
	s.bad("Ticket", v2, "ticket-short", "24 bytes", "KS-ID-18", cut(t, 24), "short-input", 0)
	s.bad("Ticket", v2, "ticket-long", "26 bytes", "KS-ID-18", join(t, []byte{0}), "trailing-bytes", 25)
	s.bad("Ticket", v2, "ticket-epoch", "epoch 0", "KS-ID-7", at(t, 8, 0, 0, 0, 0, 0, 0, 0, 0), "bad-value", 8)
	s.bad("Ticket", v2, "ticket-attempt", "attempt 0", "KS-ID-7", at(t, 23, 0), "bad-value", 16)
	s.bad("Ticket", v2, "ticket-direction-0", "direction 0", "KS-ID-12", at(t, 24, 0), "bad-value", 24)
	s.bad("Ticket", v2, "ticket-direction-2", "direction 2", "KS-ID-12", at(t, 24, 2), "bad-value", 24)

	k := keyBytes(aKey())
	largest := aKey()
	largest.SourceRank, largest.DestinationRank = identity.MaxRank, identity.MaxRank
	s.good("TransferKey", v2, "key-usual", "edge 1 to 0", "KS-ID-11", k, "")
	s.good("TransferKey", v2, "key-ranks", "the largest ranks", "KS-ID-12", keyBytes(largest), "")
	s.bad("TransferKey", v2, "key-short", "88 bytes", "KS-ID-11", cut(k, 88), "short-input", 0)
	s.bad("TransferKey", v2, "key-long", "90 bytes", "KS-ID-11", join(k, []byte{0}), "trailing-bytes", 89)

	topologies(s)
}

func topologies(s *set) {
	good := func(id, note string, t identity.Topology) {
		b := topologyBytes(t)
		s.goodFields("Topology", vectors.V2, "topology-"+id, note, "KS-ID-14 KS-ID-15", b, vectors.ShowTopology(&t, sha256.Sum256(b)))
	}
	good("usual", "two sources, one destination", aTopology())
	one := aTopology()
	one.Sources, one.Edges = one.Sources[:1], one.Edges[:1]
	good("one", "one edge", one)
	square := aTopology()
	square.Destinations = append(square.Destinations, identity.Member{Name: "\x00\xff", Epoch: math.MaxUint64})
	square.Edges = []identity.Edge{{Source: 0}, {Source: 0, Destination: 1}, {Source: 1, Destination: 1}}
	longest := aTopology()
	longest.Destinations[0].Name = strings.Repeat("n", 4096)
	s.goodFields("Topology", vectors.V2, "topology-name-longest", "a name of 4096 bytes", "KS-ID-19", topologyBytes(longest),
		vectors.ShowTopology(&longest, sha256.Sum256(topologyBytes(longest))))
	good("square", "three of four edges, a name of any bytes", square)

	for _, c := range []struct {
		id, note, req, code string
		change              func(*identity.Topology)
	}{
		{"direction", "direction 0", "KS-ID-12", "bad-value", func(t *identity.Topology) { t.Direction = 0 }},
		{"no-source", "no source", "KS-ID-19", "bad-count", func(t *identity.Topology) { t.Sources = nil }},
		{"no-destination", "no destination", "KS-ID-19", "bad-count", func(t *identity.Topology) { t.Destinations = nil }},
		{"no-edge", "no edge", "KS-ID-19", "bad-count", func(t *identity.Topology) { t.Edges = nil }},
		{"no-name", "a rank without name", "KS-ID-19", "bad-value", func(t *identity.Topology) { t.Sources[1].Name = "" }},
		{"no-epoch", "a rank without epoch", "KS-ID-14", "bad-value", func(t *identity.Topology) { t.Sources[0].Epoch = 0 }},
		{"name-large", "a name of 4097 bytes", "KS-ID-19", "too-large", func(t *identity.Topology) { t.Sources[0].Name = strings.Repeat("n", 4097) }},
		{"edge-beyond", "an edge that names no rank", "KS-ID-15", "out-of-range", func(t *identity.Topology) { t.Edges[1].Source = 2 }},
		{"edge-order", "edges out of order", "KS-ID-15", "bad-order", func(t *identity.Topology) { t.Edges[0], t.Edges[1] = t.Edges[1], t.Edges[0] }},
		{"edge-twice", "an edge twice", "KS-ID-15", "duplicate", func(t *identity.Topology) { t.Edges[1] = t.Edges[0] }},
	} {
		t := aTopology()
		c.change(&t)
		s.badFields("Topology", vectors.V2, "topology-"+c.id, c.note, c.req, nil, vectors.ShowTopology(&t, [32]byte{}), c.code)
	}
}

// topologyBytes writes the input of the digest by its layout.
func topologyBytes(t identity.Topology) []byte {
	b := join([]byte("TRTLTOP1"), u16be(1), []byte{byte(t.Direction)}, u16be(t.Version), u64be(uint64(t.Caps)), u64be(t.ABI))
	for _, side := range [][]identity.Member{t.Sources, t.Destinations} {
		b = join(b, u32be(uint32(len(side))))
		for _, m := range side {
			b = join(b, u32be(uint32(len(m.Name))), []byte(m.Name), u64be(m.Epoch))
		}
	}
	b = join(b, u32be(uint32(len(t.Edges))))
	for _, e := range t.Edges {
		b = join(b, u32be(e.Source), u32be(e.Destination))
	}
	return b
}

// A contribution as it is laid out; fields that stay zero are left out below.
type contribution struct {
	ticket                              identity.Ticket
	genAttempt                          uint64
	key                                 *identity.TransferKey
	intent, evidence, publication, mode byte
	version                             uint16
	caps, abi                           uint64
	digest                              [32]byte
}

func (c contribution) bytes() []byte {
	t := join(u64be(c.ticket.RequestID), u64be(c.ticket.InstanceEpoch), u64be(c.ticket.Attempt), []byte{byte(c.ticket.Direction)})
	key := []byte{0}
	if c.key != nil {
		key = join([]byte{1}, keyBytes(*c.key))
	}
	b := join(t, u64be(c.genAttempt), key, []byte{c.intent, c.evidence, c.publication, c.mode}, u16be(c.version), u64be(c.caps), u64be(c.abi), c.digest[:])
	return join(u32be(uint32(len(b))), b)
}

func payload(round uint64, contributions ...contribution) []byte {
	b := join(u16be(1), u16be(0), u64be(round), u32be(uint32(len(contributions))))
	for _, c := range contributions {
		b = join(b, c.bytes())
	}
	return b
}

func rounds(s *set) {
	const typ, v2 = "RoundPayload", vectors.V2
	key := aKey()
	admit := contribution{ticket: aTicket(), genAttempt: 9, intent: 1, mode: 1, version: 1, caps: uint64(v2Caps), abi: 1, digest: key.Digest}
	edge := admit
	edge.key, edge.intent, edge.evidence, edge.publication = &key, 3, 3, 2
	base := contribution{ticket: identity.Ticket{RequestID: 7, InstanceEpoch: 1, Attempt: 1, Direction: 1}, intent: 1}
	good := func(id, note, req string, b []byte) { s.good(typ, v2, "round-"+id, note, req, b, "") }
	known := admit
	known.evidence = 4
	good("admit-evidence", "an ADMIT with the evidence that its rank has", "KS-RND-2", payload(6, known))
	good("empty", "nothing to contribute", "KS-RND-2", payload(1))
	good("admit", "one transfer without a key", "KS-RND-2 KS-RND-4", payload(math.MaxUint64, admit))
	good("baseline", "baseline has version 0", "KS-RND-4", payload(2, base))
	good("sorted", "three contributions, without a key before with one", "KS-RND-3", payload(3, base, admit, edge))
	quiesced := edge
	quiesced.intent, quiesced.evidence = 2, 0x81
	good("quiesced", "a cancel with LOCAL_QUIESCED", "KS-RND-2", payload(4, quiesced))
	for p := range byte(4) {
		c := admit
		c.publication = p
		good(fmt.Sprint("publication-", p), fmt.Sprint("publication ", p), "KS-RND-2", payload(5, c))
	}

	bad := func(id, note, req string, b []byte, code string, offset int) {
		s.bad(typ, v2, "round-"+id, note, req, b, code, offset)
	}
	one, first := payload(1, admit), 16
	tail := first + 4 + 25 + 8 + 1 // the key, or the intent where there is none
	bad("none", "no byte", "KS-RND-2", nil, "short-input", 0)
	bad("schema", "schema 2", "KS-RND-2", at(one, 1, 2), "bad-version", 0)
	bad("flags", "flags 1", "KS-RND-2", at(one, 3, 1), "bad-flags", 2)
	bad("count", "more contributions than bytes", "KS-RND-2", at(one, 15, 2), "bad-count", 12)
	bad("length", "a length that no contribution has", "KS-RND-2", at(one, first+3, one[first+3]-1), "bad-length", first)
	bad("key-present", "key_present 2", "KS-RND-2", at(one, first+4+33, 2), "bad-bool", first+4+33)
	bad("key-length", "the length of one with a key, and no key", "KS-RND-2", join(payload(1, edge)[:first+4+33], []byte{0}, payload(1, edge)[first+4+34:]), "bad-length", first)
	bad("cut", "one byte short", "KS-RND-2", cut(payload(1, edge), -1), "bad-length", first)
	bad("count-large", "65537 contributions are announced and not there", "KS-RND-2", at(one, 13, 1, 0, 1), "bad-count", 12)
	bad("trailing", "one byte left over", "KS-RND-2", join(one, []byte{0}), "trailing-bytes", len(one))
	bad("order", "two tickets out of order", "KS-RND-3", payload(1, admit, base), "bad-order", first+len(admit.bytes()))
	bad("order-key", "with a key before without one", "KS-RND-3", payload(1, edge, admit), "bad-order", first+len(edge.bytes()))
	bad("twice", "the same transfer twice", "KS-RND-3", payload(1, admit, admit), "duplicate", first+len(admit.bytes()))
	for _, c := range []struct {
		id, note, req, code string
		offset              int
		change              func(*contribution)
	}{
		{"epoch", "epoch 0 of the ticket", "KS-ID-7", "bad-value", first + 4 + 8, func(c *contribution) { c.ticket.InstanceEpoch = 0 }},
		{"intent-0", "intent 0", "KS-RND-2", "bad-value", tail, func(c *contribution) { c.intent = 0 }},
		{"intent-5", "intent 5", "KS-RND-2", "bad-value", tail, func(c *contribution) { c.intent = 5 }},
		{"evidence-5", "evidence 5", "KS-RND-2", "bad-value", tail + 1, func(c *contribution) { c.evidence = 5 }},
		{"evidence-none", "a CANCEL without evidence", "KS-RND-2", "bad-value", tail + 1, func(c *contribution) { c.intent = 2 }},
		{"publication-4", "publication 4", "KS-RND-2", "bad-value", tail + 2, func(c *contribution) { c.publication = 4 }},
		{"mode-2", "mode 2", "KS-RND-2", "bad-value", tail + 3, func(c *contribution) { c.mode = 2 }},
		{"version-baseline", "version 1 in baseline", "KS-RND-4", "bad-version", tail + 4, func(c *contribution) { c.mode = 0 }},
		{"version-enabled", "version 0 while enabled", "KS-RND-4", "bad-version", tail + 4, func(c *contribution) { c.version = 0 }},
		{"key-other", "a key of another ticket", "KS-RND-2", "bad-value", tail, func(c *contribution) {
			k := aKey()
			k.Ticket.Attempt++
			c.key = &k
		}},
		{"key-rank", "a key with the rank that stands for none", "KS-ID-12", "bad-value", first + 4 + 34 + 33, func(c *contribution) {
			k := aKey()
			k.SourceRank = 1<<32 - 1
			c.key = &k
		}},
	} {
		v := admit
		c.change(&v)
		bad(c.id, c.note, c.req, payload(1, v), c.code, c.offset)
	}
}
