package shm

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// resources counts what an agent could leak.
type resources struct{ goroutines, fds, mappings int }

func count(t testing.TB) resources {
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return resources{runtime.NumGoroutine(), len(fds), mappings(t)}
}

// mappings counts the mapped regions of all agents in this process.
func mappings(t testing.TB) int {
	b, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(b), "memfd:kvsettle")
}

func ownMappings(a *Agent) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.shared)
}

// settled waits until the counts are back, since a goroutine leaves its WaitGroup
// just before it is gone.
func settled(t testing.TB, want resources) {
	t.Helper()
	ok := func() bool {
		now := count(t)
		return now.goroutines <= want.goroutines && now.fds <= want.fds && now.mappings <= want.mappings
	}
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	require.Equal(t, want, count(t))
}

func TestOpenAndCloseLeakNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // finalizers must not tidy up behind us
	base := resources{}
	for i := range 201 {
		gen, genEvents, err := openBare("gen")
		require.NoError(t, err)
		ctx, ctxEvents, err := openBare("ctx")
		require.NoError(t, err)
		slot, err := gen.Register(64<<10, true)
		require.NoError(t, err)
		src, err := ctx.Register(64<<10, i%2 == 0)
		require.NoError(t, err)
		require.NoError(t, gen.AddPeer("ctx", ctx.Address(), nil))
		require.NoError(t, gen.Notify("ctx", []byte("go")))
		for range 5 {
			_, err = ctx.Post("gen", src.Bytes, target(slot))
			require.NoError(t, err)
		}
		switch i % 3 { // close with and without writes under way
		case 0:
			ctxEvents.await(t, transport.WriteEnded, "gen")
		case 1:
			require.NoError(t, gen.Close())
		}
		done := make(chan struct{}) // concurrent and repeated calls
		go func() { defer close(done); _ = ctx.Close() }()
		require.NoError(t, ctx.Close())
		<-done
		require.NoError(t, gen.Close())
		before := genEvents.size() + ctxEvents.size()
		if i == 0 {
			base = count(t) // after the runtime's own poller exists
			continue
		}
		require.Equal(t, before, genEvents.size()+ctxEvents.size(), "nothing is reported after Close")
	}
	settled(t, base)
}

func openBare(name string) (*Agent, *recorder, error) {
	r := newRecorder()
	a, err := Open(Config{Name: name}, r.sink)
	return a, r, err
}

func (r *recorder) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// TestCloseEndsEveryWrite closes in the middle of large writes: one runs to its
// end, the queued ones are broken, and all are reported before Close returns.
func TestCloseEndsEveryWrite(t *testing.T) {
	gen, _ := open(t, Config{Name: "gen"})
	ctx, events := open(t, Config{Name: "ctx", Writers: 1})
	slot, err := gen.Register(32<<20, true)
	require.NoError(t, err)
	src, err := ctx.Register(32<<20, false)
	require.NoError(t, err)
	pattern(src.Bytes, 5)
	require.NoError(t, gen.AddPeer("ctx", ctx.Address(), nil))
	for range 20 {
		_, err := ctx.Post("gen", src.Bytes, target(slot))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return slot.Bytes[0] != 0 }, 5*time.Second, 10*time.Microsecond)
	require.NoError(t, ctx.Close())
	ended := map[transport.Status]int{}
	for _, e := range events.events {
		require.Equal(t, transport.WriteEnded, e.Kind)
		if e.Status == transport.Broken {
			require.ErrorIs(t, e.Err, transport.ErrClosed)
		}
		ended[e.Status]++
	}
	require.Equal(t, 20, ended[transport.Done]+ended[transport.Broken])
	require.Positive(t, ended[transport.Done])
	require.Positive(t, ended[transport.Broken])
	require.True(t, matches(slot.Bytes, 5, 0))
}

func TestClosedAgentRefuses(t *testing.T) {
	a, _ := open(t, Config{Name: "a"})
	b, _ := open(t, Config{Name: "b"})
	require.NoError(t, a.Close())
	_, err := a.Register(4096, true)
	require.ErrorIs(t, err, transport.ErrClosed)
	require.ErrorIs(t, a.AddPeer("b", b.Address(), nil), transport.ErrClosed)
	require.ErrorIs(t, a.Notify("b", nil), transport.ErrClosed)
	_, err = a.Post("b", nil, transport.Target{})
	require.ErrorIs(t, err, transport.ErrClosed)
	require.False(t, a.Covers("b", transport.Target{Addr: 1, Len: 1}))
}

// TestPeerGenerationsLeakNothing lets 200 peers come and go in this process under
// new names, with memory and writes, and 200 in processes of their own that are
// killed.
func TestPeerGenerationsLeakNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	ctx, events := open(t, Config{Name: "ctx"})
	src, err := ctx.Register(64<<10, false)
	require.NoError(t, err)
	base := resources{}
	for i := range 201 {
		name := fmt.Sprintf("gen-%d", i)
		gen, _, err := openBare(name)
		require.NoError(t, err)
		slot, err := gen.Register(64<<10, true)
		require.NoError(t, err)
		require.NoError(t, gen.AddPeer("ctx", ctx.Address(), nil))
		for range 3 {
			_, err := ctx.Post(name, src.Bytes, target(slot))
			require.NoError(t, err)
		}
		require.NoError(t, gen.Close())
		events.await(t, transport.PeerLost, name)
		for range 3 {
			events.await(t, transport.WriteEnded, name)
		}
		if i == 0 {
			require.Eventually(t, func() bool { return ctx.Stats().Peers == 0 }, 5*time.Second, time.Millisecond)
			base = count(t)
		}
	}
	settled(t, base)
	require.Eventually(t, func() bool { return ctx.Stats().Peers == 0 }, 5*time.Second, time.Millisecond)

	for i := range 200 {
		name := fmt.Sprintf("killed-%d", i)
		c := startChild(t, "gen", name, "ctx", ctx.Address())
		c.line(t)
		require.NoError(t, c.Process.Kill())
		events.await(t, transport.PeerLost, name)
		events.await(t, transport.PeerDead, name)
		_ = c.Wait()
		_ = c.stdin.Close()
	}
	settled(t, base)
	require.Eventually(t, func() bool { return ctx.Stats().Peers == 0 }, 5*time.Second, time.Millisecond)
}
