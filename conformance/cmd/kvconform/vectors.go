package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/kvsettle/kvsettle/conformance/vectors"
)

func (c *command) vectors(args []string) int {
	f := flag.NewFlagSet("vectors", flag.ContinueOnError)
	dir := f.String("dir", "", "")
	asJSON := f.Bool("json", false, "")
	if code, done := c.parse(f, args); done {
		return code
	}
	if *dir == "" {
		return c.misuse("vectors: --dir is missing")
	}
	info, err := os.Stat(*dir)
	if err != nil {
		return c.misuse("vectors: --dir: %v", err)
	}
	if !info.IsDir() {
		return c.misuse("vectors: --dir: %s is no folder", *dir)
	}
	report, err := vectors.Run(os.DirFS(*dir))
	if errors.Is(err, vectors.ErrNothing) {
		return c.broken("nothing ran: %s holds %v", *dir, err)
	}
	if err != nil {
		return c.broken("%v", err)
	}
	if *asJSON {
		err = c.printJSON(report)
	} else {
		err = c.printVectors(report)
	}
	switch {
	case err != nil:
		return c.broken("%v", err)
	case report.Passed == 0 && report.Failed == 0:
		return c.broken("nothing ran: no file in %s holds a line", *dir)
	case report.Failed > 0:
		return exitFindings
	}
	return exitOK
}

func (c *command) printVectors(r vectors.Report) error {
	for _, f := range r.Failures {
		if _, err := fmt.Fprintf(c.stdout, "%s:%d: %q: %s\n", f.File, f.Line, f.ID, f.Difference); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.stdout, "%d passed, %d failed, %d files\n", r.Passed, r.Failed, r.Files)
	return err
}
