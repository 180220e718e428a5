package vectors

import (
	"strings"

	"github.com/kvsettle/kvsettle/wire/descriptor"
)

var descriptorCodecs = map[string]codec{
	"Descriptor":   {profiles: []string{V1, V2, V1V2, Old}, run: readDescriptor},
	"AgentName":    {profiles: []string{V1, V2}, input: nameFields, run: writeAgentName},
	"SessionToken": {profiles: []string{V1}, run: readToken},
}

var nameFields = []string{"base", "schema", "minVersion", "maxVersion", "capabilities", "mode", "sessionToken", "abi"}

// oldMarker begins the form before schema 1.
const oldMarker = "__trtllm_p_"

func readDescriptor(profile string, b []byte, _ map[string]any) (outcome, error) {
	name := string(b)
	parse := map[string]func(string) (descriptor.Descriptor, descriptor.Status, descriptor.Class){
		V1: descriptor.ParseV1, V2: descriptor.ParseV2, V1V2: descriptor.Parse, Old: descriptor.ParseOld,
	}[profile]
	d, status, class := parse(name)
	if status != descriptor.Valid {
		return outcome{}, &classError{class}
	}
	base, write := descriptor.Base(name), descriptor.AppendRaw
	if profile == Old {
		base, write = name[:strings.LastIndex(name, oldMarker)], descriptor.AppendOld
	}
	return outcome{fields: showDescriptor(base, d), again: write([]byte(base), d)}, nil
}

func showDescriptor(base string, d descriptor.Descriptor) any {
	o := object{
		"base": latin(base), "minVersion": d.Min, "maxVersion": d.Max, "capabilities": u64(d.Caps), "mode": d.Mode,
		"sessionToken": u64(d.Token), "schema": d.Schema,
	}
	if d.Schema == 2 {
		o["abi"] = u64(d.ABI)
	}
	return o
}

func writeAgentName(profile string, _ []byte, fields map[string]any) (outcome, error) {
	m := members{tree: fields}
	base, ok := unlatin(m.need("base"))
	if !ok {
		m.fail("base", "text with one code point per byte")
	}
	d := descriptor.Descriptor{
		Min: uint16(m.unsigned("minVersion", 16)), Max: uint16(m.unsigned("maxVersion", 16)),
		Caps: descriptor.Caps(m.unsigned("capabilities", 64)), Mode: descriptor.Mode(m.unsigned("mode", 8)),
		Token: m.unsigned("sessionToken", 64), Schema: uint8(m.unsigned("schema", 8)),
	}
	if profile == V2 {
		d.ABI = m.unsigned("abi", 64)
	}
	if m.err != nil {
		return outcome{}, harness("fields: %v", m.err)
	}
	name, err := descriptor.Name(base, d)
	if err != nil {
		return outcome{}, err
	}
	return outcome{fields: showDescriptor(base, d), again: []byte(name)}, nil
}

func readToken(_ string, b []byte, _ map[string]any) (outcome, error) {
	return outcome{fields: object{"base": latin(string(b)), "sessionToken": u64(descriptor.Token(string(b)))}, again: b}, nil
}
