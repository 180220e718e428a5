package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/mutate"
)

// mutateResult is the JSON of mutate. Mutants counts those that made a model.
type mutateResult struct {
	Mutants         int             `json:"mutants"`
	Killed          int             `json:"killed"`
	KilledByCompare int             `json:"killed_by_compare"`
	Equivalent      int             `json:"equivalent"`
	Survived        int             `json:"survived"`
	Unusable        int             `json:"unusable"`
	GoMutants       int             `json:"go_mutants"`
	Kills           map[string]int  `json:"kills"`
	NeverKilled     []string        `json:"properties_that_killed_none"`
	Models          []mutate.Report `json:"models"`
}

func mutateCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var opt mutate.Options
	f, ok := parseTools("mutate", args, stderr, "small,medium", func(fs *flag.FlagSet) {
		fs.IntVar(&opt.Sample, "sample", 0, "take only so many TLA+ mutants, at random")
		fs.Uint64Var(&opt.Seed, "seed", 1, "of the sample")
		fs.StringVar(&opt.Only, "only", "", "take only mutants whose name begins so")
		fs.BoolVar(&opt.NoTLA, "no-tla", false, "leave out the TLA+ mutants")
		fs.BoolVar(&opt.NoGo, "no-go", false, "leave out the wrong rules of the Go world")
	})
	if !ok {
		return exitUsage
	}
	if _, code := f.entries(stderr); code != exitOK {
		return code
	}
	ledger, err := tla.Ledger()
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUnusable
	}
	if !opt.NoTLA {
		if opt.Tools, err = f.tools(ctx, stderr); err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUnusable
		}
	}
	if f.all {
		f.names = catalog.Names()
	}
	opt.Ledger, opt.Sizes, opt.HeapMB = ledger, strings.Split(f.size, ","), f.heap
	opt.Progress = func(o mutate.Outcome) {
		fmt.Fprintf(stderr, "%-28s %-18s %s %s\n", o.Name, o.Result, o.By, o.Note)
	}
	res := mutateResult{Kills: map[string]int{}, NeverKilled: []string{}, Models: []mutate.Report{}}
	code := exitOK
	for _, name := range f.names {
		opt.Model = name
		rep, err := mutate.Run(ctx, opt)
		res.take(rep)
		if err != nil {
			fmt.Fprintf(stderr, "kvmodel: %s: %v\n", name, err)
			code = exitUnusable
			break
		}
	}
	res.NeverKilled = never(ledger, f.names, res.Kills)
	if f.asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		_ = enc.Encode(res)
		return code
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "mutants\tkilled\tby compare\tequivalent\tsurvived\tunusable\tof Go\t")
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", res.Mutants, res.Killed, res.KilledByCompare, res.Equivalent, res.Survived, res.Unusable, res.GoMutants)
	_ = w.Flush()
	for _, p := range slices.Sorted(maps.Keys(res.Kills)) {
		fmt.Fprintf(stdout, "%6d  %s\n", res.Kills[p], p)
	}
	if len(res.NeverKilled) > 0 {
		fmt.Fprintf(stdout, "killed none: %s\n", strings.Join(res.NeverKilled, ", "))
	}
	return code
}

func (r *mutateResult) take(rep mutate.Report) {
	r.Models = append(r.Models, rep)
	r.GoMutants += len(rep.Go)
	for p, n := range rep.Kills {
		r.Kills[p] += n
	}
	for _, o := range slices.Concat(rep.TLA, rep.Go) {
		r.Mutants++
		switch o.Result {
		case mutate.Killed:
			r.Killed++
		case mutate.KilledByCompare:
			r.KilledByCompare++
		case mutate.Equivalent:
			r.Equivalent++
		case mutate.Unusable:
			r.Mutants--
			r.Unusable++
		default:
			r.Survived++
		}
	}
}

// never lists the properties of the configurations that killed no mutant.
func never(ledger []tla.Entry, names []string, kills map[string]int) []string {
	out := []string{}
	for _, e := range ledger {
		if !slices.Contains(names, e.Model) {
			continue
		}
		cfg, err := tla.Files().ReadFile(e.Config)
		if err != nil {
			continue
		}
		inv, temporal := tla.Properties(cfg)
		for _, p := range append(inv, temporal...) {
			if kills[p] == 0 && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
