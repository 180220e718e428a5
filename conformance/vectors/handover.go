package vectors

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kvsettle/kvsettle/wire/handover"
)

var handoverCodecs = map[string]codec{
	"Handover": plainCodec(onlyHTTP, handover.Decode,
		func(v *handover.Handover) ([]byte, error) { return handover.Append(nil, v) }, showHandover),
	"DisaggregatedParams": plainCodec(onlyHTTP, handover.DecodeParams,
		func(v *handover.DisaggregatedParams) ([]byte, error) { return handover.AppendParams(nil, v) }, showParams),
	"CancelBody": plainCodec(onlyHTTP, handover.DecodeCancel,
		func(v *handover.Cancel) ([]byte, error) { return handover.AppendCancel(nil, v) },
		func(v *handover.Cancel) any { return object{"requestId": u64(v.RequestID), "reason": v.Reason} }),
	"ErrorBody": plainCodec(onlyHTTP, handover.DecodeError,
		func(v *handover.ErrorBody) ([]byte, error) { return handover.AppendError(nil, v) },
		func(v *handover.ErrorBody) any {
			return object{"code": v.Error.Code, "message": v.Error.Message, "requirement": v.Error.Requirement}
		}),
	"OpaqueStateBase64": plainCodec(onlyHTTP, func(b []byte) ([]byte, error) { return handover.DecodeState(string(b)) },
		func(v *[]byte) ([]byte, error) { return []byte(handover.EncodeState(*v)), nil },
		func(v *[]byte) any { return object{"stateHex": hex.EncodeToString(*v)} }),
	"Signature": {profiles: onlyHTTP, input: []string{"keyHex", "header", "canonical"}, run: checkSignature},
}

// absent renders an optional 64-bit number.
func absent[T int64 | uint64](v *T, format func(T, int) string) any {
	if v == nil {
		return nil
	}
	return format(*v, 10)
}

func absentText(v *string) any {
	if v == nil {
		return nil
	}
	return *v
}

// absentTokens keeps the absent list apart from the empty one.
func absentTokens(v []int64) any {
	if v == nil {
		return nil
	}
	return list(v, func(t int64) any { return strconv.FormatInt(t, 10) })
}

func showParams(p *handover.DisaggregatedParams) any {
	return object{
		"requestType": p.RequestType, "firstGenTokens": absentTokens(p.FirstGenTokens),
		"ctxRequestId":       absent(p.CtxRequestID, strconv.FormatUint),
		"encodedOpaqueState": absentText(p.EncodedOpaqueState), "draftTokens": absentTokens(p.DraftTokens),
		"disaggRequestId": absent(p.DisaggRequestID, strconv.FormatUint),
		"ctxDpRank":       absent(p.CtxDPRank, strconv.FormatInt), "ctxInfoEndpoint": absentText(p.CtxInfoEndpoint),
	}
}

func showHandover(h *handover.Handover) any {
	return object{
		"requestId": u64(h.RequestID), "disaggregatedParams": showParams(&h.DisaggregatedParams),
		"kvsettle": object{
			"hashIds":     list(h.KVSettle.HashIDs, func(id uint64) any { return u64(id) }),
			"inputLength": u64(h.KVSettle.InputLength), "outputLength": u64(h.KVSettle.OutputLength),
			"deadlineMs": u64(h.KVSettle.DeadlineMS),
		},
	}
}

// checkSignature judges a header against the JSON of DisaggregatedParams in the
// bytes. Where there is nothing to sign, the canonical bytes are null.
func checkSignature(_ string, b []byte, fields map[string]any) (outcome, error) {
	m := members{tree: fields}
	key, err := hex.DecodeString(m.need("keyHex"))
	header := m.need("header")
	if m.err != nil || err != nil {
		return outcome{}, harness("fields: keyHex and header are wanted")
	}
	p, err := handover.DecodeParams(b)
	if err != nil {
		return outcome{}, harness("hex holds no DisaggregatedParams: %v", err)
	}
	if err := handover.Verify(key, &p, header); err != nil {
		return outcome{}, err
	}
	canonical, ok := handover.Canonical(&p)
	o := object{"keyHex": hex.EncodeToString(key), "header": header, "canonical": optional(ok, string(canonical))}
	// The digits of a header may be capitals; what a signer writes has none.
	if signed := handover.Sign(key, &p); ok && !strings.EqualFold(signed, header) {
		o["header"] = signed
	}
	if ok && !json.Valid(canonical) {
		return outcome{}, harness("the canonical form is no JSON")
	}
	return outcome{fields: o, again: b}, nil
}
