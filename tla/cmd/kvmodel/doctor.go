package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

// doctorModule is the smallest model that shows that TLC runs.
const doctorModule = `---- MODULE Doctor ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Step == x < 2 /\ x' = x + 1
====
`

func doctorCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, ok := parseTools("doctor", args, stderr, "small", nil)
	if !ok || len(f.names) > 0 {
		return exitUsage
	}
	bad := func(err error) int {
		fmt.Fprintf(stderr, "kvmodel: %v\n", err)
		return exitUnusable
	}
	tools, err := f.tools(ctx, stderr)
	if err != nil {
		return bad(err)
	}
	fmt.Fprintf(stdout, "java  %s (%s)\njar   %s (%s)\n", tools.Java, tools.JavaFrom, tools.Jar, tools.JarFrom)
	list, err := tla.Ledger()
	if err != nil {
		return bad(err)
	}
	fmt.Fprintf(stdout, "ledger %d lines\n", len(list))
	dir, err := os.MkdirTemp("", "kvsettle-doctor-")
	if err != nil {
		return bad(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"Doctor.tla": doctorModule, "Doctor.cfg": "INIT Init\nNEXT Step\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return bad(err)
		}
	}
	o, err := tlc.Run(ctx, tools, tlc.Job{Dir: dir, Module: "Doctor", Config: "Doctor.cfg", Workers: 1, HeapMB: 256})
	if err != nil {
		return bad(err)
	}
	if o.Verdict != tlc.OK || o.Distinct != 3 {
		return bad(fmt.Errorf("%w: TLC found %d states of 3", tlc.ErrUnusable, o.Distinct))
	}
	fmt.Fprintf(stdout, "TLC runs: 3 states in %.1f s\n", o.Seconds)
	return exitOK
}
