package world_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/world"
)

// ExampleV1 walks the first events of a world.
func ExampleV1() {
	m, err := world.V1(world.V1Config{Size: "example", Cases: []world.V1Case{{Gens: 1, Ctxs: 1, Reqs: 1, Slots: 1}}})
	if err != nil {
		panic(err)
	}
	s := m.Init[0]
	for range 4 {
		var next world.V1State
		first := true
		m.Next(&s, world.NewOut(func(ev world.Event, n *world.V1State) {
			if first {
				fmt.Println(m.Describe(ev))
				next, first = *n, false
			}
		}))
		s = next
	}
	// Output:
	// CtxGrant(ctx=1 req=1)
	// CtxContextDeadline(ctx=1 req=1)
	// GenImport(gen=1 req=1)
	// GenGrant(gen=1 req=1)
}

func ExampleV2() {
	cfg, _ := world.V2Size("recovery", "small")
	m, err := world.V2(cfg)
	fmt.Println(m.Name, len(m.Init), m.Bounds[6], err)
	// Output: recovery 3 {lost notice 1} <nil>
}

func ExampleText() {
	actions := []world.Info{{Name: "Deliver", Args: []string{"gen", "kind=ready|sync"}}}
	fmt.Println(world.Text(actions, world.Event{Args: [4]int8{1, 1}}))
	// Output: Deliver(gen=2 kind=sync)
}

func ExampleFindings() {
	for _, f := range world.Findings()[:2] {
		fmt.Println(f.Name, f.Confirmed(), f.Asks[0].Property)
	}
	// Output:
	// D1 true NobodyRestarts
	// D2 true RefusedNeverUnknown
}

// small models of every kind, with their state types hidden.
func walk[S comparable](m *world.Model[S], err error) func(t *testing.T) {
	return func(t *testing.T) {
		require.NoError(t, err)
		require.NotEmpty(t, m.Init)
		require.NotEmpty(t, m.Invariants)
		names := map[string]bool{}
		for _, a := range m.Actions {
			require.Regexp(t, `^[A-Z][A-Za-z]+$`, a.Name)
			require.False(t, names[a.Name], "%s twice", a.Name)
			names[a.Name] = true
		}
		seen := map[S]bool{}
		queue := append([]S(nil), m.Init...)
		texts := map[string]bool{}
		for len(queue) > 0 && len(seen) < 400 {
			s := queue[0]
			queue = queue[1:]
			if seen[s] {
				continue
			}
			seen[s] = true
			for _, inv := range m.Invariants {
				require.True(t, inv.Holds(&s), inv.Name)
			}
			v, err := m.Canon(&s)
			require.NoError(t, err)
			require.False(t, texts[v.String()], "two states look alike: %s", v)
			texts[v.String()] = true
			before := s
			var events []world.Event
			m.Next(&s, world.NewOut(func(ev world.Event, n *S) {
				events = append(events, ev)
				queue = append(queue, *n)
				from, to := m.Actions[ev.Action].Ends(ev)
				require.Contains(t, m.Actors, from)
				require.NotContains(t, to, "{")
			}))
			require.Equal(t, before, s, "Next changes its argument")
			again := 0
			m.Next(&s, world.NewOut(func(ev world.Event, _ *S) {
				require.Equal(t, events[again], ev, "another order")
				again++
			}))
			require.Len(t, events, again)
		}
		out := world.NewOut(func(world.Event, *S) {})
		for s := range seen {
			if m.Name == "slot" {
				break // stale uses are answered by a pool made for the purpose
			}
			require.Zero(t, testing.AllocsPerRun(1, func() { m.Next(&s, out) }), "Next allocates")
		}
	}
}

func TestModels(t *testing.T) {
	for _, size := range []string{"small", "medium", "large"} {
		v1, ok := world.V1Size(size)
		require.True(t, ok)
		require.Zero(t, v1.Wrong, "no size breaks a rule")
		round, ok := world.RoundSize(size)
		require.True(t, ok)
		require.Zero(t, round.Wrong)
		neg, ok := world.NegotiateSize(size)
		require.True(t, ok)
		require.Zero(t, neg.Wrong)
		pool, ok := world.SlotSize(size)
		require.True(t, ok)
		require.Zero(t, pool.Wrong)
		if size == "small" {
			t.Run("v1", walk(world.V1(v1)))
			t.Run("round", walk(world.Round(round)))
			t.Run("negotiate", walk(world.Negotiate(neg)))
			t.Run("slot", walk(world.Slot(pool)))
		}
		for _, name := range world.V2Names() {
			v2, ok := world.V2Size(name, size)
			require.True(t, ok)
			require.Zero(t, v2.Bad)
			require.Zero(t, v2.Wrong)
			require.NotEmpty(t, v2.Cases)
			for _, c := range v2.Cases {
				require.False(t, c.Strict)
			}
			if size == "small" {
				t.Run(name, walk(world.V2(v2)))
			}
		}
	}
}

func TestSizesAndBounds(t *testing.T) {
	_, ok := world.V1Size("huge")
	require.False(t, ok)
	_, ok = world.V2Size("v2-1", "huge")
	require.False(t, ok)
	_, ok = world.V2Size("v3", "small")
	require.False(t, ok)
	_, ok = world.RoundSize("huge")
	require.False(t, ok)
	_, ok = world.NegotiateSize("huge")
	require.False(t, ok)
	_, ok = world.SlotSize("huge")
	require.False(t, ok)
	var refusal *sm.Refusal
	_, err := world.V1(world.V1Config{Cases: []world.V1Case{{Gens: 3, Ctxs: 1, Reqs: 1, Slots: 1}}})
	require.ErrorAs(t, err, &refusal)
	_, err = world.V1(world.V1Config{Cases: []world.V1Case{{Gens: 1, Ctxs: 1, Reqs: 1}}})
	require.ErrorAs(t, err, &refusal)
	_, err = world.V2(world.V2Config{Cases: []world.V2Case{{Gens: 1, Ctxs: 1, Chunks: 9}}})
	require.ErrorAs(t, err, &refusal)
	_, err = world.Round(world.RoundConfig{Ranks: 9})
	require.ErrorAs(t, err, &refusal)
	_, err = world.Slot(world.SlotConfig{Owners: 9})
	require.ErrorAs(t, err, &refusal)
	_, err = world.Slot(world.SlotConfig{Owners: 1})
	require.ErrorAs(t, err, &refusal)
}

func TestText(t *testing.T) {
	actions := []world.Info{{Name: "Go", From: "GEN {gen}", To: "CTX", Args: []string{"gen", "how=a|b"}}, {Name: "Stop"}}
	require.Equal(t, "Go(gen=12 how=9)", world.Text(actions, world.Event{Args: [4]int8{11, 9}}))
	require.Equal(t, "Go(gen=-1 how=-2)", world.Text(actions, world.Event{Args: [4]int8{-2, -2}}))
	require.Equal(t, "Stop", world.Text(actions, world.Event{Action: 1}))
	require.Equal(t, "action 7", world.Text(actions, world.Event{Action: 7}))
	from, to := actions[0].Ends(world.Event{Args: [4]int8{1, 0}})
	require.Equal(t, "GEN 2", from)
	require.Equal(t, "CTX", to)
	out := world.NewOut(func(world.Event, *int) {})
	out.Take(3)
	out.Take(3)
	out.Take(world.MaxRows)
	require.EqualValues(t, 2, out.Taken()[3])
	var none *world.Out[int]
	none.Take(1)
}
