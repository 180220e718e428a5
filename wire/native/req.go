package native

import (
	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

// The requirements that this package cites.
const (
	reqProfile = "KS-NAT-1"  // explicit profile
	reqExact   = "KS-NAT-2"  // exact consumption
	reqLength  = "KS-NAT-4"  // lengths and counts before memory
	reqBool    = "KS-NAT-5"  // bools are 0 or 1
	reqIndex   = "KS-NAT-6"  // notification index
	reqComm    = "KS-NAT-7"  // CommState index
	reqEncode  = "KS-NAT-9"  // symmetric encoder
	reqBuilt   = "KS-NAT-11" // nothing guessed
	reqStates  = "KS-NAT-12" // a request carries both states
	reqIndices = "KS-NAT-13" // indices in range
	reqNotice  = "KS-NAT-15" // addressee and sender names
	reqEnum    = "KS-NAT-18" // enums in range
	reqSize    = "KS-NAT-19" // positive sizes
	reqMemory  = "KS-NAT-20" // checked address arithmetic
	reqAddress = "KS-NAT-21" // address form
	reqTag     = "KS-TAG-6"  // tag range
	reqKinds   = "KS-NAT-23" // buffers and kinds
	reqNames   = "KS-NAT-24" // agents have names
)

var rules = wire.Rules{Short: reqExact, Length: reqLength, Count: reqLength, Bool: reqBool, Trailing: reqExact}

func refuse(reason spec.Reason, req, what, detail string) error {
	return &wire.Error{Reason: reason, Req: req, What: what, Offset: -1, Detail: detail}
}
