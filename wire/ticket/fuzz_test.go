package ticket

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
	"github.com/kvsettle/kvsettle/wire/native"
)

func seeds(t testing.TB) [][]byte {
	unknown := opaque(prefix(t), append(goldenItems(), tlv{9, 0, []byte("later")})...)
	missing := opaque(prefix(t), goldenItems()[1:]...)
	return append(append([][]byte{golden(t), prefix(t), {0, 0}, {}, unknown, missing, footer(nil)}, wiretest.Broken(golden(t))...),
		opaque(nil, goldenItems()...))
}

func payloadSeeds() [][]byte {
	reversed := goldenItems()
	slices.Reverse(reversed)
	return [][]byte{payload(goldenItems()...), {}, payload(goldenItems()[:5]...), payload(reversed...), payload(tlv{7, 1, nil})}
}

func taggedSeeds(t testing.TB) [][]byte {
	b, err := AppendTagged(nil, golden(t))
	require.NoError(t, err)
	return append(append([][]byte{b, append(slices.Clone(b), 1, 2), {0}, {1, 1}, {0xD7}, {}}, wiretest.Broken(b)...), []byte{2})
}

func TestSeeds(t *testing.T) {
	require.Equal(t, 13, wiretest.Seeds(t, "FuzzState", seeds(t)))
	require.Equal(t, 5, wiretest.Seeds(t, "FuzzPayload", payloadSeeds()))
	require.Equal(t, 12, wiretest.Seeds(t, "FuzzTagged", taggedSeeds(t)))
}

func check(t *testing.T, b []byte) {
	s, _, err := Decode(b, native.Mid2026)
	if err != nil {
		wiretest.Refused(t, err, len(b))
		return
	}
	require.LessOrEqual(t, len(s.Native), len(b))
	if !s.HasTrailer {
		require.Equal(t, b, s.Native)
		return
	}
	again, err := Append(nil, s.Native, &s.Trailer)
	require.NoError(t, err)
	got, err := Split(again)
	require.NoError(t, err)
	require.Equal(t, s, got)
}

func FuzzState(f *testing.F) { f.Fuzz(check) }

// FuzzPayload puts its input under a footer that fits it.
func FuzzPayload(f *testing.F) {
	f.Fuzz(func(t *testing.T, p []byte) { check(t, slices.Concat([]byte{0, 0}, p, footer(p))) })
}

func FuzzTagged(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		state, rest, tagged, err := ReadTagged(b)
		if err != nil {
			wiretest.Refused(t, err, len(b))
			return
		}
		if !tagged {
			require.Equal(t, b, rest)
			return
		}
		require.Equal(t, len(b), tagHeader+len(state)+len(rest))
		if s, err := Split(state); err == nil && s.HasTrailer {
			again, err := AppendTagged(nil, state)
			require.NoError(t, err)
			require.Equal(t, b, append(again, rest...))
		}
	})
}

func TestAllocationBound(t *testing.T) {
	worst := wiretest.Bounded(t, wiretest.Corpus(t, "FuzzState"), func(b []byte) error {
		_, _, err := Decode(b, native.Mid2026)
		return err
	})
	wiretest.Bounded(t, wiretest.Corpus(t, "FuzzTagged"), func(b []byte) error {
		_, _, _, err := ReadTagged(b)
		return err
	})
	t.Logf("largest use of the bound: %d %%", worst)
}
