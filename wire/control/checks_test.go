package control

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func specTable(t *testing.T, name string) spec.Table {
	t.Helper()
	tab, err := spec.LoadTable(name)
	require.NoError(t, err)
	return tab
}

// TestDirections holds CheckFrom to the table of message types.
func TestDirections(t *testing.T) {
	spec.Covers(t, "KS-CTL-7")
	tab := specTable(t, "message-types")
	require.Len(t, tab.Rows, 8)
	for _, row := range tab.Rows {
		n, err := strconv.ParseUint(tab.Cell(row, "type"), 0, 16)
		require.NoError(t, err)
		typ := Type(n)
		require.Equal(t, tab.Cell(row, "name"), typ.String())
		way := tab.Cell(row, "direction")
		for side, name := range map[Side]string{CTX: "CTX", GEN: "GEN"} {
			err := typ.CheckFrom(side)
			if way == "either" || strings.HasPrefix(way, name+" to") {
				require.NoError(t, err, "%s from %s", typ, name)
				continue
			}
			e := wiretest.Refused(t, err, 40)
			require.Equal(t, wire.ReasonBadType, e.Reason)
			require.Equal(t, 18, e.Offset)
		}
		require.Error(t, typ.CheckFrom(0))
	}
	require.Error(t, Type(6).CheckFrom(CTX))
}

// TestItemTable holds the known items of each dialect to the table of TLV types.
func TestItemTable(t *testing.T) {
	spec.Covers(t, "KS-CTL-9", "KS-CTL-14")
	tab := specTable(t, "tlv-types")
	all := mask(0)
	for _, row := range tab.Rows {
		n, err := strconv.ParseUint(tab.Cell(row, "type"), 0, 16)
		require.NoError(t, err)
		slot := item(n).slot()
		require.NotZero(t, slot)
		all |= 1 << slot
		size := "variable"
		if sizes[slot] >= 0 {
			size = strconv.Itoa(int(sizes[slot]))
		}
		require.Equal(t, tab.Cell(row, "length"), size, row.ID)
		for d, has := range map[Dialect]string{plain: "v2", recovers: "v2, bit 48, bit 48 or 49", quiesces: "v2, bit 48 or 49"} {
			want := false
			for _, needs := range strings.Split(has, ", ") {
				want = want || needs == tab.Cell(row, "needs")
			}
			require.Equal(t, want, d.known()>>slot&1 == 1, "%s in %x", row.ID, d.Caps)
		}
	}
	require.Equal(t, all, both.known())
}

// TestChecksBeforeEffects breaks one thing after the other, the earlier ones
// staying broken when a later one is mended: each table of refusals is an order,
// and what is refused gives nothing away.
func TestChecksBeforeEffects(t *testing.T) {
	spec.Covers(t, "KS-CTL-17", "KS-CTL-23", "KS-RSN-3", "KS-RSN-4", "KS-RSN-5")
	good := frame(1, 4, 77, payload(keyItem(), tlv{5, 1, []byte{2}}))
	steps := []struct {
		row   string
		spoil func(b []byte) []byte
	}{
		{"refuse-frame-version", func(b []byte) []byte { b[17] = 2; return b }},
		{"refuse-frame-type", func(b []byte) []byte { b[19] = 6; return b }},
		{"refuse-frame-crc", func(b []byte) []byte { b[31] ^= 1; return b }},
		{"refuse-frame-id", func(b []byte) []byte { b[39] = 0; return b }},
		{"refuse-frame-trailing", func(b []byte) []byte { return append(b, 0) }},
		{"refuse-frame-length", func(b []byte) []byte { b[25] = 0x0F; return b }},
		{"refuse-frame-large", func(b []byte) []byte { b[24] = 1; return b }},
		{"refuse-frame-flags", func(b []byte) []byte { b[23] = 1; return b }},
		{"refuse-frame-magic", func(b []byte) []byte { b[8] = 't'; return b }},
		{"refuse-frame-index", func(b []byte) []byte { b[0] = 2; return b }},
		{"refuse-frame-short", func(b []byte) []byte { return b[:39] }},
	}
	tab := specTable(t, "refusals-frame")
	require.Len(t, tab.Rows, len(steps))
	b := append([]byte(nil), good...)
	for i, s := range steps {
		row := tab.Rows[len(steps)-1-i]
		require.Equal(t, s.row, row.ID, "the table is in this order")
		b = s.spoil(b)
		f, err := Parse(b)
		var m Terminal
		if err == nil {
			m, err = f.Terminal(plain)
		} else {
			require.Zero(t, f, row.ID)
		}
		require.Zero(t, m, row.ID)
		e := wiretest.Refused(t, err, len(b))
		require.Equal(t, tab.Cell(row, "class"), string(e.Reason), row.ID)
		require.Contains(t, row.Req, e.Req, row.ID)
		if at, err := strconv.Atoi(tab.Cell(row, "offset")); err == nil {
			require.Equal(t, at, e.Offset, row.ID)
		} else {
			require.Equal(t, len(good), e.Offset, row.ID) // the first byte behind the payload
		}
		broken := strings.Contains(" short-input too-large bad-length trailing-bytes bad-checksum ", " "+string(e.Reason)+" ")
		require.Equal(t, broken, Broken(err), row.ID)
	}
	require.False(t, Broken(nil))
}

// TestItemOrder does the same for one TLV and for the message.
func TestItemOrder(t *testing.T) {
	spec.Covers(t, "KS-RSN-5", "KS-CTL-13", "KS-CTL-10")
	k := keyItem()
	key := goldenKey()
	key.GenAttempt = 0
	badKey := make([]byte, 89)
	key.Put(badKey)
	const second = 40 + 8 + 89
	for name, c := range map[string]struct {
		d     Dialect
		typ   uint16
		items []tlv
		row   string
		at    int
	}{
		"flags before unknown":     {plain, 4, []tlv{k, {99, 3, nil}}, "refuse-tlv-flags", second + 2},
		"unknown":                  {plain, 4, []tlv{k, {99, 1, nil}}, "refuse-tlv-unknown", second},
		"optional before twice":    {plain, 4, []tlv{k, {1, 0, nil}}, "refuse-tlv-optional", second + 2},
		"twice before length":      {plain, 4, []tlv{k, {1, 1, nil}}, "refuse-tlv-twice", second},
		"forbidden before length":  {plain, 4, []tlv{k, {4, 1, nil}}, "refuse-tlv-forbidden", second},
		"length before missing":    {plain, 4, []tlv{k, {5, 1, nil}}, "refuse-tlv-length", second + 4},
		"missing before value":     {plain, 4, []tlv{{1, 1, badKey}}, "refuse-message-missing", second},
		"key before enum":          {plain, 4, []tlv{{1, 1, badKey}, {5, 1, []byte{9}}}, "refuse-message-key", 48 + 24},
		"decision before evidence": {plain, 2, []tlv{k, {3, 1, []byte{3}}, {5, 1, []byte{9}}}, "refuse-message-decision", second + 8},
		"evidence in READY":        {both, 2, []tlv{k, {3, 1, []byte{1}}, {5, 1, []byte{9}}}, "refuse-message-ready-evidence", second + 9},
		"evidence of NOT_READY":    {both, 2, []tlv{k, {3, 1, []byte{2}}, {5, 1, []byte{9}}, {0x8003, 1, be32(1)}}, "refuse-message-not-ready-evidence", second + 9 + 8},
		"bare NOT_READY":           {both, 2, []tlv{k, {3, 1, []byte{2}}}, "refuse-message-not-ready-bare", second + 9},
		"no retention":             {both, 2, []tlv{k, {3, 1, []byte{1}}, {0x8003, 1, be32(1)}}, "refuse-message-contract-missing", second + 9 + 12},
		"retention in NOT_READY":   {both, 2, []tlv{k, {3, 1, []byte{2}}, {5, 1, []byte{1}}, {0x8007, 1, be32(1)}}, "refuse-message-contract-forbidden", second + 9 + 9},
		"no chunk":                 {both, 0x8003, []tlv{k, {0x8004, 1, be32(0)}, {0x8005, 1, be32(0)}, {0x8006, 1, be64(0)}}, "refuse-message-chunk-count", second + 12 + 8},
		"chunk beyond":             {both, 0x8003, []tlv{k, {0x8004, 1, be32(2)}, {0x8005, 1, be32(2)}, {0x8006, 1, be64(0)}}, "refuse-message-chunk-index", second + 8},
	} {
		b := frame(1, c.typ, 1, payload(c.items...))
		_, err := read(b, c.d)
		e := wiretest.Refused(t, err, len(b))
		tab := specTable(t, "refusals-"+strings.Split(c.row, "-")[1])
		row, ok := tab.Row(c.row)
		require.True(t, ok, c.row)
		require.Equal(t, tab.Cell(row, "class"), string(e.Reason), name)
		require.Equal(t, c.at, e.Offset, name)
	}
}
