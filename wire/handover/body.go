package handover

import "slices"

// The bounds of a body (KS-HTTP-15).
const (
	// MaxBody bounds a body in bytes: the largest state and room for the rest.
	MaxBody = 24 << 20
	// MaxHashIDs bounds the block ids of one request: at 512 tokens a block, two
	// million tokens. Together with MaxTokens it keeps what a body can make Decode
	// allocate below three times its size and 16 KiB.
	MaxHashIDs = 4096
	// MaxTokens bounds each token list.
	MaxTokens = 1024
	// MaxText bounds every string but the opaque state, in bytes.
	MaxText = 65536
)

// The request types of DisaggregatedParams.
const (
	ContextOnly    = "context_only"
	GenerationOnly = "generation_only"
)

// DisaggregatedParams is the context result as the router carries it. Only
// RequestType is always present; a nil pointer or list is an absent field, and
// null in JSON reads as absent.
type DisaggregatedParams struct {
	RequestType        string  `json:"request_type"`
	FirstGenTokens     []int64 `json:"first_gen_tokens,omitempty"`
	CtxRequestID       *uint64 `json:"ctx_request_id,omitempty"`
	EncodedOpaqueState *string `json:"encoded_opaque_state,omitempty"`
	DraftTokens        []int64 `json:"draft_tokens,omitempty"`
	DisaggRequestID    *uint64 `json:"disagg_request_id,omitempty"`
	CtxDPRank          *int64  `json:"ctx_dp_rank,omitempty"`
	// CtxInfoEndpoint is where CTX can be asked. A list of endpoints in JSON reads as
	// its first; an empty list as absent.
	CtxInfoEndpoint *string `json:"ctx_info_endpoint,omitempty"`
}

// KVSettle stands in for a model: which blocks to make up and check.
type KVSettle struct {
	// HashIDs are the block ids of the request, at most MaxHashIDs.
	HashIDs []uint64 `json:"hash_ids"`
	// InputLength and OutputLength are numbers of tokens.
	InputLength  uint64 `json:"input_length"`
	OutputLength uint64 `json:"output_length"`
	// DeadlineMS is the request deadline in milliseconds; 0 means the service's own.
	DeadlineMS uint64 `json:"deadline_ms"`
}

// Handover is the body of POST /v1/context and POST /v1/generation, and of
// their answers.
type Handover struct {
	RequestID           uint64              `json:"request_id"`
	DisaggregatedParams DisaggregatedParams `json:"disaggregated_params"`
	KVSettle            KVSettle            `json:"kvsettle"`
}

// Cancel is the body of POST /v1/cancel.
type Cancel struct {
	RequestID uint64 `json:"request_id"`
	Reason    string `json:"reason"`
}

// ErrorBody is the body of every 4xx and 5xx answer.
type ErrorBody struct {
	Error ErrorDetail `json:"error"`
}

// ErrorDetail says what was refused: the stable reason code, a text for people,
// and the requirement id.
type ErrorDetail struct {
	Code        string `json:"code"`
	Message     string `json:"message"`
	Requirement string `json:"requirement"`
}

// Decode reads exactly one Handover. Fields may stand in any order, unknown ones
// are skipped, a repeated one is refused, and the names match exactly. The result
// owns its memory.
func Decode(b []byte) (Handover, error) {
	var h Handover
	err := decodeBody(b, h.fields())
	if err != nil {
		return Handover{}, err
	}
	return h, nil
}

func (h *Handover) fields() []field {
	return []field{
		{"request_id", need, readU64(&h.RequestID)},
		{"disaggregated_params", need, readObject(h.DisaggregatedParams.fields())},
		{"kvsettle", need, readObject([]field{
			{"hash_ids", need, readList(MaxHashIDs, &h.KVSettle.HashIDs, (*scanner).u64)},
			{"input_length", need, readU64(&h.KVSettle.InputLength)},
			{"output_length", need, readU64(&h.KVSettle.OutputLength)},
			{"deadline_ms", need, readU64(&h.KVSettle.DeadlineMS)},
		})},
	}
}

func (p *DisaggregatedParams) fields() []field {
	return []field{
		{"request_type", need, readText(MaxText, &p.RequestType)},
		{"first_gen_tokens", may, readList(MaxTokens, &p.FirstGenTokens, (*scanner).i64)},
		{"ctx_request_id", may, readOpt(&p.CtxRequestID, readU64)},
		{stateField, may, readOpt(&p.EncodedOpaqueState, func(v *string) reader { return readText(MaxStateChars, v) })},
		{"draft_tokens", may, readList(MaxTokens, &p.DraftTokens, (*scanner).i64)},
		{"disagg_request_id", may, readOpt(&p.DisaggRequestID, readU64)},
		{"ctx_dp_rank", may, readOpt(&p.CtxDPRank, readI64)},
		{"ctx_info_endpoint", may, readEndpoint(&p.CtxInfoEndpoint)},
	}
}

// DecodeParams reads exactly one DisaggregatedParams object.
func DecodeParams(b []byte) (DisaggregatedParams, error) {
	var p DisaggregatedParams
	if err := decodeBody(b, p.fields()); err != nil {
		return DisaggregatedParams{}, err
	}
	return p, nil
}

// DecodeCancel reads exactly one Cancel.
func DecodeCancel(b []byte) (Cancel, error) {
	var c Cancel
	err := decodeBody(b, []field{
		{"request_id", need, readU64(&c.RequestID)},
		{"reason", need, readText(MaxText, &c.Reason)},
	})
	if err != nil {
		return Cancel{}, err
	}
	return c, nil
}

// DecodeError reads exactly one ErrorBody.
func DecodeError(b []byte) (ErrorBody, error) {
	var e ErrorBody
	err := decodeBody(b, []field{{"error", need, readObject([]field{
		{"code", need, readText(MaxText, &e.Error.Code)},
		{"message", need, readText(MaxText, &e.Error.Message)},
		{"requirement", need, readText(MaxText, &e.Error.Requirement)},
	})}})
	if err != nil {
		return ErrorBody{}, err
	}
	return e, nil
}

// Equal reports whether two parameter objects say the same.
func (p *DisaggregatedParams) Equal(o *DisaggregatedParams) bool {
	return p.RequestType == o.RequestType && slices.Equal(p.FirstGenTokens, o.FirstGenTokens) &&
		slices.Equal(p.DraftTokens, o.DraftTokens) && same(p.CtxRequestID, o.CtxRequestID) &&
		same(p.EncodedOpaqueState, o.EncodedOpaqueState) && same(p.DisaggRequestID, o.DisaggRequestID) &&
		same(p.CtxDPRank, o.CtxDPRank) && same(p.CtxInfoEndpoint, o.CtxInfoEndpoint)
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
