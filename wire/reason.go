package wire

import "github.com/kvsettle/kvsettle/spec"

// The reason codes of this room (KS-RSN-1). A code says which check failed; the
// error's What and Offset say where.
const (
	// ReasonShortInput: the input ends inside a fixed-size field.
	ReasonShortInput spec.Reason = "short-input"
	// ReasonBadLength: a length prefix is larger than what is left, or a length
	// field differs from the size that the format fixes.
	ReasonBadLength spec.Reason = "bad-length"
	// ReasonBadCount: a count cannot fit into what is left, or differs from a
	// count that must equal it.
	ReasonBadCount spec.Reason = "bad-count"
	// ReasonBadBool: a bool byte is neither 0 nor 1.
	ReasonBadBool spec.Reason = "bad-bool"
	// ReasonBadIndex: a variant index is not one that the format defines.
	ReasonBadIndex spec.Reason = "bad-index"
	// ReasonTrailingBytes: bytes follow the end of the value.
	ReasonTrailingBytes spec.Reason = "trailing-bytes"
	// ReasonTooLarge: a size is above the bound that the format sets.
	ReasonTooLarge spec.Reason = "too-large"
	// ReasonBadValue: a field holds a value that the format excludes.
	ReasonBadValue spec.Reason = "bad-value"
	// ReasonOutOfRange: a value is well-formed and outside the range that its
	// meaning allows (Validate).
	ReasonOutOfRange spec.Reason = "out-of-range"
	// ReasonDuplicate: something that may appear once appears again.
	ReasonDuplicate spec.Reason = "duplicate"
	// ReasonMissing: something that must be present is absent.
	ReasonMissing spec.Reason = "missing"
	// ReasonForbidden: something is present that this message excludes.
	ReasonForbidden spec.Reason = "forbidden"
	// ReasonUnknownRequired: an item that this decoder does not know is marked as
	// one that the reader has to know.
	ReasonUnknownRequired spec.Reason = "unknown-required"
	// ReasonBadMagic: the fixed bytes that identify a format are not there.
	ReasonBadMagic spec.Reason = "bad-magic"
	// ReasonBadVersion: a schema or version number is not one that is served here.
	ReasonBadVersion spec.Reason = "bad-version"
	// ReasonBadType: a message type number is not one that is defined.
	ReasonBadType spec.Reason = "bad-type"
	// ReasonBadFlags: flag bits are set that have to be zero, or missing where
	// they are needed.
	ReasonBadFlags spec.Reason = "bad-flags"
	// ReasonBadChecksum: the checksum does not match the bytes.
	ReasonBadChecksum spec.Reason = "bad-checksum"
	// ReasonBadOrder: items that must be sorted are not.
	ReasonBadOrder spec.Reason = "bad-order"
	// ReasonBadSignature: a signature is absent, malformed or does not match.
	ReasonBadSignature spec.Reason = "bad-signature"
	// ReasonBadEncoding: text is not the strict encoding that is asked for.
	ReasonBadEncoding spec.Reason = "bad-encoding"
	// ReasonControl: the notification is a control message (variant 3) and belongs
	// to package control.
	ReasonControl spec.Reason = "control-notification"
	// ReasonProfile: the native profile has no such type or cannot carry the value.
	ReasonProfile spec.Reason = "profile-unsupported"
)
