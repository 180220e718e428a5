package control

import "github.com/kvsettle/kvsettle/wire/identity"

// Query asks CTX how far an edge is (bit 48). It changes nothing there.
type Query struct {
	ID  uint64
	Key identity.TransferKey
}

var queryItems = of(itemKey)

// AppendQuery appends a whole notification.
func AppendQuery(dst []byte, d Dialect, m *Query) ([]byte, error) {
	if err := checkWrite(d, m.ID, &m.Key); err != nil {
		return dst, err
	}
	if err := d.needRecovery(TypeQuery, -1); err != nil {
		return dst, err
	}
	out, frame := grow(dst, keyTLV)
	putKey(frame[Overhead:], &m.Key)
	seal(frame, d.Version, TypeQuery, m.ID)
	return out, nil
}

// Query reads a QUERY.
func (f *Frame) Query(d Dialect) (Query, error) {
	if err := d.needRecovery(TypeQuery, atType); err != nil {
		return Query{}, err
	}
	var s items
	m := Query{ID: f.ID}
	if err := f.scan(d, TypeQuery, queryItems, queryItems, &s); err != nil {
		return Query{}, err
	}
	if err := s.key(&m.Key); err != nil {
		return Query{}, err
	}
	return m, nil
}
