package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// benchResult is the JSON of bench.
type benchResult struct {
	Model   string `json:"model"`
	Size    string `json:"size"`
	Workers int    `json:"workers"`
	States  int    `json:"states"`
	Edges   int    `json:"edges"`
	// EdgesPerState is how much work one state is.
	EdgesPerState float64 `json:"edges_per_state"`
	Seconds       float64 `json:"seconds"`
	StatesPerS    float64 `json:"states_per_second"`
	// CPUSeconds is what the process used; on a machine that others use too it says
	// more than Seconds. 0 where it cannot be measured.
	CPUSeconds float64 `json:"cpu_seconds"`
	// PerCPU is states per CPU second.
	PerCPU float64        `json:"states_per_cpu_second"`
	Memory explore.Memory `json:"memory"`
}

func benchCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, ok := parseExplore("bench", args, stderr)
	if ok && len(f.models) > 1 {
		fmt.Fprintln(stderr, "kvmodel: bench takes one model")
		ok = false
	}
	if !ok {
		return exitUsage
	}
	if len(f.models) == 0 {
		f.models = []string{"v1"}
	}
	m, err := catalog.New(f.models[0], f.size)
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUnusable
	}
	before := cpuSeconds()
	rep, err := m.Explore(ctx, explore.Options{Workers: f.workers, MaxStates: f.max, SkipHangs: true})
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v; reached %d states\n", err, rep.States)
		return exitUnusable
	}
	if f.workers == 0 {
		f.workers = runtime.GOMAXPROCS(0)
	}
	r := benchResult{Model: m.Name(), Size: m.Size(), Workers: f.workers, States: rep.States, Edges: rep.Edges,
		EdgesPerState: float64(rep.Edges) / float64(max(rep.States, 1)), Seconds: rep.Seconds,
		StatesPerS: float64(rep.States) / max(rep.Seconds, 1e-9), CPUSeconds: cpuSeconds() - before, Memory: rep.Memory}
	if r.CPUSeconds > 0 {
		r.PerCPU = float64(rep.States) / r.CPUSeconds
	}
	if f.asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		_ = enc.Encode(r)
		return exitOK
	}
	fmt.Fprintf(stdout, "%s %s: %d states, %d edges (%.1f per state) in %.2f s with %d workers\n", r.Model, r.Size, r.States, r.Edges, r.EdgesPerState, r.Seconds, r.Workers)
	fmt.Fprintf(stdout, "%.0f states/s, %.0f per CPU second (%.2f s of CPU)\n", r.StatesPerS, r.PerCPU, r.CPUSeconds)
	fmt.Fprintf(stdout, "%.1f bytes per state for the set of states with parent links; frontiers at most %d KiB; edges, kept for hangs only, %d KiB\n",
		r.Memory.PerState, r.Memory.Frontier>>10, r.Memory.Edges>>10)
	return exitOK
}
