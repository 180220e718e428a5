package kv

import (
	"fmt"
)

// maxGroup is the number of blocks of a full prefix block at 32 tokens per block.
const maxGroup = PrefixTokens / 32

// key names the content of one prefix block: its hash id and the tokens in it,
// PrefixTokens or, for the last one of a request, what is left.
type key struct {
	hash   uint64
	tokens int
}

// group is the blocks of one prefix block.
type group struct {
	key    key
	blocks [maxGroup]BlockID
	n      int
	// pins counts the plans that hold a cached group. A group is in the list of
	// evictable ones exactly when it is cached and pins is 0.
	pins       int
	cached     bool
	prev, next *group
	// seen is the number of the last Reserve that found this group as a hit.
	seen uint64
}

func (g *group) ids() []BlockID { return g.blocks[:g.n] }

// CacheStats counts prefix blocks and requests since the cache was made.
type CacheStats struct {
	// Hits and Misses count the prefix blocks of granted reservations.
	Hits, Misses int
	// FullHits counts granted reservations that missed nothing.
	FullHits int
	// Evicted counts prefix blocks thrown out to make room.
	Evicted int
	// Duplicates counts prefix blocks that were in the cache already when Commit
	// came to insert them, because another request was faster.
	Duplicates int
}

// Cache keeps prefix blocks by hash over a pool and throws out the least recently
// used one that no plan holds. Equal calls give equal results: nothing depends on
// time or map order. It takes its blocks from the pool and may share it.
type Cache struct {
	pool    *Pool
	entries map[key]*group
	// lru is the head of a ring: lru.next is the most recently used evictable group,
	// lru.prev the first to go.
	lru   group
	seq   uint64
	stats CacheStats
}

// NewCache makes an empty cache over pool.
func NewCache(pool *Pool) *Cache {
	c := &Cache{pool: pool, entries: map[key]*group{}}
	c.lru.prev, c.lru.next = &c.lru, &c.lru
	return c
}

// Pool returns the pool under the cache.
func (c *Cache) Pool() *Pool { return c.pool }

// Stats returns the counts so far.
func (c *Cache) Stats() CacheStats { return c.stats }

// Len is the number of prefix blocks in the cache.
func (c *Cache) Len() int { return len(c.entries) }

type planState uint8

const (
	planReserved planState = iota
	planCommitted
	planReleased
)

// Plan is the blocks of one request: the hits, which the plan pins, and the new
// ones, which the plan owns until Commit gives them to the cache. Every plan ends
// with one Release. The fields are for reading, and Blocks must not be changed.
type Plan struct {
	// Tokens is the length of the request.
	Tokens int
	// HitTokens is the number of leading tokens that were in the cache: the first
	// token that has to come from elsewhere. It equals Tokens on a full hit.
	HitTokens int
	// HitBlocks is how many of Blocks, from the start, hold those tokens.
	HitBlocks int
	// Blocks is every block of the request in token order; block i holds the tokens
	// from i * TokensPerBlock.
	Blocks []BlockID

	cache  *Cache
	groups []*group
	hits   int // of groups
	state  planState
}

// FullHit says that nothing is missing, so that there is nothing to transfer.
func (p *Plan) FullHit() bool { return p.HitTokens == p.Tokens }

// NewBlocks is the part of Blocks whose content is missing: what is transferred.
// It aliases Blocks.
func (p *Plan) NewBlocks() []BlockID { return p.Blocks[p.HitBlocks:] }

// keyAt returns the key of prefix block i of a request.
func keyAt(hashes []uint64, tokens, i int) key {
	return key{hash: hashes[i], tokens: min(PrefixTokens, tokens-i*PrefixTokens)}
}

func (c *Cache) check(hashes []uint64, tokens int) error {
	if tokens < 1 || len(hashes) != (tokens-1)/PrefixTokens+1 {
		return &Error{Reason: ReasonBadRequest, Req: ReqReserve,
			What: fmt.Sprintf("request of %d tokens with %d hash ids", tokens, len(hashes))}
	}
	return nil
}

// Lookup returns how many leading tokens of a request are in the cache now. It
// changes nothing, the order of use included. hashes are as for Reserve; 0 for a
// request that Reserve would refuse as invalid.
func (c *Cache) Lookup(hashes []uint64, tokens int) int {
	if c.check(hashes, tokens) != nil {
		return 0
	}
	hit := 0
	for i := range hashes {
		k := keyAt(hashes, tokens, i)
		if c.entries[k] == nil {
			break
		}
		hit += k.tokens
	}
	return hit
}

// Reserve gets all blocks of a request, or none: it pins the longest cached
// prefix and takes new blocks for the rest, throwing out unpinned prefix blocks,
// least recently used first, when too few are free. hashes has one id for each
// started prefix block of the tokens; it is not kept.
//
// Errors, none of which has changed anything (KS-KV-4): ReasonBadRequest;
// ErrTooLarge when the pool can never hold the request; ErrFull when a later
// Release may make room.
func (c *Cache) Reserve(hashes []uint64, tokens int) (*Plan, error) {
	if err := c.check(hashes, tokens); err != nil {
		return nil, err
	}
	geo := c.pool.Geometry()
	total := geo.Blocks(tokens)
	if total > c.pool.Total() {
		return nil, &Error{Reason: ReasonTooLarge, Req: ReqReserve,
			What: fmt.Sprintf("request of %d tokens needs %d blocks, the pool has %d", tokens, total, c.pool.Total())}
	}
	p := &Plan{Tokens: tokens, cache: c, Blocks: make([]BlockID, 0, total), groups: make([]*group, 0, len(hashes))}
	c.seq++
	for i := range hashes {
		g := c.entries[keyAt(hashes, tokens, i)]
		if g == nil {
			break
		}
		g.seen = c.seq
		p.groups = append(p.groups, g)
		p.Blocks = append(p.Blocks, g.ids()...)
		p.HitTokens += g.key.tokens
	}
	p.hits, p.HitBlocks = len(p.groups), len(p.Blocks)
	if err := c.makeRoom(total - p.HitBlocks); err != nil {
		return nil, err
	}
	for _, g := range p.groups {
		if g.pins == 0 {
			unlink(g)
		}
		g.pins++
	}
	p.Blocks, _ = c.pool.Alloc(p.Blocks, total-p.HitBlocks) // makeRoom has made sure
	rest := p.NewBlocks()
	for i := p.hits; i < len(hashes); i++ {
		g := &group{key: keyAt(hashes, tokens, i)}
		g.n = copy(g.blocks[:geo.Blocks(g.key.tokens)], rest)
		rest = rest[g.n:]
		p.groups = append(p.groups, g)
	}
	c.stats.Hits += p.hits
	c.stats.Misses += len(p.groups) - p.hits
	if p.FullHit() {
		c.stats.FullHits++
	}
	return p, nil
}

// makeRoom evicts until need blocks are free, sparing the hits of the Reserve at
// work. It looks first whether that can succeed.
func (c *Cache) makeRoom(need int) error {
	have := c.pool.FreeBlocks()
	for g := c.lru.prev; have < need && g != &c.lru; g = g.prev {
		if c.evictable(g) {
			have += g.n
		}
	}
	if have < need {
		return &Error{Reason: ReasonFull, Req: ReqReserve,
			What: fmt.Sprintf("%d blocks needed, %d free or evictable of %d", need, have, c.pool.Total())}
	}
	for g := c.lru.prev; c.pool.FreeBlocks() < need && g != &c.lru; {
		next := g.prev
		if c.evictable(g) {
			unlink(g)
			delete(c.entries, g.key)
			g.cached = false
			if err := c.pool.Free(g.ids()); err != nil {
				return err
			}
			c.stats.Evicted++
		}
		g = next
	}
	return nil
}

// evictable says whether throwing out g, which no plan holds, frees its blocks at
// once: a copy that still reads them keeps them.
func (c *Cache) evictable(g *group) bool {
	if g.seen == c.seq {
		return false
	}
	for _, id := range g.ids() {
		if c.pool.Pinned(id) {
			return false
		}
	}
	return true
}

// Commit puts the new blocks of the plan into the cache, after their content has
// arrived and was found good. A prefix block that another request has put there
// meanwhile stays as it is, and the plan keeps its own copy until Release. The
// plan goes on holding everything. A second Commit, or one after Release, is
// refused with ReasonBadPlan.
func (c *Cache) Commit(p *Plan) error {
	if p == nil || p.cache != c || p.state != planReserved {
		return badPlan("commit", p, c)
	}
	p.state = planCommitted
	for _, g := range p.groups[p.hits:] {
		if old := c.entries[g.key]; old != nil {
			c.stats.Duplicates++
			if old.pins == 0 {
				unlink(old)
				c.front(old)
			}
			continue
		}
		c.entries[g.key] = g
		g.cached, g.pins = true, 1
	}
	return nil
}

// Release ends the plan: what it pinned may be evicted again, and what it still
// owns goes back to the pool (everything new when there was no Commit). Blocks
// pinned in the pool follow with their last Unpin. A second Release is refused
// with ReasonBadPlan.
func (c *Cache) Release(p *Plan) error {
	if p == nil || p.cache != c || p.state == planReleased {
		return badPlan("release", p, c)
	}
	p.state = planReleased
	// From the tail, so that the head of a prefix, without which its tail is useless,
	// outlives it.
	for i := len(p.groups) - 1; i >= 0; i-- {
		g := p.groups[i]
		if !g.cached {
			if err := c.pool.Free(g.ids()); err != nil {
				return err
			}
			continue
		}
		if g.pins--; g.pins == 0 {
			c.front(g)
		}
	}
	return nil
}

// front links g as the most recently used evictable group.
func (c *Cache) front(g *group) {
	g.prev, g.next = &c.lru, c.lru.next
	g.prev.next, g.next.prev = g, g
}

func unlink(g *group) {
	g.prev.next, g.next.prev = g.next, g.prev
	g.prev, g.next = nil, nil
}

func badPlan(call string, p *Plan, c *Cache) error {
	what := call + " of no plan"
	if p != nil {
		what = call + " of a plan that is " + [...]string{"reserved", "committed", "released"}[p.state]
		if p.cache != c {
			what = call + " of another cache's plan"
		}
	}
	return &Error{Reason: ReasonBadPlan, Req: ReqReserve, What: what}
}
