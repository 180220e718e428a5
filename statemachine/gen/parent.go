package gen

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
	wireround "github.com/kvsettle/kvsettle/wire/round"
)

const (
	// MaxParentEdges is the largest number of CTX ranks that one GEN rank fetches
	// from in v2.
	MaxParentEdges = 8
	// MaxChunks is the largest number of notices of one edge (bit 48).
	MaxChunks = 64
	// MaxParts is the largest number of parts of a bundle.
	MaxParts = 8
	// maxRetries is where the count of re-sends stops to grow; the pause has reached
	// its bound by then.
	maxRetries = 16
)

type parentFlags uint32

const (
	hasX48 parentFlags = 1 << iota
	hasX49
	wanted    // this rank wants the end
	sealed    // this rank's agreement is in a round that has not been decided
	installed // the round agreed to READY on every edge
	settling  // the local ranks decided to end the attempt
	leased    // the lease is owned
	isolated  // the lease is in quarantine
	owed      // the lease ends when the local work does
	busy      // local work can touch the slot
	processed // every part of the bundle is there
	doubtful  // whatever the edges say, this rank's disposition is UNKNOWN
	expired   // control-deadline is over
	soft      // soft-deadline is over: ask
	asking    // the retry wait is armed for QUERY
	stale     // the peer's epoch changed
	failed    // a send failed
	queued    // the lease was asked for and not answered
)

// edge is the child of one TransferKey.
type edge struct {
	state     EdgeState
	peer      control.Evidence // the source's evidence
	told      bool             // TERMINAL was sent
	receipted bool             // and acknowledged
	proven    bool             // peer_installation_proven
	cancelled bool             // CANCEL was sent
	sent      bool             // the OPEN was accepted or has failed
	tainted   bool             // the source contradicted itself
	quiet     bool             // the adaptor's contract counts the writer as ended
	done      bool             // all data is here
	count     uint16           // number of notices; 0 before the first
	got       uint64           // which of them are here
}

// Parent is the v2 machine of one attempt on one GEN rank. It is a value of fixed
// size, comparable with ==, without reference; the zero value is CONTEXT_IMPORTED
// and takes OnValidate. The caller arms AdmissionWait when it makes one. Its edges
// are those between this rank and the ranks of CTX.
//
// The parent holds no time and no identity: waits are armed by name, and a message
// arrives with the parts of its key that fit.
type Parent struct {
	state   ParentState
	result  sm.Disposition
	cause   settle.Cause
	edges   uint8
	parts   uint8 // how many there are
	ready   uint8 // which of them are processed
	retries uint8
	pub     wireround.Publication
	con     settle.Contract
	flags   parentFlags
	bad     wrong.Rules
	binding slot.Binding
	edge    [MaxParentEdges]edge
}

// WithWrongRules returns p with broken rules, for models and tests that want to
// see an invariant fail. Nothing else can set them.
func (p Parent) WithWrongRules(r wrong.Rules) Parent {
	p.bad = r
	return p
}

// State returns the present state.
func (p Parent) State() ParentState { return p.state }

// Disposition is the outcome; Open while there is none.
func (p Parent) Disposition() sm.Disposition { return p.result }

// Cause is why the attempt is being ended, or was.
func (p Parent) Cause() settle.Cause { return p.cause }

// Edges is the number of edges; 0 before OnValidate.
func (p Parent) Edges() uint8 { return p.edges }

// Edge returns the state of an edge, and EdgeAbsent outside the parent.
func (p Parent) Edge(i uint8) EdgeState {
	if i >= MaxParentEdges {
		return EdgeAbsent
	}
	return p.edge[i].state
}

// Proven is peer_installation_proven of an edge.
func (p Parent) Proven(i uint8) bool { return i < MaxParentEdges && p.edge[i].proven }

// Arrived says that all data of an edge is here.
func (p Parent) Arrived(i uint8) bool { return i < MaxParentEdges && p.edge[i].done }

// Evidence returns what this side claims for an edge, Missing while nothing. An
// edge that was never opened, and will not be, is NOT_STARTED once its parent is being
// ended.
func (p Parent) Evidence(i uint8) control.Evidence {
	if i >= MaxParentEdges {
		return settle.Missing
	}
	switch p.edge[i].state {
	case EdgeAbsent:
		if p.flags&settling != 0 && !p.MayPublish() {
			return control.NotStarted
		}
	case EdgeNotStarted:
		return control.NotStarted
	case EdgeDestinationComplete:
		return control.DestinationComplete
	case EdgeQuiesced:
		return control.Quiesced
	case EdgeUnknown:
		return control.Unknown
	}
	return settle.Missing
}

// PeerEvidence returns what the source claimed for an edge, Missing while nothing.
func (p Parent) PeerEvidence(i uint8) control.Evidence {
	if i >= MaxParentEdges {
		return settle.Missing
	}
	return p.edge[i].peer
}

// Binding is the lease; it stays readable after the lease has ended.
func (p Parent) Binding() slot.Binding { return p.binding }

// Leased says that the lease is owned and not in quarantine.
func (p Parent) Leased() bool { return p.flags&leased != 0 }

// Isolated says that the lease is in quarantine.
func (p Parent) Isolated() bool { return p.flags&isolated != 0 }

// Busy says that local work can touch the slot.
func (p Parent) Busy() bool { return p.flags&busy != 0 }

// X49 says that capability bit 49 is selected.
func (p Parent) X49() bool { return p.flags&hasX49 != 0 }

// Publication is how far OPEN may have got.
func (p Parent) Publication() wireround.Publication { return p.pub }

// MayPublish says that OnPublish will be taken: the round has admitted the attempt
// and nothing of this rank was sent yet. With bit 49 a rank that had not sent when a
// sibling's attempt was cancelled still sends its OPENs, because CTX answers only a
// complete topology (KS-QUI-18).
func (p Parent) MayPublish() bool {
	if p.flags&leased == 0 || p.pub != wireround.Unset {
		return false
	}
	if p.state == ParentCancelPending {
		return p.X49() && p.flags&expired == 0 && !p.bad.Has(wrong.SilentOnceCancelled)
	}
	return p.state == ParentAdmitted && p.flags&(wanted|sealed) == 0
}

// edgeQuiet says that the source of an edge cannot write any more (table of proofs).
func (p *Parent) edgeQuiet(i uint8) bool {
	e := &p.edge[i]
	switch {
	case e.state == EdgeAbsent, e.quiet:
		return true
	case e.tainted:
		return false
	}
	return e.done || settle.Proves(e.peer, p.X49())
}

// Quiet says that the slot is proven quiet: every edge is, and no local work
// touches it.
func (p Parent) Quiet() bool {
	for i := range p.edges {
		if !p.edgeQuiet(i) {
			return false
		}
	}
	return p.flags&busy == 0
}

// proof names what proves the slot quiet.
func (p *Parent) proof() slot.Proof {
	var opened, refused, written, gone, quiesced int
	for i := range p.edges {
		e := &p.edge[i]
		if e.state == EdgeAbsent {
			continue
		}
		opened++
		switch {
		case e.done && !e.tainted:
			written++
		case e.peer == control.NotStarted && !e.tainted:
			refused++
		case e.quiet:
			gone++
		default:
			quiesced++
		}
	}
	switch opened {
	case 0:
		return slot.NeverAdvertised
	case refused:
		return slot.NotStarted
	case written:
		return slot.Written
	case gone:
		return slot.WriterDead
	case quiesced:
		return slot.Quiesced
	}
	return slot.Settled
}

// Phase is how far this attempt has come by the decisions of the local ranks, and
// whether completion was committed.
func (p Parent) Phase() (phase round.Phase, completed bool) {
	switch {
	case p.state == ParentSuccess:
		return round.Data, true
	case p.flags&settling != 0:
		return round.Settling, false
	case p.state <= ParentPrepared, p.state == ParentLocalCancelled:
		return round.Admission, false
	case p.flags&installed != 0:
		return round.Data, false
	}
	return round.Ready, false
}

// local reduces the edges of this rank; fixed is false while evidence is missing
// that can still arrive.
func (p *Parent) local() (t settle.Topology, fixed bool) {
	var sum settle.Sum
	fixed = true
	for i := range p.edges {
		own, peer := p.Evidence(i), p.edge[i].peer
		if p.edge[i].state == EdgeAbsent {
			peer = control.NotStarted // nobody was told of the slot by this edge
		}
		if p.bad.Has(wrong.DoubtIsNotStarted) {
			if own == settle.Missing || own == control.Unknown {
				own = control.NotStarted
			}
			if peer == settle.Missing {
				peer = control.NotStarted
			}
		}
		if own == settle.Missing || peer == settle.Missing {
			fixed = false
		}
		r := settle.Edge(peer, own, p.X49())
		if p.edge[i].tainted {
			r = settle.EdgeUnknown
		}
		sum = sum.Add(r)
	}
	t = sum.Topology(p.flags&(doubtful|stale) == 0, p.X49())
	if p.flags&stale != 0 {
		return settle.Unknown, true
	}
	return t, fixed || p.flags&expired != 0
}

// words are what a rank says in a round.
type words struct {
	intent   wireround.Intent
	evidence control.Evidence
}

// says is what the rank would contribute now.
func (p *Parent) says() (c words) {
	end := wireround.Reject
	if p.cancels() {
		end = wireround.Cancel
	}
	switch p.state {
	case ParentImported, ParentPrepared, ParentAdmitted:
		switch {
		case p.flags&wanted != 0:
			c.intent, c.evidence = end, control.NotStarted
		case p.state == ParentPrepared && p.flags&leased != 0:
			c.intent = wireround.Admit
		}
	case ParentPublishing, ParentOpenSent, ParentInFlight:
		switch {
		case p.flags&wanted != 0:
			c.intent, c.evidence = end, p.uncommitted()
		case p.state == ParentInFlight && p.flags&processed != 0:
			c.intent, c.evidence = wireround.Complete, control.DestinationComplete
		case p.state == ParentOpenSent && p.flags&installed == 0 && p.every(EdgeReadyAccepted):
			c.intent = wireround.Admit
		}
	case ParentSuccess:
		if p.flags&wanted != 0 {
			c.intent, c.evidence = wireround.Cancel, control.DestinationComplete
		}
	case ParentCancelPending:
		if p.MayPublish() && p.flags&stale == 0 {
			break // its own OPEN comes first
		}
		if t, fixed := p.local(); fixed && (t == settle.NotStarted || p.flags&(expired|stale) != 0) {
			c.intent, c.evidence = wireround.Cancel, t.AsEvidence(false)
		}
	case ParentReducing:
		if t, fixed := p.local(); fixed {
			c.intent, c.evidence = wireround.Cancel, t.AsEvidence(false)
		}
	case ParentCancelSent:
		if p.flags&stale != 0 {
			c.intent, c.evidence = wireround.Cancel, control.Unknown
		}
	case ParentUninstalled:
		c.intent, c.evidence = wireround.Reject, control.Unknown
	case ParentLocalCancelled:
		c.intent, c.evidence = end, control.NotStarted
	case ParentNotStarted:
		c.intent, c.evidence = wireround.Cancel, control.NotStarted
	case ParentCompleted:
		c.intent, c.evidence = wireround.Cancel, control.DestinationComplete
	case ParentQuiesced:
		c.intent, c.evidence = wireround.Cancel, control.Quiesced
	case ParentUnknown:
		c.intent, c.evidence = wireround.Cancel, control.Unknown
	}
	return c
}

// cancels says that what this rank wants is a cancel and no doubt. In plain v2 an
// OPEN that nobody answered in time is doubt (KS-REG-14); with bit 49 the request
// deadline only cancels (KS-QUI-14).
func (p *Parent) cancels() bool {
	if p.cause == settle.ByRequestDeadline {
		return p.X49()
	}
	return p.cause.Cancels()
}

// uncommitted is what this rank can claim while it wants the end: NOT_STARTED
// where no source can have crossed its commit as far as this rank knows, and
// nothing here has begun.
func (p *Parent) uncommitted() control.Evidence {
	if p.state == ParentInFlight {
		if p.flags&processed != 0 {
			return control.DestinationComplete
		}
		return control.Unknown
	}
	if !p.cancels() && p.cause != settle.ByPeerRefusal {
		return control.Unknown
	}
	for i := range p.edges {
		if st := p.edge[i].state; st != EdgeAbsent && st != EdgeOpenSent && st != EdgeNotStarted {
			return control.Unknown
		}
	}
	return control.NotStarted
}

// offer is what would change something in the next round; nothing while an
// agreement is under way or the disposition is fixed.
func (p *Parent) offer() (o words) {
	if p.flags&sealed != 0 || p.state.Terminal() {
		return o
	}
	return p.says()
}

// Pending says that the rank has something to contribute that changes something.
func (p Parent) Pending() bool { return p.offer().intent != 0 }

func (p *Parent) every(s EdgeState) bool {
	for i := range p.edges {
		if p.edge[i].state != s {
			return false
		}
	}
	return p.edges > 0
}

func (p *Parent) anyProven() bool {
	for i := range p.edges {
		if p.edge[i].proven {
			return true
		}
	}
	return false
}
