package descriptor

// The requirements that this package cites.
const (
	reqRange   = "KS-DESC-6"  // version range
	reqMode    = "KS-DESC-7"  // mode
	reqToken   = "KS-DESC-8"  // token
	reqChecked = "KS-DESC-13" // checked writer
	reqMarks   = "KS-DESC-18" // base names without marks
	reqABI     = "KS-DESC-19" // ABI id
)
