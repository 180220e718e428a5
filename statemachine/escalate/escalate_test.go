package escalate_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/escalate"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// TestMain raises rapid's number of checks where the command line does not set it.
func TestMain(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid.checks" })
	if !set {
		_ = flag.Set("rapid.checks", "1000")
	}
	os.Exit(m.Run())
}

func process(t require.TestingT, budget uint32) escalate.Process {
	p, err := escalate.New(escalate.Config{Budget: budget, Deadline: 100})
	require.NoError(t, err)
	return p
}

func do(t require.TestingT, p escalate.Process, in escalate.Input) (escalate.Process, []escalate.Effect) {
	next, effects, err := p.Step(in, nil)
	require.NoError(t, err)
	return next, effects
}

func ExampleProcess() {
	p, err := escalate.New(escalate.Config{Budget: 1, Deadline: 5e9})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		p, _, _ = p.Step(escalate.Input{Kind: escalate.Quarantined, Cause: escalate.LostNotice}, nil)
		fmt.Println(p.State(), p.Charged())
	}
	p, _, _ = p.Step(escalate.Input{Kind: escalate.Answered}, nil)
	fmt.Println(p.State(), p.Reason())
	// Output:
	// healthy 1
	// unhealthy 2
	// leaving pool-unhealthy
}

func ExampleNew() {
	_, err := escalate.New(escalate.Config{})
	fmt.Println(err)
	// Output: escalate: unknown-restart-deadline must be positive: bad-request (KS-TIME-8)
}

// A sender of broken frames is cut off, and comes back when nothing of the broken
// connection can arrive any more.
func ExampleNewSenders() {
	s, err := escalate.NewSenders[string](escalate.SenderConfig{Limit: 64, Pause: 40, Returns: 1, Window: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	cut, _ := s.Fault("gen-0", 7, 0)
	s.Settled("gen-0", 7)
	fmt.Println(cut, s.Admits("gen-0", 7, 39), s.Admits("gen-0", 7, 40))
	// Output: true false true
}

func ExampleNewBudget() {
	b, err := escalate.NewBudget(2, 100)
	fmt.Println(b.Spend(0), b.Spend(10), b.Spend(20), err)
	// Output: 0 10 100 <nil>
}

// TestEscalation: the order of the effects, each once, and force at the deadline.
func TestEscalation(t *testing.T) {
	spec.Covers(t, "KS-SET-10", "KS-TIME-11", "KS-SLOT-5")
	for name, in := range map[string]escalate.Input{
		"plain unknown": {Kind: escalate.Unknown, Unproven: true, Reason: settle.PeerUnknown, Now: 7},
		"over budget":   {Kind: escalate.OverBudget, Reason: settle.PeerUnknown, Now: 7},
		"stuck":         {Kind: escalate.Stuck, Reason: settle.PeerUnknown, Now: 7},
	} {
		t.Run(name, func(t *testing.T) {
			p := process(t, 1)
			require.True(t, p.Admits())
			p, effects := do(t, p, in)
			want := func(d escalate.Do) escalate.Effect {
				return escalate.Effect{Do: d, At: 107, Reason: settle.PeerUnknown}
			}
			require.Equal(t, []escalate.Effect{want(escalate.StopAdmission), want(escalate.EndOpen), want(escalate.Arm)}, effects)
			require.Equal(t, escalate.Unhealthy, p.State())
			require.False(t, p.Admits())
			// A second finding changes neither reason nor deadline.
			same, effects := do(t, p, escalate.Input{Kind: escalate.OverBudget, Reason: sm.PoolUnhealthy, Now: 50})
			require.Equal(t, p, same)
			require.Empty(t, effects)
			early, effects := do(t, p, escalate.Input{Kind: escalate.Due, Now: 106})
			require.Equal(t, p, early)
			require.Empty(t, effects)
			// Whoever answers in time is asked, whoever does not is forced.
			left, effects := do(t, p, escalate.Input{Kind: escalate.Answered, Now: 60})
			require.Equal(t, []escalate.Effect{want(escalate.AskExit)}, effects)
			require.Equal(t, escalate.Leaving, left.State())
			again, effects := do(t, left, escalate.Input{Kind: escalate.Answered, Now: 60})
			require.Equal(t, left, again)
			require.Empty(t, effects)
			for _, x := range []escalate.Process{p, left} {
				x, effects = do(t, x, escalate.Input{Kind: escalate.Due, Now: 107})
				require.Equal(t, []escalate.Effect{want(escalate.Force)}, effects)
				require.Equal(t, escalate.Forced, x.State())
				same, effects = do(t, x, escalate.Input{Kind: escalate.Due, Now: 1000})
				require.Equal(t, x, same)
				require.Empty(t, effects)
				same, effects = do(t, x, escalate.Input{Kind: escalate.Answered})
				require.Equal(t, x, same)
				require.Empty(t, effects)
			}
		})
	}
}

// TestWhatCostsNoProcess: doubts that end nothing, however often (D5).
func TestWhatCostsNoProcess(t *testing.T) {
	spec.Covers(t, "KS-SET-10", "KS-SLOT-23", "KS-SEC-3")
	for _, in := range []escalate.Input{
		{Kind: escalate.Proposal},
		{Kind: escalate.Fault},
		{Kind: escalate.Unknown},
		{Kind: escalate.Unknown, X49: true, Unproven: true}, // the pool's budget decides
		{Kind: escalate.Quarantined, Cause: escalate.Slow},
		{Kind: escalate.Due, Now: 1e9},
	} {
		p := process(t, 0)
		for range 100_000 {
			var effects []escalate.Effect
			p, effects = do(t, p, in)
			if len(effects) != 0 || !p.Admits() {
				t.Fatalf("%+v ended a process", in)
			}
		}
	}
}

// TestBudget is F79: up to the budget service goes on and late proof returns the
// slot; over it the process leaves in order.
func TestBudget(t *testing.T) {
	spec.Covers(t, "KS-SLOT-5", "KS-SLOT-22", "KS-SLOT-23", "KS-SLOT-6")
	const budget = 3
	for _, cause := range []escalate.Cause{escalate.Dead, escalate.LostNotice} {
		p := process(t, budget)
		for range budget {
			var effects []escalate.Effect
			p, effects = do(t, p, escalate.Input{Kind: escalate.Quarantined, Cause: cause})
			require.Empty(t, effects)
		}
		require.True(t, p.Admits())
		p, _ = do(t, p, escalate.Input{Kind: escalate.Proven, Cause: cause})
		p, _ = do(t, p, escalate.Input{Kind: escalate.Quarantined, Cause: escalate.Slow})
		p, effects := do(t, p, escalate.Input{Kind: escalate.Retired, Cause: cause})
		require.Empty(t, effects)
		require.Equal(t, uint32(2), p.Charged(), "one held, one retired")
		p, effects = do(t, p, escalate.Input{Kind: escalate.Stalled, Cause: cause})
		require.Empty(t, effects)
		p, effects = do(t, p, escalate.Input{Kind: escalate.Quarantined, Cause: cause})
		require.NotEmpty(t, effects)
		require.Equal(t, escalate.StopAdmission, effects[0].Do)
		require.Equal(t, sm.PoolUnhealthy, p.Reason())
		// Late proof returns slots, not health.
		p, effects = do(t, p, escalate.Input{Kind: escalate.Proven, Cause: cause})
		require.Empty(t, effects)
		require.False(t, p.Admits())
	}
}

func TestRefusals(t *testing.T) {
	spec.Covers(t, "KS-SLOT-23", "KS-TIME-8")
	p := process(t, 1)
	for _, in := range []escalate.Input{
		{}, {Kind: 99}, {Kind: escalate.Quarantined, Cause: 3}, {Kind: escalate.Proven}, {Kind: escalate.Retired, Cause: escalate.Dead},
		{Kind: escalate.Stalled, Cause: escalate.Dead}, {Kind: escalate.Answered},
	} {
		next, effects, err := p.Step(in, nil)
		require.Error(t, err)
		require.Equal(t, p, next)
		require.Empty(t, effects)
	}
	p, _ = do(t, p, escalate.Input{Kind: escalate.Quarantined})
	_, _, err := p.Step(escalate.Input{Kind: escalate.Stalled}, nil)
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest}, "slow to slow")
	require.Equal(t, uint32(1), p.Held(escalate.Slow))
	require.Zero(t, p.Held(9))
	require.Equal(t, "healthy unhealthy leaving forced invalid", fmt.Sprint(escalate.Healthy, escalate.Unhealthy, escalate.Leaving, escalate.Forced, escalate.State(9)))
	require.Equal(t, "slow dead lost-notice invalid", fmt.Sprint(escalate.Slow, escalate.Dead, escalate.LostNotice, escalate.Cause(9)))
}

// TestAnySequence: one of each effect, in order; conservation of what is held; forced
// at the latest at the deadline.
func TestAnySequence(t *testing.T) {
	spec.Covers(t, "KS-SET-10", "KS-TIME-11")
	rapid.Check(t, func(rt *rapid.T) {
		budget := rapid.Uint32Range(0, 3).Draw(rt, "budget")
		p := process(rt, budget)
		seen := map[escalate.Do]int{}
		var held [3]int
		retired, now, found := 0, sm.Time(0), sm.Time(-1)
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			now += sm.Time(rapid.IntRange(0, 40).Draw(rt, "pass"))
			in := escalate.Input{
				Kind: escalate.Kind(rapid.IntRange(0, 12).Draw(rt, "kind")), Cause: escalate.Cause(rapid.IntRange(0, 3).Draw(rt, "cause")),
				Unproven: rapid.Bool().Draw(rt, "unproven"), X49: rapid.Bool().Draw(rt, "x49"), Now: now, Reason: "r",
			}
			next, effects, err := p.Step(in, nil)
			if err != nil {
				require.Equal(rt, p, next)
				require.Empty(rt, effects)
				continue
			}
			switch in.Kind {
			case escalate.Quarantined:
				held[in.Cause]++
			case escalate.Stalled:
				held[escalate.Slow]--
				held[in.Cause]++
			case escalate.Proven, escalate.Retired:
				held[in.Cause]--
				if in.Kind == escalate.Retired {
					retired++
				}
			}
			charged := held[escalate.Dead] + held[escalate.LostNotice] + retired
			fails := charged > int(budget) || in.Kind == escalate.OverBudget || in.Kind == escalate.Stuck ||
				in.Kind == escalate.Unknown && in.Unproven && !in.X49
			if fails && found < 0 {
				found = now
			}
			for _, x := range effects {
				seen[x.Do]++
				require.Equal(rt, 1, seen[x.Do], "once")
				require.Equal(rt, 1, seen[escalate.StopAdmission], "admission stops first")
				if x.Do == escalate.Force {
					require.GreaterOrEqual(rt, now, found+100)
				}
			}
			p = next
			for c, n := range held {
				require.Equal(rt, uint32(n), p.Held(escalate.Cause(c)))
			}
			require.Equal(rt, uint32(charged), p.Charged())
			require.Equal(rt, found < 0, p.Admits())
		}
		if found >= 0 {
			p, _ = do(rt, p, escalate.Input{Kind: escalate.Due, Now: found + 100})
			require.Equal(rt, escalate.Forced, p.State())
		}
	})
}

// TestWrongRules sees B2 and B1 fail.
func TestWrongRules(t *testing.T) {
	p := process(t, 0).WithWrongRules(wrong.NoRestart)
	for _, in := range []escalate.Input{{Kind: escalate.Unknown, Unproven: true}, {Kind: escalate.OverBudget}, {Kind: escalate.Quarantined, Cause: escalate.Dead}} {
		var effects []escalate.Effect
		p, effects = do(t, p, in)
		require.Empty(t, effects)
		require.True(t, p.Admits())
	}
	p, _ = do(t, process(t, 0).WithWrongRules(wrong.NoDeadline), escalate.Input{Kind: escalate.OverBudget})
	p, _ = do(t, p, escalate.Input{Kind: escalate.Due, Now: 1e9})
	require.Equal(t, escalate.Unhealthy, p.State())
}

func senders(t require.TestingT, limit int) *escalate.Senders[string] {
	s, err := escalate.NewSenders[string](escalate.SenderConfig{Limit: limit, Pause: 40, Returns: 2, Window: 1000})
	require.NoError(t, err)
	return s
}

func fault(t require.TestingT, s *escalate.Senders[string], name string, epoch uint64, now sm.Time) bool {
	cut, err := s.Fault(name, epoch, now)
	require.NoError(t, err)
	return cut
}

// TestBrokenFrame: one sender is cut off, once, and nobody else.
func TestBrokenFrame(t *testing.T) {
	spec.Covers(t, "KS-CTL-19", "KS-CTL-24", "KS-SEC-3")
	s := senders(t, 4)
	require.True(t, s.Admits("a", 1, 0))
	require.True(t, fault(t, s, "a", 1, 10))
	for range 1000 {
		require.False(t, fault(t, s, "a", 1, 10), "the bindings are doubted once")
	}
	require.False(t, s.Admits("a", 1, 10))
	require.True(t, s.Admits("b", 1, 10))
	require.Equal(t, escalate.SenderCounts{Known: 1, Cut: 1, Faults: 1001}, s.Counts())
	require.False(t, s.Admits("a", 1, 9999), "its bindings are not settled")
	s.Settled("a", 2)
	s.Settled("b", 1)
	require.False(t, s.Admits("a", 1, 9999))
	s.Settled("a", 1)
	require.False(t, s.Admits("a", 1, 49))
	require.True(t, s.Admits("a", 1, 50))
	require.Zero(t, s.Counts().Cut)
	// The third fault within the window is the last one for this incarnation.
	require.True(t, fault(t, s, "a", 1, 60))
	s.Settled("a", 1)
	require.True(t, s.Admits("a", 1, 100))
	require.True(t, fault(t, s, "a", 1, 110))
	s.Settled("a", 1)
	require.False(t, s.Admits("a", 1, 1e9))
	// A new incarnation starts anew.
	require.True(t, s.Admits("a", 2, 111))
	require.True(t, fault(t, s, "a", 2, 112))
	require.Equal(t, 1, s.Counts().Cut)
	s.Settled("a", 2)
	require.True(t, s.Admits("a", 2, 152))
	// Old faults are forgotten.
	require.True(t, fault(t, s, "a", 2, 2000))
	s.Settled("a", 2)
	require.True(t, s.Admits("a", 2, 2040))
}

func TestSendersAreBounded(t *testing.T) {
	spec.Covers(t, "KS-TIME-18", "KS-SEC-3")
	s := senders(t, 2)
	fault(t, s, "a", 1, 0)
	fault(t, s, "b", 1, 0)
	_, err := s.Fault("c", 1, 0)
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.RegistryFull})
	require.Equal(t, escalate.SenderCounts{Known: 2, Cut: 2, Faults: 3, Overflow: 1}, s.Counts())
	require.Zero(t, s.Sweep(9999), "who is cut off is not forgotten")
	require.True(t, s.Forget("a"))
	require.False(t, s.Forget("a"))
	require.Equal(t, 1, s.Counts().Cut)
	s.Settled("b", 1)
	require.True(t, s.Admits("b", 1, 40))
	require.Zero(t, s.Sweep(1000))
	require.Equal(t, 1, s.Sweep(1001))
	for _, bad := range []escalate.SenderConfig{{}, {Limit: 1}, {Limit: 1, Pause: 1}, {Limit: 1, Pause: 1, Window: 1, Returns: -1}} {
		_, err := escalate.NewSenders[string](bad)
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	}
}

// TestRestartBudget: never more than the budget starts within one window.
func TestRestartBudget(t *testing.T) {
	spec.Covers(t, "KS-TIME-18")
	for _, n := range []int{0, -1, escalate.MaxRestarts + 1} {
		_, err := escalate.NewBudget(n, 1)
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	}
	_, err := escalate.NewBudget(1, 0)
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	rapid.Check(t, func(rt *rapid.T) {
		restarts := rapid.IntRange(1, 4).Draw(rt, "restarts")
		b, err := escalate.NewBudget(restarts, 100)
		require.NoError(rt, err)
		now := sm.Time(0)
		var starts []sm.Time
		for range rapid.IntRange(0, 30).Draw(rt, "deaths") {
			start := b.Spend(now)
			require.GreaterOrEqual(rt, start, now)
			starts = append(starts, start)
			if i := len(starts) - 1 - restarts; i >= 0 {
				require.GreaterOrEqual(rt, start-starts[i], sm.Time(100))
			} else {
				require.Equal(rt, now, start)
			}
			now = start + sm.Time(rapid.IntRange(0, 60).Draw(rt, "life"))
		}
	})
}
