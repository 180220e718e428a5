// Package shutdown takes a process apart in the one order in which no memory is let
// go while something can still touch it (KS-SLOT-11).
package shutdown

import (
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// The reason codes of this machine, each named after the setting that bounds the wait.
const (
	DrainDeadline   spec.Reason = "drain-deadline"
	RestartDeadline spec.Reason = "unknown-restart-deadline"
)

// State of a Machine: what it waits for.
type State uint8

// The states, in their order. From Isolating on each is named by the effect that is
// under way.
const (
	// Running: nothing was asked for.
	Running State = iota
	// Draining: admission has stopped, bindings are frozen, open attempts settle.
	Draining
	// Isolating what is unresolved.
	Isolating
	// Joining the workers.
	Joining
	// Disconnecting: connection managers go before the memory and the plugin.
	Disconnecting
	// Deregistering memory, while it is still mapped.
	Deregistering
	// DestroyingAgent: after it no address that was advertised is reachable.
	DestroyingAgent
	// Unmapping memory: a slot in quarantine may be written until the agent is gone.
	Unmapping
	// UnloadingPlugin comes last of all.
	UnloadingPlugin
	// Down: nothing is left.
	Down
	// Forced: a step failed or took too long; the process is to end at once, and its
	// system takes back what is left.
	Forced
	numStates
)

// String returns the state in lower case with hyphens.
func (s State) String() string {
	names := [numStates]string{"running", "draining", "isolating", "joining", "disconnecting", "deregistering",
		"destroying-agent", "unmapping", "unloading-plugin", "down", "forced"}
	if s < numStates {
		return names[s]
	}
	return "invalid"
}

// Kind of an Input.
type Kind uint8

// The inputs.
const (
	// Stop asks for the shutdown; a repeated one changes nothing.
	Stop Kind = iota + 1
	// Settled: no attempt is open any more.
	Settled
	// Done: the step of State Of has ended. Every step is reported, once.
	Done
	// Failed: it could not be carried out. What it holds may still be in use.
	Failed
	// Due: the clock is at Now. Evidence that has arrived is given before it.
	Due
)

// Input of Step. Which fields count depends on Kind.
type Input struct {
	Kind Kind
	Of   State
	Now  sm.Time
}

// Do is the kind of an Effect.
type Do uint8

// The effects. They are carried out in the order given, by the executor, outside of
// locks; each at most once in the life of a process, Arm aside.
const (
	// StopAdmission refuses every new attempt. It comes first.
	StopAdmission Do = iota + 1
	// Freeze binds nothing any more: a published ticket that is unbound stays so.
	Freeze
	// Arm starts the one timer, for At, in place of an armed one.
	Arm
	// Carry carries out the step of State Of and reports Done or Failed. Of Isolating:
	// quarantine every lease that is owned and unproven, answer what is open. No step
	// returns a slot to its pool (KS-SLOT-29).
	Carry
	// Exit ends the process in order: nothing is left.
	Exit
	// Force ends the process at once, without another step.
	Force
)

// Effect of Step.
type Effect struct {
	Do     Do
	Of     State
	At     sm.Time
	Reason spec.Reason
}

// Config fixes the bounds.
type Config struct {
	// Drain is drain-deadline.
	Drain sm.Time
	// Rest bounds all steps after the drain together: unknown-restart-deadline.
	Rest sm.Time
}

// Machine is one shutdown. It is a value, comparable with ==; use New.
type Machine struct {
	cfg   Config
	state State
	end   sm.Time
	clean bool
	bad   wrong.Rules
}

// New returns a running machine. It refuses bounds that are not positive.
func New(cfg Config) (Machine, error) {
	if cfg.Drain <= 0 || cfg.Rest <= 0 {
		return Machine{}, sm.Refuse(sm.BadRequest, reqBounds, "shutdown: drain-deadline and unknown-restart-deadline must be positive")
	}
	return Machine{cfg: cfg}, nil
}

// WithWrongRules returns m with broken rules, for models and tests that want to see
// an invariant fail. Nothing else can set them.
func (m Machine) WithWrongRules(r wrong.Rules) Machine {
	m.bad = r
	return m
}

// State returns the present state.
func (m Machine) State() State { return m.state }

// Clean says that every attempt settled before the drain ended.
func (m Machine) Clean() bool { return m.clean }

// Admits says whether a new attempt may be admitted.
func (m Machine) Admits() bool { return m.state == Running }

// TakesControl says whether messages of attempts that exist are still taken. From
// Isolating on none is: control and shutdown never race.
func (m Machine) TakesControl() bool { return m.state <= Draining }

var (
	errOrder error = &sm.Refusal{Reason: sm.WrongState, Req: reqOrder, What: "shutdown: not the step that is under way"}
	errKind  error = &sm.Refusal{Reason: sm.BadRequest, Req: reqOrder, What: "shutdown: no such input"}
)

// Step applies one input and returns the next machine and dst with the effects
// appended. A refused input returns a *statemachine.Refusal and changes nothing.
func (m Machine) Step(in Input, dst []Effect) (Machine, []Effect, error) {
	switch in.Kind {
	case Stop:
		if m.state != Running {
			return m, dst, nil
		}
		m.state, m.end = Draining, deadline.After(in.Now, m.cfg.Drain)
		return m, append(dst, Effect{Do: StopAdmission}, Effect{Do: Freeze}, Effect{Do: Arm, At: m.end}), nil
	case Settled:
		if m.state != Draining {
			return m, dst, nil
		}
		m.clean = true
		return m.isolate(in.Now, dst)
	case Done, Failed:
		if in.Of != m.state || m.state < Isolating || m.state > UnloadingPlugin {
			return m, dst, errOrder
		}
		if in.Kind == Failed {
			return m.force("", dst)
		}
		m.state++
		if m.state == Down {
			return m, append(dst, Effect{Do: Exit}), nil
		}
		return m, append(dst, Effect{Do: Carry, Of: m.state}), nil
	case Due:
		return m.due(in.Now, dst)
	}
	return m, dst, errKind
}

func (m Machine) due(now sm.Time, dst []Effect) (Machine, []Effect, error) {
	switch {
	case m.state == Running || m.state >= Down || !deadline.Over(m.end, now) || m.bad.Has(wrong.NoDeadline):
		return m, dst, nil
	case m.state == Draining && m.bad.Has(wrong.FreeOnTimeout):
		m.state = Deregistering
		return m, append(dst, Effect{Do: Carry, Of: m.state}), nil
	case m.state == Draining:
		return m.isolate(now, dst)
	}
	return m.force(RestartDeadline, dst)
}

func (m Machine) isolate(now sm.Time, dst []Effect) (Machine, []Effect, error) {
	m.state, m.end = Isolating, deadline.After(now, m.cfg.Rest)
	e := Effect{Do: Carry, Of: Isolating}
	if !m.clean {
		e.Reason = DrainDeadline
	}
	return m, append(dst, Effect{Do: Arm, At: m.end}, e), nil
}

// force gives up the order, and with it every step that would let memory go.
func (m Machine) force(reason spec.Reason, dst []Effect) (Machine, []Effect, error) {
	e := Effect{Do: Force, Of: m.state, Reason: reason}
	m.state = Forced
	return m, append(dst, e), nil
}
