package ticket

// The requirements that this package cites.
const (
	reqBounds    = "KS-TKT-1"  // size bound first
	reqFooter    = "KS-TKT-3"  // footer fields
	reqItems     = "KS-TKT-4"  // the six items
	reqABI       = "KS-TKT-5"  // trailer and ABI before prefix
	reqTicket    = "KS-ID-7"   // epoch and attempt
	reqDirection = "KS-ID-12"  // direction
	reqRequest   = "KS-TKT-6"  // ticket and request agree
	reqBaseline  = "KS-TKT-7"  // no trailer, baseline only
	reqCaps      = "KS-TKT-9"  // required capabilities
	reqTag       = "KS-TKT-11" // tag byte
	reqOld       = "KS-TKT-12" // old bytes stay
	reqItem      = "KS-CTL-9"  // item layout and length
	reqUnknown   = "KS-CTL-14" // unknown items
)
