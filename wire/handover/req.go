package handover

// The requirements that this package cites.
const (
	reqBase64    = "KS-HTTP-1" // strict base64
	reqSize      = "KS-HTTP-2" // bounds
	reqSignature = "KS-HTTP-3" // signature
	reqJSON      = "KS-HTTP-4" // body form
)
