package ctx

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
	// MaxParentEdges is the largest number of GEN ranks that one CTX rank serves for
	// one ticket in v2.
	MaxParentEdges = 8
	// MaxChunks is the largest number of writes of one edge.
	MaxChunks = 64
	// maxRetries is where the count of re-sends stops to grow; the pause has reached
	// its bound by then.
	maxRetries = 16
)

type parentFlags uint16

const (
	hasX48 parentFlags = 1 << iota
	hasX49
	perChunk
	opened    // an exact OPEN was heard and waits for its round
	wanted    // this rank wants the end
	sealed    // this rank's agreement is in a round that has not been decided
	committed // READY_DECIDED was installed
	leased    // the lease is owned
	isolated  // the lease is in quarantine
	doubtful  // whatever the edges say, this rank's disposition is UNKNOWN
	expired   // control-deadline is over
	reduced   // the control wait was armed
	stale     // the peer's epoch changed
)

// edge is the child of one TransferKey.
type edge struct {
	state     EdgeState
	peer      control.Evidence // GEN's evidence
	shown     bool             // READY=READY was shown
	sealing   bool             // the seal was asked for
	sealed    bool             // the seal holds
	told      bool             // TERMINAL was sent
	receipted bool             // and acknowledged
	posts     settle.Posts
}

// Parent is the v2 machine of one ticket on one CTX rank. It is a value of fixed
// size, comparable with ==, without reference; the zero value is ABSENT and takes
// OnPublish. Its edges are those between this rank and the ranks of GEN.
//
// The parent holds no time and no identity: waits are armed by name, and a message
// arrives with the parts of its key that fit.
type Parent struct {
	state   ParentState
	result  sm.Disposition
	cause   settle.Cause
	edges   uint8
	retries uint8
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

// Edges is the number of edges; 0 before the first OPEN.
func (p Parent) Edges() uint8 { return p.edges }

// Edge returns the state of an edge, and EdgeAbsent outside the parent.
func (p Parent) Edge(i uint8) EdgeState {
	if i >= MaxParentEdges {
		return EdgeAbsent
	}
	return p.edge[i].state
}

// Posts returns the writes of an edge.
func (p Parent) Posts(i uint8) settle.Posts {
	if i >= MaxParentEdges {
		return settle.Posts{}
	}
	return p.edge[i].posts
}

// Evidence returns what this side claims for an edge, Missing while nothing. An
// edge whose OPEN was never heard is NOT_STARTED once its parent has ended.
func (p Parent) Evidence(i uint8) control.Evidence {
	if i >= MaxParentEdges {
		return settle.Missing
	}
	switch p.edge[i].state {
	case EdgeAbsent:
		if p.state == ParentReducing || p.state.Terminal() {
			return control.NotStarted
		}
	case EdgeNotStarted:
		return control.NotStarted
	case EdgeSourceComplete:
		return control.SourceComplete
	case EdgeQuiesced:
		return control.Quiesced
	case EdgeUnknown:
		return control.Unknown
	}
	return settle.Missing
}

// PeerEvidence returns what GEN claimed for an edge, Missing while nothing.
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

// Sealed says that no post of the edge can follow.
func (p Parent) Sealed(i uint8) bool { return i < MaxParentEdges && p.edge[i].sealed }

// X49 says that capability bit 49 is selected.
func (p Parent) X49() bool { return p.flags&hasX49 != 0 }

// Quiet says that no post of any edge touches the source slot any more and none
// can follow: the proof "own writes final".
func (p Parent) Quiet() bool {
	for i := range p.edges {
		e := &p.edge[i]
		if !e.posts.Quiet(p.con.Has(settle.ErrorQuiet)) {
			return false
		}
		if e.shown && !e.sealed && !e.posts.Complete() {
			return false
		}
	}
	return true
}

// Phase is how far this attempt has come by the decisions of the local ranks, and
// whether completion was committed.
func (p Parent) Phase() (phase round.Phase, completed bool) {
	switch {
	case p.state <= ParentPublished:
		return round.Admission, false
	case p.state == ParentBound && p.flags&committed == 0:
		return round.Ready, false
	case p.state == ParentBound:
		return round.Data, false
	case p.state == ParentSuccess:
		return round.Data, true
	}
	return round.Settling, false
}

// local reduces the edges of this rank; fixed is false while evidence is missing
// that can still arrive.
func (p *Parent) local() (t settle.Topology, fixed bool) {
	var sum settle.Sum
	alone, fixed := true, true
	for i := range p.edges {
		own, peer := p.Evidence(i), p.edge[i].peer
		if own == settle.Missing {
			fixed = false
		}
		if peer == settle.Missing {
			if p.bad.Has(wrong.DoubtIsNotStarted) {
				peer = control.NotStarted
			} else {
				fixed = false
			}
		}
		if own != control.SourceComplete {
			alone = false
		}
		sum = sum.Add(settle.Edge(own, peer, p.X49()))
	}
	t = sum.Topology(p.flags&(doubtful|stale) == 0, p.X49())
	switch {
	case p.flags&stale != 0:
		return settle.Unknown, true
	case p.flags&doubtful != 0:
		return settle.Unknown, fixed || p.flags&expired != 0
	case alone && p.X49() && !fixed:
		// GEN's evidence can change nothing about this side's memory (KS-QUI-12); where
		// all of it is in hand, the table decides for both sides alike (KS-SET-12).
		return settle.Completed, true
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
	if p.cause.Cancels() {
		end = wireround.Cancel
	}
	switch p.state {
	case ParentPublished:
		switch {
		case p.flags&wanted != 0:
			c.intent, c.evidence = end, control.NotStarted
			if end == wireround.Reject {
				c.evidence = control.Unknown
			}
		case p.flags&opened != 0:
			c.intent = wireround.Admit
		}
	case ParentBound:
		switch {
		case p.flags&wanted != 0 && p.flags&committed == 0:
			c.intent, c.evidence = end, control.NotStarted
		case p.flags&wanted != 0:
			c.intent, c.evidence = end, control.Unknown
			if p.every(EdgeSourceComplete) {
				c.evidence = control.SourceComplete
			}
		case p.flags&committed == 0 && p.every(EdgePrepared):
			c.intent, c.evidence = wireround.Admit, control.NotStarted
		case p.every(EdgeSourceComplete):
			c.intent, c.evidence = wireround.Complete, control.SourceComplete
		}
	case ParentSuccess:
		if p.flags&wanted != 0 {
			c.intent, c.evidence = wireround.Cancel, control.SourceComplete
		}
	case ParentReducing:
		if t, fixed := p.local(); fixed {
			c.intent, c.evidence = wireround.Cancel, t.AsEvidence(true)
		}
	case ParentNotStarted:
		c.intent, c.evidence = wireround.Cancel, control.NotStarted
	case ParentCompleted:
		c.intent, c.evidence = wireround.Cancel, control.SourceComplete
	case ParentQuiesced:
		c.intent, c.evidence = wireround.Cancel, control.Quiesced
	case ParentUnknown:
		c.intent, c.evidence = wireround.Cancel, control.Unknown
	}
	return c
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
