package ctx

// The requirements that this package cites.
const (
	reqSync     = "KS-V1-11"   // sync after success, and one end per write
	reqOnce     = "KS-V1-12"   // exactly one outcome
	reqSender   = "KS-V1-13"   // the sender is a counterpart of the context
	reqFirst    = "KS-V1-15"   // the first outcome stands
	reqAllFirst = "KS-V1-28"   // every counterpart before the ready commit
	reqLease    = "KS-SLOT-15" // the lease exists before the context is visible
	reqBound    = "KS-TIME-1"  // every wait has a deadline
)
