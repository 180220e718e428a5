package trace

// Requirement ids that this package cites (chapter 24).
const (
	// ReqLine: a line is one JSON object with all four fields in their types.
	ReqLine = "KS-TRC-1"
	// ReqBounds: lengths, times, hash ids and the size of a line lie within bounds.
	ReqBounds = "KS-TRC-2"
	// ReqHashes: there is one hash id for each started block of PrefixTokens tokens.
	ReqHashes = "KS-TRC-3"
	// ReqFile: a trace is a readable file with at least one line.
	ReqFile = "KS-TRC-4"
	// ReqTime: timestamps never go back.
	ReqTime = "KS-TRC-5"
	// ReqEnough: a trace has at least as many requests as were asked for.
	ReqEnough = "KS-TRC-6"
)
