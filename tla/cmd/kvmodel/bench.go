package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"runtime"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// speed is what one of the two needed for all states of a model.
type speed struct {
	States     int     `json:"states"`
	Seconds    float64 `json:"seconds"`
	StatesPerS float64 `json:"states_per_second"`
	// CPUSeconds is what the process used; on a machine that others use too it says
	// more than Seconds. 0 where it cannot be measured.
	CPUSeconds float64 `json:"cpu_seconds"`
	PerCPU     float64 `json:"states_per_cpu_second"`
}

func newSpeed(states int, seconds, cpu float64) *speed {
	s := &speed{States: states, Seconds: seconds, StatesPerS: float64(states) / max(seconds, 1e-9), CPUSeconds: cpu}
	if cpu > 0 {
		s.PerCPU = float64(states) / cpu
	}
	return s
}

// benchResult is the JSON of bench.
type benchResult struct {
	Model   string `json:"model"`
	Size    string `json:"size"`
	Workers int    `json:"workers"`
	Edges   int    `json:"edges"`
	// EdgesPerState is how much work one state is.
	EdgesPerState float64 `json:"edges_per_state"`
	Go            *speed  `json:"go"`
	// TLC is absent where it was left out or the ledger has no such line.
	TLC *speed `json:"tlc,omitempty"`
	// Ratio is Go's states per second over TLC's, RatioCPU the same per CPU second.
	Ratio    float64        `json:"ratio,omitempty"`
	RatioCPU float64        `json:"ratio_cpu,omitempty"`
	Memory   explore.Memory `json:"memory"`
}

// benchCommand measures the explorer, and in the same run TLC on the same model with
// as many workers: both check the invariants, neither writes its graph.
func benchCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	limit, goOnly := 0, false
	f, ok := parseTools("bench", args, stderr, "large", func(fs *flag.FlagSet) {
		fs.IntVar(&limit, "max-states", 0, "limit of states; 0 is none")
		fs.BoolVar(&goOnly, "go-only", false, "leave TLC out")
	})
	if !ok {
		return exitUsage
	}
	if f.all || len(f.names) > 1 || limit < 0 {
		fmt.Fprintln(stderr, "kvmodel: bench takes one model, one size, and a limit that is not negative")
		return exitUsage
	}
	if len(f.names) == 0 {
		f.names = []string{"slot"}
	}
	m, err := catalog.New(f.names[0], f.size)
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUsage
	}
	if f.workers == 0 {
		f.workers = min(runtime.GOMAXPROCS(0), 2)
	}
	before := cpuSeconds(false)
	rep, err := m.Explore(ctx, explore.Options{Workers: f.workers, MaxStates: limit, SkipHangs: true})
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v; reached %d states\n", err, rep.States)
		return exitUnusable
	}
	r := benchResult{Model: m.Name(), Size: m.Size(), Workers: f.workers, Edges: rep.Edges, Memory: rep.Memory,
		EdgesPerState: float64(rep.Edges) / float64(max(rep.States, 1)), Go: newSpeed(rep.States, rep.Seconds, cpuSeconds(false)-before)}
	if !goOnly {
		if code := r.addTLC(ctx, f, stderr); code != exitOK {
			return code
		}
	}
	if f.asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		_ = enc.Encode(r)
		return exitOK
	}
	fmt.Fprintf(stdout, "%s %s: %d states, %d edges (%.1f per state), %d workers\n", r.Model, r.Size, r.Go.States, r.Edges, r.EdgesPerState, r.Workers)
	line := func(name string, s *speed) {
		fmt.Fprintf(stdout, "%-4s %8.0f states/s (%.2f s), %8.0f per CPU second (%.2f s of CPU)\n", name, s.StatesPerS, s.Seconds, s.PerCPU, s.CPUSeconds)
	}
	line("Go", r.Go)
	if r.TLC != nil {
		line("TLC", r.TLC)
		fmt.Fprintf(stdout, "Go over TLC: %.1f by time, %.1f by CPU time\n", r.Ratio, r.RatioCPU)
	}
	fmt.Fprintf(stdout, "%.1f bytes per state for the set of states with parent links; frontiers at most %d KiB\n", r.Memory.PerState, r.Memory.Frontier>>10)
	return exitOK
}

func (r *benchResult) addTLC(ctx context.Context, f toolFlags, stderr io.Writer) int {
	list, err := tla.Ledger()
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUnusable
	}
	e, err := tla.Find(list, r.Model, r.Size)
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: TLC NOT RUN: %v (--go-only leaves it out)\n", err)
		return exitUnusable
	}
	tools, err := f.tools(ctx, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUnusable
	}
	f.workers = r.Workers
	before := cpuSeconds(true)
	c := checkOne(ctx, tools, f, e, stderr)
	if c.Error != "" || c.Differs != "" {
		fmt.Fprintf(stderr, "kvmodel: TLC: %s%s\n", c.Error, c.Differs)
		return exitUnusable
	}
	r.TLC = newSpeed(int(c.States), c.Seconds, cpuSeconds(true)-before)
	r.Ratio = r.Go.StatesPerS / r.TLC.StatesPerS
	if r.TLC.PerCPU > 0 {
		r.RatioCPU = r.Go.PerCPU / r.TLC.PerCPU
	}
	return exitOK
}
