package round

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func seeds() [][]byte {
	reversed := goldenPayload()
	slices.Reverse(reversed.Entries)
	return append(append([][]byte{goldenBytes(), goldenBytes()[:16], {}, raw(&reversed)}, wiretest.Broken(goldenBytes())...),
		slices.Concat(be16(1), be16(0), be64(1), be32(1<<32-1)))
}

func TestSeeds(t *testing.T) {
	require.Equal(t, 10, wiretest.Seeds(t, "FuzzDecode", seeds()))
}

func FuzzDecode(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			require.GreaterOrEqual(t, wiretest.Refused(t, err, len(b)).Offset, 0)
			return
		}
		again, err := Append(nil, &p)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

// TestAllocationBound adds a large valid payload of the smallest entries and one
// that breaks at its end.
func TestAllocationBound(t *testing.T) {
	var p Payload
	for i := range uint64(5000) {
		p.Entries = append(p.Entries, Entry{Ticket: ticket(i), Intent: Admit, Mode: descriptor.Baseline})
	}
	large, err := Append(nil, &p)
	require.NoError(t, err)
	inputs := append(wiretest.Corpus(t, "FuzzDecode"), large, large[:len(large)-1])
	t.Logf("largest use of the bound: %d %%", wiretest.Bounded(t, inputs, decode))
}
