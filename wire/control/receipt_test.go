package control

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire"
)

// TestReceiptEchoes makes the receipt for a TERMINAL.
func TestReceiptEchoes(t *testing.T) {
	terminal := goldenTerminal()
	b, err := AppendTerminal(nil, plain, &terminal)
	require.NoError(t, err)
	f, err := Parse(b)
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256(b[40:]), f.PayloadSHA256())
	m := Receipt{ID: 2, Key: terminal.Key, TerminalID: f.ID, Evidence: terminal.Evidence, SHA256: f.PayloadSHA256()}
	b, err = AppendReceipt(nil, plain, &m)
	require.NoError(t, err)
	got, err := read(b, plain)
	require.NoError(t, err)
	require.Equal(t, m, got)
}

func TestReceiptRefuses(t *testing.T) {
	sum := make([]byte, 32)
	for name, items := range map[string][]tlv{
		"id 0":       {keyItem(), {5, 1, []byte{1}}, {6, 1, be64(0)}, {7, 1, sum}},
		"evidence 0": {keyItem(), {5, 1, []byte{0}}, {6, 1, be64(1)}, {7, 1, sum}},
		"quiesced":   {keyItem(), {5, 1, []byte{0x81}}, {6, 1, be64(1)}, {7, 1, sum}},
	} {
		_, err := read(frame(1, 5, 1, payload(items...)), plain)
		requireReason(t, wire.ReasonBadValue, err, name)
	}
	_, err := AppendReceipt(nil, plain, &Receipt{ID: 1, Key: goldenKey(), Evidence: Unknown})
	requireReason(t, wire.ReasonBadValue, err)
	_, err = AppendReceipt(nil, plain, &Receipt{ID: 1, Key: goldenKey(), TerminalID: 1})
	requireReason(t, wire.ReasonBadValue, err)
}
