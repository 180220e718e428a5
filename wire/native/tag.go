package native

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// ReadyTag42 is the constant tag with which earlier peers answer a request.
const ReadyTag42 = 42

// The range of data tags.
const (
	minDataTag = 43
	maxDataTag = 0xFFF<<8 | 43
)

// DataTag returns the tag of a request's ready and sync notifications
// (KS-TAG-1). Only the low 12 bits of the id survive, so ids that are equal
// modulo 4096 share a tag.
func DataTag(requestID uint64) int32 {
	return int32(requestID&0xFFF)<<8 | 43
}

// ValidateTag refuses what cannot be a data tag (KS-TAG-6). ReadyTag42 passes
// only when fixed is set: for a ready from a peer configured so.
func ValidateTag(tag int32, fixed bool) error {
	if fixed && tag == ReadyTag42 {
		return nil
	}
	if tag < minDataTag || tag > maxDataTag || tag&0xFF != minDataTag {
		return refuse(wire.ReasonOutOfRange, reqTag, "tag", strconv.Itoa(int(tag)))
	}
	return nil
}
