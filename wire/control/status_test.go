package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

func TestStatusStates(t *testing.T) {
	spec.Covers(t, "KS-REC-2")
	for v := range 256 {
		m := Status{ID: 1, Key: goldenKey(), State: SourceState(v), QueryID: 9}
		_, writeErr := AppendStatus(nil, recovers, &m)
		got, err := read(frame(1, 0x8002, 1, payload(keyItem(), tlv{0x8001, 1, []byte{byte(v)}}, tlv{0x8002, 1, be64(9)})), recovers)
		if v >= 1 && v <= 5 {
			require.NoError(t, writeErr)
			require.NoError(t, err)
			require.Equal(t, m, got)
			continue
		}
		requireReason(t, wire.ReasonBadValue, err)
		requireReason(t, wire.ReasonBadValue, writeErr)
	}
	_, err := read(frame(1, 0x8002, 1, payload(keyItem(), tlv{0x8001, 1, []byte{1}}, tlv{0x8002, 1, be64(0)})), recovers)
	requireReason(t, wire.ReasonBadValue, err)
	_, err = AppendStatus(nil, recovers, &Status{ID: 1, Key: goldenKey(), State: 1})
	requireReason(t, wire.ReasonBadValue, err)
	_, err = AppendStatus(nil, plain, &Status{ID: 1, Key: goldenKey(), State: 1, QueryID: 1})
	requireReason(t, wire.ReasonBadType, err)
}
