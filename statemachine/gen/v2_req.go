package gen

// The requirements that the v2 machine cites.
const (
	reqV2Rows     = "KS-GEN-1"  // only the listed transitions
	reqV2Publish  = "KS-GEN-2"  // publish bit before the call
	reqV2Admit    = "KS-RND-6"  // what the round agreed to
	reqV2Barrier  = "KS-RND-10" // prepare, then install
	reqV2Key      = "KS-REG-20" // one child per key
	reqV2Gone     = "KS-REG-7"  // answers, never authority
	reqV2Recovery = "KS-REC-1"  // only where bit 48 is selected
	reqV2Chunks   = "KS-REC-4"  // one count for all notices
	reqV2Receipt  = "KS-SET-9"
	reqV2Bundle   = "KS-SLOT-16"
	reqV2Bounds   = "KS-SEL-20"
)
