package identity

import (
	"encoding/binary"
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// MaxRank is the largest rank of a key. The number above it stands for an absent
// rank in sort keys.
const MaxRank = 1<<32 - 2

// KeySize is the number of bytes of an encoded TransferKey.
const KeySize = 89

// TransferKey names one edge of one attempt between two incarnations. It is
// comparable and can serve as a map key. A request id alone never names a
// transfer.
type TransferKey struct {
	Ticket Ticket
	// GenAttempt names the logical consumption by GEN; never 0.
	GenAttempt uint64
	// SourceRank and DestinationRank are indices in the ordered agent lists of this
	// transfer, at most MaxRank.
	SourceRank, DestinationRank uint32
	// SourceEpoch and DestinationEpoch are the session tokens of the two agents;
	// never 0.
	SourceEpoch, DestinationEpoch uint64
	// Digest is the topology digest.
	Digest [32]byte
}

// Offsets inside a key.
const (
	atGenAttempt   = 24
	atKeyDirection = 32
	atSourceRank   = 33
	atDestRank     = 37
	atSourceEpoch  = 41
	atDestEpoch    = 49
)

func (k *TransferKey) check(base int) error {
	if k.Ticket.Direction == CTXToGEN && k.Ticket.InstanceEpoch != 0 && k.Ticket.Attempt != 0 &&
		k.GenAttempt != 0 && k.SourceEpoch != 0 && k.DestinationEpoch != 0 &&
		k.SourceRank <= MaxRank && k.DestinationRank <= MaxRank {
		return nil
	}
	return k.why(base)
}

// why finds the first reason in the order of the bytes after the one cheap test
// has failed (KS-RSN-5).
func (k *TransferKey) why(base int) error {
	for _, f := range [...]struct {
		name, detail string
		off          int
		bad          bool
	}{
		{"ctxInstanceEpoch", "zero", atEpoch, k.Ticket.InstanceEpoch == 0},
		{"ctxAttempt", "zero", atAttempt, k.Ticket.Attempt == 0},
		{"genAttempt", "zero", atGenAttempt, k.GenAttempt == 0},
		{"direction", strconv.Itoa(int(k.Ticket.Direction)), atKeyDirection, k.Ticket.Direction != CTXToGEN},
		{"sourceRank", "stands for an absent rank", atSourceRank, k.SourceRank > MaxRank},
		{"destinationRank", "stands for an absent rank", atDestRank, k.DestinationRank > MaxRank},
		{"sourceInstanceEpoch", "zero", atSourceEpoch, k.SourceEpoch == 0},
		{"destinationInstanceEpoch", "zero", atDestEpoch, k.DestinationEpoch == 0},
	} {
		if f.bad {
			at := -1
			if base >= 0 {
				at = base + f.off
			}
			return refuse(wire.ReasonBadValue, reqKey, "transferKey."+f.name, at, f.detail)
		}
	}
	return nil
}

// Check returns an error unless k can stand on the wire.
func (k *TransferKey) Check() error { return k.check(-1) }

// Put writes the 89 bytes of k to the front of b, which must be long enough,
// unchecked: messages that embed a key call Check once and then Put.
func (k *TransferKey) Put(b []byte) {
	_ = b[KeySize-1]
	binary.BigEndian.PutUint64(b, k.Ticket.RequestID)
	binary.BigEndian.PutUint64(b[8:], k.Ticket.InstanceEpoch)
	binary.BigEndian.PutUint64(b[16:], k.Ticket.Attempt)
	binary.BigEndian.PutUint64(b[24:], k.GenAttempt)
	b[32] = byte(k.Ticket.Direction)
	binary.BigEndian.PutUint32(b[33:], k.SourceRank)
	binary.BigEndian.PutUint32(b[37:], k.DestinationRank)
	binary.BigEndian.PutUint64(b[41:], k.SourceEpoch)
	binary.BigEndian.PutUint64(b[49:], k.DestinationEpoch)
	copy(b[57:89], k.Digest[:])
}

// Get reads exactly 89 bytes that stand at offset base of a larger input, into k.
// It does not allocate unless it refuses.
func (k *TransferKey) Get(b []byte, base int) error {
	if len(b) != KeySize {
		return exact("transferKey", reqLayout, b, KeySize)
	}
	k.Ticket.RequestID = binary.BigEndian.Uint64(b)
	k.Ticket.InstanceEpoch = binary.BigEndian.Uint64(b[8:])
	k.Ticket.Attempt = binary.BigEndian.Uint64(b[16:])
	k.GenAttempt = binary.BigEndian.Uint64(b[24:])
	k.Ticket.Direction = Direction(b[32])
	k.SourceRank = binary.BigEndian.Uint32(b[33:])
	k.DestinationRank = binary.BigEndian.Uint32(b[37:])
	k.SourceEpoch = binary.BigEndian.Uint64(b[41:])
	k.DestinationEpoch = binary.BigEndian.Uint64(b[49:])
	copy(k.Digest[:], b[57:89])
	return k.check(base)
}

// AppendKey appends the 89 bytes of k, or returns dst and an error when Check
// refuses k.
func AppendKey(dst []byte, k *TransferKey) ([]byte, error) {
	if err := k.check(-1); err != nil {
		return dst, err
	}
	var b [KeySize]byte
	k.Put(b[:])
	return append(dst, b[:]...), nil
}

// DecodeKey decodes exactly 89 bytes. It does not allocate unless it refuses.
func DecodeKey(b []byte) (TransferKey, error) {
	var k TransferKey
	if err := k.Get(b, 0); err != nil {
		return TransferKey{}, err
	}
	return k, nil
}
