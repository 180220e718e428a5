package control

import (
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// Type is the message type of the envelope.
type Type uint16

// The message types. Those from 0x8000 on are experimental.
const (
	TypeOpen         Type = 1
	TypeReady        Type = 2
	TypeCancel       Type = 3
	TypeTerminal     Type = 4
	TypeReceipt      Type = 5
	TypeQuery        Type = 0x8001
	TypeStatus       Type = 0x8002
	TypeDataComplete Type = 0x8003
)

// String returns the upper-case name of the type, or "INVALID".
func (t Type) String() string {
	switch t {
	case TypeOpen:
		return "OPEN"
	case TypeReady:
		return "READY"
	case TypeCancel:
		return "CANCEL"
	case TypeTerminal:
		return "TERMINAL"
	case TypeReceipt:
		return "TERMINAL_RECEIPT"
	case TypeQuery:
		return "QUERY"
	case TypeStatus:
		return "STATUS"
	case TypeDataComplete:
		return "DATA_COMPLETE"
	}
	return "INVALID"
}

func (t Type) known() bool {
	return t >= TypeOpen && t <= TypeReceipt || t >= TypeQuery && t <= TypeDataComplete
}

// Side says which service sends a message.
type Side uint8

// The sides.
const (
	CTX Side = 1
	GEN Side = 2
)

// CheckFrom refuses a type that does not travel from this side (KS-CTL-7): OPEN
// and QUERY come from GEN; READY, STATUS and DATA_COMPLETE from CTX; the others
// from both. Call it before the message is read, with what the sender is known as.
func (t Type) CheckFrom(side Side) error {
	bad := !t.known() || side != CTX && side != GEN
	switch t {
	case TypeOpen, TypeQuery:
		bad = bad || side == CTX
	case TypeReady, TypeStatus, TypeDataComplete:
		bad = bad || side == GEN
	}
	if bad {
		return refuse(wire.ReasonBadType, reqDirection, "control.type", atType, t.String()+" from the other side")
	}
	return nil
}

// Decision is the answer of READY.
type Decision uint8

// The decisions; 0 is invalid on the wire.
const (
	DecisionReady    Decision = 1
	DecisionNotReady Decision = 2
)

// Evidence is what one side knows about its end of an edge.
type Evidence uint8

// The evidence values; 0 is invalid in messages.
const (
	NotStarted          Evidence = 1
	SourceComplete      Evidence = 2
	DestinationComplete Evidence = 3
	Unknown             Evidence = 4
	// Quiesced exists with capability bit 49 only.
	Quiesced Evidence = 0x81
)

// String returns the upper-case name of the evidence, or "INVALID".
func (e Evidence) String() string {
	switch e {
	case NotStarted:
		return "LOCAL_NOT_STARTED"
	case SourceComplete:
		return "LOCAL_SOURCE_COMPLETE"
	case DestinationComplete:
		return "LOCAL_DESTINATION_COMPLETE"
	case Unknown:
		return "LOCAL_UNKNOWN"
	case Quiesced:
		return "LOCAL_QUIESCED"
	}
	return "INVALID"
}

func (e Evidence) known(caps descriptor.Caps) bool {
	return e >= NotStarted && e <= Unknown || e == Quiesced && caps.Has(descriptor.CapQuiescence)
}

// Reason says why a CANCEL was sent.
type Reason uint32

// The reasons; 0 is invalid on the wire.
const (
	ReasonUser          Reason = 1
	ReasonDeadline      Reason = 2
	ReasonShutdown      Reason = 3
	ReasonPeerFailure   Reason = 4
	ReasonProtocolError Reason = 5
)

// String returns the upper-case name of the reason, or "INVALID".
func (r Reason) String() string {
	switch r {
	case ReasonUser:
		return "USER"
	case ReasonDeadline:
		return "DEADLINE"
	case ReasonShutdown:
		return "SHUTDOWN"
	case ReasonPeerFailure:
		return "PEER_FAILURE"
	case ReasonProtocolError:
		return "PROTOCOL_ERROR"
	}
	return "INVALID"
}

// SourceState is what STATUS reports. It is never evidence.
type SourceState uint8

// The source states; 0 is invalid on the wire.
const (
	StateNotStarted     SourceState = 1
	StateInProgress     SourceState = 2
	StateSourceComplete SourceState = 3
	StateUnknown        SourceState = 4
	StateQuiesced       SourceState = 5
)

// Dialect is what was selected for a transfer: the control version that
// envelopes carry, and the common capabilities, which decide whether the
// experimental types, items and values exist.
type Dialect struct {
	Version uint16
	Caps    descriptor.Caps
}

func (d Dialect) extended() bool {
	return d.Caps&(descriptor.CapRecovery|descriptor.CapQuiescence) != 0
}
