package descriptor_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/wire/descriptor"
)

func ExampleName() {
	base := "gpu-7_4711_99_0"
	name, err := descriptor.Name(base, descriptor.Default(descriptor.Enabled, 0xdeadbeef))
	fmt.Println(name, err)
	_, err = descriptor.Name(name, descriptor.Default(descriptor.Enabled, 1))
	fmt.Println(err)
	// Output:
	// gpu-7_4711_99_0__trtllm_protocol_v1_1_1_3_1_00000000deadbeef__trtllm_protocol_end <nil>
	// descriptor.base: bad-value: contains __trtllm_protocol_v1_ (KS-DESC-18)
}

func ExampleParse() {
	for _, name := range []string{
		"h__trtllm_protocol_v1_1_1_3_1_05__trtllm_protocol_end",
		"h__trtllm_protocol_v2_1_1_7_1_05_1__trtllm_protocol_end",
		"h__trtllm_protocol_v1_1_1_3_1__trtllm_protocol_end",
		"h_1_2_0",
	} {
		d, status, class := descriptor.Parse(name)
		fmt.Println(status, class, d.Schema, d.Mode, d.Token)
	}
	// Output:
	// valid  1 enabled 5
	// valid  2 enabled 5
	// malformed P_FIELDS 0 baseline 0
	// missing P_MISSING 0 baseline 0
}

func ExampleParseV1() {
	_, status, class := descriptor.ParseV1("h__trtllm_protocol_v2_1_1_7_1_05_1__trtllm_protocol_end")
	fmt.Println(status, class)
	// Output: missing P_MISSING
}

func ExampleParseV2() {
	d, _, _ := descriptor.ParseV2("h__trtllm_protocol_v2_1_1_7_1_05_1__trtllm_protocol_end")
	fmt.Println(d.ABI, d.Caps.Has(descriptor.CapPeerCancel))
	// Output: 1 true
}

func ExampleParseOld() {
	d, status, _ := descriptor.ParseOld("h__trtllm_p_1_1_1_0_05_more")
	fmt.Println(status, d.Token, d.Schema)
	// Output: valid 5 0
}

func ExampleBase() {
	fmt.Println(descriptor.Base("h_1__trtllm_protocol_v1_1_1_3_1_05__trtllm_protocol_end"))
	// Output: h_1
}

func ExampleToken() {
	fmt.Printf("%016x\n", descriptor.Token("a"))
	// Output: af63dc4c8601ec8c
}

func ExampleAppend() {
	b, err := descriptor.Append([]byte("h"), descriptor.Descriptor{Min: 1, Max: 1, Caps: 7, Mode: 1, Token: 5, ABI: 1, Schema: 2})
	fmt.Println(string(b), err)
	_, err = descriptor.Append(nil, descriptor.Descriptor{Min: 1, Max: 1, Schema: 1})
	fmt.Println(err)
	// Output:
	// h__trtllm_protocol_v2_1_1_7_1_0000000000000005_1__trtllm_protocol_end <nil>
	// descriptor.token: bad-value: zero (KS-DESC-8)
}

func ExampleAppendRaw() {
	fmt.Println(string(descriptor.AppendRaw(nil, descriptor.Descriptor{Mode: 200})))
	// Output: __trtllm_protocol_v1_0_0_0_200_0000000000000000__trtllm_protocol_end
}

func ExampleAppendOld() {
	fmt.Println(string(descriptor.AppendOld([]byte("h"), descriptor.Default(descriptor.Baseline, 5))))
	// Output: h__trtllm_p_1_1_3_0_0000000000000005
}

func ExampleDefault() {
	d := descriptor.Default(descriptor.Baseline, 7)
	fmt.Println(d.Min, d.Max, uint64(d.Caps), d.Mode, d.Token, d.Check())
	// Output: 1 1 3 baseline 7 <nil>
}

func ExampleParseNumber() {
	fmt.Println(descriptor.ParseNumber("00Ff", 16))
	fmt.Println(descriptor.ParseNumber("0x1", 16))
	fmt.Println(descriptor.ParseNumber("18446744073709551616", 10))
	// Output:
	// 255 true
	// 0 false
	// 0 false
}

func ExampleDefaultV2() {
	d := descriptor.DefaultV2(descriptor.Enabled, 0xBEEF, descriptor.CapQuiescence)
	fmt.Println(string(descriptor.AppendRaw(nil, d)))
	// Output: __trtllm_protocol_v2_1_1_2000000000007_1_000000000000beef_1__trtllm_protocol_end
}
