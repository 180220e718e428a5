package handover

// The requirements that this package cites.
const (
	reqBase64    = "KS-HTTP-1"  // strict base64
	reqSize      = "KS-HTTP-2"  // bounds of an opaque state
	reqSignature = "KS-HTTP-3"  // signature
	reqBody      = "KS-HTTP-15" // bounds of a body
	reqJSON      = "KS-HTTP-4"  // body form
)
