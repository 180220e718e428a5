package ctx_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
)

// specRows plays each row of the table of chapter 12 at least once: the set-up
// ends in a state of "from", the word is an event of the row.
var specRows = []struct{ row, setup, word string }{
	{"v1-ctx-start", "", "start:2"},
	{"v1-ctx-denied", "start:2", "deny"},
	{"v1-ctx-denied", "start:2", "abort"},
	{"v1-ctx-admission-deadline", "start:2", "due"},
	{"v1-ctx-cancel-waiting", "start:2", "cancel"},
	{"v1-ctx-publish", "start:2", "grant"},
	{"v1-ctx-context-deadline", "start:2 grant", "due"},
	{"v1-ctx-cancel-published", "start:2 grant", "cancel"},
	{"v1-ctx-cancel-published", "start:2 grant ask:0", "cancel"},
	{"v1-ctx-abort-published", "start:2 grant", "abort"},
	{"v1-ctx-abort-published", "start:2 grant ask:0", "abort"},
	{"v1-ctx-bind", "start:2 grant", "ask:1"},
	{"v1-ctx-bind", "start:2 grant", "refuse:1"},
	{"v1-ctx-collect", "start:3 grant ask:1", "ask:2"},
	{"v1-ctx-collect", "start:3 grant ask:1", "refuse:2"},
	{"v1-ctx-commit", "start:2 grant ask:1", "ask:0"},
	{"v1-ctx-commit", "start:1 grant", "ask:0"},
	{"v1-ctx-refuse", "start:2 grant refuse:1", "ask:0"},
	{"v1-ctx-refuse", "start:2 grant ask:1", "refuse:0"},
	{"v1-ctx-refuse", "start:1 grant", "refuse:0"},
	{"v1-ctx-bind-deadline", "start:2 grant ask:1", "due"},
	{"v1-ctx-peer-lost-bound", "start:2 grant ask:1", "lost:2"},
	{"v1-ctx-edge-written", "start:2 grant ask:0 ask:1", "wrote:1"},
	{"v1-ctx-edge-written", "start:2 grant ask:0 ask:1 lost:1", "wrote:1"},
	{"v1-ctx-edge-ended", "start:2 grant ask:0 ask:1", "ended:1"},
	{"v1-ctx-edge-ended", "start:2 grant ask:0 ask:1 lost:1", "ended:0"},
	{"v1-ctx-written", "start:2 grant ask:0 ask:1 wrote:1", "wrote:0"},
	{"v1-ctx-written", "start:2 grant ask:0 ask:1 wrote:1 lost:1", "wrote:0"},
	{"v1-ctx-ended", "start:2 grant ask:0 ask:1 wrote:1", "ended:0"},
	{"v1-ctx-ended", "start:2 grant ask:0 ask:1 ended:1 lost:1", "wrote:0"},
	{"v1-ctx-cancel-committed", "start:2 grant ask:0 ask:1", "cancel"},
	{"v1-ctx-cancel-committed", "start:2 grant ask:0 ask:1 lost:1", "cancel"},
	{"v1-ctx-peer-lost", "start:2 grant ask:0 ask:1 wrote:0", "lost:2"},
	{"v1-ctx-peer-lost", "start:2 grant ask:0 ask:1 wrote:0", "abort"},
	{"v1-ctx-write-deadline", "start:2 grant ask:0 ask:1", "due"},
	{"v1-ctx-drain-deadline", "start:2 grant ask:0 ask:1 lost:1", "due"},
	{"v1-ctx-late-edge", "start:2 grant ask:0 ask:1 due", "wrote:0"},
	{"v1-ctx-late-edge", "start:2 grant ask:0 ask:1 due", "ended:0"},
	{"v1-ctx-late-final", "start:2 grant ask:0 ask:1 due wrote:1", "wrote:0"},
	{"v1-ctx-late-final", "start:2 grant ask:0 ask:1 due wrote:1", "ended:0"},
	{"v1-ctx-duplicate", "start:2 grant ask:0", "ask:0"},
	{"v1-ctx-duplicate", "start:2 grant ask:0 ask:1", "ask:0"},
	{"v1-ctx-duplicate", "start:2 grant ask:0 ask:1 lost:1", "refuse:0"},
	{"v1-ctx-duplicate", "start:2 grant ask:0 ask:1 due", "ask:1"},
	{"v1-ctx-early", "start:2", "ask:0"},
	{"v1-ctx-peer-lost-again", "start:2 grant ask:0 ask:1 lost:1", "lost:2"},
	{"v1-ctx-peer-lost-again", "start:2 grant ask:0 ask:1 due", "lost:2"},
}

func TestSpecRows(t *testing.T) {
	spec.Covers(t, "KS-V1-3", "KS-V1-7", "KS-V1-10", "KS-V1-11", "KS-V1-27", "KS-V1-28", "KS-V1-29", "KS-V1-31", "KS-V1-40",
		"KS-SLOT-15", "KS-TIME-6")
	table, err := spec.LoadTable("v1-ctx-transitions")
	require.NoError(t, err)
	rows, err := ctx.LoadRows()
	require.NoError(t, err)
	played := map[string]bool{}
	for _, c := range specRows {
		row, ok := table.Row(c.row)
		require.True(t, ok, "no row %s", c.row)
		s := play(t, c.setup)
		before := s.m
		in := s.input(c.word)
		result := s.step(c.word)
		require.NotContains(t, result, "refused", "%s: %s | %s", c.row, c.setup, c.word)
		i, err := rows.Of(before, in, s.m)
		require.NoError(t, err, "%s: %s | %s", c.row, c.setup, c.word)
		require.Equal(t, c.row, table.Rows[i].ID, "%s | %s", c.setup, c.word)
		effects := table.Cell(row, "effects")
		freed := strings.Contains(effects, "slot freed") || strings.Contains(effects, "lease freed")
		require.Equal(t, freed, strings.Contains(result, "release("), "%s: %s", c.row, result)
		require.Equal(t, strings.Contains(effects, "quarantined"), strings.Contains(result, "quarantine"), "%s: %s", c.row, result)
		require.Equal(t, strings.Contains(effects, "returns to its pool"), strings.Contains(result, "prove("), "%s: %s", c.row, result)
		require.Equal(t, strings.HasPrefix(c.word, "wrote"), strings.Contains(result, "sync:"), "%s: %s", c.row, result)
		require.Equal(t, strings.Contains(effects, "ready=true"), strings.Contains(result, "=true"), "%s: %s", c.row, result)
		if !strings.Contains(effects, "ready=false") {
			require.NotContains(t, result, "=false", c.row)
		}
		played[c.row] = true
	}
	for _, row := range table.Rows {
		require.True(t, played[row.ID], "row %s is not played", row.ID)
	}
}
