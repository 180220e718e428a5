// Package escalate decides what a doubt costs: nothing, a sender, or the process.
// Process carries an unhealthy finding through to the end of the process, within its
// bound. Senders cuts off who sends broken frames. Budget keeps restarts that peers
// cause from following each other without end.
package escalate

import (
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// State of a Process.
type State uint8

// The states, in the order in which they follow each other. None is left backwards:
// late proof returns slots, not health.
const (
	// Healthy: admits, within its budget.
	Healthy State = iota
	// Unhealthy: admits nothing; what is open is being answered or rejected.
	Unhealthy
	// Leaving: nothing is open any more, the exit was asked for.
	Leaving
	// Forced: the deadline came first.
	Forced
	numStates
)

// String returns the state in lower case.
func (s State) String() string {
	names := [numStates]string{"healthy", "unhealthy", "leaving", "forced"}
	if s < numStates {
		return names[s]
	}
	return "invalid"
}

// Cause is why a slot is in quarantine (KS-SLOT-23).
type Cause uint8

// The causes. A slow writer shows progress and costs no health while it does.
const (
	Slow Cause = iota
	Dead
	LostNotice
	numCauses
)

// String returns the label of the counter.
func (c Cause) String() string {
	names := [numCauses]string{"slow", "dead", "lost-notice"}
	if c < numCauses {
		return names[c]
	}
	return "invalid"
}

// Kind of an Input.
type Kind uint8

// The inputs.
const (
	// Quarantined: a slot went into quarantine; Cause counts.
	Quarantined Kind = iota + 1
	// Stalled: a slow writer shows no progress any more; Cause is what it is now.
	Stalled
	// Proven: a slot that was quarantined for Cause is free again.
	Proven
	// Retired: a slot that was quarantined for Cause never comes back.
	Retired
	// Unknown: an attempt ended UNKNOWN. Unproven, X49 and Reason count.
	Unknown
	// OverBudget: a pool exceeded its budget or has no slot left; Reason counts.
	OverBudget
	// Stuck: rounds failed repeatedly, or the executor was quarantined by its
	// watchdog; Reason counts.
	Stuck
	// Proposal: an incompatible OPEN consumed its ticket. It costs that ticket.
	Proposal
	// Fault: a sender was cut off for a broken frame. What that costs comes as Unknown
	// inputs of its bindings, after their local decision.
	Fault
	// Answered: everything that was open has been answered or rejected.
	Answered
	// Due: the clock is at Now.
	Due
	numKinds
)

// Input of Step. Which fields count depends on Kind; Now always does.
type Input struct {
	Kind  Kind
	Cause Cause
	// Unproven: a lease of the attempt is owned and proven by nothing.
	Unproven bool
	// X49: bit 49 was selected for it.
	X49    bool
	Reason spec.Reason
	Now    sm.Time
}

// Do is the kind of an Effect.
type Do uint8

// The effects, in the order in which they are carried out, outside of locks. Each is
// emitted at most once in the life of a process.
const (
	// StopAdmission comes before everything else: nothing is admitted after it, and
	// health says no.
	StopAdmission Do = iota + 1
	// EndOpen answers or rejects whatever is open. Leases without proof stay isolated.
	// When nothing is open any more, Answered is given.
	EndOpen
	// Arm starts the one timer, for At; Due is given then.
	Arm
	// AskExit asks the process to exit; the supervisor starts a new one. Counts one
	// restart under Reason.
	AskExit
	// Force ends the process without asking again. Counts one restart if AskExit did
	// not.
	Force
)

// Effect of Step.
type Effect struct {
	Do     Do
	At     sm.Time
	Reason spec.Reason
}

// Config fixes a Process for its life.
type Config struct {
	// Budget is how many slots may stand in quarantine for a cause that consumes
	// health.
	Budget uint32
	// Deadline is unknown-restart-deadline; positive.
	Deadline sm.Time
}

// Process is the health of one process. It is a value, comparable with ==; use New.
type Process struct {
	state   State
	cfg     Config
	end     sm.Time
	held    [numCauses]uint32
	retired uint32
	reason  spec.Reason
	bad     wrong.Rules
}

// New returns a healthy process. It refuses a deadline that is not positive.
func New(cfg Config) (Process, error) {
	if cfg.Deadline <= 0 {
		return Process{}, sm.Refuse(sm.BadRequest, reqBounds, "escalate: unknown-restart-deadline must be positive")
	}
	return Process{cfg: cfg}, nil
}

// WithWrongRules returns p with broken rules, for models and tests that want to see
// an invariant fail. Nothing else can set them.
func (p Process) WithWrongRules(r wrong.Rules) Process {
	p.bad = r
	return p
}

// State returns the present state.
func (p Process) State() State { return p.state }

// Admits says whether new requests may be admitted.
func (p Process) Admits() bool { return p.state == Healthy }

// Reason is the first unhealthy finding, else empty.
func (p Process) Reason() spec.Reason { return p.reason }

// Held is how many slots stand in quarantine for a cause.
func (p Process) Held(c Cause) uint32 {
	if c < numCauses {
		return p.held[c]
	}
	return 0
}

// Charged is how much of the budget is used: slots held for a dead writer or a lost
// notice, and retired ones.
func (p Process) Charged() uint32 { return p.held[Dead] + p.held[LostNotice] + p.retired }

var (
	errCause error = &sm.Refusal{Reason: sm.BadRequest, Req: reqCauses, What: "escalate: no such cause, or no slot is held for it"}
	errKind  error = &sm.Refusal{Reason: sm.BadRequest, Req: reqRestart, What: "escalate: no such input"}
	errOpen  error = &sm.Refusal{Reason: sm.WrongState, Req: reqRestart, What: "escalate: nobody asked what is open"}
)

// Step applies one input and returns the next process and dst with the effects
// appended. A refused input returns a *statemachine.Refusal and changes nothing.
//
// Only three things end a process: a budget that is exceeded, UNKNOWN of plain v2
// with a lease that nothing proves (KS-SET-10), and a stuck executor. A hostile
// proposal does not: CTX posted nothing for it, so its lease is proven (doubt D5).
func (p Process) Step(in Input, dst []Effect) (Process, []Effect, error) {
	if in.Cause >= numCauses || in.Kind == 0 || in.Kind >= numKinds {
		if in.Cause >= numCauses {
			return p, dst, errCause
		}
		return p, dst, errKind
	}
	next := p
	switch in.Kind {
	case Quarantined:
		next.held[in.Cause]++
	case Stalled:
		if p.held[Slow] == 0 || in.Cause == Slow {
			return p, dst, errCause
		}
		next.held[Slow]--
		next.held[in.Cause]++
	case Proven, Retired:
		if p.held[in.Cause] == 0 {
			return p, dst, errCause
		}
		next.held[in.Cause]--
		if in.Kind == Retired {
			next.retired++
		}
	case Unknown:
		if in.Unproven && !in.X49 && !p.bad.Has(wrong.NoRestart) {
			return next.fail(in, dst)
		}
		return p, dst, nil
	case OverBudget, Stuck:
		if p.bad.Has(wrong.NoRestart) {
			return p, dst, nil
		}
		return next.fail(in, dst)
	case Proposal, Fault:
		return p, dst, nil
	case Answered:
		if p.state == Healthy {
			return p, dst, errOpen
		}
		if p.state == Unhealthy {
			next.state = Leaving
			dst = append(dst, Effect{Do: AskExit, At: p.end, Reason: p.reason})
		}
		return next, dst, nil
	case Due:
		if p.state != Healthy && p.state != Forced && deadline.Over(p.end, in.Now) && !p.bad.Has(wrong.NoDeadline) {
			next.state = Forced
			dst = append(dst, Effect{Do: Force, At: p.end, Reason: p.reason})
		}
		return next, dst, nil
	}
	if next.Charged() > p.cfg.Budget && !p.bad.Has(wrong.NoRestart) {
		in.Reason = sm.PoolUnhealthy
		return next.fail(in, dst)
	}
	return next, dst, nil
}

// fail takes the first unhealthy finding; later ones change nothing, and do not move
// the deadline (KS-TIME-11).
func (p Process) fail(in Input, dst []Effect) (Process, []Effect, error) {
	if p.state != Healthy {
		return p, dst, nil
	}
	p.state, p.reason, p.end = Unhealthy, in.Reason, deadline.After(in.Now, p.cfg.Deadline)
	return p, append(dst,
		Effect{Do: StopAdmission, At: p.end, Reason: p.reason},
		Effect{Do: EndOpen, At: p.end, Reason: p.reason},
		Effect{Do: Arm, At: p.end, Reason: p.reason}), nil
}
