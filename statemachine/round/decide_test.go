package round_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	wire "github.com/kvsettle/kvsettle/wire/round"
)

func by(intent wire.Intent, e control.Evidence) round.Contribution {
	return round.Contribution{Intent: intent, Evidence: e}
}

var (
	nothing  = round.Contribution{}
	admit    = by(wire.Admit, 0)
	prepared = by(wire.Admit, control.NotStarted)
	cancel   = by(wire.Cancel, control.NotStarted)
	doubt    = by(wire.Cancel, control.Unknown)
	reject   = by(wire.Reject, control.NotStarted)
	complete = by(wire.Complete, control.SourceComplete)
)

func view(phase round.Phase, x49 bool, cs ...round.Contribution) *round.View {
	v := &round.View{Phase: phase, X49: x49, Ranks: uint8(len(cs))}
	copy(v.By[:], cs)
	return v
}

type decideCase struct {
	view round.View
	want round.Decision
}

// decideCases has cases for each row of the table, plain and with bit 49.
func decideCases() map[string][]decideCase {
	c := func(p round.Phase, x49 bool, want round.Decision, cs ...round.Contribution) decideCase {
		return decideCase{*view(p, x49, cs...), want}
	}
	absent := func(p round.Phase, x49 bool, want round.Decision) decideCase {
		v := view(p, x49, cancel, cancel)
		v.Absent = 2
		return decideCase{*v, want}
	}
	other := cancel
	other.Session.Digest[3] = 1
	other.Intent = wire.Admit
	mode := prepared
	mode.Session.Mode = descriptor.Enabled
	one, two := admit, admit
	one.GenAttempt, two.GenAttempt = 7, 8
	kept := *view(round.Data, false, cancel, nothing)
	kept.Committed = true
	keptBy49 := kept
	keptBy49.X49 = true
	return map[string][]decideCase{
		"round-missing": {absent(round.Admission, false, round.Refuse), absent(round.Ready, false, round.EndUnknown),
			absent(round.Ready, true, round.EndUnknown), absent(round.Data, false, round.EndUnknown), absent(round.Data, true, round.EndUnknown)},
		"round-conflict": {c(round.Admission, false, round.Refuse, admit, other), c(round.Ready, false, round.EndUnknown, prepared, other),
			c(round.Data, true, round.EndUnknown, cancel, mode), c(round.Ready, true, round.EndUnknown, prepared, complete),
			c(round.Ready, false, round.EndUnknown, by(9, control.NotStarted)), c(round.Ready, false, round.EndUnknown, one, two)},
		"round-two-attempts":       {c(round.Admission, false, round.Refuse, one, two), c(round.Admission, true, round.Refuse, one, two)},
		"round-earlier-completion": {{kept, round.KeepEvidence}, {keptBy49, round.KeepEvidence}},
		"round-cancel-before": {c(round.Admission, false, round.EndNotStarted, cancel, nothing), c(round.Admission, false, round.EndNotStarted, reject, admit),
			c(round.Ready, false, round.EndNotStarted, cancel, prepared), c(round.Ready, true, round.EndNotStarted, reject, reject)},
		"round-cancel-before-doubt": {c(round.Ready, false, round.EndUnknown, cancel, admit), c(round.Ready, true, round.EndDrain, cancel, doubt),
			c(round.Admission, true, round.EndUnknown, by(wire.Reject, control.Unknown), admit)},
		"round-cancel-complete": {c(round.Data, false, round.EndUnknown, doubt, complete), c(round.Data, true, round.EndDrain, doubt, complete)},
		"round-cancel-after":    {c(round.Data, false, round.EndUnknown, doubt, nothing), c(round.Data, true, round.EndDrain, by(wire.Reject, control.Unknown))},
		"round-uneven":          {c(round.Data, false, round.EndUnknown, complete, nothing), c(round.Data, true, round.Wait, complete, admit)},
		"round-complete":        {c(round.Data, false, round.Commit, complete, complete), c(round.Data, true, round.Commit, complete)},
		"round-admit":           {c(round.Admission, false, round.GoOn, one, admit), c(round.Ready, true, round.GoOn, prepared, prepared)},
	}
}

func TestDecideIsTheTable(t *testing.T) {
	spec.Covers(t, "KS-RND-5", "KS-RND-6", "KS-RND-7", "KS-RND-8", "KS-RND-9", "KS-RND-12", "KS-QUI-10")
	tab, err := spec.LoadTable("round-decisions")
	require.NoError(t, err)
	cases := decideCases()
	require.Len(t, cases, len(tab.Rows))
	for i, r := range tab.Rows {
		require.Equal(t, r.ID, round.Row(i+1).String(), "rows in the order of the table")
		require.NotEmpty(t, cases[r.ID], r.ID)
		for k, c := range cases[r.ID] {
			d := round.Decide(&c.view)
			require.Equal(t, r.ID, d.Row.String(), "%s case %d", r.ID, k)
			require.Equal(t, c.want, d.Decision, "%s case %d", r.ID, k)
		}
	}
	require.Equal(t, "invalid", round.Row(99).String())
}

func TestAdopt(t *testing.T) {
	spec.Covers(t, "KS-RND-9", "KS-RND-1")
	// M33: an empty contribution has no one-sided effect.
	d := round.Decide(view(round.Ready, false, cancel, nothing))
	require.Equal(t, round.Adopt, d.Decision)
	require.Equal(t, round.NoRow, d.Row)
	require.Equal(t, round.Wait, round.Decide(view(round.Ready, false, prepared, nothing)).Decision)
	require.Equal(t, round.Wait, round.Decide(view(round.Admission, false, admit, nothing)).Decision)
	require.Equal(t, round.Wait, round.Decide(view(round.Data, false, nothing, nothing)).Decision)
}

func TestReduceRanks(t *testing.T) {
	spec.Covers(t, "KS-SET-8", "KS-SET-5")
	end := func(e control.Evidence) round.Contribution { return by(wire.Cancel, e) }
	for _, c := range []struct {
		x49  bool
		cs   []round.Contribution
		want settle.Topology
	}{
		{false, []round.Contribution{end(control.NotStarted), end(control.NotStarted)}, settle.NotStarted},
		{false, []round.Contribution{end(control.NotStarted), end(control.SourceComplete)}, settle.Unknown},
		{true, []round.Contribution{end(control.NotStarted), end(control.SourceComplete)}, settle.Quiesced},
		{true, []round.Contribution{end(control.Quiesced), end(control.Unknown)}, settle.Unknown},
		{false, []round.Contribution{end(control.DestinationComplete)}, settle.Completed},
	} {
		d := round.Decide(view(round.Settling, c.x49, c.cs...))
		require.Equal(t, round.Reduced, d.Decision)
		require.Equal(t, c.want, d.Topology, "%v", c)
	}
	require.Equal(t, round.Wait, round.Decide(view(round.Settling, true, end(control.NotStarted), nothing)).Decision)
	v := view(round.Settling, true, end(control.NotStarted), end(control.NotStarted))
	v.Absent = 1
	require.Equal(t, round.Verdict{Decision: round.Reduced, Cancelled: true}, round.Decide(v))
}

func TestPublicationIsCounted(t *testing.T) {
	spec.Covers(t, "KS-GEN-3")
	v := view(round.Ready, false, cancel, cancel)
	require.True(t, round.Decide(v).AllUnset)
	for _, p := range []wire.Publication{wire.MaybeObservable, wire.Acked, wire.FailedIndeterminate} {
		v.By[1].Publication = p
		require.False(t, round.Decide(v).AllUnset, "%v", p)
	}
	v.By[1].Publication = wire.Unset
	v.Absent = 2
	require.False(t, round.Decide(v).AllUnset, "an absent rank may have published")
	require.True(t, round.Decide(view(round.Ready, false, reject, reject)).AllReject)
	require.False(t, round.Decide(view(round.Ready, false, reject, cancel)).AllReject)
}

func drawView(t *rapid.T) round.View {
	v := round.View{
		Phase: round.Phase(rapid.IntRange(0, 4).Draw(t, "phase")), Committed: rapid.Bool().Draw(t, "committed"),
		X49: rapid.Bool().Draw(t, "x49"), Ranks: uint8(rapid.IntRange(0, 5).Draw(t, "ranks")),
		Absent: uint8(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "absent")),
	}
	for i := range v.By {
		v.By[i] = by(wire.Intent(rapid.IntRange(0, 5).Draw(t, "intent")),
			rapid.SampledFrom([]control.Evidence{0, 1, 2, 3, 4, 0x81}).Draw(t, "evidence"))
		v.By[i].GenAttempt = uint64(rapid.SampledFrom([]int{0, 0, 0, 7, 8}).Draw(t, "attempt"))
		v.By[i].Publication = wire.Publication(rapid.IntRange(0, 3).Draw(t, "publication"))
	}
	return v
}

// decideProperties are what must hold for any contributions.
func decideProperties(t *rapid.T) {
	v := drawView(t)
	d := round.Decide(&v)
	if v.Ranks == 0 || v.Ranks > round.MaxRanks {
		require.Equal(t, round.EndUnknown, d.Decision)
		return
	}
	// The ranks are alike: their order decides nothing.
	swapped := v
	for i := range v.Ranks {
		swapped.By[i] = v.By[v.Ranks-1-i]
	}
	if v.Absent == 0 {
		e := round.Decide(&swapped)
		e.GenAttempt, d.GenAttempt = 0, 0
		require.Equal(t, d, e)
	}
	ended, unproven := false, false
	for i := range v.Ranks {
		ended = ended || v.By[i].Intent == wire.Cancel || v.By[i].Intent == wire.Reject
		unproven = unproven || v.By[i].Intent != 0 && v.By[i].Evidence > control.NotStarted
	}
	switch d.Decision {
	case round.GoOn:
		require.False(t, ended)
		require.Less(t, v.Phase, round.Data)
	case round.Commit:
		require.False(t, ended)
		require.Equal(t, round.Data, v.Phase)
	case round.EndNotStarted:
		require.True(t, ended)
		require.False(t, unproven, "I5: every rank proves it")
		require.Less(t, v.Phase, round.Data)
	case round.EndDrain:
		require.True(t, v.X49)
	case round.Reduced:
		require.Equal(t, round.Settling, v.Phase)
		if d.Topology == settle.Quiesced {
			require.True(t, v.X49)
		}
	}
}

func TestDecideProperties(t *testing.T) {
	spec.Covers(t, "KS-RND-6", "KS-RND-7", "KS-SET-2", "KS-QUI-1")
	rapid.Check(t, decideProperties)
}

func FuzzDecide(f *testing.F) { f.Fuzz(rapid.MakeFuzz(decideProperties)) }

// TestBitChangesOnlyDoubt: bit 49 changes a decision only where plain v2 says
// UNKNOWN, and the reduction only where it does.
func TestBitChangesOnlyDoubt(t *testing.T) {
	spec.Covers(t, "KS-QUI-1", "KS-QUI-10")
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		v.X49 = false
		plain := round.Decide(&v)
		v.X49 = true
		if with := round.Decide(&v); with != plain {
			require.True(t, plain.Decision == round.EndUnknown || plain.Decision == round.Reduced && plain.Topology == settle.Unknown)
			require.Contains(t, []round.Decision{round.EndDrain, round.Wait, round.Reduced}, with.Decision)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	v := view(round.Data, true, complete, complete, complete, nothing)
	b.ReportAllocs()
	for b.Loop() {
		round.Decide(v)
	}
}

func TestFuzzSeeds(t *testing.T) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzDecide")
	require.NoError(t, err)
	require.Len(t, seeds, 8)
}
