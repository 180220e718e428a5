package retry

// The requirements that this package cites.
const (
	reqRetry    = "KS-REG-13"  // retry
	reqExhaust  = "KS-REG-14"  // exhaustion
	reqBytes    = "KS-CTL-22"  // same bytes again
	reqReceipt  = "KS-SET-9"   // receipts
	reqDeadline = "KS-TIME-11" // not extended
)
