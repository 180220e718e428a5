package policy

// The requirements that this package cites.
const (
	reqSwitch   = "KS-POL-2" // anything else is an error
	reqRequired = "KS-POL-4" // required means required
)
