package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

func TestQueryNeedsBit48(t *testing.T) {
	spec.Covers(t, "KS-REC-2")
	m := Query{ID: 1, Key: goldenKey()}
	for _, d := range []Dialect{plain, quiesces} {
		_, err := AppendQuery(nil, d, &m)
		requireReason(t, wire.ReasonBadType, err)
		_, err = read(frame(1, 0x8001, 1, payload(keyItem())), d)
		requireReason(t, wire.ReasonBadType, err)
	}
	b, err := AppendQuery(nil, recovers, &m)
	require.NoError(t, err)
	require.Len(t, b, Overhead+keyTLV)
}
