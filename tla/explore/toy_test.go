package explore_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// toy counts two counters up to a limit.
type toy struct{ A, B int64 }

const (
	incA world.Action = iota
	incB
	reset
)

func counters(limit int64) *world.Model[toy] {
	return &world.Model[toy]{
		Name: "counters", Size: "small", Actors: []string{"user"},
		Actions: []world.Info{{Name: "IncA", Fair: true, From: "user", To: "A", Args: []string{"to"}}, {Name: "IncB", Fair: true, From: "user", To: "B"}, {Name: "Reset", From: "B", To: "A"}},
		Init:    []toy{{}},
		Next: func(s *toy, out *world.Out[toy]) {
			if s.A < limit {
				n := out.From(s)
				n.A++
				out.Emit(incA, int8(n.A)-1)
			}
			if s.B < limit {
				out.From(s).B++
				out.Emit(incB)
			}
		},
		Settled: func(s *toy) bool { return s.A == limit && s.B == limit },
		Canon: func(s *toy) (canon.Value, error) {
			return canon.Rec(canon.Field{Name: "a", Value: canon.Int(s.A)}, canon.Field{Name: "b", Value: canon.Int(s.B)}), nil
		},
	}
}

func Example() {
	m := counters(3)
	m.Invariants = []world.Invariant[toy]{{Name: "ANeverTwo", Reqs: []string{"KS-SLOT-27"}, Holds: func(s *toy) bool { return s.A != 2 }}}
	rep, err := explore.Run(context.Background(), m, explore.Options{})
	if err != nil {
		panic(err)
	}
	for _, v := range rep.Violations {
		story, err := explore.Tell(m, v)
		if err != nil {
			panic(err)
		}
		fmt.Print(story.Text())
	}
	// Output:
	// counters (small) violates ANeverTwo (KS-SLOT-27)
	//   1. user -> A          IncA(to=1)
	//        a: 0 -> 1
	//   2. user -> A          IncA(to=2)
	//        a: 1 -> 2
}

func TestCounts(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		rep, err := explore.Run(context.Background(), counters(300), explore.Options{Workers: workers})
		require.NoError(t, err)
		require.Equal(t, 301*301, rep.States)
		require.Equal(t, 2*300*301, rep.Edges)
		require.Equal(t, 601, rep.Depth)
		require.Equal(t, []int64{300 * 301, 300 * 301, 0}, rep.Fired)
		require.Equal(t, 1, rep.Settled)
		require.Empty(t, rep.Violations)
		require.Empty(t, rep.Hangs)
		require.LessOrEqual(t, rep.Memory.PerState, 64.0)
	}
}

func TestShortestAndTheSameEachTime(t *testing.T) {
	m := counters(40)
	m.Invariants = []world.Invariant[toy]{
		{Name: "Sum", Holds: func(s *toy) bool { return s.A+s.B < 20 }},
		{Name: "Never", Holds: func(s *toy) bool { return s.A+s.B < 30 }},
	}
	var first explore.Path
	for i := range 5 {
		rep, err := explore.Run(context.Background(), m, explore.Options{Workers: 4})
		require.NoError(t, err)
		require.Len(t, rep.Violations, 1, "deeper levels are not looked at")
		v := rep.Violations[0]
		require.Equal(t, "Sum", v.Property)
		require.Len(t, v.Path.Events, 20)
		if i > 0 {
			require.Equal(t, first, v.Path)
		}
		first = v.Path
		states, err := explore.Replay(m, v.Path)
		require.NoError(t, err)
		require.EqualValues(t, 20, states[20].A+states[20].B)
	}
	bad := first
	bad.Events = append([]world.Event{{Action: reset}}, first.Events...)
	_, err := explore.Replay(m, bad)
	require.ErrorIs(t, err, explore.ErrModel)
	_, err = explore.Replay(m, explore.Path{Init: 7})
	require.ErrorIs(t, err, explore.ErrModel)
}

func TestHangs(t *testing.T) {
	run := func(change func(*world.Model[toy])) explore.Report {
		m := counters(3)
		change(m)
		rep, err := explore.Run(context.Background(), m, explore.Options{Workers: 2})
		require.NoError(t, err)
		for _, v := range rep.Hangs {
			_, err := explore.Replay(m, v.Path)
			require.NoError(t, err)
			_, err = explore.Tell(m, v)
			require.NoError(t, err)
		}
		return rep
	}
	next := counters(3).Next

	rep := run(func(m *world.Model[toy]) { m.Settled = func(*toy) bool { return false } })
	require.Len(t, rep.Hangs, 1)
	require.Equal(t, explore.Stuck, rep.Hangs[0].Property)
	require.Len(t, rep.Hangs[0].Path.Events, 6, "the end is not settled")

	rep = run(func(m *world.Model[toy]) { m.Actions[incB].Fair = false })
	require.NotEmpty(t, rep.Hangs, "nobody has to do IncB")
	require.Equal(t, explore.Stuck, rep.Hangs[0].Property)
	require.Equal(t, 3, rep.HangStates)

	// Reset leads back from (3, 0) to (0, 0): a cycle that a fair run leaves by IncB.
	back := func(s *toy, out *world.Out[toy]) {
		next(s, out)
		if s.A == 3 && s.B == 0 {
			out.From(s).A = 0
			out.Emit(reset)
		}
	}
	rep = run(func(m *world.Model[toy]) { m.Next = back })
	require.Empty(t, rep.Hangs)

	// The same cycle, with IncB possible in one of its states only.
	rep = run(func(m *world.Model[toy]) {
		m.Next = func(s *toy, out *world.Out[toy]) {
			if s.A < 3 {
				out.From(s).A++
				out.Emit(incA)
			} else {
				out.From(s).A = 0
				out.Emit(reset)
			}
			if s.A == 1 && s.B < 3 {
				out.From(s).B++
				out.Emit(incB)
			}
		}
		m.Settled = func(s *toy) bool { return s.B == 3 }
	})
	require.Len(t, rep.Hangs, 3)
	v := rep.Hangs[0]
	require.Equal(t, explore.Cycle, v.Property)
	require.Equal(t, 0, v.Path.Loop)
	require.Len(t, v.Path.Events, 4)
	require.Equal(t, 12, rep.HangStates)

	// An event that changes nothing is no way out.
	rep = run(func(m *world.Model[toy]) {
		m.Next = func(s *toy, out *world.Out[toy]) {
			out.From(s)
			out.Emit(incA)
		}
	})
	require.Len(t, rep.Hangs, 1)
	require.Empty(t, rep.Hangs[0].Path.Events)
	require.Equal(t, 1, rep.Edges)
}

func TestSymmetry(t *testing.T) {
	m := counters(20)
	m.Twins = func(s *toy, yield func(*toy)) { yield(&toy{s.B, s.A}) }
	rep, err := explore.Run(context.Background(), m, explore.Options{Symmetry: true})
	require.NoError(t, err)
	require.Equal(t, 21*22/2, rep.States)
	rep, err = explore.Run(context.Background(), m, explore.Options{})
	require.NoError(t, err)
	require.Equal(t, 21*21, rep.States)
}

func TestLimits(t *testing.T) {
	rep, err := explore.Run(context.Background(), counters(1000), explore.Options{MaxStates: 1000})
	require.ErrorIs(t, err, explore.ErrTooLarge)
	require.Greater(t, rep.States, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	var seen explore.Progress
	slow := counters(5000)
	rep, err = explore.Run(ctx, slow, explore.Options{Every: 10 * time.Millisecond, Progress: func(p explore.Progress) {
		if seen = p; p.States > 0 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, explore.ErrStopped)
	require.ErrorIs(t, err, context.Canceled)
	require.Positive(t, rep.States, "says what was reached")
	require.Positive(t, seen.States)

	type pointer struct{ P *int }
	_, err = explore.NewCodec[pointer]()
	require.ErrorIs(t, err, explore.ErrState)
	for _, broken := range []*world.Model[toy]{
		{Name: "no init", Next: slow.Next, Settled: slow.Settled},
		{Name: "no next", Init: slow.Init, Settled: slow.Settled},
		{Name: "many", Init: slow.Init, Next: slow.Next, Settled: slow.Settled, Actions: make([]world.Info, 129)},
	} {
		_, err := explore.Run(context.Background(), broken, explore.Options{})
		require.ErrorIs(t, err, explore.ErrModel, broken.Name)
	}
	// A model whose Next forgets its order cannot be replayed.
	flaky := counters(3)
	calls := 0
	next := flaky.Next
	flaky.Next = func(s *toy, out *world.Out[toy]) {
		if calls++; calls < 3 {
			next(s, out)
		}
	}
	flaky.Invariants = []world.Invariant[toy]{{Name: "Small", Holds: func(s *toy) bool { return s.A+s.B < 2 }}}
	_, err = explore.Run(context.Background(), flaky, explore.Options{Workers: 1})
	require.ErrorIs(t, err, explore.ErrModel)
	require.False(t, errors.Is(err, explore.ErrTooLarge))
}

func TestPictures(t *testing.T) {
	st := explore.Story{Title: `a <b> & "c"; #1`, Actors: []string{"GEN 1", "CTX"}, Steps: []explore.Step{
		{From: "GEN 1", To: "CTX", Label: "Send(x=1)", Notes: []string{"net: {} -> {\"m\"}", strings.Repeat("long ", 60)}},
		{From: "CTX", To: "CTX", Label: "Think;"},
	}}
	require.Equal(t, `a <b> & "c"; #1
  1. GEN 1 -> CTX       Send(x=1)
       net: {} -> {"m"}
       `+strings.Repeat("long ", 60)+`
  2. CTX                Think;
`, st.Text())
	mer := st.Mermaid()
	require.Contains(t, mer, "sequenceDiagram\n    participant a0 as GEN 1\n    participant a1 as CTX\n    a0->>a1: 1. Send(x=1)\n    Note over a1: net: {} -> {\"m\"}<br/>long")
	require.Contains(t, mer, "    a1->>a1: 2. Think,\n")
	require.NotContains(t, mer, ";")
	d := xml.NewDecoder(strings.NewReader(st.SVG()))
	texts := 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if s, ok := tok.(xml.StartElement); ok && s.Name.Local == "text" {
			texts++
		}
	}
	require.Equal(t, 1+2+2+2, texts)
	require.Contains(t, explore.Story{Title: "x"}.Text(), "already in the initial state")
}
