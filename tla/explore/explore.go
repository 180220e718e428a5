// Package explore enumerates the reachable states of a model of statemachine/world,
// breadth first, checks every invariant on every state, and looks for hangs:
// states from which a fair run need not end settled.
package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvsettle/kvsettle/statemachine/world"
)

// Errors of Run. A run that ends with one of them has checked only a part.
var (
	ErrTooLarge = errors.New("more states than the limit")
	ErrStopped  = errors.New("stopped before the end")
	ErrModel    = errors.New("model is unusable")
)

// maxActions is the largest number of actions of a model.
const maxActions = 128

// Options of Run. The zero value explores with one worker per CPU and looks for
// hangs.
type Options struct {
	// Workers is the number of goroutines; 0 means one per CPU. With one worker the
	// order is the same each time.
	Workers int
	// MaxStates ends a run that finds more states with ErrTooLarge; 0 means no limit.
	MaxStates int
	// SkipHangs leaves out the search for hangs and the memory for edges.
	SkipHangs bool
	// Only, if set, names the invariants to check; Stuck and Cycle are then looked for
	// only if they are named too.
	Only []string
	// Symmetry merges states that the model calls twins.
	Symmetry bool
	// Progress is called about once per Every (default 1 s) from another goroutine.
	Progress func(Progress)
	Every    time.Duration
	// Sink, if set, sees every state and every labelled edge. With several workers it
	// is called by several goroutines.
	Sink Sink
}

// Sink sees the graph as it is found. The state is passed by its key; numbers are
// those of a state in this run.
type Sink interface {
	State(worker int, id uint32, key []uint64)
	Edge(worker int, from, to uint32, action world.Action)
}

// Progress of a run.
type Progress struct {
	States, Edges int64
	Depth         int
	Frontier      int
	Seconds       float64
}

// Memory is what a run took, in bytes, at its largest.
type Memory struct {
	// Seen is the set of states with the parent links; PerState the same by state.
	Seen     int     `json:"seen"`
	PerState float64 `json:"per_state"`
	Frontier int     `json:"frontier"`
	Edges    int     `json:"edges"`
}

// Report is the outcome of a run.
type Report struct {
	Name   string
	Size   string
	States int
	// Expanded is the number of states whose successors are known: all of them, unless
	// the run ended early.
	Expanded int
	// Edges is the number of different triples (state, action, state).
	Edges int
	// Depth is the length of the longest shortest path, counted in states.
	Depth   int
	Settled int
	Seconds float64
	Memory  Memory
	// Fired counts, by action, how often it led from a state to another or the same.
	Fired []int64
	// Rows counts, by index into the model's Rows, how often each row of the
	// specification's tables was taken.
	Rows []int64
	// Violations has the shortest counterexample of each invariant that was violated
	// on the first level where any was.
	Violations []Violation
	// Hangs has the shortest path into each way to hang, at most maxHangs of them.
	Hangs []Violation
	// HangStates is the number of states in which a fair run can stay for ever.
	HangStates int
}

// Violation is a property that does not hold, with how to get there.
type Violation struct {
	// Property is the invariant's name, or Stuck or Cycle.
	Property string
	Reqs     []string
	Path     Path
}

// The properties that a hang violates.
const (
	Stuck = "Stuck"
	Cycle = "Cycle"
)

// Path is a run of a model: the initial state's number in Model.Init, then events.
type Path struct {
	Init   int
	Events []world.Event
	// Loop is the index of the event with which the cycle begins, or -1.
	Loop int
}

// Run explores m. A violation is no error; an error wraps ErrModel, ErrTooLarge or
// ErrStopped, and for the last two the report has what was reached.
func Run[S comparable](ctx context.Context, m *world.Model[S], opt Options) (Report, error) {
	codec, err := NewCodec[S]()
	if err != nil {
		return Report{}, fmt.Errorf("%w: %s: %w", ErrModel, m.Name, err)
	}
	return RunWith(ctx, m, codec, opt)
}

// RunWith is Run with a codec of the caller's, which then reads the keys that the
// Sink gets.
func RunWith[S comparable](ctx context.Context, m *world.Model[S], codec *Codec[S], opt Options) (Report, error) {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	r, err := newRunner(m, codec, opt)
	if err != nil {
		return Report{}, err
	}
	rep, err := r.run(ctx)
	if opt.Workers > 1 && err == nil && len(rep.Violations)+len(rep.Hangs) > 0 {
		// Which of several shortest paths was found first depends on the workers. One
		// worker finds the same one each time.
		opt.Workers, opt.Sink = 1, nil
		return RunWith(ctx, m, codec, opt)
	}
	return rep, err
}

type runner[S comparable] struct {
	m     *world.Model[S]
	opt   Options
	codec *Codec[S]
	check []int // invariants to check
	seen  seen

	level   []*block
	depth   int
	workers []*worker[S]
	begin   time.Time

	mu      sync.Mutex
	bad     []found
	maxLine int // most bytes in frontiers
}

type found struct {
	id        uint32
	invariant int
}

// block is a part of a frontier: states as keys, one after the other.
type block struct {
	ids  []uint32
	keys []uint64
}

const blockStates = 256

func newRunner[S comparable](m *world.Model[S], codec *Codec[S], opt Options) (*runner[S], error) {
	switch {
	case len(m.Actions) > maxActions:
		return nil, fmt.Errorf("%w: %s has %d actions, more than %d", ErrModel, m.Name, len(m.Actions), maxActions)
	case len(m.Init) == 0:
		return nil, fmt.Errorf("%w: %s has no initial state", ErrModel, m.Name)
	case len(m.Rows) > world.MaxRows:
		return nil, fmt.Errorf("%w: %s has %d rows, more than %d", ErrModel, m.Name, len(m.Rows), world.MaxRows)
	case m.Next == nil || m.Settled == nil:
		return nil, fmt.Errorf("%w: %s lacks Next or Settled", ErrModel, m.Name)
	}
	r := &runner[S]{m: m, opt: opt, codec: codec}
	for i, inv := range m.Invariants {
		if len(opt.Only) == 0 || slices.Contains(opt.Only, inv.Name) {
			r.check = append(r.check, i)
		}
	}
	if len(opt.Only) > 0 && !slices.Contains(opt.Only, Stuck) && !slices.Contains(opt.Only, Cycle) {
		r.opt.SkipHangs = true
	}
	return r, nil
}

func (r *runner[S]) run(ctx context.Context) (Report, error) {
	r.begin = time.Now()
	for i := range r.opt.Workers {
		r.workers = append(r.workers, newWorker(r, i))
	}
	stop := r.report()
	defer stop()
	w := r.workers[0]
	w.from, w.depth = none, 1
	for i := range r.m.Init {
		w.visit(world.Event{}, &r.m.Init[i])
	}
	err := r.levels(ctx)
	stop()
	return r.finish(err)
}

// levels explores level by level until no state is new, a property is violated or
// something ends the run.
func (r *runner[S]) levels(ctx context.Context) error {
	for {
		r.level = r.level[:0]
		line := 0
		for _, w := range r.workers {
			w.flush()
			r.level = append(r.level, w.next...)
			w.next = w.next[:0]
		}
		for _, b := range r.level {
			line += cap(b.ids)*4 + cap(b.keys)*8
		}
		r.maxLine = max(r.maxLine, line)
		if len(r.level) == 0 || len(r.bad) > 0 {
			return nil
		}
		r.depth++
		var next atomic.Int64
		var wg sync.WaitGroup
		for _, w := range r.workers {
			wg.Go(func() { w.work(ctx, r.level, &next, r.depth+1) })
		}
		wg.Wait()
		switch n := r.seen.len(); {
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", ErrStopped, ctx.Err())
		case r.opt.MaxStates > 0 && n > r.opt.MaxStates:
			return fmt.Errorf("%w: %d states at depth %d, limit %d", ErrTooLarge, n, r.depth, r.opt.MaxStates)
		case r.seen.full() || r.depth >= 1<<16-2:
			return fmt.Errorf("%w: %d states at depth %d", ErrTooLarge, n, r.depth)
		}
	}
}

// report calls Progress now and then until the returned function is called.
func (r *runner[S]) report() (stop func()) {
	if r.opt.Progress == nil {
		return func() {}
	}
	every := r.opt.Every
	if every <= 0 {
		every = time.Second
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				var p Progress
				for _, w := range r.workers {
					p.States += w.states.Load()
					p.Edges += w.edges.Load()
					p.Depth = max(p.Depth, int(w.level.Load()))
				}
				p.Seconds = time.Since(r.begin).Seconds()
				r.opt.Progress(p)
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-ended })
}

func (r *runner[S]) finish(err error) (Report, error) {
	rep := Report{Name: r.m.Name, Size: r.m.Size, States: r.seen.len(), Depth: r.depth, Fired: make([]int64, len(r.m.Actions)),
		Rows: make([]int64, len(r.m.Rows))}
	for _, w := range r.workers {
		rep.Edges += int(w.edges.Load())
		rep.Expanded += int(w.states.Load())
		rep.Settled += w.settled
		for a, n := range w.fired {
			if a < len(rep.Fired) {
				rep.Fired[a] += n
			}
		}
		taken := w.out.Taken()
		for i := range rep.Rows {
			rep.Rows[i] += taken[i]
		}
		rep.Memory.Edges += w.log.bytes()
	}
	rep.Memory.Seen = r.seen.bytes()
	rep.Memory.PerState = float64(rep.Memory.Seen) / float64(max(rep.States, 1))
	rep.Memory.Frontier = r.maxLine
	if perr := r.violations(&rep); perr != nil && err == nil {
		err = perr
	}
	if err == nil && len(r.bad) == 0 && !r.opt.SkipHangs {
		err = r.hangs(&rep)
	}
	rep.Seconds = time.Since(r.begin).Seconds()
	return rep, err
}

// violations gives the shortest path to each invariant that was violated.
func (r *runner[S]) violations(rep *Report) error {
	first := make(map[int]uint32)
	for _, b := range r.bad {
		if id, ok := first[b.invariant]; !ok || r.seen.entry(b.id).depth < r.seen.entry(id).depth {
			first[b.invariant] = b.id
		}
	}
	for i, inv := range r.m.Invariants {
		id, ok := first[i]
		if !ok {
			continue
		}
		path, err := r.path(id)
		if err != nil {
			return err
		}
		rep.Violations = append(rep.Violations, Violation{Property: inv.Name, Reqs: inv.Reqs, Path: path})
	}
	return nil
}

// path replays the parent links of a state from its initial state on.
func (r *runner[S]) path(id uint32) (Path, error) {
	var chain []*entry
	for at := id; at != none; at = r.seen.entry(at).parent {
		chain = append(chain, r.seen.entry(at))
	}
	p := Path{Init: -1, Loop: -1}
	w := newWorker(r, 0)
	var s S
	last := len(chain) - 1
	for i := range r.m.Init {
		if w.print(&r.m.Init[i]) == chain[last].print {
			p.Init, s = i, r.m.Init[i]
			break
		}
	}
	if p.Init < 0 {
		return p, fmt.Errorf("%w: %s: a path does not begin in an initial state", ErrModel, r.m.Name)
	}
	for i := last - 1; i >= 0; i-- {
		ev, next, ok := r.step(w, &s, chain[i].print, int(chain[i].action))
		if !ok {
			return p, fmt.Errorf("%w: %s: Next does not report the same events again after %d steps", ErrModel, r.m.Name, last-i-1)
		}
		p.Events = append(p.Events, ev)
		s = next
	}
	return p, nil
}

// step finds the event of the given action that leads from s to the state with the
// given fingerprint.
func (r *runner[S]) step(w *worker[S], s *S, to Print, action int) (ev world.Event, next S, ok bool) {
	out := world.NewOut(func(e world.Event, n *S) {
		if !ok && int(e.Action) == action && w.print(n) == to {
			ev, next, ok = e, *n, true
		}
	})
	r.m.Next(s, out)
	return ev, next, ok
}

// Replay returns the states of a path, the initial one first.
func Replay[S comparable](m *world.Model[S], p Path) ([]S, error) {
	if p.Init < 0 || p.Init >= len(m.Init) {
		return nil, fmt.Errorf("%w: %s has no initial state %d", ErrModel, m.Name, p.Init)
	}
	states := []S{m.Init[p.Init]}
	for i, want := range p.Events {
		found := false
		var next S
		m.Next(&states[i], world.NewOut(func(e world.Event, n *S) {
			if !found && e == want {
				found, next = true, *n
			}
		}))
		if !found {
			return states, fmt.Errorf("%w: %s: event %d, %s, is not possible there", ErrModel, m.Name, i+1, m.Describe(want))
		}
		states = append(states, next)
	}
	return states, nil
}
