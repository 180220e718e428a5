package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

func TestDataCompleteChunks(t *testing.T) {
	spec.Covers(t, "KS-REC-2")
	for _, c := range []struct {
		index, count uint32
		ok           bool
	}{{0, 1, true}, {0, 0, false}, {1, 1, false}, {6, 7, true}, {1<<32 - 2, 1<<32 - 1, true}, {1<<32 - 1, 1<<32 - 1, false}} {
		m := DataComplete{ID: 1, Key: goldenKey(), Index: c.index, Count: c.count, Bytes: 0}
		_, writeErr := AppendDataComplete(nil, recovers, &m)
		got, err := read(frame(1, 0x8003, 1,
			payload(keyItem(), tlv{0x8004, 1, be32(c.index)}, tlv{0x8005, 1, be32(c.count)}, tlv{0x8006, 1, be64(0)})), recovers)
		if c.ok {
			require.NoError(t, writeErr)
			require.NoError(t, err)
			require.Equal(t, m, got)
			continue
		}
		requireReason(t, wire.ReasonBadValue, err)
		requireReason(t, wire.ReasonBadValue, writeErr)
	}
	_, err := AppendDataComplete(nil, quiesces, &DataComplete{ID: 1, Key: goldenKey(), Count: 1})
	requireReason(t, wire.ReasonBadType, err)
}
