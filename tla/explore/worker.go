package explore

import (
	"context"
	"sync/atomic"

	"github.com/kvsettle/kvsettle/statemachine/world"
)

// worker expands states. Everything in it is its own.
type worker[S comparable] struct {
	r     *runner[S]
	index int
	out   *world.Out[S]
	state S

	from  uint32
	depth int
	mine  []edgeTo // of the state that is being expanded
	key   []uint64
	twin  []uint64

	cur  *block
	next []*block
	log  edgeLog

	fired   [maxActions]int64
	settled int
	states  atomic.Int64
	edges   atomic.Int64
	level   atomic.Int64
}

type edgeTo struct {
	to     uint32
	action uint8
}

func newWorker[S comparable](r *runner[S], index int) *worker[S] {
	w := &worker[S]{r: r, index: index}
	w.out = world.NewOut(w.visit)
	return w
}

// print returns the fingerprint of s, or of the least of its twins, and leaves the
// key of s itself in w.key.
func (w *worker[S]) print(s *S) Print {
	w.key = w.r.codec.Append(w.key[:0], s)
	p := Hash(w.key)
	if w.r.opt.Symmetry && w.r.m.Twins != nil {
		w.r.m.Twins(s, func(t *S) {
			w.twin = w.r.codec.Append(w.twin[:0], t)
			if q := Hash(w.twin); q[0] < p[0] || q[0] == p[0] && q[1] < p[1] {
				p = q
			}
		})
	}
	return p
}

// work takes blocks of the frontier until there are no more.
func (w *worker[S]) work(ctx context.Context, level []*block, next *atomic.Int64, depth int) {
	w.depth = depth
	w.level.Store(int64(depth))
	for ctx.Err() == nil {
		i := int(next.Add(1)) - 1
		if i >= len(level) {
			return
		}
		b := level[i]
		level[i] = nil
		keys := b.keys
		edges := 0
		for _, id := range b.ids {
			keys = w.r.codec.Read(keys, &w.state)
			w.from, w.mine = id, w.mine[:0]
			w.r.m.Next(&w.state, w.out)
			edges += len(w.mine)
			if !w.r.opt.SkipHangs {
				w.log.add(id, w.mine)
			}
		}
		w.edges.Add(int64(edges))
		w.states.Add(int64(len(b.ids)))
	}
}

// visit takes one successor, or an initial state.
func (w *worker[S]) visit(ev world.Event, s *S) {
	p := w.print(s)
	id, fresh := w.r.seen.add(p, w.from, w.depth, uint8(ev.Action), 0)
	if w.from != none {
		w.fired[ev.Action&(maxActions-1)]++
		e := edgeTo{id, uint8(ev.Action)}
		known := false
		for _, old := range w.mine {
			known = known || old == e
		}
		if !known {
			w.mine = append(w.mine, e)
			if w.r.opt.Sink != nil {
				w.r.opt.Sink.Edge(w.index, w.from, id, ev.Action)
			}
		}
	}
	if !fresh {
		return
	}
	if w.r.opt.Sink != nil {
		w.r.opt.Sink.State(w.index, id, w.key)
	}
	if w.r.m.Settled(s) {
		w.settled++
		w.r.seen.settle(id)
	}
	for _, i := range w.r.check {
		if !w.r.m.Invariants[i].Holds(s) {
			w.r.mu.Lock()
			w.r.bad = append(w.r.bad, found{id, i})
			w.r.mu.Unlock()
		}
	}
	if w.cur == nil {
		w.cur = &block{ids: make([]uint32, 0, blockStates)}
	}
	w.cur.ids = append(w.cur.ids, id)
	w.cur.keys = append(w.cur.keys, w.key...)
	if len(w.cur.ids) == blockStates {
		w.flush()
	}
}

func (w *worker[S]) flush() {
	if w.cur != nil {
		w.next = append(w.next, w.cur)
		w.cur = nil
	}
}

// edgeLog keeps edges state by state: a head (from, number), then the edges.
type edgeLog struct {
	heads   []edgeHead
	to      []uint32
	actions []uint8
}

type edgeHead struct{ from, n uint32 }

func (l *edgeLog) add(from uint32, edges []edgeTo) {
	l.heads = append(l.heads, edgeHead{from, uint32(len(edges))})
	for _, e := range edges {
		l.to, l.actions = append(l.to, e.to), append(l.actions, e.action)
	}
}

func (l *edgeLog) bytes() int { return cap(l.heads)*8 + cap(l.to)*4 + cap(l.actions) }
