package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/kvsettle/kvsettle/conformance/vectors"
)

const http = vectors.HTTP

func handovers(s *set) {
	bodies4(s)
	params(s)
	base64s(s)
	signatures(s)
}

const (
	paramsText   = `{"request_type":"context_only","first_gen_tokens":[1,-2],"ctx_request_id":18446744073709551615,"encoded_opaque_state":"AAA=","draft_tokens":[],"disagg_request_id":7,"ctx_dp_rank":-1,"ctx_info_endpoint":"http://10.0.0.1:8001"}`
	kvsettleText = `{"hash_ids":[0,18446744073709551615],"input_length":1024,"output_length":16,"deadline_ms":30000}`
	handoverText = `{"request_id":42,"disaggregated_params":` + paramsText + `,"kvsettle":` + kvsettleText + `}`
)

// bodies4 are the four bodies of requests and answers.
func bodies4(s *set) {
	s.good("Handover", http, "body-handover", "every field", "KS-HTTP-4 KS-HTTP-7", []byte(handoverText), "")
	s.good("Handover", http, "body-handover-spaces", "spaces, other order, an unknown field", "KS-HTTP-4",
		[]byte("\n{ \"kvsettle\" : "+kvsettleText+",\"later\":{\"x\":[null,1.5e3]} ,\t\"disaggregated_params\":{\"request_type\":\"generation_only\"},\r\n\"request_id\":0}\n"), "")
	s.good("CancelBody", http, "body-cancel", "a cancel", "KS-HTTP-7", []byte(`{"request_id":42,"reason":"client gone"}`), "")
	s.good("CancelBody", http, "body-cancel-escapes", "escapes of every kind are read", "KS-HTTP-4",
		[]byte(`{"request_id":1,"reason":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀"}`), "")
	s.good("ErrorBody", http, "body-error", "an error", "KS-HTTP-8",
		[]byte(`{"error":{"code":"bad-signature","message":"does not match","requirement":"KS-HTTP-3"}}`), "")

	bad := func(id, note, text, code string, offset int) {
		s.bad("Handover", http, "body-"+id, note, "KS-HTTP-4", []byte(text), code, offset)
	}
	behind := func(part string) int { return strings.Index(handoverText, part) + len(part) }
	bad("none", "no byte", "", "bad-encoding", 0)
	bad("list", "a list", "[]", "bad-encoding", 0)
	bad("cut", "one byte short", handoverText[:len(handoverText)-1], "bad-encoding", len(handoverText)-1)
	bad("two", "two objects", handoverText+"{}", "trailing-bytes", len(handoverText))
	bad("missing", "no kvsettle", `{"request_id":42,"disaggregated_params":`+paramsText+`}`, "missing", len(`{"request_id":42,"disaggregated_params":`+paramsText+`}`))
	bad("null", "a required field that is null", `{"request_id":null}`, "missing", 1)
	bad("twice", "a field twice", `{"request_id":42,"request_id":42}`, "duplicate", 17)
	bad("capitals", "names match exactly, so this one is missing", strings.Replace(handoverText, `"request_id"`, `"Request_id"`, 1), "missing", len(handoverText))
	bad("text-number", "a number as text", strings.Replace(handoverText, `:42`, `:"42"`, 1), "bad-encoding", behind(`{"request_id":`))
	bad("fraction", "a fraction", strings.Replace(handoverText, `:42`, `:42.0`, 1), "bad-encoding", behind(`{"request_id":`))
	bad("leading-zero", "a leading zero", strings.Replace(handoverText, `:42`, `:042`, 1), "bad-encoding", behind(`{"request_id":`))
	bad("negative", "a negative id", strings.Replace(handoverText, `:42`, `:-42`, 1), "out-of-range", behind(`{"request_id":`))
	bad("65-bits", "an id of 65 bits", strings.Replace(handoverText, `:42`, `:18446744073709551616`, 1), "out-of-range", behind(`{"request_id":`))
	bad("comma", "a comma before the end", `{"request_id":42,}`, "bad-encoding", 17)
	bad("control", "a control character in a string", "{\"a\x01\":1}", "bad-encoding", 3)
	bad("utf8", "a name that is not UTF-8", "{\"\xff\":1}", "bad-encoding", 1)
	bad("surrogate", "half a surrogate pair", `{"a":"\ud800"}`, "bad-encoding", 5)
	s.bad("Handover", http, "body-deep", "nested 33 deep", "KS-HTTP-15", []byte(`{"a":`+strings.Repeat("[", 32)), "too-large", 5+31)
	s.good("CancelBody", http, "body-deep-enough", "nested 32 deep, in a field that is ignored", "KS-HTTP-15",
		[]byte(`{"a":`+strings.Repeat("[", 31)+strings.Repeat("]", 31)+`,"request_id":1,"reason":"r"}`), "")
	ids := strings.Repeat("0,", 4096) + "0"
	many := strings.Replace(handoverText, "0,18446744073709551615", ids, 1)
	s.bad("Handover", http, "body-many-ids", "4097 block ids", "KS-HTTP-15", []byte(many), "too-large", behind(`"hash_ids":`))
	s.bad("CancelBody", http, "body-cancel-reason", "a reason that is no text", "KS-HTTP-4", []byte(`{"request_id":1,"reason":1}`), "bad-encoding", 25)
	s.bad("ErrorBody", http, "body-error-code", "no code", "KS-HTTP-8", []byte(`{"error":{"message":"m","requirement":"r"}}`), "missing", 42)
}

func params(s *set) {
	const typ = "DisaggregatedParams"
	s.good(typ, http, "params-full", "every field", "KS-HTTP-4", []byte(paramsText), "")
	s.good(typ, http, "params-least", "the request type alone", "KS-HTTP-4", []byte(`{"request_type":"context_only"}`), "")
	s.good(typ, http, "params-null", "null reads as absent", "KS-HTTP-4", []byte(`{"request_type":"context_only","ctx_request_id":null,"first_gen_tokens":null}`), "")
	s.good(typ, http, "params-endpoints", "of a list of endpoints the first counts", "KS-HTTP-4", []byte(`{"request_type":"context_only","ctx_info_endpoint":["a:1","b:2"]}`), "")
	s.good(typ, http, "params-endpoints-none", "an empty list of endpoints reads as absent", "KS-HTTP-4", []byte(`{"request_type":"context_only","ctx_info_endpoint":[]}`), "")
	s.good(typ, http, "params-range", "the ends of the 64-bit range", "KS-HTTP-4", []byte(`{"request_type":"","first_gen_tokens":[9223372036854775807,-9223372036854775808]}`), "")
	s.bad(typ, http, "params-no-type", "no request type", "KS-HTTP-4", []byte(`{}`), "missing", 2)
	s.good(typ, http, "params-state-text", "a state that is no base64 is a text; decoding it refuses", "KS-HTTP-4",
		[]byte(`{"request_type":"generation_only","encoded_opaque_state":"no base64!"}`), "")
	s.bad(typ, http, "params-token", "a token of 64 bits and a sign", "KS-HTTP-4", []byte(`{"first_gen_tokens":[9223372036854775808]}`), "out-of-range", 21)
	s.bad(typ, http, "params-tokens", "1025 tokens", "KS-HTTP-15", []byte(`{"draft_tokens":[`+strings.Repeat("1,", 1024)+`1]}`), "too-large", 16)
}

func base64s(s *set) {
	const typ = "OpaqueStateBase64"
	good := func(id, note, text string) { s.good(typ, http, "base64-"+id, note, "KS-HTTP-1", []byte(text), "") }
	good("empty", "no byte", "")
	good("one", "one byte, two pads", "/w==")
	good("two", "two bytes, one pad", "//8=")
	good("three", "three bytes, the whole alphabet's ends", "+/AZ")
	bad := func(id, note, text string) {
		s.bad(typ, http, "base64-"+id, note, "KS-HTTP-1", []byte(text), "bad-encoding", none)
	}
	bad("unpadded", "no padding", "/w")
	bad("half-padded", "one pad of two", "/w=")
	bad("url", "the URL alphabet", "_w==")
	bad("pad-bits", "set bits behind the last byte", "/x==")
	bad("pad-bits-two", "set bits behind the second byte", "//9=")
	bad("line-break", "a line break", "AAAA\nAA\n")
	bad("space", "a space", "AAA ")
	bad("pad-inside", "padding inside", "AA==AAAA")
	bad("three-pads", "three pads", "A===")
}

func signatures(s *set) {
	const typ, req = "Signature", "KS-HTTP-3"
	key := []byte("a shared secret")
	sign := func(canonical string) string {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(canonical))
		return "sha256=" + hex.EncodeToString(h.Sum(nil))
	}
	good := func(id, note, body, canonical string) {
		s.goodFields(typ, http, "sign-"+id, note, req, []byte(body), map[string]any{
			"keyHex": hex.EncodeToString(key), "header": sign(canonical), "canonical": canonical,
		})
	}
	const stateOnly = `{"request_type":"context_only","encoded_opaque_state":"AAA="}`
	const canonicalState = `{"ctx_info_endpoint":null,"encoded_opaque_state":"AAA="}`
	good("both", "both fields", `{"request_type":"context_only","encoded_opaque_state":"AAA=","ctx_info_endpoint":"http://c:1"}`,
		`{"ctx_info_endpoint":"http://c:1","encoded_opaque_state":"AAA="}`)
	good("state", "the state alone", stateOnly, canonicalState)
	good("endpoint", "the endpoint alone, the first of two", `{"request_type":"context_only","ctx_info_endpoint":["a","b"]}`,
		`{"ctx_info_endpoint":"a","encoded_opaque_state":null}`)
	s.goodFields(typ, http, "sign-capitals", "the digits of the header may be capitals", req, []byte(stateOnly), map[string]any{
		"keyHex": hex.EncodeToString(key), "header": "sha256=" + strings.ToUpper(sign(canonicalState)[7:]), "canonical": canonicalState,
	})
	good("escapes", "characters outside printable ASCII", `{"request_type":"x","ctx_info_endpoint":"\u007f\u0000\"\\\/\n\r\t\b\f é😀<"}`,
		`{"ctx_info_endpoint":"\u007f\u0000\"\\/\n\r\t\b\f \u00e9\ud83d\ude00<","encoded_opaque_state":null}`)
	s.goodFields(typ, http, "sign-nothing", "neither field: nothing to sign, any header passes", req, []byte(`{"request_type":"context_only"}`),
		map[string]any{"keyHex": hex.EncodeToString(key), "header": "", "canonical": nil})

	right := sign(canonicalState)
	for i, b := range []struct{ id, note, key, header string }{
		{"absent", "no header", string(key), ""},
		{"bare", "no sha256=", string(key), right[7:]},
		{"other-hash", "another hash", string(key), "sha512=" + right[7:]},
		{"short", "63 digits", string(key), right[:len(right)-1]},
		{"long", "65 digits", string(key), right + "0"},
		{"text", "not hexadecimal", string(key), right[:len(right)-1] + "g"},
		{"wrong", "one digit differs", string(key), flip(right)},
		{"other-key", "another key", "another secret", right},
		{"no-key", "an empty key is none", "", right},
	} {
		s.badFields(typ, http, fmt.Sprintf("sign-bad-%d-%s", i, b.id), b.note, req, []byte(stateOnly),
			map[string]any{"keyHex": hex.EncodeToString([]byte(b.key)), "header": b.header}, "bad-signature")
	}
}

// flip changes the last digit.
func flip(header string) string {
	if last := len(header) - 1; header[last] != '0' {
		return header[:last] + "0"
	}
	return header[:len(header)-1] + "1"
}
