// Package demo is the driver of `kvtransceiver demo`: it starts a CTX and a GEN
// process, plays the router between them, replays a request trace, lets faults
// strike, and accounts for every request, byte and slot.
package demo

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/doctor"
	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/trace"
	"github.com/kvsettle/kvsettle/statemachine/policy"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// Options of a run, as the command's flags give them. Zero of a size means the
// default that fits the trace.
type Options struct {
	Requests       int
	Trace          string
	Geometry       string
	TokensPerBlock int
	Scale          int
	Slots          int
	SlotBytes      int
	Budget         int
	KVBytes        int
	Concurrency    int
	Speed          float64
	CTXMode        string
	GENMode        string
	// Variable is the policy variable as found; a mode that is given wins over it.
	Variable  policy.Setting
	Deadline  time.Duration
	Seed      uint64
	Faults    []fault.Spec
	Transport string
	// Library is the NIXL library to use, and Listen the first of two ports for its own
	// listeners (0: none); both are for the nixl transport.
	Library string
	Listen  int
	Verbose bool

	// Progress, if set, gets a progress bar. Log gets the children's logs.
	Progress io.Writer
	Log      io.Writer
	// Exe is the program to start as a child with the argument "child".
	Exe string
}

// Defaults of the command's flags.
func Defaults() Options {
	return Options{Geometry: "llama-3.1-8b", TokensPerBlock: 32, Slots: 8, Budget: -1, Concurrency: 8, Speed: 4,
		Deadline: 10 * time.Second, Seed: 1, Transport: "shm"}
}

// The bounds of what a run may ask for.
const (
	maxSlot = 1 << 34
	// interruptGrace bounds each step of an orderly end after Ctrl-C.
	interruptGrace = 5 * time.Second
	// abortAfter is how long after the control deadline what is still open is aborted.
	abortAfter  = time.Second
	minDeadline = 50 * time.Millisecond
	maxDeadline = time.Hour
)

// plan is the checked form of Options.
type plan struct {
	Options
	requests []trace.Request
	geometry kv.Geometry
	kvBlocks int
	// where the modes came from: flag, variable or default
	ctxSource, genSource string
}

// UsageError is wrong input: the command exits with 2 and has started nothing.
type UsageError struct{ Err error }

// Error returns the cause's text.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, a ...any) error { return &UsageError{fmt.Errorf(format, a...)} }

// check reads the trace and judges every option before anything is started.
func check(o Options) (*plan, error) {
	p := &plan{Options: o}
	switch {
	case o.Requests < 0:
		return nil, usage("--requests %d: must not be negative", o.Requests)
	case o.Slots < 1 || o.Slots > 65536:
		return nil, usage("--slots %d: must be 1 to 65536", o.Slots)
	case o.SlotBytes < 0 || o.SlotBytes > maxSlot:
		return nil, usage("--slot-bytes %d: must be 1 to %d", o.SlotBytes, maxSlot)
	case o.Budget < -1 || o.Budget > o.Slots:
		return nil, usage("--quarantine-budget %d: must be 0 to the number of slots (%d)", o.Budget, o.Slots)
	case o.KVBytes < 0:
		return nil, usage("--kv-bytes %d: must be positive", o.KVBytes)
	case o.Concurrency < 1 || o.Concurrency > 4096:
		return nil, usage("--concurrency %d: must be 1 to 4096", o.Concurrency)
	case !(o.Speed >= 0) || o.Speed > 1e9:
		return nil, usage("--speed %v: must be 0 (no pacing) or a positive factor up to 1e9", o.Speed)
	case o.Deadline < minDeadline || o.Deadline > maxDeadline:
		return nil, usage("--deadline %v: must be %v to %v", o.Deadline, minDeadline, maxDeadline)
	case o.Transport != "shm" && o.Transport != "nixl":
		return nil, usage("--transport %q: known: shm, nixl", o.Transport)
	case o.Transport != "nixl" && (o.Library != "" || o.Listen != 0):
		return nil, usage("--nixl-library and --nixl-listen need --transport nixl")
	case o.Listen < 0 || o.Listen > 65534:
		return nil, usage("--nixl-listen %d: must be 1 to 65534", o.Listen)
	case o.Scale < 0:
		return nil, usage("--scale %d: must be positive", o.Scale)
	}
	var err error
	if p.CTXMode, p.ctxSource, err = p.mode("--ctx-mode", o.CTXMode); err != nil {
		return nil, err
	}
	if p.GENMode, p.genSource, err = p.mode("--gen-mode", o.GENMode); err != nil {
		return nil, err
	}
	if p.geometry, err = child.BuildGeometry(o.Geometry, o.TokensPerBlock, o.Scale); err != nil {
		return nil, &UsageError{err}
	}
	if o.Trace == "" {
		p.requests, err = trace.Embedded(o.Requests)
	} else {
		p.requests, err = trace.ReadFile(o.Trace, o.Requests)
	}
	if err != nil {
		return nil, &UsageError{err}
	}
	p.size()
	return p, nil
}

func (p *plan) cell() policy.Cell {
	if p.Transport == "nixl" {
		return policy.NIXLCell(1, p.Deadline)
	}
	return policy.SHMCell(1, p.Deadline)
}

// mode decides the mode of one side: the flag, else the variable, else what the
// cell qualifies for.
func (p *plan) mode(flag, value string) (string, string, error) {
	choice := policy.NotGiven
	switch value {
	case "legacy":
		return value, "flag", nil
	case "on":
		choice = policy.ChooseOn
	case "off":
		choice = policy.ChooseOff
	case "":
	default:
		return "", "", usage("%s %q: known modes are on, off, legacy", flag, value)
	}
	d, err := policy.Decide(choice, p.Variable, p.cell())
	if err != nil {
		return "", "", &UsageError{err}
	}
	if d.Mode == descriptor.Enabled {
		return "on", d.Source.String(), nil
	}
	return "off", d.Source.String(), nil
}

// size fills in what depends on the largest requests of the trace.
func (p *plan) size() {
	blocks := make([]int, 0, len(p.requests))
	for _, r := range p.requests {
		blocks = append(blocks, p.geometry.Blocks(r.InputLength))
	}
	slices.Sort(blocks)
	slices.Reverse(blocks)
	if p.SlotBytes == 0 {
		p.SlotBytes = roundUp(blocks[0]*p.geometry.BlockBytes(), 1<<16)
	}
	if p.KVBytes == 0 {
		// Room for every request that can be open at once, and a quarter more to cache.
		sum := 0
		for _, b := range blocks[:min(p.Concurrency, len(blocks))] {
			sum += b
		}
		p.kvBlocks = max(sum+sum/4, (256<<20)/p.geometry.BlockBytes())
		return
	}
	p.kvBlocks = max(p.KVBytes/p.geometry.BlockBytes(), 1)
}

// bytes is the memory that both sides map; slots are shared and count once.
func (p *plan) bytes() int {
	return 2*p.kvBlocks*p.geometry.BlockBytes() + p.Slots*(p.SlotBytes+child.DefaultChunk*child.DefaultWindow)
}

// fits refuses a run that this machine has no memory for, before it starts to swap.
func (p *plan) fits() error {
	if _, free, ok := doctor.Memory(); ok && uint64(p.bytes()) > uint64(free) {
		return fmt.Errorf("this run maps %.1f GiB and %.1f GiB are available: lower --slots, --slot-bytes, --kv-bytes or --concurrency, or raise --scale",
			float64(p.bytes())/(1<<30), float64(free)/(1<<30))
	}
	return nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

func (p *plan) start(role string, incarnation int) child.Start {
	s := child.Start{
		Role: role, Local: p.GENMode, ModeSource: p.genSource, Geometry: p.Geometry, Scale: p.Scale, TokensPerBlock: p.TokensPerBlock,
		KVBlocks: p.kvBlocks, Slots: p.Slots, SlotBytes: p.SlotBytes, Budget: p.Budget,
		Chunk: min(child.DefaultChunk, p.SlotBytes), Workers: child.DefaultWorkers, Deadline: p.Deadline, Transport: p.Transport,
		Seed: p.Seed<<16 ^ uint64(incarnation)<<8, Debug: p.Verbose,
	}
	if p.Transport == "nixl" {
		s.Library = p.Library
		if p.Listen > 0 {
			s.Listen, s.ListenIP = p.Listen, "127.0.0.1"
			if role == "gen" {
				s.Listen++
			}
		}
	}
	if role == "ctx" {
		s.Local, s.ModeSource = p.CTXMode, p.ctxSource
		s.Seed++
		s.SlotBytes = s.Chunk * child.DefaultWindow
	}
	for _, f := range p.Faults {
		switch f.Name {
		case fault.Cancel, fault.KillCTX, fault.KillGEN, fault.StopCTX:
		default:
			s.Faults = append(s.Faults, f)
		}
	}
	return s
}
