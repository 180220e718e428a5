package negotiate

// The requirements that v2 selection cites.
const (
	reqV2Select   = "KS-SEL-15" // topology-wide, once
	reqV2Reject   = "KS-SEL-18" // range, bit 2, ABI
	reqV2Fallback = "KS-SEL-26" // no silent fallback
	reqV2Mixed    = "KS-SEL-28" // v1 and v2 do not mix
	reqV2Same     = "KS-ID-16"  // every rank derives the same
	reqV2Local    = "KS-SEL-8"  // local ranks
	reqV2Names    = "KS-SEL-3"  // malformed beats all
)
