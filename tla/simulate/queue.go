package simulate

import sm "github.com/kvsettle/kvsettle/statemachine"

// side of an event: the service whose turn it is.
const (
	ctxSide = 0
	genSide = 1
	nobody  = 2 // the world itself
)

// event is something that is due. Which fields count depends on kind.
type event struct {
	at    sm.Time
	seq   uint32 // order among those of one time
	cause uint32 // of the timeline
	kind  kind
	side  uint8
	rank  uint8
	edge  uint8 // the peer's rank
	x     uint16
	n, m  uint16
	// inc is the incarnation of the service that the event is for; peer that of the
	// other one, as the sender knew it.
	inc, peer  uint8
	a, b, c, d uint8
}

// kind of an event.
type kind uint8

const (
	evArrive kind = iota + 1
	evImport
	evDeliver
	evTimer
	evRound
	evVerdict
	evBarrier
	evPublish
	evSent
	evPrepare
	evPost
	evWritten
	evLand
	evSealed
	evProcessed
	evUser
	evFault
	evExit
	evStart
	evGone
	evGrant
	evShut
	evDue
	evEnded
)

// queue is a heap of events with four children to a node, ordered by time, then by
// the order in which they were pushed.
type queue struct {
	heap []event
	seq  uint32
}

func before(a, b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (q *queue) reset() { q.heap, q.seq = q.heap[:0], 0 }

func (q *queue) push(e event) {
	q.seq++
	e.seq = q.seq
	q.put(e)
}

// put keeps the order of an event that was popped and has to wait.
func (q *queue) put(e event) {
	q.heap = append(q.heap, e)
	h := q.heap
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !before(&e, &h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
}

func (q *queue) pop() (e event, ok bool) {
	h := q.heap
	if len(h) == 0 {
		return e, false
	}
	e = h[0]
	last := h[len(h)-1]
	h = h[:len(h)-1]
	q.heap = h
	if len(h) == 0 {
		return e, true
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= len(h) {
			break
		}
		best := c
		for k := c + 1; k < min(c+4, len(h)); k++ {
			if before(&h[k], &h[best]) {
				best = k
			}
		}
		if !before(&h[best], &last) {
			break
		}
		h[i] = h[best]
		i = best
	}
	h[i] = last
	return e, true
}
