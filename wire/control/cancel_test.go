package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

func TestCancelReasons(t *testing.T) {
	spec.Covers(t, "KS-CTL-15")
	for v := range uint32(8) {
		m := Cancel{ID: 1, Key: goldenKey(), Reason: Reason(v)}
		_, writeErr := AppendCancel(nil, plain, &m)
		got, err := read(frame(1, 3, 1, payload(keyItem(), tlv{4, 1, be32(v)})), plain)
		if v >= 1 && v <= 5 {
			require.NoError(t, writeErr)
			require.NoError(t, err)
			require.Equal(t, m, got)
			require.NotEqual(t, "INVALID", m.Reason.String())
			continue
		}
		requireReason(t, wire.ReasonBadValue, err)
		requireReason(t, wire.ReasonBadValue, writeErr)
		require.Equal(t, "INVALID", m.Reason.String())
	}
	_, err := read(frame(1, 3, 1, payload(keyItem(), tlv{4, 1, be32(1 << 31)})), plain)
	requireReason(t, wire.ReasonBadValue, err)
}
