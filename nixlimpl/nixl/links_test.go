//go:build linux

package nixl_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
)

// The services of the link tests: one request is 128 MiB.
var far = setup{Scale: 4, Slots: 4, Budget: 4, Bytes: 128 << 20, Deadline: 2 * time.Second}

const farTokens = 4096

// cutTransfer starts requests until the link went down in the middle of one, and
// returns its id.
func cutTransfer(t *testing.T, s *nixl.Spaces, c, g *side) uint64 {
	t.Helper()
	for id := uint64(1); id < 10; id++ {
		h := context1(c, id, farTokens)
		before := s.Sent(s.A)
		generate(g, h)
		g.must(child.Sent, id)
		for until := time.Now().Add(5 * time.Second); s.Sent(s.A)-before < 4<<20 && time.Now().Before(until); {
		}
		s.Link("down")
		sent := s.Sent(s.A) - before
		require.Greater(t, sent, 4<<20, "the bytes do not go over the link")
		if sent < far.Bytes*9/10 {
			t.Logf("link down after %d of %d bytes", sent, far.Bytes)
			return id
		}
		s.Link("up")
		g.must(child.Outcome, id)
	}
	t.Fatal("no transfer was cut in the middle")
	return 0
}

func farPair(t *testing.T) (s *nixl.Spaces, c, g *side) {
	s = nixl.NewSpaces(t)
	a, b := far, far
	a.Role, b.Role = "ctx", "gen"
	c = startSide(t, a, s.Env(s.A), s.Wrap(s.A)...)
	g = startSide(t, b, s.Env(s.B), s.Wrap(s.B)...)
	c.must(child.Ready, 0)
	g.must(child.Ready, 0)
	return s, c, g
}

// The link goes down during a write and comes up after the deadline: both sides
// fail the request in time and quarantine its slots, and the late success is the
// proof that brings them back.
func TestLateSuccessIsLateProof(t *testing.T) {
	nixl.NeedSystem(t)
	s, c, g := farPair(t)
	id := cutTransfer(t, s, c, g)
	begun := time.Now()
	o, ok := g.wait(far.Deadline+slack, child.Outcome, id)
	require.True(t, ok, "GEN did not end the request")
	require.Equal(t, sm.Failed.String(), o.Disposition)
	require.Contains(t, o.Message, "request-deadline")
	ended := time.Since(begun)
	e, ok := c.wait(slack, child.Ended, id)
	require.True(t, ok, "CTX did not end the request")
	require.Equal(t, sm.Failed.String(), e.Disposition)
	require.Equal(t, 1, g.state().Slots.Quarantined)
	require.Equal(t, 1, c.state().Slots.Quarantined)
	time.Sleep(time.Second)
	require.Equal(t, 1, g.state().Slots.Quarantined)
	s.Link("up")
	up := time.Now()
	require.Eventually(t, func() bool {
		a, b := c.state().Slots, g.state().Slots
		return a.Free == a.Total && b.Free == b.Total
	}, 30*time.Second, 20*time.Millisecond)
	back := time.Since(up)
	require.NotZero(t, g.state().Counters["slots_proven_late"])
	require.NotZero(t, c.state().Counters["slots_proven_late"])
	tries := served(t, c, g, 100, farTokens, 3)
	lc, lg := c.bye(), g.bye()
	require.Zero(t, lc.Canary+lg.Canary)
	t.Logf("GEN failed it after %v (%s), CTX %s; slots back by late proof %v after link-up; next request: %d failed before",
		ended.Round(time.Millisecond), o.Reason, e.Reason, back.Round(time.Millisecond), tries)
	spec.Covers(t, "KS-SLOT-6", "KS-V1-27")
}

// The writer is killed while the link is down: its bytes arrive after link-up, and
// the slot they land in is not used again, because nothing proves it quiet.
func TestKilledWriterMeetsNoReusedSlot(t *testing.T) {
	nixl.NeedSystem(t)
	s, c, g := farPair(t)
	id := cutTransfer(t, s, c, g)
	c.kill()
	o, ok := g.wait(far.Deadline+slack, child.Outcome, id)
	require.True(t, ok, "GEN did not end the request")
	require.Equal(t, sm.Failed.String(), o.Disposition)
	require.Equal(t, 1, g.state().Slots.Quarantined)
	before := s.Sent(s.A)
	s.Link("up")
	n := startSide(t, c.setup, s.Env(s.A), s.Wrap(s.A)...)
	require.Eventually(t, func() bool { return s.Sent(s.A)-before > 4096 }, 90*time.Second, 10*time.Millisecond,
		"the kernel sends a dead writer's bytes when its retransmission timer, longer after each try, ends")
	n.must(child.Ready, 0)
	late := s.Sent(s.A) - before
	// Every slot but the quarantined one serves, more than once.
	failed := 0
	for i := range 8 {
		failed += served(t, n, g, uint64(100+10*i), farTokens, 3)
	}
	st := g.state()
	require.Equal(t, 1, st.Slots.Quarantined, "nothing proves that slot quiet")
	require.Zero(t, st.Open)
	lc, lg := n.bye(), g.bye()
	require.Zero(t, lc.Canary+lg.Canary, "late bytes met a free slot")
	t.Logf("%d bytes of the killed writer came over the link after it was dead; 8 requests served, %d tries failed before, 0 canaries", late, failed)
	spec.Covers(t, "KS-BACK-9", "KS-SLOT-4")
}
