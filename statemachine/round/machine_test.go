package round_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/round"
)

type ring struct {
	t *testing.T
	m round.Machine
}

func (r *ring) do(in round.Input, want ...round.EffectKind) []round.Effect {
	r.t.Helper()
	next, out, err := r.m.Step(in, nil)
	require.NoError(r.t, err)
	var kinds []round.EffectKind
	for _, e := range out {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(r.t, want, kinds)
	r.m = next
	return out
}

func (r *ring) refused(req string, in round.Input) {
	r.t.Helper()
	next, out, err := r.m.Step(in, nil)
	var refusal *sm.Refusal
	require.True(r.t, errors.As(err, &refusal))
	require.Equal(r.t, req, refusal.Req)
	require.Equal(r.t, r.m, next)
	require.Empty(r.t, out)
}

func TestRoundOfTwo(t *testing.T) {
	spec.Covers(t, "KS-RND-1", "KS-RND-10", "KS-RND-11")
	r := &ring{t: t}
	r.refused("KS-RND-2", round.Input{})
	r.refused("KS-RND-1", round.Input{Kind: round.Entered, ID: 2})
	r.refused("KS-RND-2", round.Input{Kind: round.Entered, Rank: 4, ID: 1})
	r.refused("KS-RND-1", round.Input{Kind: round.Deadline, ID: 0})
	r.refused("KS-RND-2", round.Input{Kind: round.Begin})
	r.refused("KS-RND-2", round.Input{Kind: round.Begin, Ranks: 5})
	r.do(round.Input{Kind: round.Begin, Ranks: 2}, round.Send, round.Arm)
	require.True(t, r.m.Busy())
	require.EqualValues(t, 1, r.m.ID())
	r.refused("KS-RND-1", round.Input{Kind: round.Begin})
	r.refused("KS-RND-11", round.Input{Kind: round.Install, ID: 1})
	r.do(round.Input{Kind: round.Entered, Rank: 0, ID: 1})
	r.refused("KS-RND-1", round.Input{Kind: round.Entered, Rank: 0, ID: 1})
	r.refused("KS-RND-2", round.Input{Kind: round.Entered, Rank: 2, ID: 1})
	r.refused("KS-RND-1", round.Input{Kind: round.Entered, Rank: 1, ID: 9})
	require.EqualValues(t, 1, r.m.Entered())
	r.do(round.Input{Kind: round.Entered, Rank: 1, ID: 1}, round.Judge)
	require.False(t, r.m.Busy())
	r.refused("KS-RND-1", round.Input{Kind: round.Entered, Rank: 1, ID: 1})
	r.refused("KS-RND-12", round.Input{Kind: round.Deadline, ID: 1})

	// The other rank is in the barrier first; nothing passes before this one is.
	r.do(round.Input{Kind: round.Installed, Rank: 1, ID: 1})
	r.do(round.Input{Kind: round.Install, ID: 1}, round.Announce, round.Arm)
	r.refused("KS-RND-1", round.Input{Kind: round.Installed, Rank: 1, ID: 1})
	r.refused("KS-RND-2", round.Input{Kind: round.Installed, Rank: 7, ID: 1})
	r.refused("KS-RND-1", round.Input{Kind: round.Installed, Rank: 0, ID: 2})
	r.do(round.Input{Kind: round.Installed, Rank: 0, ID: 1}, round.Pass)

	// A faster rank may be one round ahead, not two (doubt D14).
	r.do(round.Input{Kind: round.Entered, Rank: 1, ID: 2})
	r.refused("KS-RND-1", round.Input{Kind: round.Entered, Rank: 1, ID: 2})
	r.refused("KS-RND-1", round.Input{Kind: round.Entered, Rank: 1, ID: 3})
	r.do(round.Input{Kind: round.Begin}, round.Send, round.Arm)
	r.do(round.Input{Kind: round.Entered, Rank: 0, ID: 2}, round.Judge)
}

func TestRoundsEnd(t *testing.T) {
	spec.Covers(t, "KS-RND-12")
	r := &ring{t: t}
	for i := range uint64(round.MaxFailures) {
		r.do(round.Input{Kind: round.Begin, Ranks: 2}, round.Send, round.Arm)
		r.do(round.Input{Kind: round.Entered, Rank: 0, ID: i + 1})
		want := []round.EffectKind{round.Judge}
		if i == round.MaxFailures-1 {
			want = append(want, round.Watchdog)
		}
		out := r.do(round.Input{Kind: round.Deadline, ID: i + 1}, want...)
		require.EqualValues(t, 2, out[0].Absent)
	}
	// A round in which everybody was there starts the count again.
	r.do(round.Input{Kind: round.Begin}, round.Send, round.Arm)
	r.do(round.Input{Kind: round.Entered, Rank: 0, ID: 4})
	r.do(round.Input{Kind: round.Entered, Rank: 1, ID: 4}, round.Judge)
	r.do(round.Input{Kind: round.Install, ID: 4}, round.Announce, round.Arm)
	r.do(round.Input{Kind: round.Installed, Rank: 0, ID: 4})
	out := r.do(round.Input{Kind: round.Deadline, ID: 4}, round.Fail)
	require.EqualValues(t, 2, out[0].Absent)
	require.False(t, r.m.Busy())
}

// TestRanksAgree lets up to four ranks run rounds over a network that delays at
// will: every rank judges every round once, and nobody passes a barrier alone.
func TestRanksAgree(t *testing.T) {
	spec.Covers(t, "KS-RND-1", "KS-RND-10", "KS-RND-11")
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, round.MaxRanks).Draw(t, "ranks")
		ms := make([]round.Machine, n)
		judged, passed, installed := make([]int, n), make([]int, n), make([]int, n)
		type letter struct {
			to int
			in round.Input
		}
		var net []letter
		step := func(i int, in round.Input) {
			next, out, err := ms[i].Step(in, nil)
			require.NoError(t, err)
			ms[i] = next
			for _, e := range out {
				switch e.Kind {
				case round.Send, round.Announce:
					kind := round.Entered
					if e.Kind == round.Announce {
						kind = round.Installed
						installed[i]++
					}
					for j := range n {
						net = append(net, letter{j, round.Input{Kind: kind, Rank: uint8(i), ID: e.ID}})
					}
				case round.Judge:
					require.Zero(t, e.Absent)
					judged[i]++
				case round.Pass:
					passed[i]++
					for j := range n {
						require.GreaterOrEqual(t, installed[j], passed[i], "nobody passes alone")
					}
				}
			}
		}
		rounds := rapid.IntRange(1, 4).Draw(t, "rounds")
		for len(net) > 0 || judged[0] < rounds {
			moves := []int{}
			for i := range n {
				if !ms[i].Busy() && judged[i] == passed[i] && judged[i] < rounds && ms[i].ID() == uint64(judged[i]) {
					moves = append(moves, i)
				}
			}
			k := rapid.IntRange(0, len(moves)+len(net)-1).Draw(t, "next")
			if k < len(moves) {
				step(moves[k], round.Input{Kind: round.Begin, Ranks: uint8(n)})
				continue
			}
			l := net[k-len(moves)]
			net = append(net[:k-len(moves)], net[k-len(moves)+1:]...)
			before := judged[l.to]
			step(l.to, l.in)
			if judged[l.to] > before {
				step(l.to, round.Input{Kind: round.Install, ID: ms[l.to].ID()})
			}
		}
		for i := range n {
			require.Equal(t, rounds, judged[i])
			require.Equal(t, rounds, passed[i])
		}
	})
}
