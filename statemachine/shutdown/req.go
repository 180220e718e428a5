package shutdown

// The requirements that this package cites.
const (
	reqOrder  = "KS-SLOT-11" // shutdown order
	reqBounds = "KS-TIME-8"  // a setting outside its bounds
)
