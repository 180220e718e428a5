package cleanup

import (
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// CleanUpBlocked is why a watchdog quarantines an executor. Its wait is bounded by
// control-deadline: a clean-up is the end of what settles an attempt (KS-TIME-4).
const CleanUpBlocked spec.Reason = "control-deadline"

// Phase of a Loop.
type Phase uint8

// The phases of an iteration, in the order that every rank follows.
const (
	// Idle: between iterations.
	Idle Phase = iota
	// PollingCTX, then PollingGEN: the same order on every rank, also with nothing to
	// poll and without a forward pass.
	PollingCTX
	PollingGEN
	// Voting: the one clean-up vote.
	Voting
	// Cleaning what the vote released.
	Cleaning
	// Quarantined: a clean-up blocked. The executor does nothing any more.
	Quarantined
	// Closed: the shutdown has it.
	Closed
	numLoopPhases
)

// String returns the phase in lower case with hyphens.
func (p Phase) String() string {
	names := [numLoopPhases]string{"idle", "polling-ctx", "polling-gen", "voting", "cleaning", "quarantined", "closed"}
	if p < numLoopPhases {
		return names[p]
	}
	return "invalid"
}

// LoopKind is the kind of a LoopInput.
type LoopKind uint8

// The inputs of a Loop.
const (
	// Tick begins an iteration. It comes once per iteration of the executor, with or
	// without a forward pass.
	Tick LoopKind = iota + 1
	// Polled: the poll under way has ended.
	Polled
	// Counted: the vote has ended; Any says that it released something. A vote that
	// failed, or that a rank did not enter, released nothing.
	Counted
	// Done: the clean-up under way has ended.
	Done
	// Control: a cancel or a control message waits to be taken.
	Control
	// Stop: the process shuts down.
	Stop
	// Due: the clock is at Now. The watchdog gives it, not the executor.
	Due
)

// LoopInput is one input of a Loop. Which fields count depends on Kind.
type LoopInput struct {
	Kind LoopKind
	Any  bool
	Now  sm.Time
}

// LoopDo is the kind of a LoopEffect.
type LoopDo uint8

// The effects of a Loop, carried out by the executor in the order given; Arm and
// Quarantine by its watchdog.
const (
	// PollCTX and PollGEN look at the transfers of one role, without blocking.
	PollCTX LoopDo = iota + 1
	PollGEN
	// Vote enters the round of all ranks, once per iteration, also with nothing to say.
	Vote
	// Arm starts the watchdog's timer, for At, before the clean-up begins.
	Arm
	// CleanUp carries out what the vote released.
	CleanUp
	// Calm disarms the timer.
	Calm
	// TakeControl takes all control inputs that wait. It runs between iterations only,
	// and never after Close.
	TakeControl
	// Quarantine isolates every lease of the executor, takes its clean-up tokens away
	// and escalates as stuck. What it frees after that is refused by its token.
	Quarantine
	// Close hands over to the shutdown. Once.
	Close
)

// LoopEffect is one effect of a Loop.
type LoopEffect struct {
	Do     LoopDo
	At     sm.Time
	Reason spec.Reason
}

// Loop is the iteration of one executor. It is a value, comparable with ==; use
// NewLoop.
type Loop struct {
	phase   Phase
	watch   sm.Time
	end     sm.Time
	control bool
	stop    bool
	bad     wrong.Rules
}

// NewLoop returns an idle loop whose clean-ups may take as long as watch, which is
// control-deadline. It refuses a bound that is not positive.
func NewLoop(watch sm.Time) (Loop, error) {
	if watch <= 0 {
		return Loop{}, sm.Refuse(sm.BadRequest, reqBounds, "cleanup: the watchdog's bound must be positive")
	}
	return Loop{watch: watch}, nil
}

// WithWrongRules returns l with broken rules, for models and tests that want to see
// an invariant fail. Nothing else can set them.
func (l Loop) WithWrongRules(r wrong.Rules) Loop {
	l.bad = r
	return l
}

// Phase returns the present phase.
func (l Loop) Phase() Phase { return l.phase }

var (
	errPhase error = &sm.Refusal{Reason: sm.WrongState, Req: reqOrder, What: "cleanup: not what this phase waits for"}
	errGone  error = &sm.Refusal{Reason: sm.PoolClosed, Req: reqClosed, What: "cleanup: the executor is closed or quarantined"}
)

// Step applies one input and returns the next loop and dst with the effects appended.
// A refused input returns a *statemachine.Refusal and changes nothing.
func (l Loop) Step(in LoopInput, dst []LoopEffect) (Loop, []LoopEffect, error) {
	switch in.Kind {
	case Control:
		if l.phase >= Quarantined || l.stop {
			return l, dst, errGone
		}
		l.control = true
	case Stop:
		if l.phase == Closed || l.stop {
			return l, dst, nil
		}
		l.stop = true
	case Due:
		if l.phase != Cleaning || !deadline.Over(l.end, in.Now) || l.bad.Has(wrong.NoDeadline) {
			return l, dst, nil
		}
		l.phase = Quarantined
		dst = append(dst, LoopEffect{Do: Quarantine, At: l.end, Reason: CleanUpBlocked})
	default:
		var err error
		if l, dst, err = l.iterate(in, dst); err != nil {
			return l, dst, err
		}
	}
	return l.between(dst)
}

// iterate takes the steps of an iteration, which have one order.
func (l Loop) iterate(in LoopInput, dst []LoopEffect) (Loop, []LoopEffect, error) {
	switch {
	case l.phase >= Quarantined:
		return l, dst, errGone // a clean-up that ends late too
	case in.Kind == Tick && l.phase == Idle:
		l.phase = PollingCTX
		return l, append(dst, LoopEffect{Do: PollCTX}), nil
	case in.Kind == Polled && l.phase == PollingCTX:
		l.phase = PollingGEN
		return l, append(dst, LoopEffect{Do: PollGEN}), nil
	case in.Kind == Polled && l.phase == PollingGEN && l.bad.Has(wrong.DecideAlone):
		return l.clean(in.Now, dst)
	case in.Kind == Polled && l.phase == PollingGEN:
		l.phase = Voting
		return l, append(dst, LoopEffect{Do: Vote}), nil
	case in.Kind == Counted && l.phase == Voting && in.Any:
		return l.clean(in.Now, dst)
	case in.Kind == Counted && l.phase == Voting:
		l.phase = Idle
		return l, dst, nil
	case in.Kind == Done && l.phase == Cleaning:
		l.phase = Idle
		return l, append(dst, LoopEffect{Do: Calm}), nil
	}
	return l, dst, errPhase
}

func (l Loop) clean(now sm.Time, dst []LoopEffect) (Loop, []LoopEffect, error) {
	l.phase, l.end = Cleaning, deadline.After(now, l.watch)
	return l, append(dst, LoopEffect{Do: Arm, At: l.end}, LoopEffect{Do: CleanUp}), nil
}

// between takes control and shutdown, in this order and only between iterations, so
// that they never race. A quarantined executor takes no control, and blocks no
// shutdown.
func (l Loop) between(dst []LoopEffect) (Loop, []LoopEffect, error) {
	if l.phase == Idle && l.control {
		l.control = false
		dst = append(dst, LoopEffect{Do: TakeControl})
	}
	if (l.phase == Idle || l.phase == Quarantined) && l.stop {
		l.phase = Closed
		dst = append(dst, LoopEffect{Do: Close})
	}
	return l, dst, nil
}
