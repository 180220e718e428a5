package handover

import (
	"encoding/base64"
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

// stateField is the field of DisaggregatedParams that has bounds of its own.
const stateField = "encoded_opaque_state"

// The bounds of an opaque state (KS-HTTP-2).
const (
	// MaxStateChars bounds the base64 text.
	MaxStateChars = 22_369_624
	// MaxStateBytes bounds the decoded bytes.
	MaxStateBytes = 16 << 20
)

func refuse(reason spec.Reason, req, what, detail string, err error) error {
	return &wire.Error{Reason: reason, Req: req, What: what, Offset: -1, Detail: detail, Err: err}
}

// EncodeState returns b in the standard base64 alphabet with padding. A state
// above MaxStateBytes is not encoded: the result is empty, and DecodeState
// refuses nothing that EncodeState returns.
func EncodeState(b []byte) string {
	if len(b) > MaxStateBytes {
		return ""
	}
	return base64.StdEncoding.EncodeToString(b)
}

// DecodeState decodes strict base64: standard alphabet, padding, zero pad bits,
// no line breaks. The number of characters and of decoded bytes is checked
// before anything is allocated.
func DecodeState(s string) ([]byte, error) {
	const what = stateField
	if len(s) > MaxStateChars {
		return nil, refuse(wire.ReasonTooLarge, reqSize, what, strconv.Itoa(len(s))+" characters", nil)
	}
	if len(s)%4 != 0 {
		return nil, refuse(wire.ReasonBadEncoding, reqBase64, what, "length is no multiple of 4", nil)
	}
	n := len(s) / 4 * 3
	for i := len(s) - 1; i >= 0 && i >= len(s)-2 && s[i] == '='; i-- {
		n--
	}
	if n > MaxStateBytes {
		return nil, refuse(wire.ReasonTooLarge, reqSize, what, strconv.Itoa(n)+" bytes", nil)
	}
	for i := 0; i < len(s); i++ {
		// The decoder of the standard library skips line breaks.
		if s[i] == '\n' || s[i] == '\r' {
			return nil, refuse(wire.ReasonBadEncoding, reqBase64, what, "line break at "+strconv.Itoa(i), nil)
		}
	}
	out := make([]byte, n)
	if _, err := base64.StdEncoding.Strict().Decode(out, []byte(s)); err != nil {
		return nil, refuse(wire.ReasonBadEncoding, reqBase64, what, "", err)
	}
	return out, nil
}
