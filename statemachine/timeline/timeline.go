// Package timeline is the one form in which a run is written down: who did what, in
// which order, and what caused it. It has no clock. docs/timeline.md describes it.
//
// A timeline is text. Its first line is Magic; the second says what the timeline is
// about; then comes one line for each event, and the last says how many there were:
//
//	kvsettle-timeline 1
//	about dialect=plain seed=7
//	1 - ctx-0/17 OnPublish Room=true
//	2 1 gen-0/17 OnValidate Value=true Edges=1
//	3 1,2 ctx-0/17 OnOpen Edges=1
//	end 3
//
// An event has a number, counted from 1, the numbers of the events that caused it
// ("-" for none), an actor, an action and arguments. Every text has one form only:
// what Read accepts, Append writes again byte by byte.
package timeline

import (
	"bytes"
	"strconv"
	"strings"
)

// Magic is the first line.
const Magic = "kvsettle-timeline 1"

// The limits of one event.
const (
	MaxCauses = 16
	MaxArgs   = 64
	MaxToken  = 256
)

// MaxEvents is the largest number of events of a timeline.
const MaxEvents = 1 << 24

// Arg is one argument. Keys and values are tokens: 1 to MaxToken letters, digits and
// characters of "._:/+-".
type Arg struct{ Key, Value string }

// Event is one line. Actor and Action are tokens. Causes are the numbers of earlier
// events, ascending; the slices are the caller's own.
type Event struct {
	Causes []uint32
	Actor  string
	Action string
	Args   []Arg
}

// Arg returns the value of a key; ok is false if the event does not have it.
func (e *Event) Arg(key string) (value string, ok bool) { return find(e.Args, key) }

// Timeline is a whole run.
type Timeline struct {
	// About says what ran: arguments with different keys.
	About []Arg
	// Events in their order. The number of an event is its index plus 1.
	Events []Event
}

// Arg returns the value of a key of About.
func (t *Timeline) Arg(key string) (value string, ok bool) { return find(t.About, key) }

func find(args []Arg, key string) (string, bool) {
	for i := range args {
		if args[i].Key == key {
			return args[i].Value, true
		}
	}
	return "", false
}

// Error says what is wrong with a timeline and where. Line is counted from 1; 0 if
// it was not read from text.
type Error struct {
	Line int
	What string
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return "timeline: " + e.What
	}
	return "timeline: line " + strconv.Itoa(e.Line) + ": " + e.What
}

// Is reports whether target is a *Error.
func (e *Error) Is(target error) bool {
	_, ok := target.(*Error)
	return ok
}

// Writer appends a timeline to a slice, event by event. Use New.
type Writer struct {
	buf []byte
	n   uint32
}

// New begins a timeline at the end of dst.
func New(dst []byte, about []Arg) (*Writer, error) {
	if err := checkArgs(about); err != nil {
		return nil, err
	}
	dst = append(dst, Magic+"\nabout"...)
	return &Writer{buf: append(appendArgs(dst, about), '\n')}, nil
}

// Add appends an event and returns its number. An event that breaks a rule is
// refused with a *Error, and nothing is written.
func (w *Writer) Add(e *Event) (uint32, error) {
	if err := checkEvent(e, w.n); err != nil {
		return 0, err
	}
	w.n++
	w.buf = strconv.AppendUint(w.buf, uint64(w.n), 10)
	sep := byte(' ')
	for _, c := range e.Causes {
		w.buf = strconv.AppendUint(append(w.buf, sep), uint64(c), 10)
		sep = ','
	}
	if len(e.Causes) == 0 {
		w.buf = append(w.buf, " -"...)
	}
	w.buf = append(append(w.buf, ' '), e.Actor...)
	w.buf = append(append(w.buf, ' '), e.Action...)
	w.buf = append(appendArgs(w.buf, e.Args), '\n')
	return w.n, nil
}

// Len is the number of events so far.
func (w *Writer) Len() int { return int(w.n) }

// End returns the finished text. Nothing can be added after it.
func (w *Writer) End() []byte {
	return append(strconv.AppendUint(append(w.buf, "end "...), uint64(w.n), 10), '\n')
}

// Append writes a whole timeline at the end of dst.
func Append(dst []byte, t *Timeline) ([]byte, error) {
	w, err := New(dst, t.About)
	if err != nil {
		return dst, err
	}
	for i := range t.Events {
		if _, err := w.Add(&t.Events[i]); err != nil {
			return dst, err
		}
	}
	return w.End(), nil
}

func appendArgs(dst []byte, args []Arg) []byte {
	for _, a := range args {
		dst = append(append(dst, ' '), a.Key...)
		dst = append(append(dst, '='), a.Value...)
	}
	return dst
}

func token(s string) bool {
	if s == "" || len(s) > MaxToken {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '_', c == ':', c == '/', c == '+', c == '-':
		default:
			return false
		}
	}
	return true
}

func checkArgs(args []Arg) error {
	if len(args) > MaxArgs {
		return &Error{What: "more than " + strconv.Itoa(MaxArgs) + " arguments"}
	}
	for i, a := range args {
		if !token(a.Key) || !token(a.Value) {
			return &Error{What: "argument " + strconv.Quote(a.Key) + " is no pair of tokens"}
		}
		if _, twice := find(args[:i], a.Key); twice {
			return &Error{What: "argument " + a.Key + " comes twice"}
		}
	}
	return nil
}

// checkEvent checks event number n+1.
func checkEvent(e *Event, n uint32) error {
	switch {
	case n >= MaxEvents:
		return &Error{What: "more than " + strconv.Itoa(MaxEvents) + " events"}
	case !token(e.Actor):
		return &Error{What: "actor " + strconv.Quote(e.Actor) + " is no token"}
	case !token(e.Action):
		return &Error{What: "action " + strconv.Quote(e.Action) + " is no token"}
	case len(e.Causes) > MaxCauses:
		return &Error{What: "more than " + strconv.Itoa(MaxCauses) + " causes"}
	}
	last := uint32(0)
	for _, c := range e.Causes {
		if c <= last || c > n {
			return &Error{What: "cause " + strconv.FormatUint(uint64(c), 10) + " is no earlier event, or out of order"}
		}
		last = c
	}
	return checkArgs(e.Args)
}

// Read reads a whole timeline and nothing else: a line that breaks a rule, a gap in
// the numbers, a missing end and anything after the end are refused with a *Error
// that names the line.
func Read(text []byte) (*Timeline, error) {
	r := reader{rest: text}
	t := new(Timeline)
	if line, ok := r.line(); !ok || line != Magic {
		return nil, r.fail("is not " + strconv.Quote(Magic))
	}
	line, ok := r.line()
	word, args := cut(line)
	if !ok || word != "about" {
		return nil, r.fail("does not say what the timeline is about")
	}
	var err error
	if t.About, err = r.args(args); err != nil {
		return nil, err
	}
	if len(appendArgs([]byte("about"), t.About))+1 != r.last {
		return nil, r.fail("is not in the one form of a line")
	}
	for {
		line, ok := r.line()
		if !ok {
			return nil, r.fail("the end is missing")
		}
		word, rest := cut(line)
		if word == "end" {
			if rest != strconv.Itoa(len(t.Events)) {
				return nil, r.fail("the end says " + strconv.Quote(rest) + ", there are " + strconv.Itoa(len(t.Events)) + " events")
			}
			if len(r.rest) > 0 {
				r.n++
				return nil, r.fail("comes after the end")
			}
			return t, nil
		}
		e, err := r.event(word, rest, len(t.Events))
		if err != nil {
			return nil, err
		}
		t.Events = append(t.Events, e)
	}
}

type reader struct {
	rest []byte
	n    int
	last int // length of the line that was read last, its end included
}

func (r *reader) fail(what string) error { return &Error{Line: r.n, What: what} }

// line returns the next line without its end; ok is false where there is none, or
// none that ends.
func (r *reader) line() (string, bool) {
	r.n++
	i := bytes.IndexByte(r.rest, '\n')
	if i < 0 {
		return "", false
	}
	line := string(r.rest[:i])
	r.rest, r.last = r.rest[i+1:], i+1
	return line, true
}

// cut splits at the first space.
func cut(s string) (word, rest string) {
	word, rest, _ = strings.Cut(s, " ")
	return word, rest
}

// number reads a number in the one form that it has.
func number(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && strconv.FormatUint(n, 10) == s
}

func (r *reader) event(id, rest string, n int) (e Event, err error) {
	if id != strconv.Itoa(n+1) {
		return e, r.fail(strconv.Quote(id) + " where event " + strconv.Itoa(n+1) + " or the end is due")
	}
	causes, rest := cut(rest)
	if causes != "-" {
		for _, c := range strings.Split(causes, ",") {
			v, ok := number(c)
			if !ok {
				return e, r.fail("causes are no list of numbers")
			}
			e.Causes = append(e.Causes, v)
		}
	}
	e.Actor, rest = cut(rest)
	e.Action, rest = cut(rest)
	if e.Args, err = r.args(rest); err != nil {
		return e, err
	}
	if err := checkEvent(&e, uint32(n)); err != nil {
		return e, r.fail(err.(*Error).What)
	}
	// One form only: a space at the end, or two of them, is another text.
	w := Writer{n: uint32(n)}
	if _, err := w.Add(&e); err != nil || len(w.buf) != r.last {
		return e, r.fail("is not in the one form of a line")
	}
	return e, nil
}

// args reads "key=value" pairs with one space between.
func (r *reader) args(s string) (args []Arg, err error) {
	for rest := s; rest != ""; {
		var word string
		word, rest = cut(rest)
		key, value, ok := strings.Cut(word, "=")
		if !ok || len(args) >= MaxArgs {
			return nil, r.fail(strconv.Quote(word) + " is no argument, or one too many")
		}
		args = append(args, Arg{key, value})
	}
	if err := checkArgs(args); err != nil {
		return nil, r.fail(err.(*Error).What)
	}
	return args, nil
}
