package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func seeds(t testing.TB) [][]byte {
	var all [][]byte
	for _, m := range messages(t) {
		all = append(all, m.bytes())
	}
	last := messages(t)[8]
	return append(append(all, wiretest.Broken(last.bytes())...),
		frame(1, 4, 1, payload(tlv{0x7000, 0, []byte("skip")}, tlv{5, 1, []byte{2}}, keyItem())),
		frame(1, 4, 1, payload(tlv{0x7000, 1, nil})),
		frame(1, 6, 1, payload(keyItem())), frame(1, 4, 1, nil), nil)
}

func payloadSeeds(t testing.TB) [][]byte {
	var all [][]byte
	for _, m := range messages(t) {
		all = append(all, payload(m.items...))
	}
	return append(all, nil, payload(keyItem())[:20], payload(tlv{5, 1, []byte{2}}, keyItem()))
}

func TestSeeds(t *testing.T) {
	require.Equal(t, 22, wiretest.Seeds(t, "FuzzFrame", seeds(t)))
	require.Equal(t, 15, wiretest.Seeds(t, "FuzzPayload", payloadSeeds(t)))
}

// check asserts what must hold for any bytes in any dialect: a complete refusal, or
// a message that is written and read again as itself.
func check(t *testing.T, b []byte) {
	f, err := Parse(b)
	if err != nil {
		wiretest.Refused(t, err, len(b))
		return
	}
	if _, err := f.Key(); err != nil {
		wiretest.Refused(t, err, len(b))
	}
	for _, d := range []Dialect{plain, recovers, quiesces, both} {
		d.Version = f.Version
		m, err := readAs(&f, f.Type, d)
		if err != nil {
			wiretest.Refused(t, err, len(b))
			continue
		}
		if d.Version == 0 {
			continue // readable where 0 is selected, never written
		}
		again, err := write(nil, d, m)
		require.NoError(t, err)
		require.LessOrEqual(t, len(again), len(b))
		got, err := read(again, d)
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
}

// FuzzFrame feeds whole notifications.
func FuzzFrame(f *testing.F) { f.Fuzz(check) }

// FuzzPayload feeds items in a frame that fits them, so that the checksum does not
// stand in the way.
func FuzzPayload(f *testing.F) {
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) > MaxPayload {
			return
		}
		for _, typ := range []Type{
			TypeOpen, TypeReady, TypeCancel, TypeTerminal, TypeReceipt, TypeQuery, TypeStatus, TypeDataComplete,
		} {
			check(t, frame(1, uint16(typ), 1, p))
		}
	})
}

func TestAllocationBound(t *testing.T) {
	worst := wiretest.Bounded(t, wiretest.Corpus(t, "FuzzFrame"), func(b []byte) error {
		f, err := Parse(b)
		if err == nil {
			_, err = readAs(&f, f.Type, both)
		}
		return err
	})
	t.Logf("largest use of the bound: %d %%", worst)
}
