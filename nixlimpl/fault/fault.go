// Package fault strikes a running transceiver: it loses, delays, repeats and
// reorders notices at the receiving side, lets writes outlast their deadline, and,
// for the two faults that break a transport's own promise, lies about them.
package fault

import (
	"math"
	"slices"
	"strconv"
	"strings"

	sm "github.com/kvsettle/kvsettle/statemachine"
)

// The faults by name.
const (
	DropComplete = "drop-complete"
	DropReady    = "drop-ready"
	DropRequest  = "drop-request"
	Delay        = "delay"
	Duplicate    = "duplicate"
	Reorder      = "reorder"
	Cancel       = "cancel"
	LateWrite    = "late-write"
	KillCTX      = "kill-ctx"
	KillGEN      = "kill-gen"
	StopCTX      = "stop-ctx"
	BreakOrder   = "break-order"
	BreakRelease = "break-release"
)

// Names lists every fault, in the order of the documentation. The slice is the
// caller's.
func Names() []string {
	return []string{DropComplete, DropReady, DropRequest, Delay, Duplicate, Reorder, Cancel, LateWrite,
		KillCTX, KillGEN, StopCTX, BreakOrder, BreakRelease}
}

// Breaks says whether a fault breaks the transport's own promise, so that a run
// with it must fail.
func Breaks(name string) bool { return name == BreakOrder || name == BreakRelease }

// DefaultRate applies where none is given.
const DefaultRate = 0.2

// Spec is one wanted fault.
type Spec struct {
	// Name is one of Names.
	Name string
	// Rate is the share of chances that strike, in (0, 1].
	Rate float64
	// Once: strike once, in mid-transfer (kill and stop without a rate).
	Once bool
}

// String is the form that Parse takes; of what Parse returned it makes the same
// Spec again.
func (s Spec) String() string {
	if s.Once {
		return s.Name
	}
	return s.Name + "=" + strconv.FormatFloat(s.Rate, 'g', -1, 64)
}

// Parse reads NAME or NAME=RATE with a rate in (0, 1]. The error is a
// *statemachine.Refusal with ReasonBadFault; it names what is wrong and lists the
// known names.
func Parse(text string) (Spec, error) {
	name, rate, given := strings.Cut(text, "=")
	if !slices.Contains(Names(), name) {
		return Spec{}, sm.Refuse(ReasonBadFault, reqBounds, "unknown fault "+strconv.Quote(name)+"; known: "+strings.Join(Names(), ", "))
	}
	s := Spec{Name: name, Rate: DefaultRate}
	if !given {
		s.Once = name == KillCTX || name == KillGEN || name == StopCTX
		return s, nil
	}
	r, err := strconv.ParseFloat(rate, 64)
	if err != nil || math.IsNaN(r) || r <= 0 || r > 1 {
		return Spec{}, sm.Refuse(ReasonBadFault, reqBounds, "fault "+name+": rate "+strconv.Quote(rate)+" is not a number in (0, 1]")
	}
	s.Rate = r
	return s, nil
}
