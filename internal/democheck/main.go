// Command democheck reads the result of "kvtransceiver demo --json" on standard
// input and checks that a run without faults was perfect: every request
// completed, nothing unsettled or corrupt, every slot free. It prints one line
// and exits 0, or prints each broken expectation and exits 1.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// result holds the fields that are checked. A pointer is nil where the field is
// missing, which is a failure of its own.
type result struct {
	Requests     *int64 `json:"requests"`
	Dispositions *struct {
		Completed, Rejected, Cancelled, Failed *int64
	} `json:"dispositions"`
	Unsettled        *int64   `json:"unsettled"`
	Bytes            *int64   `json:"bytes"`
	Seconds          *float64 `json:"seconds"`
	BlocksVerified   *int64   `json:"blocks_verified"`
	BlocksCorrupt    *int64   `json:"blocks_corrupt"`
	CanaryViolations *int64   `json:"canary_violations"`
	Restarts         *int64   `json:"restarts"`
	Interrupted      *bool    `json:"interrupted"`
	Slots            *struct {
		CTX, GEN *slots
	} `json:"slots"`
}

type slots struct {
	Free, Leased, Quarantined, Total *int64
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "democheck:", err)
		os.Exit(1)
	}
}

// run reads exactly one JSON object from in.
func run(in io.Reader, out io.Writer) error {
	var r result
	dec := json.NewDecoder(in)
	if err := dec.Decode(&r); err != nil {
		return fmt.Errorf("no JSON object on standard input: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	if err := r.check(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "demo: %d requests completed, %d blocks verified, %d bytes in %.2f s, all slots free (ctx %d, gen %d)\n",
		*r.Requests, *r.BlocksVerified, *r.Bytes, *r.Seconds, *r.Slots.CTX.Total, *r.Slots.GEN.Total)
	return err
}

// check returns every broken expectation, joined.
func (r result) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	is := func(name string, got *int64, want int64) {
		if got == nil {
			fail("%s is missing", name)
		} else if *got != want {
			fail("%s is %d, want %d", name, *got, want)
		}
	}
	positive := func(name string, got *int64) {
		if got == nil {
			fail("%s is missing", name)
		} else if *got <= 0 {
			fail("%s is %d, want more than 0", name, *got)
		}
	}
	positive("requests", r.Requests)
	positive("bytes", r.Bytes)
	positive("blocks_verified", r.BlocksVerified)
	is("unsettled", r.Unsettled, 0)
	is("blocks_corrupt", r.BlocksCorrupt, 0)
	is("canary_violations", r.CanaryViolations, 0)
	is("restarts", r.Restarts, 0)
	if r.Seconds == nil {
		fail("seconds is missing")
	}
	if r.Interrupted == nil || *r.Interrupted {
		fail("interrupted is missing or true")
	}
	if r.Dispositions == nil {
		fail("dispositions is missing")
	} else {
		d := r.Dispositions
		if r.Requests != nil {
			is("dispositions.completed", d.Completed, *r.Requests)
		}
		is("dispositions.rejected", d.Rejected, 0)
		is("dispositions.cancelled", d.Cancelled, 0)
		is("dispositions.failed", d.Failed, 0)
	}
	side := func(name string, s *slots) {
		if s == nil {
			fail("%s is missing", name)
			return
		}
		positive(name+".total", s.Total)
		if s.Total != nil {
			is(name+".free", s.Free, *s.Total)
		}
		is(name+".leased", s.Leased, 0)
		is(name+".quarantined", s.Quarantined, 0)
	}
	if r.Slots == nil {
		fail("slots is missing")
	} else {
		side("slots.ctx", r.Slots.CTX)
		side("slots.gen", r.Slots.GEN)
	}
	return errors.Join(errs...)
}
