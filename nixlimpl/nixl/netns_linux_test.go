package nixl

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
)

// NeedSystem skips, loudly, where tests may not change the machine.
func NeedSystem(t testing.TB) {
	t.Helper()
	needLibrary(t)
	if os.Getenv("KVSETTLE_SYSTEM") != "1" {
		notRun(t, "network name spaces: KVSETTLE_SYSTEM is not 1")
	}
	if os.Geteuid() != 0 {
		notRun(t, "network name spaces: not root")
	}
	for _, tool := range []string{"ip", "ss"} {
		if _, err := exec.LookPath(tool); err != nil {
			notRun(t, "network name spaces: no program "+tool+" (package iproute2)")
		}
	}
	out, err := exec.Command("ip", "netns", "list").CombinedOutput()
	if err != nil {
		notRun(t, "network name spaces: "+strings.TrimSpace(string(out)))
	}
}

// Spaces are two network name spaces joined by one link. They go with the test.
type Spaces struct {
	t testing.TB
	// A and B are the names of the spaces and of the link's ends in them.
	A, B string
}

// Run runs a program and returns what it said.
func Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	return string(out)
}

// NewSpaces makes the name spaces.
func NewSpaces(t testing.TB) *Spaces {
	t.Helper()
	nameCount.Lock()
	nameCount.n++
	id := fmt.Sprintf("kv%x%x", os.Getpid()&0xffff, nameCount.n)
	net := fmt.Sprintf("10.%d.%d", 200+nameCount.n%50, os.Getpid()%250)
	nameCount.Unlock()
	s := &Spaces{t: t, A: id + "a", B: id + "b"}
	t.Cleanup(func() {
		for _, n := range []string{s.A, s.B} {
			_ = exec.Command("ip", "netns", "del", n).Run()
		}
	})
	Run(t, "ip", "netns", "add", s.A)
	Run(t, "ip", "netns", "add", s.B)
	Run(t, "ip", "link", "add", s.A, "netns", s.A, "type", "veth", "peer", "name", s.B, "netns", s.B)
	for i, n := range []string{s.A, s.B} {
		Run(t, "ip", "-n", n, "addr", "add", fmt.Sprintf("%s.%d/24", net, i+1), "dev", n)
		Run(t, "ip", "-n", n, "link", "set", n, "up")
		Run(t, "ip", "-n", n, "link", "set", "lo", "up")
	}
	for _, n := range []string{s.A, s.B} {
		require.Eventually(t, func() bool {
			return strings.TrimSpace(Run(t, "ip", "netns", "exec", n, "cat", "/sys/class/net/"+n+"/operstate")) == "up"
		}, 10*time.Second, 10*time.Millisecond, "UCX does not use a link that is not up yet")
	}
	return s
}

// Link takes the link down or up, at the end in space B: a local interface that is
// down makes the kernel of A give up the sockets of dead processes at once.
func (s *Spaces) Link(state string) { Run(s.t, "ip", "-n", s.B, "link", "set", s.B, state) }

// Sent is what went out of a space over the link so far, in bytes.
func (s *Spaces) Sent(space string) int {
	s.t.Helper()
	text := Run(s.t, "ip", "netns", "exec", space, "cat", "/sys/class/net/"+space+"/statistics/tx_bytes")
	n, err := strconv.Atoi(strings.TrimSpace(text))
	require.NoError(s.t, err)
	return n
}

// Env makes UCX use the link and nothing else.
func (s *Spaces) Env(space string) []string {
	return []string{"UCX_TLS=tcp", "UCX_NET_DEVICES=" + space}
}

// Wrap is what starts a program in a space.
func (s *Spaces) Wrap(space string) []string { return []string{"ip", "netns", "exec", space} }

// bursts is how often cut writes the region: seconds of work for the link.
const bursts = 24

// cut lets a writer fill the link, takes it down in the middle, and clears the
// target's memory, as if its slots were used again: what the writer's kernel and
// UCX still hold is under way.
func cut(t *testing.T) (s *Spaces, w, target *remoteAgent) {
	s = NewSpaces(t)
	w = launch(t, fresh("writer"), s.Env(s.A), s.Wrap(s.A)...)
	target = launch(t, fresh("target"), s.Env(s.B), s.Wrap(s.B)...)
	meet(t, w, target)
	w.do(order{Op: "fill", Value: 0xA5})
	before := s.Sent(s.A)
	require.Empty(t, w.do(order{Op: "burst", Name: target.Name, Addr: target.Addr, N: bursts}).Err)
	require.Eventually(t, func() bool { return s.Sent(s.A)-before > helperBytes }, 30*time.Second, time.Millisecond,
		"the bytes do not go over the link")
	s.Link("down")
	settled(target)
	require.NotZero(t, w.do(order{Op: "stats"}).Stats.Active, "everything was written before the link went down")
	target.do(order{Op: "fill", Value: 0})
	return s, w, target
}

// settled counts until the count stays.
func settled(r *remoteAgent) int {
	last, same := -1, 0
	for same < 3 {
		n := r.do(order{Op: "count", Value: 0xA5}).N
		if n == last {
			same++
		} else {
			last, same = n, 0
		}
		time.Sleep(100 * time.Millisecond)
	}
	return last
}

// A cut link is never reported; when it comes back, the writes succeed. Until then
// they are on watch, released or not, and that success is the late proof.
func TestLinkDownAndUp(t *testing.T) {
	NeedSystem(t)
	s, w, target := cut(t)
	w.do(order{Op: "releaseall"})
	time.Sleep(3 * time.Second)
	st := w.do(order{Op: "stats"}).Stats
	require.NotZero(t, st.Active)
	require.Zero(t, st.Broken, "a cut link was reported")
	require.Zero(t, st.Faults[ReasonPeerGone])
	open := st.Active
	s.Link("up")
	up := time.Now()
	require.Eventually(t, func() bool { return w.do(order{Op: "stats"}).Stats.Active == 0 }, 60*time.Second, 50*time.Millisecond)
	took := time.Since(up)
	st = w.do(order{Op: "stats"}).Stats
	require.EqualValues(t, bursts*helperBytes>>20, st.Done)
	require.EqualValues(t, open, st.Late)
	late := target.do(order{Op: "count", Value: 0xA5}).N
	require.NotZero(t, late)
	t.Logf("link down 3 s: %d writes ended Done %v after link-up, after their release; %d bytes (%d pages) landed late",
		st.Late, took.Round(time.Millisecond), late, late/4096)
	spec.Covers(t, "KS-BACK-3", "KS-BACK-5")
}

// The bytes of a killed writer land after the link comes back: its death proves
// nothing.
func TestDeadWritersBytesLand(t *testing.T) {
	NeedSystem(t)
	s, w, target := cut(t)
	w.kill()
	time.Sleep(time.Second)
	require.Zero(t, target.do(order{Op: "count", Value: 0xA5}).N)
	s.Link("up")
	up := time.Now()
	require.Eventually(t, func() bool { return target.do(order{Op: "count", Value: 0xA5}).N > 0 }, 60*time.Second, 50*time.Millisecond,
		"nothing landed: the contract could be stronger than it is")
	first := time.Since(up)
	late := settled(target)
	t.Logf("%d bytes (%d pages) of the dead writer landed, the first %v after link-up", late, late/4096, first.Round(time.Millisecond))
	spec.Covers(t, "KS-BACK-9")
}

// A reset connection breaks the writes that were under way, each once; the peer is
// lost until its metadata is dropped and loaded again, and then serves.
func TestResetDuringWrites(t *testing.T) {
	NeedSystem(t)
	s := NewSpaces(t)
	w := launch(t, fresh("writer"), s.Env(s.A), s.Wrap(s.A)...)
	target := launch(t, fresh("target"), s.Env(s.B), s.Wrap(s.B)...)
	meet(t, w, target)
	before := s.Sent(s.A)
	require.Empty(t, w.do(order{Op: "burst", Name: target.Name, Addr: target.Addr, N: bursts}).Err)
	require.Eventually(t, func() bool { return s.Sent(s.A)-before > helperBytes }, 30*time.Second, time.Millisecond)
	Run(t, "ip", "netns", "exec", s.A, "ss", "-K", "-t", "state", "established")
	begun := time.Now()
	var st *Stats
	require.Eventually(t, func() bool { st = w.do(order{Op: "stats"}).Stats; return st.Active == 0 }, 30*time.Second, 10*time.Millisecond)
	took := time.Since(begun)
	require.NotZero(t, st.Broken)
	require.EqualValues(t, bursts*helperBytes>>20, st.Done+st.Broken)
	lost, ok := w.event("lost", 5*time.Second)
	require.True(t, ok)
	require.Equal(t, target.Name, lost.Name)
	require.Contains(t, w.do(order{Op: "post", Name: target.Name, Addr: target.Addr, N: 64}).Err, string(ReasonPeerGone))
	require.Empty(t, w.do(order{Op: "peer", Name: target.Name, Address: target.Address}).Err)
	w.do(order{Op: "fill", Value: 0x77})
	require.Empty(t, w.do(order{Op: "post", Name: target.Name, Addr: target.Addr, N: 1 << 20}).Err)
	require.Eventually(t, func() bool { return w.do(order{Op: "stats"}).Stats.Active == 0 }, 10*time.Second, time.Millisecond)
	require.EqualValues(t, st.Done+1, w.do(order{Op: "stats"}).Stats.Done)
	require.Equal(t, 1<<20, target.do(order{Op: "count", Value: 0x77}).N)
	t.Logf("%d writes done, %d broken within %v of the reset; after drop and reload the next one succeeded", st.Done, st.Broken, took.Round(time.Millisecond))
	spec.Covers(t, "KS-BACK-18")
}
