package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
	"github.com/kvsettle/kvsettle/tla/tlc"
	"github.com/kvsettle/kvsettle/tla/value"
)

// goSink collects the Go graph. Each worker has its own lists.
type goSink struct {
	model   catalog.Model
	workers []goWorker
	wanted  map[Print]canon.Value // if set, only these states are of interest
}

type goWorker struct {
	states []goState
	edges  []goEdge
	buf    []byte
	err    error
	found  map[Print]canon.Value
}

type goState struct {
	id    uint32
	print Print
	first bool // an initial state
}

type goEdge struct {
	from, to uint32
	action   world.Action
}

func (s *goSink) State(worker int, id uint32, key []uint64) {
	w := &s.workers[worker]
	v, err := s.model.Canon(key)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	var k Print
	k, w.buf = printOf(v, w.buf)
	if s.wanted != nil {
		if _, ok := s.wanted[k]; ok {
			w.found[k] = v
		}
		return
	}
	// The first worker is given the initial states before any edge.
	w.states = append(w.states, goState{id, k, worker == 0 && len(w.edges) == 0})
}

func (s *goSink) Edge(worker int, from, to uint32, action world.Action) {
	if s.wanted == nil {
		w := &s.workers[worker]
		w.edges = append(w.edges, goEdge{from, to, action})
	}
}

// exploreWith runs the explorer with a sink, without checking anything: a state
// that violates an invariant is a state all the same.
func exploreWith(ctx context.Context, sink *goSink, workers int) error {
	sink.workers = make([]goWorker, workers)
	for i := range sink.workers {
		sink.workers[i].found = map[Print]canon.Value{}
	}
	_, err := sink.model.Explore(ctx, explore.Options{Workers: workers, SkipHangs: true, Only: []string{"none of them"}, Sink: sink})
	for i := range sink.workers {
		err = errors.Join(err, sink.workers[i].err)
	}
	if err != nil {
		return fmt.Errorf("%w: the Go world: %w", ErrUnusable, err)
	}
	return nil
}

// addGo fills the Go side.
func (p *pair) addGo(ctx context.Context, m catalog.Model, workers int) error {
	sink := &goSink{model: m}
	if err := exploreWith(ctx, sink, workers); err != nil {
		return err
	}
	byID := map[uint32]uint32{}
	edges := 0
	for _, w := range sink.workers {
		for _, s := range w.states {
			n, again := p.state(goSide, s.print, s.first)
			if again {
				return fmt.Errorf("%w: the Go world: two different states have the same canonical form", ErrUnusable)
			}
			byID[s.id] = n
		}
		edges += len(w.edges)
	}
	var names []uint16
	for _, info := range m.Actions() {
		names = append(names, p.action(info.Name))
	}
	g := &p.sides[goSide]
	g.edges = make([]edge, 0, edges)
	for i := range sink.workers {
		for _, e := range sink.workers[i].edges {
			g.edges = append(g.edges, edge{byID[e.from], byID[e.to], names[e.action]})
		}
		sink.workers[i].edges = nil
	}
	return p.close(goSide)
}

// fetchGo returns the values of the wanted states.
func fetchGo(ctx context.Context, m catalog.Model, workers int, wanted map[Print]canon.Value) error {
	sink := &goSink{model: m, wanted: wanted}
	if err := exploreWith(ctx, sink, workers); err != nil {
		return err
	}
	for _, w := range sink.workers {
		for k, v := range w.found {
			wanted[k] = v
		}
	}
	return nil
}

// stream runs TLC and hands its dump to the callbacks while it is written: it goes
// through a pipe and never lies on the disk.
func stream(ctx context.Context, tools tlc.Tools, job tlc.Job, state func(int64, []byte, bool) error, edge func(int64, int64, string) error) (tlc.Outcome, error) {
	dir, err := os.MkdirTemp("", "kvsettle-dump-")
	if err != nil {
		return tlc.Outcome{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	defer os.RemoveAll(dir)
	job.Dump = filepath.Join(dir, "graph.dot")
	if err := syscall.Mkfifo(job.Dump, 0o600); err != nil {
		return tlc.Outcome{}, fmt.Errorf("%w: a pipe for the dump: %w", ErrUnusable, err)
	}
	r, err := os.OpenFile(job.Dump, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return tlc.Outcome{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	defer r.Close()
	// This end keeps the reader from seeing an end before TLC has opened the pipe.
	hold, err := os.OpenFile(job.Dump, os.O_WRONLY, 0)
	if err != nil {
		return tlc.Outcome{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	read := make(chan error, 1)
	go func() {
		err := tlc.ReadDump(r, state, edge)
		if err != nil {
			stop()
			_, _ = io.Copy(io.Discard, r) // TLC must not wait for a reader that has gone
		}
		read <- err
	}()
	o, err := tlc.Run(run, tools, job)
	_ = hold.Close()
	readErr := <-read
	switch {
	case ctx.Err() != nil:
		return o, err
	case readErr != nil && run.Err() != nil && !errors.Is(readErr, tlc.ErrTruncated):
		return o, readErr // TLC was ended because of it
	case err != nil:
		return o, err
	case readErr != nil && o.Verdict == tlc.OK:
		return o, readErr
	}
	return o, nil
}

// addTLC fills TLC's side.
func (p *pair) addTLC(ctx context.Context, tools tlc.Tools, job tlc.Job) (tlc.Outcome, error) {
	var buf []byte
	byID := map[int64]uint32{}
	type raw struct {
		from, to int64
		action   uint16
	}
	var raws []raw
	o, err := stream(ctx, tools, job, func(id int64, text []byte, initial bool) error {
		if n, ok := byID[id]; ok {
			if s := &p.sides[tlcSide]; initial && s.has(n) {
				s.initial[n] = true
			}
			return nil
		}
		v, err := value.ParseState(text)
		if err != nil {
			return fmt.Errorf("%w: TLC: state %d: %w", ErrUnusable, id, err)
		}
		var k Print
		k, buf = printOf(v, buf)
		byID[id], _ = p.state(tlcSide, k, initial)
		if p.limit > 0 && p.sides[tlcSide].states > p.limit {
			return errTooMany
		}
		return nil
	}, func(from, to int64, action string) error {
		raws = append(raws, raw{from, to, p.action(action)})
		return nil
	})
	stopped := errors.Is(err, errTooMany)
	if err != nil && !stopped {
		return o, err
	}
	t := &p.sides[tlcSide]
	t.edges = make([]edge, 0, len(raws))
	for _, e := range raws {
		from, ok1 := byID[e.from]
		to, ok2 := byID[e.to]
		if stopped && (!ok1 || !ok2) {
			continue
		}
		if !ok1 || !ok2 {
			return o, fmt.Errorf("%w: TLC: an edge %s joins a state that was not given", ErrUnusable, p.actions[e.action])
		}
		t.edges = append(t.edges, edge{from, to, e.action})
	}
	if stopped {
		return o, errors.Join(err, p.close(tlcSide))
	}
	if int64(t.states) != o.Distinct && o.Verdict == tlc.OK {
		return o, fmt.Errorf("%w: TLC counts %d states and its dump has %d", ErrUnusable, o.Distinct, t.states)
	}
	return o, p.close(tlcSide)
}

// errFound ends a run that has given all that was asked for.
var errFound = errors.New("found")

// fetchTLC returns the values of the wanted states in a second run.
func fetchTLC(ctx context.Context, tools tlc.Tools, job tlc.Job, wanted map[Print]canon.Value) error {
	var buf []byte
	left := len(wanted)
	_, err := stream(ctx, tools, job, func(id int64, text []byte, _ bool) error {
		v, err := value.ParseState(text)
		if err != nil {
			return err
		}
		var k Print
		k, buf = printOf(v, buf)
		if old, ok := wanted[k]; ok && old.Kind() == 0 {
			wanted[k] = v
			if left--; left == 0 {
				return errFound
			}
		}
		return nil
	}, func(int64, int64, string) error { return nil })
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}
