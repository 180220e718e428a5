package descriptor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

// names returns names of every kind for seeds and benchmarks.
func names(t testing.TB) []string {
	v1 := string(AppendRaw(nil, Default(Enabled, 0xdeadbeef)))
	v2 := string(AppendRaw(nil, Descriptor{Min: 1, Max: 1, Caps: 7 | CapRecovery, Mode: Enabled, Token: 6, ABI: 1, Schema: 2}))
	old := string(AppendOld(nil, Default(Baseline, 1)))
	return []string{
		"", "host_1_2_0", "h" + v1, "h" + v2, "h" + old, "h" + v1 + v2, "h" + v2 + v1, v1 + terminator, v2 + "\x00",
		"a__trtllm_protocol_v1__trtllm_protocol_end", "a__trtllm_protocol_v2__trtllm_protocol_end", terminator,
		"h" + markerV1 + "1_1_3_1_+1" + terminator, "h" + markerV1 + "2_1_3_1_1" + terminator,
		"h" + markerV1 + "1_1_10000000000000000_1_1" + terminator, "h" + markerV2 + "1_1_3_1_1_0" + terminator,
		"h" + markerOld + "1_1_3_1_1_9_9", "h" + markerOld + "1_1", "h" + markerV1 + "1_1_3_1_0" + terminator + terminator,
	}
}

func seeds(t testing.TB) [][]byte {
	var all [][]byte
	for _, n := range names(t) {
		all = append(all, []byte(n))
	}
	return all
}

func TestSeeds(t *testing.T) {
	require.Equal(t, 19, wiretest.Seeds(t, "FuzzParse", seeds(t)))
}

// FuzzParse checks what must hold for any bytes: no panic, a Descriptor only with
// Valid, a Class only without, and the same descriptor again from its canonical
// name.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		name := string(b)
		for i, parse := range []func(string) (Descriptor, Status, Class){ParseV1, ParseV2, Parse, ParseOld} {
			d, s, c := parse(name)
			require.Equal(t, s == Valid, c == "")
			if s != Valid {
				require.Zero(t, d)
				continue
			}
			if i == 3 {
				again, s, _ := ParseOld(string(AppendOld([]byte("h"), d)))
				require.Equal(t, Valid, s)
				require.Equal(t, d, again)
				continue
			}
			require.NoError(t, d.Check())
			again, s, _ := parse(string(AppendRaw([]byte("h"), d)))
			require.Equal(t, Valid, s)
			require.Equal(t, d, again)
		}
		require.LessOrEqual(t, len(Base(name)), len(name))
	})
}

func TestAllocationBound(t *testing.T) {
	worst := wiretest.Bounded(t, wiretest.Corpus(t, "FuzzParse"), func(b []byte) error {
		Parse(string(b))
		return nil
	})
	t.Logf("largest use of the bound: %d %%", worst)
}
