package round

import (
	"github.com/kvsettle/kvsettle/wire/identity"
	wire "github.com/kvsettle/kvsettle/wire/round"
)

// Entry is the wire form of a contribution that says something: one entry for the
// whole parent, without a key.
func (c Contribution) Entry(ticket identity.Ticket) wire.Entry {
	return wire.Entry{
		Ticket: ticket, GenAttempt: c.GenAttempt, Intent: c.Intent, Evidence: c.Evidence,
		Publication: c.Publication, Mode: c.Session.Mode, Version: c.Session.Version,
		Caps: c.Session.Caps, ABI: c.Session.ABI, Digest: c.Session.Digest,
	}
}
