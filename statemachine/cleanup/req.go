package cleanup

// The requirements that this package cites.
const (
	reqVote    = "KS-SET-8"   // after the local decision
	reqOnce    = "KS-V1-12"   // exactly one outcome
	reqOwners  = "KS-V1-41"   // outcome after owners let go
	reqDecider = "KS-TIME-14" // only the decider judges
	reqToken   = "KS-SLOT-3"  // one clean-up token
	reqOrder   = "KS-RND-1"   // every rank, every round
	reqClosed  = "KS-SLOT-11" // shutdown order
	reqBounds  = "KS-TIME-8"  // a setting outside its bounds
)
