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

	"github.com/kvsettle/kvsettle/nixlimpl/bench"
)

// table is a result that people can read.
type table interface{ Table(io.Writer) error }

func measure(ctx context.Context, o bench.Options, transport, library string) (table, error) {
	if transport == "nixl" {
		return bench.RunNIXL(ctx, o, library)
	}
	if o.Count == 0 {
		o.Count = bench.DefaultCount
	}
	return bench.Run(ctx, o)
}

func runBench(args []string, stdout, stderr io.Writer) int {
	var size bench.Size
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&size.Bytes, "bytes", 0, "size of one request's KV; 0 means 4 MiB, 64 MiB and 256 MiB in blocks of 64 KiB, and 64 MiB in blocks of 16 KiB")
	fs.IntVar(&size.Block, "block", bench.DefaultBlock, "with --bytes: size of one contiguous piece (one layer of K or V of a paged block)")
	count := fs.Int("count", 0, "repetitions of each size, of which the median counts; 0 means 20, or 100 over nixl")
	transport := fs.String("transport", "shm", "transport: shm, or nixl, which is also measured against its own bare writes")
	library := fs.String("nixl-library", "", "libnixl_capi.so, or a folder that holds it; empty: looked for (see doctor)")
	asJSON := fs.Bool("json", false, "print one JSON object instead of the table")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case fs.NArg() > 0:
		fmt.Fprintf(stderr, "bench: unexpected argument %q\n", fs.Arg(0))
		return exitUsage
	case *transport != "shm" && *transport != "nixl":
		fmt.Fprintf(stderr, "bench: --transport %q: known: shm, nixl\n", *transport)
		return exitUsage
	case given["nixl-library"] && *transport != "nixl":
		fmt.Fprintln(stderr, "bench: --nixl-library needs --transport nixl")
		return exitUsage
	case *count < 0:
		fmt.Fprintf(stderr, "bench: --count %d: must not be negative\n", *count)
		return exitUsage
	case given["block"] && !given["bytes"]:
		fmt.Fprintln(stderr, "bench: --block needs --bytes")
		return exitUsage
	}
	o := bench.Options{Count: *count, Log: stderr}
	if given["bytes"] && size.Bytes != 0 {
		o.Sizes = []bench.Size{size}
	}
	if f, ok := stderr.(*os.File); ok && isTerminal(f) {
		o.Progress = stderr
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	res, err := measure(ctx, o, *transport, *library)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		var u *bench.UsageError
		var b *bench.BrokenError
		switch {
		case errors.As(err, &u):
			return exitUsage
		case errors.As(err, &b), errors.Is(err, context.Canceled):
			return exitBroken
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
		fmt.Fprintln(stderr, "bench: writing the result:", err)
		return exitBroken
	}
	return exitOK
}
