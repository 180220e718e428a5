package control

import (
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// item is the type number of a type-length-value item.
type item uint16

const (
	itemKey        item = 1
	itemRequest    item = 2
	itemDecision   item = 3
	itemReason     item = 4
	itemEvidence   item = 5
	itemTerminalID item = 6
	itemSHA256     item = 7

	itemState      item = 0x8001
	itemQueryID    item = 0x8002
	itemContract   item = 0x8003
	itemChunkIndex item = 0x8004
	itemChunkCount item = 0x8005
	itemBytes      item = 0x8006
	itemRetention  item = 0x8007

	tlvHeader = 8
	flagNeed  = 1
	keyTLV    = tlvHeader + identity.KeySize
)

// Every known item has a slot: the standard ones their number, the experimental
// ones 7 and their low byte.
const slots = 15

type mask uint16

func (i item) slot() int {
	if i >= itemKey && i <= itemSHA256 {
		return int(i)
	}
	if i >= itemState && i <= itemRetention {
		return 7 + int(i&0xFF)
	}
	return 0
}

func of(items ...item) mask {
	var m mask
	for _, i := range items {
		m |= 1 << i.slot()
	}
	return m
}

// The value size of each slot; -1 where it varies.
var sizes = [slots]int8{0, identity.KeySize, -1, 1, 4, 1, 8, 32, 1, 8, 4, 4, 4, 8, 4}

var names = [slots]string{
	"", "transferKey", "requestAndBufferInfo", "readyDecision", "cancelReason", "localEvidence", "terminalMessageId",
	"payloadSha256", "sourceState", "queryMessageId", "backendContract", "chunkIndex", "chunkCount", "bytes", "retentionMs",
}

var (
	standard = of(itemKey, itemRequest, itemDecision, itemReason, itemEvidence, itemTerminalID, itemSHA256)
	recovery = of(itemState, itemQueryID, itemChunkIndex, itemChunkCount, itemBytes)
	contract = of(itemContract, itemRetention)
)

// known returns the items that exist in d. Where an extension was not selected,
// its items are as unknown as any.
func (d Dialect) known() mask {
	m := standard
	if d.Caps.Has(descriptor.CapRecovery) {
		m |= recovery
	}
	if d.extended() {
		m |= contract
	}
	return m
}

// items is where the values of a message stand in its payload.
type items struct {
	payload    []byte
	seen       mask
	at         [slots]uint32
	requestLen uint32
}

// scan reads the items of a frame of type typ: known ones at most once, with
// flags 1, of their size and allowed in this message; all of need present;
// unknown ones skipped unless they are required.
func (f *Frame) scan(d Dialect, typ Type, need, may mask, s *items) error {
	if f.Type != typ {
		return refuse(wire.ReasonBadType, reqType, "control.type", atType, f.Type.String()+" read as "+typ.String())
	}
	if f.Version != d.Version && typ != TypeOpen {
		return refuse(wire.ReasonBadVersion, reqVersion, "control.version", 16,
			strconv.Itoa(int(f.Version))+" where "+strconv.Itoa(int(d.Version))+" is selected")
	}
	p := f.payload
	s.payload = p
	known := d.known()
	for off := 0; off < len(p); {
		if len(p)-off < tlvHeader {
			return refuse(wire.ReasonShortInput, reqTLV, "control.item", Overhead+off, "header cut")
		}
		head := binary.BigEndian.Uint64(p[off:])
		kind, flags, n := item(head>>48), uint16(head>>32), int64(uint32(head))
		if flags > flagNeed {
			return refuse(wire.ReasonBadFlags, reqUnknown, "control.item", Overhead+off+2, strconv.Itoa(int(flags)))
		}
		if n > int64(len(p)-off-tlvHeader) {
			return refuse(wire.ReasonBadLength, reqTLV, "control.item", Overhead+off+4, strconv.FormatInt(n, 10))
		}
		slot := kind.slot()
		bit := mask(1) << slot
		switch {
		case known&bit == 0:
			if flags == flagNeed {
				return refuse(wire.ReasonUnknownRequired, reqUnknown, "control.item", Overhead+off, strconv.Itoa(int(kind)))
			}
		case flags != flagNeed:
			return refuse(wire.ReasonBadFlags, reqKnownFlags, "control."+names[slot], Overhead+off+2, "known item marked optional")
		case s.seen&bit != 0:
			return refuse(wire.ReasonDuplicate, reqOnce, "control."+names[slot], Overhead+off, "")
		case may&bit == 0:
			return refuse(wire.ReasonForbidden, reqSet, "control."+names[slot], Overhead+off, "in "+typ.String())
		case sizes[slot] >= 0 && n != int64(sizes[slot]):
			return refuse(wire.ReasonBadLength, reqTLV, "control."+names[slot], Overhead+off+4, strconv.FormatInt(n, 10))
		default:
			s.seen |= bit
			s.at[slot] = uint32(off + tlvHeader)
			if kind == itemRequest {
				s.requestLen = uint32(n)
			}
		}
		off += tlvHeader + int(n)
	}
	if missing := need &^ s.seen; missing != 0 {
		return refuse(wire.ReasonMissing, reqSet, "control."+names[bits.TrailingZeros16(uint16(missing))], Overhead+len(p),
			"in "+typ.String())
	}
	return nil
}

func (s *items) has(i item) bool { return s.seen>>i.slot()&1 != 0 }

// offset returns where the value of i starts in the notification.
func (s *items) offset(i item) int { return Overhead + int(s.at[i.slot()]) }

func (s *items) u8(i item) uint8   { return s.payload[s.at[i.slot()]] }
func (s *items) u32(i item) uint32 { return binary.BigEndian.Uint32(s.payload[s.at[i.slot()]:]) }
func (s *items) u64(i item) uint64 { return binary.BigEndian.Uint64(s.payload[s.at[i.slot()]:]) }

func (s *items) key(k *identity.TransferKey) error {
	at := int(s.at[itemKey])
	return k.Get(s.payload[at:at+identity.KeySize], Overhead+at)
}

func (s *items) evidence(d Dialect) (Evidence, error) {
	e := Evidence(s.u8(itemEvidence))
	if !e.known(d.Caps) {
		return 0, refuse(wire.ReasonBadValue, reqEnum, "control.localEvidence", s.offset(itemEvidence), strconv.Itoa(int(e)))
	}
	return e, nil
}

// head writes an item's header at the front of b and returns what follows it.
func head(b []byte, i item, n int) []byte {
	binary.BigEndian.PutUint64(b, uint64(i)<<48|flagNeed<<32|uint64(uint32(n)))
	return b[tlvHeader:]
}

func putKey(b []byte, k *identity.TransferKey) []byte {
	b = head(b, itemKey, identity.KeySize)
	k.Put(b)
	return b[identity.KeySize:]
}

func putU8(b []byte, i item, v uint8) []byte {
	b = head(b, i, 1)
	b[0] = v
	return b[1:]
}

func putU32(b []byte, i item, v uint32) []byte {
	b = head(b, i, 4)
	binary.BigEndian.PutUint32(b, v)
	return b[4:]
}

func putU64(b []byte, i item, v uint64) []byte {
	b = head(b, i, 8)
	binary.BigEndian.PutUint64(b, v)
	return b[8:]
}
