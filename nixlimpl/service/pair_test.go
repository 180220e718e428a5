package service

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/shm"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/handover"
)

// geometry of the tests: 2 layers, K and V, 32 tokens per block, 8 KiB per block.
func testGeometry(t testing.TB) kv.Geometry {
	t.Helper()
	g, err := kv.Lookup("llama-3.1-8b")
	require.NoError(t, err)
	g, err = g.WithTokensPerBlock(32)
	require.NoError(t, err)
	g, err = g.Scaled(512)
	require.NoError(t, err)
	return g
}

func testConfig(t testing.TB, local negotiate.Local) Config {
	s := DefaultSettings()
	s.Admission, s.Context, s.Request, s.Control = 3*time.Second, 5*time.Second, 2*time.Second, 500*time.Millisecond
	return Config{
		Local: local, Geometry: testGeometry(t), KVBlocks: 2048, Slots: 4, SlotBytes: 1 << 20, Budget: -1, Chunk: 1 << 16,
		Settings: s, Workers: 2, Stamp: true, Verify: true,
		Open: func(name string, sink transport.Sink) (transport.Agent, error) {
			return shm.Open(shm.Config{Name: name}, sink)
		},
	}
}

// ends collects what CTX says of its contexts.
type ends struct {
	mu   sync.Mutex
	byID map[uint64]Outcome
}

func (e *ends) put(o Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byID == nil {
		e.byID = make(map[uint64]Outcome)
	}
	e.byID[o.RequestID] = o
}

func (e *ends) wait(t testing.TB, id uint64) Outcome {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		e.mu.Lock()
		o, ok := e.byID[id]
		e.mu.Unlock()
		if ok {
			return o
		}
		require.True(t, time.Now().Before(deadline), "CTX never ended request %d", id)
		time.Sleep(time.Millisecond)
	}
}

type pair struct {
	ctx  *CTX
	gen  *GEN
	ends *ends
}

func newPair(t testing.TB, c, g Config) *pair {
	t.Helper()
	p := &pair{ends: &ends{}}
	var err error
	p.ctx, err = NewCTX(c, p.ends.put)
	require.NoError(t, err)
	p.gen, err = NewGEN(g, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		// CTX first, as in a real shutdown; then GEN's last look at its slots.
		sc, err := p.ctx.Close()
		require.NoError(t, err)
		sg, err := p.gen.Close()
		require.NoError(t, err)
		require.Zero(t, sc.Canary+sg.Canary, "a free slot was written")
		require.Zero(t, sc.Counters["slot_refusals"]+sg.Counters["slot_refusals"])
	})
	return p
}

func ask(id uint64, tokens int, hashes ...uint64) handover.Handover {
	return handover.Handover{RequestID: id, KVSettle: handover.KVSettle{HashIDs: hashes, InputLength: uint64(tokens)}}
}

func (p *pair) context(t testing.TB, h handover.Handover) (handover.Handover, error) {
	t.Helper()
	type answer struct {
		h   handover.Handover
		err error
	}
	got := make(chan answer, 1)
	p.ctx.Context(h, func(h handover.Handover, err error) { got <- answer{h, err} })
	select {
	case a := <-got:
		return a.h, a.err
	case <-time.After(20 * time.Second):
		t.Fatal("CTX never answered the context request")
	}
	panic("unreachable")
}

func generation(t testing.TB, g *GEN, h handover.Handover) Outcome {
	t.Helper()
	got := make(chan Outcome, 1)
	g.Generation(h, func(o Outcome) { got <- o })
	select {
	case o := <-got:
		return o
	case <-time.After(20 * time.Second):
		t.Fatal("GEN never answered")
	}
	panic("unreachable")
}

func state(t testing.TB, f func(func(State))) State {
	t.Helper()
	got := make(chan State, 1)
	f(func(s State) { got <- s })
	select {
	case s := <-got:
		return s
	case <-time.After(10 * time.Second):
		t.Fatal("no snapshot")
	}
	panic("unreachable")
}

// run plays the router for one request.
func (p *pair) run(t testing.TB, h handover.Handover) Outcome {
	t.Helper()
	made, err := p.context(t, h)
	require.NoError(t, err)
	return generation(t, p.gen, made)
}

// allFree waits until every slot of both sides is free.
func (p *pair) allFree(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		c, g := state(t, p.ctx.State), state(t, p.gen.State)
		if c.Slots.Free == c.Slots.Total && g.Slots.Free == g.Slots.Total && c.Open == 0 && g.Open == 0 {
			return
		}
		require.True(t, time.Now().Before(deadline), "slots: %s", fmt.Sprint(c.Slots, g.Slots, c.Open, g.Open))
	}
}
