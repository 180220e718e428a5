package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

// errTooMany ends a run of TLC that has found more states than a mutant of the
// reference is worth.
var errTooMany = errors.New("more states than the limit")

// Reference is the graph of a Go world, made once, against which many TLA+ models or
// other Go worlds are held. It is not safe for use by several goroutines.
type Reference struct {
	p       *pair
	states  int
	actions int
	workers int
}

// NewReference explores m.
func NewReference(ctx context.Context, m catalog.Model, workers int) (*Reference, error) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	p := newPair()
	if err := p.addGo(ctx, m, workers); err != nil {
		return nil, err
	}
	return &Reference{p: p, states: len(p.prints), actions: len(p.actions), workers: workers}, nil
}

// States is the number of states of the reference.
func (r *Reference) States() int { return r.states }

// Verdict says how a model stands to the reference.
type Verdict struct {
	// Violated is the invariant that the model violates; the rest is then unknown.
	Violated string
	// Equal says that the graphs are the same. TooMany says that the model was given up
	// with more than four times the states of the reference.
	Equal, TooMany bool
}

// TLA holds a TLA+ model against the reference. The invariants of its configuration
// are checked on the way. opt.Model is not used.
func (r *Reference) TLA(ctx context.Context, opt Options) (Verdict, error) {
	defer r.reset()
	if opt.HeapMB <= 0 {
		opt.HeapMB = 2048
	}
	opt.Workers = r.workers
	opt.Invariants = true
	dir, err := os.MkdirTemp("", "kvsettle-models-")
	if err != nil {
		return Verdict{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	defer os.RemoveAll(dir)
	job, err := prepare(dir, opt)
	if err != nil {
		return Verdict{}, err
	}
	r.p.limit = limit(r.states)
	o, err := r.p.addTLC(ctx, opt.Tools, job)
	switch {
	case errors.Is(err, errTooMany):
		return Verdict{TooMany: true}, nil
	case err != nil:
		return Verdict{}, err
	case o.Verdict == tlc.Violated:
		return Verdict{Violated: o.Property}, nil
	}
	return Verdict{Equal: r.p.equal()}, nil
}

// World holds another Go world against the reference. Invariants are not checked.
func (r *Reference) World(ctx context.Context, m catalog.Model) (Verdict, error) {
	defer r.reset()
	other := newPair()
	other.numbers, other.prints, other.actions, other.byName = r.p.numbers, r.p.prints, r.p.actions, r.p.byName
	err := other.addGo(ctx, m, r.workers)
	r.p.prints, r.p.actions = other.prints, other.actions
	if err != nil {
		return Verdict{}, err
	}
	r.p.sides[tlcSide] = other.sides[goSide]
	return Verdict{Equal: r.p.equal()}, nil
}

// reset forgets everything but the reference.
func (r *Reference) reset() {
	for _, k := range r.p.prints[r.states:] {
		delete(r.p.numbers, k)
	}
	r.p.prints = r.p.prints[:r.states]
	for _, a := range r.p.actions[r.actions:] {
		delete(r.p.byName, a)
	}
	r.p.actions = r.p.actions[:r.actions]
	r.p.sides[tlcSide] = side{name: r.p.sides[tlcSide].name}
	r.p.limit = 0
}
