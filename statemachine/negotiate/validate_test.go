package negotiate

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// twoPasses is the deployed order written down literally, as an oracle for the
// single walk of ValidatePeers.
func twoPasses(local descriptor.Descriptor, names []string) Verdict {
	enabled := local.Mode == descriptor.Enabled
	switch {
	case len(names) == 0:
		return Verdict{Class: ClassEmpty, Rank: -1}
	case local.Min == 0 || local.Min > local.Max:
		return Verdict{Class: ClassLocalRange, Rank: -1}
	case local.Token == 0:
		return Verdict{Class: ClassLocalToken, Rank: -1}
	case enabled && local.Caps&1 == 0:
		return Verdict{Class: ClassLocalNoCancel, Rank: -1}
	case enabled && local.Caps&2 == 0:
		return Verdict{Class: ClassLocalNoReject, Rank: -1}
	}
	parsed := make([]descriptor.Descriptor, len(names))
	status := make([]descriptor.Status, len(names))
	legacy, can := false, true
	for i, name := range names {
		var class descriptor.Class
		parsed[i], status[i], class = descriptor.ParseV1(name)
		switch status[i] {
		case descriptor.Missing:
			legacy, can = true, false
		case descriptor.Malformed:
			return Verdict{Class: ClassMalformed, Rank: i, Parse: class, HasLegacy: legacy}
		default:
			can = can && parsed[i].Caps&2 != 0
		}
	}
	if enabled && legacy {
		return Verdict{Class: ClassLegacy, Rank: -1, HasLegacy: true}
	}
	low, high := local.Min, local.Max
	for i, d := range parsed {
		if status[i] != descriptor.Valid {
			continue
		}
		fail := func(c Class, can bool) Verdict {
			return Verdict{Class: c, Rank: i, HasLegacy: legacy, AllAware: !legacy, CanReject: can}
		}
		if d.Mode != local.Mode {
			return fail(ClassMode, can)
		}
		if !enabled {
			continue
		}
		low, high = max(low, d.Min), min(high, d.Max)
		switch {
		case low > high:
			return fail(ClassVersion, can)
		case d.Caps&1 == 0:
			return fail(ClassPeerNoCancel, can)
		case d.Caps&2 == 0:
			return fail(ClassPeerNoReject, false)
		}
	}
	v := Verdict{Class: ClassOK, Rank: -1, Compatible: true, HasLegacy: legacy, AllAware: !legacy, CanReject: can}
	if legacy {
		v.Class = ClassOKLegacy
	}
	if enabled {
		v.SelectedVersion = high
	}
	return v
}

func drawDescriptor(t *rapid.T) descriptor.Descriptor {
	min := uint16(rapid.IntRange(0, 4).Draw(t, "min"))
	return descriptor.Descriptor{
		Min: min, Max: min + uint16(rapid.IntRange(-1, 3).Draw(t, "width")),
		Caps:  descriptor.Caps(rapid.SampledFrom([]uint64{0, 1, 2, 3, 3, 3, 7, 1<<48 | 3}).Draw(t, "caps")),
		Mode:  descriptor.Mode(rapid.IntRange(0, 1).Draw(t, "mode")),
		Token: uint64(rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5}).Draw(t, "token")), Schema: 1,
	}
}

// drawNames mixes good, legacy, malformed and schema 2 names.
func drawNames(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		d := drawDescriptor(t)
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return rapid.StringMatching(`[a-z_0-9]{0,12}`).Draw(t, "name")
		case 1:
			return "p__trtllm_protocol_v1__trtllm_protocol_end"
		case 2:
			d.Schema, d.ABI = 2, 1
		}
		return "p" + string(descriptor.AppendRaw(nil, d))
	}), 0, 5).Draw(t, "names")
}

func checkAgainstOracle(t interface {
	require.TestingT
	Helper()
}, local descriptor.Descriptor, names []string) Verdict {
	t.Helper()
	v := ValidatePeers(local, names)
	require.Equal(t, twoPasses(local, names), v)
	require.Equal(t, v.Class == ClassOK || v.Class == ClassOKLegacy, v.Compatible)
	require.Equal(t, v.Compatible, v.Class.Reason() == "")
	require.False(t, v.HasLegacy && v.AllAware)
	require.False(t, v.CanReject && !v.AllAware, "who cannot be read cannot be trusted to reject")
	if v.SelectedVersion != 0 {
		require.True(t, v.Compatible)
		require.Equal(t, descriptor.Enabled, local.Mode)
		require.LessOrEqual(t, local.Min, v.SelectedVersion)
		require.LessOrEqual(t, v.SelectedVersion, local.Max)
	}
	return v
}

func TestValidatePeersEqualsTwoPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkAgainstOracle(t, drawDescriptor(t), drawNames(t))
	})
}

// TestBothSidesAgree: between services whose own ranks are alike, data flows
// only if both want it, and what GEN expects of CTX happens.
func TestBothSidesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := func(label string) service {
			local := Local(rapid.IntRange(0, 2).Draw(t, label+" local"))
			s := service{local: local, d: drawDescriptor(t)}
			s.d.Min = max(s.d.Min, 1)
			s.d.Max = max(s.d.Max, s.d.Min)
			s.d.Mode = descriptor.Baseline
			if local == On {
				s.d.Mode = descriptor.Enabled
			}
			for i := range rapid.IntRange(1, 4).Draw(t, label+" ranks") {
				s.d.Token = uint64(i + 1)
				name := label
				if local != Legacy {
					name += string(descriptor.AppendRaw(nil, s.d))
				}
				s.names = append(s.names, name)
			}
			return s
		}
		gen, ctx := side("gen"), side("ctx")
		g, c := GEN(gen.local, gen.d, ctx.names), CTX(ctx.local, ctx.d, gen.names)
		if g.Action == ProceedExpectReject {
			require.Equal(t, Reject, c.Action)
		}
		if g.Action == Proceed && c.Action == Accept {
			require.Equal(t, gen.local == On, ctx.local == On, "enabled never talks to anything else")
			require.Equal(t, g.Verdict.SelectedVersion, c.Verdict.SelectedVersion)
		}
		if gen.local == On && ctx.local == Legacy {
			require.Equal(t, RefuseLocally, g.Action)
		}
	})
}

// TestLocalProfile changes one field of the second rank at a time.
func TestLocalProfile(t *testing.T) {
	base := descriptor.Descriptor{Min: 1, Max: 2, Caps: 3, Mode: descriptor.Enabled, Token: 1, Schema: 1}
	for name, c := range map[string]struct {
		change func(*descriptor.Descriptor)
		want   Class
	}{
		"nothing":      {func(*descriptor.Descriptor) {}, ClassOK},
		"token":        {func(d *descriptor.Descriptor) { d.Token = 2 }, ClassOK},
		"max":          {func(d *descriptor.Descriptor) { d.Max = 3 }, ClassLocalProfile},
		"min":          {func(d *descriptor.Descriptor) { d.Min = 2 }, ClassLocalProfile},
		"capabilities": {func(d *descriptor.Descriptor) { d.Caps = 7 }, ClassLocalProfile},
		"mode":         {func(d *descriptor.Descriptor) { d.Mode = descriptor.Enabled }, ClassMode},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := base, base
			first.Mode, second.Mode = descriptor.Baseline, descriptor.Baseline
			c.change(&second)
			names := []string{"a" + string(descriptor.AppendRaw(nil, first)), "b" + string(descriptor.AppendRaw(nil, second))}
			v := ValidateLocal(descriptor.Baseline, names)
			require.Equal(t, c.want, v.Class)
			require.Equal(t, c.want == ClassOK, v.Compatible)
			if !v.Compatible {
				require.Equal(t, 1, v.Rank)
			}
		})
	}
}

// TestOldBaseline pins what no vector shows: the old form in baseline.
func TestOldBaseline(t *testing.T) {
	name := func(d descriptor.Descriptor) string { return "p" + string(descriptor.AppendOld(nil, d)) }
	newer := name(descriptor.Descriptor{Min: 2, Max: 3, Token: 1, Caps: 1})
	bare := name(descriptor.Descriptor{Min: 1, Max: 1, Token: 1})
	require.Equal(t, ClassOK, ValidateOldMode(descriptor.Baseline, []string{newer, bare}).Class)
	require.Equal(t, ClassEmpty, ValidateOldMode(descriptor.Baseline, nil).Class)
}

func TestValidateDoesNotAllocate(t *testing.T) {
	d := descriptor.Default(descriptor.Enabled, 1)
	good := []string{}
	for i := range uint64(8) {
		good = append(good, "host_1_2_3"+string(descriptor.AppendRaw(nil, descriptor.Default(descriptor.Enabled, i+1))))
	}
	bad := append(append([]string{}, good...), "legacy")
	for name, f := range map[string]func(){
		"valid peers":  func() { ValidatePeers(d, good) },
		"legacy peer":  func() { ValidatePeers(d, bad) },
		"local ranks":  func() { ValidateLocal(descriptor.Enabled, good) },
		"old form":     func() { ValidateOldMode(descriptor.Enabled, good) },
		"GEN and CTX":  func() { GEN(On, d, good); CTX(On, d, good) },
		"GEN, refused": func() { GEN(On, d, bad) },
	} {
		require.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}

func BenchmarkValidatePeers(b *testing.B) {
	d := descriptor.Default(descriptor.Enabled, 1)
	var names []string
	for i := range uint64(8) {
		names = append(names, "host_1_2_3"+string(descriptor.AppendRaw(nil, descriptor.Default(descriptor.Enabled, i+1))))
	}
	b.ReportAllocs()
	for b.Loop() {
		ValidatePeers(d, names)
	}
}

// FuzzValidatePeers splits names at newlines and compares with the oracle.
func FuzzValidatePeers(f *testing.F) {
	f.Add(uint16(1), uint16(1), uint64(3), byte(1), uint64(1), "legacy")
	f.Fuzz(func(t *testing.T, min, max uint16, caps uint64, mode byte, token uint64, text string) {
		local := descriptor.Descriptor{Min: min, Max: max, Caps: descriptor.Caps(caps), Mode: descriptor.Mode(mode), Token: token, Schema: 1}
		names := strings.Split(text, "\n")
		checkAgainstOracle(t, local, names)
		ValidateOldMode(local.Mode, names)
		if v := ValidateLocal(local.Mode, names); v.Compatible {
			require.True(t, v.AllAware)
		}
	})
}

func TestFuzzSeeds(t *testing.T) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzValidatePeers")
	require.NoError(t, err)
	require.Len(t, seeds, 12)
}
