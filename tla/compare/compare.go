package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

// Options of Run.
type Options struct {
	Model catalog.Model
	Entry tla.Entry
	Tools tlc.Tools
	// Replace stands in for modules or configurations of the tree, by name.
	Replace map[string][]byte
	// Invariants lets TLC check the invariants of the configuration while it dumps; a
	// violated one ends the run with Result.Violated.
	Invariants bool
	// Brief leaves out the search for the first difference.
	Brief bool
	// Workers is the number of goroutines and of TLC's workers; 0 means one per CPU, at
	// most 2 for TLC. HeapMB bounds Java's heap; 0 means 2048.
	Workers, HeapMB int
	// Progress gets TLC's counts now and then.
	Progress func(generated, distinct int64)
}

// Result of a comparison.
type Result struct {
	Name      string  `json:"name"`
	Size      string  `json:"size"`
	GoStates  int     `json:"go_states"`
	TLCStates int     `json:"tlc_states"`
	GoEdges   int     `json:"go_edges"`
	TLCEdges  int     `json:"tlc_edges"`
	Equal     bool    `json:"equal"`
	Seconds   float64 `json:"seconds"`
	// Violated is the invariant that TLC found violated before the graph was complete.
	Violated string `json:"violated,omitempty"`
	// Stopped says that TLC was ended because it had found far more states than the Go
	// world has; its numbers are then those reached.
	Stopped bool `json:"stopped,omitempty"`
	// Again is why TLC was run a second time, with one worker: a line of its dump could
	// not be read.
	Again string `json:"again,omitempty"`
	// Leaves is the declared projection: what the canonical form leaves out.
	Leaves []string `json:"leaves"`
	// Difference is the first one, when the graphs are not equal.
	Difference *Difference `json:"difference,omitempty"`
}

// Run compares. An error says that a side gave no complete graph; graphs that
// differ are no error.
func Run(ctx context.Context, opt Options) (Result, error) {
	begin := time.Now()
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.HeapMB <= 0 {
		opt.HeapMB = 2048
	}
	res := Result{Name: opt.Model.Name(), Size: opt.Model.Size(), Leaves: opt.Model.Leaves()}
	dir, err := os.MkdirTemp("", "kvsettle-models-")
	if err != nil {
		return res, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	defer os.RemoveAll(dir)
	job, err := prepare(dir, opt)
	if err != nil {
		return res, err
	}
	p := newPair()
	if err := p.addGo(ctx, opt.Model, opt.Workers); err != nil {
		return res, err
	}
	res.GoStates, res.GoEdges = p.sides[goSide].states, len(p.sides[goSide].edges)
	p.limit = limit(res.GoStates)
	o, err := p.addTLC(ctx, opt.Tools, job)
	if unreadable(err) {
		// Seen once in some fifty dumps of two workers, never in one of a single worker.
		res.Again = err.Error()
		p.sides[tlcSide] = side{name: p.sides[tlcSide].name}
		job.Workers = 1
		o, err = p.addTLC(ctx, opt.Tools, job)
	}
	res.Seconds = time.Since(begin).Seconds()
	res.TLCStates, res.TLCEdges = p.sides[tlcSide].states, len(p.sides[tlcSide].edges)
	switch {
	case errors.Is(err, errTooMany):
		res.Stopped = true
	case err != nil:
		return res, err
	case o.Verdict == tlc.Violated:
		res.Violated = o.Property
		return res, nil
	}
	err = nil
	if res.Equal = !res.Stopped && p.equal(); !res.Equal && !opt.Brief {
		res.Difference, err = p.difference(ctx, opt, job)
	}
	res.Seconds = time.Since(begin).Seconds()
	return res, err
}

// unreadable says that a dump has a line that cannot be read, as opposed to a dump
// that ends early.
func unreadable(err error) bool {
	return errors.Is(err, tlc.ErrUnusable) && !errors.Is(err, tlc.ErrTruncated) && strings.Contains(err.Error(), "dump line")
}

// limit is how many states TLC may find for a Go world of so many: a model that lost
// an assignment can have infinitely many.
func limit(states int) int { return 4*states + 1000 }

// prepare writes the modules with a configuration for dumping into dir.
func prepare(dir string, opt Options) (tlc.Job, error) {
	if err := tla.Unpack(dir, opt.Replace); err != nil {
		return tlc.Job{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	cfg, err := os.ReadFile(filepath.Join(dir, opt.Entry.Config))
	if err != nil {
		return tlc.Job{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	name := "graph-of-" + opt.Entry.Config
	if err := os.WriteFile(filepath.Join(dir, name), tla.GraphConfig(cfg, opt.Invariants), 0o600); err != nil {
		return tlc.Job{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return tlc.Job{Dir: dir, Module: opt.Entry.Module, Config: name, Workers: min(opt.Workers, 2), HeapMB: opt.HeapMB, Progress: opt.Progress}, nil
}

// values returns the canonical values of the given states, from whichever side has
// them.
func (p *pair) values(ctx context.Context, opt Options, job tlc.Job, states []uint32) (map[uint32]canon.Value, error) {
	var none canon.Value
	fromGo, fromTLC := map[Print]canon.Value{}, map[Print]canon.Value{}
	for _, n := range states {
		if p.sides[goSide].has(n) {
			fromGo[p.prints[n]] = none
		} else {
			fromTLC[p.prints[n]] = none
		}
	}
	if len(fromGo) > 0 {
		if err := fetchGo(ctx, opt.Model, opt.Workers, fromGo); err != nil {
			return nil, err
		}
	}
	if len(fromTLC) > 0 {
		if err := fetchTLC(ctx, opt.Tools, job, fromTLC); err != nil {
			return nil, err
		}
	}
	out := map[uint32]canon.Value{}
	for _, n := range states {
		out[n] = fromGo[p.prints[n]]
		if !p.sides[goSide].has(n) {
			out[n] = fromTLC[p.prints[n]]
		}
	}
	return out, nil
}
