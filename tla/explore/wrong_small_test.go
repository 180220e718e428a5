package explore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// seesRed explores right and wrong worlds: the property holds in the one and is
// violated in the other.
func seesRed[S comparable](t *testing.T, property string, right, wrong func() (*world.Model[S], error)) {
	t.Helper()
	only := explore.Options{Only: []string{property}, MaxStates: 400_000}
	m, err := right()
	require.NoError(t, err)
	rep, err := explore.Run(context.Background(), m, only)
	require.NoError(t, err)
	require.Empty(t, rep.Violations, "without the wrong rule")
	require.Empty(t, rep.Hangs, "without the wrong rule")
	m, err = wrong()
	require.NoError(t, err)
	rep, err = explore.Run(context.Background(), m, only)
	require.NoError(t, err)
	all := append(rep.Violations, rep.Hangs...)
	require.NotEmpty(t, all)
	require.Equal(t, property, all[0].Property)
	_, err = explore.Tell(m, all[0])
	require.NoError(t, err)
}

func TestSlotWrong(t *testing.T) {
	size := func(name string, w world.SlotWrong) func() (*world.Model[world.SlotState], error) {
		cfg, _ := world.SlotSize(name)
		if name == "medium" {
			cfg.Owners = 2
		}
		cfg.Wrong = w
		return func() (*world.Model[world.SlotState], error) { return world.Slot(cfg) }
	}
	for _, c := range []struct {
		size  string
		wrong world.SlotWrong
		red   string
	}{
		{"small", world.SlotWrong{TrustTimeout: true}, "NoWriteIntoFreeSlot"},
		{"small", world.SlotWrong{TrustRelease: true}, "NoWriteIntoFreeSlot"},
		{"medium", world.SlotWrong{IgnoreBudget: true}, "BudgetStopsAdmission"},
		{"small", world.SlotWrong{KeepQuiet: true}, explore.Stuck},
		{"small", world.SlotWrong{ForgetToken: true}, "PoolBehaves"},
		{"small", world.SlotWrong{LoseLease: true}, "SlotsAddUp"},
		{"medium", world.SlotWrong{OneForAll: true}, "OneOwner"},
	} {
		t.Run(c.red, func(t *testing.T) {
			if c.wrong.IgnoreBudget {
				cfg := world.SlotConfig{Size: "test", Slots: 3, Budget: 0, Owners: 2, Wrong: c.wrong}
				right := cfg
				right.Wrong = world.SlotWrong{}
				seesRed(t, c.red, func() (*world.Model[world.SlotState], error) { return world.Slot(right) },
					func() (*world.Model[world.SlotState], error) { return world.Slot(cfg) })
				return
			}
			seesRed(t, c.red, size(c.size, world.SlotWrong{}), size(c.size, c.wrong))
		})
	}
}

func TestNegotiateWrong(t *testing.T) {
	size := func(w world.NegotiateWrong) func() (*world.Model[world.NegotiateState], error) {
		cfg, _ := world.NegotiateSize("medium")
		cfg.Wrong = w
		return func() (*world.Model[world.NegotiateState], error) { return world.Negotiate(cfg) }
	}
	for _, c := range []struct {
		wrong world.NegotiateWrong
		red   string
	}{
		{world.NegotiateWrong{AskAnyway: true}, "RefusalIsSilent"},
		{world.NegotiateWrong{AcceptAll: true}, "NoPayloadInRefusedCell"},
		{world.NegotiateWrong{AcceptAll: true}, "RejectExpected"},
		{world.NegotiateWrong{LocalSelection: true}, "SelectionAgrees"},
	} {
		t.Run(c.red, func(t *testing.T) { seesRed(t, c.red, size(world.NegotiateWrong{}), size(c.wrong)) })
	}
}

func TestRoundWrong(t *testing.T) {
	size := func(w world.RoundWrong) func() (*world.Model[world.RoundState], error) {
		cfg, _ := world.RoundSize("small")
		if w.TwoFaced {
			cfg.Ranks, cfg.Left = 3, world.RoundFaults{Cancels: 1}
		}
		cfg.Wrong = w
		return func() (*world.Model[world.RoundState], error) { return world.Round(cfg) }
	}
	for _, c := range []struct {
		wrong world.RoundWrong
		red   string
	}{
		{world.RoundWrong{TwoFaced: true, NoBarrier: true}, "CancelNeverPasses"},
		{world.RoundWrong{NoBarrier: true}, "BarrierMeansAll"},
		{world.RoundWrong{NoBarrier: true}, "MissingNeverPasses"},
		{world.RoundWrong{TwoFaced: true}, "SameDecision"},
		{world.RoundWrong{NoDeadline: true}, explore.Stuck},
	} {
		t.Run(c.red, func(t *testing.T) { seesRed(t, c.red, size(world.RoundWrong{}), size(c.wrong)) })
	}
}
