package negotiate

import "github.com/kvsettle/kvsettle/spec"

// Class names the check that decided a Verdict. The V_ and L_ names but the last
// are those of the shared vectors.
type Class string

// The classes, in the order in which the checks run; the first failure decides.
const (
	// ClassNone: no check was made, because the local agent has no descriptor.
	ClassNone Class = ""
	// ClassOK: compatible, every peer has a descriptor.
	ClassOK Class = "V_OK"
	// ClassOKLegacy: compatible in baseline; a peer without a descriptor counts as
	// baseline, without proof.
	ClassOKLegacy Class = "V_OK_LEGACY"

	// ClassEmpty: there is no peer.
	ClassEmpty Class = "V_EMPTY"
	// ClassLocalRange: the local version range is empty or starts at 0.
	ClassLocalRange Class = "V_LOCAL_RANGE"
	// ClassLocalToken: the local session token is 0.
	ClassLocalToken Class = "V_LOCAL_TOKEN"
	// ClassLocalNoCancel: enabled without the in-flight cancellation capability.
	ClassLocalNoCancel Class = "V_LOCAL_NO_CANCEL"
	// ClassLocalNoReject: enabled without the pre-DMA rejection capability.
	ClassLocalNoReject Class = "V_LOCAL_NO_REJECT"
	// ClassMalformed: a peer's descriptor is broken; Verdict.Parse says how.
	ClassMalformed Class = "V_PEER_MALFORMED"
	// ClassLegacy: enabled, and a peer has no descriptor.
	ClassLegacy Class = "V_LEGACY_WHILE_ENABLED"
	// ClassMode: a peer is in the other mode.
	ClassMode Class = "V_MODE"
	// ClassVersion: no version is common to the local range and the peers so far.
	ClassVersion Class = "V_VERSION"
	// ClassPeerNoCancel: a peer lacks the in-flight cancellation capability.
	ClassPeerNoCancel Class = "V_PEER_NO_CANCEL"
	// ClassPeerNoReject: a peer lacks the pre-DMA rejection capability.
	ClassPeerNoReject Class = "V_PEER_NO_REJECT"

	// ClassLocalNotValid: a local rank has no descriptor (ValidateLocal).
	ClassLocalNotValid Class = "L_NOT_VALID"
	// ClassLocalProfile: local ranks differ in range, capabilities or mode
	// (ValidateLocal).
	ClassLocalProfile Class = "L_PROFILE"
	// ClassLocalMode: the role's local setting and its descriptor contradict each
	// other, or the setting is none that is defined. Ours; not in the vectors.
	ClassLocalMode Class = "L_MODE"
)

// The reason codes, one per class that refuses. In a Verdict of ValidateLocal
// "peer" is another rank of the local service.
const (
	NoPeers           spec.Reason = "no-peers"
	LocalRange        spec.Reason = "local-range"
	LocalToken        spec.Reason = "local-token"
	LocalNoCancel     spec.Reason = "local-no-cancel"
	LocalNoReject     spec.Reason = "local-no-reject"
	PeerMalformed     spec.Reason = "peer-malformed"
	PeerLegacy        spec.Reason = "peer-legacy"
	PeerModeMismatch  spec.Reason = "peer-mode-mismatch"
	PeerVersion       spec.Reason = "peer-version"
	PeerNoCancel      spec.Reason = "peer-no-cancel"
	PeerNoReject      spec.Reason = "peer-no-reject"
	LocalNoDescriptor spec.Reason = "local-no-descriptor"
	LocalProfile      spec.Reason = "local-profile"
	LocalMode         spec.Reason = "local-mode"
	// UnknownClass answers for a Class that is not listed above.
	UnknownClass spec.Reason = "unknown-class"
)

// Reason returns the stable code of a class; empty for a class that refuses
// nothing.
func (c Class) Reason() spec.Reason {
	switch c {
	case ClassNone, ClassOK, ClassOKLegacy:
		return ""
	case ClassEmpty:
		return NoPeers
	case ClassLocalRange:
		return LocalRange
	case ClassLocalToken:
		return LocalToken
	case ClassLocalNoCancel:
		return LocalNoCancel
	case ClassLocalNoReject:
		return LocalNoReject
	case ClassMalformed:
		return PeerMalformed
	case ClassLegacy:
		return PeerLegacy
	case ClassMode:
		return PeerModeMismatch
	case ClassVersion:
		return PeerVersion
	case ClassPeerNoCancel:
		return PeerNoCancel
	case ClassPeerNoReject:
		return PeerNoReject
	case ClassLocalNotValid:
		return LocalNoDescriptor
	case ClassLocalProfile:
		return LocalProfile
	case ClassLocalMode:
		return LocalMode
	}
	return UnknownClass
}
