package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/kvsettle/kvsettle/spec"
)

// coverage is the answer of the command requirements.
type coverage struct {
	// Total counts the requirements, Tested those that a passed test shows.
	Total    int             `json:"total"`
	Tested   int             `json:"tested"`
	Untested []spec.Untested `json:"untested"`
	Dangling []spec.Citation `json:"dangling"`
}

// unmet counts the requirements that must hold and that nothing shows or excuses.
func (r *coverage) unmet() int {
	n := 0
	for _, u := range r.Untested {
		if u.Level == spec.Must && u.Reason == spec.Unexcused {
			n++
		}
	}
	return n
}

func (c *command) requirements(args []string) int {
	f := flag.NewFlagSet("requirements", flag.ContinueOnError)
	covers := f.String("covers", "", "")
	asJSON := f.Bool("json", false, "")
	if code, done := c.parse(f, args); done {
		return code
	}
	root, err := findRoot()
	if err != nil {
		return c.broken("%v", err)
	}
	testsFailed := false
	if *covers == "" {
		dir, err := os.MkdirTemp("", "kvsettle-covers-")
		if err != nil {
			return c.broken("%v", err)
		}
		defer os.RemoveAll(dir)
		if testsFailed, err = c.runTests(root, dir); err != nil {
			return c.broken("the tests did not run: %v", err)
		}
		*covers = dir
	} else if info, err := os.Stat(*covers); err != nil || !info.IsDir() {
		return c.misuse("requirements: --covers: %s is no folder", *covers)
	}
	covered, err := spec.ReadCovered(*covers)
	if err != nil {
		return c.broken("%v", err)
	}
	r, err := judge(root, covered)
	if err != nil {
		return c.broken("%v", err)
	}
	if *asJSON {
		err = c.printJSON(r)
	} else {
		err = c.printCoverage(&r)
	}
	switch {
	case err != nil:
		return c.broken("%v", err)
	case testsFailed:
		fmt.Fprintln(c.stderr, "kvconform: some tests failed; what they cover counts as untested")
		return exitFindings
	case r.unmet() > 0 || len(r.Dangling) > 0:
		return exitFindings
	}
	return exitOK
}

func judge(root string, covered []spec.Covered) (coverage, error) {
	tested, untested, err := spec.Judge(covered)
	if err != nil {
		return coverage{}, err
	}
	citations, err := spec.Citations(os.DirFS(root))
	if err != nil {
		return coverage{}, err
	}
	r := coverage{
		Total: len(spec.Requirements()), Tested: len(tested), Untested: []spec.Untested{}, Dangling: []spec.Citation{},
	}
	r.Untested = append(r.Untested, untested...)
	r.Dangling = append(r.Dangling, spec.Dangling(citations)...)
	if r.Total == 0 {
		return r, fmt.Errorf("the chapters hold no requirement")
	}
	return r, nil
}

func (c *command) printCoverage(r *coverage) error {
	for _, u := range r.Untested {
		if _, err := fmt.Fprintf(c.stdout, "untested %s %s: %s\n", u.ID, u.Level, u.Reason); err != nil {
			return err
		}
	}
	for _, d := range r.Dangling {
		if _, err := fmt.Fprintf(c.stdout, "dangling %s: %s:%d\n", d.ID, d.File, d.Line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.stdout, "%d requirements, %d tested, %d untested (%d MUST without a reason), %d dangling\n",
		r.Total, r.Tested, len(r.Untested), r.unmet(), len(r.Dangling))
	return err
}
