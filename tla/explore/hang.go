package explore

import (
	"fmt"
	"slices"
)

// maxHangs is how many hangs a report shows.
const maxHangs = 4

// graph is the explored graph with states numbered without gaps.
type graph struct {
	first   [shards]uint32 // number of the first state of each shard
	start   []uint32       // first edge of each state, one more at the end
	to      []uint32
	actions []uint8
	settled []bool
}

func (g *graph) number(id uint32) uint32 { return g.first[id&(shards-1)] + id>>shardBits }

// id is the inverse of number.
func (g *graph) id(n uint32) uint32 {
	k, found := slices.BinarySearch(g.first[:], n)
	for found && k+1 < shards && g.first[k+1] == n {
		k++ // empty shards begin at the same number
	}
	if !found {
		k--
	}
	return (n-g.first[k])<<shardBits | uint32(k)
}

func (r *runner[S]) graph() (*graph, error) {
	g := &graph{}
	var n int
	g.first, n = r.seen.dense()
	g.start = make([]uint32, n+1)
	total := 0
	for _, w := range r.workers {
		total += len(w.log.to)
		for _, h := range w.log.heads {
			g.start[g.number(h.from)+1] = h.n
		}
	}
	if uint64(total) > uint64(^uint32(0)) {
		return nil, fmt.Errorf("%w: %d edges are too many for the search for hangs", ErrTooLarge, total)
	}
	for i := range n {
		g.start[i+1] += g.start[i]
	}
	g.to, g.actions = make([]uint32, total), make([]uint8, total)
	for _, w := range r.workers {
		at := 0
		for _, h := range w.log.heads {
			e := g.start[g.number(h.from)]
			for i := range int(h.n) {
				g.to[int(e)+i] = g.number(w.log.to[at+i])
				g.actions[int(e)+i] = w.log.actions[at+i]
			}
			at += int(h.n)
		}
		w.log = edgeLog{}
	}
	g.settled = make([]bool, n)
	for k := range r.seen.shards {
		sh := &r.seen.shards[k]
		for i := range sh.n {
			g.settled[g.first[k]+i] = sh.at(i).flags&settledFlag != 0
		}
	}
	return g, nil
}

// bitset is a set of actions.
type bitset [maxActions / 64]uint64

func (b *bitset) add(a uint8) { b[a/64] |= 1 << (a % 64) }

// hangs looks for runs that never settle although every fair action that stays
// possible is taken. Such a run ends up in one strongly connected part of the
// unsettled states, and there each fair action is taken inside or is impossible
// somewhere; a single state with no fair way out is the smallest such part.
func (r *runner[S]) hangs(rep *Report) error {
	g, err := r.graph()
	if err != nil {
		return err
	}
	rep.Memory.Edges = max(rep.Memory.Edges, cap(g.to)*5+cap(g.start)*4)
	var fair bitset
	for a, info := range r.m.Actions {
		if info.Fair {
			fair.add(uint8(a))
		}
	}
	type hang struct {
		state  uint32 // the member that is reached first
		depth  uint16
		states int
	}
	var all []hang
	part := make([]uint32, len(g.settled)) // 1 + number of the part, for members of the one at hand
	count := uint32(0)
	g.parts(func(members []uint32) {
		count++
		for _, v := range members {
			part[v] = count
		}
		always := bitset{}
		for i := range always {
			always[i] = ^uint64(0)
		}
		taken := bitset{}
		for _, v := range members {
			enabled := bitset{}
			for e := g.start[v]; e < g.start[v+1]; e++ {
				if g.to[e] == v {
					continue // changes nothing
				}
				enabled.add(g.actions[e])
				if part[g.to[e]] == count {
					taken.add(g.actions[e])
				}
			}
			for i := range always {
				always[i] &= enabled[i]
			}
		}
		for i := range always {
			if always[i]&fair[i]&^taken[i] != 0 {
				return // a fair run leaves
			}
		}
		h := hang{state: members[0], depth: ^uint16(0), states: len(members)}
		for _, v := range members {
			if d := r.seen.entry(g.id(v)).depth; d < h.depth {
				h.state, h.depth = v, d
			}
		}
		all = append(all, h)
		rep.HangStates += len(members)
	})
	slices.SortStableFunc(all, func(a, b hang) int { return int(a.depth) - int(b.depth) })
	for _, h := range all[:min(len(all), maxHangs)] {
		path, err := r.path(g.id(h.state))
		if err != nil {
			return err
		}
		v := Violation{Property: Stuck, Path: path}
		if h.states > 1 {
			v.Property = Cycle
			if err := r.loop(g, h.state, &v.Path); err != nil {
				return err
			}
		}
		rep.Hangs = append(rep.Hangs, v)
	}
	return nil
}

// loop appends a shortest way from v back to v through unsettled states.
func (r *runner[S]) loop(g *graph, v uint32, p *Path) error {
	parent := map[uint32]uint32{}
	via := map[uint32]uint32{} // edge index
	queue := []uint32{v}
	back := false
	for len(queue) > 0 && !back {
		u := queue[0]
		queue = queue[1:]
		for e := g.start[u]; e < g.start[u+1]; e++ {
			t := g.to[e]
			if t == u || g.settled[t] {
				continue
			}
			if _, ok := parent[t]; ok {
				continue
			}
			parent[t], via[t] = u, e
			if t == v {
				back = true
				break
			}
			queue = append(queue, t)
		}
	}
	if !back {
		return nil
	}
	var edges []uint32
	for at := v; ; {
		edges = append(edges, via[at])
		at = parent[at]
		if at == v {
			break
		}
	}
	slices.Reverse(edges)
	states, err := Replay(r.m, *p)
	if err != nil {
		return err
	}
	s := states[len(states)-1]
	w := newWorker(r, 0)
	p.Loop = len(p.Events)
	for _, e := range edges {
		ev, next, ok := r.step(w, &s, r.seen.entry(g.id(g.to[e])).print, int(g.actions[e]))
		if !ok {
			return fmt.Errorf("%w: %s: a cycle cannot be replayed", ErrModel, r.m.Name)
		}
		p.Events = append(p.Events, ev)
		s = next
	}
	return nil
}

// parts calls f with every strongly connected part of the unsettled states.
func (g *graph) parts(f func(members []uint32)) {
	n := len(g.settled)
	order := make([]uint32, n) // 0: not met; otherwise 1 + when
	low := make([]uint32, n)
	closed := make([]bool, n)
	type frame struct{ v, e uint32 }
	var calls []frame
	var stack []uint32
	clock := uint32(0)
	for root := range uint32(n) {
		if g.settled[root] || order[root] != 0 {
			continue
		}
		calls = append(calls, frame{root, g.start[root]})
		clock++
		order[root], low[root] = clock, clock
		stack = append(stack, root)
		for len(calls) > 0 {
			c := &calls[len(calls)-1]
			if c.e < g.start[c.v+1] {
				t := g.to[c.e]
				c.e++
				switch {
				case g.settled[t] || closed[t]:
				case order[t] != 0:
					low[c.v] = min(low[c.v], order[t])
				default:
					clock++
					order[t], low[t] = clock, clock
					stack = append(stack, t)
					calls = append(calls, frame{t, g.start[t]})
				}
				continue
			}
			v := c.v
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				up := calls[len(calls)-1].v
				low[up] = min(low[up], low[v])
			}
			if low[v] != order[v] {
				continue
			}
			i := len(stack) - 1
			for stack[i] != v {
				i--
			}
			members := stack[i:]
			for _, m := range members {
				closed[m] = true
			}
			f(members)
			stack = stack[:i]
		}
	}
}
