package round

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
)

// Step of the present round that a rank waits for.
type stage uint8

const (
	idle stage = iota
	gathering
	barrier
	failed
)

// Kind of an Input.
type Kind uint8

// The inputs of a Machine.
const (
	// Begin starts the next round; Ranks counts in the first one. The caller sends
	// its own payload, also an empty one, and reports itself with Entered.
	Begin Kind = iota + 1
	// Entered: the payload of Rank for round ID is here.
	Entered
	// Install: this rank has installed what the round decided and enters the
	// installation barrier of the round.
	Install
	// Installed: Rank has entered the installation barrier of round ID.
	Installed
	// Deadline: round-deadline is over for round ID.
	Deadline
)

// Input of Step.
type Input struct {
	Kind  Kind
	Rank  uint8
	Ranks uint8
	// ID is the round that the input is about; 0 for Begin.
	ID uint64
}

// EffectKind of an Effect.
type EffectKind uint8

// The effects of a Machine.
const (
	// Send this rank's payload of round ID to the others, outside of any lock.
	Send EffectKind = iota + 1
	// Arm round-deadline for round ID; it replaces the earlier one.
	Arm
	// Judge: every payload is here, or, with Absent not 0, round-deadline is over.
	// Call Decide for each attempt, exactly once for this round.
	Judge
	// Announce that this rank is in the installation barrier, outside of any lock.
	Announce
	// Pass: every rank is in the barrier. Only now may READY be shown (KS-RND-11).
	Pass
	// Fail: the barrier was not reached by the ranks in Absent; show nothing.
	Fail
	// Watchdog: rounds failed MaxFailures times in a row; end the process.
	Watchdog
)

// MaxFailures is how many rounds in a row may fail before the watchdog of the
// process is called (KS-RND-12).
const MaxFailures = 3

// Effect of Step.
type Effect struct {
	Kind   EffectKind
	ID     uint64
	Absent uint8
}

// Machine is one rank's view of its present round. The zero value takes Begin. It
// is comparable and holds no reference.
type Machine struct {
	id        uint64
	ranks     uint8
	stage     stage
	entered   uint8
	installed uint8
	early     uint8 // ranks whose payload of the next round is here already
	failures  uint8
}

// ID is the present round; 0 before the first.
func (m Machine) ID() uint64 { return m.id }

// Entered returns the ranks whose payload of the present round is here.
func (m Machine) Entered() uint8 { return m.entered }

// Busy says that the present round has not ended.
func (m Machine) Busy() bool { return m.stage == gathering || m.stage == barrier }

// The refusals of Step, as values so that refusing costs no allocation.
var (
	errKind    error = &sm.Refusal{Reason: sm.WrongState, Req: reqLayout, What: "round: unknown input"}
	errRank    error = &sm.Refusal{Reason: sm.UnknownEdge, Req: reqLayout, What: "round: no such rank"}
	errBusy    error = &sm.Refusal{Reason: sm.WrongState, Req: reqEvery, What: "round: the present round has not ended"}
	errStale   error = &sm.Refusal{Reason: sm.StaleGeneration, Req: reqEvery, What: "round: input of another round"}
	errTwice   error = &sm.Refusal{Reason: sm.DuplicateID, Req: reqEvery, What: "round: the rank was heard before"}
	errBarrier error = &sm.Refusal{Reason: sm.WrongState, Req: reqBarrier, What: "round: not in the barrier"}
	errNoRound error = &sm.Refusal{Reason: sm.WrongState, Req: reqEnd, What: "round: no round is open"}
	errSpent   error = &sm.Refusal{Reason: sm.GenerationExhausted, Req: reqLayout, What: "round: round ids are used up"}
)

// Step applies one input. It returns the next machine and dst with the effects
// appended. A refused input returns a *statemachine.Refusal, the machine unchanged
// and dst as it was.
func (m Machine) Step(in Input, dst []Effect) (Machine, []Effect, error) {
	switch in.Kind {
	case Begin:
		return m.begin(in, dst)
	case Entered:
		return m.enter(in, dst)
	case Install:
		if m.stage != barrier && (m.stage != idle || in.ID != m.id || m.id == 0) {
			return m, dst, errBarrier
		}
		m.stage = barrier
		dst = append(dst, Effect{Kind: Announce, ID: m.id}, Effect{Kind: Arm, ID: m.id})
		return m.passed(dst)
	case Installed:
		switch {
		case in.ID != m.id || m.id == 0:
			return m, dst, errStale
		case in.Rank >= m.ranks:
			return m, dst, errRank
		case m.installed&(1<<in.Rank) != 0:
			return m, dst, errTwice
		}
		m.installed |= 1 << in.Rank
		return m.passed(dst)
	case Deadline:
		return m.deadline(in, dst)
	}
	return m, dst, errKind
}

func (m Machine) begin(in Input, dst []Effect) (Machine, []Effect, error) {
	switch {
	case m.Busy():
		return m, dst, errBusy
	case m.id == 0 && (in.Ranks == 0 || in.Ranks > MaxRanks):
		return m, dst, errRank
	case m.id == ^uint64(0):
		return m, dst, errSpent
	}
	if m.id == 0 {
		m.ranks = in.Ranks
	}
	m.id++
	m.stage, m.entered, m.early, m.installed = gathering, m.early&m.all(), 0, 0
	dst = append(dst, Effect{Kind: Send, ID: m.id}, Effect{Kind: Arm, ID: m.id})
	return m.judged(dst)
}

func (m Machine) enter(in Input, dst []Effect) (Machine, []Effect, error) {
	bit := uint8(1) << (in.Rank & 7)
	ranks := m.ranks
	if m.id == 0 {
		ranks = MaxRanks // how many there are is known with the first Begin
	}
	switch {
	case in.Rank >= ranks:
		return m, dst, errRank
	case in.ID == m.id+1:
		// A faster rank is one round ahead; it cannot be further (doubt D14).
		if m.early&bit != 0 {
			return m, dst, errTwice
		}
		m.early |= bit
		return m, dst, nil
	case in.ID != m.id || m.stage != gathering:
		return m, dst, errStale
	case m.entered&bit != 0:
		return m, dst, errTwice
	}
	m.entered |= bit
	return m.judged(dst)
}

func (m Machine) all() uint8 { return 1<<m.ranks - 1 }

func (m Machine) judged(dst []Effect) (Machine, []Effect, error) {
	if m.stage == gathering && m.entered == m.all() {
		m.stage, m.failures = idle, 0
		dst = append(dst, Effect{Kind: Judge, ID: m.id})
	}
	return m, dst, nil
}

func (m Machine) passed(dst []Effect) (Machine, []Effect, error) {
	if m.stage == barrier && m.installed == m.all() {
		m.stage = idle
		dst = append(dst, Effect{Kind: Pass, ID: m.id})
	}
	return m, dst, nil
}

func (m Machine) deadline(in Input, dst []Effect) (Machine, []Effect, error) {
	switch {
	case in.ID != m.id || m.id == 0:
		return m, dst, errStale
	case m.stage == gathering:
		dst = append(dst, Effect{Kind: Judge, ID: m.id, Absent: m.all() &^ m.entered})
	case m.stage == barrier:
		dst = append(dst, Effect{Kind: Fail, ID: m.id, Absent: m.all() &^ m.installed})
	default:
		return m, dst, errNoRound
	}
	m.stage = failed
	if m.failures++; m.failures >= MaxFailures {
		m.failures = MaxFailures
		dst = append(dst, Effect{Kind: Watchdog, ID: m.id})
	}
	return m, dst, nil
}
