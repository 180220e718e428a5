package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/timeline"
	"github.com/kvsettle/kvsettle/tla/simulate"
)

// simulateResult is the JSON of simulate. The first four numbers must be zero, and so
// must be those of Other.
type simulateResult struct {
	Hangs         int              `json:"hangs"`
	UnsafeReuse   int              `json:"unsafe_reuse"`
	LostSlots     int              `json:"lost_slots"`
	DoubleCleanup int              `json:"double_cleanup"`
	Other         simulate.Verdict `json:"judged"`
	simulate.Ends
	Restarts  map[string]int `json:"restarts"`
	Crashes   int            `json:"crashes"`
	Held      int            `json:"slots_held"`
	Faults    map[string]int `json:"faults"`
	Schedules int            `json:"schedules"`
	First     uint64         `json:"seed"`
	Transfers int            `json:"transfers"`
	Events    int            `json:"events"`
	Messages  int            `json:"messages"`
	Seconds   float64        `json:"seconds"`
	// CPUSeconds is what the process used; 0 where it cannot be measured.
	CPUSeconds float64                   `json:"cpu_seconds"`
	PerMinute  float64                   `json:"schedules_per_minute"`
	Workers    int                       `json:"workers"`
	Dialects   map[string]simulateByKind `json:"dialects"`
	Failures   []simulate.Failure        `json:"failures"`
	Compare    []simulate.Comparison     `json:"compare,omitempty"`
}

// simulateByKind is the part of one dialect.
type simulateByKind struct {
	Schedules int `json:"schedules"`
	simulate.Ends
	Restarts map[string]int `json:"restarts"`
	Messages int            `json:"messages"`
}

type simulateFlags struct {
	o       simulate.Options
	only    int64
	asJSON  bool
	compare bool
	out     string
}

func parseSimulate(args []string, stderr io.Writer) (f simulateFlags, ok bool) {
	fs := flag.NewFlagSet("simulate", flag.ContinueOnError)
	fs.SetOutput(stderr)
	f.o.Shape = simulate.DefaultShape()
	var dialects string
	fs.IntVar(&f.o.Schedules, "schedules", 10_000, "how many schedules to run")
	fs.Uint64Var(&f.o.First, "seed", 1, "seed of the first schedule")
	fs.Int64Var(&f.only, "only", -1, "run this seed alone; if it fails, shrink it and write what happens")
	fs.StringVar(&dialects, "dialects", "", "dialects that the seeds take turns in, with commas between (default: all)")
	fs.IntVar(&f.o.Shape.Transfers, "transfers", f.o.Shape.Transfers, "transfers of each schedule")
	fs.IntVar(&f.o.Workers, "workers", runtime.GOMAXPROCS(0), "goroutines")
	fs.BoolVar(&f.asJSON, "json", false, "one JSON object on stdout")
	fs.BoolVar(&f.compare, "compare", false, "also run lost notices and user cancels in plain v2, with bit 48, bit 49 and both, side by side")
	fs.StringVar(&f.out, "out", "", "where the timeline and picture of --only go")
	if err := fs.Parse(args); err != nil {
		return f, false
	}
	if dialects != "" {
		for _, name := range strings.Split(dialects, ",") {
			d, err := simulate.ParseDialect(name)
			if err != nil {
				fmt.Fprintln(stderr, "kvmodel:", err)
				return f, false
			}
			f.o.Dialects = append(f.o.Dialects, d)
		}
	}
	if fs.NArg() > 0 || f.o.Schedules < 1 || f.o.Workers < 1 || f.o.Shape.Transfers < 1 || f.o.Shape.Transfers > 4096 {
		fmt.Fprintln(stderr, "kvmodel: simulate takes flags only; schedules, workers and transfers (up to 4096) are positive")
		return f, false
	}
	return f, true
}

func simulateCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, ok := parseSimulate(args, stderr)
	if !ok {
		return exitUsage
	}
	if f.only >= 0 {
		return simulateOnly(f, stdout, stderr)
	}
	if f.o.Schedules >= 50_000 {
		f.o.Progress = func(done int) {
			if done%10_000 == 0 {
				fmt.Fprintf(stderr, "kvmodel: %d of %d schedules\n", done, f.o.Schedules)
			}
		}
	}
	before := cpuSeconds(false)
	rep, err := simulate.Many(ctx, f.o)
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v after %d schedules\n", err, rep.Schedules)
		return exitUnusable
	}
	r := simulateReport(&f, &rep, cpuSeconds(false)-before)
	bad := rep.Bad()
	if f.compare {
		var v simulate.Verdict
		if r.Compare, v, err = simulate.Compare(ctx, f.o); err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUnusable
		}
		bad += v.Bad()
	}
	if f.asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		_ = enc.Encode(r)
	} else {
		simulateText(stdout, &r)
	}
	for _, x := range rep.Failures {
		fmt.Fprintf(stderr, "kvmodel: %s (see: kvmodel simulate --only %d%s)\n", x.What, x.Seed, f.again())
	}
	if bad > 0 {
		return exitViolated
	}
	return exitOK
}

// again names the flags that a seed's schedule depends on.
func (f *simulateFlags) again() string {
	s := ""
	if len(f.o.Dialects) > 0 {
		var names []string
		for _, d := range f.o.Dialects {
			names = append(names, d.String())
		}
		s += " --dialects " + strings.Join(names, ",")
	}
	if f.o.Shape.Transfers != simulate.DefaultShape().Transfers {
		s += fmt.Sprintf(" --transfers %d", f.o.Shape.Transfers)
	}
	return s
}

func simulateReport(f *simulateFlags, rep *simulate.Report, cpu float64) simulateResult {
	r := simulateResult{Hangs: rep.Hangs, UnsafeReuse: rep.UnsafeReuse, LostSlots: rep.LostSlots, DoubleCleanup: rep.DoubleCleanup,
		Other: rep.Verdict, Ends: rep.Ends, Restarts: rep.Restarts.Map(), Crashes: rep.Crashes, Held: rep.Held, Faults: rep.Applied.Map(),
		Schedules: rep.Schedules, First: f.o.First, Transfers: rep.Transfers, Events: rep.Events, Messages: rep.Messages,
		Seconds: rep.Seconds, CPUSeconds: cpu, PerMinute: float64(rep.Schedules) / max(rep.Seconds, 1e-9) * 60, Workers: f.o.Workers,
		Dialects: map[string]simulateByKind{}, Failures: append([]simulate.Failure{}, rep.Failures...)}
	for d := range simulate.NumDialects {
		if n := rep.Counts[d]; n > 0 {
			one := &rep.ByDialect[d]
			r.Dialects[d.String()] = simulateByKind{n, one.Ends, one.Restarts.Map(), one.Messages}
		}
	}
	return r
}

func simulateText(w io.Writer, r *simulateResult) {
	fmt.Fprintf(w, "%d schedules of %d transfers in %.1f s (%.0f per minute, %d workers): %d hangs, %d unsafe reuse, %d lost slots, %d double clean-up, %d other\n",
		r.Schedules, r.Transfers/max(r.Schedules, 1), r.Seconds, r.PerMinute, r.Workers, r.Hangs, r.UnsafeReuse, r.LostSlots, r.DoubleCleanup,
		r.Other.Bad()-r.Hangs-r.UnsafeReuse-r.LostSlots-r.DoubleCleanup)
	for d := range simulate.NumDialects {
		if x, ok := r.Dialects[d.String()]; ok {
			n := 0
			for _, v := range x.Restarts {
				n += v
			}
			fmt.Fprintf(w, "%-9s %d completed (%d recovered), %d rejected, %d cancelled, %d failed (%d unknown), %d quiesced, %d not admitted, %d lost with their process; %d restarts\n",
				d, x.Completed, x.Recovered, x.Rejected, x.Cancelled, x.Failed, x.Unknown, x.Quiesced, x.Refused, x.Lost, n)
		}
	}
	for _, c := range r.Compare {
		fmt.Fprintf(w, "%s, %d rank(s) a side, %d schedules:", c.Fault, c.Ranks, c.Schedules)
		for _, p := range c.Prices {
			fmt.Fprintf(w, "  %s %d restarts for %d (%.3f each)", p.Dialect, p.Restarts, p.Faults, p.PerFault)
		}
		fmt.Fprintln(w)
	}
}

// simulateOnly runs one seed. If a judge finds something, the schedule is shrunk and
// what happens in the rest is written down.
func simulateOnly(f simulateFlags, stdout, stderr io.Writer) int {
	seed := uint64(f.only)
	sch := simulate.Draw(seed, f.o.DialectOf(seed), f.o.Shape)
	sim := simulate.New()
	res := sim.Run(sch)
	if res.Bad() == 0 {
		if f.out != "" {
			return simulateWrite(f, sch, stdout, stderr)
		}
		fmt.Fprintf(stdout, "seed %d, %s, %d+%d ranks: nothing found; %d completed of %d\n", seed, sch.Dialect, sch.CtxRanks, sch.GenRanks, res.Completed, res.Transfers)
		return exitOK
	}
	fmt.Fprintln(stderr, "kvmodel:", res.First)
	small := simulate.Shrink(sch, 5000, func(s *simulate.Schedule) bool { r := sim.Run(s); return r.Bad() > 0 })
	fmt.Fprintf(stdout, "shrunk to %d transfers and %d faults\n", len(small.Transfers), len(small.Faults))
	for _, x := range small.Faults {
		fmt.Fprintf(stdout, "  %v of transfer %d: edge %d, number %d, at %d us, for %d us\n", x.Kind, x.Transfer, x.Edge, x.N, x.At/simulate.Microsecond, x.For/simulate.Microsecond)
	}
	if code := simulateWrite(f, small, stdout, stderr); code != exitOK {
		return code
	}
	return exitViolated
}

// simulateWrite records a schedule and writes its timeline and picture; without a
// folder the text goes to stdout.
func simulateWrite(f simulateFlags, sch *simulate.Schedule, stdout, stderr io.Writer) int {
	res, text, err := simulate.Record(sch, simulate.Wrong{})
	var tl *timeline.Timeline
	if err == nil {
		tl, err = timeline.Read(text)
	}
	if err != nil {
		fmt.Fprintln(stderr, "kvmodel:", err)
		return exitUnusable
	}
	title := fmt.Sprintf("seed %d, %s: ", sch.Seed, sch.Dialect) + res.First
	story := simulate.Tell(title, tl)
	if f.out == "" {
		fmt.Fprint(stdout, story.Text())
		return exitOK
	}
	base := filepath.Join(f.out, fmt.Sprintf("seed-%d", sch.Seed))
	err = os.MkdirAll(f.out, 0o755)
	for ext, b := range map[string][]byte{".timeline": text, ".txt": []byte(story.Text()), ".svg": []byte(story.SVG()), ".mmd": []byte(story.Mermaid())} {
		err = errors.Join(err, os.WriteFile(base+ext, b, 0o644))
	}
	if err != nil {
		fmt.Fprintln(stderr, "kvmodel:", err)
		return exitUnusable
	}
	fmt.Fprintf(stdout, "%s.timeline, .txt, .svg, .mmd\n", base)
	return exitOK
}
