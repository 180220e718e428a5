package world

import (
	"cmp"
	"math"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/wire/identity"
	wireround "github.com/kvsettle/kvsettle/wire/round"
)

// SortConfig fixes the world of D11: two contributions to a round, each with a key
// or without one.
type SortConfig struct {
	// Codec compares with the order of wire/round; otherwise the order is the one that
	// upstream writes down: ticket, presence, ranks, with the largest number for absent
	// ranks.
	Codec bool
	// NoPresence leaves presence out of upstream's order.
	NoPresence bool
	// AllRanks lets a key name rank 4,294,967,295 too.
	AllRanks bool
}

// SortEntry is a contribution as far as its place in a payload depends on it.
type SortEntry struct {
	Chosen      bool
	Ticket      uint8
	Present     bool
	Source, Dst uint8 // indices into sortRanks
}

// SortState is a state of that world.
type SortState struct{ Entry [2]SortEntry }

var sortRanks = [...]uint32{0, 1, math.MaxUint32 - 1, math.MaxUint32}

const (
	sortPlain Action = iota
	sortKeyed
)

const sortRankArg = "=0|1|4294967294|4294967295"

var sortActions = [...]Info{
	sortPlain: {Name: "AddWithoutKey", Fair: true, From: "rank", To: "payload", Args: []string{"ticket"}},
	sortKeyed: {Name: "AddWithKey", Fair: true, From: "rank", To: "payload", Args: []string{"ticket", "source" + sortRankArg, "destination" + sortRankArg}},
}

// Sort is the model of D11: every pair of contributions, of which no two different
// ones may have the same place.
func Sort(cfg SortConfig) (*Model[SortState], error) {
	ranks := len(sortRanks) - 1
	if cfg.AllRanks {
		ranks++
	}
	return &Model[SortState]{
		Name: "sort", Size: "finding", Actors: []string{"rank", "payload"},
		Bounds:  []Bound{{"contributions", 2}, {"tickets", 2}, {"ranks of a key", ranks}},
		Actions: collect(len(sortActions), func(i int) Info { return sortActions[i] }),
		Init:    []SortState{{}},
		Next: func(s *SortState, out *Out[SortState]) {
			i := 0
			if s.Entry[0].Chosen {
				i = 1
			}
			if s.Entry[1].Chosen {
				return
			}
			for t := range uint8(2) {
				out.From(s).Entry[i] = SortEntry{Chosen: true, Ticket: t}
				out.Emit(sortPlain, int8(t))
				for a := range ranks {
					for b := range ranks {
						out.From(s).Entry[i] = SortEntry{true, t, true, uint8(a), uint8(b)}
						out.Emit(sortKeyed, int8(t), int8(a), int8(b))
					}
				}
			}
		},
		Settled: func(s *SortState) bool { return s.Entry[1].Chosen },
		Canon: func(s *SortState) (canon.Value, error) {
			return canon.Rec(field("same_place", canon.Bool(s.Entry[1].Chosen && cfg.compare(&s.Entry[0], &s.Entry[1]) == 0))), nil
		},
		Invariants: []Invariant[SortState]{{"PlacesDiffer", []string{"KS-RND-3", "KS-ID-12"}, func(s *SortState) bool {
			return !s.Entry[1].Chosen || s.Entry[0] == s.Entry[1] || cfg.compare(&s.Entry[0], &s.Entry[1]) != 0
		}}},
	}, nil
}

func (cfg SortConfig) compare(a, b *SortEntry) int {
	if cfg.Codec {
		x, y := a.wire(), b.wire()
		return wireround.Compare(&x, &y)
	}
	presence := func(e *SortEntry) int {
		if e.Present && !cfg.NoPresence {
			return 1
		}
		return 0
	}
	rank := func(e *SortEntry, i uint8) uint32 {
		if !e.Present {
			return math.MaxUint32
		}
		return sortRanks[i]
	}
	return cmp.Or(cmp.Compare(a.Ticket, b.Ticket), cmp.Compare(presence(a), presence(b)),
		cmp.Compare(rank(a, a.Source), rank(b, b.Source)), cmp.Compare(rank(a, a.Dst), rank(b, b.Dst)))
}

func (e *SortEntry) wire() wireround.Entry {
	w := wireround.Entry{Ticket: identity.Ticket{RequestID: uint64(e.Ticket) + 1, InstanceEpoch: 1, Attempt: 1, Direction: identity.CTXToGEN}}
	if e.Present {
		w.HasKey = true
		w.Key = identity.TransferKey{Ticket: w.Ticket, SourceRank: sortRanks[e.Source], DestinationRank: sortRanks[e.Dst]}
	}
	return w
}
