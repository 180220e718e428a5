package negotiate

import (
	"strconv"

	"github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// Verdict is the answer to "may we talk to these peers". It is a value; nothing
// in it refers to the caller's slices.
type Verdict struct {
	// Class is the check that decided.
	Class Class
	// Rank is the index of the peer that the Class blames, or -1. The
	// ClassLegacy of deployed code blames nobody, and so does this one.
	Rank int
	// Parse is what is wrong with a peer's descriptor (ClassMalformed only).
	Parse descriptor.Class
	// Compatible: data may flow.
	Compatible bool
	// HasLegacy: a peer has no descriptor. After ClassMalformed it covers only the
	// peers before Rank.
	HasLegacy bool
	// AllAware: every peer has a good descriptor.
	AllAware bool
	// CanReject: every peer says that it can answer ready=false before any DMA. It
	// implies AllAware.
	CanReject bool
	// SelectedVersion is the highest common version in enabled mode, else 0.
	SelectedVersion uint16
}

// String returns the class and, where one is blamed, the rank.
func (v Verdict) String() string {
	s := string(v.Class)
	if v.Class == ClassNone {
		s = "unchecked"
	}
	if v.Rank >= 0 {
		s += " at rank " + strconv.Itoa(v.Rank)
	}
	if v.Parse != "" {
		s += " (" + string(v.Parse) + ")"
	}
	return s
}

// Err returns nil for a compatible verdict, else a *statemachine.Refusal with
// the reason of the class.
func (v Verdict) Err() error {
	if v.Compatible {
		return nil
	}
	return statemachine.Refuse(v.Class.Reason(), reqValidate, "peer protocol "+v.String())
}

// required are the capabilities that enabled mode needs on both sides, in the
// order in which they are checked.
var required = [...]struct {
	bit         descriptor.Caps
	local, peer Class
}{
	{descriptor.CapCancel, ClassLocalNoCancel, ClassPeerNoCancel},
	{descriptor.CapReject, ClassLocalNoReject, ClassPeerNoReject},
}

// ValidatePeers judges the peers of a service that advertises local, by their
// agent names in rank order (KS-SEL-1 to KS-SEL-7). It reads names once, keeps nothing and
// does not allocate.
//
// In baseline mode only the peers' mode counts; in enabled mode every peer needs
// a descriptor, both capabilities, and a version common to all.
func ValidatePeers(local descriptor.Descriptor, names []string) Verdict {
	enabled := local.Mode == descriptor.Enabled
	if v, ok := checkLocal(local, len(names)); !ok {
		return v
	}
	v := Verdict{Class: ClassOK, Rank: -1, CanReject: true}
	low, high := local.Min, local.Max
	// Deployed code walks the names twice: descriptors first, meaning second. Here
	// the first failure of the second walk waits in v until all names are read,
	// because a malformed name anywhere, or a legacy one while enabled, goes first.
	for rank, name := range names {
		d, status, parse := descriptor.ParseV1(name)
		switch status {
		case descriptor.Malformed:
			return Verdict{Class: ClassMalformed, Rank: rank, Parse: parse, HasLegacy: v.HasLegacy}
		case descriptor.Missing:
			v.HasLegacy, v.CanReject = true, false
			continue
		}
		v.CanReject = v.CanReject && d.Caps.Has(descriptor.CapReject)
		if v.Class != ClassOK {
			continue
		}
		if d.Mode != local.Mode {
			v.Class, v.Rank = ClassMode, rank
		} else if enabled {
			low, high = max(low, d.Min), min(high, d.Max)
			if class := checkPeer(d, low, high); class != ClassOK {
				v.Class, v.Rank = class, rank
			}
		}
	}
	if enabled && v.HasLegacy {
		return Verdict{Class: ClassLegacy, Rank: -1, HasLegacy: true}
	}
	v.AllAware = !v.HasLegacy
	if v.Class != ClassOK {
		return v
	}
	v.Compatible = true
	if v.HasLegacy {
		v.Class = ClassOKLegacy
	}
	if enabled {
		v.SelectedVersion = high
	}
	return v
}

// checkLocal makes the checks that need no peer.
func checkLocal(local descriptor.Descriptor, peers int) (Verdict, bool) {
	v := Verdict{Rank: -1}
	switch {
	case peers == 0:
		v.Class = ClassEmpty
	case local.Min == 0 || local.Min > local.Max:
		v.Class = ClassLocalRange
	case local.Token == 0:
		v.Class = ClassLocalToken
	default:
		for _, r := range required {
			if local.Mode == descriptor.Enabled && !local.Caps.Has(r.bit) {
				v.Class = r.local
				return v, false
			}
		}
		return v, true
	}
	return v, false
}

// checkPeer judges one peer in enabled mode, given the common range so far.
func checkPeer(d descriptor.Descriptor, low, high uint16) Class {
	if low > high {
		return ClassVersion
	}
	for _, r := range required {
		if !d.Caps.Has(r.bit) {
			return r.peer
		}
	}
	return ClassOK
}

// ValidatePeersMode is ValidatePeers for the descriptor that a present-day
// service advertises in the given mode (versions 1 to 1, both capabilities).
func ValidatePeersMode(mode descriptor.Mode, names []string) Verdict {
	return ValidatePeers(descriptor.Default(mode, 1), names)
}

// ValidateLocal judges the ranks of one service at start-up: each must have a
// descriptor, and all must advertise the same range, capabilities and mode.
// Tokens differ (KS-SEL-8). As deployed, it first asks ValidatePeersMode and returns a
// failure of that unchanged, so in enabled mode a range without version 1 is
// refused.
func ValidateLocal(mode descriptor.Mode, names []string) Verdict {
	v := ValidatePeersMode(mode, names)
	if !v.Compatible {
		return v
	}
	var first descriptor.Descriptor
	for rank, name := range names {
		d, status, _ := descriptor.ParseV1(name)
		if status != descriptor.Valid {
			return Verdict{Class: ClassLocalNotValid, Rank: rank, HasLegacy: true}
		}
		if rank == 0 {
			first = d
		}
		// The modes are equal already: each is the given one.
		if d.Min != first.Min || d.Max != first.Max || d.Caps != first.Caps {
			return Verdict{Class: ClassLocalProfile, Rank: rank, AllAware: true, CanReject: v.CanReject}
		}
	}
	return v
}
