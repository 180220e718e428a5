package explore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

func wrongCases() []world.V2Case {
	base := world.V2Case{Gens: 1, Ctxs: 1, Chunks: 1, Patient: true, DeathQuiet: true, Lockstep: true,
		Contract: settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet}
	x49, two, rest, x48 := base, base, base, base
	x48.Caps, x48.Chunks, x48.PerChunk = descriptor.CapRecovery, 2, true
	x49.Caps, x49.Chunks = descriptor.CapQuiescence, 2
	two.Ctxs, two.Caps = 2, descriptor.CapQuiescence
	rest.Restarts = true
	far := base
	far.DeathQuiet = false
	skewed := two
	skewed.Lockstep = false
	eager := base
	eager.Patient = false
	with := func(c world.V2Case, f world.V2Faults) world.V2Case { c.Faults = f; return c }
	return []world.V2Case{
		with(base, world.V2Faults{CancelGen: 2, CancelCtx: 1, Retries: 1}),
		with(base, world.V2Faults{Drops: 1, Retries: 2}),
		with(x49, world.V2Faults{CancelGen: 1, Retries: 1}),
		with(x49, world.V2Faults{CancelCtx: 1, Retries: 1}),
		with(two, world.V2Faults{Retries: 1, CancelCtx: 1}),
		with(rest, world.V2Faults{Crashes: 1}),
		with(base, world.V2Faults{Strays: 1, Retries: 1}),
		with(x49, world.V2Faults{Strays: 1, CancelGen: 1, Retries: 1}),
		with(eager, world.V2Faults{}),
		with(x48, world.V2Faults{DropNotices: 1, Retries: 1}),
		with(far, world.V2Faults{Crashes: 1}),
		with(skewed, world.V2Faults{}),
	}
}

func TestWrongCasesAreRight(t *testing.T) {
	m, err := world.V2(world.V2Config{Name: "right", Size: "test", Cases: wrongCases()})
	require.NoError(t, err)
	rep, err := explore.Run(context.Background(), m, explore.Options{})
	require.NoError(t, err)
	require.Empty(t, rep.Violations)
	require.Empty(t, rep.Hangs)
	t.Logf("%d states, %d edges, %d hang states", rep.States, rep.Edges, rep.HangStates)
}

// TestV2Wrong breaks every rule of the machines and of the world once, and sees the
// property go red that is there for it.
func TestV2Wrong(t *testing.T) {
	rules := map[string]wrong.Rules{}
	for _, r := range wrong.All() {
		rules[r.Name] = r.Rule
	}
	seen := map[string]bool{}
	red := map[string]bool{"FaultFreeCompletes": true, "RanksAgree": true} // red in TestFindings
	for _, c := range []struct {
		name  string
		world world.V2Wrong
		red   string
	}{
		{"IdentifyByRequestID", world.V2Wrong{}, "OtherKeysChangeNothing"},
		{"IgnoreEpochs", world.V2Wrong{}, "OtherKeysChangeNothing"},
		{"ReadyWithoutHit", world.V2Wrong{}, "NoWriteIntoFreeSlot"},
		{"CancelTwice", world.V2Wrong{}, "OneOutcome"},
		{"NotStartedAfterCommit", world.V2Wrong{}, "NotStartedIsTrue"},
		{"CompleteEarly", world.V2Wrong{}, "SourceCompleteIsTrue"},
		{"CompleteEarly", world.V2Wrong{}, "CompletedHasData"},
		{"CompleteEarly", world.V2Wrong{}, "DestinationCompleteIsTrue"},
		{"DoubtIsNotStarted", world.V2Wrong{}, "SidesAgree"},
		{"FreeOnTimeout", world.V2Wrong{}, "NoWriteIntoFreeSlot"},
		{"FreeOnCancel", world.V2Wrong{}, "NoWriteFromFreeSlot"},
		{"UnknownTouchesReleased", world.V2Wrong{}, "UnknownRestarts"},
		{"DecideAlone", world.V2Wrong{}, "OnlyRoundsDecide"},
		{"OldReachesNew", world.V2Wrong{}, "OtherKeysChangeNothing"},
		{"ReceiptIsEvidence", world.V2Wrong{}, "EvidenceIsTheirs"},
		{"CleanUpTwice", world.V2Wrong{}, "CleanupOnce"},
		{"TimeoutDecides", world.V2Wrong{}, "OnlyRoundsDecide"},
		{"TimeoutDecides", world.V2Wrong{}, "CancelNeverUnknown"},
		{"PartIsBundle", world.V2Wrong{}, "NoticeAfterData"},
		{"NoDeadline", world.V2Wrong{}, explore.Stuck},
		{"NoRestart", world.V2Wrong{}, "UnknownRestarts"},
		{"NoPause", world.V2Wrong{}, "PausesGrow"},
		{"SealIgnored", world.V2Wrong{SealIgnored: true}, "QuiescedIsTrue"},
		{"BarrierIgnored", world.V2Wrong{BarrierIgnored: true}, "BarrierHolds"},
		{"TrustDeath", world.V2Wrong{TrustDeath: true}, "NoWriteIntoFreeSlot"},
		{"ForgetLease", world.V2Wrong{ForgetLease: true}, "LeasesAddUp"},
		{"NeverAsk", world.V2Wrong{NeverAsk: true}, "LostNoticeCompletes"},
		{"WorkUnseen", world.V2Wrong{WorkUnseen: true}, "DestinationIdle"},
	} {
		seen[c.name] = true
		t.Run(c.name+"/"+c.red, func(t *testing.T) {
			m, err := world.V2(world.V2Config{Name: "wrong", Size: "test", Cases: wrongCases(), Bad: rules[c.name], Wrong: c.world})
			require.NoError(t, err)
			rep, err := explore.Run(context.Background(), m, explore.Options{Only: []string{c.red}, MaxStates: 400_000})
			require.NoError(t, err)
			all := append(rep.Violations, rep.Hangs...)
			require.NotEmpty(t, all)
			require.Equal(t, c.red, all[0].Property)
			_, err = explore.Tell(m, all[0])
			require.NoError(t, err)
			red[c.red] = true
		})
	}
	for name := range rules {
		require.True(t, seen[name], "%s is not broken here", name)
	}
	m, err := world.V2(world.V2Config{Cases: wrongCases()})
	require.NoError(t, err)
	for _, inv := range m.Invariants {
		// A full channel is a mistake of the bounds, not of a rule.
		require.True(t, red[inv.Name] || inv.Name == "ChannelsSuffice", "%s was not seen red", inv.Name)
	}
}
