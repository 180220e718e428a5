package control

// The requirements that this package cites.
const (
	reqFrame      = "KS-CTL-1"  // index, magic, exact length
	reqVersion    = "KS-CTL-3"  // selected version
	reqCRC        = "KS-CTL-4"  // checksum
	reqFlagsID    = "KS-CTL-5"  // envelope flags and message id
	reqSize       = "KS-CTL-6"  // payload bound
	reqDirection  = "KS-CTL-7"  // direction of a type
	reqType       = "KS-CTL-8"  // unknown type
	reqTLV        = "KS-CTL-9"  // item layout and length
	reqKnownFlags = "KS-CTL-10" // known items have flags 1
	reqOnce       = "KS-CTL-11" // known items at most once
	reqSet        = "KS-CTL-13" // items of a message
	reqUnknown    = "KS-CTL-14" // unknown items
	reqEnum       = "KS-CTL-15" // enum values
	reqReady      = "KS-CTL-16" // READY and its evidence
	reqRequest    = "KS-CTL-18" // bounded walk of the embedded request
	reqAckID      = "KS-SET-9"  // echoed message id of a receipt
	reqSelected   = "KS-REC-1"  // experimental types only where selected
	reqRecovery   = "KS-REC-2"  // experimental messages
	reqContract   = "KS-REC-3"  // contract and retention in READY
	reqChunks     = "KS-REC-4"  // chunk index and count
)
