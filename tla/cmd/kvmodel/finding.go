package main

import (
	"context"
	"fmt"
	"io"

	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// findingCommand replays findings: it succeeds when the property is violated, as
// the finding says.
func findingCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, ok := parseFlags("finding", args, stderr)
	if ok && f.all == (len(f.models) > 0) {
		fmt.Fprintf(stderr, "kvmodel: finding needs names, or --all: there are %v\n", catalog.Findings())
		ok = false
	}
	if !ok {
		return exitUsage
	}
	if f.all {
		f.models = catalog.Findings()
	}
	code := exitOK
	for _, name := range f.models {
		m, property, says, err := catalog.Finding(name)
		if err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUsage
		}
		rep, err := m.Explore(ctx, explore.Options{Workers: f.workers, MaxStates: f.max, Only: []string{property}})
		if err != nil {
			fmt.Fprintf(stderr, "kvmodel: %s: %v\n", name, err)
			return exitUnusable
		}
		bad := append(rep.Violations, rep.Hangs...)
		if len(bad) == 0 {
			fmt.Fprintf(stdout, "%s: %s holds in %d states: no longer found\n", name, property, rep.States)
			code = exitViolated
			continue
		}
		fmt.Fprintf(stdout, "%s: %s is violated after %d events\n  %s\n", name, property, len(bad[0].Path.Events), says)
		if err := tell(m, bad, f, stderr); err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			return exitUnusable
		}
	}
	return code
}
