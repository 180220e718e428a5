package registry

// The requirements that this package cites.
const (
	reqExactHit  = "KS-V1-3"   // only an exact hit of an active context
	reqOneAnswer = "KS-V1-7"   // one answer per attempt, also to late duplicates
	reqFull      = "KS-REG-2"  // full means refused
	reqBounds    = "KS-TIME-8" // a setting outside its bounds
)
