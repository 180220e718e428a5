package fault

import "github.com/kvsettle/kvsettle/spec"

// ReasonBadFault is the code of a fault that cannot be asked for.
const ReasonBadFault spec.Reason = "bad-config"

// The requirement that this package cites.
const reqBounds = "KS-TIME-8" // a setting outside its bounds
