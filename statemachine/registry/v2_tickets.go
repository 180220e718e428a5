package registry

import (
	"strconv"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/counter"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// Tickets is the v2 registry of one rank: the active registry, which is an
// allow-list, and the terminal cache, which answers and authorises nothing. CTX
// registers by ticket, GEN by ticket and gen_attempt; both hold one child per
// TransferKey (KS-REG-20). A ticket is in one of the two places or in none.
//
// Every method checks first: one that returns an error has changed nothing but the
// counter of refused admissions. The clock of its callers does not go back.
type Tickets struct {
	cfg     Config
	minted  counter.Counter
	index   map[identity.Ticket]uint32
	entries []entry
	records []record
	freeE   uint32 // 1 + index
	freeR   uint32
	active  queue // active entries with a deadline
	// The others are ordered by when they retire; a pinned entry is in none of them,
	// or last among those that wait for room.
	cached, noPeer, waiting queue
	counts                  Counts
	gone                    uint64 // highest ctx_attempt of this session that was forgotten
	bad                     wrong.Rules
}

// NewTickets returns an empty registry: a new process knows nothing of what was
// before it (KS-REG-17). It refuses limits outside 1 to 16,777,216 and settings that
// their own Check refuses.
func NewTickets(cfg Config) (*Tickets, error) {
	for _, n := range [...]int{cfg.Active, cfg.Cache} {
		if n < MinEntries || n > MaxEntries {
			return nil, sm.Refuse(sm.BadRequest, reqBounds, "registry: limit "+strconv.Itoa(n)+" is not within 1 to 16777216")
		}
	}
	if err := cfg.Settings.Check(); err != nil {
		return nil, err
	}
	return &Tickets{cfg: cfg, index: make(map[identity.Ticket]uint32)}, nil
}

// WithWrongRules breaks rules of t itself and returns it, for models and tests that
// want to see an invariant fail. Nothing else can set them.
func (t *Tickets) WithWrongRules(r wrong.Rules) *Tickets {
	t.bad = r
	return t
}

// Counts returns the present numbers.
func (t *Tickets) Counts() Counts { return t.counts }

// The refusals, as values so that refusing costs no allocation.
var (
	errFull     error = &sm.Refusal{Reason: sm.RegistryFull, Req: reqV2Full, What: "registry: active-limit reached"}
	errSession  error = &sm.Refusal{Reason: settle.StaleEpoch, Req: reqV2Fresh, What: "registry: ticket of another publication session"}
	errUsed     error = &sm.Refusal{Reason: sm.DuplicateID, Req: reqV2Unique, What: "registry: ticket was used before"}
	errOnce     error = &sm.Refusal{Reason: settle.TicketBound, Req: reqV2Once, What: "registry: ticket has an attempt"}
	errZero     error = &sm.Refusal{Reason: sm.BadRequest, Req: reqV2Attempt, What: "registry: attempt 0, no edge or too many"}
	errRole     error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Keys, What: "registry: not what this side does"}
	errTwins    error = &sm.Refusal{Reason: sm.BadRequest, Req: reqV2Keys, What: "registry: two children of one rank pair"}
	errMissing  error = &sm.Refusal{Reason: settle.UnknownTicket, Req: reqV2Exact, What: "registry: ticket is not active"}
	errBack     error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Phase, What: "registry: no such step from this phase"}
	errLater    error = &sm.Refusal{Reason: sm.BadRequest, Req: reqV2Deadline, What: "registry: a deadline moves to an earlier point only"}
	errEnding   error = &sm.Refusal{Reason: sm.WrongState, Req: reqV2Phase, What: "registry: this entry cannot end so"}
	errUncached error = &sm.Refusal{Reason: settle.UnknownTicket, Req: reqV2Exact, What: "registry: ticket has not ended here"}
)

// Mint makes the next ticket of this publication session for a request id, on the
// authoritative CTX rank. It is not registered by that (KS-ID-6, KS-ID-7).
func (t *Tickets) Mint(requestID uint64) (identity.Ticket, error) {
	if t.cfg.Session == 0 {
		return identity.Ticket{}, errRole
	}
	n, err := t.minted.Next()
	if err != nil {
		return identity.Ticket{}, err
	}
	return identity.Ticket{RequestID: requestID, InstanceEpoch: t.cfg.Session, Attempt: n, Direction: identity.CTXToGEN}, nil
}

// admit checks what both sides check before a ticket is registered.
func (t *Tickets) admit(k identity.Ticket) error {
	if err := k.Check(); err != nil {
		return err
	}
	if t.cfg.Session != 0 && k.InstanceEpoch != t.cfg.Session {
		return errSession
	}
	if i, ok := t.index[k]; ok {
		if t.entries[i].attempt != 0 {
			return errOnce
		}
		return errUsed
	}
	// What was forgotten may have been this one.
	if t.cfg.Session != 0 && k.Attempt <= t.gone {
		return errUsed
	}
	if t.counts.Active+t.counts.Ended >= t.cfg.Active {
		t.counts.Refused++
		return errFull
	}
	return nil
}

func (t *Tickets) add(k identity.Ticket, id uint32, now, length sm.Time) uint32 {
	var i uint32
	if t.freeE != 0 {
		i = t.freeE - 1
		t.freeE = t.entries[i].next
	} else {
		i = uint32(len(t.entries))
		t.entries = append(t.entries, entry{})
	}
	t.entries[i] = entry{ticket: k, id: id, where: InActive, phase: Published, last: now, pos: nowhere}
	t.index[k] = i
	t.counts.Active++
	t.push(&t.active, i, deadline.After(now, length))
	return i
}

// Publish registers a ticket at CTX, unbound, before its result becomes visible. id
// is the caller's handle of the parent. It waits for context-deadline from now on. It
// refuses a ticket of another session, one that is or was registered, and at
// active-limit any (KS-REG-2): nothing has been exposed then.
func (t *Tickets) Publish(k identity.Ticket, id uint32, now sm.Time) error {
	if t.cfg.Session == 0 {
		return errRole
	}
	if err := t.admit(k); err != nil {
		return err
	}
	t.add(k, id, now, t.cfg.Settings.Context)
	return nil
}

// Admit registers an attempt at GEN, before anything of it is allocated or
// advertised. It waits for admission-deadline from now on. It refuses as Publish
// does; a ticket that has an attempt, or had one that may have opened, takes no
// other (KS-ID-8, KS-ID-10).
func (t *Tickets) Admit(k identity.Ticket, a *Attempt, id uint32, now sm.Time) error {
	if t.cfg.Session != 0 {
		return errRole
	}
	if err := a.check(); err != nil {
		return err
	}
	if err := t.admit(k); err != nil {
		return err
	}
	t.attach(t.add(k, id, now, t.cfg.Settings.Admission), a)
	return nil
}

func (a *Attempt) check() error {
	if a.GenAttempt == 0 || a.Count == 0 || a.Count > MaxEdges {
		return errZero
	}
	for i := range a.Count {
		for j := range i {
			if a.Edges[i].SourceRank == a.Edges[j].SourceRank && a.Edges[i].DestinationRank == a.Edges[j].DestinationRank {
				return errTwins
			}
		}
	}
	return nil
}

func (t *Tickets) attach(i uint32, a *Attempt) {
	*t.record(i) = record{digest: a.Digest, edges: a.Edges, count: a.Count, x49: a.X49}
	t.entries[i].attempt = a.GenAttempt
}

// record gives an entry a record.
func (t *Tickets) record(i uint32) *record {
	if t.freeR == 0 {
		t.records = append(t.records, record{})
		t.freeR = uint32(len(t.records))
	}
	r := &t.records[t.freeR-1]
	t.entries[i].record, t.freeR = t.freeR, r.next
	return r
}

func (t *Tickets) find(k identity.Ticket) (uint32, *entry, error) {
	i, ok := t.index[k]
	if !ok || t.entries[i].where != InActive {
		return 0, nil, errMissing
	}
	return i, &t.entries[i], nil
}

// Bind gives a published ticket its one attempt, after the local decision and
// before anything of the attempt is visible. The wait for an attempt ends, the
// request deadline counts from now.
func (t *Tickets) Bind(k identity.Ticket, a *Attempt, now sm.Time) error {
	i, e, err := t.find(k)
	switch {
	case err != nil:
		return err
	case t.cfg.Session == 0:
		return errRole
	case e.attempt != 0:
		return errOnce
	}
	if err := a.check(); err != nil {
		return err
	}
	t.attach(i, a)
	t.request(i, now)
	return nil
}

// request starts the wait of a bound attempt.
func (t *Tickets) request(i uint32, now sm.Time) {
	e := &t.entries[i]
	e.phase, e.last = Bound, now
	at := deadline.After(now, t.cfg.Settings.Request)
	if e.pos == nowhere {
		t.push(&t.active, i, at)
		return
	}
	t.move(t.active, i, at)
}

// Advance records how far a bound attempt has come. Phases follow each other; one
// may be skipped, none comes again. GEN's step to Bound is its first OPEN: its
// request deadline counts from now.
func (t *Tickets) Advance(k identity.Ticket, p Phase, now sm.Time) error {
	i, e, err := t.find(k)
	switch {
	case err != nil:
		return err
	case e.attempt == 0 || p <= e.phase || p >= numPhases, e.phase == Published && p != Bound:
		return errBack
	}
	if p == Bound {
		t.request(i, now)
		return nil
	}
	e.phase = p
	return nil
}

// Limit moves the deadline of an active entry to an earlier point (KS-TIME-11).
func (t *Tickets) Limit(k identity.Ticket, at sm.Time) error {
	i, e, err := t.find(k)
	switch {
	case err != nil:
		return err
	case e.pos == nowhere || at > e.at:
		return errLater
	}
	t.move(t.active, i, at)
	return nil
}

// Expire appends every active entry whose deadline is reached, each once per wait.
// Nothing else changes: an active entry is never evicted (KS-REG-3). Evidence that
// has arrived is read before this is asked (KS-TIME-5).
func (t *Tickets) Expire(now sm.Time, dst []Expired) []Expired {
	for len(t.active) > 0 && deadline.Over(t.entries[t.active[0]].at, now) {
		i := t.active[0]
		t.remove(&t.active, i)
		e := &t.entries[i]
		v := ToCancel
		if e.phase >= ReadyDecided {
			v = ToUnknown
			if t.records[e.record-1].x49 {
				v = ToDrain
			}
		}
		if t.bad.Has(wrong.NoDeadline) {
			continue
		}
		dst = append(dst, Expired{e.ticket, e.id, v})
	}
	return dst
}

// Next is the point in time at which Expire or Sweep has something to do; ok is
// false where there is none. The caller arms one timer with it.
func (t *Tickets) Next() (at sm.Time, ok bool) {
	at = deadline.Never
	for _, q := range [...]queue{t.active, t.cached, t.noPeer, t.waiting} {
		if len(q) > 0 {
			at = min(at, t.entries[q[0]].at)
		}
	}
	if len(t.waiting) > 0 {
		for _, q := range [...]queue{t.cached, t.noPeer} {
			if len(q) > 0 {
				at = min(at, t.movable(q[0]))
			}
		}
	}
	return at, at != deadline.Never
}

// Bindings appends the handles of all active, bound entries with an edge to an agent
// of this epoch: those that a changed epoch voids (KS-REG-16), and those that a
// connection fault puts in doubt (KS-CTL-19). The registry changes nothing; their
// machines decide. The order is that of registration slots, not of time.
func (t *Tickets) Bindings(epoch uint64, dst []uint32) []uint32 {
	for i := range t.entries {
		e := &t.entries[i]
		if e.where != InActive || e.record == 0 {
			continue
		}
		r := &t.records[e.record-1]
		for _, edge := range r.edges[:r.count] {
			if edge.SourceEpoch == epoch || edge.DestinationEpoch == epoch {
				dst = append(dst, e.id)
				break
			}
		}
	}
	return dst
}
