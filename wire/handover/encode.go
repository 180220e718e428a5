package handover

import (
	"strconv"
	"unicode/utf8"

	"github.com/kvsettle/kvsettle/wire"
)

// Encoding is compact, with the fields in the order of the types and every
// character outside printable ASCII escaped. Absent fields are left out.

// Append appends the JSON of h. It refuses text that is not UTF-8 and lists and
// texts that Decode would refuse.
func Append(dst []byte, h *Handover) ([]byte, error) {
	if len(h.KVSettle.HashIDs) > MaxHashIDs {
		return dst, refuse(wire.ReasonTooLarge, reqBody, "hash_ids", strconv.Itoa(len(h.KVSettle.HashIDs)), nil)
	}
	b := strconv.AppendUint(append(dst, `{"request_id":`...), h.RequestID, 10)
	b, err := AppendParams(append(b, `,"disaggregated_params":`...), &h.DisaggregatedParams)
	if err != nil {
		return dst, err
	}
	b = append(b, `,"kvsettle":{"hash_ids":[`...)
	for i, id := range h.KVSettle.HashIDs {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, id, 10)
	}
	b = strconv.AppendUint(append(b, `],"input_length":`...), h.KVSettle.InputLength, 10)
	b = strconv.AppendUint(append(b, `,"output_length":`...), h.KVSettle.OutputLength, 10)
	b = strconv.AppendUint(append(b, `,"deadline_ms":`...), h.KVSettle.DeadlineMS, 10)
	return append(b, "}}"...), nil
}

// AppendParams appends the JSON of p.
func AppendParams(dst []byte, p *DisaggregatedParams) ([]byte, error) {
	if err := p.check(); err != nil {
		return dst, err
	}
	b := appendJSONString(append(dst, `{"request_type":`...), &p.RequestType)
	b = appendTokens(b, "first_gen_tokens", p.FirstGenTokens)
	if p.CtxRequestID != nil {
		b = strconv.AppendUint(append(b, `,"ctx_request_id":`...), *p.CtxRequestID, 10)
	}
	if p.EncodedOpaqueState != nil {
		b = appendJSONString(append(b, `,"encoded_opaque_state":`...), p.EncodedOpaqueState)
	}
	b = appendTokens(b, "draft_tokens", p.DraftTokens)
	if p.DisaggRequestID != nil {
		b = strconv.AppendUint(append(b, `,"disagg_request_id":`...), *p.DisaggRequestID, 10)
	}
	if p.CtxDPRank != nil {
		b = strconv.AppendInt(append(b, `,"ctx_dp_rank":`...), *p.CtxDPRank, 10)
	}
	if p.CtxInfoEndpoint != nil {
		b = appendJSONString(append(b, `,"ctx_info_endpoint":`...), p.CtxInfoEndpoint)
	}
	return append(b, '}'), nil
}

func (p *DisaggregatedParams) check() error {
	if n := max(len(p.FirstGenTokens), len(p.DraftTokens)); n > MaxTokens {
		return refuse(wire.ReasonTooLarge, reqBody, "tokens", strconv.Itoa(n), nil)
	}
	if p.EncodedOpaqueState != nil {
		if err := checkText(stateField, *p.EncodedOpaqueState, MaxStateChars); err != nil {
			return err
		}
	}
	if p.CtxInfoEndpoint != nil {
		if err := checkText("ctx_info_endpoint", *p.CtxInfoEndpoint, MaxText); err != nil {
			return err
		}
	}
	return checkText("request_type", p.RequestType, MaxText)
}

// checkText bounds the escaped size, six bytes for one at worst.
func checkText(name, s string, limit int) error {
	if !utf8.ValidString(s) {
		return refuse(wire.ReasonBadEncoding, reqJSON, name, "not UTF-8", nil)
	}
	size := len(s)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			size += 5
		}
	}
	if size > limit {
		return refuse(wire.ReasonTooLarge, sizeReq(name), name, strconv.Itoa(size), nil)
	}
	return nil
}

func appendTokens(b []byte, name string, tokens []int64) []byte {
	if tokens == nil {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":[`...)
	for i, t := range tokens {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, t, 10)
	}
	return append(b, ']')
}

// AppendCancel appends the JSON of c.
func AppendCancel(dst []byte, c *Cancel) ([]byte, error) {
	if err := checkText("reason", c.Reason, MaxText); err != nil {
		return dst, err
	}
	b := strconv.AppendUint(append(dst, `{"request_id":`...), c.RequestID, 10)
	return append(appendJSONString(append(b, `,"reason":`...), &c.Reason), '}'), nil
}

// AppendError appends the JSON of e.
func AppendError(dst []byte, e *ErrorBody) ([]byte, error) {
	for _, s := range [...]string{e.Error.Code, e.Error.Message, e.Error.Requirement} {
		if err := checkText("error", s, MaxText); err != nil {
			return dst, err
		}
	}
	b := appendJSONString(append(dst, `{"error":{"code":`...), &e.Error.Code)
	b = appendJSONString(append(b, `,"message":`...), &e.Error.Message)
	b = appendJSONString(append(b, `,"requirement":`...), &e.Error.Requirement)
	return append(b, "}}"...), nil
}
