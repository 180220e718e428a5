package kv

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
)

func reserve(t *testing.T, c *Cache, hashes []uint64, tokens int) *Plan {
	t.Helper()
	p, err := c.Reserve(hashes, tokens)
	require.NoError(t, err)
	return p
}

func TestCacheHitMissFullHit(t *testing.T) {
	c := NewCache(newPool(t, tiny, 64))
	require.Zero(t, c.Lookup([]uint64{1, 2}, 600))
	a := reserve(t, c, []uint64{1, 2}, 600) // 512 + 88 tokens: 16 + 3 blocks
	require.Equal(t, 0, a.HitTokens)
	require.Len(t, a.Blocks, 19)
	require.Equal(t, a.Blocks, a.NewBlocks())
	require.False(t, a.FullHit())
	require.Zero(t, c.Len(), "nothing is in the cache before Commit")
	require.NoError(t, c.Commit(a))
	require.Equal(t, 600, c.Lookup([]uint64{1, 2}, 600))
	require.Equal(t, 512, c.Lookup([]uint64{1, 2}, 700), "a longer rest of the same id is another content")
	require.Equal(t, 512, c.Lookup([]uint64{1, 9}, 600))
	require.Zero(t, c.Lookup([]uint64{2, 1}, 600), "88 tokens of id 2 do not make 512")

	b := reserve(t, c, []uint64{1, 3, 4}, 1025) // the last prefix block has one token
	require.Equal(t, 512, b.HitTokens)
	require.Equal(t, 16, b.HitBlocks)
	require.Equal(t, a.Blocks[:16], b.Blocks[:16])
	require.Len(t, b.NewBlocks(), 17)
	full := reserve(t, c, []uint64{1, 2}, 600)
	require.True(t, full.FullHit())
	require.Empty(t, full.NewBlocks())
	require.Equal(t, a.Blocks, full.Blocks)
	require.Equal(t, CacheStats{Hits: 3, Misses: 4, FullHits: 1}, c.Stats())
	for _, p := range []*Plan{a, b, full} {
		require.NoError(t, c.Release(p))
	}
	require.Equal(t, 2, c.Len(), "b was never committed")
	require.Equal(t, 64-19, c.Pool().FreeBlocks())
}

func TestCacheEvictsOldestUnpinned(t *testing.T) {
	c := NewCache(newPool(t, tiny, 48)) // three prefix blocks
	for h := range uint64(3) {
		p := reserve(t, c, []uint64{h}, 512)
		require.NoError(t, c.Commit(p))
		require.NoError(t, c.Release(p))
	}
	held := reserve(t, c, []uint64{0}, 512) // pinned, and the oldest would be it
	p := reserve(t, c, []uint64{7}, 512)
	require.Equal(t, 512, c.Lookup([]uint64{0}, 512))
	require.Equal(t, 0, c.Lookup([]uint64{1}, 512), "1 is the oldest that nobody holds")
	require.Equal(t, 512, c.Lookup([]uint64{2}, 512))
	q := reserve(t, c, []uint64{8}, 512)
	require.Equal(t, 2, c.Stats().Evicted)

	_, err := c.Reserve([]uint64{9}, 1)
	require.ErrorIs(t, err, ErrFull)
	require.NoError(t, c.Release(p)) // not committed: its blocks are free again
	require.NoError(t, c.Release(q))
	require.NoError(t, c.Release(held))
	require.Equal(t, 32, c.Pool().FreeBlocks())
}

// TestCacheRefusedReserve: a Reserve that cannot succeed throws nothing out and
// leaves the order alone.
func TestCacheRefusedReserve(t *testing.T) {
	c := NewCache(newPool(t, tiny, 48))
	for h := range uint64(2) {
		p := reserve(t, c, []uint64{h}, 512)
		require.NoError(t, c.Commit(p))
		require.NoError(t, c.Release(p))
	}
	held := reserve(t, c, []uint64{5}, 32)
	before := c.Stats()
	// 0 is a hit and must not be counted as room for the rest of its own request.
	_, err := c.Reserve([]uint64{0, 6, 7}, 1536)
	require.ErrorIs(t, err, ErrFull)
	_, err = c.Reserve([]uint64{6, 7, 8, 9}, 1537)
	require.ErrorIs(t, err, ErrTooLarge)
	require.Equal(t, before, c.Stats())
	require.Equal(t, 2, c.Len())
	p := reserve(t, c, []uint64{6}, 512) // 15 free: throws out 0, still the oldest
	require.Zero(t, c.Lookup([]uint64{0}, 512))
	require.NoError(t, c.Release(p))
	require.NoError(t, c.Release(held))
	for _, bad := range []struct {
		hashes []uint64
		tokens int
	}{{nil, 0}, {nil, 1}, {[]uint64{1}, 0}, {[]uint64{1}, -1}, {[]uint64{1}, 513}, {[]uint64{1, 2}, 512}} {
		_, err := c.Reserve(bad.hashes, bad.tokens)
		require.ErrorIs(t, err, &Error{Reason: ReasonBadRequest}, bad)
		require.Zero(t, c.Lookup(bad.hashes, bad.tokens))
	}
}

func TestCacheSameMissTwice(t *testing.T) {
	c := NewCache(newPool(t, tiny, 64))
	a, b := reserve(t, c, []uint64{1}, 512), reserve(t, c, []uint64{1}, 512)
	require.NotEqual(t, a.Blocks, b.Blocks)
	require.NoError(t, c.Commit(a))
	require.NoError(t, c.Release(a))
	require.NoError(t, c.Commit(b))
	require.Equal(t, 1, c.Stats().Duplicates)
	require.Equal(t, 32, c.Pool().FreeBlocks(), "b keeps its copy until Release")
	require.NoError(t, c.Release(b))
	require.Equal(t, 48, c.Pool().FreeBlocks())
	// An id twice in one request: the second one is a copy as well.
	d := reserve(t, c, []uint64{2, 2}, 1024)
	require.NoError(t, c.Commit(d))
	require.NoError(t, c.Release(d))
	require.Equal(t, 32, c.Pool().FreeBlocks())
	e := reserve(t, c, []uint64{2, 2}, 1024)
	require.True(t, e.FullHit())
	require.NoError(t, c.Release(e))
}

// TestCacheLateCopyCountsAsUse: who commits what is there already has used it.
func TestCacheLateCopyCountsAsUse(t *testing.T) {
	c := NewCache(newPool(t, tiny, 48))
	a, b, other := reserve(t, c, []uint64{1}, 512), reserve(t, c, []uint64{1}, 512), reserve(t, c, []uint64{5}, 512)
	for _, p := range []*Plan{a, other, b} {
		require.NoError(t, c.Commit(p))
		require.NoError(t, c.Release(p))
	}
	p := reserve(t, c, []uint64{8}, 512)
	q := reserve(t, c, []uint64{9}, 512) // one was free, this one has to evict
	require.Equal(t, 512, c.Lookup([]uint64{1}, 512))
	require.Zero(t, c.Lookup([]uint64{5}, 512))
	require.NoError(t, c.Release(p))
	require.NoError(t, c.Release(q))
}

// TestCacheReleaseOrder: of one prefix the tail goes first.
func TestCacheReleaseOrder(t *testing.T) {
	c := NewCache(newPool(t, tiny, 48))
	p := reserve(t, c, []uint64{1, 2, 3}, 1536)
	require.NoError(t, c.Commit(p))
	require.NoError(t, c.Release(p))
	q := reserve(t, c, []uint64{9}, 512)
	require.Equal(t, 1024, c.Lookup([]uint64{1, 2, 3}, 1536))
	require.NoError(t, c.Release(q))
}

// TestCacheSparesCopies: blocks that a copy still uses are neither evicted nor
// handed out, also when their plan is gone.
func TestCacheSparesCopies(t *testing.T) {
	c := NewCache(newPool(t, tiny, 32))
	a := reserve(t, c, []uint64{1}, 512)
	require.NoError(t, c.Commit(a))
	require.NoError(t, c.Pool().Pin(a.Blocks[3:4]))
	require.NoError(t, c.Release(a))
	b := reserve(t, c, []uint64{2}, 512)
	require.NoError(t, c.Pool().Pin(b.Blocks[:2]))
	require.NoError(t, c.Release(b)) // aborted with two copies at work
	require.Equal(t, 14, c.Pool().FreeBlocks())
	_, err := c.Reserve([]uint64{3}, 512)
	require.ErrorIs(t, err, ErrFull)
	require.NoError(t, c.Pool().Unpin(b.Blocks[:2]))
	require.Equal(t, 16, c.Pool().FreeBlocks())
	require.NoError(t, c.Pool().Unpin(a.Blocks[3:4]))
	p := reserve(t, c, []uint64{3, 4}, 1024)
	require.Equal(t, 1, c.Stats().Evicted)
	require.NoError(t, c.Release(p))
}

func TestCachePlanMisuse(t *testing.T) {
	c, other := NewCache(newPool(t, tiny, 32)), NewCache(newPool(t, tiny, 32))
	bad := &Error{Reason: ReasonBadPlan}
	require.ErrorIs(t, c.Commit(nil), bad)
	require.ErrorIs(t, c.Release(nil), bad)
	p := reserve(t, c, []uint64{1}, 512)
	require.ErrorIs(t, other.Commit(p), bad)
	require.ErrorIs(t, other.Release(p), bad)
	require.NoError(t, c.Commit(p))
	require.ErrorIs(t, c.Commit(p), bad)
	require.NoError(t, c.Release(p))
	require.ErrorIs(t, c.Release(p), bad)
	require.ErrorIs(t, c.Commit(p), bad)
	require.Equal(t, 16, c.Pool().FreeBlocks())
	q := reserve(t, c, []uint64{2}, 512)
	require.NoError(t, c.Release(q))
	require.ErrorContains(t, c.Commit(q), "released")
}

// naive is the cache as lists that are searched from end to end. It counts blocks
// and does not know their ids.
type naive struct {
	total   int
	private int // blocks owned by plans
	// cached is in order of use, oldest first; held ones keep no place that matters.
	cached []*naiveGroup
}

type naiveGroup struct {
	key     key
	blocks  int
	holders int
	cached  bool
}

type naivePlan struct {
	groups []*naiveGroup
	hits   int
}

func (m *naive) find(k key) int {
	for i, g := range m.cached {
		if g.key == k {
			return i
		}
	}
	return -1
}

func (m *naive) free() int {
	n := m.total - m.private
	for _, g := range m.cached {
		n -= g.blocks
	}
	return n
}

func (m *naive) touch(i int) {
	g := m.cached[i]
	m.cached = append(append(m.cached[:i:i], m.cached[i+1:]...), g)
}

func (m *naive) reserve(keys []key, tokensPerBlock int) (p naivePlan, evicted int, ok bool) {
	need := 0
	for i, k := range keys {
		if at := m.find(k); at >= 0 && p.hits == i {
			p.groups = append(p.groups, m.cached[at])
			p.hits++
			continue
		}
		g := &naiveGroup{key: k, blocks: (k.tokens + tokensPerBlock - 1) / tokensPerBlock}
		need += g.blocks
		p.groups = append(p.groups, g)
	}
	var keep []*naiveGroup
	room := m.free()
	for _, g := range m.cached {
		hit := false
		for _, h := range p.groups[:p.hits] {
			hit = hit || h == g
		}
		if room < need && g.holders == 0 && !hit {
			room += g.blocks
			evicted++
			continue
		}
		keep = append(keep, g)
	}
	if room < need {
		return p, 0, false
	}
	m.cached = keep
	m.private += need
	for _, g := range p.groups[:p.hits] {
		g.holders++
	}
	return p, evicted, true
}

func (m *naive) commit(p *naivePlan) {
	for _, g := range p.groups[p.hits:] {
		if at := m.find(g.key); at >= 0 {
			m.touch(at)
			continue
		}
		g.cached, g.holders = true, 1
		m.private -= g.blocks
		m.cached = append(m.cached, g)
	}
}

func (m *naive) release(p *naivePlan) {
	for i := len(p.groups) - 1; i >= 0; i-- {
		g := p.groups[i]
		if !g.cached {
			m.private -= g.blocks
			continue
		}
		g.holders--
		m.touch(m.find(g.key))
	}
}

// livePlan is a plan in use, with what the test needs to judge it.
type livePlan struct {
	plan      *Plan
	model     naivePlan
	hashes    []uint64
	committed bool
}

// TestCacheModel walks the cache at random beside the naive one. New blocks get
// their content at once, and all blocks of all plans are verified after every
// step: a block that was evicted while pinned, or given out twice, would show.
func TestCacheModel(t *testing.T) {
	spec.Covers(t, ReqBlocks, ReqReserve)
	rapid.Check(t, func(t *rapid.T) {
		g := tiny
		g.TokensPerBlock = rapid.SampledFrom([]int{32, 64}).Draw(t, "tokens per block")
		total := rapid.IntRange(1, 5*g.BlocksPerPrefix()).Draw(t, "blocks")
		c := NewCache(newPool(t, g, total))
		m := &naive{total: total}
		var live []*livePlan
		var want CacheStats
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				tokens := rapid.IntRange(1, 3*PrefixTokens).Draw(t, "tokens")
				if rapid.Bool().Draw(t, "whole") {
					tokens = (tokens + PrefixTokens - 1) / PrefixTokens * PrefixTokens
				}
				n := (tokens + PrefixTokens - 1) / PrefixTokens
				hashes := rapid.SliceOfN(rapid.Uint64Range(0, 4), n, n).Draw(t, "hashes")
				keys := make([]key, n)
				hit, longest := 0, true
				for i := range keys {
					keys[i] = key{hashes[i], min(PrefixTokens, tokens-i*PrefixTokens)}
					if longest = longest && m.find(keys[i]) >= 0; longest {
						hit += keys[i].tokens
					}
				}
				require.Equal(t, hit, c.Lookup(hashes, tokens))
				p, err := c.Reserve(hashes, tokens)
				if g.Blocks(tokens) > total {
					require.ErrorIs(t, err, ErrTooLarge)
					return
				}
				mp, evicted, ok := m.reserve(keys, g.TokensPerBlock)
				if !ok {
					require.ErrorIs(t, err, ErrFull)
					return
				}
				require.NoError(t, err)
				require.Equal(t, hit, p.HitTokens)
				require.Len(t, p.Blocks, g.Blocks(tokens))
				want.Hits += mp.hits
				want.Misses += n - mp.hits
				want.Evicted += evicted
				if mp.hits == n {
					want.FullHits++
				}
				for i, id := range p.NewBlocks() {
					require.NoError(t, c.Pool().FillBlock(id, ContentOf(g, hashes, tokens, p.HitBlocks+i)))
				}
				live = append(live, &livePlan{plan: p, model: mp, hashes: hashes})
			},
			"commit": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("no plan")
				}
				l := rapid.SampledFrom(live).Draw(t, "plan")
				err := c.Commit(l.plan)
				if l.committed {
					require.ErrorIs(t, err, &Error{Reason: ReasonBadPlan})
					return
				}
				require.NoError(t, err)
				before := len(m.cached)
				m.commit(&l.model)
				want.Duplicates += len(l.model.groups) - l.model.hits - (len(m.cached) - before)
				l.committed = true
			},
			"release": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("no plan")
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "plan")
				l := live[i]
				live = append(live[:i:i], live[i+1:]...)
				require.NoError(t, c.Release(l.plan))
				m.release(&l.model)
			},
			"": func(t *rapid.T) {
				require.Equal(t, want, c.Stats())
				require.Equal(t, len(m.cached), c.Len())
				require.Equal(t, m.free(), c.Pool().FreeBlocks())
				for _, g := range m.cached {
					require.NotNil(t, c.entries[g.key], "the other one was thrown out")
					require.Equal(t, g.holders, c.entries[g.key].pins)
				}
				for _, l := range live {
					for i, id := range l.plan.Blocks {
						ok, at := c.Pool().VerifyBlock(id, ContentOf(g, l.hashes, l.plan.Tokens, i))
						require.True(t, ok, "block %d (%d of its plan) is bad at byte %d", id, i, at)
					}
				}
				checkOwners(t, c, live)
			},
		})
	})
}

// checkOwners says that each block of the pool is free, or in one cached group, or
// owned by one plan: exactly one of these.
func checkOwners(t require.TestingT, c *Cache, live []*livePlan) {
	owner := make([]int, c.Pool().Total())
	for _, id := range c.Pool().free {
		owner[id]++
	}
	for _, g := range c.entries {
		require.True(t, g.cached)
		for _, id := range g.ids() {
			owner[id]++
		}
	}
	for _, l := range live {
		for _, g := range l.plan.groups {
			if !g.cached {
				for _, id := range g.ids() {
					owner[id]++
				}
			}
		}
	}
	for id, n := range owner {
		if n != 1 {
			require.Equal(t, 1, n, "owners of block %d", id)
		}
	}
	evictable := 0
	for g := c.lru.next; g != &c.lru; g = g.next {
		require.Zero(t, g.pins)
		require.Same(t, g, c.entries[g.key])
		evictable++
	}
	for _, g := range c.entries {
		if g.pins > 0 {
			evictable++
		}
	}
	require.Equal(t, len(c.entries), evictable, "a cached group is neither pinned nor evictable")
}
