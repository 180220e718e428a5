package control

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// Cancel asks the peer to end an attempt. Either side may send it, repeatedly.
type Cancel struct {
	ID     uint64
	Key    identity.TransferKey
	Reason Reason
}

var cancelItems = of(itemKey, itemReason)

func (r Reason) check(at int) error {
	if r < ReasonUser || r > ReasonProtocolError {
		return refuse(wire.ReasonBadValue, reqEnum, "control.cancelReason", at, strconv.FormatUint(uint64(r), 10))
	}
	return nil
}

// AppendCancel appends a whole notification.
func AppendCancel(dst []byte, d Dialect, m *Cancel) ([]byte, error) {
	if err := checkWrite(d, m.ID, &m.Key); err != nil {
		return dst, err
	}
	if err := m.Reason.check(-1); err != nil {
		return dst, err
	}
	out, frame := grow(dst, keyTLV+tlvHeader+4)
	putU32(putKey(frame[Overhead:], &m.Key), itemReason, uint32(m.Reason))
	seal(frame, d.Version, TypeCancel, m.ID)
	return out, nil
}

// Cancel reads a CANCEL.
func (f *Frame) Cancel(d Dialect) (Cancel, error) {
	var s items
	m := Cancel{ID: f.ID}
	if err := f.scan(d, TypeCancel, cancelItems, cancelItems, &s); err != nil {
		return Cancel{}, err
	}
	if err := s.key(&m.Key); err != nil {
		return Cancel{}, err
	}
	m.Reason = Reason(s.u32(itemReason))
	if err := m.Reason.check(s.offset(itemReason)); err != nil {
		return Cancel{}, err
	}
	return m, nil
}
