package control

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// Ready is the answer of CTX to an OPEN.
type Ready struct {
	ID       uint64
	Key      identity.TransferKey
	Decision Decision
	// Evidence is NotStarted or Unknown with DecisionNotReady, and 0 with
	// DecisionReady.
	Evidence Evidence
	// Contract (bits) and RetentionMS (milliseconds) are present with DecisionReady
	// exactly where bit 48 or 49 is selected; elsewhere they are 0.
	Contract    uint32
	RetentionMS uint32
}

// The contract bits of a backend.
const (
	// ContractVisible: completion implies remote visibility.
	ContractVisible uint32 = 1 << 0
	// ContractNotifyAfterData: an attached notification comes after its data.
	ContractNotifyAfterData uint32 = 1 << 1
	// ContractSuccessQuiet: final success implies no further access.
	ContractSuccessQuiet uint32 = 1 << 2
	// ContractErrorQuiet: a final error implies no further access.
	ContractErrorQuiet uint32 = 1 << 3
	// ContractReleaseDrains: release drains.
	ContractReleaseDrains uint32 = 1 << 4
)

var (
	readyNeed = of(itemKey, itemDecision)
	readyMay  = of(itemKey, itemDecision, itemEvidence, itemContract, itemRetention)
)

// readyPlaces is where the parts of a READY stand in its notification: values of
// the items that are there, and the end of the payload for those that are not.
type readyPlaces struct{ decision, evidence, contract, retention, end int }

var nowhere = readyPlaces{-1, -1, -1, -1, -1}

// item returns where an item begins whose value stands at value.
func (p readyPlaces) item(value int) int { return max(value-tlvHeader, -1) }

func (m *Ready) check(d Dialect, has mask, at readyPlaces) error {
	contractWanted := m.Decision == DecisionReady && d.extended()
	evidence := has&of(itemEvidence) != 0
	switch {
	case m.Decision != DecisionReady && m.Decision != DecisionNotReady:
		return refuse(wire.ReasonBadValue, reqEnum, "control.readyDecision", at.decision, strconv.Itoa(int(m.Decision)))
	case m.Decision == DecisionReady && evidence:
		return refuse(wire.ReasonForbidden, reqReady, "control.localEvidence", at.item(at.evidence), "in READY=READY")
	case m.Decision == DecisionNotReady && !evidence:
		return refuse(wire.ReasonMissing, reqReady, "control.localEvidence", at.end, "in READY=NOT_READY")
	case evidence && m.Evidence != NotStarted && m.Evidence != Unknown:
		return refuse(wire.ReasonBadValue, reqReady, "control.localEvidence", at.evidence, strconv.Itoa(int(m.Evidence)))
	case contractWanted && has&of(itemContract) == 0:
		return refuse(wire.ReasonMissing, reqContract, "control.backendContract", at.end, "in READY=READY")
	case contractWanted && has&of(itemRetention) == 0:
		return refuse(wire.ReasonMissing, reqContract, "control.retentionMs", at.end, "in READY=READY")
	case !contractWanted && has&of(itemContract) != 0:
		return refuse(wire.ReasonForbidden, reqContract, "control.backendContract", at.item(at.contract), "")
	case !contractWanted && has&of(itemRetention) != 0:
		return refuse(wire.ReasonForbidden, reqContract, "control.retentionMs", at.item(at.retention), "")
	}
	return nil
}

// AppendReady appends a whole notification.
func AppendReady(dst []byte, d Dialect, m *Ready) ([]byte, error) {
	if err := checkWrite(d, m.ID, &m.Key); err != nil {
		return dst, err
	}
	var has mask
	size := keyTLV + tlvHeader + 1
	if m.Evidence != 0 {
		has |= of(itemEvidence)
		size += tlvHeader + 1
	}
	withContract := m.Decision == DecisionReady && d.extended()
	if withContract {
		has |= contract
		size += 2 * (tlvHeader + 4)
	} else if m.Contract != 0 || m.RetentionMS != 0 {
		has |= contract
	}
	if err := m.check(d, has, nowhere); err != nil {
		return dst, err
	}
	out, frame := grow(dst, size)
	b := putU8(putKey(frame[Overhead:], &m.Key), itemDecision, uint8(m.Decision))
	if m.Evidence != 0 {
		b = putU8(b, itemEvidence, uint8(m.Evidence))
	}
	if withContract {
		putU32(putU32(b, itemContract, m.Contract), itemRetention, m.RetentionMS)
	}
	seal(frame, d.Version, TypeReady, m.ID)
	return out, nil
}

// Ready reads a READY.
func (f *Frame) Ready(d Dialect) (Ready, error) {
	var s items
	m := Ready{ID: f.ID}
	if err := f.scan(d, TypeReady, readyNeed, readyMay, &s); err != nil {
		return Ready{}, err
	}
	if err := s.key(&m.Key); err != nil {
		return Ready{}, err
	}
	m.Decision = Decision(s.u8(itemDecision))
	at := readyPlaces{s.offset(itemDecision), s.offset(itemEvidence), s.offset(itemContract), s.offset(itemRetention), Overhead + len(s.payload)}
	if s.has(itemEvidence) {
		m.Evidence = Evidence(s.u8(itemEvidence))
	}
	if err := m.check(d, s.seen, at); err != nil {
		return Ready{}, err
	}
	if s.has(itemContract) {
		m.Contract, m.RetentionMS = s.u32(itemContract), s.u32(itemRetention)
	}
	return m, nil
}
