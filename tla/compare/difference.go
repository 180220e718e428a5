package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

// Difference is the nearest place in which the two graphs are not the same: both
// go the way of Steps, and then one of them can do what the other cannot.
type Difference struct {
	// Steps is the shortest common way there.
	Steps []Step `json:"steps"`
	// State is the state in which they part, which both have; none when they differ in
	// the initial states.
	State string `json:"state,omitempty"`
	// OnlyGo and OnlyTLC are what one side alone can do there, or start in.
	OnlyGo  []Step `json:"only_go"`
	OnlyTLC []Step `json:"only_tlc"`
	// Both names the actions that both can do there with the same outcome.
	Both []string `json:"both"`
}

// Step is an action with what it changes.
type Step struct {
	Action  string   `json:"action"`
	Changes []string `json:"changes"`
}

// shown is how many one-sided steps of one state are shown.
const shown = 4

// meet is the state in which the graphs part, with the common way to it.
type meet struct {
	state  uint32
	way    []edge
	starts bool // they differ in the initial states
}

// part finds the nearest state with an edge of one side only, breadth first over
// common edges.
func (p *pair) part() (meet, bool) {
	a, b := &p.sides[goSide], &p.sides[tlcSide]
	parent := map[uint32]edge{}
	var queue []uint32
	met := make([]bool, len(p.prints))
	for n := range uint32(len(p.prints)) {
		if a.starts(n) != b.starts(n) {
			return meet{starts: true}, true
		}
		if a.starts(n) {
			met[n] = true
			queue = append(queue, n)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		u := queue[0]
		left, right := a.from(u), b.from(u)
		if !slices.Equal(left, right) {
			var way []edge
			for at := u; ; {
				e, ok := parent[at]
				if !ok {
					break
				}
				way = append(way, e)
				at = e.from
			}
			slices.Reverse(way)
			return meet{state: u, way: way}, true
		}
		for _, e := range left {
			if !met[e.to] {
				met[e.to] = true
				parent[e.to] = e
				queue = append(queue, e.to)
			}
		}
	}
	return meet{}, false
}

func (p *pair) difference(ctx context.Context, opt Options, job tlc.Job) (*Difference, error) {
	at, ok := p.part()
	if !ok {
		return nil, fmt.Errorf("%w: the graphs differ where neither can be reached", ErrUnusable)
	}
	a, b := &p.sides[goSide], &p.sides[tlcSide]
	var only [2][]edge
	var both []string
	if at.starts {
		for n := range uint32(len(p.prints)) {
			if a.starts(n) && !b.starts(n) {
				only[goSide] = append(only[goSide], edge{to: n})
			}
			if b.starts(n) && !a.starts(n) {
				only[tlcSide] = append(only[tlcSide], edge{to: n})
			}
		}
	} else {
		left, right := a.from(at.state), b.from(at.state)
		for _, e := range left {
			if slices.Contains(right, e) {
				both = append(both, p.actions[e.action])
			} else {
				only[goSide] = append(only[goSide], e)
			}
		}
		for _, e := range right {
			if !slices.Contains(left, e) {
				only[tlcSide] = append(only[tlcSide], e)
			}
		}
	}
	slices.Sort(both)
	d := &Difference{OnlyGo: []Step{}, OnlyTLC: []Step{}, Steps: []Step{}, Both: slices.Compact(both)}
	var need []uint32
	for _, e := range at.way {
		need = append(need, e.from, e.to)
	}
	if !at.starts {
		need = append(need, at.state)
	}
	for i := range only {
		only[i] = only[i][:min(len(only[i]), shown)]
		for _, e := range only[i] {
			need = append(need, e.to)
		}
	}
	values, err := p.values(ctx, opt, job, need)
	if err != nil {
		return nil, err
	}
	for _, e := range at.way {
		d.Steps = append(d.Steps, Step{p.actions[e.action], changes(values[e.from], values[e.to])})
	}
	if !at.starts {
		d.State = values[at.state].String()
	}
	for i, into := range []*[]Step{&d.OnlyGo, &d.OnlyTLC} {
		for _, e := range only[i] {
			if at.starts {
				*into = append(*into, Step{"initial state", []string{values[e.to].String()}})
				continue
			}
			*into = append(*into, Step{p.actions[e.action], changes(values[at.state], values[e.to])})
		}
	}
	return d, nil
}

func changes(from, to canon.Value) []string {
	out := []string{}
	for _, c := range canon.Diff(from, to) {
		out = append(out, c.String())
	}
	if len(out) == 0 {
		out = append(out, "nothing changes")
	}
	return out
}

// Text tells the difference to people.
func (d *Difference) Text() string {
	var b strings.Builder
	tell := func(head string, steps []Step) {
		if len(steps) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s\n", head)
		for i, s := range steps {
			fmt.Fprintf(&b, "  %2d. %s\n", i+1, s.Action)
			for _, c := range s.Changes {
				fmt.Fprintf(&b, "        %s\n", c)
			}
		}
	}
	tell("both go this way:", d.Steps)
	if d.State != "" {
		fmt.Fprintf(&b, "and are then in the same state:\n  %s\n", d.State)
	}
	tell("only the Go world can do this there:", d.OnlyGo)
	tell("only TLC can do this there:", d.OnlyTLC)
	if len(d.Both) > 0 {
		fmt.Fprintf(&b, "both can do there: %s\n", strings.Join(d.Both, ", "))
	}
	return b.String()
}
