package round

import (
	"errors"
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
)

var rules = wire.Rules{Short: reqLayout, Length: reqLayout, Count: reqLayout, Bool: reqLayout, Trailing: reqLayout}

// Decode reads exactly one payload. It takes memory for the entries only after
// the whole input has passed.
func Decode(b []byte) (Payload, error) {
	p, n, err := walk(b, nil)
	if err != nil || n == 0 {
		return p, err
	}
	p.Entries = make([]Entry, 0, n)
	p, _, err = walk(b, p.Entries)
	return p, err
}

// walk checks b, and with room in entries stores what it reads there.
func walk(b []byte, entries []Entry) (Payload, int, error) {
	r := wire.NewReader("round", &rules, b)
	if v := r.U16BE("schema"); r.OK() && v != schema {
		r.Fail(wire.ReasonBadVersion, reqLayout, "schema", 0, strconv.Itoa(int(v)))
	}
	if v := r.U16BE("flags"); r.OK() && v != 0 {
		r.Fail(wire.ReasonBadFlags, reqLayout, "flags", 2, strconv.Itoa(int(v)))
	}
	p := Payload{Round: r.U64BE("round")}
	n := r.Count32BE("count", 4+smallEntry)
	if n > MaxEntries {
		r.Fail(wire.ReasonTooLarge, reqBound, "count", headerSize-4, strconv.Itoa(n))
	}
	var last Entry
	for i := 0; i < n && r.OK(); i++ {
		at := r.Offset()
		e, err := readEntry(&r)
		if err == nil && r.OK() && i > 0 {
			err = e.follows(&last, at)
		}
		if err != nil {
			return Payload{}, 0, err
		}
		last = e
		if cap(entries) > 0 {
			entries = append(entries, e)
		}
	}
	if err := r.Finish(); err != nil {
		return Payload{}, 0, err
	}
	p.Entries = entries
	return p, n, nil
}

func readEntry(r *wire.Reader) (Entry, error) {
	at := r.Offset()
	size := r.U32BE("length")
	if r.OK() && int64(size) > int64(r.Left()) {
		r.Fail(wire.ReasonBadLength, reqLayout, "length", at, strconv.FormatUint(uint64(size), 10)+" of "+strconv.Itoa(r.Left()))
	}
	if r.OK() && size != smallEntry && size != largeEntry {
		r.Fail(wire.ReasonBadLength, reqLayout, "length", at, strconv.FormatUint(uint64(size), 10))
	}
	var e Entry
	base := r.Offset()
	raw := r.Take("ticket", identity.TicketSize)
	e.GenAttempt = r.U64BE("genAttempt")
	e.HasKey = r.Bool("keyPresent")
	if r.OK() && e.HasKey != (size == largeEntry) {
		r.Fail(wire.ReasonBadLength, reqLayout, "length", at, strconv.FormatUint(uint64(size), 10)+" and key_present do not agree")
	}
	var key []byte
	keyAt := r.Offset()
	if e.HasKey {
		key = r.Take("transferKey", identity.KeySize)
	}
	tail := r.Offset()
	e.Intent = Intent(r.U8("intent"))
	e.Evidence = control.Evidence(r.U8("evidence"))
	e.Publication = Publication(r.U8("openPublication"))
	e.Mode = descriptor.Mode(r.U8("mode"))
	e.Version = r.U16BE("version")
	e.Caps = descriptor.Caps(r.U64BE("capabilities"))
	e.ABI = r.U64BE("abi")
	copy(e.Digest[:], r.Take("digest", 32))
	if !r.OK() {
		return e, nil
	}
	ticket, err := identity.DecodeTicket(raw)
	if err != nil {
		return e, shift(err, base)
	}
	e.Ticket = ticket
	if e.HasKey {
		if err := e.Key.Get(key, keyAt); err != nil {
			return e, err
		}
	}
	return e, e.check(keyAt, tail)
}

// shift moves an error's offset to where the part stands in the payload.
func shift(err error, base int) error {
	var e *wire.Error
	if !errors.As(err, &e) {
		return err
	}
	moved := *e
	moved.Offset += base
	return &moved
}
