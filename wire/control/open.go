package control

import (
	"errors"
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/native"
)

// Open is the proposal of GEN to CTX. It alone authorises enabled v2 work.
type Open struct {
	ID  uint64
	Key identity.TransferKey
	// Request is the native request without variant index (ABI 1). As read it is a
	// part of the input, walked and sound; native.DecodeRequestBody reads it.
	Request []byte
}

// MaxRequest bounds Request in bytes.
const MaxRequest = MaxPayload - keyTLV - tlvHeader

var openItems = of(itemKey, itemRequest)

// AppendOpen appends a whole notification. It refuses a request that Frame.Open
// would refuse without limits.
func AppendOpen(dst []byte, d Dialect, m *Open) ([]byte, error) {
	if err := checkWrite(d, m.ID, &m.Key); err != nil {
		return dst, err
	}
	if len(m.Request) > MaxRequest {
		return dst, refuse(wire.ReasonTooLarge, reqSize, "control.requestAndBufferInfo", -1, strconv.Itoa(len(m.Request)))
	}
	if err := native.WalkRequest(m.Request, native.Limits{}); err != nil {
		return dst, embedded(err, -1)
	}
	out, frame := grow(dst, keyTLV+tlvHeader+len(m.Request))
	b := putKey(frame[Overhead:], &m.Key)
	copy(head(b, itemRequest, len(m.Request)), m.Request)
	seal(frame, d.Version, TypeOpen, m.ID)
	return out, nil
}

// Open reads an OPEN. The version is not compared with a selection, because there
// is none yet: the caller compares Frame.Version with what it computes. The
// embedded request is walked under limits before it is handed out.
func (f *Frame) Open(d Dialect, limits native.Limits) (Open, error) {
	var s items
	m := Open{ID: f.ID}
	if err := f.scan(d, TypeOpen, openItems, openItems, &s); err != nil {
		return Open{}, err
	}
	if err := s.key(&m.Key); err != nil {
		return Open{}, err
	}
	at := int(s.at[itemRequest])
	m.Request = f.payload[at : at+int(s.requestLen) : at+int(s.requestLen)]
	if err := native.WalkRequest(m.Request, limits); err != nil {
		return Open{}, embedded(err, Overhead+at)
	}
	return m, nil
}

// embedded moves the error of the native walk to where the request stands.
func embedded(err error, base int) error {
	var e *wire.Error
	if !errors.As(err, &e) {
		return err
	}
	at := -1
	if base >= 0 {
		at = base + e.Offset
	}
	return &wire.Error{Reason: e.Reason, Req: reqRequest, What: "control." + e.What, Offset: at, Err: e}
}
