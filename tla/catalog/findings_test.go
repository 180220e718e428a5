package catalog_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// TestEveryDoubtHasAFinding: D1 to D16 are there, in order, each with the rule as
// upstream has it first.
func TestEveryDoubtHasAFinding(t *testing.T) {
	want := []string{"D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9", "D10", "D11", "D12", "D13", "D14", "D15", "D16"}
	names := catalog.Findings()
	require.Greater(t, len(names), len(want))
	require.Equal(t, want, names[:len(want)])
	for i, name := range names[len(want):] {
		require.Equal(t, "N"+string(rune('1'+i)), name)
	}
	for _, f := range world.Findings() {
		require.GreaterOrEqual(t, len(f.Asks), 2, "%s is asked of another rule too", f.Name)
		holding := 0
		for _, a := range f.Asks {
			require.NotEmpty(t, a.Rule)
			if a.Holds {
				holding++
			}
		}
		require.Positive(t, holding, "%s: no rule closes it", f.Name)
		require.NotZero(t, len(f.Asks)-holding, "%s: its properties cannot fail", f.Name)
	}
	_, _, err := catalog.Ask(context.Background(), "D0", explore.Options{})
	require.ErrorIs(t, err, catalog.ErrUnknown)
}

// TestFindingsAreFoundAgain asks the quick ones, one of each kind of world; the test
// of the pages, in tla/cmd/kvmodel, asks them all. A recorded answer that is not
// found again means that a rule has changed: then the list in statemachine/world, the
// page and, by kvmodel finding --all --pages, its generated part change too.
func TestFindingsAreFoundAgain(t *testing.T) {
	for _, name := range []string{"D1", "D3", "D4", "D10", "D11", "D12", "N1", "N4"} {
		t.Run(name, func(t *testing.T) {
			f, answers, err := catalog.Ask(context.Background(), name, explore.Options{MaxStates: 400_000})
			require.NoError(t, err)
			require.Len(t, answers, len(f.Asks))
			for i, a := range answers {
				require.True(t, a.Same(), "question %d (%s, %s): %v now", i+1, a.Ask.Rule, a.Ask.Property, a.Holds)
				require.Equal(t, a.Holds, len(a.Story.Steps) == 0)
				require.NotEmpty(t, a.Model.Bounds())
				if a.Ask.Property != world.Stuck {
					require.NotEmpty(t, a.Requirements(), "%s is a property of the world", a.Ask.Property)
				}
			}
		})
	}
}

// TestAskLimits: a world that is too large, or stopped, gives no answer.
func TestAskLimits(t *testing.T) {
	_, answers, err := catalog.Ask(context.Background(), "D1", explore.Options{MaxStates: 10})
	require.ErrorIs(t, err, explore.ErrTooLarge)
	require.Empty(t, answers)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = catalog.Ask(ctx, "D16", explore.Options{})
	require.ErrorIs(t, err, explore.ErrStopped)
}
