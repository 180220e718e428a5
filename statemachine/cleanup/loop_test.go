package cleanup_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/cleanup"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

func loop(t require.TestingT) cleanup.Loop {
	l, err := cleanup.NewLoop(50)
	require.NoError(t, err)
	return l
}

func turn(t require.TestingT, l cleanup.Loop, in cleanup.LoopInput) (cleanup.Loop, []cleanup.LoopEffect) {
	next, effects, err := l.Step(in, nil)
	require.NoError(t, err)
	return next, effects
}

func kinds(effects []cleanup.LoopEffect) (out []cleanup.LoopDo) {
	for _, e := range effects {
		out = append(out, e.Do)
	}
	return out
}

func ExampleLoop() {
	l, err := cleanup.NewLoop(2e9)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range []cleanup.LoopInput{
		{Kind: cleanup.Tick}, {Kind: cleanup.Polled}, {Kind: cleanup.Polled}, {Kind: cleanup.Counted, Any: true}, {Kind: cleanup.Done},
	} {
		l, _, _ = l.Step(in, nil)
		fmt.Println(l.Phase())
	}
	// Output:
	// polling-ctx
	// polling-gen
	// voting
	// cleaning
	// idle
}

func ExampleNewLoop() {
	_, err := cleanup.NewLoop(0)
	fmt.Println(err)
	// Output: cleanup: the watchdog's bound must be positive: bad-request (KS-TIME-8)
}

// TestIteration: one order on every rank, with something to clean up and without.
func TestIteration(t *testing.T) {
	spec.Covers(t, "KS-RND-1", "KS-SET-8")
	order := []struct {
		in   cleanup.LoopInput
		want []cleanup.LoopDo
	}{
		{cleanup.LoopInput{Kind: cleanup.Tick}, []cleanup.LoopDo{cleanup.PollCTX}},
		{cleanup.LoopInput{Kind: cleanup.Polled}, []cleanup.LoopDo{cleanup.PollGEN}},
		{cleanup.LoopInput{Kind: cleanup.Polled}, []cleanup.LoopDo{cleanup.Vote}},
		{cleanup.LoopInput{Kind: cleanup.Counted, Any: true, Now: 10}, []cleanup.LoopDo{cleanup.Arm, cleanup.CleanUp}},
		{cleanup.LoopInput{Kind: cleanup.Done}, []cleanup.LoopDo{cleanup.Calm}},
	}
	l := loop(t)
	for i, s := range order {
		for j, other := range order {
			if other.in.Kind != s.in.Kind {
				next, effects, err := l.Step(other.in, nil)
				require.ErrorIs(t, err, &sm.Refusal{Reason: sm.WrongState}, "%d %d", i, j)
				require.Equal(t, l, next)
				require.Empty(t, effects)
			}
		}
		var effects []cleanup.LoopEffect
		l, effects = turn(t, l, s.in)
		require.Equal(t, s.want, kinds(effects))
		if i == 3 {
			require.Equal(t, sm.Time(60), effects[0].At)
		}
	}
	require.Equal(t, loop(t).Phase(), l.Phase())
	for range 2 { // nothing to release: no clean-up
		l, _ = turn(t, l, cleanup.LoopInput{Kind: cleanup.Tick})
		l, _ = turn(t, l, cleanup.LoopInput{Kind: cleanup.Polled})
		l, _ = turn(t, l, cleanup.LoopInput{Kind: cleanup.Polled})
		var effects []cleanup.LoopEffect
		l, effects = turn(t, l, cleanup.LoopInput{Kind: cleanup.Counted})
		require.Empty(t, effects)
	}
}

func cleaning(t require.TestingT, l cleanup.Loop) cleanup.Loop {
	for _, in := range []cleanup.LoopInput{{Kind: cleanup.Tick}, {Kind: cleanup.Polled}, {Kind: cleanup.Polled}, {Kind: cleanup.Counted, Any: true}} {
		l, _ = turn(t, l, in)
	}
	require.Equal(t, cleanup.Cleaning, l.Phase())
	return l
}

// TestWatchdog: a clean-up that blocks quarantines its executor, frees nothing, and
// keeps no shutdown waiting (F83).
func TestWatchdog(t *testing.T) {
	spec.Covers(t, "KS-TIME-1", "KS-SLOT-11")
	for _, stopFirst := range []bool{false, true} {
		l := cleaning(t, loop(t))
		if stopFirst {
			var effects []cleanup.LoopEffect
			l, effects = turn(t, l, cleanup.LoopInput{Kind: cleanup.Stop})
			require.Empty(t, effects, "not in the middle of a clean-up")
		}
		same, effects := turn(t, l, cleanup.LoopInput{Kind: cleanup.Due, Now: 49})
		require.Equal(t, l, same)
		require.Empty(t, effects)
		l, effects = turn(t, l, cleanup.LoopInput{Kind: cleanup.Due, Now: 50})
		require.Equal(t, cleanup.LoopEffect{Do: cleanup.Quarantine, At: 50, Reason: cleanup.CleanUpBlocked}, effects[0])
		if !stopFirst {
			require.Equal(t, cleanup.Quarantined, l.Phase())
			require.Len(t, effects, 1)
			_, _, err := l.Step(cleanup.LoopInput{Kind: cleanup.Done}, nil)
			require.ErrorIs(t, err, &sm.Refusal{Reason: sm.PoolClosed}, "a clean-up that ends late does nothing")
			l, effects = turn(t, l, cleanup.LoopInput{Kind: cleanup.Stop})
		}
		require.Equal(t, cleanup.Close, effects[len(effects)-1].Do)
		require.Equal(t, cleanup.Closed, l.Phase())
		for _, k := range []cleanup.LoopKind{cleanup.Tick, cleanup.Polled, cleanup.Counted, cleanup.Done, cleanup.Control, 0, 99} {
			_, _, err := l.Step(cleanup.LoopInput{Kind: k}, nil)
			require.ErrorIs(t, err, &sm.Refusal{Reason: sm.PoolClosed})
		}
		for _, k := range []cleanup.LoopKind{cleanup.Stop, cleanup.Due} {
			same, effects := turn(t, l, cleanup.LoopInput{Kind: k, Now: 999})
			require.Equal(t, l, same)
			require.Empty(t, effects)
		}
	}
}

// TestControlAndShutdownNeverRace: both wait for the end of the iteration, control
// first, and after the shutdown there is no control.
func TestControlAndShutdownNeverRace(t *testing.T) {
	spec.Covers(t, "KS-SLOT-11")
	l := loop(t)
	l, effects := turn(t, l, cleanup.LoopInput{Kind: cleanup.Control})
	require.Equal(t, []cleanup.LoopDo{cleanup.TakeControl}, kinds(effects), "at once between iterations, without a forward pass")
	l, _ = turn(t, l, cleanup.LoopInput{Kind: cleanup.Tick})
	l, effects = turn(t, l, cleanup.LoopInput{Kind: cleanup.Control})
	require.Empty(t, effects)
	l, effects = turn(t, l, cleanup.LoopInput{Kind: cleanup.Stop})
	require.Empty(t, effects)
	_, _, err := l.Step(cleanup.LoopInput{Kind: cleanup.Control}, nil)
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.PoolClosed})
	l, _ = turn(t, l, cleanup.LoopInput{Kind: cleanup.Polled})
	l, _ = turn(t, l, cleanup.LoopInput{Kind: cleanup.Polled})
	l, effects = turn(t, l, cleanup.LoopInput{Kind: cleanup.Counted})
	require.Equal(t, []cleanup.LoopDo{cleanup.TakeControl, cleanup.Close}, kinds(effects))
	require.Equal(t, cleanup.Closed, l.Phase())
	idle, effects := turn(t, loop(t), cleanup.LoopInput{Kind: cleanup.Stop})
	require.Equal(t, []cleanup.LoopDo{cleanup.Close}, kinds(effects))
	require.Equal(t, cleanup.Closed, idle.Phase())
	require.Equal(t, "idle polling-ctx polling-gen voting cleaning quarantined closed invalid", fmt.Sprint(cleanup.Idle, cleanup.PollingCTX,
		cleanup.PollingGEN, cleanup.Voting, cleanup.Cleaning, cleanup.Quarantined, cleanup.Closed, cleanup.Phase(99)))
}

// roam applies random inputs and reports broken promises.
func roam(rt *rapid.T, l cleanup.Loop) (broken []string) {
	note := func(ok bool, what string) {
		if !ok {
			broken = append(broken, what)
		}
	}
	now, end := sm.Time(0), sm.Time(0)
	last := cleanup.LoopDo(0)
	closed, stopped, busy := 0, false, false
	for range rapid.IntRange(0, 50).Draw(rt, "steps") {
		now += sm.Time(rapid.IntRange(0, 30).Draw(rt, "pass"))
		in := cleanup.LoopInput{Kind: cleanup.LoopKind(rapid.IntRange(0, 8).Draw(rt, "kind")), Any: rapid.Bool().Draw(rt, "any"), Now: now}
		next, effects, err := l.Step(in, nil)
		if err != nil {
			require.Equal(rt, l, next)
			require.Empty(rt, effects)
			continue
		}
		stopped = stopped || in.Kind == cleanup.Stop
		if in.Kind == cleanup.Done {
			busy = false
		}
		for _, e := range effects {
			note(closed == 0, "after the close")
			switch e.Do {
			case cleanup.PollGEN:
				note(last == cleanup.PollCTX, "order")
			case cleanup.Vote:
				note(last == cleanup.PollGEN, "order")
			case cleanup.CleanUp:
				note(last == cleanup.Vote, "cleaned up without a vote")
				busy = true
			case cleanup.Arm:
				end = e.At
			case cleanup.TakeControl:
				note(next.Phase() == cleanup.Idle || next.Phase() == cleanup.Closed, "control in mid-iteration")
				note(!busy, "control in mid-iteration")
			case cleanup.Quarantine:
				note(now >= end && busy, "early")
				busy = false
			case cleanup.Close:
				closed++
				note(stopped && !busy, "shutdown in mid-clean-up")
			}
			if e.Do <= cleanup.Vote {
				last = e.Do
			}
		}
		l = next
	}
	if busy { // whatever blocks, the shutdown comes through
		l, _ = turn(rt, l, cleanup.LoopInput{Kind: cleanup.Stop})
		l, _ = turn(rt, l, cleanup.LoopInput{Kind: cleanup.Due, Now: end})
		note(l.Phase() == cleanup.Closed, "hangs")
	}
	return broken
}

func TestAnyLoop(t *testing.T) {
	spec.Covers(t, "KS-RND-1", "KS-SET-8", "KS-SLOT-11", "KS-TIME-1")
	rapid.Check(t, func(rt *rapid.T) { require.Empty(rt, roam(rt, loop(rt))) })
}

// TestWrongLoops sees I11 and B1 fail in the same walk.
func TestWrongLoops(t *testing.T) {
	for rule, want := range map[wrong.Rules]string{wrong.DecideAlone: "cleaned up without a vote", wrong.NoDeadline: "hangs"} {
		found := map[string]bool{}
		rapid.Check(t, func(rt *rapid.T) {
			for _, b := range roam(rt, loop(rt).WithWrongRules(rule)) {
				found[b] = true
			}
		})
		require.True(t, found[want], "%b: %v", rule, found)
	}
}

func TestNoAllocation(t *testing.T) {
	dst, loops := make([]cleanup.Effect, 0, 2), make([]cleanup.LoopEffect, 0, 4)
	l := loop(t)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		r, _, _ := cleanup.Request{}.Step(cleanup.Input{Kind: cleanup.Take, Owners: cleanup.Transceiver}, dst)
		r, _, _ = r.Step(cleanup.Input{Kind: cleanup.Native, Outcome: sm.Completed}, dst)
		r, _, _ = r.Step(cleanup.Input{Kind: cleanup.Leave, Owners: cleanup.Transceiver}, dst)
		_, _, err := r.Step(cleanup.Input{Kind: cleanup.Cleaned}, dst)
		if !r.Ready() || err == nil {
			t.Fatal(r)
		}
		x, _, _ := l.Step(cleanup.LoopInput{Kind: cleanup.Tick}, loops)
		if x.Phase() != cleanup.PollingCTX {
			t.Fatal(x)
		}
	}))
}
