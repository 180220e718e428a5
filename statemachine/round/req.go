package round

// The requirements that this package cites.
const (
	reqEvery   = "KS-RND-1"  // every rank, every round
	reqLayout  = "KS-RND-2"  // payload
	reqBarrier = "KS-RND-11" // nothing shown before the barrier
	reqEnd     = "KS-RND-12" // rounds end
)
