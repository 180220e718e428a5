package bundle_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/bundle"
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

const token = 7

var three = bundle.Of(bundle.KV, bundle.Indexer, bundle.PostProcessing)

func hold(t require.TestingT, parts bundle.Parts) bundle.Bundle {
	b, effects, err := bundle.Bundle{}.Step(bundle.Input{Kind: bundle.Hold, Parts: parts, Token: token}, nil)
	require.NoError(t, err)
	require.Empty(t, effects)
	return b
}

func do(t require.TestingT, b bundle.Bundle, k bundle.Kind, p bundle.Part) (bundle.Bundle, []bundle.Effect) {
	next, effects, err := b.Step(bundle.Input{Kind: k, Part: p, Token: token}, nil)
	require.NoError(t, err)
	return next, effects
}

func refused(t require.TestingT, b bundle.Bundle, in bundle.Input, reason spec.Reason, req string) {
	next, effects, err := b.Step(in, nil)
	require.ErrorIs(t, err, &sm.Refusal{Reason: reason})
	require.ErrorContains(t, err, req)
	require.Equal(t, b, next)
	require.Empty(t, effects)
}

// The KV slot is here, the indexer is not: nothing is claimed, and at the deadline
// the whole is isolated.
func ExampleBundle() {
	var b bundle.Bundle
	b, _, _ = b.Step(bundle.Input{Kind: bundle.Hold, Parts: bundle.Of(bundle.KV, bundle.Indexer), Token: 7}, nil)
	b, _, _ = b.Step(bundle.Input{Kind: bundle.Finished, Part: bundle.KV}, nil)
	b, _, _ = b.Step(bundle.Input{Kind: bundle.Quiet, Part: bundle.KV}, nil)
	fmt.Println(b.State(), b.Missing() == bundle.Of(bundle.Indexer))
	b, effects, _ := b.Step(bundle.Input{Kind: bundle.Settle, Token: 7}, nil)
	fmt.Println(b.State(), effects[0].Do == bundle.Isolate, effects[0].Parts == b.Held())
	b, effects, _ = b.Step(bundle.Input{Kind: bundle.Quiet, Part: bundle.Indexer}, nil)
	fmt.Println(b.State(), effects[0].Do == bundle.Return)
	// Output:
	// open true
	// isolated true true
	// gone true
}

func ExampleOf() {
	fmt.Println(bundle.Of(bundle.KV).Has(bundle.Of(bundle.RNN)), bundle.All.Has(bundle.Data))
	// Output: false true
}

// TestCompletionCoversTheWhole is M60, for every set of parts.
func TestCompletionCoversTheWhole(t *testing.T) {
	spec.Covers(t, "KS-SLOT-16", "KS-SET-3")
	for parts := bundle.Parts(1); parts <= bundle.All; parts++ {
		if parts&bundle.Data == 0 {
			continue
		}
		b := hold(t, parts)
		claims := 0
		for p := bundle.KV; ; p-- { // data first
			if parts.Has(bundle.Of(p)) {
				var effects []bundle.Effect
				b, effects = do(t, b, bundle.Finished, p)
				for _, e := range effects {
					require.Equal(t, bundle.Effect{Do: bundle.Claim, Parts: parts, Token: token}, e)
					claims++
				}
				require.Equal(t, b.Missing() == 0, claims == 1)
				require.Equal(t, b.Missing() == 0, b.State() == bundle.Complete)
			}
			if p == 0 {
				break
			}
		}
		require.Equal(t, 1, claims)
		// A claim frees nothing, and a decision is no proof: one loud part holds all.
		b, effects := do(t, b, bundle.Release, 0)
		require.Empty(t, effects)
		require.Equal(t, bundle.Ending, b.State())
		for p := range bundle.KV + 1 {
			if !parts.Has(bundle.Of(p)) {
				continue
			}
			require.Empty(t, effects, "%v was not quiet", b.Loud())
			b, effects = do(t, b, bundle.Quiet, p)
		}
		require.Equal(t, []bundle.Effect{{Do: bundle.LetGo, Parts: parts, Token: token}}, effects)
		require.Equal(t, bundle.Gone, b.State())
	}
}

func TestPostProcessingComesLast(t *testing.T) {
	spec.Covers(t, "KS-SET-3")
	b := hold(t, three)
	refused(t, b, bundle.Input{Kind: bundle.Finished, Part: bundle.PostProcessing}, sm.WrongState, "KS-SET-3")
	b, _ = do(t, b, bundle.Finished, bundle.KV)
	refused(t, b, bundle.Input{Kind: bundle.Finished, Part: bundle.PostProcessing}, sm.WrongState, "KS-SET-3")
	refused(t, b, bundle.Input{Kind: bundle.Finished, Part: bundle.KV}, sm.WrongState, "KS-SET-3")
	b, _ = do(t, b, bundle.Failed, bundle.Indexer)
	refused(t, b, bundle.Input{Kind: bundle.Finished, Part: bundle.Indexer}, sm.WrongState, "KS-SET-3")
	require.Equal(t, bundle.Open, b.State(), "a failure proves nothing and frees nothing")
}

// TestTokenIsUsedOnce: the end is asked for once, by the owner.
func TestTokenIsUsedOnce(t *testing.T) {
	spec.Covers(t, "KS-SLOT-3", "KS-SLOT-4", "KS-SLOT-6", "KS-SLOT-19")
	b := hold(t, bundle.Of(bundle.KV))
	refused(t, b, bundle.Input{Kind: bundle.Release, Token: 8}, sm.NotOwner, "KS-SLOT-3")
	quiet, _ := do(t, b, bundle.Quiet, bundle.KV)
	quiet, effects := do(t, quiet, bundle.Settle, 0)
	require.Equal(t, bundle.LetGo, effects[0].Do, "UNKNOWN does not hold what is proven")
	ending, effects := do(t, b, bundle.Release, 0)
	require.Empty(t, effects)
	refused(t, ending, bundle.Input{Kind: bundle.Release, Token: token}, sm.WrongState, "KS-SLOT-3")
	late, effects := do(t, ending, bundle.Settle, 0)
	require.Equal(t, bundle.Isolate, effects[0].Do, "its deadline proves nothing")
	isolated, effects := do(t, b, bundle.Settle, 0)
	require.Equal(t, []bundle.Effect{{Do: bundle.Isolate, Parts: bundle.Of(bundle.KV), Token: token}}, effects)
	back, effects := do(t, isolated, bundle.Quiet, bundle.KV)
	require.Equal(t, bundle.Return, effects[0].Do)
	for _, end := range []bundle.Bundle{quiet, late, isolated, back} {
		for _, k := range []bundle.Kind{bundle.Release, bundle.Settle} {
			refused(t, end, bundle.Input{Kind: k, Token: token}, sm.WrongState, "KS-SLOT-3")
		}
		refused(t, end, bundle.Input{Kind: bundle.Hold, Parts: bundle.Data, Token: 9}, sm.WrongState, "KS-SLOT-16")
	}
	refused(t, back, bundle.Input{Kind: bundle.Quiet, Part: bundle.KV}, sm.WrongState, "KS-SLOT-3")
	refused(t, isolated, bundle.Input{Kind: bundle.Finished, Part: bundle.KV}, sm.WrongState, "KS-SLOT-16")
}

func TestRefusals(t *testing.T) {
	spec.Covers(t, "KS-SLOT-16")
	var none bundle.Bundle
	for _, in := range []bundle.Input{{}, {Kind: 9}, {Kind: bundle.Release}, {Kind: bundle.Settle}} {
		refused(t, none, in, sm.WrongState, "KS-SLOT-16")
	}
	for _, in := range []bundle.Input{
		{Kind: bundle.Hold, Token: 1}, {Kind: bundle.Hold, Parts: 0x80 | bundle.Data, Token: 1},
		{Kind: bundle.Hold, Parts: bundle.Of(bundle.Handles), Token: 1}, {Kind: bundle.Quiet, Part: bundle.KV}, {Kind: bundle.Finished, Part: 9},
	} {
		refused(t, none, in, sm.BadRequest, "KS-SLOT-16")
	}
	refused(t, none, bundle.Input{Kind: bundle.Hold, Parts: bundle.Data}, sm.NotOwner, "KS-SLOT-3")
	b := hold(t, bundle.Of(bundle.KV))
	refused(t, b, bundle.Input{Kind: bundle.Failed, Part: bundle.RNN}, sm.BadRequest, "KS-SLOT-16")
	require.Equal(t, "post-processing handles registrations rnn indexer kv invalid", fmt.Sprint(
		bundle.PostProcessing, bundle.Handles, bundle.Registrations, bundle.RNN, bundle.Indexer, bundle.KV, bundle.Part(9)))
	require.Equal(t, "empty open complete ending isolated gone invalid", fmt.Sprint(
		bundle.Empty, bundle.Open, bundle.Complete, bundle.Ending, bundle.Isolated, bundle.Gone, bundle.State(9)))
	require.Zero(t, bundle.Of(9))
}

// watch applies random inputs and checks I16 against plain bookkeeping. It returns
// what it found broken.
func watch(rt *rapid.T, b bundle.Bundle, parts bundle.Parts) (broken []string) {
	var finished, quiet bundle.Parts
	ends, claims, isolated := 0, 0, false
	for range rapid.IntRange(0, 30).Draw(rt, "steps") {
		in := bundle.Input{Kind: bundle.Kind(rapid.IntRange(0, 7).Draw(rt, "kind")), Part: bundle.Part(rapid.IntRange(0, 6).Draw(rt, "part")),
			Token: rapid.SampledFrom([]uint64{token, token, token, 8}).Draw(rt, "token"), Parts: parts}
		next, effects, err := b.Step(in, nil)
		if err != nil {
			require.Equal(rt, b, next)
			require.Empty(rt, effects)
			continue
		}
		switch in.Kind {
		case bundle.Finished:
			finished |= bundle.Of(in.Part)
		case bundle.Quiet:
			quiet |= bundle.Of(in.Part)
		}
		for _, e := range effects {
			require.Equal(rt, parts, e.Parts, "always the whole")
			switch {
			case e.Do == bundle.Claim:
				claims++
				if finished != parts {
					broken = append(broken, "claimed early")
				}
			case e.Do == bundle.Isolate:
				isolated = true
			case quiet != parts:
				broken = append(broken, "freed without proof")
			}
			if e.Do == bundle.LetGo && isolated || e.Do == bundle.Return && !isolated {
				broken = append(broken, "wrong way out")
			}
			if e.Do == bundle.LetGo || e.Do == bundle.Return {
				ends++
			}
		}
		b = next
	}
	if ends > 1 || claims > 1 {
		broken = append(broken, "twice")
	}
	return broken
}

func TestAnySequence(t *testing.T) {
	spec.Covers(t, "KS-SLOT-16", "KS-SLOT-3", "KS-SLOT-4", "KS-SET-3")
	rapid.Check(t, func(rt *rapid.T) {
		parts := bundle.Parts(rapid.IntRange(1, int(bundle.All)).Draw(rt, "parts")) | bundle.Of(bundle.KV)
		require.Empty(rt, watch(rt, hold(rt, parts), parts))
	})
}

// TestWrongRules sees I16, I6, I8 and I14 fail in the same walk.
func TestWrongRules(t *testing.T) {
	for rule, want := range map[wrong.Rules]string{
		wrong.PartIsBundle: "claimed early", wrong.CompleteEarly: "claimed early",
		wrong.FreeOnTimeout: "freed without proof", wrong.CleanUpTwice: "twice",
	} {
		found := map[string]bool{}
		rapid.Check(t, func(rt *rapid.T) {
			for _, b := range watch(rt, hold(rt, three).WithWrongRules(rule), three) {
				found[b] = true
			}
		})
		require.True(t, found[want], "%b: %v", rule, found)
	}
}

func TestNoAllocation(t *testing.T) {
	dst := make([]bundle.Effect, 0, 2)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		b, _, _ := bundle.Bundle{}.Step(bundle.Input{Kind: bundle.Hold, Parts: bundle.Of(bundle.KV), Token: 1}, dst)
		b, _, _ = b.Step(bundle.Input{Kind: bundle.Finished, Part: bundle.KV}, dst)
		_, _, err := b.Step(bundle.Input{Kind: bundle.Finished, Part: bundle.KV}, dst)
		b, _, _ = b.Step(bundle.Input{Kind: bundle.Quiet, Part: bundle.KV}, dst)
		b, _, _ = b.Step(bundle.Input{Kind: bundle.Release, Token: 1}, dst)
		if b.State() != bundle.Gone || err == nil {
			t.Fatal(b)
		}
	}))
}
