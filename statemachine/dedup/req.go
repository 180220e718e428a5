package dedup

// The requirements that this package cites.
const (
	reqWindow = "KS-REG-10"  // window
	reqSame   = "KS-REG-11"  // same id, other bytes
	reqOnce   = "KS-REG-12"  // answered, not redone
	reqEpoch  = "KS-ID-2"    // bound to its epochs
	reqID     = "KS-CTL-5"   // flags and id
	reqBounds = "KS-TIME-8"  // a setting outside its bounds
	reqCount  = "KS-TIME-18" // bounded in count and age
)
