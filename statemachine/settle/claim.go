package settle

import "github.com/kvsettle/kvsettle/wire/control"

// Claim is the row of the table of claims that fits (KS-QUI-4, KS-QUI-6).
type Claim uint8

// The rows, in the order of the table.
const (
	SourceComplete Claim = iota
	SourceNotStarted
	SourceQuiesced
	SourceUnknown
	SourceNone
	DestinationComplete
	DestinationNone
	DestinationNotStarted
	DestinationQuiesced
	numClaims
)

// String returns the id of the row.
func (c Claim) String() string {
	ids := [numClaims]string{
		"claim-source-complete", "claim-source-not-started", "claim-source-quiesced",
		"claim-source-unknown", "claim-source-none", "claim-destination-complete",
		"claim-destination-none", "claim-destination-not-started", "claim-destination-quiesced",
	}
	if c < numClaims {
		return ids[c]
	}
	return "invalid"
}

// Evidence is what the claim puts into TERMINAL; Missing says that nothing can be
// claimed yet.
func (c Claim) Evidence() control.Evidence {
	switch c {
	case SourceComplete:
		return control.SourceComplete
	case SourceNotStarted, DestinationNotStarted:
		return control.NotStarted
	case SourceQuiesced, DestinationQuiesced:
		return control.Quiesced
	case SourceUnknown:
		return control.Unknown
	case DestinationComplete:
		return control.DestinationComplete
	}
	return Missing
}

// Posts counts the writes of one edge. A post that was entered counts as made.
type Posts struct {
	// Chunks is how many writes the edge consists of, 1 to 65,535.
	Chunks uint16
	// Made counts posts, repeats included.
	Made uint16
	// Done counts posts with final success: one per chunk at most.
	Done uint16
	// Failed counts posts with a final error.
	Failed uint16
	// Released counts posts whose handle was given up before they were final.
	Released uint16
}

// Complete says that every chunk was written with final success.
func (p Posts) Complete() bool { return p.Chunks > 0 && p.Done >= p.Chunks }

// Quiet says that no post touches memory any more: each is final, in success or,
// where the contract has bit 3 (errorQuiet), in error. No post at all is quiet.
func (p Posts) Quiet(errorQuiet bool) bool {
	ended := uint32(p.Done)
	if errorQuiet {
		ended += uint32(p.Failed)
	}
	return ended >= uint32(p.Made)
}

// Source is what the source of a cancelled edge knows.
type Source struct {
	Posts Posts
	// Committed: the edge crossed its ready commit.
	Committed bool
	// Sealed: no post follows, and each that was entered is counted in Posts.
	Sealed bool
	// Quiescence: bit 49 is selected and the contract has bits 0 and 2 (KS-QUI-2).
	Quiescence bool
	// ErrorQuiet: the contract has bit 3.
	ErrorQuiet bool
	// Deadline: control-deadline is reached.
	Deadline bool
}

// Claim returns the first row of the source side that fits.
func (s Source) Claim() Claim {
	switch {
	case s.Posts.Complete():
		return SourceComplete
	case !s.Committed:
		return SourceNotStarted
	case s.Sealed && s.Quiescence && s.Posts.Quiet(s.ErrorQuiet):
		return SourceQuiesced
	case s.Deadline:
		return SourceUnknown
	}
	return SourceNone
}

// Destination is what the destination of a cancelled edge knows.
type Destination struct {
	// Completed: all local ranks committed completion in an earlier round.
	Completed bool
	// Busy: local work can still touch the slot.
	Busy bool
	// Source is the evidence of the source, Missing while it said nothing.
	Source control.Evidence
}

// Claim returns the first row of the destination side that fits.
func (d Destination) Claim() Claim {
	switch {
	case d.Completed:
		return DestinationComplete
	case d.Busy:
		return DestinationNone
	case d.Source == control.NotStarted:
		return DestinationNotStarted
	}
	return DestinationQuiesced
}

// Proves says whether the evidence of a source proves its share of a slot quiet
// (KS-SET-6, KS-QUI-13): NOT_STARTED always, the others where bit 49 is selected.
func Proves(source control.Evidence, x49 bool) bool {
	switch source {
	case control.NotStarted:
		return true
	case control.SourceComplete, control.Quiesced:
		return x49
	}
	return false
}
