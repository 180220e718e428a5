//go:build cgo && linux

package nixl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/internal/fetch"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

// end is an agent of a test with its events and a region.
type end struct {
	*Agent
	t      testing.TB
	events chan transport.Event
	region transport.Region
}

func open2(t testing.TB, cfg Config) *end {
	t.Helper()
	needLibrary(t)
	if cfg.Name == "" {
		cfg.Name = fresh("agent")
	}
	e := &end{t: t, events: make(chan transport.Event, 1<<17)}
	var err error
	e.Agent, err = Open(cfg, func(ev transport.Event) { e.events <- ev })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	e.region, err = e.Register(4<<20, true)
	require.NoError(t, err)
	return e
}

func pair(t testing.TB, cfg Config) (a, b *end) {
	a, b = open2(t, cfg), open2(t, cfg)
	require.NoError(t, a.AddPeer(b.Name(), b.Address(), nil))
	m, err := a.Metadata()
	require.NoError(t, err)
	require.NoError(t, b.AddPeer(a.Name(), "", m))
	return a, b
}

func (e *end) want(kind transport.EventKind) transport.Event {
	e.t.Helper()
	for bound := time.After(20 * time.Second); ; {
		select {
		case ev := <-e.events:
			if ev.Kind == kind {
				return ev
			}
		case <-bound:
			e.t.Fatalf("no event of kind %d", kind)
		}
	}
}

func (e *end) target() transport.Target {
	return transport.Target{Addr: e.region.Addr, Len: uint64(len(e.region.Bytes))}
}

func TestWriteArrivesBeforeItsEnd(t *testing.T) {
	a, b := pair(t, Config{})
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 4096, 65537, 1 << 20, 4 << 20} {
		for i := range a.region.Bytes[:n] {
			a.region.Bytes[i] = byte(rng.Uint32())
		}
		id, err := a.Post(b.Name(), a.region.Bytes[:n], b.target())
		require.NoError(t, err)
		ev := a.want(transport.WriteEnded)
		require.Equal(t, id, ev.Write)
		require.Equal(t, transport.Done, ev.Status)
		require.True(t, bytes.Equal(a.region.Bytes[:n], b.region.Bytes[:n]), "%d bytes are not all there at the end of the write", n)
	}
	s := a.Stats()
	require.EqualValues(t, 5, s.Done)
	require.Zero(t, s.Active+s.Isolated)
	spec.Covers(t, "KS-BACK-1", "KS-BACK-2", "KS-BACK-10")
}

func TestAttachedNoticeComesAfterItsBytes(t *testing.T) {
	a, b := pair(t, Config{})
	for i := range 200 {
		v := byte(i + 1)
		for j := range a.region.Bytes[:1<<16] {
			a.region.Bytes[j] = v
		}
		_, err := a.PostNotify(b.Name(), a.region.Bytes[:1<<16], b.target(), []byte{v})
		require.NoError(t, err)
		ev := b.want(transport.Notice)
		require.Equal(t, []byte{v}, ev.Payload)
		require.Equal(t, a.Name(), ev.Peer)
		require.Equal(t, 1<<16, bytes.Count(b.region.Bytes[:1<<16], []byte{v}))
		a.want(transport.WriteEnded)
	}
	spec.Covers(t, "KS-BACK-6")
}

func TestNoticesCarryAnyBytes(t *testing.T) {
	a, b := pair(t, Config{})
	for _, p := range [][]byte{{}, {0}, []byte("a\x00b"), bytes.Repeat([]byte{7}, 70_000)} {
		require.NoError(t, a.Notify(b.Name(), p))
		require.True(t, bytes.Equal(p, b.want(transport.Notice).Payload))
	}
	require.ErrorIs(t, a.Notify(b.Name(), make([]byte, MaxNotice+1)), transport.ErrTooLarge)
}

func TestPostRefuses(t *testing.T) {
	a, b := pair(t, Config{QueueWrites: 4})
	mem := a.region.Bytes
	at := b.target()
	for _, c := range []struct {
		name string
		peer string
		src  []byte
		dst  transport.Target
		want error
	}{
		{"unknown peer", "nobody", mem[:8], at, transport.ErrUnknownPeer},
		{"foreign source", b.Name(), make([]byte, 8), at, transport.ErrOutsideRegion},
		{"empty source", b.Name(), mem[:0], at, transport.ErrOutsideRegion},
		{"destination too short", b.Name(), mem[:9], transport.Target{Addr: at.Addr, Len: 8}, transport.ErrOutsideRegion},
		{"beyond the region", b.Name(), mem[:8], transport.Target{Addr: at.Addr + at.Len - 4, Len: 8}, transport.ErrOutsideRegion},
		{"before the region", b.Name(), mem[:8], transport.Target{Addr: at.Addr - 4, Len: 8}, transport.ErrOutsideRegion},
		{"wraps around", b.Name(), mem[:8], transport.Target{Addr: ^uint64(0) - 3, Len: 8}, transport.ErrOutsideRegion},
		{"another device", b.Name(), mem[:8], transport.Target{Addr: at.Addr, Len: 8, Device: 1}, transport.ErrOutsideRegion},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := a.Post(c.peer, c.src, c.dst)
			require.ErrorIs(t, err, c.want)
			require.Contains(t, err.Error(), "post "+c.peer)
			require.False(t, c.peer == b.Name() && a.Covers(c.peer, c.dst) && len(c.src) > 9)
		})
	}
	require.ErrorContains(t, a.Release(99), string(ReasonUnknownWrite))
	require.Zero(t, a.Stats().Active)
	_, err := a.Post(b.Name(), mem[:8], at)
	require.NoError(t, err, "the peer is still usable")
	require.Equal(t, transport.Done, a.want(transport.WriteEnded).Status)
}

// Metadata that is broken in any way is refused before the library sees it, so that
// the good metadata of that name still works afterwards.
func TestBrokenMetadataPoisonsNothing(t *testing.T) {
	a, b, c := open2(t, Config{}), open2(t, Config{}), open2(t, Config{})
	good, err := b.Metadata()
	require.NoError(t, err)
	foreign, err := c.Metadata()
	require.NoError(t, err)
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)/3] ^= 4
	for name, m := range map[string][]byte{
		"one byte short": good[:len(good)-1], "half": good[:len(good)/2], "no trailer": good[:len(good)-cardTail],
		"one bit": flipped, "garbage": []byte("hello"), "foreign": foreign, "trailer only": good[len(good)-cardTail:],
		"too long": make([]byte, maxCard+1),
	} {
		err := a.AddPeer(b.Name(), "", m)
		var e *Error
		require.ErrorAs(t, err, &e, name)
		require.Contains(t, []spec.Reason{ReasonBadMetadata, ReasonWrongName}, e.Reason, name)
	}
	for _, addr := range []string{"", "nixl:", "nixl:!!", "10.0.0.1", "1.2.3.4:0", "host:99", "[::1]:99", "a:b:c"} {
		require.Error(t, a.AddPeer(b.Name(), addr, nil), addr)
	}
	require.ErrorContains(t, a.AddPeer(a.Name(), a.Address(), nil), string(ReasonWrongName))
	require.NoError(t, a.AddPeer(b.Name(), "", good))
	require.NoError(t, a.AddPeer(b.Name(), b.Address(), nil), "idempotent")
	_, err = a.Post(b.Name(), a.region.Bytes[:8], b.target())
	require.NoError(t, err)
	require.Equal(t, transport.Done, a.want(transport.WriteEnded).Status)
	require.NotZero(t, a.Stats().Faults[ReasonBadMetadata])
	spec.Covers(t, "KS-BACK-14")
}

// What the library itself does with a truncated blob: the reason for the check.
func TestLibraryPoisonsTheNameOfATruncatedBlob(t *testing.T) {
	a, b := open2(t, Config{}), open2(t, Config{})
	m, err := b.Metadata()
	require.NoError(t, err)
	c, err := decodeCard(b.Name(), m)
	require.NoError(t, err)
	_, st := loadMetadata(a.h, c.blob[:len(c.blob)-1])
	require.NotEqual(t, success, st)
	_, again := loadMetadata(a.h, c.blob)
	t.Logf("truncated: %v, then the whole: %v", st, again)
	if again == success {
		t.Log("this library no longer poisons the name")
	}
}

func TestConnectedPeerKeepsItsMetadata(t *testing.T) {
	a, b := pair(t, Config{})
	_, err := b.Register(4096, true)
	require.NoError(t, err)
	m, err := b.Metadata()
	require.NoError(t, err)
	require.ErrorContains(t, a.AddPeer(b.Name(), "", m), string(ReasonNameInUse))
}

// A flood is bounded, and an honest peer's notices pass.
func TestFloodIsBounded(t *testing.T) {
	cfg := Config{NoticesPerSecond: 500}
	a, b := pair(t, cfg)
	c := open2(t, Config{})
	require.NoError(t, c.AddPeer(b.Name(), b.Address(), nil)) // b does not know c
	for range 20_000 {
		require.NoError(t, c.Notify(b.Name(), []byte("garbage")))
	}
	require.Eventually(t, func() bool { s := b.Stats(); return s.Notices+s.Dropped >= 20_000 }, 20*time.Second, 10*time.Millisecond)
	s := b.Stats()
	require.Greater(t, s.Dropped, uint64(10_000))
	require.NoError(t, a.Notify(b.Name(), []byte("honest")))
	for {
		if ev := b.want(transport.Notice); ev.Peer == a.Name() {
			require.Equal(t, "honest", string(ev.Payload))
			break
		}
	}
	spec.Covers(t, "KS-TIME-18")
}

// A full table admits newcomers in the place of whoever was silent longest, never
// of a peer with attempts.
func TestMaxPeers(t *testing.T) {
	a := open2(t, Config{MaxPeers: 2})
	var all []*end
	join := func() error {
		b := open2(t, Config{})
		all = append(all, b)
		return a.AddPeer(b.Name(), b.Address(), nil)
	}
	require.NoError(t, join())
	require.NoError(t, join())
	require.NoError(t, a.Notify(all[0].Name(), []byte("x"))) // so the second is the idle one
	require.NoError(t, join())
	require.Equal(t, all[1].Name(), a.want(transport.PeerLost).Peer)
	require.True(t, a.Connected(all[0].Name()))
	works(t, a, all[2])
	a.Pin(all[0].Name(), 1)
	a.Pin(all[2].Name(), 1)
	require.ErrorContains(t, join(), string(ReasonTooManyPeers))
	a.Pin(all[2].Name(), -1)
	require.NoError(t, a.AddPeer(all[1].Name(), all[1].Address(), nil), "who had to go may come back")
	works(t, a, all[1])
	works(t, a, all[0])
	s := a.Stats()
	require.Equal(t, 2, s.Peers)
	require.EqualValues(t, 2, s.Evicted)
	spec.Covers(t, "KS-SEC-3")
}

// An address that anybody can name is not connected to, unless the user asked for it.
func TestListenerOffConnectsNowhere(t *testing.T) {
	a := open2(t, Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	begun := time.Now()
	err = a.AddPeer("x", l.Addr().String(), nil)
	require.ErrorContains(t, err, string(ReasonBadAddress))
	require.ErrorContains(t, err, "--nixl-listen")
	require.Less(t, time.Since(begun), time.Second)
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(300*time.Millisecond)))
	_, err = l.Accept()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "somebody connected")
	spec.Covers(t, "KS-SEC-1", "KS-SEC-3")
}

// The library's names end at a NUL, so such a name would be an honest peer's.
func TestNamesWithControlCharacters(t *testing.T) {
	a, b := pair(t, Config{})
	for _, tail := range []string{"\x00evil", "\n", "\x7f"} {
		name := b.Name() + tail
		c := renamed(t, b, name)
		require.ErrorContains(t, a.AddPeer(name, "", c.encode()), string(ReasonWrongName))
	}
	works(t, a, b)
	spec.Covers(t, "KS-BACK-13")
}

// Close does not wait for a first contact that leads nowhere.
func TestCloseDuringFirstContact(t *testing.T) {
	for i, nowhere := range []string{"127.0.0.1:9", "10.255.255.1:9"} {
		a := open2(t, Config{Listen: 41741 + i, ListenIP: "127.0.0.1", ConnectDeadline: 30 * time.Second, FlushDeadline: time.Second})
		over := make(chan error, 1)
		go func() { over <- a.AddPeer("nobody", nowhere, nil) }()
		time.Sleep(300 * time.Millisecond)
		begun := time.Now()
		require.NoError(t, a.Close())
		t.Logf("%s: closed in %v", nowhere, time.Since(begun))
		require.Less(t, time.Since(begun), 5*time.Second)
		require.ErrorIs(t, <-over, transport.ErrClosed)
	}
	spec.Covers(t, "KS-SLOT-11")
}

func TestListenerPortInUse(t *testing.T) {
	needLibrary(t)
	l, err := net.Listen("tcp4", ":41751")
	require.NoError(t, err)
	defer l.Close()
	_, err = Open(Config{Name: fresh("port"), Listen: 41751, ListenIP: "127.0.0.1"}, func(transport.Event) {})
	require.ErrorContains(t, err, "41751")
	require.ErrorContains(t, err, "--nixl-listen")
	require.ErrorContains(t, err, "in use")
}

// Few large notices are bounded as many small ones are.
func TestNoticeBytesAreBounded(t *testing.T) {
	a, b := pair(t, Config{NoticeBytesPerSecond: 2 << 20})
	big := make([]byte, MaxNotice)
	for range 20 {
		require.NoError(t, a.Notify(b.Name(), big))
	}
	require.Eventually(t, func() bool { s := b.Stats(); return s.Notices+s.Dropped >= 20 }, 20*time.Second, 10*time.Millisecond)
	require.Greater(t, b.Stats().Dropped, uint64(5))
	spec.Covers(t, "KS-TIME-18")
}

// A peer that closed is noticed at the next use, and a new one takes its place.
func TestClosedPeerIsLost(t *testing.T) {
	a, b := pair(t, Config{})
	require.NoError(t, a.Notify(b.Name(), []byte("x")))
	b.want(transport.Notice)
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool {
		return errors.Is(a.Notify(b.Name(), []byte("x")), transport.ErrPeerGone)
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, b.Name(), a.want(transport.PeerLost).Peer)
	require.False(t, a.Covers(b.Name(), b.target()))
	n := open2(t, Config{})
	require.NoError(t, a.AddPeer(n.Name(), n.Address(), nil))
	_, err := a.Post(n.Name(), a.region.Bytes[:8], n.target())
	require.NoError(t, err)
	require.Equal(t, transport.Done, a.want(transport.WriteEnded).Status)
}

func TestClosedAgentRefuses(t *testing.T) {
	a, b := pair(t, Config{})
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	_, err := a.Post(b.Name(), b.region.Bytes[:1], b.target())
	require.ErrorIs(t, err, transport.ErrClosed)
	require.ErrorIs(t, a.Notify(b.Name(), nil), transport.ErrClosed)
	require.ErrorIs(t, a.AddPeer(b.Name(), b.Address(), nil), transport.ErrClosed)
	_, err = a.Register(1, true)
	require.ErrorIs(t, err, transport.ErrClosed)
	_, err = a.Metadata()
	require.ErrorIs(t, err, transport.ErrClosed)
	require.Empty(t, a.Address())
}

// First contact through the library's own listener, on both sides as it wants it.
func TestListener(t *testing.T) {
	needLibrary(t)
	a := open2(t, Config{Listen: 41731, ListenIP: "127.0.0.1", ConnectDeadline: 5 * time.Second})
	b := open2(t, Config{Listen: 41732, ListenIP: "127.0.0.1"})
	require.Equal(t, "127.0.0.1:41732", b.Address())
	require.NoError(t, a.AddPeer(b.Name(), b.Address(), nil))
	require.NoError(t, a.Notify(b.Name(), []byte("x")))
	require.Equal(t, a.Name(), b.want(transport.Notice).Peer)
	begun := time.Now()
	c := open2(t, Config{Listen: 41733, ListenIP: "127.0.0.1", ConnectDeadline: 300 * time.Millisecond})
	err := c.AddPeer("nobody", "127.0.0.1:9", nil)
	require.ErrorContains(t, err, string(ReasonConnectDeadline))
	require.Less(t, time.Since(begun), 10*time.Second)
	spec.Covers(t, "KS-SEC-1")
}

func TestPace(t *testing.T) {
	spin, idle := 50*time.Microsecond, 5*time.Millisecond
	require.Zero(t, pace(0, spin, idle))
	require.Equal(t, 10*time.Microsecond, pace(60*time.Microsecond, spin, idle))
	require.Equal(t, time.Millisecond, pace(64*time.Millisecond, spin, idle))
	require.Equal(t, idle, pace(time.Hour, spin, idle))
	require.NotZero(t, pace(0, -1, idle))
}

func ExampleOpen() {
	if _, err := fetch.Get(context.Background(), Wheel(), nil); err != nil {
		fmt.Println("done") // without a network: see the documentation
		return
	}
	a, err := Open(Config{Name: fresh("example")}, func(transport.Event) {})
	if err != nil {
		fmt.Println(err)
		return
	}
	a.Close()
	fmt.Println("done")
	// Output: done
}
