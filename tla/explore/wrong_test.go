package explore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// TestV1Wrong breaks each rule of the v1 world and sees the property go red that
// is there for it.
func TestV1Wrong(t *testing.T) {
	one := world.V1Case{Gens: 1, Ctxs: 1, Reqs: 1, Enabled: true, Slots: 1, Budget: 1}
	pair, reuse := one, one
	pair.Gens = 2
	reuse.Reqs, reuse.Slots = 2, 2
	with := func(c world.V1Case, f world.V1Faults) world.V1Case { c.Faults = f; return c }
	over := one
	over.Slots, over.Budget = 2, 0
	for _, c := range []struct {
		name  string
		wrong world.V1Wrong
		world world.V1Case
		red   string
	}{
		{"FreeOnTimeout", world.V1Wrong{FreeOnTimeout: true}, one, "NoWriteIntoFreeSlot"},
		{"FreeSourceOnTimeout", world.V1Wrong{FreeSourceOnTimeout: true}, one, "NoWriteFromFreeSlot"},
		{"NoTagAge", world.V1Wrong{NoTagAge: true}, with(reuse, world.V1Faults{Dups: 1}), "CompletedHasData"},
		{"SyncEarly", world.V1Wrong{SyncEarly: true}, one, "SyncAfterSuccess"},
		{"SettleTwice", world.V1Wrong{SettleTwice: true}, one, "OneOutcome"},
		{"CleanupTwice", world.V1Wrong{CleanupTwice: true}, one, "CleanupOnce"},
		{"RejectLate", world.V1Wrong{RejectLate: true}, with(one, world.V1Faults{Dups: 1}), "RejectIsTrue"},
		{"TrustDeath", world.V1Wrong{TrustDeath: true}, with(one, world.V1Faults{Crashes: 1}), "NoWriteIntoFreeSlot"},
		{"OneRankCommits", world.V1Wrong{OneRankCommits: true}, pair, "AllAskedBeforeReady"},
		{"WriteAfterReject", world.V1Wrong{WriteAfterReject: true}, with(one, world.V1Faults{Rejects: 1}), "RejectIsTrue"},
		{"NoRequestDeadline", world.V1Wrong{NoRequestDeadline: true}, with(one, world.V1Faults{Drops: 1}), explore.Stuck},
		{"IgnoreBudget", world.V1Wrong{IgnoreBudget: true}, over, explore.Stuck},
		{"LoseSlot", world.V1Wrong{LoseSlot: true}, one, "SlotsAddUp"},
		{"CompleteAfterCancel", world.V1Wrong{CompleteAfterCancel: true}, with(one, world.V1Faults{CancelGen: 1}), "CancelDecides"},
		{"BelieveReject", world.V1Wrong{BelieveReject: true}, with(one, world.V1Faults{}), "OutcomesAgree"},
		{"NoBudget", world.V1Wrong{NoBudget: true}, over, "BudgetStopsAdmission"},
	} {
		t.Run(c.name, func(t *testing.T) {
			right, err := world.V1(world.V1Config{Size: "test", Cases: []world.V1Case{c.world}})
			require.NoError(t, err)
			rep, err := explore.Run(context.Background(), right, explore.Options{})
			require.NoError(t, err)
			require.Empty(t, rep.Violations, "without the wrong rule")
			require.Empty(t, rep.Hangs, "without the wrong rule")

			m, err := world.V1(world.V1Config{Size: "test", Cases: []world.V1Case{c.world}, Wrong: c.wrong})
			require.NoError(t, err)
			rep, err = explore.Run(context.Background(), m, explore.Options{Only: []string{c.red}})
			require.NoError(t, err)
			var red []string
			for _, v := range append(rep.Violations, rep.Hangs...) {
				red = append(red, v.Property)
				states, err := explore.Replay(m, v.Path)
				require.NoError(t, err)
				require.Len(t, states, len(v.Path.Events)+1)
			}
			require.Contains(t, red, c.red)
		})
	}
}
