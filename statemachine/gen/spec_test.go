package gen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
)

// specRows plays each row of the table of chapter 12 at least once: the set-up
// ends in a state of "from", the word is an event of the row.
var specRows = []struct{ row, setup, word string }{
	{"v1-gen-start", "", "start:2"},
	{"v1-gen-refuse", "start:2", "refuse"},
	{"v1-gen-nothing-missing", "start:2", "nothing"},
	{"v1-gen-denied", "start:2", "deny"},
	{"v1-gen-admission-deadline", "start:2", "due"},
	{"v1-gen-cancel-waiting", "start:2", "cancel"},
	{"v1-gen-abort-waiting", "start:2", "abort"},
	{"v1-gen-grant", "start:2", "grant"},
	{"v1-gen-publish-next", "start:2 grant", "pub:0"},
	{"v1-gen-publish-next", "start:2 grant", "err:0"},
	{"v1-gen-publish-next", "start:2 grant", "doubt:0"},
	{"v1-gen-signal-early", "start:2 grant", "yes:0"},
	{"v1-gen-signal-early", "start:2 grant", "sync:0"},
	{"v1-gen-signal-early", "start:2 grant", "cancel"},
	{"v1-gen-signal-early", "start:2 grant", "abort"},
	{"v1-gen-signal-early", "start:2 grant", "lost:1"},
	{"v1-gen-published", "start:2 grant pub:0", "pub:1"},
	{"v1-gen-published-cancelled", "start:2:e grant cancel pub:0", "pub:1"},
	{"v1-gen-publish-failed-proven", "start:2 grant err:0", "err:1"},
	{"v1-gen-publish-failed-proven", "start:2 grant pub:0 no:0", "err:1"},
	{"v1-gen-publish-failed", "start:2 grant pub:0", "err:1"},
	{"v1-gen-publish-failed", "start:2 grant pub:0", "doubt:1"},
	{"v1-gen-publish-peer-lost", "start:2 grant pub:0 lost:1", "pub:1"},
	{"v1-gen-publish-peer-lost", "start:2 grant pub:0 lost:1", "err:1"},
	{"v1-gen-publish-deadline", "start:2 grant", "due"},
	{"v1-gen-answer", "start:2 grant pub:0 pub:1", "yes:1"},
	{"v1-gen-answer", "start:2 grant pub:0 pub:1", "sync:1"},
	{"v1-gen-all-ready", "start:2 grant pub:0 pub:1 yes:1", "yes:0"},
	{"v1-gen-all-ready", "start:2 grant pub:0 pub:1 yes:1", "sync:0"},
	{"v1-gen-all-rejected", "start:2 grant pub:0 pub:1 no:0", "no:1"},
	{"v1-gen-mixed", "start:2 grant pub:0 pub:1 no:0", "yes:1"},
	{"v1-gen-mixed-proven", "start:2 grant pub:0 pub:1 no:0", "sync:1"},
	{"v1-gen-unexpected-ready", "start:2:x grant pub:0 pub:1", "yes:1"},
	{"v1-gen-conflict", "start:2 grant pub:0 pub:1 no:0", "yes:0"},
	{"v1-gen-conflict", "start:2 grant pub:0 pub:1 yes:0 yes:1", "no:0"},
	{"v1-gen-conflict", "start:2:e grant pub:0 pub:1 no:0 cancel", "sync:0"},
	{"v1-gen-conflict", "start:2 grant pub:0 pub:1 no:0 lost:2", "yes:0"},
	{"v1-gen-data", "start:2 grant pub:0 pub:1 yes:0 yes:1", "sync:1"},
	{"v1-gen-arrived", "start:2 grant pub:0 pub:1 yes:0 yes:1 sync:0", "sync:1"},
	{"v1-gen-arrived", "start:2 grant pub:0 pub:1 sync:0", "sync:1"},
	{"v1-gen-verified", "start:2 grant pub:0 pub:1 sync:0 sync:1", "good"},
	{"v1-gen-verified", "start:2 grant pub:0 pub:1 sync:0 sync:1 cancel", "good"},
	{"v1-gen-scatter-failed", "start:2 grant pub:0 pub:1 sync:0 sync:1", "bad"},
	{"v1-gen-scatter-cancelled", "start:2:e grant pub:0 pub:1 sync:0 sync:1 cancel", "good"},
	{"v1-gen-cancel-scattering", "start:2:e grant pub:0 pub:1 sync:0 sync:1", "cancel"},
	{"v1-gen-scatter-deadline", "start:2 grant pub:0 pub:1 sync:0 sync:1", "due"},
	{"v1-gen-scatter-deadline", "start:2:e grant pub:0 pub:1 sync:0 sync:1 cancel", "abort"},
	{"v1-gen-scatter-late", "start:2 grant pub:0 pub:1 sync:0 sync:1 due", "good"},
	{"v1-gen-cancel", "start:2:e grant pub:0 pub:1", "cancel"},
	{"v1-gen-cancel", "start:2:e grant pub:0 pub:1 yes:0 yes:1", "cancel"},
	{"v1-gen-cancel-baseline", "start:2 grant pub:0 pub:1", "cancel"},
	{"v1-gen-cancel-baseline", "start:2 grant pub:0 pub:1 yes:0 yes:1", "cancel"},
	{"v1-gen-cancel-signal", "start:2:e grant pub:0 pub:1 cancel", "yes:0"},
	{"v1-gen-cancel-signal", "start:2:e grant pub:0 pub:1 cancel no:0", "yes:1"},
	{"v1-gen-cancel-proven", "start:2:e grant pub:0 pub:1 cancel no:0", "no:1"},
	{"v1-gen-cancel-proven", "start:2:e grant pub:0 pub:1 cancel no:0", "sync:1"},
	{"v1-gen-cancel-proven", "start:2:e grant pub:0 pub:1 cancel sync:0", "sync:1"},
	{"v1-gen-cancel-deadline", "start:2:e grant pub:0 pub:1 cancel", "due"},
	{"v1-gen-deadline", "start:2 grant pub:0 pub:1", "due"},
	{"v1-gen-deadline", "start:2 grant pub:0 pub:1 yes:0 yes:1 cancel", "due"},
	{"v1-gen-deadline", "start:2 grant pub:0 pub:1 yes:0 yes:1", "abort"},
	{"v1-gen-peer-lost", "start:2 grant pub:0 pub:1", "lost:2"},
	{"v1-gen-peer-lost", "start:2:e grant pub:0 pub:1 cancel", "quiet:2"},
	{"v1-gen-peer-quiet", "start:2 grant pub:0 pub:1", "quiet:3"},
	{"v1-gen-peer-quiet", "start:2 grant pub:0 pub:1 yes:0 yes:1 sync:0", "quiet:2"},
	{"v1-gen-peer-quiet", "start:2:e grant pub:0 pub:1 no:0 cancel", "quiet:2"},
	{"v1-gen-drained", "start:2 grant pub:0 pub:1 yes:0 sync:0 lost:2", "quiet:2"},
	{"v1-gen-drained", "start:2 grant pub:0 pub:1 yes:0 sync:0 lost:2", "sync:1"},
	{"v1-gen-drained", "start:2 grant pub:0 pub:1 no:0 lost:2 cancel", "no:1"},
	{"v1-gen-drain-deadline", "start:2 grant pub:0 pub:1 lost:2", "due"},
	{"v1-gen-drain-deadline", "start:2 grant pub:0 pub:1 lost:2 cancel", "abort"},
	{"v1-gen-late", "start:2 grant pub:0 pub:1 due", "yes:0"},
	{"v1-gen-late", "start:2 grant pub:0 pub:1 due", "quiet:1"},
	{"v1-gen-late-proven", "start:2 grant pub:0 pub:1 due no:0", "sync:1"},
	{"v1-gen-late-proven", "start:2 grant pub:0 pub:1 due sync:0", "quiet:2"},
	{"v1-gen-publish-deadline-proven", "start:2 grant no:0", "due"},
	{"v1-gen-publish-failed", "start:2 grant err:0", "pub:1"},
	{"v1-gen-publish-failed", "start:2:e grant cancel err:0", "pub:1"},
	{"v1-gen-publish-failed", "start:2 grant no:0 yes:0 pub:0", "pub:1"},
	{"v1-gen-publish-failed-proven", "start:2 grant abort no:0 pub:0 no:1", "pub:1"},
	{"v1-gen-signal-early", "start:2 grant", "quiet:1"},
	{"v1-gen-signal-early", "start:2 grant no:0", "yes:0"},
	{"v1-gen-all-ready", "start:2 grant yes:0 pub:0 yes:1", "pub:1"},
	{"v1-gen-all-rejected", "start:2 grant no:0 pub:0 no:1", "pub:1"},
	{"v1-gen-all-rejected", "start:2 grant pub:0 pub:1 no:0 cancel", "no:1"},
	{"v1-gen-mixed", "start:2 grant no:0 pub:0 yes:1", "pub:1"},
	{"v1-gen-mixed-proven", "start:2 grant no:0 pub:0 sync:1", "pub:1"},
	{"v1-gen-cancel-proven", "start:2:e grant cancel no:0 pub:0 no:1", "pub:1"},
	{"v1-gen-cancel-proven", "start:2 grant pub:0 pub:1 no:0 cancel", "sync:1"},
	{"v1-gen-answer", "start:2 grant pub:0 pub:1 no:0 cancel", "yes:1"},
	{"v1-gen-unexpected-ready", "start:2:x grant yes:0 pub:0", "pub:1"},
	{"v1-gen-unexpected-ready-proven", "start:1:x grant pub:0", "sync:0"},
	{"v1-gen-arrived", "start:2 grant sync:0 pub:0 sync:1", "pub:1"},
	{"v1-gen-scatter-cancelled", "start:2:e grant pub:0 pub:1 sync:0 sync:1 cancel", "bad"},
	{"v1-gen-scatter-conflict", "start:2 grant pub:0 pub:1 sync:0 sync:1", "no:0"},
	{"v1-gen-scatter-signal", "start:2 grant pub:0 pub:1 sync:0 sync:1", "quiet:1"},
	{"v1-gen-scatter-signal", "start:2 grant pub:0 pub:1 sync:0 sync:1 due", "no:0"},
	{"v1-gen-scatter-unproven", "start:2 grant pub:0 pub:1 sync:0 sync:1 no:0", "good"},
	{"v1-gen-cancel-deadline", "start:2:e grant pub:0 pub:1 cancel", "abort"},
	{"v1-gen-quiet", "start:2", "quiet:1"},
	{"v1-gen-quiet", "start:2 grant pub:0 pub:1 yes:0 yes:1 sync:0", "quiet:1"},
	{"v1-gen-drain-signal", "start:2 grant pub:0 pub:1 lost:2", "yes:0"},
	{"v1-gen-cancel-draining", "start:2 grant pub:0 pub:1 lost:2", "cancel"},
	{"v1-gen-late", "start:2 grant due", "pub:0"},
	{"v1-gen-late-proven", "start:2 grant due", "err:0"},
}

func TestSpecRows(t *testing.T) {
	spec.Covers(t, "KS-V1-4", "KS-V1-5", "KS-V1-6", "KS-V1-9", "KS-V1-17", "KS-V1-19", "KS-V1-20", "KS-V1-21", "KS-V1-22",
		"KS-V1-24", "KS-V1-25", "KS-V1-40", "KS-V1-44")
	table, err := spec.LoadTable("v1-gen-transitions")
	require.NoError(t, err)
	rows, err := gen.LoadRows()
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
		decided := sm.Open
		if before.Disposition() == sm.Open {
			decided = s.m.Disposition()
		}
		if cell := table.Cell(row, "outcome"); decided != sm.Open && strings.HasPrefix(cell, "failed, or") {
			require.Equal(t, strings.Contains(c.setup, "cancel"), decided == sm.Cancelled, "%s: %s | %s", c.row, c.setup, c.word)
		}
		effects := table.Cell(row, "effects")
		require.Equal(t, strings.Contains(effects, "slot freed"), strings.Contains(result, "release("), "%s: %s", c.row, result)
		require.Equal(t, strings.Contains(effects, "quarantined"), strings.Contains(result, "quarantine"), "%s: %s", c.row, result)
		require.Equal(t, strings.Contains(effects, "returns to its pool"), strings.Contains(result, "prove("), "%s: %s", c.row, result)
		played[c.row] = true
	}
	for _, row := range table.Rows {
		require.True(t, played[row.ID], "row %s is not played", row.ID)
	}
}
