package registry

// The requirements that the v2 registry cites.
const (
	reqV2Full     = "KS-REG-2"   // full means refused
	reqV2Exact    = "KS-REG-1"   // allow-list
	reqV2Keys     = "KS-REG-20"  // keys of the registries
	reqV2Fresh    = "KS-REG-17"  // fresh start
	reqV2Unique   = "KS-ID-7"    // unique attempt
	reqV2Once     = "KS-ID-8"    // bound once
	reqV2Attempt  = "KS-ID-9"    // gen_attempt
	reqV2Phase    = "KS-CTX-1"   // only the listed transitions
	reqV2Deadline = "KS-TIME-11" // not extended
)
