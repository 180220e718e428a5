package staging

// The requirements that this package cites.
const (
	reqLayout   = "KS-STG-1" // order of the bytes of an edge region
	reqChunks   = "KS-STG-2" // chunks cover a region once
	reqOrder    = "KS-STG-3" // regions in connection order
	reqFits     = "KS-STG-5" // every edge fits
	reqOverflow = "KS-STG-6" // checked arithmetic
)
