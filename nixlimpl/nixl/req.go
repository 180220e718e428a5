package nixl

import "github.com/kvsettle/kvsettle/spec"

// Requirements that this package cites.
const (
	reqContract    = "KS-BACK-1"
	reqDeath       = "KS-BACK-9"
	reqOneStatus   = "KS-BACK-10"
	reqSender      = "KS-BACK-13"
	reqMetadata    = "KS-BACK-14"
	reqIncarnation = "KS-BACK-15"
	reqNotice      = "KS-CTL-6"
	reqAddress     = "KS-NAT-21"
	reqStranger    = "KS-SEC-3"
	reqShutdown    = "KS-SLOT-11"
	reqDeadline    = "KS-TIME-1"
	reqSetting     = "KS-TIME-8"
	reqBounds      = "KS-TIME-18"
	reqRegion      = "KS-V1-14"
)

// requirement is the one behind a reason code.
func requirement(r spec.Reason) string {
	switch r {
	case ReasonUnknownPeer, ReasonWrongName:
		return reqSender
	case ReasonPeerGone:
		return reqDeath
	case ReasonQueueFull:
		return reqBounds
	case ReasonOutsideRegion:
		return reqRegion
	case ReasonClosed:
		return reqShutdown
	case ReasonTooLarge:
		return reqNotice
	case ReasonBadConfig:
		return reqSetting
	case ReasonBadAddress:
		return reqAddress
	case ReasonBadMetadata:
		return reqMetadata
	case ReasonTooManyRegions, ReasonTooManyPeers:
		return reqStranger
	case ReasonNameInUse:
		return reqIncarnation
	case ReasonConnectDeadline:
		return reqDeadline
	case ReasonUnknownWrite, ReasonSystem:
		return reqOneStatus
	case ReasonNoMemory, ReasonUnsupported:
		return reqContract
	}
	return ""
}

// Reason codes of *Error beside those of package transport.
const (
	// ReasonUnknownPeer and the next four have a sentinel in package transport, which
	// errors.Is finds too.
	ReasonUnknownPeer   spec.Reason = "unknown-peer"
	ReasonPeerGone      spec.Reason = "peer-gone"
	ReasonOutsideRegion spec.Reason = "outside-region"
	ReasonClosed        spec.Reason = "agent-closed"
	ReasonTooLarge      spec.Reason = "notification-too-large"

	// ReasonBadConfig: a Config field is out of bounds.
	ReasonBadConfig spec.Reason = "bad-config"
	// ReasonBadAddress: an address has neither form of Address.
	ReasonBadAddress spec.Reason = "bad-address"
	// ReasonBadMetadata: metadata is truncated, changed, of another agent, or refused by
	// the library.
	ReasonBadMetadata spec.Reason = "bad-metadata"
	// ReasonWrongName: the metadata is another agent's.
	ReasonWrongName spec.Reason = "wrong-name"
	// ReasonNameInUse: a connected peer of that name has other metadata.
	ReasonNameInUse spec.Reason = "name-in-use"
	// ReasonTooManyRegions: more than MaxRegions of one agent.
	ReasonTooManyRegions spec.Reason = "too-many-regions"
	// ReasonTooManyPeers: Config.MaxPeers are connected.
	ReasonTooManyPeers spec.Reason = "too-many-peers"
	// ReasonConnectDeadline: the first contact did not succeed within
	// Config.ConnectDeadline.
	ReasonConnectDeadline spec.Reason = "connect-deadline"
	// ReasonQueueFull: Config.QueueWrites writes are posted and not ended.
	ReasonQueueFull spec.Reason = "write-queue-full"
	// ReasonUnknownWrite: no such write was ever posted.
	ReasonUnknownWrite spec.Reason = "unknown-write"
	// ReasonNoMemory: the system gave no memory, or the library did not register it.
	ReasonNoMemory spec.Reason = "no-memory"
	// ReasonSystem: another call of the library failed.
	ReasonSystem spec.Reason = "system-error"
	// ReasonUnsupported: no usable library, or a build without cgo.
	ReasonUnsupported spec.Reason = "unsupported-system"
)
