package identity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func seeds(msg []byte) [][]byte {
	return append(append([][]byte{msg}, wiretest.Broken(msg)...), []byte{}, make([]byte, len(msg)))
}

func TestSeeds(t *testing.T) {
	require.Equal(t, 8, wiretest.Seeds(t, "FuzzTicket", seeds(ticketBytes())))
	require.Equal(t, 8, wiretest.Seeds(t, "FuzzKey", seeds(keyBytes())))
}

func FuzzTicket(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		ticket, err := DecodeTicket(b)
		if err != nil {
			wiretest.Refused(t, err, len(b))
			return
		}
		again, err := AppendTicket(nil, ticket)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

func FuzzKey(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := DecodeKey(b)
		if err != nil {
			wiretest.Refused(t, err, len(b))
			return
		}
		again, err := AppendKey(nil, &k)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

func TestAllocationBound(t *testing.T) {
	wiretest.Bounded(t, wiretest.Corpus(t, "FuzzTicket"), readTicket)
	wiretest.Bounded(t, wiretest.Corpus(t, "FuzzKey"), readKey)
}
