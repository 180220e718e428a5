package mutate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/compare"
	"github.com/kvsettle/kvsettle/tla/explore"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

// How a mutant ended.
const (
	Killed          = "killed"
	KilledByCompare = "killed by compare"
	Equivalent      = "equivalent"
	// Unusable: the change made no model that TLC can run; such a one counts as none.
	Unusable = "unusable"
)

// Outcome of one mutant.
type Outcome struct {
	Name   string `json:"name"`
	Where  string `json:"where,omitempty"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Result string `json:"result"`
	// By is the property that killed it, Size the configuration in which.
	By   string `json:"by,omitempty"`
	Size string `json:"size,omitempty"`
	Note string `json:"note,omitempty"`
}

// Report of one model. TLA+ and Go mutants are apart.
type Report struct {
	Model string    `json:"model"`
	TLA   []Outcome `json:"tla"`
	Go    []Outcome `json:"go"`
	// Kills counts, by property, the mutants of either kind that it killed.
	Kills map[string]int `json:"kills"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// Options of Run.
type Options struct {
	Model string
	// Sizes are tried in this order until a mutant is killed.
	Sizes  []string
	Ledger []tla.Entry
	Tools  tlc.Tools
	// Sample, if positive, takes so many TLA+ mutants at random by Seed. Only keeps those
	// whose name begins so. NoTLA and NoGo leave one kind out.
	Sample      int
	Seed        uint64
	Only        string
	NoTLA, NoGo bool
	HeapMB      int
	// Progress gets every outcome.
	Progress func(Outcome)
}

// Of returns the TLA+ mutants of the modules that a root module uses.
func Of(root string) ([]Mutant, error) {
	modules := map[string][]byte{}
	names, err := fs.Glob(tla.Files(), "*.tla")
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if modules[n], err = tla.Files().ReadFile(n); err != nil {
			return nil, err
		}
	}
	used := map[string]bool{}
	var visit func(string)
	visit = func(file string) {
		text, ok := modules[file]
		if !ok || used[file] {
			return
		}
		used[file] = true
		for _, line := range strings.Split(string(text), "\n") {
			if rest, ok := strings.CutPrefix(line, "EXTENDS "); ok {
				for _, m := range strings.Split(rest, ",") {
					visit(strings.TrimSpace(m) + ".tla")
				}
			}
			if _, rest, ok := strings.Cut(line, "INSTANCE "); ok {
				m, _, _ := strings.Cut(rest, " ")
				visit(strings.TrimSpace(m) + ".tla")
			}
		}
	}
	visit(root + ".tla")
	actions := Actions(modules)
	var out []Mutant
	for _, n := range names {
		// Modules of configurations hold bounds, not rules.
		if used[n] && !strings.HasSuffix(n, "Cases.tla") {
			out = append(out, Mutants(n, modules[n], actions)...)
		}
	}
	return out, nil
}

// Run breaks one model in every way and reports what saw it.
func Run(ctx context.Context, opt Options) (Report, error) {
	begin := time.Now()
	rep := Report{Model: opt.Model, TLA: []Outcome{}, Go: []Outcome{}, Kills: map[string]int{}}
	note := func(list *[]Outcome, o Outcome) {
		*list = append(*list, o)
		if o.Result == Killed {
			rep.Kills[o.By]++
		}
		if opt.Progress != nil {
			opt.Progress(o)
		}
	}
	if !opt.NoGo {
		for _, rule := range catalog.Wrongs(opt.Model) {
			if !strings.HasPrefix(rule, opt.Only) {
				continue
			}
			o, err := world(ctx, opt, rule)
			if err != nil {
				return rep, err
			}
			note(&rep.Go, o)
		}
	}
	if opt.NoTLA {
		return rep, nil
	}
	mutants, refs, err := prepare(ctx, opt)
	if err != nil {
		return rep, err
	}
	for _, m := range mutants {
		o, err := model(ctx, opt, m, refs)
		if err != nil {
			return rep, err
		}
		note(&rep.TLA, o)
	}
	rep.Seconds = time.Since(begin).Seconds()
	return rep, nil
}

// reference is the right graph of one size.
type reference struct {
	entry tla.Entry
	ref   *compare.Reference
}

func prepare(ctx context.Context, opt Options) ([]Mutant, map[string]*reference, error) {
	refs := map[string]*reference{}
	for _, size := range opt.Sizes {
		e, err := tla.Find(opt.Ledger, opt.Model, size)
		if err != nil {
			return nil, nil, err
		}
		refs[size] = &reference{entry: e}
	}
	mutants, err := Of(refs[opt.Sizes[0]].entry.Module)
	if err != nil {
		return nil, nil, err
	}
	mutants = slices.DeleteFunc(mutants, func(m Mutant) bool { return !strings.HasPrefix(m.Name, opt.Only) })
	if opt.Sample > 0 && opt.Sample < len(mutants) {
		rng := rand.New(rand.NewPCG(opt.Seed, 6))
		rng.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:opt.Sample]
	}
	return mutants, refs, nil
}

// model runs one TLA+ mutant.
func model(ctx context.Context, opt Options, m Mutant, refs map[string]*reference) (Outcome, error) {
	o := Outcome{Name: m.Name, Where: m.Definition, From: m.From, To: m.To, Result: Equivalent}
	for _, size := range opt.Sizes {
		r := refs[size]
		if r.ref == nil {
			right, err := catalog.New(opt.Model, size)
			if err != nil {
				return o, err
			}
			if r.ref, err = compare.NewReference(ctx, right, 0); err != nil {
				return o, err
			}
		}
		v, err := r.ref.TLA(ctx, compare.Options{Entry: r.entry, Tools: opt.Tools, HeapMB: opt.HeapMB, Replace: map[string][]byte{m.Module: m.Text}})
		o.Size = size
		switch {
		case ctx.Err() != nil:
			return o, ctx.Err()
		case errors.Is(err, tlc.ErrUnusable), errors.Is(err, compare.ErrUnusable):
			o.Result, o.Note = Unusable, firstLine(err)
			return o, nil
		case err != nil:
			return o, err
		case v.Violated != "":
			o.Result, o.By = Killed, v.Violated
			return o, nil
		case v.TooMany:
			o.Result, o.Note = KilledByCompare, "more than four times the states"
			return o, nil
		case !v.Equal:
			o.Result = KilledByCompare
			return o, nil
		}
	}
	return o, nil
}

// world runs one wrong rule of the Go world.
func world(ctx context.Context, opt Options, rule string) (Outcome, error) {
	o := Outcome{Name: rule, Result: Equivalent}
	for _, size := range opt.Sizes {
		bad, err := catalog.NewWrong(opt.Model, size, rule)
		if err != nil {
			return o, err
		}
		o.Size = size
		right, err := catalog.New(opt.Model, size)
		if err != nil {
			return o, err
		}
		ref, err := compare.NewReference(ctx, right, 0)
		if err != nil {
			return o, err
		}
		// A broken rule can make the world endless.
		rep, err := bad.Explore(ctx, explore.Options{MaxStates: 4*ref.States() + 1000})
		if all := append(rep.Violations, rep.Hangs...); len(all) > 0 {
			o.Result, o.By = Killed, all[0].Property
			return o, nil
		}
		if errors.Is(err, explore.ErrTooLarge) {
			o.Result, o.Note = KilledByCompare, "more than four times the states"
			return o, nil
		}
		if err != nil {
			return o, err
		}
		v, err := ref.World(ctx, bad)
		if err != nil {
			return o, err
		}
		if !v.Equal {
			o.Result = KilledByCompare
			return o, nil
		}
	}
	return o, nil
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Sprintf("%.160s", s)
}
