package explore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// busy is a v2 world with at least five edges per state: impatient deadlines, every
// fault of the network, cancels on both sides and a crash.
func busy() (*world.Model[world.V2State], error) {
	c := world.V2Case{Gens: 1, Ctxs: 1, Chunks: 2, DeathQuiet: true, Caps: descriptor.CapRecovery | descriptor.CapQuiescence,
		Contract: settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet,
		Faults:   world.V2Faults{Drops: 1, Dups: 1, Reorders: 1, CancelGen: 1, CancelCtx: 1, Crashes: 1, Retries: 1, WriteFails: 1, Releases: 1}}
	return world.V2(world.V2Config{Name: "busy", Size: "bench", Cases: []world.V2Case{c}})
}

// BenchmarkV2 explores the first 500,000 states of a busy world on two workers.
func BenchmarkV2(b *testing.B) {
	m, err := busy()
	require.NoError(b, err)
	for b.Loop() {
		rep, err := explore.Run(context.Background(), m, explore.Options{Workers: 2, MaxStates: 500_000, SkipHangs: true})
		require.True(b, errors.Is(err, explore.ErrTooLarge))
		b.ReportMetric(float64(rep.States)/rep.Seconds, "states/s")
		b.ReportMetric(float64(rep.Edges)/float64(rep.Expanded), "edges/state")
		b.ReportMetric(rep.Memory.PerState, "bytes/state")
	}
}

// TestMemory holds the seen-set with its parent links to 64 bytes per state.
func TestMemory(t *testing.T) {
	m, err := busy()
	require.NoError(t, err)
	rep, err := explore.Run(context.Background(), m, explore.Options{MaxStates: 100_000, SkipHangs: true})
	require.ErrorIs(t, err, explore.ErrTooLarge)
	require.LessOrEqual(t, rep.Memory.PerState, 64.0)
	t.Logf("%d states, %.1f bytes per state, frontier %d KiB", rep.States, rep.Memory.PerState, rep.Memory.Frontier>>10)
}
