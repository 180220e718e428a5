package service

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/shm"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/handover"
	"github.com/kvsettle/kvsettle/wire/native"
)

// rogue is a bare agent that says whatever a test wants.
type rogue struct {
	transport.Agent
	got    chan native.Notification
	region transport.Region
	name   string
}

func newRogue(t *testing.T, local negotiate.Local, remote bool) *rogue {
	t.Helper()
	r := &rogue{got: make(chan native.Notification, 64)}
	name, _, err := describe(NewBase(), local)
	require.NoError(t, err)
	r.name = name
	a, err := shm.Open(shm.Config{Name: name}, func(ev transport.Event) {
		if ev.Kind == transport.Notice {
			if n, err := native.DecodeNotification(ev.Payload); err == nil {
				r.got <- n
			}
		}
	})
	require.NoError(t, err)
	r.Agent = a
	r.region, err = a.Register(1<<20, remote)
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return r
}

func (r *rogue) state(t *testing.T) native.DataTransceiverState {
	return native.DataTransceiverState{
		Comm:  &native.CommState{Kind: native.CommAgent, Agents: []native.AgentState{{Name: r.name, ConnInfo: r.Address()}}},
		Cache: cacheState(testGeometry(t)),
	}
}

func (r *rogue) next(t *testing.T) native.Notification {
	t.Helper()
	select {
	case n := <-r.got:
		return n
	case <-time.After(5 * time.Second):
		t.Fatal("nothing arrived")
	}
	panic("unreachable")
}

// CTX meets every malformed or lying request, refuses each with its reason, moves
// nothing, and serves the next honest request.
func TestCTXRefusesBadRequests(t *testing.T) {
	p := newPair(t, testConfig(t, negotiate.On), testConfig(t, negotiate.On))
	r := newRogue(t, negotiate.On, true)
	require.NoError(t, r.AddPeer(p.ctx.Name(), p.ctx.Address(), nil))
	id := uint64(100)
	good := func() native.RequestAndBufferInfo {
		return native.RequestAndBufferInfo{AgentName: r.name, Address: r.Address(),
			Info: native.RequestInfo{RequestID: id, IndexFromEnd: 3, State: r.state(t),
				LastBlockKey: lastKey(testGeometry(t), []uint64{1}, 100, 3)},
			Buffers: []native.MemoryDesc{{Addr: r.region.Addr, Len: 1 << 20}}, Kinds: []native.BufferKind{native.KV}}
	}
	cases := []struct {
		name   string
		reason spec.Reason
		spoil  func(*native.RequestAndBufferInfo)
		silent bool
	}{
		{"wrong sender", "sender-mismatch", func(q *native.RequestAndBufferInfo) { q.AgentName = p.gen.Name() }, true},
		{"sender not in its own state", "sender-mismatch", func(q *native.RequestAndBufferInfo) { q.Info.State.Comm.Agents[0].Name = "x" }, false},
		{"another address", "sender-mismatch", func(q *native.RequestAndBufferInfo) { q.Address = "elsewhere" }, false},
		{"no buffer", "bad-request", func(q *native.RequestAndBufferInfo) { q.Buffers, q.Kinds = nil, nil }, false},
		{"a kind twice", "bad-request", func(q *native.RequestAndBufferInfo) {
			q.Buffers = append(q.Buffers, q.Buffers[0])
			q.Kinds = append(q.Kinds, native.KV)
		}, false},
		{"more buffers than kinds", "bad-request", func(q *native.RequestAndBufferInfo) { q.Buffers = append(q.Buffers, q.Buffers[0]) }, false},
		{"a kind nobody configured", "unknown-buffer-kind", func(q *native.RequestAndBufferInfo) { q.Kinds[0] = native.RNN }, false},
		{"address below the region", "outside-region", func(q *native.RequestAndBufferInfo) { q.Buffers[0].Addr -= 4096 }, false},
		{"beyond the region", "outside-region", func(q *native.RequestAndBufferInfo) { q.Buffers[0].Addr += 4096 }, false},
		{"range that wraps", "bad-request", func(q *native.RequestAndBufferInfo) { q.Buffers[0].Addr = ^uint64(0) - 10 }, false},
		{"another device", "outside-region", func(q *native.RequestAndBufferInfo) { q.Buffers[0].Device = 3 }, false},
		{"too small", "buffer-too-small", func(q *native.RequestAndBufferInfo) { q.Buffers[0].Len = 100 }, false},
		{"more blocks than there are", "tail-mismatch", func(q *native.RequestAndBufferInfo) { q.Info.IndexFromEnd = 99 }, false},
		{"another key", "tail-mismatch", func(q *native.RequestAndBufferInfo) { q.Info.LastBlockKey.Tokens[0].ID++ }, false},
		{"another layout", "layout-mismatch", func(q *native.RequestAndBufferInfo) { q.Info.State.Cache.SizePerHead *= 2 }, false},
		{"two ranks", "unsupported-ranks", func(q *native.RequestAndBufferInfo) {
			q.Info.State.Comm.Agents = append(q.Info.State.Comm.Agents, native.AgentState{Name: "y", ConnInfo: "z"})
		}, false},
		{"an id nobody published", sm.UnknownContext, func(q *native.RequestAndBufferInfo) { q.Info.RequestID = 1 << 40 }, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			id++
			_, err := p.context(t, ask(id, 100, 1))
			require.NoError(t, err)
			before := state(t, p.ctx.State)
			q := good()
			c.spoil(&q)
			msg, err := native.AppendRequest(nil, q)
			require.NoError(t, err)
			require.NoError(t, r.Notify(p.ctx.Name(), msg))
			if !c.silent {
				n := r.next(t)
				require.Equal(t, native.KindReady, n.Kind)
				require.False(t, n.Ready.Ready)
				require.Equal(t, native.DataTag(q.Info.RequestID), n.Ready.Tag)
			}
			require.Eventually(t, func() bool {
				k := "refused_" + string(c.reason)
				return state(t, p.ctx.State).Counters[k] == before.Counters[k]+1
			}, 5*time.Second, time.Millisecond, "%v", state(t, p.ctx.State).Counters)
			require.Equal(t, before.Bytes, state(t, p.ctx.State).Bytes, "payload moved")
			p.ctx.Cancel(id, "router-release")
			p.ends.wait(t, id)
		})
	}
	for _, garbage := range [][]byte{{}, {1}, []byte("hello, this is no notification"), make([]byte, 70000)} {
		require.NoError(t, r.Notify(p.ctx.Name(), garbage))
	}
	sync, err := native.AppendSync(nil, native.Sync{AgentName: p.ctx.Name(), Tag: 43})
	require.NoError(t, err)
	require.NoError(t, r.Notify(p.ctx.Name(), sync))
	require.Eventually(t, func() bool {
		c := state(t, p.ctx.State).Counters
		return c["refused_malformed-notification"]+c["refused_unexpected-notification"] == 5
	}, 5*time.Second, time.Millisecond)
	o := p.run(t, ask(9000, 1000, 4, 5))
	require.Equal(t, sm.Completed, o.Disposition, "the next honest request: %s", o.Message)
	p.allFree(t)
	spec.Covers(t, "KS-V1-13", "KS-V1-14", "KS-V1-16", "KS-V1-32", "KS-V1-34")
}

// fakeContext is a context result that names the rogue as CTX.
func (r *rogue) fakeContext(t *testing.T, id uint64, tokens int, hashes ...uint64) handover.Handover {
	raw, err := native.AppendState(nil, native.Mid2026, r.state(t))
	require.NoError(t, err)
	h := ask(id, tokens, hashes...)
	text := handover.EncodeState(raw)
	h.DisaggregatedParams = handover.DisaggregatedParams{CtxRequestID: &id, EncodedOpaqueState: &text}
	return h
}

// A CTX that says nothing, or nonsense, costs a request its deadline and a slot its
// freedom, and no more.
func TestGENAgainstSilentCTX(t *testing.T) {
	g := testConfig(t, negotiate.On)
	g.Settings.Request = 300 * time.Millisecond
	gen, err := NewGEN(g, nil)
	require.NoError(t, err)
	r := newRogue(t, negotiate.On, false)
	done := make(chan Outcome, 1)
	gen.Generation(r.fakeContext(t, 7, 100, 1), func(o Outcome) { done <- o })
	req := r.next(t).Request
	require.Equal(t, uint64(7), req.Info.RequestID)
	say := func(msg []byte, err error) {
		require.NoError(t, err)
		require.NoError(t, r.Notify(gen.Name(), msg))
	}
	// Stray signals: another tag, another addressee, a fixed tag of old, garbage.
	say(native.AppendReady(nil, native.Ready{AgentName: gen.Name(), Tag: native.DataTag(8), Ready: true}))
	say(native.AppendReady(nil, native.Ready{AgentName: "somebody", Tag: native.DataTag(7), Ready: true}))
	say(native.AppendSync(nil, native.Sync{AgentName: gen.Name(), Tag: 19}))
	say([]byte{9, 9}, nil)
	var o Outcome
	select {
	case o = <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("GEN hangs on a silent CTX")
	}
	require.Equal(t, sm.Failed, o.Disposition)
	require.Equal(t, sm.RequestDeadlineReady, o.Reason)
	require.Contains(t, o.Message, "request-deadline")
	require.Contains(t, o.Message, "--deadline")
	s := state(t, gen.State)
	require.Equal(t, 1, s.Slots.Quarantined)
	require.Zero(t, s.Slots.Leased)
	// The late sync of exactly this attempt is the proof that its write ended.
	say(native.AppendSync(nil, native.Sync{AgentName: gen.Name(), Tag: native.DataTag(7)}))
	require.Eventually(t, func() bool { return state(t, gen.State).Slots.Free == g.Slots }, 5*time.Second, time.Millisecond)

	// Constant-42 ready of a legacy peer: means the only one outstanding.
	gen.Generation(r.fakeContext(t, 9, 100, 2), func(o Outcome) { done <- o })
	require.Equal(t, uint64(9), r.next(t).Request.Info.RequestID)
	say(native.AppendReady(nil, native.Ready{AgentName: gen.Name(), Tag: native.ReadyTag42}))
	require.Equal(t, sm.Rejected, (<-done).Disposition)
	last, err := gen.Close()
	require.NoError(t, err)
	require.Zero(t, last.Canary)
	spec.Covers(t, "KS-TIME-1", "KS-TIME-2", "KS-TAG-4", "KS-SLOT-4", "KS-SLOT-6", "KS-V1-40")
}

// Two attempts of one pair whose ids agree modulo 4096 are never open together.
func TestTagRule(t *testing.T) {
	g := testConfig(t, negotiate.On)
	g.Settings.Request, g.Settings.Control = 200*time.Millisecond, 100*time.Millisecond
	g.Settings.Admission = 500 * time.Millisecond
	gen, err := NewGEN(g, nil)
	require.NoError(t, err)
	defer func() { _, _ = gen.Close() }()
	r := newRogue(t, negotiate.On, false)
	done := make(chan Outcome, 2)
	gen.Generation(r.fakeContext(t, 5, 100, 1), func(o Outcome) { done <- o })
	r.next(t)
	gen.Generation(r.fakeContext(t, 5+4096, 100, 2), func(o Outcome) { done <- o })
	first, second := <-done, <-done
	require.Equal(t, sm.RequestDeadlineReady, first.Reason)
	require.Equal(t, sm.AdmissionDeadlineTag, second.Reason, "admitted beside a quarantined attempt with its tag")
	require.Contains(t, second.Message, "admission-deadline")
	select {
	case n := <-r.got:
		t.Fatalf("a second request was sent: %v", n.Request.Info.RequestID)
	default:
	}
	spec.Covers(t, "KS-TAG-3", "KS-TIME-3")
}
