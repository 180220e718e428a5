package native

import "github.com/kvsettle/kvsettle/wire"

// ContextPhaseParams is the context result as 2025 code serialised it
// (Late2025 only).
type ContextPhaseParams struct {
	RequestID      uint64
	FirstGenTokens []int32
	HasDraft       bool
	DraftTokens    []int32
	// State is nil when absent.
	State *DataTransceiverState
}

// AppendContextPhase appends the encoding of v. Profiles other than Late2025 are
// refused: no bytes of theirs are known.
func AppendContextPhase(dst []byte, p Profile, v *ContextPhaseParams) ([]byte, error) {
	if p != Late2025 {
		return dst, refuse(reasonProfile, reqBuilt, "contextPhaseParams", p.String())
	}
	if !v.HasDraft && len(v.DraftTokens) != 0 {
		return dst, refuse(wire.ReasonBadValue, reqEncode, "contextPhaseParams.draftTokens", "set without its flag")
	}
	out := appendI32s(appendU64(dst, v.RequestID), v.FirstGenTokens)
	out = appendBool(out, v.HasDraft)
	if v.HasDraft {
		out = appendI32s(out, v.DraftTokens)
	}
	out = appendBool(out, v.State != nil)
	if v.State != nil {
		var err error
		if out, err = AppendState(out, p, *v.State); err != nil {
			return dst, err
		}
	}
	return out, nil
}

// DecodeContextPhase decodes exactly one ContextPhaseParams of Late2025. It owns
// its memory.
func DecodeContextPhase(p Profile, b []byte) (ContextPhaseParams, error) {
	if p != Late2025 {
		return ContextPhaseParams{}, refuse(reasonProfile, reqBuilt, "contextPhaseParams", p.String())
	}
	return decode("contextPhaseParams", p, b, readContextPhase)
}

func readContextPhase(r *reader, dst *ContextPhaseParams) {
	var v ContextPhaseParams
	v.RequestID = r.U64LE("reqId")
	v.FirstGenTokens = readI32s(r, "firstGenTokens", 0, dst != nil)
	if v.HasDraft = r.Bool("hasDraftTokens"); v.HasDraft {
		v.DraftTokens = readI32s(r, "draftTokens", 0, dst != nil)
	}
	if r.Bool("hasState") {
		r.Enter("state")
		if dst != nil {
			v.State = new(DataTransceiverState)
		}
		readState(r, v.State)
		r.Leave()
	}
	if dst != nil {
		*dst = v
	}
}
