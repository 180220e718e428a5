package round

import (
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/identity"
	wire "github.com/kvsettle/kvsettle/wire/round"
)

// Fold turns the entries of one rank about one ticket into its contribution.
// Entries of other tickets are skipped; without any, the contribution says nothing.
// Entries of one rank that contradict each other become REJECT with LOCAL_UNKNOWN
// (KS-SET-4); a CANCEL of one edge is a CANCEL of the parent (KS-RND-9).
func Fold(entries []wire.Entry, ticket identity.Ticket) (c Contribution) {
	var sum settle.Sum
	evidence := 0
	for i := range entries {
		e := &entries[i]
		if e.Ticket != ticket {
			continue
		}
		s := Session{e.Mode, e.Version, e.Caps, e.ABI, e.Digest}
		if c.Intent == 0 {
			c.Intent, c.Publication, c.GenAttempt, c.Session = e.Intent, e.Publication, e.GenAttempt, s
			c.Evidence = e.Evidence
		} else {
			switch {
			case s != c.Session, e.GenAttempt != c.GenAttempt:
				return contradiction(c)
			case e.Intent == c.Intent:
			case e.Intent == wire.Cancel || c.Intent == wire.Cancel:
				c.Intent = wire.Cancel
			default:
				return contradiction(c)
			}
			c.Publication = max(c.Publication, e.Publication)
		}
		if e.Evidence != settle.Missing {
			evidence++
			c.Evidence = e.Evidence
			sum = sum.Add(settle.FromEvidence(e.Evidence).AsResult())
		} else {
			sum = sum.Add(settle.EdgeUnknown)
		}
	}
	if evidence > 0 {
		c.Evidence = sum.Topology(true, true).AsEvidence(c.Evidence == control.SourceComplete)
	}
	return c
}

func contradiction(c Contribution) Contribution {
	c.Intent, c.Evidence = wire.Reject, control.Unknown
	return c
}
