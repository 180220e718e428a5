package round

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func be16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

func ticket(id uint64) identity.Ticket {
	return identity.Ticket{RequestID: id, InstanceEpoch: 7, Attempt: 1, Direction: identity.CTXToGEN}
}

func key(id uint64, src, dst uint32) identity.TransferKey {
	return identity.TransferKey{
		Ticket: ticket(id), GenAttempt: 5, SourceRank: src, DestinationRank: dst, SourceEpoch: 10, DestinationEpoch: 20,
		Digest: [32]byte{31: 9},
	}
}

func goldenPayload() Payload {
	return Payload{Round: 0x0102030405060708, Entries: []Entry{
		{Ticket: ticket(1), GenAttempt: 5, Intent: Admit, Mode: descriptor.Baseline},
		{Ticket: ticket(2), Intent: Cancel, Evidence: control.NotStarted, Publication: MaybeObservable, Mode: descriptor.Enabled,
			Version: 1, Caps: 7, ABI: 1, Digest: [32]byte{1}},
		{Ticket: ticket(2), HasKey: true, Key: key(2, 0, 1), Intent: Complete, Evidence: control.Quiesced, Publication: Acked,
			Mode: descriptor.Enabled, Version: 1, Caps: 7, ABI: 1, Digest: [32]byte{1}},
	}}
}

// goldenBytes are the same entries put together by hand.
func goldenBytes() []byte {
	t := func(id uint64) []byte { return slices.Concat(be64(id), be64(7), be64(1), []byte{1}) }
	digest := append([]byte{1}, make([]byte, 31)...)
	k := slices.Concat(be64(2), be64(7), be64(1), be64(5), []byte{1}, be32(0), be32(1), be64(10), be64(20), make([]byte, 31), []byte{9})
	return slices.Concat(be16(1), be16(0), be64(0x0102030405060708), be32(3),
		be32(88), t(1), be64(5), []byte{0, 1, 0, 0, 0}, be16(0), be64(0), be64(0), make([]byte, 32),
		be32(88), t(2), be64(0), []byte{0, 2, 1, 1, 1}, be16(1), be64(7), be64(1), digest,
		be32(177), t(2), be64(0), []byte{1}, k, []byte{3, 0x81, 2, 1}, be16(1), be64(7), be64(1), digest)
}

func decode(b []byte) error { _, err := Decode(b); return err }

func TestGolden(t *testing.T) {
	spec.Covers(t, "KS-RND-2")
	p := goldenPayload()
	b, err := Append([]byte("x"), &p)
	require.NoError(t, err)
	require.Equal(t, goldenBytes(), b[1:])
	got, err := Decode(b[1:])
	require.NoError(t, err)
	require.Equal(t, p, got)

	empty := Payload{Round: 1}
	b, err = Append(nil, &empty)
	require.NoError(t, err)
	require.Len(t, b, headerSize)
	got, err = Decode(b)
	require.NoError(t, err)
	require.Equal(t, empty, got)
}

func TestCuts(t *testing.T) { wiretest.Cuts(t, goldenBytes(), decode) }

// TestFlips changes every bit. The payload has no checksum; the numbers listed here
// may change into others. Schema, flags, counts, lengths, key_present, direction,
// mode against version, and the ticket inside the key cannot.
func TestFlips(t *testing.T) {
	names := map[int]string{}
	at := 0
	put := func(n int, name string) {
		for range n {
			names[at] = name
			at++
		}
	}
	put(4, "schema")
	put(8, "round")
	put(4, "count")
	for _, hasKey := range []bool{false, false, true} {
		put(4, "length")
		put(24, "ticket")
		put(1, "direction")
		put(8, "genAttempt")
		put(1, "keyPresent")
		if hasKey {
			put(24, "key ticket")
			put(8, "key genAttempt")
			put(1, "direction")
			put(8, "key ranks")
			put(16, "key epochs")
			put(32, "key digest")
		}
		put(1, "intent")
		put(1, "evidence")
		put(1, "publication")
		put(1, "mode")
		put(2, "version")
		put(16, "caps and abi")
		put(32, "digest")
	}
	require.Equal(t, len(goldenBytes()), at)
	accepted := map[string]bool{}
	for _, i := range wiretest.Flips(t, goldenBytes(), decode) {
		accepted[names[i]] = true
	}
	want := map[string]bool{
		"round": true, "ticket": true, "genAttempt": true, "key genAttempt": true, "key ranks": true, "key epochs": true,
		"key digest": true, "intent": true, "evidence": true, "publication": true, "version": true, "caps and abi": true, "digest": true,
	}
	require.Equal(t, want, accepted)
}

func TestRefused(t *testing.T) {
	spec.Covers(t, "KS-RND-2", "KS-RND-3", "KS-RND-4", "KS-RSN-3")
	for name, c := range map[string]struct {
		reason any
		change func(*Payload)
	}{
		"order":               {wire.ReasonBadOrder, func(p *Payload) { slices.Reverse(p.Entries) }},
		"key before none":     {wire.ReasonBadOrder, func(p *Payload) { p.Entries[1], p.Entries[2] = p.Entries[2], p.Entries[1] }},
		"twice":               {wire.ReasonDuplicate, func(p *Payload) { p.Entries[1] = p.Entries[0] }},
		"same edge twice":     {wire.ReasonDuplicate, func(p *Payload) { p.Entries[1] = p.Entries[2]; p.Entries[1].Intent = Cancel }},
		"ticket of key":       {wire.ReasonBadValue, func(p *Payload) { p.Entries[2].Key.Ticket.RequestID = 3 }},
		"broken key":          {wire.ReasonBadValue, func(p *Payload) { p.Entries[2].Key.SourceEpoch = 0 }},
		"broken ticket":       {wire.ReasonBadValue, func(p *Payload) { p.Entries[0].Ticket.Attempt = 0 }},
		"intent 0":            {wire.ReasonBadValue, func(p *Payload) { p.Entries[0].Intent = 0 }},
		"intent 5":            {wire.ReasonBadValue, func(p *Payload) { p.Entries[0].Intent = 5 }},
		"evidence 5":          {wire.ReasonBadValue, func(p *Payload) { p.Entries[1].Evidence = 5 }},
		"evidence 0x80":       {wire.ReasonBadValue, func(p *Payload) { p.Entries[1].Evidence = 0x80 }},
		"cancel, no evidence": {wire.ReasonBadValue, func(p *Payload) { p.Entries[1].Evidence = 0 }},
		"publication 4":       {wire.ReasonBadValue, func(p *Payload) { p.Entries[1].Publication = 4 }},
		"mode 2":              {wire.ReasonBadValue, func(p *Payload) { p.Entries[1].Mode = 2 }},
		"version in baseline": {wire.ReasonBadVersion, func(p *Payload) { p.Entries[0].Version = 1 }},
		"no version, enabled": {wire.ReasonBadVersion, func(p *Payload) { p.Entries[1].Version = 0 }},
	} {
		p := goldenPayload()
		c.change(&p)
		dst, err := Append([]byte("kept"), &p)
		require.Equal(t, c.reason, wiretest.Refused(t, err, 0).Reason, name)
		require.Equal(t, "kept", string(dst))
		b := raw(&p)
		_, err = Decode(b)
		e := wiretest.Refused(t, err, len(b))
		require.Equal(t, c.reason, e.Reason, name)
		require.GreaterOrEqual(t, e.Offset, headerSize, name)
	}
	_, err := Append(nil, &Payload{Entries: make([]Entry, MaxEntries+1)})
	require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonTooLarge})
	many := slices.Concat(be16(1), be16(0), be64(1), be32(MaxEntries+1), make([]byte, (MaxEntries+1)*92))
	require.ErrorIs(t, decode(many), &wire.Error{Reason: wire.ReasonTooLarge})
}

// raw writes entries without any check.
func raw(p *Payload) []byte {
	b := slices.Concat(be16(1), be16(0), be64(p.Round), be32(uint32(len(p.Entries))))
	for _, e := range p.Entries {
		t := slices.Concat(be64(e.Ticket.RequestID), be64(e.Ticket.InstanceEpoch), be64(e.Ticket.Attempt), []byte{byte(e.Ticket.Direction)}, be64(e.GenAttempt))
		if e.HasKey {
			var k [identity.KeySize]byte
			e.Key.Put(k[:])
			t = slices.Concat(t, []byte{1}, k[:])
		} else {
			t = append(t, 0)
		}
		t = slices.Concat(t, []byte{byte(e.Intent), byte(e.Evidence), byte(e.Publication), byte(e.Mode)}, be16(e.Version),
			be64(uint64(e.Caps)), be64(e.ABI), e.Digest[:])
		b = slices.Concat(b, be32(uint32(len(t))), t)
	}
	return b
}

func TestLengths(t *testing.T) {
	for _, at := range []int{16, 16 + 92, 16 + 2*92} {
		for _, n := range []uint32{0, 87, 89, 176, 178, 1 << 31, 88, 177} {
			b := goldenBytes()
			if binary.BigEndian.Uint32(b[at:]) == n {
				continue
			}
			copy(b[at:], be32(n))
			e := wiretest.Refused(t, decode(b), len(b))
			require.Equal(t, "KS-RND-2", e.Req)
		}
	}
}

func genEntry(t *rapid.T) Entry {
	e := Entry{
		Ticket: ticket(rapid.Uint64Max(3).Draw(t, "id")), GenAttempt: rapid.Uint64Max(2).Draw(t, "gen"),
		HasKey: rapid.Bool().Draw(t, "hasKey"), Intent: Intent(rapid.Uint8Range(1, 4).Draw(t, "intent")),
		Evidence:    rapid.SampledFrom([]control.Evidence{1, 2, 3, 4, 0x81}).Draw(t, "evidence"),
		Publication: Publication(rapid.Uint8Max(3).Draw(t, "publication")), Caps: descriptor.Caps(rapid.Uint64().Draw(t, "caps")),
		ABI: rapid.Uint64().Draw(t, "abi"),
	}
	if e.Intent == Admit && rapid.Bool().Draw(t, "none") {
		e.Evidence = 0
	}
	if e.HasKey {
		rank := rapid.SampledFrom([]uint32{0, 1, 2, identity.MaxRank - 1, identity.MaxRank})
		e.Key = key(e.Ticket.RequestID, rank.Draw(t, "src"), rank.Draw(t, "dst"))
	}
	if rapid.Bool().Draw(t, "enabled") {
		e.Mode, e.Version = descriptor.Enabled, rapid.Uint16Min(1).Draw(t, "version")
	}
	return e
}

// sortKey is the order as the specification words it, with the largest number for
// the ranks of an absent key.
func sortKey(e *Entry) []byte {
	b, _ := identity.AppendTicket(nil, e.Ticket)
	if !e.HasKey {
		return slices.Concat(b, []byte{0}, be32(1<<32-1), be32(1<<32-1))
	}
	return slices.Concat(b, []byte{1}, be32(e.Key.SourceRank), be32(e.Key.DestinationRank))
}

func TestRoundTrip(t *testing.T) {
	spec.Covers(t, "KS-RND-3")
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(genEntry), 0, 12).Draw(t, "entries")
		Sort(entries)
		require.True(t, slices.IsSortedFunc(entries, func(a, b Entry) int { return slices.Compare(sortKey(&a), sortKey(&b)) }))
		for i := range entries {
			for j := range entries {
				require.Equal(t, slices.Compare(sortKey(&entries[i]), sortKey(&entries[j])), Compare(&entries[i], &entries[j]))
			}
		}
		entries = slices.CompactFunc(entries, func(a, b Entry) bool { return Compare(&a, &b) == 0 })
		if len(entries) == 0 {
			entries = nil
		}
		p := Payload{rapid.Uint64().Draw(t, "round"), entries}
		b, err := Append(nil, &p)
		require.NoError(t, err)
		require.Equal(t, raw(&p), b)
		got, err := Decode(b)
		require.NoError(t, err)
		require.Equal(t, p, got)
	})
}

// TestBound holds reader and writer to the number of contributions, one above and
// one at it.
func TestBound(t *testing.T) {
	spec.Covers(t, "KS-RND-13")
	require.Equal(t, 65536, MaxEntries)
	p := Payload{Round: 1, Entries: make([]Entry, MaxEntries+1)}
	for i := range p.Entries {
		p.Entries[i] = Entry{Ticket: ticket(uint64(i)), Intent: Admit}
	}
	dst, err := Append([]byte("kept"), &p)
	require.Equal(t, "kept", string(dst))
	e := wiretest.Refused(t, err, 0)
	require.Equal(t, wire.ReasonTooLarge, e.Reason)
	require.Equal(t, "KS-RND-13", e.Req)
	p.Entries = p.Entries[:MaxEntries]
	b, err := Append(nil, &p)
	require.NoError(t, err)
	got, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, p, got)
	one := b[headerSize : headerSize+4+smallEntry]
	copy(b[12:], be32(MaxEntries+1))
	e = wiretest.Refused(t, decode(append(b, one...)), len(b)+len(one))
	require.Equal(t, wire.ReasonTooLarge, e.Reason)
	require.Equal(t, 12, e.Offset)
}

// TestPlaces: each value is refused at its own field.
func TestPlaces(t *testing.T) {
	spec.Covers(t, "KS-RSN-4", "KS-RND-2")
	large := headerSize + 2*(4+smallEntry) // the entry with a key
	tail := large + 4 + identity.TicketSize + 8 + 1 + identity.KeySize
	for off, v := range map[int]byte{tail: 5, tail + 1: 5, tail + 2: 4, tail + 3: 2} {
		b := goldenBytes()
		b[off] = v
		require.Equal(t, off, wiretest.Refused(t, decode(b), len(b)).Offset)
	}
	b := goldenBytes()
	b[tail+5] = 0
	e := wiretest.Refused(t, decode(b), len(b))
	require.Equal(t, tail+4, e.Offset)
	require.Equal(t, wire.ReasonBadVersion, e.Reason)
	b = goldenBytes()
	key := tail - identity.KeySize
	b[key+23]++ // another attempt
	require.Equal(t, key, wiretest.Refused(t, decode(b), len(b)).Offset)
	b = goldenBytes()
	e = wiretest.Refused(t, decode(b[:len(b)-1]), len(b))
	require.Equal(t, large, e.Offset)
	require.Equal(t, wire.ReasonBadLength, e.Reason)
}
