package round

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// MaxEntries bounds the contributions of one payload (KS-RND-13).
const MaxEntries = 65536

const (
	schema     = 1
	headerSize = 16

	// An entry after its length field, without and with a key.
	smallEntry = identity.TicketSize + 8 + 1 + 4 + 2 + 8 + 8 + 32
	largeEntry = smallEntry + identity.KeySize
)

// Intent is what a rank wants for a transfer.
type Intent uint8

// The intents; 0 is invalid on the wire.
const (
	Admit    Intent = 1
	Cancel   Intent = 2
	Complete Intent = 3
	Reject   Intent = 4
)

// Publication says how far a GEN rank's OPEN may have got.
type Publication uint8

// The publication states.
const (
	Unset               Publication = 0
	MaybeObservable     Publication = 1
	Acked               Publication = 2
	FailedIndeterminate Publication = 3
)

// Entry is what one rank contributes about one transfer or one edge of it.
type Entry struct {
	Ticket identity.Ticket
	// GenAttempt is proposed by the authoritative GEN rank; 0 elsewhere.
	GenAttempt uint64
	// HasKey says whether Key is present; its ticket is Ticket.
	HasKey bool
	Intent Intent
	// Evidence is 0 (none, with Admit only) or the rank's evidence.
	Evidence    control.Evidence
	Publication Publication
	Mode        descriptor.Mode
	// Version is the selected control version; 0 in baseline and only there.
	Version uint16
	Key     identity.TransferKey
	Caps    descriptor.Caps
	ABI     uint64
	Digest  [32]byte
}

// Payload is the contribution of one rank to one round. Entries are in the order
// of Compare, without repeats; see Sort.
type Payload struct {
	Round   uint64
	Entries []Entry
}

// Compare orders entries as they stand in a payload: by ticket, entries without
// a key first, then by source and destination rank.
func Compare(a, b *Entry) int {
	if c := a.Ticket.Compare(b.Ticket); c != 0 {
		return c
	}
	ar, br := a.rank(), b.rank()
	switch {
	case ar < br:
		return -1
	case ar > br:
		return 1
	}
	return 0
}

// rank folds presence, source and destination into numbers that order alike.
// Ranks of a key stay below 2^32-1, so an absent rank never equals a real one.
func (e *Entry) rank() uint64 {
	if !e.HasKey {
		return 0
	}
	return (uint64(e.Key.SourceRank)<<32 | uint64(e.Key.DestinationRank)) + 1
}

// Sort brings entries into the order of a payload.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return Compare(&a, &b) })
}

func refuse(reason spec.Reason, req, field string, at int, detail string) error {
	return &wire.Error{Reason: reason, Req: req, What: "round." + field, Offset: at, Detail: detail}
}

// The offsets of the fields behind the key, counted from the first of them.
const (
	atIntent = iota
	atEvidence
	atPublication
	atMode
	atVersion
)

// check refuses what may not stand on the wire. keyAt and tail are where the key
// and the fields behind it stand in the decoder's input, or -1 for encoders.
func (e *Entry) check(keyAt, tail int) error {
	at := func(off int) int {
		if tail < 0 {
			return -1
		}
		return tail + off
	}
	if err := e.Ticket.Check(); err != nil {
		return err
	}
	if e.HasKey {
		if err := e.Key.Check(); err != nil {
			return err
		}
		if e.Key.Ticket != e.Ticket {
			return refuse(wire.ReasonBadValue, reqLayout, "transferKey", keyAt, "another ticket")
		}
	}
	switch {
	case e.Intent < Admit || e.Intent > Reject:
		return refuse(wire.ReasonBadValue, reqLayout, "intent", at(atIntent), strconv.Itoa(int(e.Intent)))
	case e.Evidence > control.Unknown && e.Evidence != control.Quiesced:
		return refuse(wire.ReasonBadValue, reqLayout, "evidence", at(atEvidence), strconv.Itoa(int(e.Evidence)))
	case e.Evidence == 0 && e.Intent != Admit:
		return refuse(wire.ReasonBadValue, reqLayout, "evidence", at(atEvidence), "none with an intent other than ADMIT")
	case e.Publication > FailedIndeterminate:
		return refuse(wire.ReasonBadValue, reqLayout, "openPublication", at(atPublication), strconv.Itoa(int(e.Publication)))
	case e.Mode > descriptor.Enabled:
		return refuse(wire.ReasonBadValue, reqLayout, "mode", at(atMode), strconv.Itoa(int(e.Mode)))
	case (e.Version == 0) != (e.Mode == descriptor.Baseline):
		return refuse(wire.ReasonBadVersion, reqVersion, "version", at(atVersion), strconv.Itoa(int(e.Version))+" in "+e.Mode.String())
	}
	return nil
}

// follows refuses an entry that may not stand behind p.
func (e *Entry) follows(p *Entry, at int) error {
	switch c := Compare(p, e); {
	case c > 0:
		return refuse(wire.ReasonBadOrder, reqOrder, "entry", at, "")
	case c == 0:
		return refuse(wire.ReasonDuplicate, reqOrder, "entry", at, "")
	}
	return nil
}

// Append appends the encoding of p. It refuses entries out of order and whatever
// Decode refuses.
func Append(dst []byte, p *Payload) ([]byte, error) {
	if len(p.Entries) > MaxEntries {
		return dst, refuse(wire.ReasonTooLarge, reqBound, "count", -1, strconv.Itoa(len(p.Entries)))
	}
	start := len(dst)
	be := binary.BigEndian
	dst = be.AppendUint16(dst, schema)
	dst = be.AppendUint16(dst, 0)
	dst = be.AppendUint64(dst, p.Round)
	dst = be.AppendUint32(dst, uint32(len(p.Entries)))
	for i := range p.Entries {
		e := &p.Entries[i]
		err := e.check(-1, -1)
		if err == nil && i > 0 {
			err = e.follows(&p.Entries[i-1], -1)
		}
		if err != nil {
			return dst[:start], err
		}
		dst = e.append(dst)
	}
	return dst, nil
}

// append writes a checked entry.
func (e *Entry) append(dst []byte) []byte {
	be := binary.BigEndian
	size := uint32(smallEntry)
	if e.HasKey {
		size = largeEntry
	}
	dst = be.AppendUint32(dst, size)
	dst, _ = identity.AppendTicket(dst, e.Ticket)
	dst = be.AppendUint64(dst, e.GenAttempt)
	if e.HasKey {
		dst = append(dst, 1)
		dst, _ = identity.AppendKey(dst, &e.Key)
	} else {
		dst = append(dst, 0)
	}
	dst = append(dst, byte(e.Intent), byte(e.Evidence), byte(e.Publication), byte(e.Mode))
	dst = be.AppendUint16(dst, e.Version)
	dst = be.AppendUint64(dst, uint64(e.Caps))
	dst = be.AppendUint64(dst, e.ABI)
	return append(dst, e.Digest[:]...)
}
