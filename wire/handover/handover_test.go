package handover

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
	"github.com/kvsettle/kvsettle/wire/ticket"
)

func ptr[T any](v T) *T { return &v }

func golden() Handover {
	return Handover{
		RequestID: 42,
		DisaggregatedParams: DisaggregatedParams{
			RequestType: GenerationOnly, FirstGenTokens: []int64{17, -1}, CtxRequestID: ptr(uint64(math.MaxUint64)),
			EncodedOpaqueState: ptr("AAA="), DraftTokens: []int64{}, DisaggRequestID: ptr(uint64(43)), CtxDPRank: ptr(int64(-2)),
			CtxInfoEndpoint: ptr("http://ctx:8000/é"),
		},
		KVSettle: KVSettle{HashIDs: []uint64{1, 2, math.MaxUint64}, InputLength: 1024, OutputLength: 128, DeadlineMS: 10000},
	}
}

const goldenText = `{"request_id":42,"disaggregated_params":{"request_type":"generation_only","first_gen_tokens":[17,-1],` +
	`"ctx_request_id":18446744073709551615,"encoded_opaque_state":"AAA=","draft_tokens":[],"disagg_request_id":43,` +
	`"ctx_dp_rank":-2,"ctx_info_endpoint":"http://ctx:8000/\u00e9"},"kvsettle":{"hash_ids":[1,2,18446744073709551615],` +
	`"input_length":1024,"output_length":128,"deadline_ms":10000}}`

const least = `{"request_id":1,"disaggregated_params":{"request_type":"context_only"},` +
	`"kvsettle":{"hash_ids":[],"input_length":1,"output_length":1,"deadline_ms":0}}`

func decode(b []byte) error { _, err := Decode(b); return err }

func TestGolden(t *testing.T) {
	h := golden()
	b, err := Append([]byte("x"), &h)
	require.NoError(t, err)
	require.Equal(t, goldenText, string(b[1:]))
	got, err := Decode(b[1:])
	require.NoError(t, err)
	require.Equal(t, h, got)
	got, err = Decode([]byte(least))
	require.NoError(t, err)
	require.Equal(t, Handover{RequestID: 1, DisaggregatedParams: DisaggregatedParams{RequestType: ContextOnly},
		KVSettle: KVSettle{HashIDs: []uint64{}, InputLength: 1, OutputLength: 1}}, got)
	wiretest.Cuts(t, []byte(goldenText), func(b []byte) error {
		if len(b) == len(goldenText)+1 {
			b = append(b[:len(b)-1], '}')
		}
		return decode(b)
	})
}

func genText(t *rapid.T, name string) string {
	return rapid.StringOfN(rapid.Rune(), 0, 20, -1).Draw(t, name)
}

func genOpt[T any](t *rapid.T, g *rapid.Generator[T], name string) *T {
	if rapid.Bool().Draw(t, "has "+name) {
		return ptr(g.Draw(t, name))
	}
	return nil
}

func genTokens(t *rapid.T, name string) []int64 {
	if rapid.Bool().Draw(t, "has "+name) {
		return rapid.SliceOfN(rapid.Int64(), 0, 5).Draw(t, name)
	}
	return nil
}

func genHandover(t *rapid.T) Handover {
	return Handover{
		RequestID: rapid.Uint64().Draw(t, "id"),
		DisaggregatedParams: DisaggregatedParams{
			RequestType: genText(t, "type"), FirstGenTokens: genTokens(t, "first"),
			CtxRequestID:       genOpt(t, rapid.Uint64(), "ctx"),
			EncodedOpaqueState: genOpt(t, rapid.Custom(func(t *rapid.T) string { return genText(t, "state") }), "state"),
			DraftTokens:        genTokens(t, "draft"), DisaggRequestID: genOpt(t, rapid.Uint64(), "disagg"),
			CtxDPRank:       genOpt(t, rapid.Int64(), "rank"),
			CtxInfoEndpoint: genOpt(t, rapid.Custom(func(t *rapid.T) string { return genText(t, "endpoint") }), "endpoint"),
		},
		KVSettle: KVSettle{
			HashIDs: rapid.SliceOfN(rapid.Uint64(), 0, 5).Draw(t, "hashes"), InputLength: rapid.Uint64().Draw(t, "in"),
			OutputLength: rapid.Uint64().Draw(t, "out"), DeadlineMS: rapid.Uint64().Draw(t, "deadline"),
		},
	}
}

// TestRoundTrip also reads what encoding/json writes of the same value, and lets it
// read what is written here.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := genHandover(t)
		b, err := Append(nil, &h)
		require.NoError(t, err)
		got, err := Decode(b)
		require.NoError(t, err)
		require.Equal(t, h, got)
		require.True(t, h.DisaggregatedParams.Equal(&got.DisaggregatedParams))

		other, err := json.Marshal(h)
		require.NoError(t, err)
		got, err = Decode(other)
		require.NoError(t, err)
		require.True(t, h.DisaggregatedParams.Equal(&got.DisaggregatedParams))
		require.Equal(t, h.KVSettle, got.KVSettle)
		var std Handover
		require.NoError(t, json.Unmarshal(b, &std))
		require.True(t, h.DisaggregatedParams.Equal(&std.DisaggregatedParams))

		p, err := AppendParams(nil, &h.DisaggregatedParams)
		require.NoError(t, err)
		params, err := DecodeParams(p)
		require.NoError(t, err)
		require.Equal(t, h.DisaggregatedParams, params)

		c := Cancel{h.RequestID, h.DisaggregatedParams.RequestType}
		b, err = AppendCancel(nil, &c)
		require.NoError(t, err)
		gotC, err := DecodeCancel(b)
		require.NoError(t, err)
		require.Equal(t, c, gotC)

		e := ErrorBody{ErrorDetail{genText(t, "code"), genText(t, "message"), genText(t, "requirement")}}
		b, err = AppendError(nil, &e)
		require.NoError(t, err)
		gotE, err := DecodeError(b)
		require.NoError(t, err)
		require.Equal(t, e, gotE)
	})
}

func TestAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"spaces":         " {\t\"request_id\" : 1 ,\r\n" + least[len(`{"request_id":1,`):] + "\n ",
		"unknown fields": `{"x":{"y":[1,2.5e-3,true,false,null,"a\"\\\ud83d\ude00"],"y":{}},` + least[1:],
		"null optional":  strings.Replace(least, `"context_only"`, `"context_only","ctx_request_id":null,"first_gen_tokens":null`, 1),
		"escaped name":   strings.Replace(least, `request_id`, `request\u005fid`, 1),
		"empty list":     strings.Replace(least, `"context_only"`, `"context_only","ctx_info_endpoint":[]`, 1),
	} {
		got, err := Decode([]byte(text))
		require.NoError(t, err, name)
		require.Equal(t, uint64(1), got.RequestID, name)
		require.Nil(t, got.DisaggregatedParams.CtxRequestID)
		require.Nil(t, got.DisaggregatedParams.CtxInfoEndpoint)
	}
	got, err := Decode([]byte(strings.Replace(least, `"context_only"`, `"context_only","ctx_info_endpoint":["a","b"]`, 1)))
	require.NoError(t, err)
	require.Equal(t, "a", *got.DisaggregatedParams.CtxInfoEndpoint)
}

func TestRefused(t *testing.T) {
	spec.Covers(t, "KS-HTTP-2", "KS-HTTP-4")
	swap := func(from, to string) string {
		require.Contains(t, least, from)
		return strings.Replace(least, from, to, 1)
	}
	for name, c := range map[string]struct {
		what   string
		reason any
		text   string
	}{
		"no request id":     {"request_id", wire.ReasonMissing, swap(`"request_id":1,`, ``)},
		"null request id":   {"request_id", wire.ReasonMissing, swap(`"request_id":1`, `"request_id":null`)},
		"other case":        {"request_id", wire.ReasonMissing, swap(`request_id`, `REQUEST_ID`)},
		"no type":           {"request_type", wire.ReasonMissing, swap(`"request_type":"context_only"`, ``)},
		"no params":         {"disaggregated_params", wire.ReasonMissing, swap(`"disaggregated_params"`, `"params"`)},
		"no kvsettle":       {"kvsettle", wire.ReasonMissing, swap(`"kvsettle"`, `"model"`)},
		"no hash ids":       {"hash_ids", wire.ReasonMissing, swap(`"hash_ids":[],`, ``)},
		"no deadline":       {"deadline_ms", wire.ReasonMissing, swap(`,"deadline_ms":0`, ``)},
		"twice":             {"request_id", wire.ReasonDuplicate, swap(`"request_id":1`, `"request_id":1,"request_id":1`)},
		"twice, null first": {"ctx_dp_rank", wire.ReasonDuplicate, swap(`"context_only"`, `"context_only","ctx_dp_rank":null,"ctx_dp_rank":1`)},
		"negative":          {"request_id", wire.ReasonOutOfRange, swap(`:1,`, `:-1,`)},
		"fraction":          {"request_id", wire.ReasonBadEncoding, swap(`:1,`, `:1.0,`)},
		"exponent":          {"request_id", wire.ReasonBadEncoding, swap(`:1,`, `:1e3,`)},
		"leading zero":      {"request_id", wire.ReasonBadEncoding, swap(`:1,`, `:01,`)},
		"string for number": {"request_id", wire.ReasonBadEncoding, swap(`:1,`, `:"1",`)},
		"2^64":              {"request_id", wire.ReasonOutOfRange, swap(`:1,`, `:18446744073709551616,`)},
		"long number":       {"request_id", wire.ReasonOutOfRange, swap(`:1,`, `:`+strings.Repeat("9", 400)+`,`)},
		"2^63":              {"ctx_dp_rank", wire.ReasonOutOfRange, swap(`"context_only"`, `"context_only","ctx_dp_rank":9223372036854775808`)},
		"number for string": {"request_type", wire.ReasonBadEncoding, swap(`"context_only"`, `7`)},
		"list for object":   {"kvsettle", wire.ReasonBadEncoding, swap(`"kvsettle":{`, `"kvsettle":[{`)},
		"state as list":     {"encoded_opaque_state", wire.ReasonBadEncoding, swap(`"context_only"`, `"context_only","encoded_opaque_state":["a"]`)},
		"token text":        {"first_gen_tokens", wire.ReasonBadEncoding, swap(`"context_only"`, `"context_only","first_gen_tokens":["a"]`)},
		"endpoint number":   {"ctx_info_endpoint", wire.ReasonBadEncoding, swap(`"context_only"`, `"context_only","ctx_info_endpoint":[1]`)},
		"trailing comma":    {"hash_ids", wire.ReasonBadEncoding, swap(`[]`, `[1,]`)},
		"many hash ids":     {"hash_ids", wire.ReasonTooLarge, swap(`[]`, `[1`+strings.Repeat(",1", MaxHashIDs)+`]`)},
		"many tokens":       {"draft_tokens", wire.ReasonTooLarge, swap(`"context_only"`, `"context_only","draft_tokens":[1`+strings.Repeat(",1", MaxTokens)+`]`)},
		"long text":         {"request_type", wire.ReasonTooLarge, swap(`context_only`, strings.Repeat("c", MaxText+1))},
		"long state":        {"encoded_opaque_state", wire.ReasonTooLarge, swap(`"context_only"`, `"context_only","encoded_opaque_state":"`+strings.Repeat("A", MaxStateChars+1)+`"`)},
		"control character": {"request_type", wire.ReasonBadEncoding, swap(`context_only`, "context\x01only")},
		"bad escape":        {"request_type", wire.ReasonBadEncoding, swap(`context_only`, `\x41`)},
		"half a surrogate":  {"request_type", wire.ReasonBadEncoding, swap(`context_only`, `\ud83d`)},
		"wrong surrogate":   {"request_type", wire.ReasonBadEncoding, swap(`context_only`, `\ud83d\u0041`)},
		"low surrogate":     {"request_type", wire.ReasonBadEncoding, swap(`context_only`, `\ude00`)},
		"short escape":      {"request_type", wire.ReasonBadEncoding, swap(`context_only`, `\u12`)},
		"not UTF-8":         {"request_type", wire.ReasonBadEncoding, swap(`context_only`, "\xff")},
		"not an object":     {"body", wire.ReasonBadEncoding, `[]`},
		"after the end":     {"body", wire.ReasonTrailingBytes, least + `{}`},
		"nested too deep":   {"body", wire.ReasonTooLarge, `{"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `,` + least[1:]},
		"bad unknown value": {"body", wire.ReasonBadEncoding, `{"x":tru,` + least[1:]},
		"bad unknown text":  {"body", wire.ReasonBadEncoding, `{"x":"\q",` + least[1:]},
		"bad unknown 1.":    {"body", wire.ReasonBadEncoding, `{"x":1.,` + least[1:]},
		"bad unknown 01":    {"body", wire.ReasonBadEncoding, `{"x":01,` + least[1:]},
		"no colon":          {"body", wire.ReasonBadEncoding, swap(`"request_id":`, `"request_id" `)},
		"no comma":          {"body", wire.ReasonBadEncoding, swap(`1,"dis`, `1 "dis`)},
	} {
		_, err := Decode([]byte(c.text))
		e := wiretest.Refused(t, err, len(c.text))
		require.Equal(t, c.what, e.What, "%s: %v", name, err)
		require.Equal(t, c.reason, e.Reason, "%s: %v", name, err)
		require.GreaterOrEqual(t, e.Offset, 0)
	}
	_, err := Decode(make([]byte, MaxBody+1))
	require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonTooLarge})
	for _, err := range []error{
		second(DecodeCancel([]byte(`{"request_id":1}`))), second(DecodeError([]byte(`{"error":{}}`))), second(DecodeParams([]byte(`{}`))),
	} {
		wiretest.Refused(t, err, 100)
	}
}

func second[T any](_ T, err error) error { return err }

func TestWritersRefuse(t *testing.T) {
	for name, change := range map[string]func(*Handover){
		"type":     func(h *Handover) { h.DisaggregatedParams.RequestType = "\xff" },
		"state":    func(h *Handover) { h.DisaggregatedParams.EncodedOpaqueState = ptr("\xff") },
		"endpoint": func(h *Handover) { h.DisaggregatedParams.CtxInfoEndpoint = ptr("\xff") },
		"long":     func(h *Handover) { h.DisaggregatedParams.CtxInfoEndpoint = ptr(strings.Repeat("x", MaxText+1)) },
		"escapes":  func(h *Handover) { h.DisaggregatedParams.RequestType = strings.Repeat("\n", MaxText/6+1) },
		"tokens":   func(h *Handover) { h.DisaggregatedParams.DraftTokens = make([]int64, MaxTokens+1) },
		"hashes":   func(h *Handover) { h.KVSettle.HashIDs = make([]uint64, MaxHashIDs+1) },
		"big state": func(h *Handover) {
			h.DisaggregatedParams.EncodedOpaqueState = ptr(strings.Repeat("A", MaxStateChars+1))
		},
	} {
		h := golden()
		change(&h)
		dst, err := Append([]byte("kept"), &h)
		wiretest.Refused(t, err, 0)
		require.Equal(t, "kept", string(dst), name)
	}
	for _, err := range []error{second(AppendCancel(nil, &Cancel{Reason: "\xff"})), second(AppendError(nil, &ErrorBody{ErrorDetail{Message: "\xff"}}))} {
		wiretest.Refused(t, err, 0)
	}
}

func TestState(t *testing.T) {
	spec.Covers(t, "KS-HTTP-1", "KS-HTTP-2")
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "state")
		s := EncodeState(b)
		got, err := DecodeState(s)
		require.NoError(t, err)
		require.Equal(t, len(b), len(got))
		require.Equal(t, s, base64.StdEncoding.EncodeToString(got))
	})
	for name, s := range map[string]string{
		"no padding": "AA", "pad bits": "AB==", "url alphabet": "-_8=", "line break": "AAAA\n\n\n\n", "carriage return": "AA\r=",
		"space": "AA =", "pad inside": "A=AA", "only pad": "====", "three pads": "A===", "more": "AAA=A",
	} {
		_, err := DecodeState(s)
		wiretest.Refused(t, err, len(s))
		require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonBadEncoding}, name)
	}
	largest := EncodeState(make([]byte, MaxStateBytes))
	require.Len(t, largest, MaxStateChars)
	b, err := DecodeState(largest)
	require.NoError(t, err)
	require.Len(t, b, MaxStateBytes)
	for _, s := range []string{largest + "AAAA", largest[:MaxStateChars-4] + "AAAA"} {
		_, err = DecodeState(s)
		require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonTooLarge})
	}
	require.Empty(t, EncodeState(make([]byte, MaxStateBytes+1)))
}

// TestSignature compares with signatures that Python's json and hmac made of the
// same two fields.
func TestSignature(t *testing.T) {
	spec.Covers(t, "KS-HTTP-3")
	key := []byte("secret key")
	for _, c := range []struct {
		endpoint, state *string
		canonical, hex  string
	}{
		{nil, ptr("AAA="), `{"ctx_info_endpoint":null,"encoded_opaque_state":"AAA="}`, "327064699811e2179c9cccd369aac7669b0b4b683c501f166795ab11daadcf40"},
		{ptr("http://ctx:8000"), ptr("AAA="), `{"ctx_info_endpoint":"http://ctx:8000","encoded_opaque_state":"AAA="}`, "1be1e4c98bc53114f3801701b2923c94c66ea2cecb3578cfc7134aef507000a8"},
		{ptr("h\u00e9\U0001F600\"\\\n\u007f\u0001/<>&\u2028\r\t\b\f"), nil, `{"ctx_info_endpoint":"h\u00e9\ud83d\ude00\"\\\n\u007f\u0001/<>&\u2028\r\t\b\f","encoded_opaque_state":null}`, "528cb0a17383da987324e396b8ccd667eb4a6e84b701b7efd638e8d68249a020"},
	} {
		p := DisaggregatedParams{CtxInfoEndpoint: c.endpoint, EncodedOpaqueState: c.state}
		b, ok := Canonical(&p)
		require.True(t, ok)
		require.Equal(t, c.canonical, string(b))
		require.Equal(t, "sha256="+c.hex, Sign(key, &p))
		require.NoError(t, Verify(key, &p, "sha256="+c.hex))
		require.NoError(t, Verify(key, &p, "sha256="+strings.ToUpper(c.hex)))
		for name, header := range map[string]string{
			"absent": "", "scheme": "sha1=" + c.hex, "short": "sha256=" + c.hex[:62], "long": "sha256=" + c.hex + "00",
			"no hex": "sha256=" + strings.Repeat("zz", 32), "other": "sha256=" + strings.Repeat("00", 32), "bare": c.hex,
		} {
			err := Verify(key, &p, header)
			wiretest.Refused(t, err, 0)
			require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonBadSignature}, name)
		}
		for i := range 64 {
			digit := byte('0')
			if c.hex[i] == '0' {
				digit = '1'
			}
			require.Error(t, Verify(key, &p, "sha256="+c.hex[:i]+string(digit)+c.hex[i+1:]))
		}
		require.Error(t, Verify([]byte("other key"), &p, "sha256="+c.hex))
		require.Error(t, Verify(nil, &p, "sha256="+c.hex))
	}
	nothing := DisaggregatedParams{RequestType: ContextOnly}
	require.Empty(t, Sign(key, &nothing))
	require.NoError(t, Verify(key, &nothing, ""))
}

// TestSignatureCovers changes each byte of the state.
func TestSignatureCovers(t *testing.T) {
	key, state := []byte("k"), strings.Repeat("A", 64)
	p := DisaggregatedParams{EncodedOpaqueState: &state}
	header := Sign(key, &p)
	for i := range state {
		changed := state[:i] + "B" + state[i+1:]
		require.Error(t, Verify(key, &DisaggregatedParams{EncodedOpaqueState: &changed}, header), fmt.Sprint(i))
	}
	require.Error(t, Verify(key, &DisaggregatedParams{CtxInfoEndpoint: &state}, header))
}

func TestEqual(t *testing.T) {
	for i, change := range []func(*DisaggregatedParams){
		func(p *DisaggregatedParams) { p.RequestType = "" }, func(p *DisaggregatedParams) { p.FirstGenTokens = nil },
		func(p *DisaggregatedParams) { p.CtxRequestID = nil }, func(p *DisaggregatedParams) { p.EncodedOpaqueState = ptr("x") },
		func(p *DisaggregatedParams) { p.DraftTokens = []int64{1} }, func(p *DisaggregatedParams) { p.DisaggRequestID = ptr(uint64(1)) },
		func(p *DisaggregatedParams) { p.CtxDPRank = nil }, func(p *DisaggregatedParams) { p.CtxInfoEndpoint = nil },
	} {
		a, b := golden().DisaggregatedParams, golden().DisaggregatedParams
		require.True(t, a.Equal(&b))
		change(&b)
		require.False(t, a.Equal(&b), i)
		require.False(t, b.Equal(&a), i)
	}
}

// TestBodyBounds checks each bound at it and one above, with its place.
func TestBodyBounds(t *testing.T) {
	spec.Covers(t, "KS-HTTP-15", "KS-HTTP-2", "KS-RSN-4")
	require.Equal(t, []int{25165824, 32, 1024, 4096, 65536, 22369624, 16777216},
		[]int{MaxBody, maxDepth, MaxTokens, MaxHashIDs, MaxText, MaxStateChars, MaxStateBytes})
	text := func(n int) string { return `{"request_id":1,"reason":"` + strings.Repeat("r", n) + `"}` }
	deep := func(n int) string {
		return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `,"request_id":1,"reason":"r"}`
	}
	name := func(n int) string { return `{"` + strings.Repeat("n", n) + `":0,"request_id":1,"reason":"r"}` }
	for what, c := range map[string]struct {
		good, bad string
		at        int
	}{
		"text":  {text(MaxText), text(MaxText + 1), 25},
		"name":  {name(MaxText), name(MaxText + 1), 1},
		"depth": {deep(maxDepth), deep(maxDepth + 1), 5 + 31},
		"body":  {text(1) + strings.Repeat(" ", MaxBody-len(text(1))), text(1) + strings.Repeat(" ", MaxBody+1-len(text(1))), 0},
	} {
		_, err := DecodeCancel([]byte(c.good))
		require.NoError(t, err, what)
		_, err = DecodeCancel([]byte(c.bad))
		e := wiretest.Refused(t, err, len(c.bad))
		require.Equal(t, wire.ReasonTooLarge, e.Reason, what)
		require.Equal(t, "KS-HTTP-15", e.Req, what)
		require.Equal(t, c.at, e.Offset, what)
	}
	tokens := func(n int) []byte {
		return []byte(`{"request_type":"x","draft_tokens":[` + strings.Repeat("0,", n-1) + `0]}`)
	}
	_, err := DecodeParams(tokens(MaxTokens))
	require.NoError(t, err)
	_, err = DecodeParams(tokens(MaxTokens + 1))
	require.Equal(t, "KS-HTTP-15", wiretest.Refused(t, err, 1<<20).Req)
	state := func(n int) []byte {
		return []byte(`{"request_type":"x","encoded_opaque_state":"` + strings.Repeat("A", n) + `"}`)
	}
	_, err = DecodeParams(state(MaxStateChars))
	require.NoError(t, err)
	_, err = DecodeParams(state(MaxStateChars + 1))
	require.Equal(t, "KS-HTTP-2", wiretest.Refused(t, err, MaxBody).Req)
}

// TestStateCrossesUnchanged carries an opaque state with its trailer through every
// station between CTX and GEN.
func TestStateCrossesUnchanged(t *testing.T) {
	spec.Covers(t, "KS-TKT-8")
	native := []byte{0, 0} // a state with neither part
	state, err := ticket.Append(nil, native, &ticket.Trailer{
		Ticket:       identity.Ticket{RequestID: 42, InstanceEpoch: 7, Attempt: 1, Direction: identity.CTXToGEN},
		RequiredCaps: 7, ABI: ticket.ABI1,
	})
	require.NoError(t, err)
	encoded := EncodeState(state)
	h := Handover{RequestID: 1, DisaggregatedParams: DisaggregatedParams{RequestType: ContextOnly, EncodedOpaqueState: &encoded}}
	for _, leg := range []string{ContextOnly, GenerationOnly} { // CTX to router, router to GEN
		h.DisaggregatedParams.RequestType = leg
		body, err := Append(nil, &h)
		require.NoError(t, err)
		h, err = Decode(body)
		require.NoError(t, err)
	}
	got, err := DecodeState(*h.DisaggregatedParams.EncodedOpaqueState)
	require.NoError(t, err)
	require.Equal(t, state, got)
	tagged, err := ticket.AppendTagged(nil, got)
	require.NoError(t, err)
	opaque, _, _, err := ticket.ReadTagged(tagged)
	require.NoError(t, err)
	require.Equal(t, state, opaque)
}
