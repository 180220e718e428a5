package handover

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/kvsettle/kvsettle/wire"
)

// Header is the name of the HTTP header that carries the signature.
const Header = "x-trtllm-disagg-auth"

const signaturePrefix = "sha256="

// Canonical returns the bytes that are signed: the compact JSON object with the
// keys ctx_info_endpoint and encoded_opaque_state in that order, null for an
// absent one, every character outside printable ASCII escaped. ok is false when
// neither field is present: then there is nothing to sign.
func Canonical(p *DisaggregatedParams) (b []byte, ok bool) {
	if p.CtxInfoEndpoint == nil && p.EncodedOpaqueState == nil {
		return nil, false
	}
	size := 64
	for _, s := range []*string{p.CtxInfoEndpoint, p.EncodedOpaqueState} {
		if s != nil {
			size += len(*s)
		}
	}
	b = make([]byte, 0, size)
	b = appendJSONString(append(b, `{"ctx_info_endpoint":`...), p.CtxInfoEndpoint)
	b = appendJSONString(append(b, `,"encoded_opaque_state":`...), p.EncodedOpaqueState)
	return append(b, '}'), true
}

func appendJSONString(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	const digits = "0123456789abcdef"
	unit := func(b []byte, v rune) []byte {
		return append(b, '\\', 'u', digits[v>>12&0xF], digits[v>>8&0xF], digits[v>>4&0xF], digits[v&0xF])
	}
	b = append(b, '"')
	for i := 0; i < len(*s); {
		c, n := utf8.DecodeRuneInString((*s)[i:])
		i += n
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\b':
			b = append(b, '\\', 'b')
		case c == '\f':
			b = append(b, '\\', 'f')
		case c >= ' ' && c < 0x7F:
			b = append(b, byte(c))
		case c > 0xFFFF:
			c -= 0x10000
			b = unit(unit(b, 0xD800+c>>10), 0xDC00+c&0x3FF)
		default:
			b = unit(b, c)
		}
	}
	return append(b, '"')
}

func mac(key []byte, p *DisaggregatedParams) ([]byte, bool) {
	b, ok := Canonical(p)
	if !ok {
		return nil, false
	}
	h := hmac.New(sha256.New, key)
	h.Write(b)
	return h.Sum(nil), true
}

// Sign returns the value of Header for p under key, or "" when p holds nothing
// to sign.
func Sign(key []byte, p *DisaggregatedParams) string {
	sum, ok := mac(key, p)
	if !ok {
		return ""
	}
	return signaturePrefix + hex.EncodeToString(sum)
}

// Verify checks the value of Header against p in constant time. When p holds
// nothing to sign, any value passes, an absent one included. An empty key is
// refused: without a key the caller must not come here.
func Verify(key []byte, p *DisaggregatedParams, header string) error {
	bad := func(detail string) error {
		return refuse(wire.ReasonBadSignature, reqSignature, Header, detail, nil)
	}
	if len(key) == 0 {
		return bad("no key")
	}
	want, ok := mac(key, p)
	if !ok {
		return nil
	}
	text, ok := strings.CutPrefix(header, signaturePrefix)
	if !ok || len(text) != 2*sha256.Size {
		return bad("not sha256= and 64 hex digits")
	}
	got, err := hex.DecodeString(text)
	if err != nil {
		return bad("not sha256= and 64 hex digits")
	}
	if !hmac.Equal(got, want) {
		return bad("does not match")
	}
	return nil
}
