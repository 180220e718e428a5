package statemachine_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

// The naive model of a writer: what one CTX rank could still do to the slot of one
// attempt. It shares no code with the machines.
type writerState uint8

const (
	idle      writerState = iota // has not answered
	refused                      // said ready=false, writes nothing
	committed                    // said ready=true: may write at any moment
	finished                     // the last write is over
)

type writer struct {
	proc  *process
	state writerState
	heard bool
}

// process is one incarnation of a CTX rank.
type process struct {
	rank        int
	dead        bool
	lost, quiet bool // reported to GEN
	tags        tag.Table
}

// attempt is one attempt of the world, with what the test knows of it.
type attempt struct {
	id       uint64
	m        gen.Machine
	timer    sm.Time
	writers  []writer
	bind     slot.Binding
	queued   bool
	told     bool // the slot was advertised
	sending  int  // edge whose request is being handed over; -1 none
	visible  bool // and it is in the network already
	copying  bool
	settled  int
	dropped  bool
	tagged   bool
	mood     int // of its writers: 3 mixed, 4 all refuse, else all are ready
	finished sm.Disposition
}

type wordKind uint8

const (
	request wordKind = iota
	ready
	sync
)

// word is one message between GEN and a CTX process. of is who really sent it,
// which the receiver must find out from the tag alone.
type word struct {
	kind  wordKind
	of    *attempt
	edge  int
	value bool
}

// writersWorld is GEN with one pool against naive writers.
type writersWorld struct {
	rt       *rapid.T
	now      sm.Time
	pool     *slot.Pool
	net      network[word]
	procs    []*process // present incarnations, by rank
	everyone []*process
	attempts []*attempt
	over     int // OverBudget signals
	rest     sm.Time
	most     int // attempts
}

var bounds = gen.Settings{Admission: 300, Request: 60, Control: 15}

func newWritersWorld(rt *rapid.T, rest sm.Time) *writersWorld {
	w := &writersWorld{rt: rt, rest: rest, most: rapid.IntRange(1, len(ids)).Draw(rt, "attempts")}
	var err error
	w.pool, err = slot.New(slot.Config{Slots: rapid.IntRange(2, 4).Draw(rt, "slots"), Bytes: 1, Budget: -1})
	require.NoError(rt, err)
	for rank := range rapid.IntRange(1, 3).Draw(rt, "ctx ranks") {
		w.procs = append(w.procs, &process{rank: rank})
	}
	w.everyone = slices.Clone(w.procs)
	return w
}

// mayWrite is the oracle: could anybody still write for this edge of the attempt?
func (w *writersWorld) mayWrite(a *attempt, edge int) bool {
	x := &a.writers[edge]
	switch {
	case x.proc.dead || x.state == refused || x.state == finished:
		return false
	case x.state == committed || x.heard || a.sending == edge:
		return true
	}
	return slices.ContainsFunc(w.net.packets, func(p packet[word]) bool {
		return p.message.kind == request && p.message.of == a && p.message.edge == edge
	})
}

// check is made after every event.
func (w *writersWorld) check() {
	c := w.pool.Counts()
	require.Equal(w.rt, c.Total, c.Free+c.Leased+c.Quarantined)
	require.Equal(w.rt, !w.pool.Healthy(), w.over == 1, "the budget is signalled once")
	for _, a := range w.attempts {
		require.LessOrEqual(w.rt, a.settled, 1)
		require.Equal(w.rt, a.m.Disposition() != sm.Open, a.settled == 1)
		require.Equal(w.rt, a.m.Deadline(), a.timer, "the last timer is the deadline")
		if !a.told {
			continue
		}
		state, generation, _ := w.pool.Look(a.bind.Slot)
		if generation == a.bind.Generation && state != slot.Free {
			continue // still this attempt's
		}
		for e := range a.writers {
			require.False(w.rt, w.mayWrite(a, e), "slot %d is %s in generation %d while edge %d of request %d (generation %d) may write",
				a.bind.Slot, state, generation, e, a.id, a.bind.Generation)
		}
	}
}

func (w *writersWorld) step(a *attempt, in gen.Input) {
	if a.dropped {
		return
	}
	in.Now = w.now
	m, effects, err := a.m.Step(in, nil)
	require.NoError(w.rt, err, "the world gives only inputs that the machine asked for")
	a.m = m
	for _, e := range effects {
		require.False(w.rt, a.dropped, "an effect after drop")
		w.do(a, e)
	}
}

func (w *writersWorld) slot(in slot.Input) {
	effects, err := w.pool.Step(in, nil)
	require.NoError(w.rt, err, "the pool refuses what the machine orders")
	for _, e := range effects {
		if e.Kind == slot.OverBudget {
			w.over++
		}
	}
}

func (w *writersWorld) do(a *attempt, e gen.Effect) {
	switch e.Kind {
	case gen.Admit:
		a.queued = true
	case gen.Withdraw:
		a.queued = false
	case gen.AdvertiseSlot:
		require.Equal(w.rt, a.bind, e.Binding)
		w.slot(slot.Input{Kind: slot.Advertise, Binding: e.Binding})
		a.told = true
	case gen.SendRequest:
		require.True(w.rt, a.told)
		a.sending, a.visible = int(e.Edge), rapid.Bool().Draw(w.rt, "visible early")
		if a.visible {
			w.net.send(w.now, word{kind: request, of: a, edge: a.sending})
		}
	case gen.BeginSlot:
		w.slot(slot.Input{Kind: slot.Begin, Binding: e.Binding})
	case gen.Scatter:
		a.copying = true
	case gen.ReleaseSlot:
		require.False(w.rt, a.copying, "freed under the scatter")
		w.slot(slot.Input{Kind: slot.Release, Binding: e.Binding, Proof: e.Proof})
	case gen.QuarantineSlot:
		w.slot(slot.Input{Kind: slot.Quarantine, Binding: e.Binding})
	case gen.ProveSlot:
		w.slot(slot.Input{Kind: slot.Prove, Binding: e.Binding, Proof: e.Proof})
	case gen.EndTag:
		for i := range a.writers {
			require.NoError(w.rt, a.writers[i].proc.tags.End(a.id, w.now+w.rest))
		}
		a.tagged = false
	case gen.Settle:
		a.settled++
		a.finished = e.Disposition
	case gen.Timer:
		a.timer = e.At
	case gen.Drop:
		a.dropped = true
	}
}

// TestWriters is the memory-safety property of GEN: against writers that may write
// at any time between ready=true and their sync or death, over a network that
// loses, repeats and reorders, no slot is free or leased again while somebody
// could still write for its old lease; and whatever happens everything ends.
func TestWriters(t *testing.T) {
	spec.Covers(t, "KS-SLOT-1", "KS-SLOT-3", "KS-SLOT-4", "KS-SLOT-5", "KS-SLOT-6", "KS-SLOT-19", "KS-SLOT-20", "KS-SLOT-27", "KS-TAG-3",
		"KS-TAG-4", "KS-V1-9", "KS-V1-12", "KS-V1-15", "KS-V1-40")
	ends := map[sm.Disposition]int{}
	proven := 0
	often(t, func(rt *rapid.T) {
		w := newWritersWorld(rt, lifetime)
		w.run(rapid.IntRange(20, 250).Draw(rt, "events"))
		for _, a := range w.attempts {
			ends[a.finished]++
		}
		w.settle()
		proven += w.prove()
	})
	t.Logf("outcomes %v (open: ended by the sweep); %d slots came back by the death of a writer", ends, proven)
	for d := sm.Completed; d <= sm.Failed; d++ {
		require.NotZero(t, ends[d], "the walk never ends %s", d)
	}
	require.NotZero(t, proven)
}
