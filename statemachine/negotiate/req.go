package negotiate

// The requirements that this package cites.
const (
	reqValidate = "KS-SEL-1" // order and outcome of the peer checks
	reqCTX      = "KS-V1-2"  // CTX answers ready=false, no DMA
	reqCTXOld   = "KS-V1-37" // legacy GEN at an enabled CTX
	reqGEN      = "KS-V1-43" // a refusal that no peer hears of
	reqGENOld   = "KS-V1-38" // legacy CTX at an enabled GEN
)
