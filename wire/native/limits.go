package native

// Limits bounds the counts of a message beyond what its size allows, from what
// the receiver knows about the topology and its own configuration. A field that is
// 0 sets no limit.
type Limits struct {
	// Ranks bounds the list of a CommState.
	Ranks int
	// Buffers bounds the buffer descriptors and the kinds.
	Buffers int
	// Layers bounds every list of per-layer and per-rank numbers in a CacheState.
	Layers int
	// Tokens and ExtraKeys bound the lists of a BlockKey.
	Tokens, ExtraKeys int
	// Text bounds agent names, addresses and ids, in bytes.
	Text int
	// Metadata bounds the backend's metadata, in bytes.
	Metadata int
}

// DefaultLimits returns limits that are wide enough for every topology that
// kvsettle serves.
func DefaultLimits() Limits {
	return Limits{Ranks: 4096, Buffers: 3, Layers: 4096, Tokens: 4096, ExtraKeys: 1024, Text: 4096, Metadata: 1 << 20}
}

// WalkRequest checks the structure of a request without variant index against
// limits and allocates nothing unless it refuses. A request that
// passes is decoded by DecodeRequestBody without error.
func WalkRequest(b []byte, limits Limits) error {
	if soundRequest(b, &limits) {
		return nil
	}
	return explainRequest(b, limits)
}

// explainRequest finds out what is wrong with a request.
func explainRequest(b []byte, limits Limits) error {
	r := newReader("request", Mid2026, b)
	r.limits = limits
	readRequest(&r, nil)
	return r.Finish()
}

// WalkState does the same for a DataTransceiverState of profile p.
func WalkState(p Profile, b []byte, limits Limits) error {
	if err := p.check("state"); err != nil {
		return err
	}
	r := newReader("state", p, b)
	r.limits = limits
	readState(&r, nil)
	return r.Finish()
}
