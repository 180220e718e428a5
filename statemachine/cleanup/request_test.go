package cleanup_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/cleanup"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
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

func step(t require.TestingT, r cleanup.Request, in cleanup.Input) (cleanup.Request, []cleanup.Effect) {
	next, effects, err := r.Step(in, nil)
	require.NoError(t, err)
	return next, effects
}

func refuses(t require.TestingT, r cleanup.Request, in cleanup.Input, reason spec.Reason, req string) {
	next, effects, err := r.Step(in, nil)
	require.ErrorIs(t, err, &sm.Refusal{Reason: reason})
	require.ErrorContains(t, err, req)
	require.Equal(t, r, next)
	require.Empty(t, effects)
}

func taken(t require.TestingT, enabled bool) cleanup.Request {
	r, effects := step(t, cleanup.Request{}, cleanup.Input{Kind: cleanup.Take, Owners: cleanup.Transceiver | cleanup.Forward, Enabled: enabled})
	require.Empty(t, effects)
	return r
}

// A success is answered after the forward pass let go, all ranks voted and the slots
// are back.
func ExampleRequest() {
	var r cleanup.Request
	for _, in := range []cleanup.Input{
		{Kind: cleanup.Take, Owners: cleanup.Transceiver | cleanup.Forward},
		{Kind: cleanup.Native, Outcome: sm.Completed},
		{Kind: cleanup.Leave, Owners: cleanup.Transceiver},
		{Kind: cleanup.Leave, Owners: cleanup.Forward},
		{Kind: cleanup.Voted},
		{Kind: cleanup.Cleaned},
	} {
		var effects []cleanup.Effect
		r, effects, _ = r.Step(in, nil)
		fmt.Println(r.State(), len(effects))
	}
	fmt.Println(r.Outcome())
	// Output:
	// running 0
	// ended 0
	// ended 0
	// ended 1
	// releasing 1
	// answered 1
	// completed
}

func ExampleTally() {
	fmt.Println(cleanup.Tally(2, 0b11, 0b11), cleanup.Tally(2, 0b11, 0b01), cleanup.Tally(2, 0b01, 0b11))
	// Output: true false false
}

// TestWayOut: owners, vote, release, response, in this order and once each.
func TestWayOut(t *testing.T) {
	spec.Covers(t, "KS-V1-12", "KS-V1-41", "KS-SET-8", "KS-SLOT-3")
	r := taken(t, false)
	refuses(t, r, cleanup.Input{Kind: cleanup.Voted}, sm.WrongState, "KS-SET-8")
	refuses(t, r, cleanup.Input{Kind: cleanup.Cleaned}, sm.WrongState, "KS-V1-12")
	refuses(t, r, cleanup.Input{Kind: cleanup.Leave, Owners: cleanup.Transceiver}, sm.BadRequest, "KS-TIME-14")
	refuses(t, r, cleanup.Input{Kind: cleanup.Leave, Owners: cleanup.Queue}, sm.NotOwner, "KS-V1-41")
	refuses(t, r, cleanup.Input{Kind: cleanup.Join, Owners: cleanup.Forward}, sm.NotOwner, "KS-V1-41")
	refuses(t, r, cleanup.Input{Kind: cleanup.Join, Owners: 0x80}, sm.NotOwner, "KS-V1-41")
	refuses(t, r, cleanup.Input{Kind: cleanup.Native}, sm.BadRequest, "KS-TIME-14")
	r, _ = step(t, r, cleanup.Input{Kind: cleanup.Join, Owners: cleanup.Queue})
	r, effects := step(t, r, cleanup.Input{Kind: cleanup.Native, Outcome: sm.Completed})
	require.Empty(t, effects, "three owners hold on")
	refuses(t, r, cleanup.Input{Kind: cleanup.Native, Outcome: sm.Failed}, sm.WrongState, "KS-V1-12")
	refuses(t, r, cleanup.Input{Kind: cleanup.Voted}, sm.WrongState, "KS-SET-8")
	r, effects = step(t, r, cleanup.Input{Kind: cleanup.Leave, Owners: cleanup.Transceiver | cleanup.Queue})
	require.Empty(t, effects)
	require.False(t, r.Ready())
	r, effects = step(t, r, cleanup.Input{Kind: cleanup.Leave, Owners: cleanup.Forward})
	require.Equal(t, []cleanup.Effect{{Do: cleanup.Ready, Outcome: sm.Completed}}, effects)
	require.True(t, r.Ready())
	refuses(t, r, cleanup.Input{Kind: cleanup.Join, Owners: cleanup.Forward}, sm.WrongState, "KS-V1-12")
	r, effects = step(t, r, cleanup.Input{Kind: cleanup.Voted})
	require.Equal(t, []cleanup.Effect{{Do: cleanup.Release, Outcome: sm.Completed}}, effects)
	refuses(t, r, cleanup.Input{Kind: cleanup.Voted}, sm.WrongState, "KS-SLOT-3")
	r, effects = step(t, r, cleanup.Input{Kind: cleanup.Cleaned})
	require.Equal(t, []cleanup.Effect{{Do: cleanup.Respond, Outcome: sm.Completed}}, effects)
	require.Zero(t, r.Owners())
	for _, k := range []cleanup.Kind{cleanup.Cleaned, cleanup.Take, cleanup.Native} {
		refuses(t, r, cleanup.Input{Kind: k, Outcome: sm.Completed, Owners: 1}, sm.WrongState, "KS-V1-12")
	}
	refuses(t, r, cleanup.Input{Kind: cleanup.Voted}, sm.WrongState, "KS-SLOT-3")
	for _, k := range []cleanup.Kind{cleanup.Cancel, cleanup.Timer, cleanup.Isolated} {
		same, effects := step(t, r, cleanup.Input{Kind: k})
		require.Equal(t, r, same)
		require.Empty(t, effects)
	}
}

// TestNativeDecides: a deadline outside the native code asks it to look, and ends
// nothing.
func TestNativeDecides(t *testing.T) {
	spec.Covers(t, "KS-TIME-14")
	r := taken(t, true)
	for range 100 {
		same, effects := step(t, r, cleanup.Input{Kind: cleanup.Timer})
		require.Equal(t, r, same)
		require.Equal(t, []cleanup.Effect{{Do: cleanup.Look}}, effects)
	}
	r, _ = step(t, r, cleanup.Input{Kind: cleanup.Native, Outcome: sm.Failed})
	same, effects := step(t, r, cleanup.Input{Kind: cleanup.Timer})
	require.Equal(t, r, same)
	require.Empty(t, effects)
	require.Equal(t, sm.Failed, r.Outcome())
}

// TestCancelAndSuccess: a cancel beats a success that races it where enabled, and
// only there; after the vote nothing changes (F37, F39).
func TestCancelAndSuccess(t *testing.T) {
	spec.Covers(t, "KS-SET-1", "KS-V1-12")
	native := cleanup.Input{Kind: cleanup.Native, Outcome: sm.Completed}
	cancel := cleanup.Input{Kind: cleanup.Cancel}
	for _, enabled := range []bool{false, true} {
		want := map[bool]sm.Disposition{false: sm.Completed, true: sm.Cancelled}[enabled]
		r, effects := step(t, taken(t, enabled), cancel)
		require.Equal(t, []cleanup.Effect{{Do: cleanup.Abort}}, effects)
		require.Equal(t, cleanup.Running, r.State(), "asking for cancel permits no clean-up")
		again, effects := step(t, r, cancel)
		require.Equal(t, r, again)
		require.Empty(t, effects, "cancelling twice is cancelling once")
		r, _ = step(t, r, native)
		require.Equal(t, want, r.Outcome(), "cancel first")
		r, _ = step(t, taken(t, enabled), native)
		r, effects = step(t, r, cancel)
		require.Empty(t, effects)
		require.Equal(t, want, r.Outcome(), "success first, before the vote")
		r, _ = step(t, taken(t, enabled), native)
		r, _ = step(t, r, cleanup.Input{Kind: cleanup.Leave, Owners: cleanup.Transceiver | cleanup.Forward})
		r, _ = step(t, r, cancel)
		require.Equal(t, sm.Completed, r.Outcome(), "this rank has voted for a success")
		for _, other := range []sm.Disposition{sm.Failed, sm.Cancelled, sm.Rejected} {
			r, _ = step(t, taken(t, enabled), cancel)
			r, _ = step(t, r, cleanup.Input{Kind: cleanup.Native, Outcome: other})
			require.Equal(t, other, r.Outcome(), "a failure is not covered up")
		}
	}
	var none cleanup.Request
	for _, k := range []cleanup.Kind{0, 99, cleanup.Cancel, cleanup.Timer, cleanup.Isolated, cleanup.Take, cleanup.Leave} {
		refuses(t, none, cleanup.Input{Kind: k}, sm.WrongState, "KS-V1-12")
	}
	require.Equal(t, "new running ended releasing answered invalid", fmt.Sprint(
		cleanup.New, cleanup.Running, cleanup.Ended, cleanup.Releasing, cleanup.Answered, cleanup.State(9)))
}

// TestQuarantineAnswers: a quarantined executor answers each of its requests once and
// releases none of them.
func TestQuarantineAnswers(t *testing.T) {
	spec.Covers(t, "KS-V1-12", "KS-V1-41", "KS-SLOT-19")
	r := taken(t, true)
	for _, in := range []cleanup.Input{{}, {Kind: cleanup.Native, Outcome: sm.Completed},
		{Kind: cleanup.Leave, Owners: cleanup.Transceiver | cleanup.Forward}, {Kind: cleanup.Voted}} {
		if in.Kind != 0 {
			r, _ = step(t, r, in)
		}
		end, effects := step(t, r, cleanup.Input{Kind: cleanup.Isolated})
		require.Equal(t, []cleanup.Effect{{Do: cleanup.Respond, Outcome: sm.Failed}}, effects)
		require.Equal(t, cleanup.Answered, end.State())
		refuses(t, end, cleanup.Input{Kind: cleanup.Cleaned}, sm.WrongState, "KS-V1-12")
		refuses(t, end, cleanup.Input{Kind: cleanup.Voted}, sm.WrongState, "KS-SLOT-3")
	}
}

// observe applies random inputs and reports broken promises.
func observe(rt *rapid.T, r cleanup.Request) (broken []string) {
	note := func(ok bool, what string) {
		if !ok {
			broken = append(broken, what)
		}
	}
	native, voted, isolated, cleaned := false, false, false, false
	releases, responses := 0, 0
	for range rapid.IntRange(0, 40).Draw(rt, "steps") {
		in := cleanup.Input{
			Kind: cleanup.Kind(rapid.IntRange(0, 10).Draw(rt, "kind")), Owners: cleanup.Owner(rapid.IntRange(0, 8).Draw(rt, "owners")),
			Outcome: sm.Disposition(rapid.IntRange(0, 5).Draw(rt, "outcome")), Enabled: true,
		}
		next, effects, err := r.Step(in, nil)
		if err != nil {
			require.Equal(rt, r, next)
			require.Empty(rt, effects)
			continue
		}
		native = native || in.Kind == cleanup.Native
		voted = voted || in.Kind == cleanup.Voted
		isolated = isolated || in.Kind == cleanup.Isolated
		cleaned = cleaned || in.Kind == cleanup.Cleaned
		aborts := 0
		for _, e := range effects {
			switch e.Do {
			case cleanup.Release:
				releases++
				note(voted, "released without a vote")
				note(!isolated, "released from quarantine")
				note(native, "ended by a timer")
			case cleanup.Respond:
				responses++
				note(cleaned || isolated, "answered before the clean-up")
				note(next.Owners() == 0, "answered while owned")
			case cleanup.Abort:
				aborts++
			case cleanup.Ready:
				note(native, "ended by a timer")
			}
		}
		r = next
	}
	note(releases <= 1, "released twice")
	note(responses <= 1, "answered twice")
	return broken
}

func TestAnyRequest(t *testing.T) {
	spec.Covers(t, "KS-V1-12", "KS-V1-41", "KS-SET-8", "KS-SLOT-3", "KS-TIME-14")
	rapid.Check(t, func(rt *rapid.T) { require.Empty(rt, observe(rt, taken(rt, true))) })
}

// TestWrongRules sees I14, I11, I15, I8 and I4 fail.
func TestWrongRules(t *testing.T) {
	for rule, want := range map[wrong.Rules]string{
		wrong.CleanUpTwice: "released twice", wrong.DecideAlone: "released without a vote",
		wrong.TimeoutDecides: "ended by a timer", wrong.FreeOnTimeout: "released from quarantine",
	} {
		found := map[string]bool{}
		rapid.Check(t, func(rt *rapid.T) {
			for _, b := range observe(rt, taken(rt, true).WithWrongRules(rule)) {
				found[b] = true
			}
		})
		require.True(t, found[want], "%b: %v", rule, found)
	}
	r := taken(t, true).WithWrongRules(wrong.CancelTwice)
	r, _ = step(t, r, cleanup.Input{Kind: cleanup.Cancel})
	_, effects := step(t, r, cleanup.Input{Kind: cleanup.Cancel})
	require.Len(t, effects, 1, "carried out again")
}

func TestTally(t *testing.T) {
	spec.Covers(t, "KS-SET-8", "KS-TIME-15")
	rapid.Check(t, func(rt *rapid.T) {
		ranks := rapid.IntRange(-1, cleanup.MaxRanks+1).Draw(rt, "ranks")
		ready, entered := rapid.Uint64().Draw(rt, "ready"), rapid.Uint64().Draw(rt, "entered")
		if rapid.Bool().Draw(rt, "all") {
			ready, entered = ^uint64(0), ^uint64(0)
		}
		want := ranks >= 1 && ranks <= cleanup.MaxRanks
		for i := range max(ranks, 0) {
			want = want && i < 64 && ready>>i&1 == 1 && entered>>i&1 == 1
		}
		require.Equal(rt, want, cleanup.Tally(ranks, ready, entered))
	})
}
