package identity

// The requirements that this package cites.
const (
	reqTicket  = "KS-ID-7"  // ticket values
	reqBytes   = "KS-ID-18" // ticket layout
	reqLayout  = "KS-ID-11" // key layout
	reqKey     = "KS-ID-12" // key values
	reqIndices = "KS-ID-13" // ranks are list indices
	reqDigest  = "KS-ID-14" // digest input
	reqEdges   = "KS-ID-15" // sorted edges
	reqBounds  = "KS-ID-19" // sizes of a topology
)
