package negotiate

import (
	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// Local is how this service presents itself.
type Local uint8

const (
	// Legacy: no descriptor, like binaries deployed today. Peers' descriptors are
	// opaque parts of their names, so nothing is checked.
	Legacy Local = iota
	// Off: a schema 1 descriptor in baseline mode.
	Off
	// On: a schema 1 descriptor in enabled mode.
	On
)

// String returns "legacy", "off", "on" or "invalid".
func (l Local) String() string {
	switch l {
	case Legacy:
		return "legacy"
	case Off:
		return "off"
	case On:
		return "on"
	}
	return "invalid"
}

// GENAction is what GEN does with a request before it reserves anything.
type GENAction uint8

const (
	// Proceed: reserve, advertise, expect data.
	Proceed GENAction = iota + 1
	// ProceedExpectReject: send the full request although no data will come; see GEN.
	ProceedExpectReject
	// RefuseLocally: end the request here; no peer hears of it.
	RefuseLocally
)

// String returns the action in lower case with hyphens.
func (a GENAction) String() string {
	switch a {
	case Proceed:
		return "proceed"
	case ProceedExpectReject:
		return "proceed-expect-reject"
	case RefuseLocally:
		return "refuse-locally"
	}
	return "invalid"
}

// GENDecision is the answer of GEN.
type GENDecision struct {
	// Action is what to do.
	Action GENAction
	// Verdict is what it rests on; ClassNone for a legacy service.
	Verdict Verdict
	// Reason is empty for Proceed, else the code of the Verdict's class.
	Reason spec.Reason
}

// Err returns a *statemachine.Refusal for RefuseLocally, else nil.
func (d GENDecision) Err() error {
	if d.Action != RefuseLocally {
		return nil
	}
	req := reqGEN
	if d.Verdict.Class == ClassLegacy {
		req = reqGENOld
	}
	return statemachine.Refuse(d.Reason, req, "request to incompatible CTX: "+d.Verdict.String())
}

// GEN decides whether a request may go to the CTX ranks with these agent names,
// in the order of their communication state. It is asked before a slot is
// reserved and before anything is advertised (KS-V1-1, KS-SEL-11). d is what this
// service advertises; a Legacy service has none and d is not read.
//
// Where the two do not fit, but every CTX rank has a good descriptor and can
// answer ready=false before DMA, GEN still sends the request
// (ProceedExpectReject, KS-V1-42). The context at CTX would otherwise wait for a
// GEN that never comes until its own deadline; ready=false on every edge lets
// both sides settle at once, and the slots come back on that proof. A ready=true
// in answer is a broken promise: the caller then quarantines the slots
// (KS-V1-44). In every other mismatch a rank might take the request for one that
// it can serve and write, so GEN refuses before anybody learns an address.
func GEN(local Local, d descriptor.Descriptor, peers []string) GENDecision {
	v := judge(local, d, peers)
	switch {
	case v.Compatible:
		return GENDecision{Action: Proceed, Verdict: v}
	case v.CanReject: // and so aware, all of them
		return GENDecision{ProceedExpectReject, v, v.Class.Reason()}
	}
	return GENDecision{RefuseLocally, v, v.Class.Reason()}
}

// CTXAction is what CTX does with a request that it received.
type CTXAction uint8

const (
	// Accept: go on with the other checks of the request.
	Accept CTXAction = iota + 1
	// Reject: answer ready=false on every edge and write nothing.
	Reject
)

// String returns "accept", "reject" or "invalid".
func (a CTXAction) String() string {
	switch a {
	case Accept:
		return "accept"
	case Reject:
		return "reject"
	}
	return "invalid"
}

// CTXDecision is the answer of CTX.
type CTXDecision struct {
	// Action is what to do.
	Action CTXAction
	// Verdict is what it rests on; ClassNone for a legacy service.
	Verdict Verdict
	// Reason is empty for Accept, else the code of the Verdict's class.
	Reason spec.Reason
}

// Err returns a *statemachine.Refusal for Reject, else nil.
func (d CTXDecision) Err() error {
	if d.Action != Reject {
		return nil
	}
	req := reqCTX
	if d.Verdict.Class == ClassLegacy {
		req = reqCTXOld
	}
	return statemachine.Refuse(d.Reason, req, "request of incompatible GEN: "+d.Verdict.String())
}

// CTX decides whether a request of the GEN ranks with these agent names may be
// served (KS-V1-2). d is what this service advertises; a Legacy service has
// none, d is not read and every request is accepted, as deployed code does.
//
// Each CTX rank decides by itself. They agree because ValidateLocal made their
// profiles equal at start-up (KS-SEL-8).
func CTX(local Local, d descriptor.Descriptor, peers []string) CTXDecision {
	v := judge(local, d, peers)
	if v.Compatible {
		return CTXDecision{Action: Accept, Verdict: v}
	}
	return CTXDecision{Reject, v, v.Class.Reason()}
}

// judge is ValidatePeers for a service that may be legacy. It fails closed when
// the setting and the descriptor contradict each other.
func judge(local Local, d descriptor.Descriptor, peers []string) Verdict {
	switch {
	case local == Legacy:
		return Verdict{Rank: -1, Compatible: true}
	case local == Off && d.Mode == descriptor.Baseline, local == On && d.Mode == descriptor.Enabled:
		return ValidatePeers(d, peers)
	}
	return Verdict{Class: ClassLocalMode, Rank: -1}
}
