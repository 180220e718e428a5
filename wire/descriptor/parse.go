package descriptor

import "strings"

const (
	markerV1   = "__trtllm_protocol_v1_"
	markerV2   = "__trtllm_protocol_v2_"
	terminator = "__trtllm_protocol_end"
	markerOld  = "__trtllm_p_"

	fieldsV1 = 5
	fieldsV2 = 6
)

// ParseV1 reads the schema 1 descriptor of an agent name (KS-DESC-1 to
// KS-DESC-11). It does
// not allocate. A schema 2 name is Missing here, as it is for a peer that knows
// schema 1 only. The Descriptor is zero unless the Status is Valid.
func ParseV1(name string) (Descriptor, Status, Class) {
	at := markerAt(name, markerV1)
	if at < 0 {
		return Descriptor{}, Missing, ClassMissing
	}
	return parseFields(between(name, at, markerV1), 1)
}

// ParseV2 reads the schema 2 descriptor of an agent name: the five fields of
// schema 1 and a nonzero ABI id. A schema 1 name is Missing here.
func ParseV2(name string) (Descriptor, Status, Class) {
	at := markerAt(name, markerV2)
	if at < 0 {
		return Descriptor{}, Missing, ClassMissing
	}
	return parseFields(between(name, at, markerV2), 2)
}

// Parse reads a descriptor of either schema. Where a name holds markers of both,
// the last one counts, as it does within one schema; so every name that is Valid
// for ParseV1 gives the same answer here.
func Parse(name string) (Descriptor, Status, Class) {
	v1, v2 := markerAt(name, markerV1), markerAt(name, markerV2)
	switch {
	case v1 < 0 && v2 < 0:
		return Descriptor{}, Missing, ClassMissing
	case v2 > v1:
		return parseFields(between(name, v2, markerV2), 2)
	}
	return parseFields(between(name, v1, markerV1), 1)
}

// ParseOld recognises the form that preceded schema 1: no terminator, the last
// marker anywhere in the name, five fields, extra fields ignored. The result
// has Schema 0. It is never written by kvsettle in earnest; see AppendOld.
func ParseOld(name string) (Descriptor, Status, Class) {
	at := strings.LastIndex(name, markerOld)
	if at < 0 {
		return Descriptor{}, Missing, ClassMissing
	}
	return parseFields(name[at+len(markerOld):], 0)
}

// markerAt returns where the last marker starts that starts at or before the
// closing terminator, or -1. A marker may share its last byte with the
// terminator's first; the prefix searched is cut so that it is still found.
func markerAt(name, marker string) int {
	if !strings.HasSuffix(name, terminator) {
		return -1
	}
	end := len(name) - len(terminator) + len(marker)
	if end > len(name) {
		end = len(name)
	}
	return strings.LastIndex(name[:end], marker)
}

// between returns the bytes between marker and terminator. Where the two
// overlap, the deployed parser reads to the end of the name; that can never have
// the right number of fields, and neither does what is returned then.
func between(name string, at int, marker string) string {
	start, end := at+len(marker), len(name)-len(terminator)
	if start > end {
		return name[start:]
	}
	return name[start:end]
}

// parseFields checks in the fixed order: number of fields, all numbers, 16-bit
// range, version range, mode, token, ABI.
func parseFields(payload string, schema uint8) (Descriptor, Status, Class) {
	want := fieldsV1
	if schema == 2 {
		want = fieldsV2
	}
	if n := strings.Count(payload, "_") + 1; n != want && (schema != 0 || n < want) {
		return Descriptor{}, Malformed, ClassFields
	}
	var f [fieldsV2]uint64
	for i := 0; i < want; i++ {
		piece := payload
		if j := strings.IndexByte(payload, '_'); j >= 0 {
			piece, payload = payload[:j], payload[j+1:]
		}
		base := 10
		if i == 2 || i >= 4 {
			base = 16
		}
		var ok bool
		if f[i], ok = ParseNumber(piece, base); !ok {
			return Descriptor{}, Malformed, ClassNumber
		}
	}
	switch {
	case f[0] > 0xFFFF || f[1] > 0xFFFF:
		return Descriptor{}, Malformed, ClassNumber
	case f[0] == 0 || f[0] > f[1]:
		return Descriptor{}, Malformed, ClassRange
	case f[3] > 1:
		return Descriptor{}, Malformed, ClassMode
	case f[4] == 0:
		return Descriptor{}, Malformed, ClassToken
	case schema == 2 && f[5] == 0:
		return Descriptor{}, Malformed, ClassABI
	}
	return Descriptor{
		Min: uint16(f[0]), Max: uint16(f[1]), Caps: Caps(f[2]), Mode: Mode(f[3]),
		Token: f[4], ABI: f[5], Schema: schema,
	}, Valid, ""
}

// ParseNumber reads an unsigned 64-bit number in base 10 or 16 as descriptors
// write it: digits only (hex digits of either case), at least one, any number of
// leading zeros, no sign, no prefix, no space. It does not allocate.
func ParseNumber(s string, base int) (uint64, bool) {
	if s == "" || base != 10 && base != 16 {
		return 0, false
	}
	b := uint64(base)
	limit := ^uint64(0) / b
	var v uint64
	for i := 0; i < len(s); i++ {
		var d uint64
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			d = uint64(c - '0')
		case base == 16 && c >= 'a' && c <= 'f':
			d = uint64(c-'a') + 10
		case base == 16 && c >= 'A' && c <= 'F':
			d = uint64(c-'A') + 10
		default:
			return 0, false
		}
		if v > limit {
			return 0, false
		}
		next := v*b + d
		if next < v*b {
			return 0, false
		}
		v = next
	}
	return v, true
}
