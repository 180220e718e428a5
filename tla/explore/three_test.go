package explore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// TestThreeRanks explores services of three ranks against one: all states where nothing
// goes wrong, and those nearest to the start, level by level, where a user cancels.
func TestThreeRanks(t *testing.T) {
	for _, side := range []struct{ ctxs, gens int }{{3, 1}, {1, 3}} {
		for _, f := range []world.V2Faults{{}, {CancelGen: 1}, {CancelCtx: 1}} {
			t.Run(fmt.Sprintf("%dx%d/%d%d", side.ctxs, side.gens, f.CancelGen, f.CancelCtx), func(t *testing.T) {
				c := world.V2Case{Gens: side.gens, Ctxs: side.ctxs, Chunks: 1, Patient: true, DeathQuiet: true, Lockstep: true, Caps: descriptor.CapQuiescence,
					Contract: settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet, Faults: f}
				m, err := world.V2(world.V2Config{Name: "three", Size: "test", Cases: []world.V2Case{c}})
				require.NoError(t, err)
				rep, err := explore.Run(context.Background(), m, explore.Options{MaxStates: 150_000})
				if f != (world.V2Faults{}) {
					require.ErrorIs(t, err, explore.ErrTooLarge)
				} else {
					require.NoError(t, err)
				}
				require.Empty(t, rep.Violations)
				require.Empty(t, rep.Hangs)
				t.Logf("%d states, %d edges, depth %d", rep.States, rep.Edges, rep.Depth)
			})
		}
	}
}
