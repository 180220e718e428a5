package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

// toolFlags are what the commands that run TLC have in common.
type toolFlags struct {
	all, asJSON, offline bool
	size, java, jar      string
	workers, heap        int
	names                []string
}

// live is a size of the ledger that no Go world has: so small that TLC can check
// temporal properties in it.
const live = "live"

// parseTools parses the flags of a command; more adds those of its own. Flags may
// stand before and after the names.
func parseTools(command string, args []string, stderr io.Writer, size string, more func(*flag.FlagSet)) (f toolFlags, ok bool) {
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.BoolVar(&f.all, "all", false, "every model of the ledger")
	fs.BoolVar(&f.asJSON, "json", false, "one JSON object on stdout")
	fs.BoolVar(&f.offline, "offline", false, "fetch nothing")
	fs.StringVar(&f.size, "size", size, "sizes, with commas between: small, medium, large, live")
	fs.StringVar(&f.java, "java", "", "the Java to use")
	fs.StringVar(&f.jar, "jar", "", "the tla2tools.jar to use")
	fs.IntVar(&f.workers, "workers", 0, "goroutines and TLC workers; 0 is one per CPU")
	fs.IntVar(&f.heap, "heap", 2048, "Java's heap in MiB")
	if more != nil {
		more(fs)
	}
	for rest := args; len(rest) > 0; rest = fs.Args()[1:] {
		if err := fs.Parse(rest); err != nil {
			return f, false
		}
		if fs.NArg() == 0 {
			break
		}
		f.names = append(f.names, fs.Arg(0))
	}
	sizes := append(catalog.Sizes(), live)
	for _, s := range strings.Split(f.size, ",") {
		if !slices.Contains(sizes, s) {
			fmt.Fprintf(stderr, "kvmodel: size %q: there are %v\n", s, sizes)
			return f, false
		}
	}
	if f.workers < 0 || f.heap < 64 {
		fmt.Fprintln(stderr, "kvmodel: workers must not be negative, heap must be at least 64")
		return f, false
	}
	return f, true
}

// entries returns the ledger's lines for the named models, or for all, in the given
// sizes. A model that the tree has and the ledger lacks is an error, and so is a
// size that a named model does not have.
func (f toolFlags) entries(stderr io.Writer) ([]tla.Entry, int) {
	list, err := tla.Ledger()
	if err != nil {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return nil, exitUnusable
	}
	if f.all == (len(f.names) > 0) {
		fmt.Fprintln(stderr, "kvmodel: names of models are needed, or --all")
		return nil, exitUsage
	}
	names := f.names
	if f.all {
		names = catalog.Names()
	}
	var out []tla.Entry
	for _, name := range names {
		if !slices.Contains(catalog.Names(), name) {
			fmt.Fprintf(stderr, "kvmodel: no model %q: there are %v\n", name, catalog.Names())
			return nil, exitUsage
		}
		for _, size := range strings.Split(f.size, ",") {
			e, err := tla.Find(list, name, size)
			if err != nil {
				if f.all && size != "small" && size != "medium" {
					continue // only these two are owed by every model
				}
				fmt.Fprintf(stderr, "kvmodel: %v\n", err)
				return nil, exitUnusable
			}
			out = append(out, e)
		}
	}
	return out, exitOK
}

// tools finds Java and the jar.
func (f toolFlags) tools(ctx context.Context, stderr io.Writer) (tlc.Tools, error) {
	return tlc.Find(ctx, tlc.Options{Java: f.java, Jar: f.jar, Offline: f.offline,
		Progress: func(s string) { fmt.Fprintf(stderr, "kvmodel: %s\n", s) }})
}

// tlcProgress prints TLC's counts, at most every ten seconds.
func tlcProgress(stderr io.Writer, name string) func(int64, int64) {
	begin, last := time.Now(), time.Now()
	return func(generated, distinct int64) {
		if time.Since(last) < 10*time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(stderr, "%s: TLC has %d distinct states of %d, %.0f states/s\n", name, distinct, generated, float64(distinct)/time.Since(begin).Seconds())
	}
}
