package world

import (
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/round"
)

// RoundWatch fixes a world of rounds for D14.
type RoundWatch struct {
	RoundConfig
	// Unnumbered lets a payload count for the round that its receiver is in, whatever
	// round it was sent for.
	Unnumbered bool
}

// WatchRound is the model of D14: the rounds of local ranks, of which one may be a
// round ahead.
func WatchRound(cfg RoundWatch) (*Model[RoundState], error) {
	m, err := Round(cfg.RoundConfig)
	if err != nil {
		return nil, err
	}
	w := &roundWorld{cfg.RoundConfig}
	m.Canon = w.view
	if !cfg.Unnumbered {
		return m, nil
	}
	right := m.Next
	m.Next = func(s *RoundState, out *Out[RoundState]) {
		inner, ok := out.scratch.(*Out[RoundState])
		if !ok {
			inner = NewOut[RoundState](nil)
			out.scratch = inner
		}
		inner.emit = func(ev Event, n *RoundState) {
			next := out.From(n)
			to, from, id := int(ev.Args[0]), int(ev.Args[1]), int(ev.Args[2])
			if at := int(s.Rank[to].ID()) - 1; ev.Action == rndPayload && at >= 0 && at != id {
				*next = *s
				for kind := range roundInstalled {
					bit := roundBit(kind, from, to, id)
					if s.Net[0]>>bit&1 == 0 {
						continue
					}
					next.Net[0] &^= 1 << bit
					if next.Heard[to][at][from] == 0 {
						next.Heard[to][at][from] = kind + 1
					}
					w.step(out, next, to, round.Input{Kind: round.Entered, Rank: uint8(from), ID: uint64(at) + 1})
					break
				}
			}
			out.Emit(ev.Action, ev.Args[:]...)
		}
		right(s, inner)
	}
	return m, nil
}

// view is what a reader of a counterexample wants to know of a state.
func (w *roundWorld) view(s *RoundState) (canon.Value, error) {
	return canon.Rec(field("rank", seq(w.cfg.Ranks, func(r int) canon.Value {
		return canon.Rec(field("round", canon.Int(int64(s.Rank[r].ID()))),
			field("decided", seq(w.cfg.Rounds, func(id int) canon.Value { return canon.Str(roundDecisions[s.Decided[r][id]]) })))
	}))), nil
}
