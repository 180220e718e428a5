package control

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// Terminal carries one side's final evidence for an edge.
type Terminal struct {
	ID       uint64
	Key      identity.TransferKey
	Evidence Evidence
}

var terminalItems = of(itemKey, itemEvidence)

func checkEvidence(d Dialect, e Evidence) error {
	if !e.known(d.Caps) {
		return refuse(wire.ReasonBadValue, reqEnum, "control.localEvidence", -1, strconv.Itoa(int(e)))
	}
	return nil
}

// AppendTerminal appends a whole notification. The receipt that answers it
// echoes the SHA-256 of its payload; see Frame.PayloadSHA256.
func AppendTerminal(dst []byte, d Dialect, m *Terminal) ([]byte, error) {
	if err := checkWrite(d, m.ID, &m.Key); err != nil {
		return dst, err
	}
	if err := checkEvidence(d, m.Evidence); err != nil {
		return dst, err
	}
	out, frame := grow(dst, keyTLV+tlvHeader+1)
	putU8(putKey(frame[Overhead:], &m.Key), itemEvidence, uint8(m.Evidence))
	seal(frame, d.Version, TypeTerminal, m.ID)
	return out, nil
}

// Terminal reads a TERMINAL.
func (f *Frame) Terminal(d Dialect) (Terminal, error) {
	var s items
	m := Terminal{ID: f.ID}
	err := f.scan(d, TypeTerminal, terminalItems, terminalItems, &s)
	if err == nil {
		err = s.key(&m.Key)
	}
	if err == nil {
		m.Evidence, err = s.evidence(d)
	}
	if err != nil {
		return Terminal{}, err
	}
	return m, nil
}
