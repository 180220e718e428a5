package round

// The requirements that this package cites.
const (
	reqLayout  = "KS-RND-2"  // layout, enums, exact consumption
	reqOrder   = "KS-RND-3"  // sorted, no repeats
	reqVersion = "KS-RND-4"  // version by mode
	reqBound   = "KS-RND-13" // number of contributions
)
