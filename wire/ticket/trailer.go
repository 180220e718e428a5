package ticket

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/native"
)

// The bounds of an opaque state in bytes.
const (
	// MaxState bounds the whole opaque state.
	MaxState = 16 << 20
	// MaxPayload bounds the items of a trailer.
	MaxPayload = 4096
	// FooterSize is the size of the footer.
	FooterSize = 20
	// TrailerSize is the size of a trailer as it is written here.
	TrailerSize = payloadSize + FooterSize

	payloadSize = 5*(tlvHeader+8) + (tlvHeader + 1)
	tlvHeader   = 8
	schema      = 1
	magic       = "TRTLCTX1"
)

// ABI1 is the serialisation ABI whose native layouts are profile 2026mid.
const ABI1 uint64 = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Trailer is what the trailer of an opaque state says.
type Trailer struct {
	Ticket identity.Ticket
	// RequiredCaps must all be in the selected capabilities.
	RequiredCaps descriptor.Caps
	// ABI is the layout of the native prefix; never 0.
	ABI uint64
}

// State is an opaque state taken apart. Native is a part of the input.
type State struct {
	// Native holds the bytes of the native DataTransceiverState, not yet read.
	Native []byte
	// HasTrailer is false for a state without ticket: such a state serves baseline
	// only.
	HasTrailer bool
	Trailer    Trailer
}

func refuse(reason spec.Reason, req, what string, at int, detail string) error {
	return &wire.Error{Reason: reason, Req: req, What: what, Offset: at, Detail: detail}
}

// Profile returns the native layouts that an ABI id stands for, or an error for
// an ABI that is not served here.
func Profile(abi uint64) (native.Profile, error) {
	if abi != ABI1 {
		return 0, refuse(wire.ReasonBadVersion, reqABI, "ticket.serializationAbiId", -1, strconv.FormatUint(abi, 10))
	}
	return native.Mid2026, nil
}

func (t *Trailer) check() error {
	if err := t.Ticket.Check(); err != nil {
		return err
	}
	if t.ABI == 0 {
		return refuse(wire.ReasonBadValue, reqItems, "ticket.serializationAbiId", -1, "zero")
	}
	return nil
}

// Append appends the opaque state made of state, the bytes of a native
// DataTransceiverState, and t. It refuses a state that the layouts of t.ABI do
// not decode and a sum above MaxState.
func Append(dst, state []byte, t *Trailer) ([]byte, error) {
	if err := t.check(); err != nil {
		return dst, err
	}
	profile, err := Profile(t.ABI)
	if err != nil {
		return dst, err
	}
	if len(state) > MaxState-TrailerSize {
		return dst, refuse(wire.ReasonTooLarge, reqBounds, "opaqueState", -1, strconv.Itoa(len(state)+TrailerSize))
	}
	if err := native.WalkState(profile, state, native.Limits{}); err != nil {
		return dst, err
	}
	dst = append(dst, state...)
	start := len(dst)
	dst = appendU64(dst, 1, t.Ticket.RequestID)
	dst = appendU64(dst, 2, t.Ticket.InstanceEpoch)
	dst = appendU64(dst, 3, t.Ticket.Attempt)
	dst = append(appendHead(dst, 4, 1), byte(t.Ticket.Direction))
	dst = appendU64(dst, 5, uint64(t.RequiredCaps))
	dst = appendU64(dst, 6, t.ABI)
	sum := crc32.Checksum(dst[start:], castagnoli)
	size := uint32(len(dst) - start)
	be := binary.BigEndian
	dst = append(dst, magic...)
	dst = be.AppendUint16(dst, schema)
	dst = be.AppendUint16(dst, 0)
	dst = be.AppendUint32(dst, size)
	return be.AppendUint32(dst, sum), nil
}

func appendHead(dst []byte, kind uint16, n uint32) []byte {
	be := binary.BigEndian
	return be.AppendUint32(be.AppendUint16(be.AppendUint16(dst, kind), 1), n)
}

func appendU64(dst []byte, kind uint16, v uint64) []byte {
	return binary.BigEndian.AppendUint64(appendHead(dst, kind, 8), v)
}

// Split takes an opaque state apart and checks the trailer, ABI id included; the
// native prefix is not read. It allocates nothing unless it refuses. A state whose
// last 20 bytes do not begin with the magic has no trailer.
func Split(b []byte) (State, error) {
	if len(b) > MaxState {
		return State{}, refuse(wire.ReasonTooLarge, reqBounds, "opaqueState", 0, strconv.Itoa(len(b)))
	}
	foot := len(b) - FooterSize
	if foot < 0 || string(b[foot:foot+len(magic)]) != magic {
		return State{Native: b}, nil
	}
	be := binary.BigEndian
	n := int64(be.Uint32(b[foot+12:]))
	switch {
	case be.Uint16(b[foot+8:]) != schema:
		return State{}, refuse(wire.ReasonBadVersion, reqFooter, "ticket.schema", foot+8, "")
	case be.Uint16(b[foot+10:]) != 0:
		return State{}, refuse(wire.ReasonBadFlags, reqFooter, "ticket.flags", foot+10, "")
	case n > MaxPayload:
		return State{}, refuse(wire.ReasonTooLarge, reqFooter, "ticket.payloadLength", foot+12, strconv.FormatInt(n, 10))
	case n > int64(foot):
		return State{}, refuse(wire.ReasonBadLength, reqFooter, "ticket.payloadLength", foot+12, strconv.FormatInt(n, 10))
	}
	start := foot - int(n)
	if crc32.Checksum(b[start:foot], castagnoli) != be.Uint32(b[foot+16:]) {
		return State{}, refuse(wire.ReasonBadChecksum, reqFooter, "ticket.crc32c", foot+16, "")
	}
	s := State{Native: b[:start:start], HasTrailer: true}
	if err := s.Trailer.read(b[start:foot], start); err != nil {
		return State{}, err
	}
	return s, nil
}

var itemNames = [7]string{
	"", "ticket.ctxRequestId", "ticket.ctxInstanceEpoch", "ticket.ctxAttempt", "ticket.direction",
	"ticket.requiredCapabilities", "ticket.serializationAbiId",
}

// read reads the items of a payload that starts at offset base of the state.
func (t *Trailer) read(p []byte, base int) error {
	be := binary.BigEndian
	var seen uint8
	var at [7]int
	for off := 0; off < len(p); {
		if len(p)-off < tlvHeader {
			return refuse(wire.ReasonShortInput, reqItem, "ticket.item", base+off, "header cut")
		}
		kind, flags, n := be.Uint16(p[off:]), be.Uint16(p[off+2:]), int64(be.Uint32(p[off+4:]))
		if flags > 1 {
			return refuse(wire.ReasonBadFlags, reqUnknown, "ticket.item", base+off+2, strconv.Itoa(int(flags)))
		}
		if n > int64(len(p)-off-tlvHeader) {
			return refuse(wire.ReasonBadLength, reqItem, "ticket.item", base+off+4, strconv.FormatInt(n, 10))
		}
		v := p[off+tlvHeader : off+tlvHeader+int(n)]
		if kind < 1 || kind > 6 {
			if flags == 1 {
				return refuse(wire.ReasonUnknownRequired, reqUnknown, "ticket.item", base+off, strconv.Itoa(int(kind)))
			}
			off += tlvHeader + int(n)
			continue
		}
		want := int64(8)
		if kind == 4 {
			want = 1
		}
		name := itemNames[kind]
		switch {
		case flags != 1:
			return refuse(wire.ReasonBadFlags, reqItems, name, base+off+2, "known item marked optional")
		case seen>>kind&1 != 0:
			return refuse(wire.ReasonDuplicate, reqItems, name, base+off, "")
		case n != want:
			return refuse(wire.ReasonBadLength, reqItem, name, base+off+4, strconv.FormatInt(n, 10))
		}
		seen |= 1 << kind
		at[kind] = base + off
		switch kind {
		case 1:
			t.Ticket.RequestID = be.Uint64(v)
		case 2:
			t.Ticket.InstanceEpoch = be.Uint64(v)
		case 3:
			t.Ticket.Attempt = be.Uint64(v)
		case 4:
			t.Ticket.Direction = identity.Direction(v[0])
		case 5:
			t.RequiredCaps = descriptor.Caps(be.Uint64(v))
		case 6:
			t.ABI = be.Uint64(v)
		}
		off += tlvHeader + int(n)
	}
	for kind := 1; kind <= 6; kind++ {
		if seen>>kind&1 == 0 {
			return refuse(wire.ReasonMissing, reqItems, itemNames[kind], base+len(p), "")
		}
	}
	return t.checkRead(&at)
}

// checkRead refuses values that may not stand in a trailer, at the offsets of
// their items.
func (t *Trailer) checkRead(at *[7]int) error {
	bad := func(kind int, reason spec.Reason, req string) error {
		return refuse(reason, req, itemNames[kind], at[kind]+tlvHeader, "")
	}
	switch {
	case t.Ticket.InstanceEpoch == 0:
		return bad(2, wire.ReasonBadValue, reqTicket)
	case t.Ticket.Attempt == 0:
		return bad(3, wire.ReasonBadValue, reqTicket)
	case t.Ticket.Direction != identity.CTXToGEN:
		return bad(4, wire.ReasonBadValue, reqDirection)
	case t.ABI == 0:
		return bad(6, wire.ReasonBadValue, reqItems)
	case t.ABI != ABI1:
		return bad(6, wire.ReasonBadVersion, reqABI)
	}
	return nil
}

// Decode splits an opaque state and reads the native prefix in the profile that
// the ABI id names, or in fallback where there is no trailer. The native state
// owns its memory.
func Decode(b []byte, fallback native.Profile) (State, native.DataTransceiverState, error) {
	s, err := Split(b)
	if err != nil {
		return State{}, native.DataTransceiverState{}, err
	}
	profile := fallback
	if s.HasTrailer {
		if profile, err = Profile(s.Trailer.ABI); err != nil {
			return State{}, native.DataTransceiverState{}, err
		}
	}
	v, err := native.DecodeState(profile, s.Native)
	if err != nil {
		return State{}, native.DataTransceiverState{}, err
	}
	return s, v, nil
}
