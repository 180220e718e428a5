package control

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// DataComplete says that one chunk of an edge is at the destination (bit 48). It
// can be sent again and changes nothing the second time.
type DataComplete struct {
	ID  uint64
	Key identity.TransferKey
	// Index is below Count; Count is the same in all notices of one key.
	Index, Count uint32
	// Bytes is the size of this chunk.
	Bytes uint64
}

var dataCompleteItems = of(itemKey, itemChunkIndex, itemChunkCount, itemBytes)

func (d Dialect) needRecovery(typ Type, at int) error {
	if !d.Caps.Has(descriptor.CapRecovery) {
		return refuse(wire.ReasonBadType, reqSelected, "control.type", at, typ.String()+" without capability bit 48")
	}
	return nil
}

func (m *DataComplete) check(atIndex, atCount int) error {
	if m.Count == 0 {
		return refuse(wire.ReasonBadValue, reqChunks, "control.chunkCount", atCount, "zero")
	}
	if m.Index >= m.Count {
		return refuse(wire.ReasonBadValue, reqChunks, "control.chunkIndex", atIndex,
			strconv.FormatUint(uint64(m.Index), 10)+" of "+strconv.FormatUint(uint64(m.Count), 10))
	}
	return nil
}

// AppendDataComplete appends a whole notification.
func AppendDataComplete(dst []byte, d Dialect, m *DataComplete) ([]byte, error) {
	if err := checkWrite(d, m.ID, &m.Key); err != nil {
		return dst, err
	}
	if err := d.needRecovery(TypeDataComplete, -1); err != nil {
		return dst, err
	}
	if err := m.check(-1, -1); err != nil {
		return dst, err
	}
	out, frame := grow(dst, keyTLV+2*(tlvHeader+4)+tlvHeader+8)
	b := putU32(putKey(frame[Overhead:], &m.Key), itemChunkIndex, m.Index)
	putU64(putU32(b, itemChunkCount, m.Count), itemBytes, m.Bytes)
	seal(frame, d.Version, TypeDataComplete, m.ID)
	return out, nil
}

// DataComplete reads a DATA_COMPLETE.
func (f *Frame) DataComplete(d Dialect) (DataComplete, error) {
	if err := d.needRecovery(TypeDataComplete, atType); err != nil {
		return DataComplete{}, err
	}
	var s items
	m := DataComplete{ID: f.ID}
	if err := f.scan(d, TypeDataComplete, dataCompleteItems, dataCompleteItems, &s); err != nil {
		return DataComplete{}, err
	}
	if err := s.key(&m.Key); err != nil {
		return DataComplete{}, err
	}
	m.Index, m.Count, m.Bytes = s.u32(itemChunkIndex), s.u32(itemChunkCount), s.u64(itemBytes)
	if err := m.check(s.offset(itemChunkIndex), s.offset(itemChunkCount)); err != nil {
		return DataComplete{}, err
	}
	return m, nil
}
