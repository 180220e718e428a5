package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/timeline"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/simulate"
)

// A trace file has one JSON object a line: first traceHead, then one traceEvent for
// each event, last traceEnd. Events are numbered from 1 and have no clock: their
// order is the order in which they were caused.
type traceHead struct {
	Model string `json:"model"`
	Size  string `json:"size"`
	// Rule is the rule of the world that is broken on purpose; empty for none.
	Rule string `json:"rule,omitempty"`
	// Init is the initial state, counted from 0.
	Init int `json:"init"`
}

type traceEvent struct {
	N     int    `json:"n"`
	Event string `json:"event"`
}

type traceEnd struct {
	Events int `json:"events"`
}

var errTrace = errors.New("trace-unusable")

// readTrace reads a whole trace. A line that it does not know, a gap in the numbers,
// a missing end and anything after the end are errors that wrap errTrace.
func readTrace(r io.Reader) (traceHead, []string, error) {
	var head traceHead
	events := []string{}
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), 1<<20)
	n, ended := 0, false
	strict := func(line []byte, v any) error {
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(v); err != nil {
			return fmt.Errorf("%w: line %d: %w", errTrace, n, err)
		}
		return nil
	}
	for sc.Scan() {
		n++
		line := bytes.TrimSpace(sc.Bytes())
		switch {
		case ended:
			return head, events, fmt.Errorf("%w: line %d comes after the end", errTrace, n)
		case n == 1:
			if err := strict(line, &head); err != nil {
				return head, events, err
			}
		case bytes.Contains(line, []byte(`"events"`)):
			var end traceEnd
			if err := strict(line, &end); err != nil {
				return head, events, err
			}
			if end.Events != len(events) {
				return head, events, fmt.Errorf("%w: line %d says %d events, there are %d", errTrace, n, end.Events, len(events))
			}
			ended = true
		default:
			var ev traceEvent
			if err := strict(line, &ev); err != nil {
				return head, events, err
			}
			if ev.N != len(events)+1 {
				return head, events, fmt.Errorf("%w: line %d: event %d where %d is due", errTrace, n, ev.N, len(events)+1)
			}
			events = append(events, ev.Event)
		}
	}
	if err := sc.Err(); err != nil {
		return head, events, fmt.Errorf("%w: %w", errTrace, err)
	}
	if !ended {
		return head, events, fmt.Errorf("%w: the end is missing after line %d", errTrace, n)
	}
	return head, events, nil
}

func writeTrace(head traceHead, events []string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(head)
	for i, e := range events {
		_ = enc.Encode(traceEvent{i + 1, e})
	}
	_ = enc.Encode(traceEnd{len(events)})
	return b.Bytes()
}

// worldOf makes the model that a trace is of.
func worldOf(name, size, rule string) (catalog.Replayer, error) {
	m, err := catalog.New(name, size)
	if rule != "" {
		m, err = catalog.NewWrong(name, size, rule)
	}
	if err != nil {
		return nil, err
	}
	r, ok := m.(catalog.Replayer)
	if !ok {
		return nil, fmt.Errorf("%w: %s cannot be replayed", catalog.ErrUnknown, name)
	}
	return r, nil
}

func traceCommand(_ context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("trace", flag.ContinueOnError)
	fs.SetOutput(stderr)
	tell := fs.Bool("tell", false, "print every step with what it changes")
	if err := fs.Parse(args); err != nil {
		return exitUsage
	}
	if fs.NArg() != 1 {
		fmt.Fprintln(stderr, "kvmodel: trace needs one file")
		return exitUsage
	}
	text, err := os.ReadFile(fs.Arg(0))
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUnusable
	}
	if bytes.HasPrefix(text, []byte(timeline.Magic)) {
		return traceTimeline(fs.Arg(0), text, *tell, stdout, stderr)
	}
	head, events, err := readTrace(bytes.NewReader(text))
	if err == nil {
		var m catalog.Replayer
		if m, err = worldOf(head.Model, head.Size, head.Rule); err == nil {
			var r catalog.Replayed
			if r, err = m.Replay(fs.Arg(0), head.Init, events); err == nil {
				if *tell {
					fmt.Fprint(stdout, r.Story.Text())
				}
				fmt.Fprintf(stdout, "%d events of %s %s replayed; settled: %v\n", len(events), head.Model, head.Size, r.Settled)
				if len(r.Violated) == 0 {
					return exitOK
				}
				fmt.Fprintf(stderr, "kvmodel: the last state violates %s\n", strings.Join(r.Violated, ", "))
				return exitViolated
			}
		}
	}
	fmt.Fprintf(stderr, "kvmodel: %s: %v\n", fs.Arg(0), err)
	if errors.Is(err, catalog.ErrImpossible) {
		return exitViolated
	}
	return exitUnusable
}

// traceTimeline replays a timeline of a simulation, every input of every machine.
func traceTimeline(name string, text []byte, tell bool, stdout, stderr io.Writer) int {
	tl, err := timeline.Read(text)
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %s: %v\n", name, err)
		return exitUnusable
	}
	found, err := simulate.Replay(tl)
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %s: %v\n", name, err)
		return exitViolated
	}
	if tell {
		fmt.Fprint(stdout, simulate.Tell(name, tl).Text())
	}
	fmt.Fprintf(stdout, "%d events replayed\n", len(tl.Events))
	for _, what := range found {
		fmt.Fprintf(stderr, "kvmodel: a judge found: %s\n", what)
	}
	if len(found) > 0 {
		return exitViolated
	}
	return exitOK
}
