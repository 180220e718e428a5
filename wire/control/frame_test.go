package control

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
	"github.com/kvsettle/kvsettle/wire/native"
)

// A tlv is one item as the tests write it, well-formed or not.
type tlv struct {
	kind, flags uint16
	value       []byte
}

func be16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

func keyItem() tlv {
	k := goldenKey()
	return tlv{1, 1, slices.Concat(
		be64(k.Ticket.RequestID), be64(k.Ticket.InstanceEpoch), be64(k.Ticket.Attempt), be64(k.GenAttempt), []byte{1},
		be32(k.SourceRank), be32(k.DestinationRank), be64(k.SourceEpoch), be64(k.DestinationEpoch), k.Digest[:])}
}

func payload(items ...tlv) []byte {
	var p []byte
	for _, i := range items {
		p = slices.Concat(p, be16(i.kind), be16(i.flags), be32(uint32(len(i.value))), i.value)
	}
	return p
}

// frame writes a notification from its parts, a second time and without the
// package's encoders.
func frame(version, typ uint16, id uint64, p []byte) []byte {
	crc := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
	return slices.Concat([]byte{3, 0, 0, 0, 0, 0, 0, 0}, []byte("TRTLCAN1"), be16(version), be16(typ), be32(0),
		be32(uint32(len(p))), be32(crc), be64(id), p)
}

// A message under test: a value, what it must look like, and its codec.
type message struct {
	name  string
	typ   Type
	d     Dialect
	value any
	items []tlv
	id    uint64
}

func (m message) bytes() []byte { return frame(1, uint16(m.typ), m.id, payload(m.items...)) }

func messages(t testing.TB) []message {
	k := keyItem()
	open := goldenOpen(t, 300)
	receipt := goldenReceipt()
	one := func(kind uint16, v byte) tlv { return tlv{kind, 1, []byte{v}} }
	return []message{
		{"OPEN", TypeOpen, plain, open, []tlv{k, {2, 1, open.Request}}, 5},
		{"READY ready", TypeReady, plain, Ready{ID: 6, Key: goldenKey(), Decision: DecisionReady}, []tlv{k, one(3, 1)}, 6},
		{"READY not ready", TypeReady, both, Ready{ID: 7, Key: goldenKey(), Decision: DecisionNotReady, Evidence: Unknown},
			[]tlv{k, one(3, 2), one(5, 4)}, 7},
		{"READY recovery", TypeReady, recovers, Ready{ID: 8, Key: goldenKey(), Decision: DecisionReady, Contract: 7, RetentionMS: 30000},
			[]tlv{k, one(3, 1), {0x8003, 1, be32(7)}, {0x8007, 1, be32(30000)}}, 8},
		{"READY quiescence", TypeReady, quiesces, Ready{ID: 9, Key: goldenKey(), Decision: DecisionReady, Contract: 5},
			[]tlv{k, one(3, 1), {0x8003, 1, be32(5)}, {0x8007, 1, be32(0)}}, 9},
		{"CANCEL", TypeCancel, plain, Cancel{ID: 10, Key: goldenKey(), Reason: ReasonDeadline}, []tlv{k, {4, 1, be32(2)}}, 10},
		{"TERMINAL", TypeTerminal, plain, goldenTerminal(), []tlv{k, one(5, 2)}, 77},
		{"TERMINAL quiesced", TypeTerminal, quiesces, Terminal{ID: 11, Key: goldenKey(), Evidence: Quiesced}, []tlv{k, one(5, 0x81)}, 11},
		{"RECEIPT", TypeReceipt, plain, receipt, []tlv{k, one(5, 2), {6, 1, be64(77)}, {7, 1, receipt.SHA256[:]}}, 78},
		{"QUERY", TypeQuery, recovers, Query{ID: 12, Key: goldenKey()}, []tlv{k}, 12},
		{"STATUS", TypeStatus, recovers, Status{ID: 13, Key: goldenKey(), State: StateInProgress, QueryID: 12},
			[]tlv{k, one(0x8001, 2), {0x8002, 1, be64(12)}}, 13},
		{"DATA_COMPLETE", TypeDataComplete, both, DataComplete{ID: 14, Key: goldenKey(), Index: 2, Count: 3, Bytes: 1 << 33},
			[]tlv{k, {0x8004, 1, be32(2)}, {0x8005, 1, be32(3)}, {0x8006, 1, be64(1 << 33)}}, 14},
	}
}

// read parses b and reads it as what its type says.
func read(b []byte, d Dialect) (any, error) {
	f, err := Parse(b)
	if err != nil {
		return nil, err
	}
	return readAs(&f, f.Type, d)
}

func readAs(f *Frame, typ Type, d Dialect) (any, error) {
	switch typ {
	case TypeOpen:
		return f.Open(d, native.DefaultLimits())
	case TypeReady:
		return f.Ready(d)
	case TypeCancel:
		return f.Cancel(d)
	case TypeTerminal:
		return f.Terminal(d)
	case TypeReceipt:
		return f.Receipt(d)
	case TypeQuery:
		return f.Query(d)
	case TypeStatus:
		return f.Status(d)
	}
	return f.DataComplete(d)
}

func write(dst []byte, d Dialect, value any) ([]byte, error) {
	switch m := value.(type) {
	case Open:
		return AppendOpen(dst, d, &m)
	case Ready:
		return AppendReady(dst, d, &m)
	case Cancel:
		return AppendCancel(dst, d, &m)
	case Terminal:
		return AppendTerminal(dst, d, &m)
	case Receipt:
		return AppendReceipt(dst, d, &m)
	case Query:
		return AppendQuery(dst, d, &m)
	case Status:
		return AppendStatus(dst, d, &m)
	}
	m := value.(DataComplete)
	return AppendDataComplete(dst, d, &m)
}

// TestGolden compares every message with bytes that were put together by hand, in
// both directions.
func TestGolden(t *testing.T) {
	spec.Covers(t, "KS-CTL-1", "KS-CTL-12")
	for _, m := range messages(t) {
		b, err := write([]byte("x"), m.d, m.value)
		require.NoError(t, err, m.name)
		require.Equal(t, m.bytes(), b[1:], m.name)
		got, err := read(b[1:], m.d)
		require.NoError(t, err, m.name)
		require.Equal(t, m.value, got, m.name)
		f, err := Parse(b[1:])
		require.NoError(t, err)
		key, err := f.Key()
		require.NoError(t, err)
		require.Equal(t, goldenKey(), key)
	}
}

func TestCuts(t *testing.T) {
	cuts := 0
	for _, m := range messages(t) {
		wiretest.Cuts(t, m.bytes(), func(b []byte) error {
			_, err := read(b, m.d)
			return err
		})
		cuts += len(m.bytes())
		// The payload cut with a frame that fits it: only the items can tell.
		p := payload(m.items...)
		for n := range p {
			_, err := read(frame(1, uint16(m.typ), m.id, p[:n]), m.d)
			wiretest.Refused(t, err, Overhead+n)
		}
		cuts += len(p)
	}
	t.Logf("%d cuts refused", cuts)
}

// TestFlips changes every bit. The checksum covers the payload only, so the
// envelope's message id may change unnoticed, and the version of an OPEN, which
// is compared with a selection later. A changed type is always noticed, because no
// two types have the same set of items.
func TestFlips(t *testing.T) {
	flips := 0
	for _, m := range messages(t) {
		b := m.bytes()
		for _, at := range wiretest.Flips(t, b, func(b []byte) error {
			_, err := read(b, m.d)
			return err
		}) {
			id := at >= 32 && at < 40
			version := at >= 16 && at < 18
			require.True(t, id || version && m.typ == TypeOpen, "%s byte %d", m.name, at)
		}
		flips += 8 * len(b)
	}
	t.Logf("%d bit flips", flips)
}

// TestEveryPayloadFlipIsNoticedByCRC changes each payload bit and leaves the rest.
func TestEveryPayloadFlipIsNoticedByCRC(t *testing.T) {
	spec.Covers(t, "KS-CTL-4")
	b := messages(t)[6].bytes()
	for i := Overhead; i < len(b); i++ {
		for bit := range 8 {
			b[i] ^= 1 << bit
			_, err := Parse(b)
			require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonBadChecksum})
			b[i] ^= 1 << bit
		}
	}
}

// TestEnvelope breaks each field of the envelope.
func TestEnvelope(t *testing.T) {
	spec.Covers(t, "KS-CTL-1", "KS-CTL-5", "KS-CTL-6", "KS-CTL-8")
	good := messages(t)[6].bytes()
	for name, c := range map[string]struct {
		reason any
		change func(b []byte) []byte
	}{
		"empty":          {wire.ReasonShortInput, func([]byte) []byte { return nil }},
		"39 bytes":       {wire.ReasonShortInput, func(b []byte) []byte { return b[:39] }},
		"index 2":        {wire.ReasonBadIndex, func(b []byte) []byte { b[0] = 2; return b }},
		"index 2^32+3":   {wire.ReasonBadIndex, func(b []byte) []byte { b[4] = 1; return b }},
		"magic":          {wire.ReasonBadMagic, func(b []byte) []byte { b[15] = '2'; return b }},
		"flags":          {wire.ReasonBadFlags, func(b []byte) []byte { b[23] = 1; return b }},
		"length above":   {wire.ReasonBadLength, func(b []byte) []byte { b[27]++; return b }},
		"length below":   {wire.ReasonTrailingBytes, func(b []byte) []byte { b[27]--; return b }},
		"above 1 MiB":    {wire.ReasonTooLarge, func(b []byte) []byte { b[25] = 0x10; return b }},
		"crc":            {wire.ReasonBadChecksum, func(b []byte) []byte { b[28] ^= 1; return b }},
		"id 0":           {wire.ReasonBadValue, func(b []byte) []byte { clear(b[32:40]); return b }},
		"type 0":         {wire.ReasonBadType, func(b []byte) []byte { b[19] = 0; return b }},
		"type 6":         {wire.ReasonBadType, func(b []byte) []byte { b[19] = 6; return b }},
		"type 0x8000":    {wire.ReasonBadType, func(b []byte) []byte { b[18], b[19] = 0x80, 0; return b }},
		"type 0x8004":    {wire.ReasonBadType, func(b []byte) []byte { b[18] = 0x80; return b }},
		"trailing bytes": {wire.ReasonTrailingBytes, func(b []byte) []byte { return append(b, 0) }},
	} {
		b := c.change(slices.Clone(good))
		_, err := Parse(b)
		require.Equal(t, c.reason, wiretest.Refused(t, err, len(b)).Reason, name)
	}
	largest := make([]byte, MaxPayload)
	copy(largest, payload(tlv{0x7000, 0, make([]byte, MaxPayload-8)}))
	_, err := Parse(frame(1, 4, 1, largest))
	require.NoError(t, err)
	_, err = Parse(frame(1, 4, 1, append(largest, 0)))
	require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonTooLarge})
}

// TestRoundTrip writes and reads random messages of every type.
func TestRoundTrip(t *testing.T) {
	dialects := []Dialect{plain, recovers, quiesces, both}
	request := goldenOpen(t, 0).Request
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(dialects).Draw(t, "dialect")
		value := genMessage(t, d, request)
		b, err := write(nil, d, value)
		require.NoError(t, err)
		got, err := read(b, d)
		require.NoError(t, err)
		require.Equal(t, value, got)
	})
}

func genMessage(t *rapid.T, d Dialect, request []byte) any {
	id := rapid.Uint64Min(1).Draw(t, "id")
	k := goldenKey()
	k.Ticket.RequestID = rapid.Uint64().Draw(t, "request")
	k.Ticket.Attempt = rapid.Uint64Min(1).Draw(t, "attempt")
	k.SourceRank = rapid.Uint32Max(1<<32-2).Draw(t, "rank")
	evidence := []Evidence{NotStarted, SourceComplete, DestinationComplete, Unknown}
	if d == quiesces || d == both {
		evidence = append(evidence, Quiesced)
	}
	e := rapid.SampledFrom(evidence).Draw(t, "evidence")
	last := 4
	if d == recovers || d == both {
		last = 7
	}
	switch rapid.IntRange(0, last).Draw(t, "type") {
	case 0:
		return Open{id, k, request}
	case 1:
		m := Ready{ID: id, Key: k, Decision: DecisionReady}
		if rapid.Bool().Draw(t, "not ready") {
			m.Decision, m.Evidence = DecisionNotReady, rapid.SampledFrom([]Evidence{NotStarted, Unknown}).Draw(t, "why")
		} else if d != plain {
			m.Contract, m.RetentionMS = rapid.Uint32().Draw(t, "contract"), rapid.Uint32().Draw(t, "retention")
		}
		return m
	case 2:
		return Cancel{id, k, Reason(rapid.Uint32Range(1, 5).Draw(t, "reason"))}
	case 3:
		return Terminal{id, k, e}
	case 4:
		m := Receipt{ID: id, Key: k, TerminalID: rapid.Uint64Min(1).Draw(t, "terminal"), Evidence: e}
		copy(m.SHA256[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "sha"))
		return m
	case 5:
		return Query{id, k}
	case 6:
		return Status{id, k, SourceState(rapid.Uint8Range(1, 5).Draw(t, "state")), rapid.Uint64Min(1).Draw(t, "query")}
	}
	count := rapid.Uint32Min(1).Draw(t, "count")
	return DataComplete{id, k, rapid.Uint32Max(count-1).Draw(t, "index"), count, rapid.Uint64().Draw(t, "bytes")}
}
