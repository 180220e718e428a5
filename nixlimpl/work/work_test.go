package work_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/nixlimpl/work"
)

func TestGroupRunsEverything(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 4} {
		g := work.New(n)
		var ran atomic.Int64
		for range 1000 {
			require.True(t, g.Go(func() { ran.Add(1) }))
		}
		g.Close()
		require.Equal(t, int64(1000), ran.Load(), "Close runs what is queued")
		require.False(t, g.Go(func() { t.Error("ran after Close") }))
		require.False(t, g.Split(4, 1, func(int, int) { t.Error("ran after Close") }, func() { t.Error("done after Close") }))
	}
}

// TestGroupOrder: one worker keeps the order, also of what a worker adds.
func TestGroupOrder(t *testing.T) {
	g := work.New(1)
	var order []int
	for i := range 10 {
		g.Go(func() {
			order = append(order, i)
			if i == 3 {
				g.Go(func() { order = append(order, 100) })
			}
		})
	}
	wait := make(chan struct{})
	g.Go(func() { close(wait) })
	<-wait
	g.Close()
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order[:10])
	require.Contains(t, order, 100)
}

// TestSplit: the pieces cover the range exactly once, none is longer than the
// grain, and done comes once, after the last of them.
func TestSplit(t *testing.T) {
	g := work.New(3)
	defer g.Close()
	rapid.Check(t, func(rt *rapid.T) {
		n, grain := rapid.IntRange(-2, 100).Draw(rt, "n"), rapid.IntRange(-1, 120).Draw(rt, "grain")
		seen := make([]atomic.Int64, max(n, 0))
		var left atomic.Int64
		left.Store(int64(max(n, 0)))
		done := make(chan int64, 2)
		require.True(rt, g.Split(n, grain, func(lo, hi int) {
			if hi-lo > max(grain, 1) || lo >= hi {
				t.Errorf("piece [%d, %d) of grain %d", lo, hi, grain)
			}
			for i := lo; i < hi; i++ {
				seen[i].Add(1)
				left.Add(-1)
			}
		}, func() { done <- left.Load() }))
		require.Zero(rt, <-done, "done before the last piece")
		for i := range seen {
			require.Equal(rt, int64(1), seen[i].Load())
		}
		require.Empty(rt, done)
	})
}

// TestCloseWhilePosting: Close from one goroutine and work from others lose nothing
// that was accepted.
func TestCloseWhilePosting(t *testing.T) {
	g := work.New(2)
	var accepted, ran atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for g.Go(func() { ran.Add(1) }) {
				accepted.Add(1)
			}
		})
	}
	g.Close()
	all.Wait()
	require.Equal(t, accepted.Load(), ran.Load())
}

func ExampleGroup() {
	g := work.New(2)
	var sum atomic.Int64
	g.Split(10, 4, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sum.Add(int64(i))
		}
	}, func() { fmt.Println("sum", sum.Load()) })
	g.Close()
	fmt.Println(g.Go(func() {}))
	// Output:
	// sum 45
	// false
}
