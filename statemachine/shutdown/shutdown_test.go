package shutdown_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/shutdown"
)

// TestMain raises rapid's number of checks where the command line does not set it.
func TestMain(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid.checks" })
	if !set {
		_ = flag.Set("rapid.checks", "2000")
	}
	os.Exit(m.Run())
}

// steps are those of KS-SLOT-11 after the drain.
var steps = []shutdown.State{
	shutdown.Isolating, shutdown.Joining, shutdown.Disconnecting, shutdown.Deregistering, shutdown.DestroyingAgent,
	shutdown.Unmapping, shutdown.UnloadingPlugin,
}

func machine(t require.TestingT) shutdown.Machine {
	m, err := shutdown.New(shutdown.Config{Drain: 50, Rest: 100})
	require.NoError(t, err)
	return m
}

func do(t require.TestingT, m shutdown.Machine, in shutdown.Input) (shutdown.Machine, []shutdown.Effect) {
	next, effects, err := m.Step(in, nil)
	require.NoError(t, err)
	return next, effects
}

func ExampleMachine() {
	m, err := shutdown.New(shutdown.Config{Drain: 5e9, Rest: 5e9})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _, _ = m.Step(shutdown.Input{Kind: shutdown.Stop}, nil)
	m, effects, _ := m.Step(shutdown.Input{Kind: shutdown.Settled}, nil)
	for m.State() < shutdown.Down {
		fmt.Println(effects[len(effects)-1].Of)
		m, effects, _ = m.Step(shutdown.Input{Kind: shutdown.Done, Of: m.State()}, nil)
	}
	fmt.Println(m.State(), m.Clean())
	// Output:
	// isolating
	// joining
	// disconnecting
	// deregistering
	// destroying-agent
	// unmapping
	// unloading-plugin
	// down true
}

func ExampleNew() {
	_, err := shutdown.New(shutdown.Config{Drain: 1})
	fmt.Println(err)
	// Output: shutdown: drain-deadline and unknown-restart-deadline must be positive: bad-request (KS-TIME-8)
}

// TestOrder is M61: every step in its place, nothing admitted, and no control once
// things are taken apart.
func TestOrder(t *testing.T) {
	spec.Covers(t, "KS-SLOT-11", "KS-SLOT-29", "KS-TIME-1")
	for _, clean := range []bool{true, false} {
		m := machine(t)
		require.True(t, m.Admits() && m.TakesControl())
		m, effects := do(t, m, shutdown.Input{Kind: shutdown.Stop, Now: 10})
		require.Equal(t, []shutdown.Effect{{Do: shutdown.StopAdmission}, {Do: shutdown.Freeze}, {Do: shutdown.Arm, At: 60}}, effects)
		require.False(t, m.Admits())
		require.True(t, m.TakesControl(), "open attempts settle")
		same, effects := do(t, m, shutdown.Input{Kind: shutdown.Stop, Now: 40})
		require.Equal(t, m, same)
		require.Empty(t, effects)
		now, reason := sm.Time(20), spec.Reason("")
		if clean {
			m, effects = do(t, m, shutdown.Input{Kind: shutdown.Settled, Now: now})
		} else {
			same, effects = do(t, m, shutdown.Input{Kind: shutdown.Due, Now: 59})
			require.Equal(t, m, same)
			require.Empty(t, effects)
			now, reason = 60, shutdown.DrainDeadline
			m, effects = do(t, m, shutdown.Input{Kind: shutdown.Due, Now: now})
		}
		require.Equal(t, []shutdown.Effect{{Do: shutdown.Arm, At: now + 100}, {Do: shutdown.Carry, Of: shutdown.Isolating, Reason: reason}}, effects)
		require.Equal(t, clean, m.Clean())
		for i, s := range steps {
			require.Equal(t, s, m.State())
			require.False(t, m.Admits() || m.TakesControl())
			for _, other := range append(slices.Clone(steps), shutdown.Running, shutdown.Draining, shutdown.Down, 99) {
				if other != s {
					_, _, err := m.Step(shutdown.Input{Kind: shutdown.Done, Of: other}, nil)
					require.ErrorIs(t, err, &sm.Refusal{Reason: sm.WrongState})
				}
			}
			m, effects = do(t, m, shutdown.Input{Kind: shutdown.Done, Of: s})
			want := shutdown.Effect{Do: shutdown.Exit}
			if i+1 < len(steps) {
				want = shutdown.Effect{Do: shutdown.Carry, Of: steps[i+1]}
			}
			require.Equal(t, []shutdown.Effect{want}, effects)
		}
		require.Equal(t, shutdown.Down, m.State())
	}
}

// TestBlockedOrFailed: a step that blocks or fails lets nothing go after it.
func TestBlockedOrFailed(t *testing.T) {
	spec.Covers(t, "KS-SLOT-11", "KS-SLOT-29", "KS-TIME-1")
	m := machine(t)
	m, _ = do(t, m, shutdown.Input{Kind: shutdown.Stop})
	m, _ = do(t, m, shutdown.Input{Kind: shutdown.Due, Now: 50})
	for _, s := range steps {
		early, effects := do(t, m, shutdown.Input{Kind: shutdown.Due, Now: 149})
		require.Equal(t, m, early)
		require.Empty(t, effects)
		for _, in := range []shutdown.Input{{Kind: shutdown.Due, Now: 150}, {Kind: shutdown.Failed, Of: s}} {
			end, effects := do(t, m, in)
			require.Len(t, effects, 1)
			require.Equal(t, shutdown.Force, effects[0].Do)
			require.Equal(t, s, effects[0].Of)
			require.Equal(t, in.Kind == shutdown.Due, effects[0].Reason == shutdown.RestartDeadline)
			require.Equal(t, shutdown.Forced, end.State())
			for _, late := range []shutdown.Input{{Kind: shutdown.Due, Now: 999}, {Kind: shutdown.Stop}, {Kind: shutdown.Settled}} {
				same, effects := do(t, end, late)
				require.Equal(t, end, same)
				require.Empty(t, effects)
			}
			_, _, err := end.Step(shutdown.Input{Kind: shutdown.Done, Of: s}, nil)
			require.ErrorIs(t, err, &sm.Refusal{Reason: sm.WrongState}, "a step that ends late starts no other")
		}
		m, _ = do(t, m, shutdown.Input{Kind: shutdown.Done, Of: s})
	}
}

// TestDrain is F81: what was refused and what arrives during the drain never keep it
// from ending.
func TestDrain(t *testing.T) {
	m := machine(t)
	m, _ = do(t, m, shutdown.Input{Kind: shutdown.Stop})
	require.False(t, m.Admits(), "a request in mid-drain is refused and is no part of it")
	m, effects := do(t, m, shutdown.Input{Kind: shutdown.Settled, Now: 1})
	require.Equal(t, shutdown.Carry, effects[1].Do)
	require.Empty(t, effects[1].Reason)
	require.True(t, m.Clean())
}

func TestRefusals(t *testing.T) {
	spec.Covers(t, "KS-TIME-8")
	for _, c := range []shutdown.Config{{}, {Rest: 1}, {Drain: -1, Rest: 1}} {
		_, err := shutdown.New(c)
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	}
	m := machine(t)
	for _, k := range []shutdown.Kind{0, 9} {
		_, _, err := m.Step(shutdown.Input{Kind: k}, nil)
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	}
	for _, k := range []shutdown.Kind{shutdown.Settled, shutdown.Due} {
		same, effects := do(t, m, shutdown.Input{Kind: k, Now: 1e9})
		require.Equal(t, m, same)
		require.Empty(t, effects)
	}
	require.Equal(t, "forced invalid", fmt.Sprint(shutdown.Forced, shutdown.State(99)))
}

// walk applies random inputs and reports what is wrong about the order.
func walk(rt *rapid.T, m shutdown.Machine) (broken []string) {
	now, next := sm.Time(0), 0
	began := false
	for range rapid.IntRange(0, 40).Draw(rt, "steps") {
		now += sm.Time(rapid.IntRange(0, 30).Draw(rt, "pass"))
		in := shutdown.Input{Kind: shutdown.Kind(rapid.IntRange(0, 6).Draw(rt, "kind")), Of: m.State(), Now: now}
		if rapid.IntRange(0, 3).Draw(rt, "other") == 0 {
			in.Of = shutdown.State(rapid.IntRange(0, 12).Draw(rt, "of"))
		}
		after, effects, err := m.Step(in, nil)
		if err != nil {
			require.Equal(rt, m, after)
			require.Empty(rt, effects)
			continue
		}
		if !began && len(effects) > 0 {
			require.Equal(rt, shutdown.StopAdmission, effects[0].Do)
			began = true
		}
		for _, e := range effects {
			if e.Do != shutdown.Carry {
				continue
			}
			if next >= len(steps) || steps[next] != e.Of {
				broken = append(broken, "order")
				next = slices.Index(steps, e.Of)
			}
			next++
		}
		m = after
	}
	// Whatever happened, it ends.
	if began {
		for range 2 {
			now += 200
			m, _ = do(rt, m, shutdown.Input{Kind: shutdown.Due, Now: now})
		}
		if m.State() != shutdown.Down && m.State() != shutdown.Forced {
			broken = append(broken, "hangs")
		}
	}
	return broken
}

func TestAnySequence(t *testing.T) {
	spec.Covers(t, "KS-SLOT-11", "KS-SLOT-29")
	rapid.Check(t, func(rt *rapid.T) { require.Empty(rt, walk(rt, machine(rt))) })
}

// TestWrongRules sees I8 and B1 fail in the same walk.
func TestWrongRules(t *testing.T) {
	for rule, want := range map[wrong.Rules]string{wrong.FreeOnTimeout: "order", wrong.NoDeadline: "hangs"} {
		found := map[string]bool{}
		rapid.Check(t, func(rt *rapid.T) {
			for _, b := range walk(rt, machine(rt).WithWrongRules(rule)) {
				found[b] = true
			}
		})
		require.True(t, found[want], "%b: %v", rule, found)
	}
}
