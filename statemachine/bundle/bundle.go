// Package bundle joins everything that one attempt holds: KV, indexer and RNN slots,
// registrations, transfer handles and post-processing. It completes when all of it
// has, and is let go as one after the last part is quiet (I16).
package bundle

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// Part is one kind of thing that an attempt holds.
type Part uint8

// The parts, in the order in which a clean-up lets them go: what uses memory before
// the memory itself.
const (
	PostProcessing Part = iota
	Handles
	Registrations
	RNN
	Indexer
	KV
	numParts
)

// String returns the part in lower case with hyphens.
func (p Part) String() string {
	names := [numParts]string{"post-processing", "handles", "registrations", "rnn", "indexer", "kv"}
	if p < numParts {
		return names[p]
	}
	return "invalid"
}

// Parts is a set of parts.
type Parts uint8

// All is every part; Data are the parts that are transferred.
const (
	All  Parts = 1<<numParts - 1
	Data Parts = 1<<RNN | 1<<Indexer | 1<<KV
)

// Of returns the set of some parts; those that do not exist are left out.
func Of(parts ...Part) (s Parts) {
	for _, p := range parts {
		if p < numParts {
			s |= 1 << p
		}
	}
	return s
}

// Has reports whether every part of x is in s.
func (s Parts) Has(x Parts) bool { return s&x == x }

// State of a Bundle.
type State uint8

// The states.
const (
	// Empty: the zero value, which holds nothing.
	Empty State = iota
	// Open: the attempt runs.
	Open
	// Complete: every part has finished; the claim may be made. Nothing is let go yet.
	Complete
	// Ending: the attempt ended, and some part is not proven quiet. Nothing is let go.
	Ending
	// Isolated: quarantined as a whole.
	Isolated
	// Gone: let go as a whole, or returned from quarantine. Final.
	Gone
	numStates
)

// String returns the state in lower case.
func (s State) String() string {
	names := [numStates]string{"empty", "open", "complete", "ending", "isolated", "gone"}
	if s < numStates {
		return names[s]
	}
	return "invalid"
}

// Kind of an Input.
type Kind uint8

// The inputs.
const (
	// Hold: the attempt holds Parts, at least one of Data, under Token, not 0.
	Hold Kind = iota + 1
	// Finished: Part has done its work with success. Post-processing cannot finish
	// before the data is here.
	Finished
	// Quiet: nothing can touch Part any more, by one of the proofs of the table.
	Quiet
	// Failed: Part cannot finish any more. That says nothing about whether it is quiet.
	Failed
	// Release: the local ranks decided that the attempt has ended, COMPLETED,
	// NOT_STARTED or QUIESCED, and its leases may go. Token counts.
	Release
	// Settle: the attempt ended without an early release: with UNKNOWN, or at its
	// deadline. Token counts. What is quiet as a whole goes, else all of it is
	// quarantined.
	Settle
	numKinds
)

// Input of Step. Which fields count depends on Kind.
type Input struct {
	Kind  Kind
	Part  Part
	Parts Parts
	// Token is the clean-up token of the lease.
	Token uint64
}

// Do is the kind of an Effect.
type Do uint8

// The effects. LetGo, Isolate and Return end the lease and are emitted once
// altogether, but for a Return after an Isolate.
const (
	// Claim: every part has finished. The rank contributes COMPLETE from now on; the
	// effect comes once and frees nothing.
	Claim Do = iota + 1
	// LetGo lets all of Parts go, in the order of their constants, as one: outside of
	// locks, after the decision of all local ranks.
	LetGo
	// Isolate quarantines all of Parts, the finished ones too.
	Isolate
	// Return lets all of Parts go from quarantine, on late proof.
	Return
)

// Effect of Step.
type Effect struct {
	Do    Do
	Parts Parts
	Token uint64
}

// Bundle is the machine. It is a value, comparable with ==; the zero value holds
// nothing and takes Hold.
type Bundle struct {
	state                         State
	held, finished, quiet, failed Parts
	token                         uint64
	bad                           wrong.Rules
}

// WithWrongRules returns b with broken rules, for models and tests that want to see
// an invariant fail. Nothing else can set them.
func (b Bundle) WithWrongRules(r wrong.Rules) Bundle {
	b.bad = r
	return b
}

// State returns the present state.
func (b Bundle) State() State { return b.state }

// Held is what the attempt holds, also after it went.
func (b Bundle) Held() Parts { return b.held }

// Missing is what has not finished.
func (b Bundle) Missing() Parts { return b.held &^ b.finished }

// Loud is what is not proven quiet.
func (b Bundle) Loud() Parts { return b.held &^ b.quiet }

var (
	errState error = &sm.Refusal{Reason: sm.WrongState, Req: reqBundle, What: "bundle: no such step in this state"}
	errParts error = &sm.Refusal{Reason: sm.BadRequest, Req: reqBundle, What: "bundle: parts that it does not hold"}
	errToken error = &sm.Refusal{Reason: sm.NotOwner, Req: reqToken, What: "bundle: not its clean-up token"}
	errSpent error = &sm.Refusal{Reason: sm.WrongState, Req: reqToken, What: "bundle: its clean-up token was used"}
	errEarly error = &sm.Refusal{Reason: sm.WrongState, Req: reqComplete, What: "bundle: post-processing before the data is here"}
	errFinal error = &sm.Refusal{Reason: sm.WrongState, Req: reqComplete, What: "bundle: the part has failed or finished"}
)

// Step applies one input and returns the next bundle and dst with the effects
// appended. A refused input returns a *statemachine.Refusal and changes nothing. A
// repeated Quiet changes nothing either.
func (b Bundle) Step(in Input, dst []Effect) (Bundle, []Effect, error) {
	one := Of(in.Part)
	switch in.Kind {
	case Hold:
		switch {
		case b.state != Empty:
			return b, dst, errState
		case in.Parts&^All != 0 || in.Parts&Data == 0:
			return b, dst, errParts
		case in.Token == 0:
			return b, dst, errToken
		}
		b.state, b.held, b.token = Open, in.Parts, in.Token
		return b, dst, nil
	case Finished, Quiet, Failed:
		if one == 0 || !b.held.Has(one) {
			return b, dst, errParts
		}
	case Release, Settle:
		return b.end(in, dst)
	default:
		return b, dst, errState
	}
	if in.Kind == Quiet {
		return b.hush(one, dst)
	}
	switch {
	case b.state != Open:
		return b, dst, errState
	case (b.failed | b.finished).Has(one):
		return b, dst, errFinal
	case in.Kind == Failed:
		b.failed |= one
		return b, dst, nil
	case in.Part == PostProcessing && b.Missing()&Data != 0 && !b.bad.Has(wrong.CompleteEarly):
		return b, dst, errEarly
	}
	b.finished |= one
	if b.done(in.Part) {
		b.state = Complete
		return b, append(dst, Effect{Do: Claim, Parts: b.held, Token: b.token}), nil
	}
	return b, dst, nil
}

func (b Bundle) done(p Part) bool {
	return b.Missing() == 0 || b.bad.Has(wrong.PartIsBundle) ||
		b.bad.Has(wrong.CompleteEarly) && b.Missing()&Data == 0
}

// hush records a proof. The last one lets the whole go, where it may go.
func (b Bundle) hush(one Parts, dst []Effect) (Bundle, []Effect, error) {
	if b.state == Gone {
		return b, dst, errSpent
	}
	b.quiet |= one
	if b.Loud() != 0 {
		return b, dst, nil
	}
	switch b.state {
	case Ending:
		b.state = Gone
		return b, append(dst, Effect{Do: LetGo, Parts: b.held, Token: b.token}), nil
	case Isolated:
		b.state = Gone
		return b, append(dst, Effect{Do: Return, Parts: b.held, Token: b.token}), nil
	}
	return b, dst, nil
}

// end uses the token. A Release whose parts are not all quiet waits for them: a
// decision is no proof. Settle then takes the same token and isolates.
func (b Bundle) end(in Input, dst []Effect) (Bundle, []Effect, error) {
	twice := b.bad.Has(wrong.CleanUpTwice)
	switch {
	case b.state == Empty:
		return b, dst, errState
	case in.Token != b.token:
		return b, dst, errToken
	case (b.state == Gone || b.state == Isolated) && !twice, b.state == Ending && in.Kind == Release:
		return b, dst, errSpent
	case b.Loud() == 0, twice && b.state == Gone,
		in.Kind == Settle && b.bad.Has(wrong.FreeOnTimeout),
		in.Kind == Release && b.bad.Has(wrong.PartIsBundle) && b.quiet != 0:
		b.state = Gone
		return b, append(dst, Effect{Do: LetGo, Parts: b.held, Token: b.token}), nil
	case in.Kind == Release:
		b.state = Ending
		return b, dst, nil
	}
	b.state = Isolated
	return b, append(dst, Effect{Do: Isolate, Parts: b.held, Token: b.token}), nil
}
