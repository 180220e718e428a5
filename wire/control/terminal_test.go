package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

func TestTerminalEvidence(t *testing.T) {
	spec.Covers(t, "KS-CTL-15")
	for v := range 256 {
		e := Evidence(v)
		for _, d := range []Dialect{plain, recovers, quiesces} {
			m := Terminal{ID: 1, Key: goldenKey(), Evidence: e}
			_, writeErr := AppendTerminal(nil, d, &m)
			got, err := read(frame(1, 4, 1, payload(keyItem(), tlv{5, 1, []byte{byte(v)}})), d)
			if v >= 1 && v <= 4 || v == 0x81 && d == quiesces {
				require.NoError(t, writeErr)
				require.NoError(t, err)
				require.Equal(t, m, got)
				require.NotEqual(t, "INVALID", e.String())
				continue
			}
			requireReason(t, wire.ReasonBadValue, err, v)
			requireReason(t, wire.ReasonBadValue, writeErr, v)
			require.Equal(t, v == 0x81, e.String() != "INVALID")
		}
	}
}
