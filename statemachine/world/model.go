// Package world composes the machines of this room into small closed systems that
// can be enumerated: endpoints, slots, a network that loses, repeats and reorders,
// users who cancel, processes that crash, and deadlines as events. Each such system
// is a Model. Its Next calls the Step functions that the transceiver runs; nothing
// of the protocol is written a second time here.
//
// The package is pure and single-threaded. The explorer in tla/explore enumerates
// a Model, and a TLA+ module of the same name has the same variables and actions.
//
// Time has no length in these worlds: a deadline is an event that may happen as
// soon as the wait has begun. Whatever holds here holds for every choice of
// deadlines. The one assumption about lengths is the control lifetime, which is
// longer than any message stays in the network (see V1).
package world

import (
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/canon"
)

// Action is the index of an action in Model.Actions.
type Action uint8

// Event is one occurrence of an action. Args tell readers which rank or request it
// concerned; they are no part of the action's name.
type Event struct {
	Action Action
	Args   [4]int8
}

// Info describes an action.
type Info struct {
	// Name is the CamelCase name that the TLA+ action has too.
	Name string
	// Fair: if it stays possible it happens (weak fairness). Faults, users and
	// crashes are not fair.
	Fair bool
	// From and To are the actors between which a sequence diagram draws it. A name in
	// braces stands for that argument, as in "GEN {gen}".
	From, To string
	// Args names the arguments, in order. Ranks and requests are shown counted from 1,
	// as the TLA+ module counts them; "kind=a|b" shows a for 0 and b for 1.
	Args []string
}

// Invariant is a property of every reachable state.
type Invariant[S any] struct {
	// Name is CamelCase, as in the TLA+ module.
	Name string
	// Reqs are the requirements that it checks.
	Reqs []string
	// Holds must be true in every reachable state. It must not change s.
	Holds func(s *S) bool
}

// Bound is one limit of a model: how many of something there are, or how often a
// fault may strike.
type Bound struct {
	Name  string
	Value int
}

// Model is a transition system over states S. S must be a comparable type without
// pointers, so that two states are the same exactly when == says so: nothing can be
// left out of a state's identity.
type Model[S comparable] struct {
	// Name is the command-line name.
	Name string
	// Size is the name of the configuration: small, medium or large.
	Size string
	// Bounds are the limits of this configuration.
	Bounds []Bound
	// Actors are the columns of a sequence diagram, left to right.
	Actors []string
	// Actions lists every action; an Event's Action is an index into it.
	Actions []Info
	// Rows names the rows of the specification's transition tables that the machines of
	// this model report; Out.Take counts by index.
	Rows []string
	// Init are the initial states.
	Init []S
	// Next reports every event that is possible in s with the state that it leads to.
	// Several calls with the same s report the same in the same order.
	Next func(s *S, out *Out[S])
	// Invariants are checked on every state.
	Invariants []Invariant[S]
	// Settled says that nothing is owed any more. From every reachable state a fair
	// run must reach a settled state.
	Settled func(s *S) bool
	// Twins, where there is one, gives yield every state that differs from s by a
	// renaming of ranks or requests only. The explorer uses it on demand, never where
	// graphs are compared.
	Twins func(s *S, yield func(*S))
	// Canon returns the value of the TLA+ variables in s, as a record. Different
	// states have different values.
	Canon func(s *S) (canon.Value, error)
	// Leaves lists what Canon leaves out although the Go state has it, each with the
	// reason why it follows from the rest.
	Leaves []string
}

// Out takes the successors of a state. The buffer in it is used again for every
// successor, so that Next does not allocate.
type Out[S any] struct {
	next S
	emit func(Event, *S)
	rows [MaxRows]int64
	// muted: steps are tried out, their rows do not count.
	muted bool
	// scratch is memory that the model uses again from step to step.
	scratch any
}

// MaxRows is the largest number of rows of transition tables that a model can count.
const MaxRows = 256

// Take counts that a row of the specification's transition tables was taken; row is
// an index into Model.Rows. A nil Out counts nothing.
func (o *Out[S]) Take(row int) {
	if o != nil && !o.muted && row < MaxRows {
		o.rows[row]++
	}
}

func (o *Out[S]) mute(on bool) {
	if o != nil {
		o.muted = on
	}
}

// Taken returns how often each row was taken so far.
func (o *Out[S]) Taken() [MaxRows]int64 { return o.rows }

// NewOut returns an Out that hands every successor to emit. The pointer is valid
// during the call only.
func NewOut[S any](emit func(Event, *S)) *Out[S] { return &Out[S]{emit: emit} }

// From starts a successor as a copy of s. The result is valid until the next From.
func (o *Out[S]) From(s *S) *S {
	o.next = *s
	return &o.next
}

// Emit reports the successor that From began.
func (o *Out[S]) Emit(a Action, args ...int8) {
	ev := Event{Action: a}
	copy(ev.Args[:], args)
	o.emit(ev, &o.next)
}

// Describe returns an event as readers see it: the action's name with its
// arguments.
func (m *Model[S]) Describe(ev Event) string { return Text(m.Actions, ev) }

// Text is Describe for a list of actions.
func Text(actions []Info, ev Event) string {
	if int(ev.Action) >= len(actions) {
		return "action " + string(itoa(int(ev.Action)))
	}
	info := &actions[ev.Action]
	if len(info.Args) == 0 {
		return info.Name
	}
	parts := make([]string, 0, len(info.Args))
	for i := range min(len(info.Args), len(ev.Args)) {
		name, value := info.arg(i, ev)
		parts = append(parts, name+"="+value)
	}
	return info.Name + "(" + strings.Join(parts, " ") + ")"
}

// arg returns the name and the shown value of the i-th argument.
func (info *Info) arg(i int, ev Event) (name, value string) {
	name, list, named := strings.Cut(info.Args[i], "=")
	if !named {
		return name, string(itoa(int(ev.Args[i]) + 1))
	}
	values := strings.Split(list, "|")
	if n := int(ev.Args[i]); n >= 0 && n < len(values) {
		return name, values[n]
	}
	return name, string(itoa(int(ev.Args[i])))
}

// Ends returns the two actors of an event.
func (info *Info) Ends(ev Event) (from, to string) {
	from, to = info.From, info.To
	for i := range min(len(info.Args), len(ev.Args)) {
		name, value := info.arg(i, ev)
		from = strings.ReplaceAll(from, "{"+name+"}", value)
		to = strings.ReplaceAll(to, "{"+name+"}", value)
	}
	return from, to
}

func itoa(n int) []byte {
	if n < 0 {
		return append([]byte{'-'}, itoa(-n)...)
	}
	if n < 10 {
		return []byte{byte('0' + n)}
	}
	return append(itoa(n/10), byte('0'+n%10))
}

// collect makes a slice of its own from a read-only table.
func collect[T any](n int, at func(int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = at(i)
	}
	return out
}
