package escalate

// The requirements that this package cites.
const (
	reqRestart = "KS-SET-10"  // fail and restart
	reqBudget  = "KS-SLOT-5"  // quarantine budget
	reqCauses  = "KS-SLOT-23" // causes apart
	reqFrame   = "KS-CTL-19"  // broken frame
	reqBounds  = "KS-TIME-8"  // a setting outside its bounds
	reqCount   = "KS-TIME-18" // bounded in count and age
)
