package catalog_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/internal/notrun"
	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// TestEveryRowFires: each row of the transition tables is taken by a medium model, or
// stands in world.Unreached with the reason; nothing stands there that is taken.
func TestEveryRowFires(t *testing.T) {
	if testing.Short() {
		notrun.Skip(t, "-short: explores all medium models")
	}
	spec.Covers(t, "KS-CTX-1", "KS-GEN-1", "KS-RND-6")
	taken := map[string]int64{}
	for _, name := range catalog.Names() {
		m, err := catalog.New(name, "medium")
		require.NoError(t, err)
		if len(m.Rows()) == 0 {
			continue
		}
		rep, err := m.Explore(context.Background(), explore.Options{SkipHangs: true})
		require.NoError(t, err)
		require.Empty(t, rep.Violations)
		for i, row := range m.Rows() {
			taken[row] += rep.Rows[i]
		}
	}
	excused := world.Unreached()
	for row, n := range taken {
		require.Equal(t, excused[row] != "", n == 0, "row %s was taken %d times", row, n)
	}
	for row := range excused {
		require.Contains(t, taken, row, "no such row")
	}
	// The models count every row of every table of the machines.
	for _, name := range []string{"ctx-parent-transitions", "ctx-edge-transitions", "gen-parent-transitions", "gen-edge-transitions",
		"v1-ctx-transitions", "v1-gen-transitions", "round-decisions"} {
		table, err := spec.LoadTable(name)
		require.NoError(t, err)
		for _, r := range table.Rows {
			require.Contains(t, taken, r.ID)
		}
	}
	t.Logf("%d rows, %d of them without a model", len(taken), len(excused))
}
