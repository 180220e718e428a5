package ctx

// The requirements that the v2 machine cites.
const (
	reqV2Rows     = "KS-CTX-1"  // only the listed transitions
	reqV2Bind     = "KS-CTX-2"  // binding needs a local decision
	reqV2First    = "KS-CTX-7"  // READY before data
	reqV2Key      = "KS-REG-20" // one child per key
	reqV2Active   = "KS-REG-1"  // allow-list
	reqV2Full     = "KS-REG-2"  // full means refused
	reqV2Seal     = "KS-QUI-3"  // no post after the seal
	reqV2Recovery = "KS-REC-1"  // only where bit 48 is selected
	reqV2Final    = "KS-BACK-10"
	reqV2Window   = "KS-REG-8"
)
