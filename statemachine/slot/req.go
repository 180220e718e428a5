package slot

// The requirements that this package cites.
const (
	reqGeneration = "KS-SLOT-1"  // a generation grows and never wraps
	reqOwner      = "KS-SLOT-2"  // one owner
	reqToken      = "KS-SLOT-3"  // one clean-up token
	reqProof      = "KS-SLOT-4"  // no free without proof
	reqBudget     = "KS-SLOT-5"  // quarantine budget
	reqLateProof  = "KS-SLOT-6"  // late proof
	reqStale      = "KS-SLOT-8"  // stale generation
	reqTooLarge   = "KS-SLOT-9"  // too large for a slot
	reqShutdown   = "KS-SLOT-11" // admission stopped
	reqBinding    = "KS-SLOT-12" // the binding record
	reqListed     = "KS-SLOT-25" // only the listed transitions
	reqBounds     = "KS-TIME-8"  // a setting outside its bounds
)
