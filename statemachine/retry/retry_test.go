package retry_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
	"github.com/kvsettle/kvsettle/statemachine/retry"
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

const ms sm.Time = 1e6

// defaults are the settings of the table of waits.
var defaults = settle.Settings{Control: 2000 * ms, RetryFirst: 50 * ms, RetryMax: 1000 * ms}

func do(t require.TestingT, e retry.Exchange, in retry.Input) (retry.Exchange, []retry.Effect) {
	next, effects, err := e.Step(&defaults, in, nil)
	require.NoError(t, err)
	return next, effects
}

func refused(t require.TestingT, e retry.Exchange, in retry.Input, reason spec.Reason) {
	kept := []retry.Effect{{Do: retry.Calm, ID: 9}}
	next, effects, err := e.Step(&defaults, in, kept)
	require.ErrorIs(t, err, &sm.Refusal{Reason: reason})
	require.Equal(t, e, next)
	require.Equal(t, kept, effects)
}

func ExampleExchange() {
	var e retry.Exchange
	e, effects, _ := e.Step(&defaults, retry.Input{Kind: retry.Start, ID: 1, Now: 0}, nil)
	for e.Open() {
		at := effects[len(effects)-1].At
		e, effects, _ = e.Step(&defaults, retry.Input{Kind: retry.Due, Now: at}, nil)
		fmt.Println(at/ms, effects[0].Do == retry.Send, e.State())
	}
	fmt.Println(e.Reason())
	// Output:
	// 50 true waiting
	// 150 true waiting
	// 350 true waiting
	// 750 true waiting
	// 1550 true last
	// 2000 false exhausted
	// retry-exhausted
}

// TestPauses: 50 ms doubling to 1 s, the same id each time.
func TestPauses(t *testing.T) {
	spec.Covers(t, "KS-REG-13", "KS-CTL-22", "KS-REG-14", "KS-TIME-4")
	e, effects := do(t, retry.Exchange{}, retry.Input{Kind: retry.Start, ID: 7, Now: 5, End: 5 + 60_000*ms})
	require.Equal(t, []retry.Effect{{Do: retry.Send, ID: 7}, {Do: retry.Wake, ID: 7, At: 5 + 50*ms}}, effects)
	now := sm.Time(5)
	for i, pause := range []sm.Time{50, 100, 200, 400, 800, 1000, 1000, 1000} {
		now += pause * ms
		same, early := do(t, e, retry.Input{Kind: retry.Due, Now: now - 1})
		require.Equal(t, e, same)
		require.Equal(t, []retry.Effect{{Do: retry.Wake, ID: 7, At: now}}, early)
		e, effects = do(t, e, retry.Input{Kind: retry.Due, Now: now})
		require.Equal(t, retry.Effect{Do: retry.Send, ID: 7, Again: true}, effects[0])
		require.Equal(t, uint8(i+1), e.Resends())
	}
	require.Equal(t, uint64(7), e.ID())
}

func TestReceiptsStopAndProveNothing(t *testing.T) {
	spec.Covers(t, "KS-SET-9", "KS-REG-14")
	e, _ := do(t, retry.Exchange{}, retry.Input{Kind: retry.Start, ID: 7})
	same, effects := do(t, e, retry.Input{Kind: retry.Receipt, ID: 6})
	require.Equal(t, e, same, "for an earlier message")
	require.Equal(t, []retry.Effect{{Do: retry.Stray, ID: 6}}, effects)
	refused(t, e, retry.Input{Kind: retry.Receipt, ID: 8}, settle.ProtocolError)
	done, effects := do(t, e, retry.Input{Kind: retry.Receipt, ID: 7})
	require.Equal(t, retry.Answered, done.State())
	require.Equal(t, []retry.Effect{{Do: retry.Calm, ID: 7}}, effects)
	require.Empty(t, done.Reason())
	// Nothing is sent after it.
	later, effects := do(t, done, retry.Input{Kind: retry.Due, Now: deadline.Never})
	require.Equal(t, done, later)
	require.Equal(t, []retry.Effect{{Do: retry.Stray, ID: 7}}, effects)
	// The next message is a new exchange, with a higher id.
	refused(t, done, retry.Input{Kind: retry.Start, ID: 7}, sm.BadRequest)
	again, _ := do(t, done, retry.Input{Kind: retry.Start, ID: 8, Now: 100})
	require.True(t, again.Open())
}

// TestEvidenceFirst: at the same moment, what was given first counts, and UNKNOWN is
// final.
func TestEvidenceFirst(t *testing.T) {
	spec.Covers(t, "KS-TIME-5", "KS-REG-14")
	e, _ := do(t, retry.Exchange{}, retry.Input{Kind: retry.Start, ID: 1})
	answered, _ := do(t, e, retry.Input{Kind: retry.Answer})
	answered, effects := do(t, answered, retry.Input{Kind: retry.Due, Now: 2000 * ms})
	require.Equal(t, retry.Answered, answered.State())
	require.NotContains(t, effects, retry.Effect{Do: retry.Exhaust, ID: 1})
	over, effects := do(t, e, retry.Input{Kind: retry.Due, Now: 2000 * ms})
	require.Equal(t, []retry.Effect{{Do: retry.Exhaust, ID: 1}}, effects, "exactly once, and nothing sent")
	for _, in := range []retry.Input{{Kind: retry.Answer}, {Kind: retry.Receipt, ID: 1}, {Kind: retry.Stop}, {Kind: retry.Due, Now: 9999 * ms}} {
		late, effects := do(t, over, in)
		require.Equal(t, over, late)
		require.Equal(t, retry.Stray, effects[0].Do)
	}
}

func TestDeadlinesOnlyShrink(t *testing.T) {
	spec.Covers(t, "KS-TIME-11", "KS-REG-13")
	e, _ := do(t, retry.Exchange{}, retry.Input{Kind: retry.Start, ID: 1})
	refused(t, e, retry.Input{Kind: retry.Limit, End: 2000*ms + 1}, sm.BadRequest)
	e, effects := do(t, e, retry.Input{Kind: retry.Limit, End: 40 * ms})
	require.Equal(t, []retry.Effect{{Do: retry.Wake, ID: 1, At: 40 * ms}}, effects)
	require.Equal(t, retry.Last, e.State())
	e, effects = do(t, e, retry.Input{Kind: retry.Due, Now: 39 * ms})
	require.Equal(t, []retry.Effect{{Do: retry.Wake, ID: 1, At: 40 * ms}}, effects)
	e, _ = do(t, e, retry.Input{Kind: retry.Due, Now: 40 * ms})
	require.Equal(t, retry.Exhausted, e.State())
	refused(t, e, retry.Input{Kind: retry.Limit, End: 1}, sm.WrongState)
	// A re-send that falls on the deadline is none.
	e, effects = do(t, retry.Exchange{}, retry.Input{Kind: retry.Start, ID: 1, End: 50 * ms})
	require.Equal(t, retry.Last, e.State())
	require.Equal(t, retry.Effect{Do: retry.Wake, ID: 1, At: 50 * ms}, effects[1])
}

func TestRefusals(t *testing.T) {
	spec.Covers(t, "KS-CTL-22")
	var idle retry.Exchange
	for _, k := range []retry.Kind{retry.Answer, retry.Receipt, retry.Limit, retry.Stop} {
		refused(t, idle, retry.Input{Kind: k}, sm.WrongState)
	}
	refused(t, idle, retry.Input{Kind: retry.Start}, sm.BadRequest)
	refused(t, idle, retry.Input{Kind: retry.Start, ID: 1, Now: 5, End: 5}, sm.BadRequest)
	refused(t, idle, retry.Input{Kind: 99}, sm.BadRequest)
	_, _, err := idle.Step(&settle.Settings{Control: 1}, retry.Input{Kind: retry.Start, ID: 1}, nil)
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	e, _ := do(t, idle, retry.Input{Kind: retry.Start, ID: 1})
	refused(t, e, retry.Input{Kind: retry.Start, ID: 2}, sm.WrongState)
	stopped, _ := do(t, e, retry.Input{Kind: retry.Stop})
	require.Equal(t, retry.Stopped, stopped.State())
	idle, effects := do(t, idle, retry.Input{Kind: retry.Due})
	require.Equal(t, retry.Exchange{}, idle)
	require.Equal(t, []retry.Effect{{Do: retry.Stray}}, effects)
	for s, want := range []string{"idle", "waiting", "last", "answered", "exhausted", "stopped", "invalid"} {
		require.Equal(t, want, retry.State(s).String())
	}
}

// TestAgainstNaive drives an exchange by its own timer, with delays, and compares
// the times of its sends with the plain rule.
func TestAgainstNaive(t *testing.T) {
	spec.Covers(t, "KS-REG-13", "KS-REG-14", "KS-TIME-12", "KS-TIME-18")
	rapid.Check(t, func(rt *rapid.T) {
		set := settle.Settings{
			Control:    sm.Time(rapid.Int64Range(1, 4000).Draw(rt, "control")),
			RetryFirst: sm.Time(rapid.Int64Range(1, 100).Draw(rt, "first")),
		}
		set.RetryMax = set.RetryFirst + sm.Time(rapid.Int64Range(0, 1000).Draw(rt, "more"))
		start := sm.Time(rapid.Int64Range(0, 1000).Draw(rt, "start"))
		answer := start + sm.Time(rapid.Int64Range(0, 6000).Draw(rt, "answer"))
		late := sm.Time(rapid.Int64Range(0, 20).Draw(rt, "late"))
		e, effects, err := retry.Exchange{}.Step(&set, retry.Input{Kind: retry.Start, ID: 3, Now: start}, nil)
		require.NoError(rt, err)
		now, pause, end := start, set.RetryFirst, start+set.Control
		sends, steps := 1, 0
		for e.Open() {
			steps++
			wake := effects[len(effects)-1]
			require.Equal(rt, retry.Wake, wake.Do)
			require.Greater(rt, wake.At, now, "nobody spins")
			require.LessOrEqual(rt, wake.At, end)
			require.Equal(rt, min(now+pause, end), wake.At)
			if answer < wake.At {
				e, _, err = e.Step(&set, retry.Input{Kind: retry.Answer}, nil)
				require.NoError(rt, err)
				require.Equal(rt, retry.Answered, e.State())
				break
			}
			now = wake.At + late
			e, effects, err = e.Step(&set, retry.Input{Kind: retry.Due, Now: now}, nil)
			require.NoError(rt, err)
			if now >= end {
				require.Equal(rt, []retry.Effect{{Do: retry.Exhaust, ID: 3}}, effects)
				require.Equal(rt, settle.RetryExhausted, e.Reason())
				continue
			}
			require.Equal(rt, retry.Effect{Do: retry.Send, ID: 3, Again: true}, effects[0])
			pause = min(2*pause, set.RetryMax)
			sends++
		}
		require.False(rt, e.Open())
		require.LessOrEqual(rt, int64(sends), 1+int64(set.Control/set.RetryFirst), "bounded by time")
	})
}

// TestNoInputPanics: any sequence, from any point, keeps the promises.
func TestNoInputPanics(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var e retry.Exchange
		exhausts := map[uint64]int{}
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			in := retry.Input{
				Kind: retry.Kind(rapid.IntRange(0, 8).Draw(rt, "kind")),
				ID:   rapid.Uint64Range(0, 5).Draw(rt, "id"),
				Now:  sm.Time(rapid.Int64().Draw(rt, "now")),
				End:  sm.Time(rapid.Int64().Draw(rt, "end")),
			}
			next, effects, err := e.Step(&defaults, in, nil)
			if err != nil {
				require.Equal(rt, e, next)
				require.Empty(rt, effects)
				continue
			}
			for _, x := range effects {
				if x.Do == retry.Exhaust {
					exhausts[x.ID]++
				}
				if x.Do == retry.Send {
					require.Equal(rt, next.ID(), x.ID)
					require.Equal(rt, in.Kind == retry.Due, x.Again)
				}
			}
			e = next
		}
		for _, n := range exhausts {
			require.Equal(rt, 1, n)
		}
	})
}

// TestWrongRules sees B3 and B1 fail.
func TestWrongRules(t *testing.T) {
	e, _ := do(t, retry.Exchange{}.WithWrongRules(wrong.NoPause), retry.Input{Kind: retry.Start, ID: 1})
	for range 100 { // sends for ever at one moment
		var effects []retry.Effect
		e, effects = do(t, e, retry.Input{Kind: retry.Due, Now: 60 * ms})
		require.Equal(t, retry.Send, effects[0].Do)
		require.Equal(t, 60*ms, effects[1].At)
	}
	e, _ = do(t, retry.Exchange{}.WithWrongRules(wrong.NoDeadline), retry.Input{Kind: retry.Start, ID: 1})
	for now := sm.Time(0); now < 400_000*ms; now += 1000 * ms {
		e, _ = do(t, e, retry.Input{Kind: retry.Due, Now: now})
		require.True(t, e.Open(), "never exhausted")
	}
}

func TestNoAllocation(t *testing.T) {
	dst := make([]retry.Effect, 0, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		e, _, _ := retry.Exchange{}.Step(&defaults, retry.Input{Kind: retry.Start, ID: 1}, dst)
		e, _, _ = e.Step(&defaults, retry.Input{Kind: retry.Due, Now: 50 * ms}, dst)
		_, _, err := e.Step(&defaults, retry.Input{Kind: retry.Start, ID: 1}, dst)
		e, _, _ = e.Step(&defaults, retry.Input{Kind: retry.Receipt, ID: 1}, dst)
		if e.State() != retry.Answered || err == nil {
			t.Fatal(e)
		}
	}))
}
