package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/compare"
)

// compareResult is the JSON of compare.
type compareResult struct {
	Models []compareModel `json:"models"`
	States int            `json:"states"`
	Edges  int            `json:"edges"`
}

type compareModel struct {
	compare.Result
	Error string `json:"error,omitempty"`
}

func compareCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, ok := parseTools("compare", args, stderr, "medium", nil)
	if !ok {
		return exitUsage
	}
	entries, code := f.entries(stderr)
	if code != exitOK {
		return code
	}
	tools, err := f.tools(ctx, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUnusable
	}
	res := compareResult{Models: []compareModel{}}
	for _, e := range entries {
		m, err := catalog.New(e.Model, e.Size)
		if err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUnusable
		}
		r, err := compare.Run(ctx, compare.Options{Model: m, Entry: e, Tools: tools, Workers: f.workers, HeapMB: f.heap, Progress: tlcProgress(stderr, e.Model)})
		line := compareModel{Result: r}
		if r.Again != "" {
			fmt.Fprintf(stderr, "kvmodel: %s %s: TLC was run again with one worker: %s\n", e.Model, e.Size, r.Again)
		}
		switch {
		case err != nil:
			line.Error = err.Error()
			fmt.Fprintf(stderr, "kvmodel: %s %s: %v\n", e.Model, e.Size, err)
			code = exitUnusable
		case !r.Equal:
			fmt.Fprintf(stderr, "%s %s: the graphs differ\n", e.Model, e.Size)
			if r.Difference != nil {
				fmt.Fprint(stderr, r.Difference.Text())
			}
			code = max(code, exitViolated)
		default:
			res.States, res.Edges = res.States+r.GoStates, res.Edges+r.GoEdges
		}
		res.Models = append(res.Models, line)
		if ctx.Err() != nil {
			break
		}
	}
	if f.asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		_ = enc.Encode(res)
		return code
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "model\tsize\tGo states\tTLC states\tGo edges\tTLC edges\tequal\tseconds\t")
	for _, m := range res.Models {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%v\t%.1f\t\n", m.Name, m.Size, m.GoStates, m.TLCStates, m.GoEdges, m.TLCEdges, m.Equal, m.Seconds)
	}
	_ = w.Flush()
	for _, m := range res.Models {
		for _, l := range m.Leaves {
			fmt.Fprintf(stdout, "%s %s leaves out: %s\n", m.Name, m.Size, l)
		}
	}
	fmt.Fprintf(stdout, "together %d states and %d edges are in both graphs\n", res.States, res.Edges)
	return code
}
