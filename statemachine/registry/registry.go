// Package registry is CTX's memory of request ids in legacy and v1: the active
// contexts are an allow-list, the terminal cache answers late duplicates and
// authorises nothing. Both are bounded.
package registry

import (
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
)

// Answer says what a request for an id that is not active deserves.
type Answer uint8

// The answers.
const (
	// Reject: the id was never published here, or ended before its ready commit.
	// ready=false is true and is sent.
	Reject Answer = iota + 1
	// Silent: the attempt crossed its ready commit, or nobody remembers whether it
	// did. No answer is sent, because ready=false could be a lie (KS-V1-7).
	Silent
)

type terminal struct {
	committed bool
	reason    spec.Reason
	until     sm.Time // the end of its control lifetime
}

// Registry is the container; use New.
type Registry struct {
	limit    int
	cacheMax int
	lifetime sm.Time
	active   map[uint64]struct{}
	ended    map[uint64]terminal
	order    []uint64 // ended ids from head on, oldest first
	head     int
	maxGone  uint64 // highest id that was evicted from the cache
	anyGone  bool
}

// New returns a registry that holds at most active live ids and remembers at most
// cache ended ones beyond their control lifetime. Both must be positive; a negative
// lifetime is refused. Ids that are young and do not fit into the cache take the
// places of live ones (KS-REG-6).
func New(active, cache int, lifetime sm.Time) (*Registry, error) {
	if active <= 0 || cache <= 0 || lifetime < 0 {
		return nil, sm.Refuse(sm.BadRequest, reqBounds, "registry: limits must be positive, the control lifetime not negative")
	}
	return &Registry{limit: active, cacheMax: cache, lifetime: lifetime,
		active: make(map[uint64]struct{}), ended: make(map[uint64]terminal)}, nil
}

// Active is the number of live ids.
func (r *Registry) Active() int { return len(r.active) }

// Cached is the number of ended ids that are remembered.
func (r *Registry) Cached() int { return len(r.ended) }

// Open admits id at now. It refuses an id that is live or remembered, and any id when
// the limit is reached; live ids are never evicted. An id that was forgotten may come
// again: its control lifetime is over, no message of its first use can arrive.
func (r *Registry) Open(id uint64, now sm.Time) error {
	r.evict(now)
	if _, ok := r.active[id]; ok {
		return sm.Refuse(sm.DuplicateID, reqOneAnswer, "registry: request id is active")
	}
	if _, ok := r.ended[id]; ok {
		return sm.Refuse(sm.DuplicateID, reqOneAnswer, "registry: request id was used before")
	}
	if len(r.active)+max(0, len(r.ended)-r.cacheMax) >= r.limit {
		return sm.Refuse(sm.RegistryFull, reqFull, "registry: limit of active contexts reached")
	}
	r.active[id] = struct{}{}
	return nil
}

// evict forgets the oldest ended ids that do not fit into the cache and are past
// their control lifetime.
func (r *Registry) evict(now sm.Time) {
	for len(r.ended) > r.cacheMax {
		old := r.order[r.head]
		if !deadline.Over(r.ended[old].until, now) {
			return
		}
		delete(r.ended, old)
		r.maxGone, r.anyGone = max(r.maxGone, old), true
		if r.head++; r.head*2 >= len(r.order) {
			r.order = append(r.order[:0], r.order[r.head:]...)
			r.head = 0
		}
	}
}

// Close moves id to the terminal cache at now. committed says whether its ready
// commit was crossed.
func (r *Registry) Close(id uint64, committed bool, reason spec.Reason, now sm.Time) error {
	if _, ok := r.active[id]; !ok {
		return sm.Refuse(sm.UnknownContext, reqExactHit, "registry: end of an id that is not active")
	}
	delete(r.active, id)
	r.order = append(r.order, id)
	r.ended[id] = terminal{committed, reason, deadline.After(now, r.lifetime)}
	r.evict(now)
	return nil
}

// Look says whether id is active and, if not, what a request for it deserves and
// why.
func (r *Registry) Look(id uint64) (active bool, a Answer, why spec.Reason) {
	if _, ok := r.active[id]; ok {
		return true, 0, ""
	}
	if t, ok := r.ended[id]; ok {
		if t.committed {
			return false, Silent, sm.ContextEnded
		}
		return false, Reject, sm.ContextEnded
	}
	if r.anyGone && id <= r.maxGone {
		return false, Silent, sm.ContextEnded
	}
	return false, Reject, sm.UnknownContext
}
