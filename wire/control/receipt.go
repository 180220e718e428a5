package control

import (
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// Receipt acknowledges the bytes of one TERMINAL and nothing else.
type Receipt struct {
	ID  uint64
	Key identity.TransferKey
	// TerminalID is the message id of the TERMINAL; never 0.
	TerminalID uint64
	// Evidence and SHA256 echo its evidence and the digest of its payload.
	Evidence Evidence
	SHA256   [32]byte
}

var receiptItems = of(itemKey, itemTerminalID, itemEvidence, itemSHA256)

// AppendReceipt appends a whole notification.
func AppendReceipt(dst []byte, d Dialect, m *Receipt) ([]byte, error) {
	if err := checkWrite(d, m.ID, &m.Key); err != nil {
		return dst, err
	}
	if err := checkEvidence(d, m.Evidence); err != nil {
		return dst, err
	}
	if m.TerminalID == 0 {
		return dst, refuse(wire.ReasonBadValue, reqAckID, "control.terminalMessageId", -1, "zero")
	}
	out, frame := grow(dst, keyTLV+(tlvHeader+1)+(tlvHeader+8)+(tlvHeader+32))
	b := putU8(putKey(frame[Overhead:], &m.Key), itemEvidence, uint8(m.Evidence))
	b = putU64(b, itemTerminalID, m.TerminalID)
	copy(head(b, itemSHA256, 32), m.SHA256[:])
	seal(frame, d.Version, TypeReceipt, m.ID)
	return out, nil
}

// Receipt reads a TERMINAL_RECEIPT.
func (f *Frame) Receipt(d Dialect) (Receipt, error) {
	var s items
	m := Receipt{ID: f.ID}
	err := f.scan(d, TypeReceipt, receiptItems, receiptItems, &s)
	if err == nil {
		err = s.key(&m.Key)
	}
	if err == nil {
		m.Evidence, err = s.evidence(d)
	}
	if err != nil {
		return Receipt{}, err
	}
	if m.TerminalID = s.u64(itemTerminalID); m.TerminalID == 0 {
		return Receipt{}, refuse(wire.ReasonBadValue, reqAckID, "control.terminalMessageId", s.offset(itemTerminalID), "zero")
	}
	copy(m.SHA256[:], s.payload[s.at[itemSHA256]:])
	return m, nil
}
