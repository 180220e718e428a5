package negotiate

import (
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// The reason codes that only v2 selection gives.
const (
	PeerNoControl     spec.Reason = "peer-no-control"
	ABIMismatch       spec.Reason = "abi-mismatch"
	SelectionMismatch spec.Reason = "selection-mismatch"
	DigestMismatch    spec.Reason = "digest-mismatch"
)

// Common is what every endpoint of both services shares: the selection of v2. It
// is comparable.
type Common struct {
	// Version is the highest common control version.
	Version uint16
	// Caps are the capabilities that every endpoint has, unknown bits included.
	Caps descriptor.Caps
	// ABI is the id of the native layouts that every endpoint has.
	ABI uint64
}

// Recovery says that the bytes and rules of bit 48 are in use (KS-SEL-27).
func (c Common) Recovery() bool { return c.Caps.Has(descriptor.CapRecovery) }

// Quiescence says that the bytes and rules of bit 49 are in use (KS-SEL-27).
func (c Common) Quiescence() bool { return c.Caps.Has(descriptor.CapQuiescence) }

// Who is the side that a Selection blames.
type Who uint8

// The sides. Ours are the ranks of the service that asks, Theirs those of the peer.
const (
	Nobody Who = iota
	Ours
	Theirs
)

// String returns "nobody", "ours", "theirs" or "invalid".
func (w Who) String() string {
	switch w {
	case Nobody:
		return "nobody"
	case Ours:
		return "ours"
	case Theirs:
		return "theirs"
	}
	return "invalid"
}

// Selection is what a v2 service decides about a whole topology. It is a value;
// nothing in it refers to the caller's slices.
type Selection struct {
	// Reason is empty unless the topology is refused.
	Reason spec.Reason
	// Blame and Rank say at which endpoint the reason was found; Rank is -1 where it
	// is none of them.
	Blame Who
	Rank  int
	// Parse is what is wrong with a malformed descriptor.
	Parse descriptor.Class
	// Mode is that of this service. In baseline no control message is sent.
	Mode descriptor.Mode
	// HasLegacy: in baseline, a peer has no descriptor and counts as off.
	HasLegacy bool
	// Control: the control carrier may be used; Common counts.
	Control bool
	Common  Common
}

// Err returns nil for a selection that may be used, else a *statemachine.Refusal.
func (s Selection) Err() error {
	if s.Reason == "" {
		return nil
	}
	what := "v2 selection"
	if s.Rank >= 0 {
		what += ", " + s.Blame.String() + " rank " + strconv.Itoa(s.Rank)
	}
	if s.Parse != "" {
		what += " (" + string(s.Parse) + ")"
	}
	return statemachine.Refuse(s.Reason, s.requirement(), what)
}

func (s Selection) requirement() string {
	switch s.Reason {
	case PeerMalformed:
		return reqV2Names
	case LocalNoDescriptor, LocalProfile:
		return reqV2Local
	case PeerLegacy:
		return reqV2Mixed
	case PeerModeMismatch:
		return reqV2Fallback
	case PeerVersion, PeerNoControl, ABIMismatch:
		return reqV2Reject
	}
	return reqV2Select
}

// Select decides for a v2 service whose own ranks have the agent names ours and
// whose peer has the names theirs, both in rank order and complete: also those
// without a common edge (KS-SEL-15). Every rank of both services that calls it with
// the same two lists gets the same Common, whichever list is its own.
//
// In enabled mode it takes the largest minimum, the smallest maximum and the AND of
// the capabilities, and selects the largest common version. It never falls back to
// baseline (KS-SEL-26) and never selects for a part (KS-SEL-15). Local ranges may
// differ here; ValidateLocal is the check at start. In baseline mode the peers'
// mode alone counts, and a v1 descriptor is as good as a v2 one (KS-DESC-21).
//
// The checks run in the order: lists, local descriptors, malformed peers, mode of
// the local ranks, endpoints without a v2 descriptor, mode, versions, bit 2, ABI.
// Select reads the names once per check, keeps nothing and does not allocate.
func Select(ours, theirs []string) Selection {
	if len(ours) == 0 || len(theirs) == 0 {
		return Selection{Reason: NoPeers, Rank: -1}
	}
	s := Selection{Rank: -1}
	for rank, name := range ours {
		d, status, parse := descriptor.Parse(name)
		if status != descriptor.Valid || d.Schema != 2 {
			return Selection{Reason: LocalNoDescriptor, Blame: Ours, Rank: rank, Parse: parse}
		}
		if rank == 0 {
			s.Mode = d.Mode
		}
	}
	for rank, name := range theirs {
		if _, status, parse := descriptor.Parse(name); status == descriptor.Malformed {
			return s.refuse(PeerMalformed, Theirs, rank, parse)
		}
	}
	for rank, name := range ours {
		if d, _, _ := descriptor.Parse(name); d.Mode != s.Mode {
			return s.refuse(LocalProfile, Ours, rank, "")
		}
	}
	if s.Mode == descriptor.Enabled {
		return s.enabled(ours, theirs)
	}
	return s.baseline(theirs)
}

func (s Selection) refuse(reason spec.Reason, who Who, rank int, parse descriptor.Class) Selection {
	return Selection{Reason: reason, Blame: who, Rank: rank, Parse: parse, Mode: s.Mode}
}

func (s Selection) baseline(theirs []string) Selection {
	for rank, name := range theirs {
		d, status, _ := descriptor.Parse(name)
		switch {
		case status == descriptor.Missing:
			s.HasLegacy = true
		case d.Mode != descriptor.Baseline:
			return s.refuse(PeerModeMismatch, Theirs, rank, "")
		}
	}
	return s
}

func (s Selection) enabled(ours, theirs []string) Selection {
	for rank, name := range theirs {
		if d, status, _ := descriptor.Parse(name); status != descriptor.Valid || d.Schema != 2 {
			return s.refuse(PeerLegacy, Theirs, rank, "")
		}
	}
	for rank, name := range theirs {
		if d, _, _ := descriptor.Parse(name); d.Mode != s.Mode {
			return s.refuse(PeerModeMismatch, Theirs, rank, "")
		}
	}
	low, high := uint16(1), ^uint16(0)
	caps := ^descriptor.Caps(0)
	abi := uint64(0)
	noControl, otherABI := noEndpoint, noEndpoint
	for side, names := range [...][]string{ours, theirs} {
		for rank, name := range names {
			d, _, _ := descriptor.Parse(name)
			here := endpoint{Who(side + 1), rank}
			low, high = max(low, d.Min), min(high, d.Max)
			if low > high {
				return s.refuse(PeerVersion, here.who, rank, "")
			}
			if caps &= d.Caps; noControl == noEndpoint && !d.Caps.Has(descriptor.CapPeerCancel) {
				noControl = here
			}
			if abi == 0 {
				abi = d.ABI
			} else if otherABI == noEndpoint && d.ABI != abi {
				otherABI = here
			}
		}
	}
	switch {
	case noControl != noEndpoint:
		return s.refuse(PeerNoControl, noControl.who, noControl.rank, "")
	case otherABI != noEndpoint:
		return s.refuse(ABIMismatch, otherABI.who, otherABI.rank, "")
	}
	s.Control, s.Common = true, Common{high, caps, abi}
	return s
}

type endpoint struct {
	who  Who
	rank int
}

var noEndpoint = endpoint{Nobody, -1}

// Contribution is what one local rank brings to the lockstep point at which the
// selection is made.
type Contribution struct {
	// Own is its agent name.
	Own string
	// Reach holds the names of the peer's ranks, in rank order; "" where this rank
	// knows no such endpoint. Every rank that it can reach is named, also those with
	// which it shares no edge.
	Reach []string
}

// Gather joins the contributions of all local ranks, in rank order, to the two
// lists of Select. It refuses with rank-mismatch when the ranks disagree about an
// endpoint, about how many there are, or when none of them knows one: then there is
// no one topology to decide about (KS-ID-16). The slices returned are new.
func Gather(ranks []Contribution) (ours, theirs []string, err error) {
	if len(ranks) == 0 || len(ranks[0].Reach) == 0 {
		return nil, nil, statemachine.Refuse(NoPeers, reqV2Select, "v2 selection: no local rank or no endpoint")
	}
	ours = make([]string, 0, len(ranks))
	theirs = make([]string, len(ranks[0].Reach))
	for i := range ranks {
		ours = append(ours, ranks[i].Own)
		if len(ranks[i].Reach) != len(theirs) {
			return nil, nil, disagree("rank " + strconv.Itoa(i) + " counts other endpoints")
		}
		for j, name := range ranks[i].Reach {
			switch {
			case name == "":
			case theirs[j] == "":
				theirs[j] = name
			case theirs[j] != name:
				return nil, nil, disagree("rank " + strconv.Itoa(i) + " names endpoint " + strconv.Itoa(j) + " differently")
			}
		}
	}
	for j, name := range theirs {
		if name == "" {
			return nil, nil, disagree("no rank knows endpoint " + strconv.Itoa(j))
		}
	}
	return ours, theirs, nil
}

func disagree(what string) error {
	return statemachine.Refuse(settle.RankMismatch, reqV2Same, "v2 selection: "+what)
}

// Preflight is the selection for fixed peers, made once from the contributions of
// all local ranks before the first transfer. It returns the two lists with it, for
// Propose. An error is one of Gather or of the Selection.
func Preflight(ranks []Contribution) (s Selection, ours, theirs []string, err error) {
	ours, theirs, err = Gather(ranks)
	if err != nil {
		return Selection{Reason: settle.RankMismatch, Rank: -1}, nil, nil, err
	}
	s = Select(ours, theirs)
	return s, ours, theirs, s.Err()
}
