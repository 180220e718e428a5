package descriptor

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func genDescriptor(t *rapid.T) Descriptor {
	lo := rapid.Uint16Range(1, 65535).Draw(t, "min")
	d := Descriptor{
		Min: lo, Max: rapid.Uint16Range(lo, 65535).Draw(t, "max"), Caps: Caps(rapid.Uint64().Draw(t, "caps")),
		Mode: Mode(rapid.Uint8Range(0, 1).Draw(t, "mode")), Token: rapid.Uint64Min(1).Draw(t, "token"), Schema: 1,
	}
	if rapid.Bool().Draw(t, "v2") {
		d.Schema, d.ABI = 2, rapid.Uint64Min(1).Draw(t, "abi")
	}
	return d
}

func genBase(t *rapid.T) string {
	s := rapid.StringOfN(rapid.RuneFrom([]rune("_trlmpocenv12ß\x00")), 1, 40, -1).Draw(t, "base")
	for _, m := range []string{markerV1, markerV2, markerOld, terminator} {
		s = strings.ReplaceAll(s, m, "x")
	}
	return s
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, base := genDescriptor(t), genBase(t)
		for _, m := range []string{markerV1, markerV2, markerOld, terminator} {
			if strings.Contains(base, m) {
				t.Skip("replacement made a mark")
			}
		}
		name, err := Name(base, d)
		require.NoError(t, err)
		got, s, c := Parse(name)
		require.Equal(t, d, got)
		require.Equal(t, Valid, s)
		require.Empty(t, c)
		require.Equal(t, base, Base(name))
		again, err := Append([]byte(base), got)
		require.NoError(t, err)
		require.Equal(t, name, string(again))
		one, other := ParseV1, ParseV2
		if d.Schema == 2 {
			one, other = other, one
		}
		_, s, _ = one(name)
		require.Equal(t, Valid, s)
		_, s, c = other(name)
		require.Equal(t, Missing, s)
		require.Equal(t, ClassMissing, c)
	})
}

// TestNumbersAgree compares ParseNumber with strconv, whose answers agree with
// upstream's parser on every vector.
func TestNumbersAgree(t *testing.T) {
	spec.Covers(t, "KS-DESC-5")
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]int{10, 16}).Draw(t, "base")
		s := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789abcdefABCDEF_+-x ")), 0, 24, -1).Draw(t, "s")
		want, err := strconv.ParseUint(s, base, 64)
		got, ok := ParseNumber(s, base)
		require.Equal(t, err == nil, ok)
		if ok {
			require.Equal(t, want, got)
		}
	})
	_, ok := ParseNumber("1", 8)
	require.False(t, ok)
}

func TestV2Classes(t *testing.T) {
	spec.Covers(t, "KS-DESC-16", "KS-DESC-19", "KS-DESC-20")
	for _, c := range []struct {
		payload string
		class   Class
	}{
		{"1_1_7_1_5_1", ""},
		{"1_1_7_1_5_FFFFffff00000001", ""},
		{"1_1_7_1_5", ClassFields},
		{"1_1_7_1_5_1_1", ClassFields},
		{"1_1_7_1_5_", ClassNumber},
		{"1_1_7_1_5_x", ClassNumber},
		{"65536_65536_7_1_5_1", ClassNumber},
		{"65536_1_7_9_0_x", ClassNumber},
		{"2_1_7_9_0_0", ClassRange},
		{"0_1_7_9_0_0", ClassRange},
		{"1_1_7_2_0_0", ClassMode},
		{"1_1_7_1_0_0", ClassToken},
		{"1_1_7_1_5_0", ClassABI},
		{"1_1_7_1_5_000", ClassABI},
	} {
		d, s, class := Parse("h" + markerV2 + c.payload + terminator)
		require.Equal(t, c.class, class, c.payload)
		if class == "" {
			require.Equal(t, Valid, s)
			require.EqualValues(t, 2, d.Schema)
		} else {
			require.Equal(t, Malformed, s)
			require.Zero(t, d)
		}
		_, s, _ = ParseV1("h" + markerV2 + c.payload + terminator)
		require.Equal(t, Missing, s)
	}
	_, s, class := ParseV2("h__trtllm_protocol_v2__trtllm_protocol_end")
	require.Equal(t, Malformed, s)
	require.Equal(t, ClassFields, class)
}

func TestLastMarkerWins(t *testing.T) {
	spec.Covers(t, "KS-DESC-23")
	v1 := string(AppendRaw(nil, Default(Enabled, 5)))
	v2 := string(AppendRaw(nil, Descriptor{Min: 1, Max: 1, Caps: 7, Mode: Enabled, Token: 6, ABI: 1, Schema: 2}))
	d, s, _ := Parse("h" + v1 + v2)
	require.Equal(t, Valid, s)
	require.EqualValues(t, 2, d.Schema)
	d, s, _ = Parse("h" + v2 + v1)
	require.Equal(t, Valid, s)
	require.EqualValues(t, 1, d.Schema)
	_, s, _ = Parse("h" + v2 + "x")
	require.Equal(t, Missing, s)
}

// TestStrangers reads each form with the other's reader.
func TestStrangers(t *testing.T) {
	spec.Covers(t, "KS-DESC-25")
	_, s, c := ParseV1(string(AppendOld([]byte("h"), Default(Enabled, 5))))
	require.Equal(t, Missing, s)
	require.Equal(t, ClassMissing, c)
	_, s, c = ParseOld(string(AppendRaw([]byte("h"), Default(Enabled, 5))))
	require.Equal(t, Missing, s)
	require.Equal(t, ClassMissing, c)
}

func TestWriterRefuses(t *testing.T) {
	spec.Covers(t, "KS-DESC-13", "KS-DESC-18")
	good := Descriptor{Min: 1, Max: 1, Caps: 7, Mode: Enabled, Token: 6, ABI: 1, Schema: 2}
	for name, broken := range map[string]func(*Descriptor){
		"min":      func(d *Descriptor) { d.Min = 0 },
		"range":    func(d *Descriptor) { d.Min = 2 },
		"mode":     func(d *Descriptor) { d.Mode = 2 },
		"token":    func(d *Descriptor) { d.Token = 0 },
		"abi":      func(d *Descriptor) { d.ABI = 0 },
		"schema":   func(d *Descriptor) { d.Schema = 3 },
		"v1 + abi": func(d *Descriptor) { d.Schema = 1 },
	} {
		d := good
		broken(&d)
		dst, err := Append([]byte("x"), d)
		require.Equal(t, "x", string(dst), name)
		require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonBadValue}, name)
		wiretest.Refused(t, err, 0)
		_, err = Name("h", d)
		require.Error(t, err, name)
	}
	for _, base := range []string{"", "a" + markerV1, markerV2 + "b", "a" + markerOld + "b", terminator, "a" + terminator + "b"} {
		_, err := Name(base, good)
		wiretest.Refused(t, err, 0)
	}
}

func TestToken(t *testing.T) {
	spec.Covers(t, "KS-DESC-17")
	require.NotZero(t, Token(""))
	require.Equal(t, uint64(fnvOffset), Token(""))
	require.NotEqual(t, Token("a"), Token("b"))
}

func TestParseDoesNotAllocate(t *testing.T) {
	names := names(t)
	require.Zero(t, testing.AllocsPerRun(20, func() {
		for _, n := range names {
			Parse(n)
			ParseV1(n)
			ParseV2(n)
			ParseOld(n)
			Base(n)
			_ = Token(n)
		}
	}))
}

func TestWords(t *testing.T) {
	require.Equal(t, []string{"baseline", "enabled", "invalid"}, []string{Baseline.String(), Enabled.String(), Mode(9).String()})
	require.Equal(t, []string{"missing", "malformed", "valid", "invalid"},
		[]string{Missing.String(), Malformed.String(), Valid.String(), Status(9).String()})
	require.True(t, Caps(7).Has(CapCancel|CapPeerCancel))
	require.False(t, Caps(1).Has(CapCancel|CapReject))
	require.Equal(t, "plain", Base("plain"))
	require.Equal(t, "h"+markerV1+"1"+terminator, Base("h"+markerV1+"1"+terminator))
}

// TestDefaults: what a service advertises depends on what it implements and never
// on its mode, and each form is read by the reader of that form.
func TestDefaults(t *testing.T) {
	spec.Covers(t, "KS-DESC-22", "KS-DESC-27", "KS-DESC-29", "KS-DESC-15", "KS-DESC-14")
	const base = "gpu-7_4711_99_0"
	for _, mode := range []Mode{Baseline, Enabled} {
		one := Default(mode, Token(base))
		require.Equal(t, CapCancel|CapReject, one.Caps)
		require.False(t, one.Caps.Has(CapPeerCancel), "bit 2 goes with the second form")
		for _, x := range []Caps{0, CapRecovery, CapQuiescence, CapRecovery | CapQuiescence, 1 << 50} {
			two := DefaultV2(mode, Token(base), x)
			require.Equal(t, uint16(1), two.Min)
			require.Equal(t, uint16(1), two.Max)
			require.Equal(t, CapCancel|CapReject|CapPeerCancel|x&(CapRecovery|CapQuiescence), two.Caps)
			require.NoError(t, two.Check())
			name, err := Name(base, two)
			require.NoError(t, err)
			require.Equal(t, base, Base(name), "the base name stands before the descriptor")
			got, status, _ := ParseV2(name)
			require.Equal(t, Valid, status)
			require.Equal(t, two, got)
			require.Equal(t, Token(Base(name)), got.Token)
			_, status, _ = ParseV1(name)
			require.Equal(t, Missing, status)
		}
		name, err := Name(base, one)
		require.NoError(t, err)
		got, status, _ := ParseV1(name)
		require.Equal(t, Valid, status)
		require.Equal(t, one, got)
	}
	// Base names that differ, by one bit even, give tokens that differ.
	seen := map[uint64]string{}
	for i := range 1 << 12 {
		b := base + string([]byte{'a' + byte(i>>8), 'a' + byte(i)%64, 'a' + byte(i>>6)%64})
		if was, ok := seen[Token(b)]; ok {
			require.Equal(t, was, b)
		}
		seen[Token(b)] = b
	}
	// A reader takes other ranges (KS-DESC-22).
	other := DefaultV2(Enabled, 1, 0)
	other.Max = 2
	_, status, _ := ParseV2("a" + string(AppendRaw(nil, other)))
	require.Equal(t, Valid, status)
}

// TestNeverWritesOld: the checked writer makes no name that a reader of the old
// form would take for one.
func TestNeverWritesOld(t *testing.T) {
	spec.Covers(t, "KS-DESC-26")
	for _, d := range []Descriptor{Default(Enabled, 1), DefaultV2(Baseline, 1, CapRecovery)} {
		name, err := Name("host_1_2_0", d)
		require.NoError(t, err)
		_, status, _ := ParseOld(name)
		require.Equal(t, Missing, status)
		_, err = Name("host"+string(AppendOld(nil, d)), d)
		require.Equal(t, wire.ReasonBadValue, wiretest.Refused(t, err, 0).Reason)
		d.Schema = 0
		_, err = Name("host_1_2_0", d)
		require.Equal(t, "KS-DESC-13", wiretest.Refused(t, err, 0).Req)
	}
}
