package identity

import (
	"encoding/binary"
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

// Direction says which way the data goes.
type Direction uint8

// CTXToGEN is the only direction; 0 and everything else is invalid on the wire.
const CTXToGEN Direction = 1

// TicketSize is the number of bytes of an encoded Ticket.
const TicketSize = 25

// Ticket names one published context result. It authorises one consumption and
// is never bound twice.
type Ticket struct {
	// RequestID is the context request id.
	RequestID uint64
	// InstanceEpoch is the epoch of the CTX publication session; never 0.
	InstanceEpoch uint64
	// Attempt is unique in that session; never 0.
	Attempt   uint64
	Direction Direction
}

func refuse(reason spec.Reason, req, what string, at int, detail string) error {
	return &wire.Error{Reason: reason, Req: req, What: what, Offset: at, Detail: detail}
}

// Offsets inside a ticket, for error texts.
const (
	atEpoch     = 8
	atAttempt   = 16
	atDirection = 24
)

// check refuses what may not stand on the wire; base is the ticket's offset in
// the decoder's input, or -1 for encoders.
func (t *Ticket) check(base int) error {
	at := func(off int) int {
		if base < 0 {
			return -1
		}
		return base + off
	}
	switch {
	case t.InstanceEpoch == 0:
		return refuse(wire.ReasonBadValue, reqTicket, "ticket.ctxInstanceEpoch", at(atEpoch), "zero")
	case t.Attempt == 0:
		return refuse(wire.ReasonBadValue, reqTicket, "ticket.ctxAttempt", at(atAttempt), "zero")
	case t.Direction != CTXToGEN:
		return refuse(wire.ReasonBadValue, reqKey, "ticket.direction", at(atDirection), strconv.Itoa(int(t.Direction)))
	}
	return nil
}

// Check returns an error unless t can stand on the wire.
func (t Ticket) Check() error { return t.check(-1) }

func (t *Ticket) put(b []byte) {
	_ = b[TicketSize-1]
	binary.BigEndian.PutUint64(b, t.RequestID)
	binary.BigEndian.PutUint64(b[8:], t.InstanceEpoch)
	binary.BigEndian.PutUint64(b[16:], t.Attempt)
	b[24] = byte(t.Direction)
}

func (t *Ticket) get(b []byte) {
	_ = b[TicketSize-1]
	t.RequestID = binary.BigEndian.Uint64(b)
	t.InstanceEpoch = binary.BigEndian.Uint64(b[8:])
	t.Attempt = binary.BigEndian.Uint64(b[16:])
	t.Direction = Direction(b[24])
}

// AppendTicket appends the 25 bytes of t, or returns dst and an error when Check
// refuses t.
func AppendTicket(dst []byte, t Ticket) ([]byte, error) {
	if err := t.check(-1); err != nil {
		return dst, err
	}
	var b [TicketSize]byte
	t.put(b[:])
	return append(dst, b[:]...), nil
}

// DecodeTicket decodes exactly 25 bytes.
func DecodeTicket(b []byte) (Ticket, error) {
	var t Ticket
	if err := exact("ticket", reqBytes, b, TicketSize); err != nil {
		return t, err
	}
	t.get(b)
	if err := t.check(0); err != nil {
		return Ticket{}, err
	}
	return t, nil
}

// exact refuses another number of bytes than n. What is cut is refused where it
// begins (KS-RSN-4).
func exact(what, req string, b []byte, n int) error {
	switch {
	case len(b) < n:
		return refuse(wire.ReasonShortInput, req, what, 0, strconv.Itoa(len(b))+" of "+strconv.Itoa(n)+" bytes")
	case len(b) > n:
		return refuse(wire.ReasonTrailingBytes, req, what, n, strconv.Itoa(len(b)-n)+" bytes left")
	}
	return nil
}

// Compare orders tickets as their bytes order: by request id, epoch, attempt,
// direction.
func (t Ticket) Compare(o Ticket) int {
	for _, p := range [...][2]uint64{
		{t.RequestID, o.RequestID}, {t.InstanceEpoch, o.InstanceEpoch}, {t.Attempt, o.Attempt},
		{uint64(t.Direction), uint64(o.Direction)},
	} {
		if p[0] < p[1] {
			return -1
		}
		if p[0] > p[1] {
			return 1
		}
	}
	return 0
}
