package main

import (
	"github.com/kvsettle/kvsettle/conformance/vectors"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

const terminator = "__trtllm_protocol_end"

// v1 and v2 wrap a payload into marker and terminator.
func v1(payload string) string { return "__trtllm_protocol_v1_" + payload + terminator }
func v2(payload string) string { return "__trtllm_protocol_v2_" + payload + terminator }

func descriptors(s *set) {
	good := func(profile, id, note, req, name string) {
		s.good("Descriptor", profile, "desc-"+id, note, req, []byte(name), "")
	}
	bad := func(profile, id, note, req, name string, class descriptor.Class) {
		s.bad("Descriptor", profile, "desc-"+id, note, req, []byte(name), string(class), none)
	}
	const v1p, v2p, both, old = vectors.V1, vectors.V2, vectors.V1V2, vectors.Old

	good(v1p, "v1-enabled", "enabled, bits 0 and 1", "KS-DESC-2 KS-DESC-4 KS-DESC-12", ctxBase+v1("1_1_3_1_00000000deadbeef"))
	good(v1p, "v1-baseline", "baseline", "KS-DESC-7 KS-DESC-12", ctxBase+v1("1_1_3_0_00000000deadbeef"))
	good(v1p, "v1-no-capability", "a capability set of 0 prints one digit", "KS-DESC-12", "a"+v1("1_1_0_1_0000000000000001"))
	good(v1p, "v1-largest", "every field as large as it gets", "KS-DESC-5 KS-DESC-10", "a"+v1("65535_65535_ffffffffffffffff_1_ffffffffffffffff"))
	good(v1p, "v1-unknown-bits", "unknown capability bits are kept", "KS-DESC-10", "a"+v1("1_2_abcdef0000000013_1_0000000000000001"))
	good(v1p, "v1-base-bytes", "the base name may hold any bytes", "KS-DESC-2", "\x00\xff \xc3\xa9"+v1("1_1_3_1_0000000000000001"))
	good(v1p, "v1-empty-base", "the base name may be empty", "KS-DESC-2", v1("1_1_3_1_0000000000000001"))
	good(v1p, "v1-leading-zeros", "leading zeros are read and not written", "KS-DESC-5 KS-DESC-12", "a"+v1("0001_01_003_01_00000000000000000001"))
	good(v1p, "v1-capitals", "hexadecimal capitals are read and not written", "KS-DESC-5 KS-DESC-12", "a"+v1("1_1_AB_1_00000000DEADBEEF"))
	good(v1p, "v1-last-marker", "of two markers the last one counts", "KS-DESC-2", "a"+v1("1_1_3_0_0000000000000007")+v1("1_1_3_1_0000000000000008"))

	bad(v1p, "v1-none", "a legacy name", "KS-DESC-1", ctxBase, descriptor.ClassMissing)
	bad(v1p, "v1-empty-name", "an empty name", "KS-DESC-1", "", descriptor.ClassMissing)
	bad(v1p, "v1-no-terminator", "a marker without terminator", "KS-DESC-1", "a__trtllm_protocol_v1_1_1_3_1_0000000000000001", descriptor.ClassMissing)
	bad(v1p, "v1-after-terminator", "one byte after the terminator", "KS-DESC-1", "a"+v1("1_1_3_1_0000000000000001")+"x", descriptor.ClassMissing)
	bad(v1p, "v1-terminator-only", "a terminator without marker", "KS-DESC-2", "a"+terminator, descriptor.ClassMissing)
	bad(v1p, "v1-overlap", "marker and terminator share an underscore", "KS-DESC-3", "a__trtllm_protocol_v1"+terminator, descriptor.ClassFields)
	bad(v1p, "v1-four-fields", "four fields", "KS-DESC-4", "a"+v1("1_1_3_1"), descriptor.ClassFields)
	bad(v1p, "v1-six-fields", "a sixth field is never accepted", "KS-DESC-4 KS-DESC-11", "a"+v1("1_1_3_1_0000000000000001_1"), descriptor.ClassFields)
	bad(v1p, "v1-empty-field", "an empty field", "KS-DESC-5", "a"+v1("1__3_1_0000000000000001"), descriptor.ClassNumber)
	bad(v1p, "v1-sign", "a sign", "KS-DESC-5", "a"+v1("+1_1_3_1_0000000000000001"), descriptor.ClassNumber)
	bad(v1p, "v1-space", "a space", "KS-DESC-5", "a"+v1("1_ 1_3_1_0000000000000001"), descriptor.ClassNumber)
	bad(v1p, "v1-prefix", "a 0x prefix", "KS-DESC-5", "a"+v1("1_1_0x3_1_0000000000000001"), descriptor.ClassNumber)
	bad(v1p, "v1-hex-in-decimal", "a hexadecimal digit in a decimal field", "KS-DESC-5", "a"+v1("a_1_3_1_0000000000000001"), descriptor.ClassNumber)
	bad(v1p, "v1-65-bits", "capabilities of 65 bits", "KS-DESC-5", "a"+v1("1_1_10000000000000000_1_0000000000000001"), descriptor.ClassNumber)
	bad(v1p, "v1-17-bits", "a maximum of 17 bits", "KS-DESC-5 KS-DESC-9", "a"+v1("1_65536_3_1_0000000000000001"), descriptor.ClassNumber)
	bad(v1p, "v1-min-zero", "minimum 0", "KS-DESC-6", "a"+v1("0_1_3_1_0000000000000001"), descriptor.ClassRange)
	bad(v1p, "v1-min-above-max", "minimum above maximum", "KS-DESC-6", "a"+v1("2_1_3_1_0000000000000001"), descriptor.ClassRange)
	bad(v1p, "v1-mode-two", "mode 2", "KS-DESC-7", "a"+v1("1_1_3_2_0000000000000001"), descriptor.ClassMode)
	bad(v1p, "v1-mode-large", "a mode that would wrap to 0 in a byte", "KS-DESC-7", "a"+v1("1_1_3_256_0000000000000001"), descriptor.ClassMode)
	bad(v1p, "v1-token-zero", "token 0", "KS-DESC-8", "a"+v1("1_1_3_1_0000000000000000"), descriptor.ClassToken)
	bad(v1p, "v1-order-number-range", "a bad number goes before a bad range", "KS-DESC-9", "a"+v1("2_1_3_1_x"), descriptor.ClassNumber)
	bad(v1p, "v1-order-range-mode", "a bad range goes before a bad mode and token", "KS-DESC-9", "a"+v1("2_1_3_2_0"), descriptor.ClassRange)
	bad(v1p, "v1-order-mode-token", "a bad mode goes before a bad token", "KS-DESC-9", "a"+v1("1_1_3_2_0"), descriptor.ClassMode)
	bad(v1p, "v1-sees-no-v2", "a v2 descriptor is none to a v1 reader", "KS-DESC-20", "a"+v2("1_1_7_1_0000000000000001_1"), descriptor.ClassMissing)
	bad(v1p, "v1-sees-no-old", "an old descriptor is none to a v1 reader", "KS-DESC-25", "a__trtllm_p_1_1_1_1_0000000000000001", descriptor.ClassMissing)

	good(v2p, "v2-enabled", "six fields, ABI 1", "KS-DESC-16 KS-DESC-12", ctxBase+v2("1_1_7_1_00000000deadbeef_1"))
	good(v2p, "v2-extensions", "capability bits 48 and 49", "KS-DESC-16", ctxBase+v2("1_1_3000000000007_1_00000000deadbeef_1"))
	good(v2p, "v2-abi-large", "an ABI id of 64 bits", "KS-DESC-16 KS-DESC-12", ctxBase+v2("1_1_7_0_00000000deadbeef_ffffffffffffffff"))
	good(v2p, "v2-versions", "a reader takes any valid range", "KS-DESC-22", "a"+v2("1_2_7_1_0000000000000001_1"))
	bad(v2p, "v2-five-fields", "five fields", "KS-DESC-16", "a"+v2("1_1_7_1_0000000000000001"), descriptor.ClassFields)
	bad(v2p, "v2-seven-fields", "seven fields", "KS-DESC-16", "a"+v2("1_1_7_1_0000000000000001_1_1"), descriptor.ClassFields)
	bad(v2p, "v2-abi-zero", "ABI 0", "KS-DESC-19", "a"+v2("1_1_7_1_0000000000000001_0"), descriptor.ClassABI)
	bad(v2p, "v2-abi-text", "an ABI that is no number", "KS-DESC-19", "a"+v2("1_1_7_1_0000000000000001_g"), descriptor.ClassNumber)
	bad(v2p, "v2-order-token-abi", "a bad token goes before a bad ABI", "KS-DESC-19", "a"+v2("1_1_7_1_0_0"), descriptor.ClassToken)
	bad(v2p, "v2-sees-no-v1", "a v1 descriptor is none to a reader of v2 alone", "KS-DESC-16", "a"+v1("1_1_3_1_0000000000000001"), descriptor.ClassMissing)

	good(both, "both-v1", "a reader of both finds v1", "KS-DESC-23", "a"+v1("1_1_3_1_0000000000000001"))
	good(both, "both-v2", "a reader of both finds v2", "KS-DESC-23", "a"+v2("1_1_7_1_0000000000000001_1"))
	good(both, "both-v2-later", "v2 begins later", "KS-DESC-23", "a"+v1("1_1_3_1_0000000000000001")+v2("1_1_7_1_0000000000000002_1"))
	good(both, "both-v1-later", "v1 begins later", "KS-DESC-23", "a"+v2("1_1_7_1_0000000000000002_1")+v1("1_1_3_1_0000000000000001"))
	bad(both, "both-later-broken", "the later one decides, although the earlier one is good", "KS-DESC-23", "a"+v1("1_1_3_1_0000000000000001")+v2("1_1_7_1_0000000000000002"), descriptor.ClassFields)
	bad(both, "both-none", "neither", "KS-DESC-1", "a", descriptor.ClassMissing)

	good(old, "old-five", "the form before v1", "KS-DESC-24", "a__trtllm_p_1_1_1_1_0000000000000001")
	good(old, "old-more-fields", "fields after the fifth are ignored", "KS-DESC-24", "a__trtllm_p_1_1_1_0_0000000000000001_9_x")
	bad(old, "old-four", "four fields", "KS-DESC-24", "a__trtllm_p_1_1_1_1", descriptor.ClassFields)
	bad(old, "old-mode", "mode 2", "KS-DESC-24", "a__trtllm_p_1_1_1_2_0000000000000001", descriptor.ClassMode)
	bad(old, "old-range", "minimum 0", "KS-DESC-24", "a__trtllm_p_0_1_1_1_0000000000000001", descriptor.ClassRange)
	bad(old, "old-token", "token 0", "KS-DESC-24", "a__trtllm_p_1_1_1_1_0", descriptor.ClassToken)
	bad(old, "old-none", "a legacy name", "KS-DESC-24", ctxBase, descriptor.ClassMissing)
	bad(old, "old-sees-no-v1", "a v1 descriptor is none to a reader of the old form", "KS-DESC-25", "a"+v1("1_1_3_1_0000000000000001"), descriptor.ClassMissing)

	agentNames(s)
	for _, t := range []struct{ id, base string }{
		{"ctx", ctxBase}, {"gen", genBase}, {"empty", ""}, {"bytes", "\x00\x80\xff"},
	} {
		s.good("SessionToken", v1p, "token-"+t.id, "FNV-1a of 64 bits over the base name", "KS-DESC-17", []byte(t.base), "")
	}
}

// agentNames are for the writer that makes names: it refuses what no reader would
// take, and bases that hold a mark.
func agentNames(s *set) {
	fields := func(base string, d descriptor.Descriptor) map[string]any {
		f := map[string]any{
			"base": base, "schema": d.Schema, "minVersion": d.Min, "maxVersion": d.Max, "capabilities": decimal(uint64(d.Caps)),
			"mode": d.Mode, "sessionToken": decimal(d.Token),
		}
		if d.Schema == 2 {
			f["abi"] = decimal(d.ABI)
		}
		return f
	}
	good, g2 := v1Descriptor(ctxEpoch), v2Descriptor(ctxEpoch)
	s.goodFields("AgentName", vectors.V1, "name-v1", "base name and v1 descriptor", "KS-DESC-12 KS-DESC-13",
		[]byte(ctxBase+v1("1_1_3_1_00000000deadbeef")), fields(ctxBase, good))
	s.goodFields("AgentName", vectors.V2, "name-v2", "base name and v2 descriptor", "KS-DESC-12 KS-DESC-13",
		[]byte(ctxBase+v2("1_1_7_1_00000000deadbeef_1")), fields(ctxBase, g2))

	for _, b := range []struct{ id, note, req, base string }{
		{"base-empty", "an empty base", "KS-DESC-18", ""},
		{"base-v1-marker", "a base with the marker of v1", "KS-DESC-18", "a__trtllm_protocol_v1_b"},
		{"base-v2-marker", "a base with the marker of v2", "KS-DESC-18", "a__trtllm_protocol_v2_b"},
		{"base-old-marker", "a base with the marker of the old form", "KS-DESC-18 KS-DESC-26", "a__trtllm_p_b"},
		{"base-terminator", "a base with the terminator", "KS-DESC-18", "a__trtllm_protocol_end"},
	} {
		s.badFields("AgentName", vectors.V1, "name-"+b.id, b.note, b.req, nil, fields(b.base, good), "bad-value")
	}
	change := func(d descriptor.Descriptor, f func(*descriptor.Descriptor)) descriptor.Descriptor {
		f(&d)
		return d
	}
	for _, b := range []struct {
		id, note string
		d        descriptor.Descriptor
	}{
		{"min-zero", "minimum 0", change(good, func(d *descriptor.Descriptor) { d.Min = 0 })},
		{"min-above-max", "minimum above maximum", change(good, func(d *descriptor.Descriptor) { d.Min = 2 })},
		{"mode-two", "mode 2", change(good, func(d *descriptor.Descriptor) { d.Mode = 2 })},
		{"token-zero", "token 0", change(good, func(d *descriptor.Descriptor) { d.Token = 0 })},
		{"schema-three", "schema 3", change(good, func(d *descriptor.Descriptor) { d.Schema = 3 })},
	} {
		s.badFields("AgentName", vectors.V1, "name-"+b.id, b.note, "KS-DESC-13", nil, fields(ctxBase, b.d), "bad-value")
	}
	s.badFields("AgentName", vectors.V2, "name-abi-zero", "ABI 0", "KS-DESC-13 KS-DESC-19", nil,
		fields(ctxBase, change(g2, func(d *descriptor.Descriptor) { d.ABI = 0 })), "bad-value")
}
