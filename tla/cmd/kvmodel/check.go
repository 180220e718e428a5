package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

// checkResult is one line of the ledger against what TLC found.
type checkResult struct {
	Name   string `json:"name"`
	Size   string `json:"size"`
	Result string `json:"result"`
	States int64  `json:"states"`
	Depth  int    `json:"depth"`
	// Differs says how this is not what the ledger says; empty if it is.
	Differs    string   `json:"differs,omitempty"`
	Invariants []string `json:"invariants"`
	Temporal   []string `json:"temporal"`
	Seconds    float64  `json:"seconds"`
	Trace      string   `json:"trace,omitempty"`
	Error      string   `json:"error,omitempty"`
}

func checkCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var junit string
	f, ok := parseTools("check", args, stderr, "medium", func(fs *flag.FlagSet) {
		fs.StringVar(&junit, "junit", "", "write the results to this file as JUnit XML")
	})
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
	var all []checkResult
	for _, e := range entries {
		r := checkOne(ctx, tools, f, e, stderr)
		switch {
		case r.Error != "":
			fmt.Fprintf(stderr, "kvmodel: %s %s: %s\n", r.Name, r.Size, r.Error)
			code = exitUnusable
		case r.Differs != "":
			fmt.Fprintf(stderr, "kvmodel: %s %s: %s\n%s", r.Name, r.Size, r.Differs, r.Trace)
			code = max(code, exitViolated)
		}
		all = append(all, r)
		if ctx.Err() != nil {
			break
		}
	}
	if junit != "" {
		if err := writeJUnit(junit, all); err != nil {
			fmt.Fprintf(stderr, "kvmodel: %v\n", err)
			code = exitUnusable
		}
	}
	if f.asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		_ = enc.Encode(map[string]any{"models": all})
		return code
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "model\tsize\tresult\tstates\tdepth\tinvariants\ttemporal\tseconds\tledger\t")
	for _, r := range all {
		ledger := "agrees"
		if r.Differs != "" || r.Error != "" {
			ledger = "differs"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%.1f\t%s\t\n", r.Name, r.Size, r.Result, r.States, r.Depth, len(r.Invariants), len(r.Temporal), r.Seconds, ledger)
	}
	_ = w.Flush()
	return code
}

// checkOne runs TLC on one line of the ledger.
func checkOne(ctx context.Context, tools tlc.Tools, f toolFlags, e tla.Entry, stderr io.Writer) checkResult {
	r := checkResult{Name: e.Model, Size: e.Size}
	fail := func(err error) checkResult {
		r.Error, r.Result = err.Error(), "unusable"
		return r
	}
	dir, err := os.MkdirTemp("", "kvsettle-models-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	if err := tla.Unpack(dir, nil); err != nil {
		return fail(err)
	}
	cfg, err := tla.Files().ReadFile(e.Config)
	if err != nil {
		return fail(err)
	}
	r.Invariants, r.Temporal = tla.Properties(cfg)
	workers := f.workers
	if workers == 0 {
		workers = 2
	}
	o, err := tlc.Run(ctx, tools, tlc.Job{Dir: dir, Module: e.Module, Config: e.Config, Workers: workers, HeapMB: f.heap, Progress: tlcProgress(stderr, e.Model)})
	r.States, r.Depth, r.Seconds = o.Distinct, o.Depth, o.Seconds
	if err != nil {
		return fail(err)
	}
	r.Result = "ok"
	if o.Verdict == tlc.Violated {
		r.Result, r.Trace = o.Property, o.Trace
	}
	r.Differs = ledgerSays(e, o, r.Result)
	return r
}

// ledgerSays compares an outcome with the ledger's line.
func ledgerSays(e tla.Entry, o tlc.Outcome, result string) string {
	switch {
	case result != e.Result:
		return fmt.Sprintf("result %s, the ledger says %s", result, e.Result)
	case e.Result == "ok" && o.Distinct != e.States:
		return fmt.Sprintf("%d distinct states, the ledger says %d", o.Distinct, e.States)
	case e.Result == "ok" && o.Depth != e.Depth:
		return fmt.Sprintf("depth %d, the ledger says %d", o.Depth, e.Depth)
	}
	return ""
}

// The part of JUnit's format that readers of it agree on.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Seconds float64    `xml:"time,attr"`
	Failure *junitText `xml:"failure,omitempty"`
	Error   *junitText `xml:"error,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(file string, all []checkResult) error {
	s := junitSuite{Name: "kvmodel check", Tests: len(all)}
	for _, r := range all {
		c := junitCase{Class: "kvmodel." + r.Name, Name: r.Size, Seconds: r.Seconds}
		switch {
		case r.Error != "":
			s.Errors++
			c.Error = &junitText{Message: "unusable", Text: r.Error}
		case r.Differs != "":
			s.Failures++
			c.Failure = &junitText{Message: r.Differs, Text: r.Trace}
		}
		s.Cases = append(s.Cases, c)
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(xml.Header), append(text, '\n')...), 0o644)
}
