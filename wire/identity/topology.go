package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// The bounds of a topology (KS-ID-19).
const (
	// MaxMembers bounds the ranks of one side.
	MaxMembers = 4096
	// MaxNameBytes bounds one agent name.
	MaxNameBytes = 4096
	// MaxEdges bounds the edges.
	MaxEdges = 65536
)

const (
	topologyMagic  = "TRTLTOP1"
	topologySchema = 1
)

// Member is one rank of a side: its whole agent name and its epoch.
type Member struct {
	Name  string
	Epoch uint64
}

// Edge is a rank pair that exchanges data, as indices into Sources and
// Destinations.
type Edge struct {
	Source, Destination uint32
}

// Topology is the participant set of one transfer and the selection that was
// made for it. Edges are sorted by source, then destination, without repeats.
type Topology struct {
	Direction    Direction
	Version      uint16
	Caps         descriptor.Caps
	ABI          uint64
	Sources      []Member
	Destinations []Member
	Edges        []Edge
}

// Check returns an error unless t is within the bounds and well-formed: both
// sides and the edges not empty, names and epochs set, edges sorted and inside
// the sides.
func (t *Topology) Check() error {
	if t.Direction != CTXToGEN {
		return refuse(wire.ReasonBadValue, reqKey, "topology.direction", -1, strconv.Itoa(int(t.Direction)))
	}
	if err := checkMembers("topology.sources", t.Sources); err != nil {
		return err
	}
	if err := checkMembers("topology.destinations", t.Destinations); err != nil {
		return err
	}
	if err := checkCount("topology.edges", len(t.Edges), MaxEdges); err != nil {
		return err
	}
	for i, e := range t.Edges {
		if int64(e.Source) >= int64(len(t.Sources)) || int64(e.Destination) >= int64(len(t.Destinations)) {
			return refuse(wire.ReasonOutOfRange, reqEdges, "topology.edges", -1, "edge "+strconv.Itoa(i)+" names no rank")
		}
		if i == 0 {
			continue
		}
		p := t.Edges[i-1]
		if p.Source > e.Source || p.Source == e.Source && p.Destination > e.Destination {
			return refuse(wire.ReasonBadOrder, reqEdges, "topology.edges", -1, "edge "+strconv.Itoa(i))
		}
		if p == e {
			return refuse(wire.ReasonDuplicate, reqEdges, "topology.edges", -1, "edge "+strconv.Itoa(i))
		}
	}
	return nil
}

func checkCount(what string, n, most int) error {
	switch {
	case n == 0:
		return refuse(wire.ReasonBadCount, reqBounds, what, -1, "none")
	case n > most:
		return refuse(wire.ReasonTooLarge, reqBounds, what, -1, strconv.Itoa(n)+" above "+strconv.Itoa(most))
	}
	return nil
}

func checkMembers(what string, m []Member) error {
	if err := checkCount(what, len(m), MaxMembers); err != nil {
		return err
	}
	for i := range m {
		switch n := len(m[i].Name); {
		case n == 0:
			return refuse(wire.ReasonBadValue, reqBounds, what, -1, "rank "+strconv.Itoa(i)+" has no name")
		case n > MaxNameBytes:
			return refuse(wire.ReasonTooLarge, reqBounds, what, -1, "name of rank "+strconv.Itoa(i))
		case m[i].Epoch == 0:
			return refuse(wire.ReasonBadValue, reqDigest, what, -1, "rank "+strconv.Itoa(i)+" has no epoch")
		}
	}
	return nil
}

// AppendTopology appends the bytes that the digest is taken of, or returns dst
// and an error when Check refuses t.
func AppendTopology(dst []byte, t *Topology) ([]byte, error) {
	if err := t.Check(); err != nil {
		return dst, err
	}
	be := binary.BigEndian
	dst = append(dst, topologyMagic...)
	dst = be.AppendUint16(dst, topologySchema)
	dst = append(dst, byte(t.Direction))
	dst = be.AppendUint16(dst, t.Version)
	dst = be.AppendUint64(dst, uint64(t.Caps))
	dst = be.AppendUint64(dst, t.ABI)
	for _, side := range [...][]Member{t.Sources, t.Destinations} {
		dst = be.AppendUint32(dst, uint32(len(side)))
		for i := range side {
			dst = be.AppendUint32(dst, uint32(len(side[i].Name)))
			dst = append(dst, side[i].Name...)
			dst = be.AppendUint64(dst, side[i].Epoch)
		}
	}
	dst = be.AppendUint32(dst, uint32(len(t.Edges)))
	for _, e := range t.Edges {
		dst = be.AppendUint32(be.AppendUint32(dst, e.Source), e.Destination)
	}
	return dst, nil
}

// stackBytes is how large a topology may be before Digest needs memory from the
// heap: about eight ranks a side.
const stackBytes = 4096

// Digest returns the topology digest, SHA-256 over the bytes of AppendTopology.
// Small topologies cost no allocation.
func (t *Topology) Digest() ([32]byte, error) {
	var room [stackBytes]byte
	b, err := AppendTopology(room[:0], t)
	if err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256(b), nil
}

// Key returns the transfer key of edge i of t for one attempt: its ranks are the
// indices in the lists of t (KS-ID-13), its epochs those of the two members, its
// digest that of t. It refuses what Check refuses, an edge that t does not have,
// and a key that could not stand on the wire.
func (t *Topology) Key(ticket Ticket, genAttempt uint64, i int) (TransferKey, error) {
	digest, err := t.Digest()
	if err != nil {
		return TransferKey{}, err
	}
	if i < 0 || i >= len(t.Edges) {
		return TransferKey{}, refuse(wire.ReasonOutOfRange, reqIndices, "topology.edges", -1, "no edge "+strconv.Itoa(i))
	}
	e := t.Edges[i]
	k := TransferKey{
		Ticket: ticket, GenAttempt: genAttempt, SourceRank: e.Source, DestinationRank: e.Destination,
		SourceEpoch: t.Sources[e.Source].Epoch, DestinationEpoch: t.Destinations[e.Destination].Epoch, Digest: digest,
	}
	if err := k.Check(); err != nil {
		return TransferKey{}, err
	}
	return k, nil
}
