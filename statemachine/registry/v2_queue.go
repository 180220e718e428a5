package registry

import sm "github.com/kvsettle/kvsettle/statemachine"

// queue is a heap of entries, the one with the smallest time first, of equal ones
// the one with the lower index. An entry is in one queue at most and knows its
// place, so that its time can be moved.
type queue []uint32

const nowhere = -1

func (t *Tickets) before(a, b uint32) bool {
	x, y := t.entries[a].at, t.entries[b].at
	return x < y || x == y && a < b
}

func (t *Tickets) push(q *queue, i uint32, at sm.Time) {
	t.entries[i].at = at
	t.entries[i].pos = int32(len(*q))
	*q = append(*q, i)
	t.up(*q, len(*q)-1)
}

// move changes the time of an entry that is in q.
func (t *Tickets) move(q queue, i uint32, at sm.Time) {
	t.entries[i].at = at
	t.down(q, t.up(q, int(t.entries[i].pos)))
}

// remove takes an entry out of q, if it is in it.
func (t *Tickets) remove(q *queue, i uint32) {
	p := int(t.entries[i].pos)
	if p == nowhere {
		return
	}
	last := len(*q) - 1
	t.swap(*q, p, last)
	*q = (*q)[:last]
	t.entries[i].pos = nowhere
	if p < last {
		t.down(*q, t.up(*q, p))
	}
}

func (t *Tickets) swap(q queue, a, b int) {
	q[a], q[b] = q[b], q[a]
	t.entries[q[a]].pos, t.entries[q[b]].pos = int32(a), int32(b)
}

func (t *Tickets) up(q queue, p int) int {
	for p > 0 {
		parent := (p - 1) / 2
		if !t.before(q[p], q[parent]) {
			break
		}
		t.swap(q, p, parent)
		p = parent
	}
	return p
}

func (t *Tickets) down(q queue, p int) {
	for {
		child := 2*p + 1
		if child >= len(q) {
			return
		}
		if child+1 < len(q) && t.before(q[child+1], q[child]) {
			child++
		}
		if !t.before(q[child], q[p]) {
			return
		}
		t.swap(q, p, child)
		p = child
	}
}
