package registry

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// MaxEdges is the largest number of children of one attempt on one rank.
const MaxEdges = 8

// The bounds of both limits (table of limits).
const (
	MinEntries = 1
	MaxEntries = 16_777_216
)

// Phase is how far an active entry has come, as far as its expiry depends on it.
type Phase uint8

// The phases, by the states of the CTX machines. GEN has Published before its first
// OPEN, Bound from then on, and the last two from its local agreement to the data
// phase on.
const (
	Published Phase = iota + 1
	Bound
	ReadyPrepared
	ReadyDecided
	InFlight
	numPhases
)

// String returns the state's name in the specification.
func (p Phase) String() string {
	names := [numPhases]string{"", "PUBLISHED", "BOUND", "READY_PREPARED", "READY_DECIDED", "IN_FLIGHT"}
	if p > 0 && p < numPhases {
		return names[p]
	}
	return "INVALID"
}

// Edge is the child of one TransferKey: the rank pair and the epochs of its agents.
type Edge struct {
	SourceRank, DestinationRank   uint32
	SourceEpoch, DestinationEpoch uint64
}

// Attempt is what binds a ticket: one consumption by GEN, with its children.
type Attempt struct {
	// GenAttempt names it; never 0.
	GenAttempt uint64
	// Digest is the topology digest.
	Digest [32]byte
	// X49 says that bit 49 is selected: an expiry past the commit drains.
	X49 bool
	// Count is the number of Edges that count, 1 to MaxEdges.
	Count uint8
	Edges [MaxEdges]Edge
}

// Where says what holds a ticket.
type Where uint8

// The places. Only InActive is authority.
const (
	// Nowhere: a miss, which is answered UNKNOWN (KS-REG-7).
	Nowhere Where = iota
	// InActive: the allow-list.
	InActive
	// InCache: ended. It is answered from what is kept and authorises nothing. An
	// entry that has ended and waits for room in the cache counts as one of it.
	InCache
)

// String returns the place in lower case.
func (w Where) String() string {
	switch w {
	case Nowhere:
		return "nowhere"
	case InActive:
		return "active"
	case InCache:
		return "cache"
	}
	return "invalid"
}

// NoEdge stands for a key that names no child.
const NoEdge = 0xFF

// Hit is what a key finds.
type Hit struct {
	Where Where
	// ID is the caller's handle; 0 for a miss.
	ID uint32
	// Edge is the index of the child, or NoEdge.
	Edge uint8
	// Phase is that of an active entry.
	Phase Phase
	// Match holds the parts of the key that agree. Of a ticket without an attempt
	// these are request, ticket and attempt: nothing contradicts it yet.
	Match settle.Match
	// Evidence is what a repeat may be told where the ticket is not active: what was
	// fixed for exactly this key, LOCAL_NOT_STARTED for a no-peer answer, else
	// LOCAL_UNKNOWN. Missing for an active entry.
	Evidence control.Evidence
}

// Authorises says whether READY=READY and writes may follow: an exact hit of an
// active, bound key (KS-REG-1).
func (h Hit) Authorises() bool { return h.Where == InActive && h.Match.Has(settle.Exact) }

// EndKind says how an entry ended.
type EndKind uint8

// The kinds.
const (
	// NoPeer: cancelled before it was bound. The answer is LOCAL_NOT_STARTED for
	// every edge of the ticket, kept and evicted as one (KS-REG-21).
	NoPeer EndKind = iota + 1
	// Refused: an incompatible proposal consumed the ticket (KS-CTX-3).
	Refused
	// Settled: an attempt with a disposition, or with success.
	Settled
	// NeverOpened: GEN ended before any rank may have published an OPEN. Nothing is
	// kept, and the ticket is free for another attempt (KS-ID-10).
	NeverOpened
)

// Ending is how an entry ends.
type Ending struct {
	Kind EndKind
	// Evidence by edge, for Settled; Missing counts as LOCAL_UNKNOWN.
	Evidence [MaxEdges]control.Evidence
	// Fingerprint names the refused proposal, for Refused.
	Fingerprint [32]byte
	// Pinned: a post is not proven final. The entry stays until Unpin (KS-REG-8).
	Pinned bool
	// Keep is how long it is kept at least; retention with bit 48, else 0.
	Keep sm.Time
}

// Verdict is what an expiry asks of the machine of an entry. It is a wish: the
// machine decides, the entry stays (KS-TIME-14).
type Verdict uint8

// The verdicts.
const (
	// ToCancel: cancel through the normal decision (KS-REG-4).
	ToCancel Verdict = iota + 1
	// ToUnknown and ToDrain: past the commit (KS-REG-5).
	ToUnknown
	ToDrain
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case ToCancel:
		return "cancel"
	case ToUnknown:
		return "unknown"
	case ToDrain:
		return "drain"
	}
	return "invalid"
}

// Expired is an active entry whose deadline is reached.
type Expired struct {
	Ticket  identity.Ticket
	ID      uint32
	Verdict Verdict
}

// Gone is an entry that has left the cache. Its handle and everything else that is
// kept for its keys may be dropped after that: dedup windows, stored replies.
type Gone struct {
	Ticket identity.Ticket
	ID     uint32
	// ByCount: evicted for room; otherwise it had its age.
	ByCount bool
}

// Counts are the gauges and counters of a registry.
type Counts struct {
	// Active entries, and those Ended that wait for room in the cache. Both count
	// against active-limit.
	Active, Ended int
	// Cached entries, NoPeer ones among them.
	Cached, NoPeer int
	// Refused admissions at the limit; entries evicted by age and by count.
	Refused, ByAge, ByCount uint64
}

// Config fixes a registry for its life.
type Config struct {
	// Session is the publication session of this CTX rank; 0 for GEN, which holds
	// the tickets of any.
	Session uint64
	// Active is active-limit, Cache is terminal-cache.
	Active, Cache int
	// Settings gives the deadlines of the waits and the control lifetime.
	Settings settle.Settings
}

type entry struct {
	ticket  identity.Ticket
	attempt uint64
	at      sm.Time // its time in the queue that it is in
	last    sm.Time // when the last message of it was sent or received
	keep    sm.Time
	id      uint32
	record  uint32 // 1 + index; 0 for none
	pos     int32
	next    uint32 // 1 + index of the next free entry
	where   Where
	phase   Phase
	kind    EndKind
	pinned  bool
	waiting bool // ended, and the cache had no room
}

// record is what only a bound ticket needs. The fingerprint of a refused proposal
// takes the place of a digest.
type record struct {
	digest   [32]byte
	edges    [MaxEdges]Edge
	evidence [MaxEdges]control.Evidence
	count    uint8
	x49      bool
	next     uint32
}
