package simulate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/timeline"
)

// reds are wrong rules with the judge that has to see each.
var reds = []struct {
	name  string
	wrong Wrong
	over  []Dialect
	sees  func(*Result) int
}{
	{"no quarantine", Wrong{NoQuarantine: true}, []Dialect{Baseline, Plain, Both}, func(r *Result) int { return r.UnsafeReuse }},
	{"free on timeout", Wrong{Machines: wrong.FreeOnTimeout}, []Dialect{Plain, Both}, func(r *Result) int { return r.UnsafeReuse }},
	{"free on cancel", Wrong{Machines: wrong.FreeOnCancel}, []Dialect{Plain, Both}, func(r *Result) int { return r.UnsafeReuse }},
	{"unknown lets go", Wrong{Machines: wrong.UnknownTouchesReleased}, []Dialect{Plain}, func(r *Result) int { return r.UnsafeReuse }},
	{"forgotten lease", Wrong{ForgetLease: true}, []Dialect{Legacy, Enabled, Quiescence}, func(r *Result) int { return r.LostSlots }},
	{"lease ended twice", Wrong{EndTwice: true}, []Dialect{Baseline, Both}, func(r *Result) int { return r.DoubleCleanup }},
	{"clean-up twice", Wrong{Machines: wrong.CleanUpTwice}, []Dialect{Plain, Both}, func(r *Result) int { return r.DoubleCleanup }},
	{"no timers", Wrong{NoTimers: true}, []Dialect{Legacy, Baseline, Plain, Both}, func(r *Result) int { return r.Hangs }},
	{"no deadline", Wrong{Machines: wrong.NoDeadline}, []Dialect{Plain, Both}, func(r *Result) int { return r.Hangs }},
	{"outcome twice", Wrong{SettleTwice: true}, []Dialect{Enabled, Plain}, func(r *Result) int { return r.Outcomes }},
	{"cancel twice", Wrong{Machines: wrong.CancelTwice}, []Dialect{Plain, Both}, func(r *Result) int { return r.Outcomes }},
	{"notice before data", Wrong{NoticeFirst: true}, []Dialect{Legacy, Enabled}, func(r *Result) int { return r.FalseSuccess }},
	{"part is bundle", Wrong{Machines: wrong.PartIsBundle}, []Dialect{Plain, Both}, func(r *Result) int { return r.FalseSuccess }},
	{"ready without hit", Wrong{Machines: wrong.ReadyWithoutHit}, []Dialect{Plain, Both}, func(r *Result) int { return r.NoAuthority }},
	{"ranks decide alone", Wrong{Machines: wrong.DecideAlone}, []Dialect{Plain, Both}, func(r *Result) int { return r.Disagree }},
}

// firstRed returns the first seed from from on in which the judge sees the rule.
func firstRed(w Wrong, d Dialect, sees func(*Result) int) (*Schedule, bool) {
	sim := New().WithWrongRules(w)
	for seed := range uint64(400) {
		sch := Draw(seed, d, DefaultShape())
		r := sim.Run(sch)
		if sees(&r) > 0 {
			return sch, true
		}
	}
	return nil, false
}

// TestJudges breaks one rule at a time; the judge that is there for it sees it in
// every dialect, and nothing is seen without the rule.
func TestJudges(t *testing.T) {
	spec.Covers(t, "KS-SLOT-3", "KS-SLOT-4", "KS-V1-12")
	for _, c := range reds {
		for _, d := range c.over {
			sch, ok := firstRed(c.wrong, d, c.sees)
			require.True(t, ok, "%s in %v is not seen", c.name, d)
			res := New().Run(sch)
			require.Zero(t, res.Bad(), "%s in %v: the seed is bad without the rule", c.name, d)
		}
	}
}

// TestShrink: a failing schedule is taken apart as far as it goes; what is left still
// fails, nothing in it can be left out, and its timeline names what was found.
func TestShrink(t *testing.T) {
	for _, c := range reds[:6] {
		d := c.over[len(c.over)-1]
		sch, ok := firstRed(c.wrong, d, c.sees)
		require.True(t, ok)
		sim := New().WithWrongRules(c.wrong)
		fails := func(s *Schedule) bool { r := sim.Run(s); return c.sees(&r) > 0 }
		runs := 0
		small := Shrink(sch, 5000, func(s *Schedule) bool { runs++; return fails(s) })
		require.True(t, fails(small), c.name)
		require.Less(t, len(small.Transfers), 10, c.name)
		for i := range small.Faults {
			require.False(t, fails(small.withoutFaults(i, 1)), "%s: fault %d is not needed", c.name, i)
		}
		for i := range small.Transfers {
			require.False(t, fails(small.withoutTransfers(i, 1)), "%s: transfer %d is not needed", c.name, i)
		}
		t.Logf("%s in %v: seed %d shrinks from %d transfers and %d faults to %d and %d in %d runs", c.name, d, sch.Seed,
			len(sch.Transfers), len(sch.Faults), len(small.Transfers), len(small.Faults), runs)

		res, text, err := Record(small, c.wrong)
		require.NoError(t, err)
		require.Positive(t, c.sees(&res))
		tl, err := timeline.Read(text)
		require.NoError(t, err)
		found, err := Replay(tl)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		require.Contains(t, Tell(c.name, tl).Text(), "what: ")
	}
	require.Len(t, Shrink(Draw(1, Plain, DefaultShape()), 0, func(*Schedule) bool { return true }).Transfers, 100, "no tries")
}
