package shm

import "github.com/kvsettle/kvsettle/spec"

// Requirements that this package cites.
const (
	reqContract    = "KS-BACK-1"
	reqVisible     = "KS-BACK-2"
	reqAfterData   = "KS-BACK-6"
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

// requirement is the one behind a reason code, as the table of reason codes has it.
func requirement(r spec.Reason) string {
	switch r {
	case ReasonUnknownPeer, ReasonWrongName, ReasonDialCrossed:
		return reqSender
	case ReasonPeerGone, ReasonNoProcess:
		return reqDeath
	case ReasonPeerSlow, ReasonQueueFull:
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
	case ReasonBadFrame, ReasonBadHello, ReasonWrongVersion, ReasonBadRegion, ReasonTooManyRegions,
		ReasonTooManyPeers, ReasonWrongUser:
		return reqStranger
	case ReasonNameInUse:
		return reqIncarnation
	case ReasonHandshakeTimeout:
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
	// ReasonUnknownPeer and the next five have a sentinel in package transport, which
	// errors.Is finds too. ReasonPeerSlow is also why a connection ends whose peer takes
	// nothing for Config.StallDeadline.
	ReasonUnknownPeer   spec.Reason = "unknown-peer"
	ReasonPeerGone      spec.Reason = "peer-gone"
	ReasonPeerSlow      spec.Reason = "peer-slow"
	ReasonOutsideRegion spec.Reason = "outside-region"
	ReasonClosed        spec.Reason = "agent-closed"
	ReasonTooLarge      spec.Reason = "notification-too-large"

	// ReasonBadConfig: a Config field is out of bounds.
	ReasonBadConfig spec.Reason = "bad-config"
	// ReasonBadAddress: an address is not of the form that Address returns.
	ReasonBadAddress spec.Reason = "bad-address"
	// ReasonBadMetadata: metadata was given; this adaptor has none.
	ReasonBadMetadata spec.Reason = "bad-metadata"
	// ReasonBadFrame: header, kind, length or descriptors of a frame are wrong, or the
	// frame is not allowed at this point.
	ReasonBadFrame spec.Reason = "bad-frame"
	// ReasonBadHello: magic, field lengths or names of a hello are wrong.
	ReasonBadHello spec.Reason = "bad-hello"
	// ReasonWrongVersion: the hello has another version of the frame protocol.
	ReasonWrongVersion spec.Reason = "wrong-version"
	// ReasonWrongName: the agent at that address has another name.
	ReasonWrongName spec.Reason = "wrong-name"
	// ReasonNameInUse: a peer of that name is connected, or its process still lives.
	ReasonNameInUse spec.Reason = "name-in-use"
	// ReasonDialCrossed: both sides dialled at once and the other connection is kept.
	ReasonDialCrossed spec.Reason = "dial-crossed"
	// ReasonBadRegion: an announced region is no sealed memfd of the announced size,
	// overlaps another one, or could not be mapped.
	ReasonBadRegion spec.Reason = "bad-region"
	// ReasonTooManyRegions: more than MaxRegions of one agent.
	ReasonTooManyRegions spec.Reason = "too-many-regions"
	// ReasonTooManyPeers: more than Config.MaxPeers, or than the bounded number of
	// connections in handshake.
	ReasonTooManyPeers spec.Reason = "too-many-peers"
	// ReasonHandshakeTimeout: the peer did not finish within Config.ConnectDeadline.
	ReasonHandshakeTimeout spec.Reason = "handshake-timeout"
	// ReasonWrongUser: the process at the other end runs as another user.
	ReasonWrongUser spec.Reason = "wrong-user"
	// ReasonNoProcess: the kernel cannot name the process at the other end.
	ReasonNoProcess spec.Reason = "no-process"
	// ReasonQueueFull: Config.QueueWrites writes wait already.
	ReasonQueueFull spec.Reason = "write-queue-full"
	// ReasonUnknownWrite: no such write was ever posted.
	ReasonUnknownWrite spec.Reason = "unknown-write"
	// ReasonNoMemory: the system gave no memory for a region.
	ReasonNoMemory spec.Reason = "no-memory"
	// ReasonSystem: another system call failed.
	ReasonSystem spec.Reason = "system-error"
	// ReasonUnsupported: this system lacks what the adaptor needs (UnsupportedError).
	ReasonUnsupported spec.Reason = "unsupported-system"
)
