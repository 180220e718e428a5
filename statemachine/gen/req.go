package gen

// The requirements that this package cites.
const (
	reqValidate = "KS-V1-1"   // validated before anything is reserved
	reqOnce     = "KS-V1-12"  // exactly one outcome
	reqFirst    = "KS-V1-15"  // the first outcome stands
	reqFanOut   = "KS-V1-18"  // the fan-out goes on, one request after the other
	reqComplete = "KS-V1-21"  // complete means arrived and processed
	reqMatch    = "KS-TAG-5"  // the sender is a counterpart of the attempt
	reqBound    = "KS-TIME-1" // every wait has a deadline
)
