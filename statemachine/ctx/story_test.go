package ctx_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
)

// TestAnswers plays every combination of acceptable and refused requests of 2 and
// 3 counterparts: nobody is answered before the last one asked, and all get the
// same answer.
func TestAnswers(t *testing.T) {
	spec.Covers(t, "KS-V1-2", "KS-V1-3", "KS-V1-28", "KS-V1-29")
	for _, edges := range []int{2, 3} {
		for mask := range 1 << edges {
			s := play(t, fmt.Sprintf("start:%d grant", edges))
			for e := range edges {
				out := s.step(fmt.Sprintf("%s:%d", map[bool]string{true: "ask", false: "refuse"}[mask>>e&1 == 1], e))
				if e < edges-1 {
					require.NotContains(t, out, "ready")
					continue
				}
				yes := mask == 1<<edges-1
				for e := range edges {
					require.Contains(t, out, fmt.Sprintf("ready:%d=%t", e, yes))
				}
				require.Equal(t, yes, strings.Contains(out, "write:"))
				require.Equal(t, yes, s.m.Committed())
				if !yes {
					require.Equal(t, sm.Rejected, s.m.Disposition())
					require.Equal(t, spec.Reason("layout-mismatch"), s.m.Reason())
				}
			}
		}
	}
}

// TestRefusalWithoutReason: a refused request is never taken for a good one.
func TestRefusalWithoutReason(t *testing.T) {
	spec.Covers(t, "KS-V1-2", "KS-V1-3")
	s := play(t, "start:1 grant")
	m, effects, err := s.m.Step(ctx.Input{Kind: ctx.Request}, nil)
	require.NoError(t, err)
	require.Contains(t, effects, ctx.Effect{Kind: ctx.SendReady, Edge: 0, Value: false})
	require.False(t, m.Committed())
	require.Equal(t, sm.BadRequest, m.Reason())
}

func TestDefaultReasons(t *testing.T) {
	for _, c := range []struct {
		setup string
		kind  ctx.Kind
		want  spec.Reason
	}{
		{"start:1", ctx.Denied, sm.BadRequest},
		{"start:1", ctx.Cancel, sm.UserCancel},
		{"start:1", ctx.Abort, sm.ShutdownCancel},
		{"start:1", ctx.Tick, sm.AdmissionDeadlineSlot},
		{"start:1 grant", ctx.Cancel, sm.UserCancel},
		{"start:1 grant", ctx.Abort, sm.ShutdownCancel},
		{"start:1 grant ask:0", ctx.Ended, sm.WriteFailed},
	} {
		m, _, err := play(t, c.setup).m.Step(ctx.Input{Kind: c.kind, Now: 1000}, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, m.Reason(), c.setup)
	}
	m, _, err := play(t, "start:1").m.Step(ctx.Input{Kind: ctx.Tick, Now: 1000, Reason: sm.AdmissionDeadlineBlock}, nil)
	require.NoError(t, err)
	require.Equal(t, sm.AdmissionDeadlineBlock, m.Reason())
}

// TestCancelAtEveryPoint cancels at each point of a context of two edges; from the
// ready commit on it revokes nothing.
func TestCancelAtEveryPoint(t *testing.T) {
	spec.Covers(t, "KS-V1-10", "KS-V1-29")
	life := strings.Fields("grant ask:0 ask:1 wrote:0 wrote:1")
	for at := range life {
		s := play(t, "start:2")
		for _, w := range life[:at] {
			s.step(w)
		}
		s.step("cancel")
		syncs := 0
		for _, w := range life[at:] {
			if out := s.step(w); strings.Contains(out, "sync:") {
				syncs++
			}
		}
		require.Equal(t, ctx.Retired, s.m.State(), life[at])
		want := sm.Cancelled
		if at >= 3 {
			want = sm.Completed
			require.Equal(t, 5-at, syncs, "the write drains and its syncs are sent")
		}
		require.Equal(t, want, s.m.Disposition(), "before %s", life[at])
	}
	outcomes(t, `
		start:2 grant ask:0 ask:1 cancel | ended:0 ended:1 | RETIRED no-timer release(own-writes-final) failed(write-failed) drop
		start:2 grant ask:0 ask:1 cancel | due | UNPROVEN no-timer quarantine failed(request-deadline-write)
		start:3 grant ask:0 ask:2 | cancel | RETIRED ready:0=false ready:2=false no-timer release(not-started) cancelled(user-cancel) drop
	`)
}

// TestWritesAfterTheEnd: writes are carried through and their syncs sent, also
// after the deadline; the slot comes back after the last of them.
func TestWritesAfterTheEnd(t *testing.T) {
	spec.Covers(t, "KS-V1-27", "KS-V1-31", "KS-SLOT-6", "KS-SLOT-20", "KS-BACK-5")
	outcomes(t, `
		start:2 grant ask:0 ask:1 due wrote:1 | wrote:0 | RETIRED sync:0 prove(own-writes-final) drop
		start:2 grant ask:0 ask:1 due wrote:1 | ended:0 | RETIRED prove(own-writes-final) drop
		start:2 grant ask:0 ask:1 due | ended:0 | UNPROVEN
		start:2 grant ask:0 ask:1 due | lost:2 | UNPROVEN stop:1
		start:2 grant ask:0 ask:1 ended:0 | wrote:1 | RETIRED sync:1 no-timer release(own-writes-final) failed(write-failed) drop
		start:2 grant ask:0 ask:1 lost:1 ended:0 | wrote:1 | RETIRED sync:1 no-timer release(own-writes-final) failed(peer-lost) drop
		start:2 grant ask:0 ask:1 lost:3 wrote:0 | wrote:1 | RETIRED sync:1 no-timer release(own-writes-final) completed drop
		start:2 grant ask:0 ask:1 wrote:0 | wrote:0 | refused wrong-state KS-V1-11
		start:2 grant ask:0 ask:1 ended:0 | wrote:0 | refused wrong-state KS-V1-11
		start:2 grant ask:0 ask:1 abort | abort | DRAINING
		start:2 grant ask:0 ask:1 abort | due | UNPROVEN no-timer quarantine failed(pool-unhealthy)
		start:2 grant ask:0 ask:1 lost:1 | abort | DRAINING
		start:2 grant ask:0 ask:1 wrote:0 | lost:1 | IN_FLIGHT
		start:2 grant ask:0 ask:1 | lost:0xfc | IN_FLIGHT
	`)
}

// TestWaits: every wait ends at its deadline and not before, with a reason that
// names its setting.
func TestWaits(t *testing.T) {
	spec.Covers(t, "KS-TIME-1", "KS-TIME-2", "KS-TIME-3", "KS-TIME-4", "KS-TIME-6", "KS-TIME-11")
	for _, c := range []struct {
		setup  string
		at     sm.Time
		reason spec.Reason
	}{
		{"start:2", 1000, sm.AdmissionDeadlineSlot},
		{"start:2 +7 grant", 507, sm.ContextDeadline},
		{"start:2 +7 grant +9 ask:0", 116, sm.RequestDeadlineBind},
		{"start:2 +7 grant +9 ask:0 +9 ask:1", 116, sm.RequestDeadlineWrite},
		{"start:2 +7 grant +9 ask:0 +9 ask:1 wrote:1", 116, sm.RequestDeadlineWrite},
		{"start:2 +7 grant +9 ask:0 +9 ask:1 lost:1", 45, sm.PeerLost},
		{"start:2 +7 grant +9 ask:0 +9 ask:1 lost:1 +5 lost:2", 45, sm.PeerLost},
	} {
		s := play(t, c.setup)
		require.Equal(t, c.at, s.m.Deadline(), c.setup)
		s.now = c.at - 1
		before := s.m
		s.step("tick")
		require.Equal(t, before, s.m, "%s: one nanosecond early", c.setup)
		s.now = c.at
		s.step("tick")
		require.Equal(t, sm.Failed, s.m.Disposition(), c.setup)
		require.Equal(t, c.reason, s.m.Reason(), c.setup)
		require.Zero(t, s.m.Deadline(), c.setup)
	}
}

// TestDeadlineOverflow: near the end of time a deadline is late, never early.
func TestDeadlineOverflow(t *testing.T) {
	spec.Covers(t, "KS-TIME-1")
	s := play(t, "")
	s.now = math.MaxInt64 - 50
	end := int64(math.MaxInt64)
	require.Equal(t, fmt.Sprintf("WAITING admit timer:%d", end), s.step("start:1"))
	require.Equal(t, fmt.Sprintf("PUBLISHED timer:%d publish", end), s.step("grant"))
	require.Equal(t, fmt.Sprintf("IN_FLIGHT timer:%d begin ready:0=true write:0", end), s.step("ask:0"))
	require.Equal(t, fmt.Sprintf("DRAINING stop:0 timer:%d", end-30), s.step("lost:1"))
}

func TestStartChecks(t *testing.T) {
	spec.Covers(t, "KS-TIME-1", "KS-V1-12")
	good := ctx.Input{Kind: ctx.Start, Edges: 1, Settings: settings}
	for name, c := range map[string]struct {
		change func(*ctx.Input)
		reason spec.Reason
	}{
		"no edge":      {func(in *ctx.Input) { in.Edges = 0 }, sm.UnknownEdge},
		"65 edges":     {func(in *ctx.Input) { in.Edges = ctx.MaxEdges + 1 }, sm.UnknownEdge},
		"no admission": {func(in *ctx.Input) { in.Settings.Admission = 0 }, sm.BadRequest},
		"no context":   {func(in *ctx.Input) { in.Settings.Context = 0 }, sm.BadRequest},
		"no request":   {func(in *ctx.Input) { in.Settings.Request = -1 }, sm.BadRequest},
		"no control":   {func(in *ctx.Input) { in.Settings.Control = 0 }, sm.BadRequest},
	} {
		in := good
		c.change(&in)
		m, effects, err := ctx.Machine{}.Step(in, nil)
		require.ErrorIs(t, err, &sm.Refusal{Reason: c.reason}, name)
		require.Equal(t, ctx.Machine{}, m, name)
		require.Empty(t, effects, name)
	}
}

// TestMaxEdges runs a context of 64 edges to its end.
func TestMaxEdges(t *testing.T) {
	s := play(t, "start:64 grant")
	for e := range ctx.MaxEdges - 1 {
		s.step(fmt.Sprintf("ask:%d", e))
		require.Equal(t, ctx.Bound, s.m.State())
	}
	out := s.step("ask:63")
	require.Equal(t, 64, strings.Count(out, "=true"))
	require.Equal(t, 64, strings.Count(out, "write:"))
	require.Contains(t, s.step("wrote:64"), "unknown-edge")
	require.False(t, s.m.Bound(64))
	for e := range ctx.MaxEdges - 1 {
		s.step(fmt.Sprintf("wrote:%d", e))
	}
	require.Equal(t, "RETIRED sync:63 no-timer release(own-writes-final) completed drop", s.step("wrote:63"))
}
