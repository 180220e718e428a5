package service

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/handover"
	"github.com/kvsettle/kvsettle/wire/native"
)

func TestTransferHitAndTail(t *testing.T) {
	p := newPair(t, testConfig(t, negotiate.On), testConfig(t, negotiate.On))
	first := p.run(t, ask(1, 1300, 7, 8, 9))
	require.Equal(t, sm.Completed, first.Disposition, first.Message)
	require.Equal(t, 41, first.Blocks) // ceil(1300/32)
	require.Zero(t, first.Corrupt)
	require.Positive(t, first.Latency)
	require.Equal(t, sm.Completed, p.ends.wait(t, 1).Disposition)

	again := p.run(t, ask(2, 1300, 7, 8, 9))
	require.Equal(t, sm.Completed, again.Disposition)
	require.True(t, again.FullHit)
	require.Zero(t, again.Bytes)
	p.ctx.Cancel(2, "router-release") // the router tells CTX that nobody will fetch
	require.Equal(t, sm.Cancelled, p.ends.wait(t, 2).Disposition)

	// Shares the two full prefix blocks; the partial third one has another length.
	tail := p.run(t, ask(3, 1400, 7, 8, 9))
	require.Equal(t, sm.Completed, tail.Disposition, tail.Message)
	require.Equal(t, 12, tail.Blocks) // ceil(1400/32) - 32
	require.Equal(t, 2, tail.Hits)
	require.Equal(t, 1, tail.Misses)
	p.allFree(t)
	spec.Covers(t, "KS-V1-4", "KS-V1-11", "KS-V1-12", "KS-V1-21", "KS-V1-26")
}

// The rollout table of the spec, live: what GEN is told, and that no byte moves in
// a refused cell.
func TestRolloutMatrixLive(t *testing.T) {
	locals := []negotiate.Local{negotiate.Legacy, negotiate.Off, negotiate.On}
	want := map[[2]negotiate.Local]struct {
		d sm.Disposition
		r spec.Reason
	}{
		{negotiate.Legacy, negotiate.On}:  {sm.Rejected, "peer-legacy"},
		{negotiate.Off, negotiate.On}:     {sm.Rejected, "peer-mode-mismatch"},
		{negotiate.On, negotiate.Off}:     {sm.Rejected, "peer-mode-mismatch"},
		{negotiate.On, negotiate.Legacy}:  {sm.Rejected, sm.PeerRejected},
		{negotiate.Legacy, negotiate.Off}: {d: sm.Completed}, {negotiate.Legacy, negotiate.Legacy}: {d: sm.Completed},
		{negotiate.Off, negotiate.Off}: {d: sm.Completed}, {negotiate.Off, negotiate.Legacy}: {d: sm.Completed},
		{negotiate.On, negotiate.On}: {d: sm.Completed},
	}
	for _, c := range locals {
		for _, g := range locals {
			t.Run("ctx-"+c.String()+"-gen-"+g.String(), func(t *testing.T) {
				p := newPair(t, testConfig(t, c), testConfig(t, g))
				o := p.run(t, ask(5, 600, 1, 2))
				w := want[[2]negotiate.Local{c, g}]
				require.Equal(t, w.d, o.Disposition, o.Message)
				require.Equal(t, w.r, o.Reason)
				if w.d == sm.Rejected {
					p.ctx.Cancel(5, "router-release")
				}
				end := p.ends.wait(t, 5)
				if w.d == sm.Rejected {
					require.Zero(t, end.Bytes, "payload moved in a refused cell")
					require.NotEqual(t, sm.Completed, end.Disposition)
				}
				p.allFree(t)
			})
		}
	}
	spec.Covers(t, "KS-V1-1", "KS-V1-2", "KS-V1-5", "KS-V1-37", "KS-V1-38", "KS-V1-39")
}

func TestLargerThanSlot(t *testing.T) {
	g := testConfig(t, negotiate.On)
	g.SlotBytes = 1 << 16
	p := newPair(t, testConfig(t, negotiate.On), g)
	o := p.run(t, ask(1, 2048, 1, 2, 3, 4))
	require.Equal(t, sm.Failed, o.Disposition)
	require.Equal(t, sm.SlotTooSmall, o.Reason)
	require.Contains(t, o.Message, "--slot-bytes")
	require.Zero(t, state(t, p.ctx.State).Counters["notices_received"], "something was advertised")
	p.ctx.Cancel(1, "router-release")
	small := p.run(t, ask(2, 100, 9))
	require.Equal(t, sm.Completed, small.Disposition, small.Message)
	spec.Covers(t, "KS-SLOT-9")
}

func TestBadHandover(t *testing.T) {
	p := newPair(t, testConfig(t, negotiate.On), testConfig(t, negotiate.On))
	good, err := p.context(t, ask(1, 100, 1))
	require.NoError(t, err)
	text := func(s string) func(*handover.Handover) {
		return func(h *handover.Handover) { h.DisaggregatedParams.EncodedOpaqueState = &s }
	}
	for name, spoil := range map[string]func(*handover.Handover){
		"no state":       func(h *handover.Handover) { h.DisaggregatedParams.EncodedOpaqueState = nil },
		"no base64":      text("%%%%"),
		"garbage state":  text(handover.EncodeState([]byte{1, 2, 3})),
		"another id":     func(h *handover.Handover) { h.RequestID = 77 },
		"no ctx id":      func(h *handover.Handover) { h.DisaggregatedParams.CtxRequestID = nil },
		"trailing bytes": func(h *handover.Handover) { s := state64(t, p, 1); h.DisaggregatedParams.EncodedOpaqueState = &s },
	} {
		t.Run(name, func(t *testing.T) {
			h := good
			spoil(&h)
			o := generation(t, p.gen, h)
			require.Equal(t, sm.Failed, o.Disposition)
			require.Equal(t, spec.Reason("bad-handover"), o.Reason)
			require.Contains(t, o.Message, "KS-")
		})
	}
	h := good
	h.KVSettle.HashIDs = []uint64{1, 2, 3}
	o := generation(t, p.gen, h)
	require.Equal(t, sm.Failed, o.Disposition)
	require.Equal(t, sm.Completed, generation(t, p.gen, good).Disposition, "the worker lives on")
}

// state64 is CTX's state with extra bytes behind it.
func state64(t *testing.T, p *pair, extra int) string {
	raw, err := native.AppendState(nil, native.Mid2026, p.ctx.state)
	require.NoError(t, err)
	return handover.EncodeState(append(raw, make([]byte, extra)...))
}

func TestDuplicateIDs(t *testing.T) {
	p := newPair(t, testConfig(t, negotiate.On), testConfig(t, negotiate.On))
	_, err := p.context(t, ask(4, 100, 1))
	require.NoError(t, err)
	_, err = p.context(t, ask(4, 100, 1))
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.DuplicateID})
	p.ctx.Cancel(4, sm.UserCancel)
	p.ends.wait(t, 4)
	_, err = p.context(t, ask(4, 100, 1))
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.DuplicateID}, "an ended id is never used again")
}

func TestCancelBeforeAndAfter(t *testing.T) {
	p := newPair(t, testConfig(t, negotiate.On), testConfig(t, negotiate.On))
	h, err := p.context(t, ask(1, 100, 1))
	require.NoError(t, err)
	p.ctx.Cancel(1, sm.UserCancel)
	require.Equal(t, sm.Cancelled, p.ends.wait(t, 1).Disposition)
	// GEN asks all the same; CTX's memory of the id answers.
	o := generation(t, p.gen, h)
	require.Equal(t, sm.Rejected, o.Disposition)
	p.gen.Cancel(999, sm.UserCancel)
	p.allFree(t)
	spec.Covers(t, "KS-V1-3", "KS-V1-8")
}

func TestUnreachablePeer(t *testing.T) {
	p := newPair(t, testConfig(t, negotiate.On), testConfig(t, negotiate.On))
	h, err := p.context(t, ask(1, 100, 1))
	require.NoError(t, err)
	s := p.ctx.state
	comm := *s.Comm
	comm.Agents = []native.AgentState{{Name: strings.Replace(p.ctx.Name(), "_", "x_", 1), ConnInfo: "shm:@kvsettle-nobody"}}
	s.Comm = &comm
	raw, err := native.AppendState(nil, native.Mid2026, s)
	require.NoError(t, err)
	text := handover.EncodeState(raw)
	h.DisaggregatedParams.EncodedOpaqueState = &text
	begin := time.Now()
	o := generation(t, p.gen, h)
	require.Equal(t, sm.Failed, o.Disposition)
	require.Equal(t, spec.Reason("peer-unreachable"), o.Reason)
	require.Less(t, time.Since(begin), 3*time.Second)
	known := make(chan int, 1)
	p.gen.loop.Post(func() { known <- len(p.gen.peers) })
	require.Zero(t, <-known, "a dead peer is remembered")
}
