package control

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/internal/pbtest"
	"github.com/kvsettle/kvsettle/wire/native"
)

// Each pair of benchmarks decodes a message and encodes it again, ours with all
// checks on, the other as protobuf-go does the same fields.

func pbKey(k *identity.TransferKey) *pbtest.Key {
	return &pbtest.Key{
		CtxRequestId: k.Ticket.RequestID, CtxInstanceEpoch: k.Ticket.InstanceEpoch, CtxAttempt: k.Ticket.Attempt,
		GenAttempt: k.GenAttempt, Direction: uint32(k.Ticket.Direction), SourceRank: k.SourceRank,
		DestinationRank: k.DestinationRank, SourceInstanceEpoch: k.SourceEpoch, DestinationInstanceEpoch: k.DestinationEpoch,
		TopologyDigest: k.Digest[:],
	}
}

func benchProto(b *testing.B, m *pbtest.Envelope) {
	raw, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 2*len(raw))
	b.ReportAllocs()
	for b.Loop() {
		var got pbtest.Envelope
		if err := proto.Unmarshal(raw, &got); err != nil {
			b.Fatal(err)
		}
		if buf, err = (proto.MarshalOptions{}).MarshalAppend(buf[:0], &got); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTerminal(b *testing.B) {
	m := goldenTerminal()
	b.Run("kvsettle", func(b *testing.B) {
		raw, err := AppendTerminal(nil, plain, &m)
		if err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 0, 2*len(raw))
		b.ReportAllocs()
		for b.Loop() {
			f, err := Parse(raw)
			if err != nil {
				b.Fatal(err)
			}
			got, err := f.Terminal(plain)
			if err != nil {
				b.Fatal(err)
			}
			if buf, err = AppendTerminal(buf[:0], plain, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protobuf", func(b *testing.B) {
		benchProto(b, &pbtest.Envelope{Version: 1, MessageId: m.ID, Message: &pbtest.Envelope_Terminal{
			Terminal: &pbtest.Terminal{Key: pbKey(&m.Key), Evidence: uint32(m.Evidence)}}})
	})
}

func BenchmarkReceipt(b *testing.B) {
	m := goldenReceipt()
	b.Run("kvsettle", func(b *testing.B) {
		raw, err := AppendReceipt(nil, plain, &m)
		if err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 0, 2*len(raw))
		b.ReportAllocs()
		for b.Loop() {
			f, err := Parse(raw)
			if err != nil {
				b.Fatal(err)
			}
			got, err := f.Receipt(plain)
			if err != nil {
				b.Fatal(err)
			}
			if buf, err = AppendReceipt(buf[:0], plain, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protobuf", func(b *testing.B) {
		benchProto(b, &pbtest.Envelope{Version: 1, MessageId: m.ID, Message: &pbtest.Envelope_Receipt{
			Receipt: &pbtest.Receipt{Key: pbKey(&m.Key), TerminalMessageId: m.TerminalID, Evidence: uint32(m.Evidence),
				PayloadSha256: m.SHA256[:]}}})
	})
}

func BenchmarkOpen(b *testing.B) {
	m := goldenOpen(b, 500)
	limits := native.DefaultLimits()
	b.Run("kvsettle", func(b *testing.B) {
		raw, err := AppendOpen(nil, plain, &m)
		if err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 0, 2*len(raw))
		b.ReportAllocs()
		for b.Loop() {
			f, err := Parse(raw)
			if err != nil {
				b.Fatal(err)
			}
			got, err := f.Open(plain, limits)
			if err != nil {
				b.Fatal(err)
			}
			if buf, err = AppendOpen(buf[:0], plain, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protobuf", func(b *testing.B) {
		benchProto(b, &pbtest.Envelope{Version: 1, MessageId: m.ID, Message: &pbtest.Envelope_Open{
			Open: &pbtest.Open{Key: pbKey(&m.Key), Request: m.Request}}})
	})
}

func BenchmarkParse(b *testing.B) {
	raw, err := AppendTerminal(nil, plain, ptr(goldenTerminal()))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, err := Parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Terminal(plain); err != nil {
			b.Fatal(err)
		}
	}
}

func ptr[T any](v T) *T { return &v }
