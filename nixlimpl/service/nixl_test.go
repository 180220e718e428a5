package service

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/nixlimpl/internal/nixltest"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/nixlimpl/work"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/native"
)

func nixlConfig(t testing.TB, local negotiate.Local) Config {
	nixltest.Need(t)
	c := testConfig(t, local)
	c.Open = func(name string, sink transport.Sink) (transport.Agent, error) {
		return nixl.Open(nixl.Config{Name: name}, sink)
	}
	return c
}

// The same services over the real library: v1 in each mode, with first contact by
// the metadata in the request.
func TestNIXLPair(t *testing.T) {
	for _, local := range []negotiate.Local{negotiate.On, negotiate.Off, negotiate.Legacy} {
		t.Run(local.String(), func(t *testing.T) {
			p := newPair(t, nixlConfig(t, local), nixlConfig(t, local))
			for id := uint64(1); id <= 20; id++ {
				o := p.run(t, ask(id, 900, id*2, id*2+1))
				require.Equal(t, sm.Completed, o.Disposition, o.Message)
				require.Zero(t, o.Corrupt)
			}
			p.allFree(t)
		})
	}
}

// The first requests are lost on the way to CTX. GEN says its metadata in each
// until it hears an answer, so the one that arrives is enough.
func TestFirstContactSurvivesLostRequests(t *testing.T) {
	c, g := nixlConfig(t, negotiate.On), nixlConfig(t, negotiate.On)
	g.Settings.Request = 300 * time.Millisecond
	g.Slots, g.Budget = 8, 8
	open := c.Open
	told := make(chan bool, 16) // of each request: it brought metadata
	var lost atomic.Int32
	c.Open = func(name string, sink transport.Sink) (transport.Agent, error) {
		return open(name, func(ev transport.Event) {
			if ev.Kind == transport.Notice {
				n, err := native.DecodeNotification(ev.Payload)
				told <- err == nil && n.Request.HasMetadata && len(n.Request.Metadata) > 0
				if lost.Add(1) <= 2 {
					return
				}
			}
			sink(ev)
		})
	}
	p := newPair(t, c, g)
	for id := uint64(1); id <= 4; id++ {
		o := p.run(t, ask(id, 500, id))
		if id < 3 {
			require.Equal(t, sm.Failed, o.Disposition)
			require.Contains(t, o.Message, "request-deadline")
		} else {
			require.Equal(t, sm.Completed, o.Disposition, o.Message)
		}
		require.Equal(t, id < 4, <-told, "metadata in request %d", id)
	}
	spec.Covers(t, "KS-V1-23")
}

// A write outlasts its request over the real library, which is what NIXL does after
// a release. With the quarantine its slot is safe; with the quarantine switched off
// the slot is leased again, and the late bytes land in another request's memory.
func TestQuarantineOffCorrupts(t *testing.T) {
	for _, off := range []bool{false, true} {
		name := "quarantine on"
		if off {
			name = "quarantine off"
		}
		t.Run(name, func(t *testing.T) {
			struck := make(chan struct{}, 64)
			inj := fault.New(fault.Config{Faults: []fault.Spec{{Name: fault.LateWrite, Rate: 1}}, Seed: 1,
				Deadline: 400 * time.Millisecond, Struck: func(string) { struck <- struct{}{} }})
			c, g := nixlConfig(t, negotiate.On), nixlConfig(t, negotiate.On)
			c.Settings.Request, g.Settings.Request = 400*time.Millisecond, 400*time.Millisecond
			c.Slots, c.Budget = 8, 8
			g.Slots, g.Budget, g.unsafeReuse = 2, 2, off
			open := c.Open
			c.Open = func(name string, sink transport.Sink) (transport.Agent, error) { return open(name, inj.Sink(sink)) }
			c.Hooks.Poster = func(id uint64, total int, inner work.Poster) work.Poster {
				if id == 1 {
					return inj.Poster(id, total, inner)
				}
				return inner
			}
			ctx, err := NewCTX(c, nil)
			require.NoError(t, err)
			gen, err := NewGEN(g, nil)
			require.NoError(t, err)
			p := &pair{ctx: ctx, gen: gen}
			o := p.run(t, ask(1, 3000, 1, 2, 3, 4, 5, 6))
			require.Equal(t, sm.Failed, o.Disposition)
			require.Len(t, struck, 1)
			quarantined := state(t, gen.State).Slots.Quarantined
			// Until after the late write, the other slot, or both, serve other requests.
			bad := 0
			for id, until := uint64(2), time.Now().Add(400*time.Millisecond); time.Now().Before(until); id++ {
				o := p.run(t, ask(id, 3000, id*6, id*6+1, id*6+2, id*6+3, id*6+4, id*6+5))
				bad += o.Corrupt
			}
			inj.Close()
			if !off {
				require.Eventually(t, func() bool { return state(t, gen.State).Slots.Free == 2 }, 5*time.Second, 5*time.Millisecond,
					"the late sync is the proof")
			}
			_, err = ctx.Close()
			require.NoError(t, err)
			last, err := gen.Close()
			require.NoError(t, err)
			t.Logf("%d slots quarantined at the deadline, then %d blocks corrupt, %d free slots written", quarantined, bad, last.Canary)
			if off {
				require.Zero(t, quarantined)
				require.Positive(t, bad+last.Canary, "the late write hit nothing: this test shows nothing")
			} else {
				require.Equal(t, 1, quarantined)
				require.Zero(t, bad+last.Canary)
			}
		})
	}
}

// A stranger over the real library: garbage, another's name, broken and foreign
// metadata. Each is refused with its reason, and the honest peer is served.
func TestNIXLStranger(t *testing.T) {
	p := newPair(t, nixlConfig(t, negotiate.On), nixlConfig(t, negotiate.On))
	name, _, err := describe(NewBase(), negotiate.On)
	require.NoError(t, err)
	got := make(chan native.Notification, 16)
	r, err := nixl.Open(nixl.Config{Name: name}, func(ev transport.Event) {
		if n, err := native.DecodeNotification(ev.Payload); ev.Kind == transport.Notice && err == nil {
			got <- n
		}
	})
	require.NoError(t, err)
	defer r.Close()
	region, err := r.Register(1<<20, true)
	require.NoError(t, err)
	require.NoError(t, r.AddPeer(p.ctx.Name(), p.ctx.Address(), nil))
	good, err := r.Metadata()
	require.NoError(t, err)
	foreign, err := p.gen.agent.Metadata()
	require.NoError(t, err)
	say := func(as string, metadata []byte) {
		t.Helper()
		msg, err := native.AppendRequest(nil, native.RequestAndBufferInfo{AgentName: as, Address: r.Address(),
			Info: native.RequestInfo{RequestID: 77, State: native.DataTransceiverState{
				Comm:  &native.CommState{Kind: native.CommAgent, Agents: []native.AgentState{{Name: as, ConnInfo: r.Address()}}},
				Cache: cacheState(testGeometry(t))}},
			Buffers: []native.MemoryDesc{{Addr: region.Addr, Len: 1 << 20}}, Kinds: []native.BufferKind{native.KV},
			HasMetadata: len(metadata) > 0, Metadata: metadata})
		require.NoError(t, err)
		require.NoError(t, r.Notify(p.ctx.Name(), msg))
	}
	refused := func(reason string, n uint64) {
		t.Helper()
		require.Eventually(t, func() bool { return state(t, p.ctx.State).Counters["refused_"+reason] == n }, 10*time.Second, time.Millisecond, reason)
	}
	require.NoError(t, r.Notify(p.ctx.Name(), []byte("hello")))
	require.NoError(t, r.Notify(p.ctx.Name(), nil))
	refused("malformed-notification", 2)
	say(p.gen.Name(), good)
	refused("sender-mismatch", 1)
	say(name, good[:len(good)-1])
	say(name, foreign)
	say(name, []byte("garbage"))
	refused("bad-metadata", 2)
	refused("wrong-name", 1)
	// The same stranger with its true metadata is answered: that id was never published.
	say(name, good)
	select {
	case n := <-got:
		require.Equal(t, native.KindReady, n.Kind)
		require.False(t, n.Ready.Ready)
	case <-time.After(10 * time.Second):
		t.Fatal("no answer")
	}
	refused("unknown-context", 1)
	o := p.run(t, ask(9000, 1000, 4, 5))
	require.Equal(t, sm.Completed, o.Disposition, o.Message)
	p.allFree(t)
	spec.Covers(t, "KS-BACK-13", "KS-BACK-14", "KS-V1-34")
}
