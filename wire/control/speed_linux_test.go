package control

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/kvsettle/kvsettle/wire/internal/pbbench"
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

// TestSpeed decodes and encodes three messages here and as protobuf in one run.
func TestSpeed(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("NOT RUN: measures speed; needs a build without the race detector and no -short")
	}
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
		name  string
		least float64
		ours  func()
		pb    *pbbench.Envelope
	}{
		{"TERMINAL", 8, func() {
			f, err := Parse(rawTerminal)
			must(err)
			m, err := f.Terminal(plain)
			must(err)
			buf, err = AppendTerminal(buf[:0], plain, &m)
			must(err)
		}, &pbbench.Envelope{Version: 1, MessageId: 77, Message: &pbbench.Envelope_Terminal{
			Terminal: &pbbench.Terminal{Key: pbKey(&terminal.Key), Evidence: 2}}}},
		{"TERMINAL_RECEIPT", 8, func() {
			f, err := Parse(rawReceipt)
			must(err)
			m, err := f.Receipt(plain)
			must(err)
			buf, err = AppendReceipt(buf[:0], plain, &m)
			must(err)
		}, &pbbench.Envelope{Version: 1, MessageId: 78, Message: &pbbench.Envelope_Receipt{
			Receipt: &pbbench.Receipt{Key: pbKey(&receipt.Key), TerminalMessageId: 77, Evidence: 2, PayloadSha256: receipt.SHA256[:]}}}},
		{"OPEN with 500 bytes", 4, func() {
			f, err := Parse(rawOpen)
			must(err)
			m, err := f.Open(plain, limits)
			must(err)
			buf, err = AppendOpen(buf[:0], plain, &m)
			must(err)
		}, &pbbench.Envelope{Version: 1, MessageId: 5, Message: &pbbench.Envelope_Open{
			Open: &pbbench.Open{Key: pbKey(&open.Key), Request: open.Request}}}},
	} {
		raw, err := proto.Marshal(c.pb)
		must(err)
		out := make([]byte, 0, 2048)
		theirs := perOp(t, 50_000, func() {
			var m pbbench.Envelope
			must(proto.Unmarshal(raw, &m))
			out, err = (proto.MarshalOptions{}).MarshalAppend(out[:0], &m)
			must(err)
		})
		ours := perOp(t, 200_000, c.ours)
		ratio := float64(theirs) / float64(ours)
		t.Logf("%s: %v here, %v as protobuf: %.1f times as fast", c.name, ours, theirs, ratio)
		require.GreaterOrEqual(t, ratio, c.least, c.name)
	}
}
