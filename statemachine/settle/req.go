package settle

// The requirements that this package cites.
const (
	reqKey      = "KS-ID-17"   // every part of a message agrees
	reqRequest  = "KS-ID-1"    // a request id is not enough
	reqEpoch    = "KS-ID-2"    // bound to its epochs
	reqAttempt  = "KS-ID-3"    // late messages stay late
	reqPositive = "KS-TIME-1"  // every wait has a bound
	reqOrder    = "KS-TIME-16" // order of the deadlines
)
