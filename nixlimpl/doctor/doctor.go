// Package doctor says what this machine can run, and for each thing that is
// missing how to get it. It changes nothing; only Fetch does, in the user's cache.
package doctor

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
)

// Status of a check.
type Status string

// The statuses: it is there, it is not, or it is there and does not do all.
const (
	OK      Status = "ok"
	Missing Status = "missing"
	Limited Status = "limited"
)

// Check is one thing that was looked at.
type Check struct {
	// Name is stable: programs may look for it.
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found is what is there, or why it is not, in words.
	Found string `json:"found"`
	// Fix is one sentence that says what to do; empty when the status is OK.
	Fix string `json:"fix"`
}

// Can says what this machine can run.
type Can struct {
	// Demo: `kvtransceiver demo` and `bench` over shared memory.
	Demo bool `json:"demo"`
	// SHM: the shared-memory transport.
	SHM bool `json:"shm"`
	// NIXL: the NIXL library was found and loads.
	NIXL bool `json:"nixl"`
	// GPU: an NVIDIA GPU, its driver and its libraries.
	GPU bool `json:"gpu"`
	// TLC: the TLA+ model checker with a Java for it.
	TLC bool `json:"tlc"`
}

// Report is the outcome of Examine; its JSON is the command's output.
type Report struct {
	Checks []Check `json:"checks"`
	Can    Can     `json:"can"`
	// NIXLUnusable: a NIXL library is there or was named, and cannot be used.
	NIXLUnusable bool `json:"nixl_unusable"`
}

// Examine looks at this machine. ctx bounds the programs that it asks for their
// version; library names the NIXL library, and empty means what is found. It never
// fails: what cannot be found out is a check that is not OK.
func Examine(ctx context.Context, library string) Report { return here(library).examine(ctx) }

func (s *system) examine(ctx context.Context) Report {
	var r Report
	add := func(c ...Check) bool {
		r.Checks = append(r.Checks, c...)
		for _, c := range c {
			if c.Status == Missing {
				return false
			}
		}
		return true
	}
	add(s.goCheck(), s.cpuCheck())
	memory := add(s.memoryCheck())
	r.Can.SHM = add(s.shm()...)
	r.Can.Demo = r.Can.SHM && memory
	nixl := s.nixlCheck()
	add(nixl)
	r.Can.NIXL = nixl.Status == OK
	if s.ucx != nil {
		ucx := s.ucxCheck(r.Can.NIXL)
		r.Can.NIXL = add(ucx) && r.Can.NIXL
	}
	r.NIXLUnusable = !r.Can.NIXL && s.wanted != nil && s.wanted()
	gpu := s.gpuCheck()
	add(gpu)
	r.Can.GPU = gpu.Status == OK
	r.Can.TLC = add(s.javaCheck(ctx), s.jarCheck())
	return r
}

// Table writes the report for people.
func (r Report) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, c := range r.Checks {
		fmt.Fprintf(t, "%s\t%s\t%s\n", c.Name, c.Status, c.Found)
		if c.Fix != "" {
			fmt.Fprintf(t, "\t\t-> %s\n", c.Fix)
		}
	}
	fmt.Fprintln(t)
	for _, c := range []struct {
		what string
		can  bool
	}{
		{"demo and bench over shared memory", r.Can.Demo}, {"the shared-memory transport", r.Can.SHM},
		{"the NIXL transport", r.Can.NIXL}, {"GPU memory", r.Can.GPU}, {"TLC, the model checker", r.Can.TLC},
	} {
		word := "no"
		if c.can {
			word = "yes"
		}
		fmt.Fprintf(t, "can run\t%s\t%s\n", word, c.what)
	}
	return t.Flush()
}
