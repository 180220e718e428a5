package gen_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
)

// TestReadiness plays every combination of answers of 2 and 3 counterparts in
// every order, and in all three places: during the fan-out, after it, and mixed
// with the syncs of the ready ones. Only the multiset of answers may decide.
func TestReadiness(t *testing.T) {
	spec.Covers(t, "KS-V1-4", "KS-V1-5", "KS-V1-6", "KS-V1-20", "KS-SLOT-20")
	for _, edges := range []int{2, 3} {
		for mask := range 1 << edges {
			for order := range permutations(edges) {
				var words []string
				for _, e := range order {
					words = append(words, fmt.Sprintf("%s:%d", map[bool]string{true: "yes", false: "no"}[mask>>e&1 == 1], e))
				}
				sent := "start:" + fmt.Sprint(edges) + " grant"
				for e := range edges {
					sent += fmt.Sprintf(" pub:%d", e)
				}
				s := play(t, sent)
				s.all(strings.Join(words, " "))
				name := fmt.Sprintf("%d edges, answers %b, order %v", edges, mask, order)
				switch mask {
				case 0:
					require.Equal(t, gen.Retired, s.m.State(), name)
					require.Equal(t, sm.Rejected, s.m.Disposition(), name)
					require.Equal(t, sm.PeerRejected, s.m.Reason(), name)
				case 1<<edges - 1:
					require.Equal(t, gen.InFlight, s.m.State(), name)
				default:
					// Mixed: failed with the first contradiction; then the rest and the late syncs of
					// the ready edges prove the slot.
					require.Equal(t, sm.Failed, s.m.Disposition(), name)
					require.Equal(t, sm.MixedReadiness, s.m.Reason(), name)
					require.Equal(t, gen.Unproven, s.m.State(), name)
					last := ""
					for e := range edges {
						if mask>>e&1 == 1 {
							require.Equal(t, gen.Unproven, s.m.State(), name)
							last = s.step(fmt.Sprintf("sync:%d", e))
						}
					}
					require.Equal(t, "RETIRED prove(settled) end-tag drop", last, name)
				}
				// The same answers before the fan-out has ended: all but the last edge's answer can
				// come before the last request is sent, and change nothing yet.
				early := play(t, "start:"+fmt.Sprint(edges)+" grant")
				for e := range edges {
					early.step(fmt.Sprintf("%s:%d", map[bool]string{true: "yes", false: "no"}[mask>>e&1 == 1], e))
					require.Equal(t, gen.Publishing, early.m.State(), name)
					early.step(fmt.Sprintf("pub:%d", e))
				}
				require.Equal(t, s.m.Disposition(), early.m.Disposition(), name)
				require.Equal(t, s.m.Reason(), early.m.Reason(), name)
			}
		}
	}
}

func permutations(n int) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		p := make([]int, n)
		for i := range p {
			p[i] = i
		}
		var rec func(k int) bool
		rec = func(k int) bool {
			if k == n {
				return yield(p)
			}
			for i := k; i < n; i++ {
				p[k], p[i] = p[i], p[k]
				if !rec(k + 1) {
					return false
				}
				p[k], p[i] = p[i], p[k]
			}
			return true
		}
		rec(0)
	}
}

// TestSyncStandsForReady: syncs alone, in any order, complete the attempt.
func TestSyncStandsForReady(t *testing.T) {
	spec.Covers(t, "KS-V1-20", "KS-V1-21")
	outcomes(t, `
		start:2 grant pub:0 pub:1 | sync:1 | REQUEST_SENT
		start:2 grant pub:0 pub:1 sync:1 | sync:0 | SCATTERING begin scatter
		start:2 grant pub:0 pub:1 sync:1 | yes:0 | IN_FLIGHT begin
		start:2 grant pub:0 pub:1 sync:1 yes:0 | sync:0 | SCATTERING scatter
		start:2 grant pub:0 pub:1 sync:1 yes:0 | yes:1 | IN_FLIGHT stray(duplicate-id)
		start:2 grant sync:0 pub:0 sync:1 | pub:1 | SCATTERING begin scatter
		start:2 grant pub:0 pub:1 sync:0 sync:1 | good | RETIRED no-timer release(written) end-tag completed drop
	`)
}

// TestCancelAtEveryPoint walks the whole life of an attempt of two edges and
// cancels at each point, in baseline and in enabled mode. Then the rest of the
// script is played.
func TestCancelAtEveryPoint(t *testing.T) {
	spec.Covers(t, "KS-V1-8", "KS-V1-9", "KS-V1-17", "KS-V1-18")
	life := strings.Fields("grant pub:0 pub:1 yes:0 yes:1 sync:0 sync:1 good")
	for at := range life {
		for _, flags := range []string{"", "e"} {
			s := play(t, "start:2:"+flags)
			for _, w := range life[:at] {
				s.step(w)
			}
			s.step("cancel")
			requests := 0
			for _, w := range life[at:] {
				if out := s.step(w); strings.Contains(out, "request:") {
					requests++
				}
			}
			name := fmt.Sprintf("%q before %s", flags, life[at])
			require.Equal(t, gen.Retired, s.m.State(), name)
			switch {
			case at == 0:
				require.Equal(t, sm.Cancelled, s.m.Disposition(), name)
				require.Zero(t, requests, "nobody is told of a request that was cancelled in the queue")
			case flags == "e":
				require.Equal(t, sm.Cancelled, s.m.Disposition(), name)
				require.Equal(t, sm.UserCancel, s.m.Reason(), name)
			default:
				require.Equal(t, sm.Completed, s.m.Disposition(), name)
			}
		}
	}
	outcomes(t, `
		start:2:e grant cancel | pub:0 | PUBLISHING request:1
		start:2:e grant cancel pub:0 | pub:1 | CANCEL_PENDING
		start:2 grant cancel pub:0 | pub:1 | REQUEST_SENT
		start:2:e grant pub:0 pub:1 cancel | no:0 no:1 | RETIRED no-timer release(not-started) end-tag cancelled(user-cancel) drop
		start:2:e grant pub:0 pub:1 cancel yes:0 yes:1 sync:0 | sync:1 | RETIRED no-timer release(written) end-tag cancelled(user-cancel) drop
		start:2:e grant pub:0 pub:1 cancel no:0 yes:1 | due | UNPROVEN no-timer quarantine cancelled(user-cancel)
		start:2 grant pub:0 pub:1 cancel no:0 | no:1 | RETIRED no-timer release(not-started) end-tag cancelled(user-cancel) drop
		start:2 grant pub:0 pub:1 cancel no:0 | yes:1 | REQUEST_SENT
		start:2 grant pub:0 pub:1 cancel | due | UNPROVEN no-timer quarantine cancelled(user-cancel)
		start:2:e grant cancel pub:0 | err:1 | UNPROVEN no-timer quarantine cancelled(user-cancel)
	`)
}

func TestPublishFailure(t *testing.T) {
	spec.Covers(t, "KS-V1-18", "KS-V1-19", "KS-SLOT-18")
	outcomes(t, `
		start:2 grant | err:0 | PUBLISHING request:1
		start:2 grant err:0 | pub:1 | UNPROVEN no-timer quarantine failed(publish-failed)
		start:2 grant err:0 | err:1 | RETIRED no-timer release(never-advertised) end-tag failed(publish-failed) drop
		start:2 grant err:0 | doubt:1 | UNPROVEN no-timer quarantine failed(publish-failed)
		start:2 grant pub:0 | err:1 | UNPROVEN no-timer quarantine failed(publish-failed)
		start:2 grant pub:0 err:1 | no:0 | RETIRED prove(not-started) end-tag drop
		start:2 grant pub:0 err:1 | no:1 | UNPROVEN stray(unknown-edge)
		start:2 grant pub:0 doubt:1 no:0 | no:1 | RETIRED prove(not-started) end-tag drop
		start:2 grant pub:0 no:0 | err:1 | RETIRED no-timer release(not-started) end-tag failed(publish-failed) drop
		start:1 grant | err:0 | RETIRED no-timer release(never-advertised) end-tag failed(publish-failed) drop
		start:1 grant yes:0 | err:0 | UNPROVEN no-timer quarantine failed(publish-failed)
		start:1 grant no:0 | err:0 | RETIRED no-timer release(not-started) end-tag failed(publish-failed) drop
		start:3 grant err:0 doubt:1 | pub:2 | UNPROVEN no-timer quarantine failed(publish-failed)
		start:2 grant due | err:0 | RETIRED prove(settled) end-tag drop
		start:2 grant abort pub:0 | pub:1 | UNPROVEN no-timer quarantine failed(pool-unhealthy)
		start:2 grant abort no:0 pub:0 no:1 | pub:1 | RETIRED no-timer release(not-started) end-tag failed(pool-unhealthy) drop
		start:2 grant no:0 | due | RETIRED no-timer release(not-started) end-tag failed(request-deadline-completion) drop
	`)
}

// TestConflict: an edge that says both proves nothing, in whatever order it does.
func TestConflict(t *testing.T) {
	spec.Covers(t, "KS-V1-24")
	outcomes(t, `
		start:2 grant pub:0 pub:1 no:0 yes:0 | no:1 | UNPROVEN
		start:2 grant pub:0 pub:1 no:0 yes:0 no:1 | sync:0 | UNPROVEN stray(conflicting-ready)
		start:2 grant pub:0 pub:1 no:0 yes:0 no:1 | quiet:1 | RETIRED prove(settled) end-tag drop
		start:2 grant pub:0 pub:1 no:0 yes:0 | quiet:3 | RETIRED prove(writer-dead) end-tag drop
		start:2 grant pub:0 no:0 | yes:0 | PUBLISHING stray(conflicting-ready)
		start:2 grant pub:0 no:0 yes:0 | pub:1 | UNPROVEN no-timer quarantine failed(conflicting-ready)
		start:2 grant pub:0 pub:1 sync:0 | no:0 | UNPROVEN stray(conflicting-ready) no-timer quarantine failed(conflicting-ready)
		start:2 grant pub:0 pub:1 sync:0 sync:1 no:0 | good | UNPROVEN quarantine
		start:2 grant pub:0 pub:1 sync:0 sync:1 no:0 good | quiet:1 | RETIRED prove(settled) end-tag drop
		start:2:e grant pub:0 pub:1 no:0 cancel | yes:0 | UNPROVEN stray(conflicting-ready) no-timer quarantine cancelled(user-cancel)
		start:2 grant pub:0 pub:1 due no:0 sync:0 no:1 | tick | UNPROVEN
		start:2 grant pub:0 pub:1 lost:1 no:0 | sync:0 | UNPROVEN stray(conflicting-ready) no-timer quarantine failed(peer-lost)
	`)
}

func TestExpectReject(t *testing.T) {
	spec.Covers(t, "KS-V1-42", "KS-V1-44")
	outcomes(t, `
		start:2:ex | grant | PUBLISHING advertise timer:100 request:0
		start:2:ex grant pub:0 pub:1 no:0 | no:1 | RETIRED no-timer release(not-started) end-tag rejected(peer-rejected) drop
		start:2:ex grant pub:0 pub:1 | yes:0 | UNPROVEN no-timer quarantine failed(unexpected-ready)
		start:2:x grant pub:0 pub:1 no:0 | sync:1 | RETIRED no-timer release(settled) end-tag failed(unexpected-ready) drop
		start:2:x grant yes:0 | pub:0 | PUBLISHING request:1
		start:2:x grant yes:0 pub:0 | pub:1 | UNPROVEN no-timer quarantine failed(unexpected-ready)
		start:2:x grant yes:0 pub:0 pub:1 no:1 | sync:0 | RETIRED prove(settled) end-tag drop
		start:2:ex grant pub:0 pub:1 cancel | yes:0 | CANCEL_PENDING
		start:2:x grant pub:0 pub:1 cancel | yes:0 | UNPROVEN no-timer quarantine cancelled(user-cancel)
	`)
}

func TestPeers(t *testing.T) {
	spec.Covers(t, "KS-V1-25", "KS-SLOT-6", "KS-SLOT-19", "KS-SLOT-20", "KS-BACK-9")
	outcomes(t, `
		start:2 grant pub:0 pub:1 sync:0 | lost:1 | REQUEST_SENT
		start:2 grant pub:0 pub:1 | +90 lost:1 | DRAINING timer:110
		start:2 grant pub:0 pub:1 lost:1 | lost:2 | DRAINING
		start:2 grant pub:0 pub:1 lost:1 +5 | due | UNPROVEN no-timer quarantine failed(peer-lost)
		start:2 grant pub:0 pub:1 lost:1 due | lost:3 | UNPROVEN
		start:2 grant pub:0 pub:1 lost:3 due | quiet:3 | RETIRED prove(writer-dead) end-tag drop
		start:2 grant pub:0 pub:1 yes:0 yes:1 sync:0 lost:2 | sync:1 | RETIRED no-timer release(written) end-tag failed(peer-lost) drop
		start:2 grant lost:2 pub:0 | pub:1 | DRAINING timer:20
		start:2 grant quiet:2 pub:0 no:0 | pub:1 | RETIRED no-timer release(settled) end-tag failed(peer-lost) drop
		start:2 quiet:2 grant pub:0 | pub:1 | DRAINING timer:20
		start:2 quiet:3 grant pub:0 | pub:1 | RETIRED no-timer release(writer-dead) end-tag failed(peer-lost) drop
		start:2 quiet:2 | nothing | RETIRED withdraw no-timer completed drop
		start:2 grant pub:0 pub:1 | quiet:0xfffffffffffffff0 | REQUEST_SENT
		start:2 grant pub:0 pub:1 sync:0 sync:1 | lost:3 | SCATTERING
		start:2 grant pub:0 pub:1 sync:0 sync:1 quiet:3 | good | RETIRED no-timer release(writer-dead) end-tag completed drop
		start:3 grant pub:0 pub:1 pub:2 no:0 lost:2 sync:1 | quiet:4 | RETIRED no-timer release(settled) end-tag failed(peer-lost) drop
		start:3 grant pub:0 pub:1 pub:2 no:0 sync:1 | quiet:4 | RETIRED prove(settled) end-tag drop
	`)
}

// TestWaits: every wait ends at its deadline and not before, with a reason that
// names its setting.
func TestWaits(t *testing.T) {
	spec.Covers(t, "KS-TIME-1", "KS-TIME-2", "KS-TIME-3", "KS-TIME-4", "KS-TIME-11")
	for _, c := range []struct {
		setup  string
		at     sm.Time
		reason spec.Reason
	}{
		{"start:2", 1000, sm.AdmissionDeadlineSlot},
		{"start:2 +7 grant", 107, sm.RequestDeadlineReady},
		{"start:2 +7 grant +9 pub:0 pub:1", 107, sm.RequestDeadlineReady},
		{"start:2 +7 grant pub:0 pub:1 +9 yes:0", 107, sm.RequestDeadlineReady},
		{"start:2 +7 grant pub:0 pub:1 +9 yes:0 yes:1", 107, sm.RequestDeadlineData},
		{"start:2 +7 grant pub:0 pub:1 +9 yes:0 sync:1", 107, sm.RequestDeadlineData},
		{"start:2 +7 grant pub:0 pub:1 +9 sync:0 sync:1", 107, sm.RequestDeadlineLocal},
		{"start:2:e +7 grant pub:0 pub:1 +9 cancel", 107, sm.UserCancel},
		{"start:2 +7 grant pub:0 pub:1 +9 lost:1", 36, sm.PeerLost},
	} {
		s := play(t, c.setup)
		require.Equal(t, c.at, s.m.Deadline(), c.setup)
		s.now = c.at - 1
		before := s.m
		s.step("tick")
		require.Equal(t, before, s.m, "%s: one nanosecond early", c.setup)
		s.now = c.at
		s.step("tick")
		require.NotEqual(t, sm.Open, s.m.Disposition(), c.setup)
		require.Equal(t, c.reason, s.m.Reason(), c.setup)
		require.Zero(t, s.m.Deadline(), c.setup)
	}
	// What was waited for in the queue is the caller's to say.
	m, _, err := play(t, "start:2").m.Step(gen.Input{Kind: gen.Tick, Now: 1000, Reason: sm.AdmissionDeadlineTag}, nil)
	require.NoError(t, err)
	require.Equal(t, sm.AdmissionDeadlineTag, m.Reason())
}

// TestDeadlineOverflow: near the end of time a deadline is late, never early.
func TestDeadlineOverflow(t *testing.T) {
	spec.Covers(t, "KS-TIME-1")
	s := play(t, "")
	s.now = math.MaxInt64 - 50
	require.Equal(t, fmt.Sprintf("WAITING admit timer:%d", int64(math.MaxInt64)), s.step("start:1"))
	require.Equal(t, fmt.Sprintf("PUBLISHING advertise timer:%d request:0", int64(math.MaxInt64)), s.step("grant"))
	require.Equal(t, "REQUEST_SENT", s.step("pub:0"))
	require.Equal(t, fmt.Sprintf("DRAINING timer:%d", int64(math.MaxInt64-30)), s.step("lost:1"))
	require.Equal(t, "UNPROVEN no-timer quarantine failed(peer-lost)", s.step("due"))
}

func TestStartChecks(t *testing.T) {
	spec.Covers(t, "KS-TIME-1", "KS-V1-12")
	good := gen.Input{Kind: gen.Start, Edges: 1, Settings: settings}
	for name, c := range map[string]struct {
		change func(*gen.Input)
		reason spec.Reason
	}{
		"no edge":      {func(in *gen.Input) { in.Edges = 0 }, sm.UnknownEdge},
		"65 edges":     {func(in *gen.Input) { in.Edges = gen.MaxEdges + 1 }, sm.UnknownEdge},
		"no admission": {func(in *gen.Input) { in.Settings.Admission = 0 }, sm.BadRequest},
		"no request":   {func(in *gen.Input) { in.Settings.Request = -1 }, sm.BadRequest},
		"no control":   {func(in *gen.Input) { in.Settings.Control = 0 }, sm.BadRequest},
	} {
		in := good
		c.change(&in)
		m, effects, err := gen.Machine{}.Step(in, nil)
		require.ErrorIs(t, err, &sm.Refusal{Reason: c.reason}, name)
		require.Equal(t, gen.Machine{}, m, name)
		require.Empty(t, effects, name)
	}
}

// TestDefaultReasons: an ending without a reason still carries one.
func TestDefaultReasons(t *testing.T) {
	for _, c := range []struct {
		setup string
		kind  gen.Kind
		want  spec.Reason
	}{
		{"start:1", gen.RefusedLocally, sm.BadRequest},
		{"start:1", gen.Denied, sm.BadRequest},
		{"start:1", gen.Cancel, sm.UserCancel},
		{"start:1", gen.Abort, sm.ShutdownCancel},
		{"start:1", gen.Tick, sm.AdmissionDeadlineSlot},
		{"start:1 grant pub:0", gen.Abort, sm.ShutdownCancel},
	} {
		m, _, err := play(t, c.setup).m.Step(gen.Input{Kind: c.kind, Now: 1000}, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, m.Reason())
	}
	// During the fan-out an abort without a reason is kept as well.
	s := play(t, "start:1 grant")
	m, _, err := s.m.Step(gen.Input{Kind: gen.Abort}, nil)
	require.NoError(t, err)
	s.m = m
	require.Equal(t, "UNPROVEN no-timer quarantine failed(shutdown)", s.step("pub:0"))
}

// TestMaxEdges runs an attempt of 64 edges to its end.
func TestMaxEdges(t *testing.T) {
	s := play(t, "start:64:e grant")
	for e := range gen.MaxEdges {
		s.step(fmt.Sprintf("pub:%d", e))
	}
	require.Equal(t, gen.RequestSent, s.m.State())
	require.Equal(t, uint8(gen.MaxEdges), s.m.Edges())
	require.Equal(t, ^uint64(0), s.m.Awaited())
	require.Contains(t, s.step("sync:64"), "unknown-edge")
	for e := range gen.MaxEdges - 1 {
		s.step(fmt.Sprintf("yes:%d", e))
		require.Equal(t, gen.RequestSent, s.m.State())
	}
	require.Equal(t, "IN_FLIGHT begin", s.step("yes:63"))
	for e := range gen.MaxEdges - 1 {
		s.step(fmt.Sprintf("sync:%d", e))
	}
	require.Equal(t, uint64(1)<<63, s.m.Awaited())
	require.Equal(t, "SCATTERING scatter", s.step("sync:63"))
	asked, ready, refused, synced := s.m.Count()
	require.Equal(t, []int{64, 64, 0, 64}, []int{asked, ready, refused, synced})
	require.Equal(t, "RETIRED no-timer release(written) end-tag completed drop", s.step("good"))
}
