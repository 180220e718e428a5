package control

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

// reread reads the items of m changed by change.
func reread(m message, change func([]tlv) []tlv) error {
	_, err := read(frame(1, uint16(m.typ), m.id, payload(change(slices.Clone(m.items))...)), m.d)
	return err
}

func requireReason(t testing.TB, want any, err error, args ...any) {
	t.Helper()
	require.Equal(t, want, wiretest.Refused(t, err, 1<<20).Reason, args...)
}

// TestAnyOrder shuffles the items and puts unknown optional ones between them.
func TestAnyOrder(t *testing.T) {
	spec.Covers(t, "KS-CTL-12", "KS-CTL-14")
	all := messages(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(all).Draw(t, "message")
		items := rapid.Permutation(m.items).Draw(t, "order")
		for range rapid.IntRange(0, 3).Draw(t, "unknown") {
			at := rapid.IntRange(0, len(items)).Draw(t, "at")
			kind := rapid.SampledFrom([]uint16{0, 8, 0x7FFF, 0x8000, 0x8008, 0xFFFF}).Draw(t, "kind")
			items = slices.Insert(items, at, tlv{kind, 0, rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "value")})
		}
		b := frame(1, uint16(m.typ), m.id, payload(items...))
		got, err := read(b, m.d)
		require.NoError(t, err)
		require.Equal(t, m.value, got)
		f, err := Parse(b)
		require.NoError(t, err)
		key, err := f.Key()
		require.NoError(t, err)
		require.Equal(t, goldenKey(), key)
	})
}

// TestItemSets takes every item away, repeats it, marks it optional, gives it
// another size, and adds each item that the message forbids.
func TestItemSets(t *testing.T) {
	spec.Covers(t, "KS-CTL-9", "KS-CTL-10", "KS-CTL-11", "KS-CTL-13", "KS-CTL-14")
	for _, m := range messages(t) {
		for i := range m.items {
			err := reread(m, func(s []tlv) []tlv { return slices.Delete(s, i, i+1) })
			requireReason(t, wire.ReasonMissing, err, m.name, i)
			err = reread(m, func(s []tlv) []tlv { return append(s, s[i]) })
			requireReason(t, wire.ReasonDuplicate, err, m.name, i)
			err = reread(m, func(s []tlv) []tlv { s[i].flags = 0; return s })
			requireReason(t, wire.ReasonBadFlags, err, m.name, i)
			for _, flags := range []uint16{2, 3, 0x8001, 0xFFFF} {
				err = reread(m, func(s []tlv) []tlv { s[i].flags = flags; return s })
				requireReason(t, wire.ReasonBadFlags, err, m.name, i)
			}
			if m.items[i].kind != 2 {
				err = reread(m, func(s []tlv) []tlv { s[i].value = append(slices.Clone(s[i].value), 0); return s })
				requireReason(t, wire.ReasonBadLength, err, m.name, i)
				err = reread(m, func(s []tlv) []tlv { s[i].value = s[i].value[1:]; return s })
				requireReason(t, wire.ReasonBadLength, err, m.name, i)
			}
		}
		for kind := range item(0x10000 - 1) {
			slot := kind.slot()
			if slot == 0 || slices.ContainsFunc(m.items, func(i tlv) bool { return i.kind == uint16(kind) }) {
				continue
			}
			size := max(int(sizes[slot]), 0)
			err := reread(m, func(s []tlv) []tlv { return append(s, tlv{uint16(kind), 1, make([]byte, size)}) })
			e := wiretest.Refused(t, err, 1<<20)
			require.Contains(t, []any{wire.ReasonForbidden, wire.ReasonUnknownRequired, wire.ReasonMissing}, any(e.Reason), "%s %#x", m.name, kind)
		}
		err := reread(m, func(s []tlv) []tlv { return append(s, tlv{0x7001, 1, nil}) })
		requireReason(t, wire.ReasonUnknownRequired, err, m.name)
	}
}

// TestExtensionsNeedTheirBit reads every experimental message and value where its
// bit was not selected: it is unknown there.
func TestExtensionsNeedTheirBit(t *testing.T) {
	for _, m := range messages(t) {
		for _, d := range []Dialect{plain, recovers, quiesces, both} {
			b, err := write(nil, d, m.value)
			got, readErr := read(m.bytes(), d)
			experimental := m.typ >= TypeQuery || m.name == "TERMINAL quiesced" ||
				m.typ == TypeReady && m.value.(Ready).Decision == DecisionReady
			if !experimental {
				require.NoError(t, err)
				require.Equal(t, m.bytes(), b)
				require.NoError(t, readErr)
				require.Equal(t, m.value, got)
				continue
			}
			want := d == m.d || m.typ >= TypeQuery && d != plain && d != quiesces ||
				m.name == "TERMINAL quiesced" && d == both
			if m.typ == TypeReady {
				want = (d == plain) == (m.d == plain)
			}
			require.Equal(t, want, readErr == nil, "%s %v", m.name, readErr)
			if readErr != nil {
				wiretest.Refused(t, readErr, len(m.bytes()))
			}
		}
	}
}

// TestReadAsOther reads each frame as every other type.
func TestReadAsOther(t *testing.T) {
	all := messages(t)
	for _, m := range all {
		f, err := Parse(m.bytes())
		require.NoError(t, err)
		for _, o := range all {
			if o.typ != m.typ {
				_, err := readAs(&f, o.typ, both)
				requireReason(t, wire.ReasonBadType, err)
			}
		}
	}
}

// TestVersionMustBeSelected changes the version: only an OPEN is a proposal.
func TestVersionMustBeSelected(t *testing.T) {
	spec.Covers(t, "KS-CTL-3")
	for _, m := range messages(t) {
		b := frame(2, uint16(m.typ), m.id, payload(m.items...))
		_, err := read(b, m.d)
		if m.typ == TypeOpen {
			require.NoError(t, err)
			continue
		}
		requireReason(t, wire.ReasonBadVersion, err, m.name)
		_, err = read(b, Dialect{2, m.d.Caps})
		require.NoError(t, err)
	}
}

// TestKeyAlone reads the key of broken frames.
func TestKeyAlone(t *testing.T) {
	for name, p := range map[string][]byte{
		"nothing":   nil,
		"no key":    payload(tlv{5, 1, []byte{2}}),
		"cut":       payload(keyItem())[:50],
		"too short": payload(tlv{1, 1, make([]byte, 88)}),
		"zero key":  payload(tlv{1, 1, make([]byte, 89)}),
		"header":    payload(tlv{5, 1, []byte{2}}, keyItem())[:12],
	} {
		f, err := Parse(frame(1, 4, 1, p))
		require.NoError(t, err, name)
		_, err = f.Key()
		wiretest.Refused(t, err, Overhead+len(p))
	}
}

// TestWritersRefuse gives every writer what no envelope may hold.
func TestWritersRefuse(t *testing.T) {
	for _, m := range messages(t) {
		dst, err := write([]byte("kept"), Dialect{0, m.d.Caps}, m.value)
		requireReason(t, wire.ReasonBadVersion, err, m.name)
		require.Equal(t, "kept", string(dst))
	}
	bad := goldenKey()
	bad.SourceEpoch = 0
	for _, m := range []any{
		Open{5, bad, goldenOpen(t, 0).Request}, Ready{ID: 1, Key: bad, Decision: DecisionReady}, Cancel{1, bad, ReasonUser},
		Terminal{1, bad, Unknown}, Receipt{ID: 1, Key: bad, TerminalID: 1, Evidence: Unknown}, Query{1, bad}, Status{1, bad, 1, 1},
		DataComplete{1, bad, 0, 1, 1}, Open{0, goldenKey(), goldenOpen(t, 0).Request}, Ready{Key: goldenKey(), Decision: DecisionReady},
		Cancel{0, goldenKey(), ReasonUser}, Terminal{0, goldenKey(), Unknown}, Receipt{Key: goldenKey(), TerminalID: 1, Evidence: Unknown},
		Query{0, goldenKey()}, Status{0, goldenKey(), 1, 1}, DataComplete{0, goldenKey(), 0, 1, 1},
	} {
		dst, err := write([]byte("kept"), recovers, m)
		requireReason(t, wire.ReasonBadValue, err, "%T", m)
		require.Equal(t, "kept", string(dst))
	}
}

func TestReadingDoesNotAllocate(t *testing.T) {
	for _, m := range messages(t) {
		b := m.bytes()
		f, err := Parse(b)
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(50, func() {
			if _, err := Parse(b); err != nil {
				panic(err)
			}
			if _, err := f.Key(); err != nil {
				panic(err)
			}
			_ = f.PayloadSHA256()
		}), m.name)
		// The message itself is read without the helper, which boxes its result.
		require.Zero(t, testing.AllocsPerRun(50, func() { readOnly(&f, m.d) }), m.name)
	}
}
