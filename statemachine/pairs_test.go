package statemachine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

// genRank and ctxRank are two services of one rank each; every GEN rank fetches
// from every CTX rank.
type genRank struct {
	index    int
	dead     bool
	pool     *slot.Pool
	tags     []tag.Table // by CTX rank
	gone     []bool      // CTX ranks that were reported lost
	attempts map[uint64]*pairAttempt
}

type ctxRank struct {
	index    int
	dead     bool
	pool     *slot.Pool
	ids      *registry.Registry
	contexts map[uint64]*pairContext
}

type pairAttempt struct {
	id      uint64
	at      *genRank
	m       gen.Machine
	timer   sm.Time
	bind    slot.Binding
	queued  bool
	refuse  bool // a peer was gone before it began
	sending int
	copying bool
	settled int
	dropped bool
}

type pairContext struct {
	id      uint64
	at      *ctxRank
	m       ctx.Machine
	timer   sm.Time
	bind    slot.Binding
	queued  bool
	shown   bool
	targets []slot.Binding // by GEN rank, from its request
	settled int
	dropped bool
}

// job is one posted write: it reads the context's staging slot and writes to the
// slot that the request named.
type job struct {
	c       *pairContext
	g       *genRank
	target  slot.Binding
	left    int // chunks
	stopped bool
}

// pairWord is one message. from and to are rank indices; of is the full id, which
// only a request carries.
type pairWord struct {
	kind     wordKind
	g, c     int
	of       uint64
	value    bool
	announce slot.Binding
}

type pairEvent struct {
	toGEN bool
	g, c  int
	kind  gen.Kind // PeerLost or PeerQuiet, for GEN
}

// pairsWorld is GEN and CTX machines against each other.
type pairsWorld struct {
	rt     *rapid.T
	now    sm.Time
	gens   []*genRank
	ctxs   []*ctxRank
	net    network[pairWord]
	jobs   []*job
	events []pairEvent
	// written counts, per request, GEN rank and CTX rank, the complete writes; begun the
	// started ones.
	written, begun map[[3]uint64]int
	faults         bool
	started        int
}

func newPairsWorld(rt *rapid.T) *pairsWorld {
	w := &pairsWorld{rt: rt, written: map[[3]uint64]int{}, begun: map[[3]uint64]int{}, faults: rapid.Bool().Draw(rt, "faults")}
	pool := func() *slot.Pool {
		p, err := slot.New(slot.Config{Slots: rapid.IntRange(2, 3).Draw(rt, "slots"), Bytes: 1, Budget: -1})
		require.NoError(rt, err)
		return p
	}
	nc := rapid.IntRange(1, 2).Draw(rt, "ctx ranks")
	for i := range rapid.IntRange(1, 2).Draw(rt, "gen ranks") {
		w.gens = append(w.gens, &genRank{index: i, pool: pool(), tags: make([]tag.Table, nc), gone: make([]bool, nc), attempts: map[uint64]*pairAttempt{}})
	}
	for i := range nc {
		ids, err := registry.New(16, 16, 0)
		require.NoError(rt, err)
		w.ctxs = append(w.ctxs, &ctxRank{index: i, pool: pool(), ids: ids, contexts: map[uint64]*pairContext{}})
	}
	return w
}

func (w *pairsWorld) slot(p *slot.Pool, in slot.Input) {
	_, err := p.Step(in, nil)
	require.NoError(w.rt, err, "the pool refuses what a machine orders")
}

func (w *pairsWorld) stepGEN(a *pairAttempt, in gen.Input) {
	if a.dropped || a.at.dead {
		return
	}
	in.Now = w.now
	m, effects, err := a.m.Step(in, nil)
	require.NoError(w.rt, err)
	a.m = m
	for _, e := range effects {
		require.False(w.rt, a.dropped, "an effect after drop")
		switch e.Kind {
		case gen.Admit:
			a.queued = true
		case gen.Withdraw:
			a.queued = false
		case gen.AdvertiseSlot:
			w.slot(a.at.pool, slot.Input{Kind: slot.Advertise, Binding: e.Binding})
		case gen.SendRequest:
			a.sending = int(e.Edge)
		case gen.BeginSlot:
			w.slot(a.at.pool, slot.Input{Kind: slot.Begin, Binding: e.Binding})
		case gen.Scatter:
			a.copying = true
			for c := range w.ctxs {
				require.Equal(w.rt, 1, w.written[w.key(a.id, a.at.index, c)], "scattered before the data was written")
			}
		case gen.ReleaseSlot:
			w.slot(a.at.pool, slot.Input{Kind: slot.Release, Binding: e.Binding, Proof: e.Proof})
		case gen.QuarantineSlot:
			w.slot(a.at.pool, slot.Input{Kind: slot.Quarantine, Binding: e.Binding})
		case gen.ProveSlot:
			w.slot(a.at.pool, slot.Input{Kind: slot.Prove, Binding: e.Binding, Proof: e.Proof})
		case gen.EndTag:
			for c := range a.at.tags {
				require.NoError(w.rt, a.at.tags[c].End(a.id, w.now+lifetime))
			}
		case gen.Settle:
			a.settled++
			require.Equal(w.rt, 1, a.settled)
		case gen.Timer:
			a.timer = e.At
		case gen.Drop:
			a.dropped = true
		}
	}
	require.Equal(w.rt, a.m.Disposition() != sm.Open, a.settled == 1)
}

func (w *pairsWorld) stepCTX(c *pairContext, in ctx.Input) {
	if c.dropped || c.at.dead {
		return
	}
	in.Now = w.now
	m, effects, err := c.m.Step(in, nil)
	require.NoError(w.rt, err)
	c.m = m
	for _, e := range effects {
		require.False(w.rt, c.dropped, "an effect after drop")
		g := int(e.Edge)
		switch e.Kind {
		case ctx.Admit:
			c.queued = true
		case ctx.Withdraw:
			c.queued = false
		case ctx.Publish:
			c.shown = true
		case ctx.BeginSlot:
			w.slot(c.at.pool, slot.Input{Kind: slot.Begin, Binding: e.Binding})
		case ctx.SendReady:
			w.net.send(w.now, pairWord{kind: ready, g: g, c: c.at.index, of: c.id, value: e.Value})
		case ctx.StartWrite:
			w.begun[w.key(c.id, g, c.at.index)]++
			w.jobs = append(w.jobs, &job{c: c, g: w.gens[g], target: c.targets[g], left: 1 + g})
		case ctx.StopWrite:
			for _, j := range w.jobs {
				if j.c == c && j.g.index == g {
					j.stopped = true
				}
			}
		case ctx.SendSync:
			w.net.send(w.now, pairWord{kind: sync, g: g, c: c.at.index, of: c.id})
		case ctx.ReleaseSlot, ctx.ProveSlot:
			for _, j := range w.jobs {
				require.NotSame(w.rt, c, j.c, "the source slot was freed under a write")
			}
			kind := slot.Release
			if e.Kind == ctx.ProveSlot {
				kind = slot.Prove
			}
			w.slot(c.at.pool, slot.Input{Kind: kind, Binding: e.Binding, Proof: e.Proof})
		case ctx.QuarantineSlot:
			w.slot(c.at.pool, slot.Input{Kind: slot.Quarantine, Binding: e.Binding})
		case ctx.Settle:
			c.settled++
			require.Equal(w.rt, 1, c.settled)
		case ctx.Timer:
			c.timer = e.At
		case ctx.Drop:
			c.dropped = true
			require.NoError(w.rt, c.at.ids.Close(c.id, c.m.Committed(), c.m.Reason(), w.now))
		}
	}
	require.Equal(w.rt, c.m.Disposition() != sm.Open, c.settled == 1)
}

func (w *pairsWorld) key(id uint64, g, c int) [3]uint64 { return [3]uint64{id, uint64(g), uint64(c)} }

// agree compares what both sides say of every request with what really happened.
func (w *pairsWorld) agree(seen map[string]int) {
	for _, g := range w.gens {
		for _, a := range g.attempts {
			if g.dead {
				continue
			}
			require.Equal(w.rt, 1, a.settled, "GEN %d request %d", g.index, a.id)
			seen["gen "+a.m.Disposition().String()]++
			for c := range w.ctxs {
				key := w.key(a.id, g.index, c)
				require.LessOrEqual(w.rt, w.begun[key], 1, "written once")
				switch {
				case a.m.Disposition() == sm.Completed:
					require.Equal(w.rt, 1, w.written[key], "completed without the data of CTX %d", c)
				case a.m.Disposition() == sm.Rejected:
					require.Zero(w.rt, w.begun[key], "rejected, but CTX %d wrote", c)
				}
			}
		}
	}
	for _, c := range w.ctxs {
		for _, x := range c.contexts {
			if c.dead {
				continue
			}
			require.Equal(w.rt, 1, x.settled, "CTX %d request %d", c.index, x.id)
			seen["ctx "+x.m.Disposition().String()]++
			for g := range w.gens {
				key := w.key(x.id, g, c.index)
				if x.m.Disposition() == sm.Completed {
					require.Equal(w.rt, 1, w.written[key])
				}
				if !x.m.Committed() {
					require.Zero(w.rt, w.begun[key], "written before the ready commit")
				}
			}
		}
	}
}

// TestPairs lets both machines talk over a network that loses, repeats and
// reorders, with cancels, deaths and slow or broken writes. Every write is checked
// when it happens: the slot that it goes to must still be the lease that was
// advertised, and the slot that it comes from must still be its context's.
func TestPairs(t *testing.T) {
	spec.Covers(t, "KS-SLOT-4", "KS-SLOT-6", "KS-SLOT-19", "KS-SLOT-20", "KS-SLOT-27", "KS-TAG-3", "KS-TAG-4", "KS-V1-3", "KS-V1-7", "KS-V1-11",
		"KS-V1-12", "KS-V1-21", "KS-V1-27", "KS-V1-28", "KS-V1-29", "KS-V1-31", "KS-V1-32", "KS-V1-40", "KS-BACK-5")
	seen := map[string]int{}
	often(t, func(rt *rapid.T) {
		w := newPairsWorld(rt)
		w.run(rapid.IntRange(20, 300).Draw(rt, "events"))
		w.settle()
		w.agree(seen)
		w.prove()
	})
	t.Log(seen)
	for _, side := range []string{"gen ", "ctx "} {
		for d := sm.Completed; d <= sm.Failed; d++ {
			require.NotZero(t, seen[side+d.String()], "the walk never ends %s%s", side, d)
		}
	}
}
