package control

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// The sizes of the carrier in bytes.
const (
	// MaxPayload bounds the payload of one message.
	MaxPayload = 1 << 20
	// Overhead is what precedes the payload: the variant index and the envelope.
	Overhead = indexSize + envelopeSize
	// MaxNotification bounds a whole notification. The effective bound is the smaller
	// of this and the backend's own.
	MaxNotification = Overhead + MaxPayload

	atType       = 18
	indexSize    = 8
	envelopeSize = 32
	controlIndex = 3
)

// The magic "TRTLCAN1" as one number.
const magic uint64 = 'T'<<56 | 'R'<<48 | 'T'<<40 | 'L'<<32 | 'C'<<24 | 'A'<<16 | 'N'<<8 | '1'

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Frame is a message whose envelope has been checked. It refers to the bytes that
// Parse was given.
type Frame struct {
	Type    Type
	Version uint16
	// ID is the message id, never 0.
	ID      uint64
	payload []byte
}

func refuse(reason spec.Reason, req, what string, at int, detail string) error {
	return &wire.Error{Reason: reason, Req: req, What: what, Offset: at, Detail: detail}
}

// Parse checks the frame of one whole notification in the order of the chapter:
// variant index 3, magic, zero flags, payload length against bound and input,
// message id, CRC, and last the type; the first failure is the one reported.
// Broken says which errors concern the connection (KS-CTL-19). Every other refused
// frame is dropped and counted and changes nothing (KS-CTL-8, KS-CTL-23).
func Parse(b []byte) (Frame, error) {
	if len(b) < Overhead {
		return Frame{}, refuse(wire.ReasonShortInput, reqFrame, "control.envelope", 0,
			strconv.Itoa(len(b))+" of "+strconv.Itoa(Overhead)+" bytes")
	}
	be := binary.BigEndian
	n := be.Uint32(b[24:])
	f := Frame{Version: be.Uint16(b[16:]), Type: Type(be.Uint16(b[18:])), ID: be.Uint64(b[32:]), payload: b[Overhead:]}
	switch {
	case binary.LittleEndian.Uint64(b) != controlIndex:
		return Frame{}, refuse(wire.ReasonBadIndex, reqFrame, "control.variantIndex", 0, "")
	case be.Uint64(b[8:]) != magic:
		return Frame{}, refuse(wire.ReasonBadMagic, reqFrame, "control.magic", 8, "")
	case be.Uint32(b[20:]) != 0:
		return Frame{}, refuse(wire.ReasonBadFlags, reqFlagsID, "control.flags", 20, "")
	case n > MaxPayload:
		return Frame{}, refuse(wire.ReasonTooLarge, reqSize, "control.payloadLength", 24, strconv.FormatUint(uint64(n), 10))
	case int(n) > len(f.payload):
		return Frame{}, refuse(wire.ReasonBadLength, reqFrame, "control.payloadLength", 24,
			strconv.Itoa(int(n))+" of "+strconv.Itoa(len(f.payload)))
	case int(n) < len(f.payload):
		return Frame{}, refuse(wire.ReasonTrailingBytes, reqFrame, "control", Overhead+int(n),
			strconv.Itoa(len(f.payload)-int(n))+" bytes left")
	case f.ID == 0:
		return Frame{}, refuse(wire.ReasonBadValue, reqFlagsID, "control.messageId", 32, "zero")
	case crc32.Checksum(f.payload, castagnoli) != be.Uint32(b[28:]):
		return Frame{}, refuse(wire.ReasonBadChecksum, reqCRC, "control.crc32c", 28, "")
	case !f.Type.known():
		return Frame{}, refuse(wire.ReasonBadType, reqType, "control.type", atType, strconv.Itoa(int(f.Type)))
	}
	return f, nil
}

// Broken reports whether an error of Parse says that length or checksum of a frame
// are wrong: then no key in it can be trusted, and its sender is in doubt
// (KS-CTL-19).
func Broken(err error) bool {
	var e *wire.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Reason {
	case wire.ReasonShortInput, wire.ReasonBadLength, wire.ReasonTrailingBytes, wire.ReasonTooLarge, wire.ReasonBadChecksum:
		return true
	}
	return false
}

// PayloadSHA256 returns the digest that a RECEIPT for this frame echoes: of the
// bytes after the 32-byte envelope.
func (f *Frame) PayloadSHA256() [32]byte { return sha256.Sum256(f.payload) }

// Key returns the transfer key of the frame without looking at anything else, so
// that the caller can find the dialect in which to read it.
func (f *Frame) Key() (identity.TransferKey, error) {
	var k identity.TransferKey
	for off := 0; len(f.payload)-off >= tlvHeader; {
		typ := binary.BigEndian.Uint16(f.payload[off:])
		n := int64(binary.BigEndian.Uint32(f.payload[off+4:]))
		off += tlvHeader
		if n > int64(len(f.payload)-off) {
			return k, refuse(wire.ReasonBadLength, reqTLV, "control.item", Overhead+off-4, strconv.FormatInt(n, 10))
		}
		if typ == uint16(itemKey) {
			err := k.Get(f.payload[off:off+int(n)], Overhead+off)
			return k, err
		}
		off += int(n)
	}
	return k, refuse(wire.ReasonMissing, reqSet, "control.transferKey", Overhead, "")
}

// grow extends dst by a frame with n bytes of payload and returns dst and that
// frame. The frame's contents are not yet set.
func grow(dst []byte, n int) (out, frame []byte) {
	start, end := len(dst), len(dst)+Overhead+n
	if cap(dst) < end {
		bigger := make([]byte, start, max(end, 2*cap(dst)))
		copy(bigger, dst)
		dst = bigger
	}
	out = dst[:end]
	return out, out[start:end:end]
}

// seal writes variant index and envelope in front of the finished payload.
func seal(frame []byte, version uint16, typ Type, id uint64) {
	payload := frame[Overhead:]
	be := binary.BigEndian
	binary.LittleEndian.PutUint64(frame, controlIndex)
	be.PutUint64(frame[8:], magic)
	be.PutUint16(frame[16:], version)
	be.PutUint16(frame[18:], uint16(typ))
	be.PutUint32(frame[20:], 0)
	be.PutUint32(frame[24:], uint32(len(payload)))
	be.PutUint32(frame[28:], crc32.Checksum(payload, castagnoli))
	be.PutUint64(frame[32:], id)
}

// checkWrite refuses what no envelope or key may hold.
func checkWrite(d Dialect, id uint64, key *identity.TransferKey) error {
	if d.Version == 0 {
		return refuse(wire.ReasonBadVersion, reqVersion, "control.version", -1, "zero")
	}
	if id == 0 {
		return refuse(wire.ReasonBadValue, reqFlagsID, "control.messageId", -1, "zero")
	}
	return key.Check()
}
