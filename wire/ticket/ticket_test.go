package ticket

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
	"github.com/kvsettle/kvsettle/wire/native"
)

func be16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

type tlv struct {
	kind, flags uint16
	value       []byte
}

func payload(items ...tlv) []byte {
	var p []byte
	for _, i := range items {
		p = slices.Concat(p, be16(i.kind), be16(i.flags), be32(uint32(len(i.value))), i.value)
	}
	return p
}

func footer(p []byte) []byte {
	return slices.Concat([]byte("TRTLCTX1"), be16(1), be16(0), be32(uint32(len(p))),
		be32(crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))))
}

func goldenItems() []tlv {
	return []tlv{
		{1, 1, be64(42)}, {2, 1, be64(0x1122334455667788)}, {3, 1, be64(3)}, {4, 1, []byte{1}}, {5, 1, be64(7)}, {6, 1, be64(1)},
	}
}

func goldenTrailer() Trailer {
	return Trailer{
		Ticket:       identity.Ticket{RequestID: 42, InstanceEpoch: 0x1122334455667788, Attempt: 3, Direction: identity.CTXToGEN},
		RequiredCaps: 7, ABI: ABI1,
	}
}

// prefix returns the bytes of a native state.
func prefix(t testing.TB) []byte {
	b, err := native.AppendState(nil, native.Mid2026, native.DataTransceiverState{
		Comm: &native.CommState{Kind: native.CommAgent, Agents: []native.AgentState{{Name: "ctx", ConnInfo: "h:1"}}},
	})
	require.NoError(t, err)
	return b
}

func opaque(state []byte, items ...tlv) []byte {
	p := payload(items...)
	return slices.Concat(state, p, footer(p))
}

func golden(t testing.TB) []byte { return opaque(prefix(t), goldenItems()...) }

func split(b []byte) error { _, err := Split(b); return err }

func TestGolden(t *testing.T) {
	trailer := goldenTrailer()
	b, err := Append([]byte("x"), prefix(t), &trailer)
	require.NoError(t, err)
	require.Equal(t, golden(t), b[1:])
	require.Len(t, b, 1+len(prefix(t))+TrailerSize)
	s, err := Split(b[1:])
	require.NoError(t, err)
	require.Equal(t, State{Native: prefix(t), HasTrailer: true, Trailer: trailer}, s)
	_, v, err := Decode(b[1:], native.Late2025)
	require.NoError(t, err)
	require.Equal(t, "ctx", v.Comm.Agents[0].Name)
}

func TestWithoutTrailer(t *testing.T) {
	spec.Covers(t, "KS-TKT-2")
	for _, b := range [][]byte{nil, {0, 0}, prefix(t), []byte("TRTLCTX1"), make([]byte, 20)} {
		s, err := Split(b)
		require.NoError(t, err)
		require.False(t, s.HasTrailer)
		require.Equal(t, b, s.Native)
	}
	s, v, err := Decode([]byte{0, 0}, native.Mid2026)
	require.NoError(t, err)
	require.False(t, s.HasTrailer)
	require.Nil(t, v.Comm)
	_, _, err = Decode([]byte{2, 0}, native.Mid2026)
	wiretest.Refused(t, err, 2)
}

// TestCuts cuts the state from the end and from the front. What loses its last
// bytes loses its footer and is a state without trailer, whose native prefix then
// has bytes left over: the format allows no earlier notice.
func TestCuts(t *testing.T) {
	b := golden(t)
	read := func(b []byte) error { _, _, err := Decode(b, native.Mid2026); return err }
	wiretest.Refused(t, read(append(b[:len(b):len(b)], 0)), len(b)+1)
	accepted := 0
	for n := range b {
		err := read(b[:n])
		if n == len(prefix(t)) {
			require.NoError(t, err, "exactly the native state")
			accepted++
			continue
		}
		wiretest.Refused(t, err, n)
	}
	require.Equal(t, 1, accepted)
	for n := 1; n < len(b); n++ {
		_, _, err := Decode(b[n:], native.Mid2026)
		require.Error(t, err, "front cut at %d", n)
	}
}

// TestFlips changes every bit: in the trailer each change is noticed, by the
// checksum or because the rest is no native state. In the native prefix the fields
// of the native encoding may change.
func TestFlips(t *testing.T) {
	b := golden(t)
	for _, at := range wiretest.Flips(t, b, func(b []byte) error { _, _, err := Decode(b, native.Mid2026); return err }) {
		require.Less(t, at, len(prefix(t)))
	}
}

func TestFooter(t *testing.T) {
	spec.Covers(t, "KS-TKT-1", "KS-TKT-3")
	for name, c := range map[string]struct {
		reason any
		change func(foot []byte)
	}{
		"schema":           {wire.ReasonBadVersion, func(f []byte) { f[9] = 2 }},
		"flags":            {wire.ReasonBadFlags, func(f []byte) { f[11] = 1 }},
		"length above max": {wire.ReasonTooLarge, func(f []byte) { f[14] = 0x11 }},
		"length too long":  {wire.ReasonBadLength, func(f []byte) { f[14] = 0x0F }},
		"length other":     {wire.ReasonBadChecksum, func(f []byte) { f[15]-- }},
		"crc":              {wire.ReasonBadChecksum, func(f []byte) { f[19] ^= 1 }},
	} {
		b := golden(t)
		c.change(b[len(b)-20:])
		require.Equal(t, c.reason, wiretest.Refused(t, split(b), len(b)).Reason, name)
	}
	require.ErrorIs(t, split(make([]byte, MaxState+1)), &wire.Error{Reason: wire.ReasonTooLarge})
	require.NoError(t, split(make([]byte, MaxState)))
	p := payload(append(goldenItems(), tlv{0x7000, 0, make([]byte, MaxPayload-89-8)})...)
	require.Len(t, p, MaxPayload)
	require.NoError(t, split(slices.Concat(p, footer(p))))
}

func TestItems(t *testing.T) {
	spec.Covers(t, "KS-TKT-4", "KS-TKT-5")
	reread := func(change func([]tlv) []tlv) error { return split(opaque(prefix(t), change(goldenItems())...)) }
	requireReason := func(want any, err error, args ...any) {
		t.Helper()
		e := wiretest.Refused(t, err, 1<<20)
		require.Equal(t, want, e.Reason, args...)
		require.GreaterOrEqual(t, e.Offset, len(prefix(t)), args...)
	}
	for i := range goldenItems() {
		requireReason(wire.ReasonMissing, reread(func(s []tlv) []tlv { return slices.Delete(s, i, i+1) }), i)
		requireReason(wire.ReasonDuplicate, reread(func(s []tlv) []tlv { return append(s, s[i]) }), i)
		requireReason(wire.ReasonBadFlags, reread(func(s []tlv) []tlv { s[i].flags = 0; return s }), i)
		requireReason(wire.ReasonBadFlags, reread(func(s []tlv) []tlv { s[i].flags = 3; return s }), i)
		requireReason(wire.ReasonBadLength, reread(func(s []tlv) []tlv { s[i].value = s[i].value[1:]; return s }), i)
		requireReason(wire.ReasonBadLength, reread(func(s []tlv) []tlv { s[i].value = append(s[i].value, 0); return s }), i)
	}
	requireReason(wire.ReasonUnknownRequired, reread(func(s []tlv) []tlv { return append(s, tlv{7, 1, nil}) }))
	requireReason(wire.ReasonUnknownRequired, reread(func(s []tlv) []tlv { return append(s, tlv{0, 1, nil}) }))
	require.NoError(t, reread(func(s []tlv) []tlv { return append(s, tlv{7, 0, []byte("later")}) }))
	require.NoError(t, reread(func(s []tlv) []tlv { slices.Reverse(s); return s }))
	for name, c := range map[string]struct {
		i      int
		value  []byte
		reason any
	}{
		"epoch 0":     {1, be64(0), wire.ReasonBadValue},
		"attempt 0":   {2, be64(0), wire.ReasonBadValue},
		"direction 2": {3, []byte{2}, wire.ReasonBadValue},
		"abi 0":       {5, be64(0), wire.ReasonBadValue},
		"abi 2":       {5, be64(2), wire.ReasonBadVersion},
	} {
		requireReason(c.reason, reread(func(s []tlv) []tlv { s[c.i].value = c.value; return s }), name)
	}
	for n := range payload(goldenItems()...) {
		p := payload(goldenItems()...)[:n]
		err := split(slices.Concat(p, footer(p)))
		wiretest.Refused(t, err, n+20)
	}
}

func TestAppendRefuses(t *testing.T) {
	good := goldenTrailer()
	for name, c := range map[string]struct {
		state  []byte
		change func(*Trailer)
	}{
		"no native state": {[]byte{1}, func(*Trailer) {}},
		"state and more":  {append(prefix(t), 0), func(*Trailer) {}},
		"too large":       {make([]byte, MaxState), func(*Trailer) {}},
		"attempt 0":       {prefix(t), func(r *Trailer) { r.Ticket.Attempt = 0 }},
		"abi 0":           {prefix(t), func(r *Trailer) { r.ABI = 0 }},
		"abi 2":           {prefix(t), func(r *Trailer) { r.ABI = 2 }},
	} {
		r := good
		c.change(&r)
		dst, err := Append([]byte("kept"), c.state, &r)
		wiretest.Refused(t, err, len(c.state))
		require.Equal(t, "kept", string(dst), name)
	}
}

func TestRoundTrip(t *testing.T) {
	state := prefix(t)
	rapid.Check(t, func(t *rapid.T) {
		r := Trailer{
			Ticket: identity.Ticket{
				RequestID: rapid.Uint64().Draw(t, "id"), InstanceEpoch: rapid.Uint64Min(1).Draw(t, "epoch"),
				Attempt: rapid.Uint64Min(1).Draw(t, "attempt"), Direction: identity.CTXToGEN,
			},
			RequiredCaps: descriptor.Caps(rapid.Uint64().Draw(t, "caps")), ABI: ABI1,
		}
		b, err := Append(nil, state, &r)
		require.NoError(t, err)
		s, err := Split(b)
		require.NoError(t, err)
		require.Equal(t, State{state, true, r}, s)

		tail := rapid.SliceOf(rapid.Byte()).Draw(t, "tail")
		tagged, err := AppendTagged(nil, b)
		require.NoError(t, err)
		got, rest, is, err := ReadTagged(append(tagged, tail...))
		require.NoError(t, err)
		require.True(t, is)
		require.Equal(t, b, got)
		require.Equal(t, len(tail), len(rest))
	})
}

func TestTagged(t *testing.T) {
	spec.Covers(t, "KS-TKT-11", "KS-TKT-12")
	b, err := AppendTagged([]byte("x"), golden(t))
	require.NoError(t, err)
	require.Equal(t, slices.Concat([]byte{'x', 0xD7}, []byte("TRTLCTX1"), be32(uint32(len(golden(t)))), golden(t)), b)
	b = b[1:]
	for n := range b {
		_, _, _, err := ReadTagged(b[:n])
		wiretest.Refused(t, err, n)
	}
	for _, old := range [][]byte{{0}, {1}, {1, 2, 3}} {
		_, rest, tagged, err := ReadTagged(old)
		require.NoError(t, err)
		require.False(t, tagged)
		require.Equal(t, old, rest)
	}
	for tag := 2; tag < 256; tag++ {
		if tag != TagByte {
			_, _, _, err := ReadTagged([]byte{byte(tag), 0, 0})
			wiretest.Refused(t, err, 3)
		}
	}
	bad := slices.Clone(b)
	bad[8] = '2'
	_, _, _, err = ReadTagged(bad)
	require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonBadMagic})
	copy(bad, b)
	bad[9] = 1
	_, _, _, err = ReadTagged(bad)
	require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonTooLarge})
	for _, no := range [][]byte{prefix(t), make([]byte, MaxState+1), append(golden(t), 0)} {
		dst, err := AppendTagged([]byte("kept"), no)
		wiretest.Refused(t, err, len(no))
		require.Equal(t, "kept", string(dst))
	}
}

func TestSplitDoesNotAllocate(t *testing.T) {
	b := golden(t)
	require.Zero(t, testing.AllocsPerRun(50, func() {
		if split(b) != nil {
			panic("refused")
		}
	}))
}
