package control

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/kvsettle/kvsettle/wire/internal/pbtest"
	"github.com/kvsettle/kvsettle/wire/native"
)

// cpu returns the processor time that this process has used, collector included,
// so that a busy machine does not disturb the comparison.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perOp returns the smallest processor time of one f over some rounds.
func perOp(t testing.TB, n int, f func()) time.Duration {
	best := time.Hour
	for range 7 {
		start := cpu(t)
		for range n {
			f()
		}
		best = min(best, (cpu(t)-start)/time.Duration(n))
	}
	return best
}

// BenchmarkAgainstProtobuf decodes and encodes three messages here and as protobuf
// in one run and reports the ratio of the processor times; nothing is asserted. The
// aims are 8 for TERMINAL and TERMINAL_RECEIPT and 4 for OPEN.
func BenchmarkAgainstProtobuf(t *testing.B) {
	open, terminal, receipt := goldenOpen(t, 500), goldenTerminal(), goldenReceipt()
	limits := native.DefaultLimits()
	buf := make([]byte, 0, 2048)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	rawOpen, err := AppendOpen(nil, plain, &open)
	must(err)
	rawTerminal, err := AppendTerminal(nil, plain, &terminal)
	must(err)
	rawReceipt, err := AppendReceipt(nil, plain, &receipt)
	must(err)
	for _, c := range []struct {
		name string
		ours func()
		pb   *pbtest.Envelope
	}{
		{"TERMINAL", func() {
			f, err := Parse(rawTerminal)
			must(err)
			m, err := f.Terminal(plain)
			must(err)
			buf, err = AppendTerminal(buf[:0], plain, &m)
			must(err)
		}, &pbtest.Envelope{Version: 1, MessageId: 77, Message: &pbtest.Envelope_Terminal{
			Terminal: &pbtest.Terminal{Key: pbKey(&terminal.Key), Evidence: 2}}}},
		{"TERMINAL_RECEIPT", func() {
			f, err := Parse(rawReceipt)
			must(err)
			m, err := f.Receipt(plain)
			must(err)
			buf, err = AppendReceipt(buf[:0], plain, &m)
			must(err)
		}, &pbtest.Envelope{Version: 1, MessageId: 78, Message: &pbtest.Envelope_Receipt{
			Receipt: &pbtest.Receipt{Key: pbKey(&receipt.Key), TerminalMessageId: 77, Evidence: 2, PayloadSha256: receipt.SHA256[:]}}}},
		{"OPEN-500", func() {
			f, err := Parse(rawOpen)
			must(err)
			m, err := f.Open(plain, limits)
			must(err)
			buf, err = AppendOpen(buf[:0], plain, &m)
			must(err)
		}, &pbtest.Envelope{Version: 1, MessageId: 5, Message: &pbtest.Envelope_Open{
			Open: &pbtest.Open{Key: pbKey(&open.Key), Request: open.Request}}}},
	} {
		raw, err := proto.Marshal(c.pb)
		must(err)
		out := make([]byte, 0, 2048)
		theirs := perOp(t, 50_000, func() {
			var m pbtest.Envelope
			must(proto.Unmarshal(raw, &m))
			out, err = (proto.MarshalOptions{}).MarshalAppend(out[:0], &m)
			must(err)
		})
		ours := perOp(t, 200_000, c.ours)
		t.ReportMetric(float64(theirs)/float64(ours), c.name+"-times-protobuf")
		t.ReportMetric(float64(ours), c.name+"-ns")
	}
}
