package control

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// Status answers a QUERY (bit 48). It is never evidence and frees nothing.
type Status struct {
	ID    uint64
	Key   identity.TransferKey
	State SourceState
	// QueryID is the message id of the QUERY; never 0.
	QueryID uint64
}

var statusItems = of(itemKey, itemState, itemQueryID)

func (m *Status) check(atState, atQuery int) error {
	if m.State < StateNotStarted || m.State > StateQuiesced {
		return refuse(wire.ReasonBadValue, reqRecovery, "control.sourceState", atState, strconv.Itoa(int(m.State)))
	}
	if m.QueryID == 0 {
		return refuse(wire.ReasonBadValue, reqRecovery, "control.queryMessageId", atQuery, "zero")
	}
	return nil
}

// AppendStatus appends a whole notification.
func AppendStatus(dst []byte, d Dialect, m *Status) ([]byte, error) {
	if err := checkWrite(d, m.ID, &m.Key); err != nil {
		return dst, err
	}
	if err := d.needRecovery(TypeStatus, -1); err != nil {
		return dst, err
	}
	if err := m.check(-1, -1); err != nil {
		return dst, err
	}
	out, frame := grow(dst, keyTLV+(tlvHeader+1)+(tlvHeader+8))
	b := putU8(putKey(frame[Overhead:], &m.Key), itemState, uint8(m.State))
	putU64(b, itemQueryID, m.QueryID)
	seal(frame, d.Version, TypeStatus, m.ID)
	return out, nil
}

// Status reads a STATUS.
func (f *Frame) Status(d Dialect) (Status, error) {
	if err := d.needRecovery(TypeStatus, atType); err != nil {
		return Status{}, err
	}
	var s items
	m := Status{ID: f.ID}
	if err := f.scan(d, TypeStatus, statusItems, statusItems, &s); err != nil {
		return Status{}, err
	}
	if err := s.key(&m.Key); err != nil {
		return Status{}, err
	}
	m.State, m.QueryID = SourceState(s.u8(itemState)), s.u64(itemQueryID)
	if err := m.check(s.offset(itemState), s.offset(itemQueryID)); err != nil {
		return Status{}, err
	}
	return m, nil
}
