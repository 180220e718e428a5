package native

import "github.com/kvsettle/kvsettle/wire"

// DataTransceiverState is the opaque state that a service hands to its peers:
// who its ranks are and how its cache is laid out. Either part may be absent.
type DataTransceiverState struct {
	Comm  *CommState
	Cache *CacheState
}

// AppendState appends the encoding of s in profile p.
func AppendState(dst []byte, p Profile, s DataTransceiverState) ([]byte, error) {
	if err := p.check("state"); err != nil {
		return dst, err
	}
	start, err := len(dst), error(nil)
	dst = appendBool(dst, s.Comm != nil)
	if s.Comm != nil {
		if dst, err = AppendComm(dst, s.Comm); err != nil {
			return dst[:start], err
		}
	}
	dst = appendBool(dst, s.Cache != nil)
	if s.Cache != nil {
		if dst, err = AppendCache(dst, p, s.Cache); err != nil {
			return dst[:start], err
		}
	}
	return dst, nil
}

// DecodeState decodes exactly one DataTransceiverState of profile p. It owns its
// memory.
func DecodeState(p Profile, b []byte) (DataTransceiverState, error) {
	if err := p.check("state"); err != nil {
		return DataTransceiverState{}, err
	}
	return decode("state", p, b, readState)
}

func readState(r *reader, dst *DataTransceiverState) {
	if r.Bool("hasCommState") {
		r.Enter("commState")
		if dst == nil {
			readComm(r, nil)
		} else {
			dst.Comm = new(CommState)
			readComm(r, dst.Comm)
		}
		r.Leave()
	}
	if r.Bool("hasCacheState") {
		r.Enter("cacheState")
		if dst == nil {
			readCache(r, nil)
		} else {
			dst.Cache = new(CacheState)
			readCache(r, dst.Cache)
		}
		r.Leave()
	}
}

// Validate requires both parts, the first with an agent list, and checks their
// ranges.
func (s *DataTransceiverState) Validate() error {
	if s.Comm == nil {
		return refuse(wire.ReasonMissing, reqStates, "state.commState", "")
	}
	if s.Cache == nil {
		return refuse(wire.ReasonMissing, reqStates, "state.cacheState", "")
	}
	if s.Comm.Kind != CommAgent {
		return refuse(wire.ReasonBadValue, reqStates, "state.commState.kind", "not an agent list")
	}
	if err := s.Comm.Validate(); err != nil {
		return err
	}
	return s.Cache.Validate()
}
