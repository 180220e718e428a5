package policy

// Stage is how far the rollout has come. Stages follow each other in this order;
// going back stops new admissions and changes nothing that is under way.
type Stage uint8

// The stages.
const (
	// StageOff: nothing of the protocol runs.
	StageOff Stage = iota
	// StageObserve: decide and record, change nothing.
	StageObserve
	// StageFailClosed: registry, tickets, exact leases and bounded fail/restart, for
	// those who opt in.
	StageFailClosed
	// StageProtocol: the control carrier as well, for those who opt in.
	StageProtocol
	// StageCanary1, StageCanary10 and StageCanary50: on for that share of requests,
	// in percent.
	StageCanary1
	StageCanary10
	StageCanary50
	// StageDefault: on by default, for one exact cell.
	StageDefault
)

// Permits is what a stage allows.
type Permits struct {
	// Record: decisions are made and written down.
	Record bool
	// Act: decisions take effect: registry, tickets, exact leases, fail/restart.
	Act bool
	// Carrier: control messages may be sent.
	Carrier bool
	// Percent is the share of new requests for which it acts without having been
	// asked to; at 0 it acts only for those who opted in.
	Percent int
}

// Permits returns what the stage allows; nothing for a stage that is not defined.
func (s Stage) Permits() Permits {
	on := Permits{Record: true, Act: true, Carrier: true}
	switch s {
	case StageObserve:
		return Permits{Record: true}
	case StageFailClosed:
		return Permits{Record: true, Act: true}
	case StageProtocol:
	case StageCanary1:
		on.Percent = 1
	case StageCanary10:
		on.Percent = 10
	case StageCanary50:
		on.Percent = 50
	case StageDefault:
		on.Percent = 100
	default:
		return Permits{}
	}
	return on
}

// Admits says whether a new request runs under the protocol. optIn is whether
// this service was asked to. The share of a canary is taken by request id, so
// that both legs and every rank choose alike (KS-POL-14); ids that count up are
// spread evenly.
func (p Permits) Admits(optIn bool, requestID uint64) bool {
	if !p.Act {
		return false
	}
	return optIn || requestID%100 < uint64(p.Percent)
}

// String returns the name that the specification uses.
func (s Stage) String() string {
	switch s {
	case StageOff:
		return "OFF"
	case StageObserve:
		return "OBSERVE_ONLY"
	case StageFailClosed:
		return "OPT_IN_FAIL_CLOSED"
	case StageProtocol:
		return "OPT_IN_PROTOCOL"
	case StageCanary1:
		return "CANARY_1"
	case StageCanary10:
		return "CANARY_10"
	case StageCanary50:
		return "CANARY_50"
	case StageDefault:
		return "DEFAULT_ON"
	}
	return "invalid"
}
