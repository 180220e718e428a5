// Package cleanup ends requests so that nothing is let go, and nobody is answered,
// while something still holds on. Request is one request on one rank. Loop is the
// iteration of the executor that polls, votes and cleans up.
package cleanup

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// Owner is one of those who hold on to a request.
type Owner uint8

// The owners. A request is cleaned up after the last of them has let go.
const (
	// Transceiver: the native code has a transfer of it.
	Transceiver Owner = 1 << iota
	// Forward: a forward pass uses its blocks.
	Forward
	// Queue: it waits in a queue, or is in a set of active or cancelled requests.
	Queue

	allOwners = Transceiver | Forward | Queue
)

// State of a Request.
type State uint8

// The states, in their order. Only Answered is final.
const (
	// New: the zero value.
	New State = iota
	// Running: the native code has not decided how it ends.
	Running
	// Ended: it has; some owner may still hold on.
	Ended
	// Releasing: all ranks voted to clean up; its slots are being let go or isolated.
	Releasing
	// Answered: the one response was given.
	Answered
	numStates
)

// String returns the state in lower case.
func (s State) String() string {
	names := [numStates]string{"new", "running", "ended", "releasing", "answered"}
	if s < numStates {
		return names[s]
	}
	return "invalid"
}

// Kind of an Input.
type Kind uint8

// The inputs of a Request.
const (
	// Take begins it: Owners hold on; Enabled counts.
	Take Kind = iota + 1
	// Join and Leave: Owners begin to hold on, or let go.
	Join
	Leave
	// Native: the native code decided how the transfer ends. Outcome is Completed,
	// Cancelled or Failed; a timeout of it is Failed. Nothing else decides that.
	Native
	// Timer: a deadline outside the native code passed. It is a wish to have the native
	// code look; it ends nothing (KS-TIME-14).
	Timer
	// Cancel: somebody wants it to end.
	Cancel
	// Voted: every local rank voted to clean up in the same round (Tally).
	Voted
	// Cleaned: the clean-up that Release asked for has ended.
	Cleaned
	// Isolated: the executor was quarantined, its leases with it, and they are not
	// released by it any more.
	Isolated
)

// Input of a Request. Which fields count depends on Kind.
type Input struct {
	Kind    Kind
	Owners  Owner
	Outcome sm.Disposition
	// Enabled: the request was admitted in enabled mode.
	Enabled bool
}

// Do is the kind of an Effect.
type Do uint8

// The effects of a Request, carried out in the order given, outside of locks.
const (
	// Look wakes the native code to judge its own deadlines. It may come again.
	Look Do = iota + 1
	// Abort asks the native code to end the transfer, once. It permits no clean-up.
	Abort
	// Ready: the rank votes to clean up from the next round on. Once.
	Ready
	// Release lets go, or isolates, what the request holds, once: after the vote of all
	// ranks.
	Release
	// Respond gives the one response with Outcome: after every owner let go, and after
	// its slots are FREE or QUARANTINED (KS-V1-41).
	Respond
)

// Effect of a Request.
type Effect struct {
	Do      Do
	Outcome sm.Disposition
}

// Request is the clean-up of one request on one rank. It is a value, comparable with
// ==; the zero value takes Take.
type Request struct {
	state    State
	owners   Owner
	outcome  sm.Disposition
	enabled  bool
	aborted  bool
	voting   bool // said that it is ready
	released bool
	bad      wrong.Rules
}

// WithWrongRules returns r with broken rules, for models and tests that want to see
// an invariant fail. Nothing else can set them.
func (r Request) WithWrongRules(w wrong.Rules) Request {
	r.bad = w
	return r
}

// State returns the present state.
func (r Request) State() State { return r.state }

// Owners is who holds on.
func (r Request) Owners() Owner { return r.owners }

// Outcome is how it ended; Open before that. A cancel may still turn a success of an
// enabled request before the vote.
func (r Request) Outcome() sm.Disposition { return r.outcome }

// Ready says whether this rank votes to clean up.
func (r Request) Ready() bool { return r.state == Ended && r.owners == 0 }

var (
	errState  error = &sm.Refusal{Reason: sm.WrongState, Req: reqOnce, What: "cleanup: no such step in this state"}
	errOwner  error = &sm.Refusal{Reason: sm.NotOwner, Req: reqOwners, What: "cleanup: not an owner, or one that holds on already"}
	errResult error = &sm.Refusal{Reason: sm.BadRequest, Req: reqDecider, What: "cleanup: the native code ended it otherwise, or not"}
	errVote   error = &sm.Refusal{Reason: sm.WrongState, Req: reqVote, What: "cleanup: the vote was not asked for by this rank"}
	errTwice  error = &sm.Refusal{Reason: sm.WrongState, Req: reqToken, What: "cleanup: was cleaned up before"}
)

// Step applies one input and returns the next request and dst with the effects
// appended. A refused input returns a *statemachine.Refusal and changes nothing.
// It needs no forward pass to make progress.
func (r Request) Step(in Input, dst []Effect) (Request, []Effect, error) {
	before := r
	var err error
	switch in.Kind {
	case Take:
		if r.state != New || in.Owners == 0 || in.Owners&^allOwners != 0 {
			return r, dst, errState
		}
		r.state, r.owners, r.enabled = Running, in.Owners, in.Enabled
		return r, dst, nil
	case Join, Leave:
		err = r.hold(in)
	case Native:
		err = r.native(in)
	case Timer:
		if r.state == New {
			return r, dst, errState
		}
		if r.state == Running && r.bad.Has(wrong.TimeoutDecides) {
			r.state, r.outcome, r.owners = Ended, sm.Failed, 0
		} else if r.state == Running {
			dst = append(dst, Effect{Do: Look})
		}
	case Cancel:
		dst, err = r.cancel(dst)
	case Voted, Cleaned, Isolated:
		return r.finish(in, dst)
	default:
		return before, dst, errState
	}
	if err != nil {
		return before, dst, err
	}
	if r.Ready() && !r.voting {
		r.voting = true
		dst = append(dst, Effect{Do: Ready, Outcome: r.outcome})
		if r.bad.Has(wrong.DecideAlone) {
			r.state, r.released = Releasing, true
			dst = append(dst, Effect{Do: Release, Outcome: r.outcome})
		}
	}
	return r, dst, nil
}

func (r *Request) hold(in Input) error {
	switch {
	case r.state == New || r.state > Ended || r.voting:
		return errState
	case in.Owners == 0 || in.Owners&^allOwners != 0,
		in.Kind == Join && r.owners&in.Owners != 0, in.Kind == Leave && r.owners&in.Owners != in.Owners:
		return errOwner
	case in.Kind == Leave && in.Owners&Transceiver != 0 && r.state == Running:
		// The native code lets go when it has decided, not before.
		return errResult
	}
	r.owners ^= in.Owners
	return nil
}

func (r *Request) native(in Input) error {
	switch {
	case r.state != Running:
		return errState
	case in.Outcome != sm.Completed && in.Outcome != sm.Cancelled && in.Outcome != sm.Failed && in.Outcome != sm.Rejected:
		return errResult
	}
	r.state, r.outcome = Ended, in.Outcome
	r.resolve()
	return nil
}

// resolve lets a cancel beat a success that races it, in enabled mode only.
func (r *Request) resolve() {
	if r.aborted && r.enabled && r.outcome == sm.Completed {
		r.outcome = sm.Cancelled
	}
}

func (r *Request) cancel(dst []Effect) ([]Effect, error) {
	switch {
	case r.state == New:
		return dst, errState
	case r.state > Ended || r.aborted && !r.bad.Has(wrong.CancelTwice):
		return dst, nil // too late, or said before
	}
	r.aborted = true
	if r.state == Running {
		return append(dst, Effect{Do: Abort}), nil
	}
	// A rank that has voted has told the others how it ended.
	if !r.voting {
		r.resolve()
	}
	return dst, nil
}

// finish is the way out: vote, release, response, each once.
func (r Request) finish(in Input, dst []Effect) (Request, []Effect, error) {
	switch in.Kind {
	case Voted:
		switch {
		case r.released && !r.bad.Has(wrong.CleanUpTwice):
			return r, dst, errTwice
		case !r.voting:
			return r, dst, errVote
		}
		r.state, r.released = Releasing, true
		return r, append(dst, Effect{Do: Release, Outcome: r.outcome}), nil
	case Cleaned:
		if r.state != Releasing {
			return r, dst, errState
		}
		r.state = Answered
		return r, append(dst, Effect{Do: Respond, Outcome: r.outcome}), nil
	}
	switch r.state {
	case New:
		return r, dst, errState
	case Answered:
		return r, dst, nil
	}
	// The quarantine owns everything now. Nothing is released, whoever holds on.
	if r.bad.Has(wrong.FreeOnTimeout) && !r.released {
		dst = append(dst, Effect{Do: Release, Outcome: sm.Failed})
	}
	r.state, r.outcome, r.owners, r.released = Answered, sm.Failed, 0, true
	return r, append(dst, Effect{Do: Respond, Outcome: sm.Failed}), nil
}
