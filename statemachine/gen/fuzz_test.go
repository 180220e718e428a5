package gen_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
)

// seeds is the number of checked-in inputs of FuzzStep.
const seeds = 12

// FuzzStep reads pairs of bytes as inputs: kind, then edge, mask, value and time
// from the other one.
func FuzzStep(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		var m gen.Machine
		var c counts
		var now sm.Time
		dst := make([]gen.Effect, 0, 16)
		for ; len(data) >= 2; data = data[2:] {
			k, arg := gen.Kind(data[0]), data[1]
			now += sm.Time(arg)
			in := gen.Input{Kind: k, Now: now, Edge: arg & 0x3f, Edges: arg & 0x7f, Value: arg&1 == 1, Mask: uint64(arg) * 0x0101010101010101,
				Binding: binding, Settings: settings, CancelBeatsSuccess: arg&0x80 != 0, ExpectReject: arg&0x40 != 0}
			next, effects, err := m.Step(in, dst[:0])
			if err != nil {
				require.Equal(t, m, next)
				require.Empty(t, effects)
				continue
			}
			m = next
			for _, e := range effects {
				c.add(t, m, e)
			}
			require.Equal(t, m.Disposition() != sm.Open, c.settled == 1)
		}
	})
}

func TestFuzzSeeds(t *testing.T) {
	list, err := os.ReadDir("testdata/fuzz/FuzzStep")
	require.NoError(t, err)
	require.Len(t, list, seeds)
}
