package bench

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/wire/handover"
)

// Size is one row to measure.
type Size struct {
	// Bytes is the size of one request's KV, a multiple of Block; at least one block
	// of the geometry that is chosen, at most MaxBytes.
	Bytes int
	// Block is the size of one contiguous piece: one layer of K or V of one paged block.
	Block int
}

// The bounds and defaults of Options.
const (
	MaxBytes     = 4 << 30
	MaxCount     = 10000
	DefaultCount = 20
	DefaultBlock = 64 << 10
)

// Options of a run.
type Options struct {
	// Sizes are measured one after the other; empty means DefaultSizes.
	Sizes []Size
	// Count is the number of repetitions of each size, 1 to MaxCount.
	Count int
	// Log gets the children's logs; nil discards.
	Log io.Writer
	// Progress, if set, gets one line for each size.
	Progress io.Writer
	// Exe is the program to start as a child with the argument "child"; empty means
	// this one.
	Exe string

	// tamper changes what GEN expects of the checked request, for tests of the check.
	tamper func(*handover.Handover)
	// tune changes how the children start.
	tune func(*child.Start)
}

// DefaultSizes returns the sizes that a run without a choice measures. The slice
// is the caller's.
func DefaultSizes() []Size {
	return []Size{{4 << 20, 64 << 10}, {64 << 20, 64 << 10}, {256 << 20, 64 << 10}, {64 << 20, 16 << 10}}
}

// UsageError is wrong input: nothing was started.
type UsageError struct{ Err error }

// Error returns the cause's text.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, a ...any) error { return &UsageError{fmt.Errorf(format, a...)} }

// BrokenError says that an invariant did not hold: a hand-over did not complete,
// or a byte that arrived was wrong.
type BrokenError struct{ What string }

// Error returns what broke.
func (e *BrokenError) Error() string { return e.What }

func broke(format string, a ...any) error { return &BrokenError{fmt.Sprintf(format, a...)} }

// shared lets two children write to one writer.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

// Write is io.Writer's.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

// check completes the options and finds a shape for each size.
func (o *Options) check() ([]shape, error) {
	if o.Count < 1 || o.Count > MaxCount {
		return nil, usage("--count %d: must be 1 to %d", o.Count, MaxCount)
	}
	if len(o.Sizes) == 0 {
		o.Sizes = DefaultSizes()
	}
	shapes := make([]shape, 0, len(o.Sizes))
	for _, s := range o.Sizes {
		sh, err := shapeOf(s)
		if err != nil {
			return nil, err
		}
		shapes = append(shapes, sh)
	}
	switch o.Log.(type) {
	case nil, *os.File: // goes to the children as it is
	default:
		o.Log = &shared{w: o.Log}
	}
	if o.Exe == "" {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("bench: finding the program to start: %w", err)
		}
		o.Exe = exe
	}
	return shapes, nil
}
