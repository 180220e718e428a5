package explore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// TestFindings replays what the models have shown. A finding that is no longer found
// means that a rule has changed: then its page and this list change too.
func TestFindings(t *testing.T) {
	for _, f := range world.Findings() {
		t.Run(f.Name, func(t *testing.T) {
			require.Zero(t, f.Config.Bad)
			require.Zero(t, f.Config.Wrong)
			m, err := world.V2(f.Config)
			require.NoError(t, err)
			rep, err := explore.Run(context.Background(), m, explore.Options{Only: []string{f.Property}, MaxStates: 1_000_000})
			require.NoError(t, err)
			require.Len(t, rep.Violations, 1)
			story, err := explore.Tell(m, rep.Violations[0])
			require.NoError(t, err)
			t.Logf("%d states, %d steps", rep.States, len(story.Steps))
			require.NotEmpty(t, story.Steps)
		})
	}
	_, ok := world.LookupFinding("none such")
	require.False(t, ok)
}
