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

	"github.com/kvsettle/kvsettle/nixlimpl/doctor"
)

func runDoctor(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("doctor", flag.ContinueOnError)
	fs.SetOutput(stderr)
	asJSON := fs.Bool("json", false, "print one JSON object instead of the table")
	library := fs.String("nixl-library", "", "libnixl_capi.so, or a folder that holds it; empty: looked for")
	bring := fs.Bool("fetch", false, "first bring NIXL, TLC and a Java into the user's cache where they are missing or changed")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(stderr, "doctor: unexpected argument %q\n", fs.Arg(0))
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := exitOK
	if *bring {
		if err := doctor.Fetch(ctx, *library, func(line string) { fmt.Fprintln(stderr, line) }); err != nil {
			fmt.Fprintln(stderr, "doctor:", err)
			code = exitMachine
		}
	}
	report := doctor.Examine(ctx, *library)
	if !report.Can.Demo || report.NIXLUnusable {
		code = exitMachine
	}
	var err error
	if *asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(report)
	} else {
		err = report.Table(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "doctor: writing the report:", err)
		return exitBroken
	}
	return code
}
