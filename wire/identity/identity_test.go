package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

func goldenTicket() Ticket {
	return Ticket{RequestID: 42, InstanceEpoch: 0x1122334455667788, Attempt: 3, Direction: CTXToGEN}
}

func goldenKey() TransferKey {
	k := TransferKey{
		Ticket: goldenTicket(), GenAttempt: 9, SourceRank: 1, DestinationRank: 2, SourceEpoch: 0xAAAA, DestinationEpoch: 0xBBBB,
	}
	for i := range k.Digest {
		k.Digest[i] = byte(i * 7)
	}
	return k
}

// The same bytes put together by hand.
func ticketBytes() []byte {
	return slices.Concat(be64(42), be64(0x1122334455667788), be64(3), []byte{1})
}

func keyBytes() []byte {
	k := goldenKey()
	return slices.Concat(be64(42), be64(0x1122334455667788), be64(3), be64(9), []byte{1}, be32(1), be32(2),
		be64(0xAAAA), be64(0xBBBB), k.Digest[:])
}

func readTicket(b []byte) error { _, err := DecodeTicket(b); return err }
func readKey(b []byte) error    { _, err := DecodeKey(b); return err }

func TestGolden(t *testing.T) {
	spec.Covers(t, "KS-ID-11", "KS-ID-18")
	b, err := AppendTicket([]byte("x"), goldenTicket())
	require.NoError(t, err)
	require.Equal(t, ticketBytes(), b[1:])
	require.Len(t, b[1:], TicketSize)
	ticket, err := DecodeTicket(b[1:])
	require.NoError(t, err)
	require.Equal(t, goldenTicket(), ticket)

	k := goldenKey()
	b, err = AppendKey([]byte("x"), &k)
	require.NoError(t, err)
	require.Equal(t, keyBytes(), b[1:])
	require.Len(t, b[1:], KeySize)
	got, err := DecodeKey(b[1:])
	require.NoError(t, err)
	require.Equal(t, k, got)
}

func genTicket(t *rapid.T) Ticket {
	return Ticket{
		rapid.Uint64().Draw(t, "request"), rapid.Uint64Min(1).Draw(t, "epoch"), rapid.Uint64Min(1).Draw(t, "attempt"), CTXToGEN,
	}
}

func genKey(t *rapid.T) TransferKey {
	k := TransferKey{
		Ticket: genTicket(t), GenAttempt: rapid.Uint64Min(1).Draw(t, "gen"), SourceRank: rapid.Uint32Max(MaxRank).Draw(t, "src"),
		DestinationRank: rapid.Uint32Max(MaxRank).Draw(t, "dst"), SourceEpoch: rapid.Uint64Min(1).Draw(t, "srcEpoch"),
		DestinationEpoch: rapid.Uint64Min(1).Draw(t, "dstEpoch"),
	}
	copy(k.Digest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
	return k
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ticket, k := genTicket(t), genKey(t)
		b, err := AppendTicket(nil, ticket)
		require.NoError(t, err)
		got, err := DecodeTicket(b)
		require.NoError(t, err)
		require.Equal(t, ticket, got)
		b, err = AppendKey(nil, &k)
		require.NoError(t, err)
		gotKey, err := DecodeKey(b)
		require.NoError(t, err)
		require.Equal(t, k, gotKey)
	})
}

// TestCompare holds Compare to the order of the bytes.
func TestCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genTicket(t), genTicket(t)
		if rapid.Bool().Draw(t, "near") {
			b = a
			b.Attempt = rapid.Uint64Min(1).Draw(t, "other")
		}
		x, err := AppendTicket(nil, a)
		require.NoError(t, err)
		y, err := AppendTicket(nil, b)
		require.NoError(t, err)
		require.Equal(t, slices.Compare(x, y), a.Compare(b))
		require.Zero(t, a.Compare(a))
	})
}

func TestCuts(t *testing.T) {
	wiretest.Cuts(t, ticketBytes(), readTicket)
	wiretest.Cuts(t, keyBytes(), readKey)
}

// TestFlips changes every bit. Tickets and keys have no checksum of their own, so
// a changed number is another ticket or key; only the direction cannot change.
func TestFlips(t *testing.T) {
	accepted := wiretest.Flips(t, ticketBytes(), readTicket)
	require.NotContains(t, accepted, 24)
	require.Len(t, accepted, 8*24)
	accepted = wiretest.Flips(t, keyBytes(), readKey)
	require.NotContains(t, accepted, 32)
	require.Len(t, accepted, 8*88)
}

func TestRefusedValues(t *testing.T) {
	spec.Covers(t, "KS-ID-7", "KS-ID-12")
	for name, c := range map[string]struct {
		at     int
		change func(*TransferKey)
	}{
		"direction":        {32, func(k *TransferKey) { k.Ticket.Direction = 2 }},
		"direction 0":      {32, func(k *TransferKey) { k.Ticket.Direction = 0 }},
		"instance epoch":   {8, func(k *TransferKey) { k.Ticket.InstanceEpoch = 0 }},
		"attempt":          {16, func(k *TransferKey) { k.Ticket.Attempt = 0 }},
		"gen attempt":      {24, func(k *TransferKey) { k.GenAttempt = 0 }},
		"source rank":      {33, func(k *TransferKey) { k.SourceRank = MaxRank + 1 }},
		"destination rank": {37, func(k *TransferKey) { k.DestinationRank = MaxRank + 1 }},
		"source epoch":     {41, func(k *TransferKey) { k.SourceEpoch = 0 }},
		"dest. epoch":      {49, func(k *TransferKey) { k.DestinationEpoch = 0 }},
	} {
		k := goldenKey()
		c.change(&k)
		dst, err := AppendKey([]byte("kept"), &k)
		require.Equal(t, "kept", string(dst))
		require.Equal(t, -1, wiretest.Refused(t, err, 0).Offset, name)
		var b [KeySize]byte
		k.Put(b[:])
		_, err = DecodeKey(b[:])
		require.Equal(t, c.at, wiretest.Refused(t, err, KeySize).Offset, name)
		require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonBadValue})

		_, err = AppendTicket(nil, k.Ticket)
		require.Equal(t, k.Ticket == goldenTicket(), err == nil, name)
		if err != nil {
			wiretest.Refused(t, err, 0)
		}
	}
}

func goldenTopology() Topology {
	return Topology{
		Direction: CTXToGEN, Version: 1, Caps: 7, ABI: 1,
		Sources:      []Member{{"ctx-0", 10}, {"ctx-1", 11}},
		Destinations: []Member{{"gen-0", 20}, {"gen-1\xFF", 21}},
		Edges:        []Edge{{0, 0}, {0, 1}, {1, 1}},
	}
}

func TestDigest(t *testing.T) {
	spec.Covers(t, "KS-ID-14")
	want := slices.Concat([]byte("TRTLTOP1"), []byte{0, 1, 1, 0, 1}, be64(7), be64(1),
		be32(2), be32(5), []byte("ctx-0"), be64(10), be32(5), []byte("ctx-1"), be64(11),
		be32(2), be32(5), []byte("gen-0"), be64(20), be32(6), []byte("gen-1\xFF"), be64(21),
		be32(3), be32(0), be32(0), be32(0), be32(1), be32(1), be32(1))
	top := goldenTopology()
	b, err := AppendTopology([]byte("x"), &top)
	require.NoError(t, err)
	require.Equal(t, want, b[1:])
	got, err := top.Digest()
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256(want), got)
	require.Zero(t, testing.AllocsPerRun(50, func() {
		if _, err := top.Digest(); err != nil {
			panic(err)
		}
	}))
}

// TestDigestSeparates changes each part: the digest changes with it.
func TestDigestSeparates(t *testing.T) {
	seen := map[[32]byte]string{}
	for name, change := range map[string]func(*Topology){
		"as it is":      func(*Topology) {},
		"version":       func(t *Topology) { t.Version = 2 },
		"caps":          func(t *Topology) { t.Caps = 3 },
		"abi":           func(t *Topology) { t.ABI = 2 },
		"source name":   func(t *Topology) { t.Sources[0].Name = "ctx-x" },
		"source epoch":  func(t *Topology) { t.Sources[1].Epoch = 12 },
		"dest. name":    func(t *Topology) { t.Destinations[1].Name = "gen-1" },
		"dest. epoch":   func(t *Topology) { t.Destinations[0].Epoch = 1 },
		"source order":  func(t *Topology) { slices.Reverse(t.Sources) },
		"edge":          func(t *Topology) { t.Edges = t.Edges[:2] },
		"moved member":  func(t *Topology) { t.Sources, t.Edges = t.Sources[:1], t.Edges[:2] },
		"another":       func(t *Topology) { t.Destinations = append(t.Destinations, Member{"gen-2", 22}) },
		"name boundary": func(t *Topology) { t.Sources[0].Name = "ctx-" },
	} {
		top := goldenTopology()
		change(&top)
		d, err := top.Digest()
		require.NoError(t, err, name)
		require.NotContains(t, seen, d, name)
		seen[d] = name
	}
}

func TestTopologyRefuses(t *testing.T) {
	spec.Covers(t, "KS-ID-15", "KS-ID-19")
	many := make([]Member, MaxMembers+1)
	for i := range many {
		many[i] = Member{"m", 1}
	}
	for name, change := range map[string]func(*Topology){
		"direction":        func(t *Topology) { t.Direction = 0 },
		"no source":        func(t *Topology) { t.Sources = nil },
		"no destination":   func(t *Topology) { t.Destinations = nil },
		"no edge":          func(t *Topology) { t.Edges = nil },
		"many sources":     func(t *Topology) { t.Sources = many },
		"many edges":       func(t *Topology) { t.Edges = make([]Edge, MaxEdges+1) },
		"nameless":         func(t *Topology) { t.Sources[0].Name = "" },
		"long name":        func(t *Topology) { t.Destinations[0].Name = strings.Repeat("n", MaxNameBytes+1) },
		"epoch 0":          func(t *Topology) { t.Destinations[0].Epoch = 0 },
		"edge outside":     func(t *Topology) { t.Edges[2].Destination = 2 },
		"edge far":         func(t *Topology) { t.Edges[2].Source = 1<<32 - 1 },
		"edges unsorted":   func(t *Topology) { t.Edges[0], t.Edges[1] = t.Edges[1], t.Edges[0] },
		"sources unsorted": func(t *Topology) { t.Edges = []Edge{{1, 0}, {0, 1}} },
		"edge twice":       func(t *Topology) { t.Edges[1] = t.Edges[0] },
	} {
		top := goldenTopology()
		change(&top)
		_, err := top.Digest()
		wiretest.Refused(t, err, 0)
		dst, err := AppendTopology([]byte("kept"), &top)
		require.Error(t, err, name)
		require.Equal(t, "kept", string(dst))
	}
	top := goldenTopology()
	top.Sources, top.Edges = many[:MaxMembers], []Edge{{MaxMembers - 1, 1}}
	_, err := top.Digest()
	require.NoError(t, err)
}

func TestReadingDoesNotAllocate(t *testing.T) {
	ticket, key := ticketBytes(), keyBytes()
	require.Zero(t, testing.AllocsPerRun(50, func() {
		if readTicket(ticket) != nil || readKey(key) != nil {
			panic("refused")
		}
	}))
}

// TestTopologyReasons names the class and the requirement of each bound.
func TestTopologyReasons(t *testing.T) {
	spec.Covers(t, "KS-ID-19", "KS-ID-14", "KS-ID-15")
	require.Equal(t, []int{4096, 4096, 65536}, []int{MaxMembers, MaxNameBytes, MaxEdges})
	for name, c := range map[string]struct {
		change func(*Topology)
		reason any
		req    string
	}{
		"no source":    {func(t *Topology) { t.Sources = nil }, wire.ReasonBadCount, "KS-ID-19"},
		"no edge":      {func(t *Topology) { t.Edges = nil }, wire.ReasonBadCount, "KS-ID-19"},
		"many sources": {func(t *Topology) { t.Sources = make([]Member, MaxMembers+1) }, wire.ReasonTooLarge, "KS-ID-19"},
		"many edges":   {func(t *Topology) { t.Edges = make([]Edge, MaxEdges+1) }, wire.ReasonTooLarge, "KS-ID-19"},
		"nameless":     {func(t *Topology) { t.Sources[0].Name = "" }, wire.ReasonBadValue, "KS-ID-19"},
		"long name":    {func(t *Topology) { t.Sources[0].Name = strings.Repeat("n", MaxNameBytes+1) }, wire.ReasonTooLarge, "KS-ID-19"},
		"no epoch":     {func(t *Topology) { t.Sources[0].Epoch = 0 }, wire.ReasonBadValue, "KS-ID-14"},
		"order":        {func(t *Topology) { t.Edges[0], t.Edges[1] = t.Edges[1], t.Edges[0] }, wire.ReasonBadOrder, "KS-ID-15"},
		"twice":        {func(t *Topology) { t.Edges[1] = t.Edges[0] }, wire.ReasonDuplicate, "KS-ID-15"},
		"outside":      {func(t *Topology) { t.Edges[0].Source = 1 << 31 }, wire.ReasonOutOfRange, "KS-ID-15"},
	} {
		top := goldenTopology()
		c.change(&top)
		e := wiretest.Refused(t, top.Check(), 0)
		require.Equal(t, c.reason, e.Reason, name)
		require.Equal(t, c.req, e.Req, name)
	}
	top := goldenTopology()
	top.Sources[0].Name = strings.Repeat("n", MaxNameBytes)
	require.NoError(t, top.Check())
}

// TestKeysOfATopology: ranks of a key are indices in the two lists, whatever the
// members are called.
func TestKeysOfATopology(t *testing.T) {
	spec.Covers(t, "KS-ID-13")
	top := goldenTopology()
	digest, err := top.Digest()
	require.NoError(t, err)
	for i, e := range top.Edges {
		k, err := top.Key(goldenKey().Ticket, 9, i)
		require.NoError(t, err)
		require.Equal(t, top.Sources[k.SourceRank], top.Sources[e.Source])
		require.Equal(t, TransferKey{
			Ticket: goldenKey().Ticket, GenAttempt: 9, SourceRank: e.Source, DestinationRank: e.Destination,
			SourceEpoch: top.Sources[e.Source].Epoch, DestinationEpoch: top.Destinations[e.Destination].Epoch, Digest: digest,
		}, k)
		require.NoError(t, k.Check())
	}
	for _, i := range []int{-1, len(top.Edges)} {
		_, err = top.Key(goldenKey().Ticket, 9, i)
		require.Equal(t, "KS-ID-13", wiretest.Refused(t, err, 0).Req)
	}
	_, err = top.Key(goldenKey().Ticket, 0, 0)
	require.Equal(t, "KS-ID-12", wiretest.Refused(t, err, 0).Req)
	top.Edges[0].Source = 99
	_, err = top.Key(goldenKey().Ticket, 9, 1)
	require.Equal(t, "KS-ID-15", wiretest.Refused(t, err, 0).Req)
}

// TestFirstRefusal: of several values that are wrong the first in the bytes
// decides.
func TestFirstRefusal(t *testing.T) {
	spec.Covers(t, "KS-RSN-5", "KS-RSN-4")
	b := keyBytes()
	for _, off := range []int{49, 41, 37, 33, 32, 24, 16, 8} {
		size := map[bool]int{true: 4, false: 8}[off == 33 || off == 37]
		fill := byte(0)
		if size == 4 {
			fill = 0xFF
		}
		if off == 32 {
			size = 1
		}
		for i := range size {
			b[off+i] = fill
		}
		_, err := DecodeKey(b)
		require.Equal(t, off, wiretest.Refused(t, err, len(b)).Offset)
	}
	_, err := DecodeKey(append(b, 0))
	require.Equal(t, KeySize, wiretest.Refused(t, err, len(b)+1).Offset, "the size comes before any value")
}
