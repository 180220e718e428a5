package ticket

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// Use is what a service knows when it takes a state from a context result.
type Use struct {
	// RequestID is the request id of the context result that held the state.
	RequestID uint64
	// Enabled says that enabled v2 is in effect.
	Enabled bool
	// Selected are the capabilities of the selection; only read where Enabled.
	Selected descriptor.Caps
}

// Validate refuses a state that does not fit its use: a ticket of another request
// (bad-value, KS-TKT-6), and in enabled v2 a state without a ticket (missing,
// KS-TKT-7) or one that requires a capability outside the selection (out-of-range,
// KS-TKT-9). It allocates nothing unless it refuses.
func (s *State) Validate(u Use) error {
	switch {
	case s.HasTrailer && s.Trailer.Ticket.RequestID != u.RequestID:
		return refuse(wire.ReasonBadValue, reqRequest, "ticket.ctxRequestId", -1,
			strconv.FormatUint(s.Trailer.Ticket.RequestID, 10)+" in the result of "+strconv.FormatUint(u.RequestID, 10))
	case u.Enabled && !s.HasTrailer:
		return refuse(wire.ReasonMissing, reqBaseline, "opaqueState.trailer", -1, "enabled v2 needs a ticket")
	case u.Enabled && !u.Selected.Has(s.Trailer.RequiredCaps):
		return refuse(wire.ReasonOutOfRange, reqCaps, "ticket.requiredCapabilities", -1,
			strconv.FormatUint(uint64(s.Trailer.RequiredCaps&^u.Selected), 16)+" not selected")
	}
	return nil
}
