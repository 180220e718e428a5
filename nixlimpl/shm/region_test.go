package shm

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// TestSpanAgreesWithBigNumbers compares the containment rule with the same rule in
// numbers that cannot overflow, near all edges of the span and of uint64.
func TestSpanAgreesWithBigNumbers(t *testing.T) {
	mem := make([]byte, 300)
	rapid.Check(t, func(t *rapid.T) {
		near := func(label string, points ...uint64) uint64 {
			return rapid.SampledFrom(points).Draw(t, label) + rapid.Uint64Range(0, 6).Draw(t, label+"+") - 3
		}
		size := rapid.IntRange(1, 300).Draw(t, "size")
		s := span{addr: near("addr", 4096, 3, 1<<63, ^uint64(0)-uint64(size)-3), mem: mem[:size]}
		addr := near("from", s.addr, s.addr+uint64(size), 0, ^uint64(0))
		n := near("n", 0, uint64(size), ^uint64(0), ^uint64(0)-addr, ^uint64(0)-s.addr)

		b := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
		end := new(big.Int).Add(b(addr), b(n))
		top := new(big.Int).Add(b(s.addr), b(uint64(size)))
		want := n > 0 && addr >= s.addr && end.Cmp(top) <= 0

		got, ok := s.at(addr, n)
		require.Equal(t, want, ok)
		if ok {
			require.Len(t, got, int(n))
			require.Same(t, &mem[addr-s.addr], &got[0])
			require.Equal(t, len(got), cap(got), "a write cannot grow past its range")
		}
		if ok && n < 300 {
			require.True(t, overlaps([]span{s}, addr, n))
		}
	})
}

func TestQueueKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var want []int
		for i := range rapid.IntRange(1, 400).Draw(t, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				require.EqualValues(t, want[0], q.pop().id)
				want = want[1:]
				continue
			}
			q.push(job{id: transport.WriteID(i)})
			want = append(want, i)
		}
		require.Equal(t, len(want), q.n)
		for _, id := range want {
			require.EqualValues(t, id, q.pop().id)
		}
	})
}
