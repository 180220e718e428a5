// Package retry sends an unanswered control message again: after a pause that
// doubles up to a bound, with the same id and the same bytes, until something
// answers it or its deadline ends the exchange.
package retry

import (
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// State of an Exchange.
type State uint8

// The states. The last three are final for the message; only Start begins again.
const (
	// Idle: nothing was sent.
	Idle State = iota
	// Waiting for an answer, with a re-send ahead.
	Waiting
	// Last: waiting for an answer; no pause fits before the deadline any more.
	Last
	// Answered: something answered it, or a receipt acknowledged its bytes.
	Answered
	// Exhausted: the deadline came first. The exchange is UNKNOWN (KS-REG-14).
	Exhausted
	// Stopped: nobody waits for the answer any more.
	Stopped
	numStates
)

// String returns the state in lower case.
func (s State) String() string {
	names := [numStates]string{"idle", "waiting", "last", "answered", "exhausted", "stopped"}
	if s < numStates {
		return names[s]
	}
	return "invalid"
}

// Kind of an Input.
type Kind uint8

// The inputs.
const (
	// Start: the message is to be sent for the first time. ID, Now and End count; End 0
	// means control-deadline from now.
	Start Kind = iota + 1
	// Due: the clock is at Now. One that comes early changes nothing.
	Due
	// Answer: something that answers this exchange arrived: of an OPEN the READY,
	// NOT_READY or TERMINAL of its key, of a CANCEL the TERMINAL, of a QUERY the STATUS
	// that echoes ID.
	Answer
	// Receipt: a TERMINAL_RECEIPT; ID is the message it acknowledges. It stops the
	// re-sending and proves nothing else (KS-SET-9).
	Receipt
	// Limit moves the deadline to End, which is earlier.
	Limit
	// Stop: the exchange is not needed any more.
	Stop
)

// Input of Step. Which fields count depends on Kind.
type Input struct {
	Kind Kind
	ID   uint64
	Now  sm.Time
	End  sm.Time
}

// Do is the kind of an Effect.
type Do uint8

// The effects, in the order in which they are carried out, outside of locks.
const (
	// Send hands message ID to the transport: the bytes made at Start, unchanged, also
	// the id in them (KS-CTL-22). A refused hand-over counts as a lost message.
	Send Do = iota + 1
	// Wake arms the one timer of this exchange for At and replaces an armed one. It
	// comes after the Send that it follows.
	Wake
	// Calm disarms the timer.
	Calm
	// Exhaust tells the machine of the key that the exchange is UNKNOWN. Exactly once.
	Exhaust
	// Stray counts an input that came too late to matter.
	Stray
)

// Effect of Step.
type Effect struct {
	Do Do
	ID uint64
	At sm.Time
	// Again says that a Send repeats bytes that were sent before.
	Again bool
}

// Exchange is the machine of one message that wants an answer. It is a value,
// comparable with ==; the zero value is idle.
type Exchange struct {
	state State
	step  uint8
	id    uint64
	next  sm.Time // the next re-send
	end   sm.Time
	bad   wrong.Rules
}

// WithWrongRules returns e with broken rules, for models and tests that want to see
// an invariant fail. Nothing else can set them.
func (e Exchange) WithWrongRules(r wrong.Rules) Exchange {
	e.bad = r
	return e
}

// State returns the present state.
func (e Exchange) State() State { return e.state }

// ID is the message of the exchange; 0 before the first Start.
func (e Exchange) ID() uint64 { return e.id }

// Resends counts how often the message was sent again, up to 255.
func (e Exchange) Resends() uint8 { return e.step }

// Open says that an answer is still awaited.
func (e Exchange) Open() bool { return e.state == Waiting || e.state == Last }

// Reason is why an exhausted exchange ended, else empty.
func (e Exchange) Reason() spec.Reason {
	if e.state == Exhausted {
		return settle.RetryExhausted
	}
	return ""
}

// The refusals, as values so that refusing costs no allocation.
var (
	errStart  error = &sm.Refusal{Reason: sm.WrongState, Req: reqBytes, What: "retry: another message while one is unanswered"}
	errID     error = &sm.Refusal{Reason: sm.BadRequest, Req: reqRetry, What: "retry: message id 0, or not above the last"}
	errOver   error = &sm.Refusal{Reason: sm.BadRequest, Req: reqExhaust, What: "retry: the deadline is not after now"}
	errLimit  error = &sm.Refusal{Reason: sm.BadRequest, Req: reqDeadline, What: "retry: a deadline moves to an earlier point only"}
	errIdle   error = &sm.Refusal{Reason: sm.WrongState, Req: reqRetry, What: "retry: nothing was sent"}
	errOther  error = &sm.Refusal{Reason: settle.ProtocolError, Req: reqReceipt, What: "retry: receipt for what was not sent"}
	errKind   error = &sm.Refusal{Reason: sm.BadRequest, Req: reqRetry, What: "retry: no such input"}
	errPauses error = &sm.Refusal{Reason: sm.BadRequest, Req: reqRetry, What: "retry: pauses and deadline must be positive"}
)

// Step applies one input under settings and returns the next machine and dst with
// the effects appended. A refused input returns a *statemachine.Refusal, the machine
// unchanged and dst as it was. An Answer at the very moment of the deadline counts
// if it is given first (KS-TIME-5).
func (e Exchange) Step(set *settle.Settings, in Input, dst []Effect) (Exchange, []Effect, error) {
	switch in.Kind {
	case Start:
		return e.start(set, in, dst)
	case Due:
		return e.due(set, in.Now, dst)
	case Limit:
		switch {
		case !e.Open():
			return e, dst, errIdle
		case in.End > e.end:
			return e, dst, errLimit
		}
		e.end = in.End
		e.state = e.ahead()
		return e, append(dst, e.wake()), nil
	case Answer, Receipt, Stop:
		return e.close(in, dst)
	}
	return e, dst, errKind
}

func (e Exchange) start(set *settle.Settings, in Input, dst []Effect) (Exchange, []Effect, error) {
	end := in.End
	if end == 0 {
		end = deadline.After(in.Now, set.Control)
	}
	switch {
	case e.Open():
		return e, dst, errStart
	case in.ID <= e.id:
		return e, dst, errID
	case set.RetryFirst <= 0 || set.RetryMax <= 0:
		return e, dst, errPauses
	case end <= in.Now:
		return e, dst, errOver
	}
	e.id, e.end, e.step = in.ID, end, 0
	e.next = deadline.After(in.Now, set.Length(settle.RetryWait, 0))
	e.state = e.ahead()
	return e, append(dst, Effect{Do: Send, ID: e.id}, e.wake()), nil
}

// ahead is the state while an answer is awaited.
func (e Exchange) ahead() State {
	if e.next < e.end || e.bad.Has(wrong.NoDeadline) {
		return Waiting
	}
	return Last
}

func (e Exchange) wake() Effect {
	at := e.end
	if e.state == Waiting {
		at = e.next
	}
	return Effect{Do: Wake, ID: e.id, At: at}
}

func (e Exchange) due(set *settle.Settings, now sm.Time, dst []Effect) (Exchange, []Effect, error) {
	switch {
	case !e.Open():
		return e, append(dst, Effect{Do: Stray, ID: e.id}), nil
	case deadline.Over(e.end, now) && !e.bad.Has(wrong.NoDeadline):
		e.state = Exhausted
		return e, append(dst, Effect{Do: Exhaust, ID: e.id}), nil
	case e.state == Last || now < e.next:
		return e, append(dst, e.wake()), nil
	}
	if e.step < 255 {
		e.step++
	}
	// The pause counts from now: a late timer is not followed by a burst.
	e.next = deadline.After(now, set.Length(settle.RetryWait, e.step))
	if e.bad.Has(wrong.NoPause) {
		e.next = now
	}
	e.state = e.ahead()
	return e, append(dst, Effect{Do: Send, ID: e.id, Again: true}, e.wake()), nil
}

func (e Exchange) close(in Input, dst []Effect) (Exchange, []Effect, error) {
	switch {
	case e.state == Idle:
		return e, dst, errIdle
	case in.Kind == Receipt && in.ID > e.id:
		return e, dst, errOther
	case !e.Open(), in.Kind == Receipt && in.ID != e.id:
		// Too late, or for an earlier message: UNKNOWN is final.
		return e, append(dst, Effect{Do: Stray, ID: in.ID}), nil
	}
	e.state = Answered
	if in.Kind == Stop {
		e.state = Stopped
	}
	return e, append(dst, Effect{Do: Calm, ID: e.id}), nil
}
