package bundle

// The requirements that this package cites.
const (
	reqBundle   = "KS-SLOT-16" // a bundle settles as one
	reqToken    = "KS-SLOT-3"  // one clean-up token
	reqProof    = "KS-SLOT-4"  // no free without proof
	reqComplete = "KS-SET-3"   // completion claims
	reqLate     = "KS-SLOT-6"  // late proof returns the slot
)
