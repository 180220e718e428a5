package kv

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/internal/notrun"
	"github.com/kvsettle/kvsettle/nixlimpl/trace"
)

// replay sends a trace through a cache of so many blocks, one request after the
// other, and returns the counts and the prefix blocks left in the cache.
func replay(t *testing.T, reqs []trace.Request, blocks int) (CacheStats, int) {
	t.Helper()
	c := NewCache(newPool(t, tiny, blocks))
	for _, r := range reqs {
		p, err := c.Reserve(r.HashIDs, r.InputLength)
		require.NoError(t, err)
		require.NoError(t, c.Commit(p))
		require.NoError(t, c.Release(p))
	}
	checkOwners(t, c, nil)
	return c.Stats(), c.Len()
}

// The counts of both tests come from a separate program (an ordered dictionary in
// Python), not from this code.

func TestReplayEmbedded(t *testing.T) {
	reqs, err := trace.Embedded(0)
	require.NoError(t, err)
	s, left := replay(t, reqs, 22_509) // exactly what the slice holds without eviction
	require.Equal(t, CacheStats{Hits: 99, Misses: 1456}, s)
	require.Equal(t, 1456, left)
}

// TestReplayWhole needs the whole trace, which a bare clone does not have.
func TestReplayWhole(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "mooncake_conversation_trace.jsonl")
	if _, err := os.Stat(path); err != nil {
		notrun.Record(t, err.Error())
		return
	}
	reqs, err := trace.ReadFile(path, 0)
	require.NoError(t, err)
	s, left := replay(t, reqs, 65_536)
	require.Equal(t, 4_197, left)
	s.Duplicates = 0 // depends on which holes eviction leaves; the oracle does not count it
	require.Equal(t, CacheStats{Hits: 25_938, Misses: 262_562, FullHits: 44, Evicted: 258_365}, s)
}
