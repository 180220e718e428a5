package identity

// The requirements that this package cites.
const (
	reqTicket = "KS-ID-7"  // ticket values
	reqLayout = "KS-ID-11" // key layout
	reqKey    = "KS-ID-12" // key values
	reqDigest = "KS-ID-14" // digest input
	reqEdges  = "KS-ID-15" // sorted edges
)
