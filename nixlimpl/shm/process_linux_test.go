package shm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

// TestTwoProcesses lets another process fill 64 MiB in 1 MiB chunks on two workers,
// three times, and checks every chunk when its notice comes and all of it at the end.
func TestTwoProcesses(t *testing.T) {
	spec.Covers(t, reqVisible, reqAfterData)
	const size, chunk = 64 << 20, 1 << 20
	c := startChild(t, "ctx", "ctx")
	gen, events := open(t, Config{Name: "gen"})
	slot, err := gen.Register(size, true)
	require.NoError(t, err)
	require.NoError(t, gen.AddPeer("ctx", c.address, nil))
	for seed := uint64(1); seed <= 3; seed++ {
		require.NoError(t, gen.Notify("ctx", fmt.Appendf(nil, "fill %d %d %d %d", slot.Addr, size, chunk, seed)))
		seen := map[uint64]bool{}
		for {
			text := string(events.await(t, transport.Notice, "ctx").Payload)
			if text == fmt.Sprintf("filled %d", seed) {
				break
			}
			var of, i uint64
			_, err := fmt.Sscanf(text, "chunk %d %d", &of, &i)
			require.NoError(t, err)
			require.Equal(t, seed, of)
			require.False(t, seen[i])
			seen[i] = true
			require.True(t, matches(slot.Bytes[i*chunk:(i+1)*chunk], seed, i*chunk),
				"a notice came before the bytes of chunk %d", i)
		}
		require.Len(t, seen, size/chunk)
		require.True(t, matches(slot.Bytes, seed, 0))
	}
}

func TestKilledWriter(t *testing.T) {
	spec.Covers(t, reqDeath)
	c := startChild(t, "ctx", "ctx")
	gen, events := open(t, Config{Name: "gen"})
	slot, err := gen.Register(32<<20, true)
	require.NoError(t, err)
	require.NoError(t, gen.AddPeer("ctx", c.address, nil))
	require.NoError(t, gen.Notify("ctx", fmt.Appendf(nil, "loop %d %d", slot.Addr, len(slot.Bytes))))
	require.Equal(t, "looping", string(events.await(t, transport.Notice, "ctx").Payload))

	// It really is in mid-write: what we put there is overwritten.
	copy(slot.Bytes, "mark")
	require.Eventually(t, func() bool { return string(slot.Bytes[:4]) != "mark" }, 5*time.Second, time.Millisecond)
	require.NoError(t, c.Process.Kill())
	begin := time.Now()
	events.await(t, transport.PeerLost, "ctx")
	events.await(t, transport.PeerDead, "ctx")
	t.Logf("PeerDead %v after kill", time.Since(begin).Round(time.Microsecond))

	// Quiet from here on, though the child is not even reaped yet.
	copy(slot.Bytes, "mine")
	copy(slot.Bytes[len(slot.Bytes)-4:], "mine")
	sum := sha256.Sum256(slot.Bytes)
	time.Sleep(300 * time.Millisecond)
	require.Equal(t, sum, sha256.Sum256(slot.Bytes))
	require.ErrorIs(t, gen.Notify("ctx", nil), transport.ErrUnknownPeer)
	require.Eventually(t, func() bool { return gen.Stats().Peers == 0 }, 5*time.Second, time.Millisecond)

	// A new process may take the name.
	c = startChild(t, "ctx", "ctx")
	require.NoError(t, gen.AddPeer("ctx", c.address, nil))
}

// TestWhatWasSentBeforeDeathComesFirst holds the sink until the peer is dead: its
// notices come in order, then PeerLost, then PeerDead.
func TestWhatWasSentBeforeDeathComesFirst(t *testing.T) {
	const notices = 100
	c := startChild(t, "ctx", "ctx")
	var got []string
	first, dead, end := make(chan struct{}), make(chan struct{}), make(chan struct{})
	gen, err := Open(Config{Name: "gen"}, func(e transport.Event) {
		switch e.Kind {
		case transport.Notice:
			if len(got) == 0 {
				close(first)
				<-dead
			}
			got = append(got, string(e.Payload))
		case transport.PeerLost:
			got = append(got, "lost")
		case transport.PeerDead:
			got = append(got, "dead")
			close(end)
		}
	})
	require.NoError(t, err)
	defer gen.Close()
	require.NoError(t, gen.AddPeer("ctx", c.address, nil))
	require.NoError(t, gen.Notify("ctx", fmt.Appendf(nil, "burst %d", notices)))
	<-first
	time.Sleep(50 * time.Millisecond) // the rest is in the socket
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	time.Sleep(50 * time.Millisecond) // and everybody who watches knows
	close(dead)
	<-end
	var want []string
	for i := range notices {
		want = append(want, fmt.Sprintf("seq %d", i))
	}
	require.Equal(t, append(want, "lost", "dead"), got)
}

func TestKilledTarget(t *testing.T) {
	spec.Covers(t, reqOneStatus)
	ctx, events := open(t, Config{Name: "ctx", QueueWrites: 64, Writers: 1})
	c := startChild(t, "gen", "gen", "ctx", ctx.Address())
	var to transport.Target
	_, err := fmt.Sscanf(c.line(t), "region %d %d", &to.Addr, &to.Len)
	require.NoError(t, err)
	require.True(t, ctx.Covers("gen", to))
	src, err := ctx.Register(int(to.Len), false)
	require.NoError(t, err)

	// The queue is kept full until the loss is noticed.
	posted := map[transport.WriteID]bool{}
	for {
		id, err := ctx.Post("gen", src.Bytes, to)
		if errors.Is(err, &Error{Reason: ReasonQueueFull}) {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		if err != nil {
			require.True(t, errors.Is(err, transport.ErrPeerGone) || errors.Is(err, transport.ErrUnknownPeer), "%v", err)
			break
		}
		posted[id] = true
		if len(posted) == 100 {
			require.NoError(t, c.Process.Kill())
		}
	}
	require.GreaterOrEqual(t, len(posted), 100)
	broken := 0
	for range len(posted) {
		e := events.await(t, transport.WriteEnded, "gen")
		require.True(t, posted[e.Write], "ends once")
		delete(posted, e.Write)
		if e.Status == transport.Broken {
			require.ErrorIs(t, e.Err, transport.ErrPeerGone)
			broken++
		}
	}
	events.await(t, transport.PeerLost, "gen")
	events.await(t, transport.PeerDead, "gen")
	require.Positive(t, broken, "queued writes to a lost peer do not run")
	_, err = ctx.Post("gen", src.Bytes, to)
	require.Error(t, err)
	require.False(t, ctx.Covers("gen", to))
	require.Zero(t, mappings(t)-ownMappings(ctx), "the target's memory is unmapped")
}

func TestStoppedPeer(t *testing.T) {
	spec.Covers(t, reqBounds)
	const limit = 1000
	c := startChild(t, "ctx", "ctx")
	gen, events := open(t, Config{Name: "gen", QueueNotices: limit})
	require.NoError(t, gen.AddPeer("ctx", c.address, nil))
	c.stop(t)

	accepted, longest := 0, time.Duration(0)
	var err error
	for err == nil {
		begin := time.Now()
		if err = gen.Notify("ctx", fmt.Appendf(nil, "seq %d %s", accepted, strings.Repeat("x", 1000))); err == nil {
			accepted++
		}
		longest = max(longest, time.Since(begin))
		require.Less(t, accepted, 10*limit, "not bounded")
		if err != nil && accepted < limit {
			t.Fatalf("refused after %d: %v", accepted, err)
		}
	}
	require.ErrorIs(t, err, transport.ErrPeerSlow)
	require.EqualValues(t, 1, gen.Stats().Refused)
	require.Less(t, longest, time.Second, "Notify blocked")
	t.Logf("accepted %d notices towards a stopped peer, longest call %v", accepted, longest)
	events.none(t, transport.PeerLost, "ctx")

	require.NoError(t, c.Process.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool { return gen.Notify("ctx", []byte("count")) == nil }, 5*time.Second, time.Millisecond)
	require.Equal(t, fmt.Sprintf("count %d true", accepted), string(events.await(t, transport.Notice, "ctx").Payload))
}

func TestCloseWithStoppedPeerIsBounded(t *testing.T) {
	c := startChild(t, "ctx", "ctx")
	gen, _ := open(t, Config{Name: "gen", FlushDeadline: 100 * time.Millisecond})
	require.NoError(t, gen.AddPeer("ctx", c.address, nil))
	c.stop(t)
	for range 4 {
		require.NoError(t, gen.Notify("ctx", make([]byte, MaxNotice)))
	}
	begin := time.Now()
	require.NoError(t, gen.Close())
	require.Less(t, time.Since(begin), 5*time.Second)
	require.EqualValues(t, 4, gen.Stats().Dropped, "what Close gave up is counted")
}

// TestPeerThatTakesNothing bounds the age of what waits: the connection ends.
func TestPeerThatTakesNothing(t *testing.T) {
	spec.Covers(t, reqBounds)
	c := startChild(t, "ctx", "ctx")
	gen, events := open(t, Config{Name: "gen", StallDeadline: 500 * time.Millisecond})
	require.NoError(t, gen.AddPeer("ctx", c.address, nil))
	c.stop(t)
	for range 4 {
		require.NoError(t, gen.Notify("ctx", make([]byte, MaxNotice)))
	}
	err := events.await(t, transport.PeerLost, "ctx").Err
	require.ErrorIs(t, err, transport.ErrPeerSlow)
	require.ErrorContains(t, err, "StallDeadline")
	require.ErrorIs(t, gen.Notify("ctx", nil), transport.ErrPeerGone)
	require.Eventually(t, func() bool { return gen.Stats().Dropped == 4 }, 5*time.Second, time.Millisecond)
	require.EqualValues(t, 1, gen.Stats().Faults[ReasonPeerSlow])
}

func TestHandshakeWithStoppedPeerIsBounded(t *testing.T) {
	spec.Covers(t, reqDeadline)
	c := startChild(t, "ctx", "ctx")
	gen, _ := open(t, Config{Name: "gen", ConnectDeadline: 100 * time.Millisecond})
	c.stop(t)
	err := gen.AddPeer("ctx", c.address, nil)
	require.ErrorIs(t, err, &Error{Reason: ReasonHandshakeTimeout})
	require.ErrorContains(t, err, "ConnectDeadline")
}

func TestNothingIsLeftAfterKill(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	before := leftovers(t, temp)
	c := startChild(t, "ctx", "ctx")
	gen, events := open(t, Config{Name: "gen"})
	slot, err := gen.Register(1<<20, true)
	require.NoError(t, err)
	require.NoError(t, gen.AddPeer("ctx", c.address, nil))
	require.NoError(t, gen.Notify("ctx", fmt.Appendf(nil, "loop %d %d", slot.Addr, len(slot.Bytes))))
	events.await(t, transport.Notice, "ctx")
	require.Contains(t, sockets(t), strings.TrimPrefix(c.address, "shm:"), "the check sees sockets")
	require.NoError(t, c.Process.Kill())
	events.await(t, transport.PeerDead, "ctx")
	require.NotContains(t, sockets(t), strings.TrimPrefix(c.address, "shm:"))
	require.Equal(t, before, leftovers(t, temp))
}

// leftovers lists what this adaptor could have left in file systems; the helper
// has a folder of its own for temporary files.
func leftovers(t *testing.T, temp string) []string {
	var names []string
	for _, dir := range []string{"/dev/shm", temp} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			if dir == temp || strings.Contains(e.Name(), "kvsettle") {
				names = append(names, e.Name())
			}
		}
	}
	return names
}

func sockets(t *testing.T) string {
	b, err := os.ReadFile("/proc/net/unix")
	require.NoError(t, err)
	return string(b)
}

// TestLostPeersProcessKeepsItsName: while the process of a lost peer lives, only it
// may use the name; PeerDead comes in the end.
func TestLostPeersProcessKeepsItsName(t *testing.T) {
	ctx, events := open(t, Config{Name: "ctx"})
	c := startChild(t, "gen", "gen", "ctx", ctx.Address())
	c.line(t)
	ctx.mu.Lock()
	conn := ctx.peers["gen"].link.conn
	ctx.mu.Unlock()
	require.NoError(t, conn.CloseRead()) // as if the connection broke
	events.await(t, transport.PeerLost, "gen")
	events.none(t, transport.PeerDead, "gen")

	other, _ := open(t, Config{Name: "gen"})
	require.ErrorIs(t, other.AddPeer("ctx", ctx.Address(), nil), &Error{Reason: ReasonNameInUse})
	require.NoError(t, ctx.AddPeer("gen", c.address, nil), "the same process connects again")
	require.NoError(t, c.Process.Kill())
	events.await(t, transport.PeerLost, "gen")
	events.await(t, transport.PeerDead, "gen")
	events.none(t, transport.PeerDead, "gen")
	require.NoError(t, other.AddPeer("ctx", ctx.Address(), nil))
}
