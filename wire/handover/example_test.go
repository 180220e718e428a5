package handover_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/wire/handover"
)

const body = `{"request_id":7,"disaggregated_params":{"request_type":"context_only"},` +
	`"kvsettle":{"hash_ids":[1,2],"input_length":1024,"output_length":8,"deadline_ms":500}}`

func ExampleDecode() {
	h, err := handover.Decode([]byte(body))
	fmt.Println(h.RequestID, h.DisaggregatedParams.RequestType, h.KVSettle.HashIDs, err)
	_, err = handover.Decode([]byte(`{"request_id":7}`))
	fmt.Println(err)
	// Output:
	// 7 context_only [1 2] <nil>
	// disaggregated_params at byte 16: missing (KS-HTTP-4)
}

func ExampleAppend() {
	h := handover.Handover{RequestID: 7, DisaggregatedParams: handover.DisaggregatedParams{RequestType: handover.ContextOnly}}
	b, err := handover.Append(nil, &h)
	fmt.Println(string(b), err)
	// Output: {"request_id":7,"disaggregated_params":{"request_type":"context_only"},"kvsettle":{"hash_ids":[],"input_length":0,"output_length":0,"deadline_ms":0}} <nil>
}

func ExampleDecodeParams() {
	p, err := handover.DecodeParams([]byte(`{"request_type":"generation_only","ctx_info_endpoint":["http://a","http://b"]}`))
	fmt.Println(p.RequestType, *p.CtxInfoEndpoint, err)
	b, err := handover.AppendParams(nil, &p)
	fmt.Println(string(b), err)
	// Output:
	// generation_only http://a <nil>
	// {"request_type":"generation_only","ctx_info_endpoint":"http://a"} <nil>
}

func ExampleAppendParams() {
	_, err := handover.AppendParams(nil, &handover.DisaggregatedParams{RequestType: "\xff"})
	fmt.Println(err)
	// Output: request_type: bad-encoding: not UTF-8 (KS-HTTP-4)
}

func ExampleDecodeState() {
	b, err := handover.DecodeState(handover.EncodeState([]byte{1, 2}))
	fmt.Println(b, err)
	_, err = handover.DecodeState("AQI")
	fmt.Println(err)
	// Output:
	// [1 2] <nil>
	// encoded_opaque_state: bad-encoding: length is no multiple of 4 (KS-HTTP-1)
}

func ExampleEncodeState() {
	fmt.Println(handover.EncodeState([]byte{0, 0}))
	// Output: AAA=
}

func ExampleVerify() {
	state, key := "AAA=", []byte("secret key")
	p := handover.DisaggregatedParams{EncodedOpaqueState: &state}
	header := handover.Sign(key, &p)
	fmt.Println(header)
	fmt.Println(handover.Verify(key, &p, header))
	fmt.Println(handover.Verify(key, &p, ""))
	// Output:
	// sha256=327064699811e2179c9cccd369aac7669b0b4b683c501f166795ab11daadcf40
	// <nil>
	// x-trtllm-disagg-auth: bad-signature: not sha256= and 64 hex digits (KS-HTTP-3)
}

func ExampleSign() {
	fmt.Printf("%q\n", handover.Sign([]byte("k"), &handover.DisaggregatedParams{RequestType: handover.ContextOnly}))
	// Output: ""
}

func ExampleCanonical() {
	endpoint := "http://ctx:8000"
	b, ok := handover.Canonical(&handover.DisaggregatedParams{CtxInfoEndpoint: &endpoint})
	fmt.Println(string(b), ok)
	// Output: {"ctx_info_endpoint":"http://ctx:8000","encoded_opaque_state":null} true
}

func ExampleDecodeCancel() {
	c, err := handover.DecodeCancel([]byte(`{"request_id":7,"reason":"USER"}`))
	fmt.Println(c, err)
	// Output: {7 USER} <nil>
}

func ExampleAppendCancel() {
	b, err := handover.AppendCancel(nil, &handover.Cancel{RequestID: 7, Reason: "USER"})
	fmt.Println(string(b), err)
	// Output: {"request_id":7,"reason":"USER"} <nil>
}

func ExampleDecodeError() {
	e, err := handover.DecodeError([]byte(`{"error":{"code":"bad-value","message":"no","requirement":"KS-HTTP-8"}}`))
	fmt.Println(e.Error.Code, err)
	// Output: bad-value <nil>
}

func ExampleAppendError() {
	b, err := handover.AppendError(nil, &handover.ErrorBody{Error: handover.ErrorDetail{Code: "bad-value", Message: "no", Requirement: "KS-HTTP-8"}})
	fmt.Println(string(b), err)
	// Output: {"error":{"code":"bad-value","message":"no","requirement":"KS-HTTP-8"}} <nil>
}
