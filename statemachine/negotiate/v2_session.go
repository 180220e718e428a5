package negotiate

import (
	"cmp"
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// Side says which service computes a session.
type Side uint8

// The sides.
const (
	AsCTX Side = iota + 1
	AsGEN
)

// Session is a selection bound to the epochs that it was computed from (KS-SEL-9),
// with the topology and its digest. GEN computes it as a candidate before it
// allocates, advertises or sends anything (KS-SEL-20); CTX computes it again from
// the names in an OPEN (KS-SEL-21). A Session does not change.
type Session struct {
	common   Common
	digest   [32]byte
	topology identity.Topology
	bad      wrong.Rules
}

// Propose selects over ours and theirs and binds the result to the epochs in the
// names. edges are the rank pairs of this transfer, by source and destination rank,
// sorted. The error is a *statemachine.Refusal of the selection, or a *wire.Error
// where names or edges make no topology. A topology in baseline has no session: the
// result is nil without error, and Selection says so. The slices are copied.
func Propose(side Side, ours, theirs []string, edges []identity.Edge) (*Session, Selection, error) {
	sel := Select(ours, theirs)
	if sel.Reason != "" || !sel.Control {
		return nil, sel, sel.Err()
	}
	if side == AsGEN {
		ours, theirs = theirs, ours
	}
	s := &Session{common: sel.Common}
	s.topology = identity.Topology{
		Direction: identity.CTXToGEN, Version: sel.Common.Version, Caps: sel.Common.Caps, ABI: sel.Common.ABI,
		Sources: members(ours), Destinations: members(theirs), Edges: slices.Clone(edges),
	}
	var err error
	if s.digest, err = s.topology.Digest(); err != nil {
		return nil, sel, err
	}
	return s, sel, nil
}

func members(names []string) []identity.Member {
	m := make([]identity.Member, len(names))
	for i, name := range names {
		d, _, _ := descriptor.Parse(name)
		m[i] = identity.Member{Name: name, Epoch: d.Token}
	}
	return m
}

// WithWrongRules returns a copy of s with broken rules, for models and tests that
// want to see an invariant fail. Nothing else can set them.
func (s *Session) WithWrongRules(r wrong.Rules) *Session {
	c := *s
	c.bad = r
	return &c
}

// Common is the selection.
func (s *Session) Common() Common { return s.common }

// Digest is the topology digest.
func (s *Session) Digest() [32]byte { return s.digest }

// Edges is the number of edges.
func (s *Session) Edges() int { return len(s.topology.Edges) }

// Key returns the transfer key of edge i for one attempt. i is below Edges.
func (s *Session) Key(i int, ticket identity.Ticket, genAttempt uint64) identity.TransferKey {
	e := s.topology.Edges[i]
	return identity.TransferKey{
		Ticket: ticket, GenAttempt: genAttempt, SourceRank: e.Source, DestinationRank: e.Destination,
		SourceEpoch:      s.topology.Sources[e.Source].Epoch,
		DestinationEpoch: s.topology.Destinations[e.Destination].Epoch,
		Digest:           s.digest,
	}
}

// Fits says whether the session was computed from exactly these names, epochs
// included. Where it does not, it is computed anew (KS-SEL-9).
func (s *Session) Fits(sources, destinations []string) bool {
	same := func(m []identity.Member, names []string) bool {
		return slices.EqualFunc(m, names, func(m identity.Member, name string) bool { return m.Name == name })
	}
	return same(s.topology.Sources, sources) && same(s.topology.Destinations, destinations)
}

// Claim is what a message says about its session. The strings are read, not kept.
type Claim struct {
	Key *identity.TransferKey
	// Sender is the agent name that the transport reports.
	Sender string
	// Open: the message is an OPEN, and Embedded the agent name inside it. Other
	// messages embed none.
	Open     bool
	Embedded string
	// Version is the one in the envelope.
	Version uint16
	// FromCTX says which side sent it.
	FromCTX bool
}

// Match says which parts of a claim agree with the session: epochs, ranks, digest
// and selection. Request, ticket and attempt are the registry's to compare. It does
// not allocate.
func (s *Session) Match(c Claim) settle.Match {
	t := &s.topology
	m := authentic(c, t.Sources, t.Destinations)
	if _, ok := slices.BinarySearchFunc(t.Edges, identity.Edge{Source: c.Key.SourceRank, Destination: c.Key.DestinationRank}, compareEdges); !ok {
		m &^= settle.SameRanks
	}
	if c.Key.Digest == s.digest {
		m |= settle.SameDigest
		if c.Version == s.common.Version {
			m |= settle.SameSelection
		}
	}
	if s.bad.Has(wrong.IgnoreEpochs) {
		m |= settle.SameEpochs
	}
	return m
}

func compareEdges(a, b identity.Edge) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination))
}

// Authentic is the part of Match that needs no selection: sender, embedded name,
// ranks and epochs agree with the names in the message. CTX asks it about an OPEN
// whose topology it had to refuse: an authentic one consumes its ticket (KS-SEL-22),
// any other changes nothing (KS-ID-17).
func Authentic(c Claim, sources, destinations []string) settle.Match {
	s, d := c.Key.SourceRank, c.Key.DestinationRank
	if int64(s) >= int64(len(sources)) || int64(d) >= int64(len(destinations)) {
		return 0
	}
	k := *c.Key
	c.Key = &k
	k.SourceRank, k.DestinationRank = 0, 0
	var one, other [1]identity.Member
	one[0], other[0] = member(sources[s]), member(destinations[d])
	return authentic(c, one[:], other[:])
}

func member(name string) identity.Member {
	d, _, _ := descriptor.Parse(name)
	return identity.Member{Name: name, Epoch: d.Token}
}

func authentic(c Claim, sources, destinations []identity.Member) settle.Match {
	k := c.Key
	if int64(k.SourceRank) >= int64(len(sources)) || int64(k.DestinationRank) >= int64(len(destinations)) {
		return 0
	}
	src, dst := &sources[k.SourceRank], &destinations[k.DestinationRank]
	from := dst
	if c.FromCTX {
		from = src
	}
	var m settle.Match
	if k.SourceEpoch == src.Epoch && k.DestinationEpoch == dst.Epoch && src.Epoch != 0 && dst.Epoch != 0 {
		m |= settle.SameEpochs
	}
	for i, name := range [...]string{c.Sender, c.Embedded} {
		switch {
		case i == 1 && !c.Open, name == from.Name:
		case descriptor.Base(name) == descriptor.Base(from.Name):
			// The agent of that name in another incarnation, or with another profile.
			m &^= settle.SameEpochs
		default:
			return m // another agent: not the rank that the key names
		}
	}
	return m | settle.SameRanks
}

// Travels says whether a message may be sent on an edge on which the selection is
// installed on both sides or is not (KS-SEL-23): before that only OPEN, its
// rejection and the cached no-peer answer. d counts for READY only.
func Travels(t control.Type, d control.Decision, installed bool) bool {
	return installed || t == control.TypeOpen || t == control.TypeReady && d == control.DecisionNotReady
}

// ProvesInstallation says whether a message with the exact key proves to GEN that
// the selection is installed at CTX: READY=READY or TERMINAL, never OPEN or
// NOT_READY (KS-SEL-24). GEN sends no CANCEL and no TERMINAL before that
// (KS-SEL-25).
func ProvesInstallation(t control.Type, d control.Decision) bool {
	return t == control.TypeTerminal || t == control.TypeReady && d == control.DecisionReady
}
