// Package registry is CTX's memory of request ids in legacy and v1: the active
// contexts are an allow-list, the terminal cache answers late duplicates and
// authorises nothing. Both are bounded.
package registry

import (
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
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
	id        uint64
	committed bool
	reason    spec.Reason
}

// Registry is the container; use New.
type Registry struct {
	limit    int
	cacheMax int
	active   map[uint64]struct{}
	ended    map[uint64]terminal
	order    []uint64 // ring of ended ids, oldest at head
	head     int
	maxGone  uint64 // highest id that was evicted from the cache
	anyGone  bool
}

// New returns a registry that holds at most active live ids and remembers at most
// cache ended ones. Both must be positive.
func New(active, cache int) (*Registry, error) {
	if active <= 0 || cache <= 0 {
		return nil, sm.Refuse(sm.BadRequest, reqBounds, "registry: limits must be positive")
	}
	return &Registry{limit: active, cacheMax: cache, active: make(map[uint64]struct{}), ended: make(map[uint64]terminal)}, nil
}

// Active is the number of live ids.
func (r *Registry) Active() int { return len(r.active) }

// Cached is the number of ended ids that are remembered.
func (r *Registry) Cached() int { return len(r.ended) }

// Open admits id. It refuses an id that is live or remembered, and any id when the
// limit is reached; live ids are never evicted.
func (r *Registry) Open(id uint64) error {
	if _, ok := r.active[id]; ok {
		return sm.Refuse(sm.DuplicateID, reqOneAnswer, "registry: request id is active")
	}
	if _, ok := r.ended[id]; ok || r.anyGone && id <= r.maxGone {
		return sm.Refuse(sm.DuplicateID, reqOneAnswer, "registry: request id was used before")
	}
	if len(r.active) >= r.limit {
		return sm.Refuse(sm.RegistryFull, reqFull, "registry: limit of active contexts reached")
	}
	r.active[id] = struct{}{}
	return nil
}

// Close moves id to the terminal cache. committed says whether its ready commit was
// crossed.
func (r *Registry) Close(id uint64, committed bool, reason spec.Reason) error {
	if _, ok := r.active[id]; !ok {
		return sm.Refuse(sm.UnknownContext, reqExactHit, "registry: end of an id that is not active")
	}
	delete(r.active, id)
	if len(r.order) < r.cacheMax {
		r.order = append(r.order, id)
	} else {
		old := r.order[r.head]
		delete(r.ended, old)
		r.maxGone, r.anyGone = max(r.maxGone, old), true
		r.order[r.head] = id
		r.head = (r.head + 1) % r.cacheMax
	}
	r.ended[id] = terminal{id: id, committed: committed, reason: reason}
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
