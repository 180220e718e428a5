// Package compare shows that a TLA+ model and the Go world of the same name are the
// same graph: equal sets of states, equal sets of labelled edges, both ways.
package compare

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/canon"
)

// ErrUnusable says that a side gave no complete graph.
var ErrUnusable = errors.New("graph-unusable")

// Print identifies a state: 128 bits of the SHA-256 of its canonical text. Two
// states of a graph of n share one with a probability below n*n / 2^129.
type Print [16]byte

// printOf returns the fingerprint of a state and its canonical text, in buf.
func printOf(v canon.Value, buf []byte) (Print, []byte) {
	buf = v.Append(buf[:0])
	sum := sha256.Sum256(buf)
	return Print(sum[:16]), buf
}

// edge is one labelled edge between numbered states.
type edge struct {
	from, to uint32
	action   uint16
}

func (e edge) compare(o edge) int {
	return cmp.Or(cmp.Compare(e.from, o.from), cmp.Compare(e.action, o.action), cmp.Compare(e.to, o.to))
}

// side is one of the two graphs. Its edges are sorted and distinct once it is
// closed.
type side struct {
	name    string
	in      []bool // by number of a state: it is in this graph
	initial []bool
	states  int
	edges   []edge
}

// pair is both graphs over one numbering of states and actions.
type pair struct {
	numbers map[Print]uint32
	prints  []Print
	actions []string
	byName  map[string]uint16
	sides   [2]side
	limit   int // of TLC's states; 0 is none
}

// The two sides.
const (
	goSide = iota
	tlcSide
)

func newPair() *pair {
	p := &pair{numbers: map[Print]uint32{}, byName: map[string]uint16{}}
	p.sides[goSide].name, p.sides[tlcSide].name = "the Go world", "TLC"
	return p
}

func (p *pair) number(k Print) uint32 {
	n, ok := p.numbers[k]
	if !ok {
		n = uint32(len(p.prints))
		p.numbers[k] = n
		p.prints = append(p.prints, k)
	}
	return n
}

func (p *pair) action(name string) uint16 {
	a, ok := p.byName[name]
	if !ok {
		a = uint16(len(p.actions))
		p.byName[name] = a
		p.actions = append(p.actions, name)
	}
	return a
}

// state notes a state of a side; again says that the side had it before.
func (p *pair) state(which int, k Print, initial bool) (n uint32, again bool) {
	n = p.number(k)
	s := &p.sides[which]
	for len(s.in) <= int(n) {
		s.in, s.initial = append(s.in, false), append(s.initial, false)
	}
	again = s.in[n]
	if !again {
		s.in[n] = true
		s.states++
	}
	s.initial[n] = s.initial[n] || initial
	return n, again
}

// close sorts the edges, drops repeated ones, and checks that each joins two states
// of the side.
func (p *pair) close(which int) error {
	s := &p.sides[which]
	slices.SortFunc(s.edges, edge.compare)
	s.edges = slices.Clip(slices.Compact(s.edges))
	for _, e := range s.edges {
		if !s.has(e.from) || !s.has(e.to) {
			return fmt.Errorf("%w: %s: an edge %s joins a state that was not given", ErrUnusable, s.name, p.actions[e.action])
		}
	}
	return nil
}

func (s *side) has(n uint32) bool { return int(n) < len(s.in) && s.in[n] }

func (s *side) starts(n uint32) bool { return int(n) < len(s.initial) && s.initial[n] }

// from returns the edges that leave n.
func (s *side) from(n uint32) []edge {
	lo, _ := slices.BinarySearchFunc(s.edges, n, func(e edge, n uint32) int { return cmp.Compare(e.from, n) })
	hi := lo
	for hi < len(s.edges) && s.edges[hi].from == n {
		hi++
	}
	return s.edges[lo:hi]
}

// equal says whether both graphs are the same.
func (p *pair) equal() bool {
	a, b := &p.sides[goSide], &p.sides[tlcSide]
	if a.states != b.states || len(a.edges) != len(b.edges) {
		return false
	}
	for n := range p.prints {
		if a.has(uint32(n)) != b.has(uint32(n)) || a.starts(uint32(n)) != b.starts(uint32(n)) {
			return false
		}
	}
	return slices.Equal(a.edges, b.edges)
}
