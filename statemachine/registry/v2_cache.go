package registry

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// Look says what a key finds. It changes nothing and does not allocate.
func (t *Tickets) Look(k *identity.TransferKey) Hit {
	i, ok := t.index[k.Ticket]
	if !ok && t.bad.Has(wrong.IdentifyByRequestID) {
		i, ok = t.sameRequest(k.Ticket.RequestID)
	}
	if !ok {
		return Hit{Edge: NoEdge, Evidence: control.Unknown}
	}
	e := &t.entries[i]
	h := Hit{Where: e.where, ID: e.id, Edge: NoEdge, Phase: e.phase, Match: settle.SameRequest | settle.SameTicket}
	if e.attempt == 0 {
		h.Match |= settle.SameAttempt
	} else {
		t.compare(&h, k, e)
	}
	switch {
	case e.where == InActive:
	case e.kind == NoPeer:
		h.Evidence = control.NotStarted
	case e.kind == Settled && h.Match.Has(settle.Exact):
		h.Evidence = t.records[e.record-1].evidence[h.Edge]
	default:
		h.Evidence = control.Unknown
	}
	if t.bad.Has(wrong.ReadyWithoutHit) {
		h.Where = InActive
	}
	return h
}

// compare finds the child of k and sets the parts that agree.
func (t *Tickets) compare(h *Hit, k *identity.TransferKey, e *entry) {
	r := &t.records[e.record-1]
	if k.GenAttempt == e.attempt || t.bad.Has(wrong.OldReachesNew) {
		h.Match |= settle.SameAttempt
	}
	if k.Digest == r.digest {
		h.Match |= settle.SameDigest | settle.SameSelection
	}
	for j := range r.count {
		c := &r.edges[j]
		if c.SourceRank != k.SourceRank || c.DestinationRank != k.DestinationRank {
			continue
		}
		h.Edge = j
		h.Match |= settle.SameRanks
		if c.SourceEpoch == k.SourceEpoch && c.DestinationEpoch == k.DestinationEpoch {
			h.Match |= settle.SameEpochs
		}
	}
	if t.bad.Has(wrong.IgnoreEpochs) {
		h.Match |= settle.SameEpochs
	}
}

// sameRequest is the search that no right rule makes.
func (t *Tickets) sameRequest(id uint64) (uint32, bool) {
	for i := range t.entries {
		if e := &t.entries[i]; e.where != Nowhere && e.ticket.RequestID == id {
			return uint32(i), true
		}
	}
	return 0, false
}

// SameProposal says that an ended ticket was consumed by exactly this proposal. Its
// repetition gets the same bytes again; any other OPEN for the ticket is a miss
// (KS-CTX-3).
func (t *Tickets) SameProposal(k identity.Ticket, fingerprint [32]byte) bool {
	i, ok := t.index[k]
	if !ok {
		return false
	}
	e := &t.entries[i]
	return e.where == InCache && e.kind == Refused && t.records[e.record-1].digest == fingerprint
}

// Touch records that a message of a ticket was sent or received: its entry is kept
// for its lifetime from then on (KS-REG-8). It says whether there is such an entry.
func (t *Tickets) Touch(k identity.Ticket, now sm.Time) bool {
	i, ok := t.index[k]
	if !ok {
		return false
	}
	e := &t.entries[i]
	e.last = max(e.last, now)
	if e.where == InCache && !e.pinned {
		t.move(*t.home(e), i, t.retires(i))
	}
	return true
}

// home is the queue of an entry that has ended and is not pinned.
func (t *Tickets) home(e *entry) *queue {
	switch {
	case e.waiting:
		return &t.waiting
	case e.kind == NoPeer:
		return &t.noPeer
	}
	return &t.cached
}

// retires is when an entry has its age (KS-REG-8). A no-peer answer waits as long as
// GEN may still come with a first OPEN (KS-REG-24).
func (t *Tickets) retires(i uint32) sm.Time {
	e := &t.entries[i]
	if e.pinned {
		return deadline.Never
	}
	s := &t.cfg.Settings
	age := max(deadline.After(s.Lifetime(), s.Control), e.keep)
	if e.kind == NoPeer {
		age = max(age, s.Context)
	}
	return deadline.After(e.last, age)
}

// movable is when an entry may be evicted for room: after its control lifetime
// (KS-REG-6).
func (t *Tickets) movable(i uint32) sm.Time {
	e := &t.entries[i]
	return deadline.After(e.last, max(t.cfg.Settings.Lifetime(), e.keep))
}

// End takes the authority from an active entry at once and keeps its answers in the
// terminal cache. What has to leave for it is appended to dst. Where the cache is
// full of entries within their control lifetime, the ended entry waits for room,
// counts against active-limit until Sweep has moved it, and is answered as a cached
// one: admission feels the pressure, no answer is lost (KS-REG-6).
func (t *Tickets) End(k identity.Ticket, end *Ending, now sm.Time, dst []Gone) ([]Gone, error) {
	i, e, err := t.find(k)
	if err != nil {
		return dst, err
	}
	ctx, bound := t.cfg.Session != 0, e.attempt != 0
	switch end.Kind {
	case NoPeer, Refused:
		if !ctx || bound || end.Pinned {
			return dst, errEnding
		}
	case Settled:
		if !bound || e.phase == Published {
			return dst, errEnding
		}
	case NeverOpened:
		if ctx || e.phase != Published || end.Pinned {
			return dst, errEnding
		}
	default:
		return dst, errEnding
	}
	t.remove(&t.active, i)
	t.counts.Active--
	e.kind, e.last, e.keep, e.pinned = end.Kind, max(e.last, now), max(end.Keep, 0), end.Pinned
	switch end.Kind {
	case NeverOpened:
		t.forget(i)
		return dst, nil
	case Refused:
		t.record(i).digest = end.Fingerprint
	case Settled:
		r := &t.records[e.record-1]
		for j := range r.count {
			r.evidence[j] = end.Evidence[j]
			if r.evidence[j] == settle.Missing {
				r.evidence[j] = control.Unknown
			}
		}
	}
	e.where = InCache
	if dst, ok := t.room(now, dst); ok {
		t.store(i)
		return dst, nil
	}
	e.waiting = true
	t.counts.Ended++
	t.push(&t.waiting, i, t.retires(i))
	return dst, nil
}

// store puts an ended entry into the cache, where there is room.
func (t *Tickets) store(i uint32) {
	e := &t.entries[i]
	t.counts.Cached++
	if e.kind == NoPeer {
		t.counts.NoPeer++
	}
	if !e.pinned {
		t.push(t.home(e), i, t.retires(i))
	}
}

// room makes place for one more entry, if that may be.
func (t *Tickets) room(now sm.Time, dst []Gone) ([]Gone, bool) {
	if t.counts.Cached < t.cfg.Cache {
		return dst, true
	}
	var victim uint32
	switch {
	case len(t.noPeer) > 0 && (deadline.Over(t.movable(t.noPeer[0]), now) || t.bad.Has(wrong.EvictNoPeerEarly)):
		victim = t.noPeer[0]
	case len(t.cached) > 0 && deadline.Over(t.movable(t.cached[0]), now):
		victim = t.cached[0]
	default:
		return dst, false
	}
	e := &t.entries[victim]
	dst = append(dst, Gone{e.ticket, e.id, true})
	t.counts.ByCount++
	t.evict(victim)
	return dst, true
}

// evict takes an entry out of the cache.
func (t *Tickets) evict(i uint32) {
	e := &t.entries[i]
	t.remove(t.home(e), i)
	t.counts.Cached--
	if e.kind == NoPeer {
		t.counts.NoPeer--
	}
	t.forget(i)
}

// forget frees an entry that is in no queue.
func (t *Tickets) forget(i uint32) {
	e := &t.entries[i]
	delete(t.index, e.ticket)
	if t.cfg.Session != 0 {
		t.gone = max(t.gone, e.ticket.Attempt)
	}
	if e.record != 0 {
		t.records[e.record-1] = record{next: t.freeR}
		t.freeR = e.record
	}
	t.entries[i] = entry{pos: nowhere, next: t.freeE}
	t.freeE = i + 1
}

// Sweep retires what has its age and moves entries that wait for room into the
// cache. What has left is appended to dst.
func (t *Tickets) Sweep(now sm.Time, dst []Gone) []Gone {
	for _, q := range [...]*queue{&t.cached, &t.noPeer} {
		for len(*q) > 0 && deadline.Over(t.entries[(*q)[0]].at, now) {
			i := (*q)[0]
			e := &t.entries[i]
			dst = append(dst, Gone{e.ticket, e.id, false})
			t.counts.ByAge++
			t.evict(i)
		}
	}
	for len(t.waiting) > 0 {
		i := t.waiting[0]
		e := &t.entries[i]
		if deadline.Over(e.at, now) {
			dst = append(dst, Gone{e.ticket, e.id, false})
			t.counts.ByAge++
			t.counts.Ended--
			t.remove(&t.waiting, i)
			t.forget(i)
			continue
		}
		var ok bool
		if dst, ok = t.room(now, dst); !ok {
			break
		}
		t.remove(&t.waiting, i)
		e.waiting = false
		t.counts.Ended--
		t.store(i)
	}
	return dst
}

// Unpin records the proof that a pinned entry waited for; its age counts from its
// last message.
func (t *Tickets) Unpin(k identity.Ticket) error {
	i, ok := t.index[k]
	if !ok || !t.entries[i].pinned {
		return errUncached
	}
	e := &t.entries[i]
	e.pinned = false
	if e.waiting {
		t.move(t.waiting, i, t.retires(i))
		return nil
	}
	t.push(t.home(e), i, t.retires(i))
	return nil
}
