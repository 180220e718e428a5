//go:build cgo && linux

package nixl

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

func entries(t testing.TB, dir string) int {
	d, err := os.ReadDir(dir)
	require.NoError(t, err)
	return len(d)
}

func cpu() time.Duration {
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// Agents that come and go leave no goroutine, thread or descriptor behind.
func TestAgentsLeaveNothing(t *testing.T) {
	round := func() {
		a, b := open2(t, Config{}), open2(t, Config{})
		require.NoError(t, a.AddPeer(b.Name(), b.Address(), nil))
		_, err := a.Post(b.Name(), a.region.Bytes[:1<<16], b.target())
		require.NoError(t, err)
		a.want(transport.WriteEnded)
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	}
	for range 3 {
		round()
	}
	goroutines, files, threads := runtime.NumGoroutine(), entries(t, "/proc/self/fd"), entries(t, "/proc/self/task")
	const rounds = 10
	for range rounds {
		round()
	}
	for until := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	f, th := entries(t, "/proc/self/fd"), entries(t, "/proc/self/task")
	t.Logf("%d rounds: descriptors %d -> %d, threads %d -> %d", rounds, files, f, threads, th)
	require.LessOrEqual(t, f, files+2)
	require.LessOrEqual(t, th, threads+4, "Go may keep a few more of its own")
}

// An agent with a connected peer and nothing to do costs under 1 % of a core.
func TestIdleCost(t *testing.T) {
	a, b := pair(t, Config{})
	require.NoError(t, a.Notify(b.Name(), []byte("x")))
	b.want(transport.Notice)
	time.Sleep(2 * time.Second)
	before, begun := cpu(), time.Now()
	time.Sleep(5 * time.Second)
	share := float64(cpu()-before) / float64(time.Since(begun)) / 2
	t.Logf("%.2f %% of a core per idle agent", share*100)
	require.Less(t, share, 0.01)
	a.mu.Lock()
	polls := a.stats.Polls
	a.mu.Unlock()
	require.NotZero(t, polls)
}
