package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/demo"
	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/statemachine/policy"
)

func runDemo(args []string, stdout, stderr io.Writer) int {
	o := demo.Defaults()
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.Requests, "requests", 0, "number of requests; 0 means the whole trace")
	fs.StringVar(&o.Trace, "trace", "", "trace file in Mooncake's format; empty means the built-in 100 requests")
	fs.StringVar(&o.Geometry, "geometry", o.Geometry, "model geometry: llama-3.1-8b, llama-3.1-70b, qwen3-32b, deepseek-v3")
	fs.IntVar(&o.TokensPerBlock, "tokens-per-block", o.TokensPerBlock, "tokens per KV block: 32 or 64")
	fs.IntVar(&o.Scale, "scale", 0, "divide the bytes per token by this; 0 means about 1 KiB per token")
	fs.IntVar(&o.Slots, "slots", o.Slots, "staging slots of each side")
	fs.IntVar(&o.SlotBytes, "slot-bytes", 0, "bytes of a receive slot; 0 fits the largest request")
	fs.IntVar(&o.Budget, "quarantine-budget", -1, "slots that may be quarantined before a service restarts; -1 means half")
	fs.IntVar(&o.KVBytes, "kv-bytes", 0, "paged KV memory of each side; 0 fits the open requests and some cache")
	fs.IntVar(&o.Concurrency, "concurrency", o.Concurrency, "requests open at once")
	fs.Float64Var(&o.Speed, "speed", o.Speed, "factor on the trace's time; 0 means no pacing")
	fs.StringVar(&o.CTXMode, "ctx-mode", o.CTXMode, "CTX: on, off or legacy; empty: "+policy.Variable+", else what qualifies")
	fs.StringVar(&o.GENMode, "gen-mode", o.GENMode, "GEN: on, off or legacy; empty: as for CTX")
	fs.DurationVar(&o.Deadline, "deadline", o.Deadline, "request deadline, GEN send to verified")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "seed of everything random")
	fs.StringVar(&o.Transport, "transport", o.Transport, "transport: shm or nixl")
	fs.StringVar(&o.Library, "nixl-library", "", "libnixl_capi.so, or a folder that holds it; empty: looked for (see doctor)")
	fs.IntVar(&o.Listen, "nixl-listen", 0, "use NIXL's own listeners at this port and the next; they bind every interface and ask nobody who he is")
	fs.Func("fault", "NAME[=RATE], repeatable: "+join(fault.Names()), func(s string) error {
		f, err := fault.Parse(s)
		if err == nil {
			o.Faults = append(o.Faults, f)
		}
		return err
	})
	asJSON := fs.Bool("json", false, "print one JSON object instead of the table")
	fs.BoolVar(&o.Verbose, "verbose", false, "let the services log everything")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(stderr, "demo: unexpected argument %q\n", fs.Arg(0))
		return exitUsage
	}
	o.Log = stderr
	o.Variable.Value, o.Variable.Set = os.LookupEnv(policy.Variable)
	if f, ok := stderr.(*os.File); ok && isTerminal(f) {
		o.Progress = stderr
	}
	// The trace is read before signals are caught: a trace that never ends can be
	// interrupted as any program can.
	plan, err := demo.Prepare(o)
	var res *demo.Result
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		res, err = plan.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		var u *demo.UsageError
		if errors.As(err, &u) {
			return exitUsage
		}
		return exitMachine
	}
	if *asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(res)
	} else {
		err = res.Table(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "demo: writing the result:", err)
		return exitBroken
	}
	for _, b := range res.Broken {
		fmt.Fprintln(stderr, "demo: broken:", b)
	}
	if len(res.Broken) > 0 {
		return exitBroken
	}
	return exitOK
}

// runChild serves one side for a driver; it ends with its input. The driver
// handles Ctrl-C, which the terminal sends to all of them.
func runChild(stdout, stderr io.Writer) int {
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	return child.Run(os.Stdin, stdout, stderr)
}

func join(names []string) string {
	out := ""
	for i, n := range names {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	return out
}

func isTerminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
