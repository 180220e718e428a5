package gen_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
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
}

// unreachable are rows whose guard no machine can meet, with the reason.
var unreachable = map[string]string{
	"v1-gen-deadline-proven": "an edge that is proven is also judged at once: the attempt has ended before its deadline",
}

// event names the word as the table does.
func event(word, from string) string {
	name, _, _ := strings.Cut(word, ":")
	switch name {
	case "grant":
		return "granted"
	case "deny":
		return "denied"
	case "refuse", "nothing":
		return "validation"
	case "pub":
		return "sent"
	case "err":
		return "send failed"
	case "doubt":
		return "send doubtful"
	case "yes", "no":
		return "ready"
	case "good", "bad":
		return "scattered"
	case "lost":
		return "peer lost"
	case "quiet":
		return "peer quiet"
	case "due":
		switch from {
		case "WAITING":
			return "admission deadline"
		case "DRAINING":
			return "control deadline"
		}
		return "request deadline"
	}
	return name // start, sync, cancel, abort
}

// allows says whether a row of the table permits what happened: the new state,
// and the outcome if one was decided.
func allows(t spec.Table, r spec.Row, from, event, to string, decided sm.Disposition) bool {
	if !slices.Contains(t.List(r, "from"), from) || !slices.Contains(t.List(r, "event"), event) {
		return false
	}
	if want := t.Cell(r, "to"); want != to && !(want == spec.Unchanged && to == from) {
		return false
	}
	switch outcome := t.Cell(r, "outcome"); outcome {
	case spec.None:
		return decided == sm.Open
	case "failed, or cancelled after a cancel":
		return decided == sm.Failed || decided == sm.Cancelled
	default:
		return decided.String() == outcome
	}
}

func TestSpecRows(t *testing.T) {
	spec.Covers(t, "KS-V1-4", "KS-V1-5", "KS-V1-6", "KS-V1-9", "KS-V1-17", "KS-V1-19", "KS-V1-20", "KS-V1-21", "KS-V1-22",
		"KS-V1-24", "KS-V1-25", "KS-V1-40", "KS-V1-44")
	table, err := spec.LoadTable("v1-gen-transitions")
	require.NoError(t, err)
	played := map[string]bool{}
	for _, c := range specRows {
		row, ok := table.Row(c.row)
		require.True(t, ok, "no row %s", c.row)
		s := play(t, c.setup)
		from := s.m.State().String()
		result := s.step(c.word)
		require.NotContains(t, result, "refused", "%s: %s | %s", c.row, c.setup, c.word)
		to, decided := s.m.State().String(), s.m.Disposition()
		if strings.Contains(c.setup, "due") {
			decided = sm.Open // decided before
		}
		require.True(t, allows(table, row, from, event(c.word, from), to, decided),
			"%s does not allow %s | %s: %s to %s, %s", c.row, c.setup, c.word, from, to, s.m.Disposition())
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
		require.NotEqual(t, unreachable[row.ID] != "", played[row.ID], "row %s is neither played nor listed as out of reach", row.ID)
	}
}
