package policy

import "github.com/kvsettle/kvsettle/wire/descriptor"

// Gate decides under what a new request is admitted. It is a value: moving it gives
// another one, and an Admission that was given before stays what it is, so that going
// back stops new admissions and nothing else (KS-POL-16).
type Gate struct {
	// Mode is that of the process's Decision, for its whole incarnation (KS-POL-5).
	Mode descriptor.Mode
	// Stage is how far the rollout has come.
	Stage Stage
	// OptIn: this service was asked to take part.
	OptIn bool
	// Exact: this configuration is the one cell for which StageDefault is on.
	Exact bool
	// Off: the switch was turned off while the process runs.
	Off bool
}

// Move returns the gate at another stage, further or back.
func (g Gate) Move(to Stage) Gate {
	g.Stage = to
	return g
}

// TurnOff returns the gate with the switch turned off.
func (g Gate) TurnOff() Gate {
	g.Off = true
	return g
}

// Admission is under what a transfer was admitted. It ends under that, whatever the
// gate says by then (KS-SEL-10). It is comparable, and nothing in this package changes
// one.
type Admission struct {
	// Mode is baseline where the request does not run under the protocol.
	Mode descriptor.Mode
	// Stage is the one at its admission.
	Stage Stage
	// Record: decisions about it are written down.
	Record bool
	// Carrier: control messages may be sent for it.
	Carrier bool
	// Version is the selected control version and Caps are the selected capabilities;
	// 0 without the carrier.
	Version uint16
	Caps    descriptor.Caps
}

// Admit says under what a new request is admitted, given the selection that would
// hold for it. Of two processes with the same stage, both choose alike for a request
// id (KS-POL-14).
func (g Gate) Admit(requestID uint64, version uint16, caps descriptor.Caps) Admission {
	a := Admission{Stage: g.Stage}
	if g.Mode != descriptor.Enabled || g.Off {
		return a
	}
	p := g.Stage.Permits()
	a.Record = p.Record
	if g.Stage == StageDefault && !g.Exact {
		p.Percent = 0
	}
	if !p.Admits(g.OptIn, requestID) {
		return a
	}
	a.Mode = descriptor.Enabled
	if p.Carrier {
		a.Carrier, a.Version, a.Caps = true, version, caps
	}
	return a
}
