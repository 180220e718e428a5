package rows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/settle/rows"
)

func TestLoad(t *testing.T) {
	_, err := rows.Load("no-such-table")
	require.Error(t, err)
	_, err = rows.Load("ctx-edge-transitions", rows.Extra{ID: "ctx-edge-show"})
	require.ErrorContains(t, err, "ctx-edge-show")
	tab, err := rows.Load("ctx-edge-transitions", rows.Extra{ID: "more", From: []string{"BOUND"}, To: "unchanged"})
	require.NoError(t, err)
	require.True(t, tab.Has("more"))
	require.False(t, tab.Has("less"))
	require.NotContains(t, tab.IDs(), "more")
	require.Contains(t, tab.IDs(), "ctx-edge-retire")
}

func TestExplain(t *testing.T) {
	tab, err := rows.Load("ctx-edge-transitions")
	require.NoError(t, err)
	require.NoError(t, tab.Explain("BOUND", "BOUND", "ABSENT", nil))
	require.NoError(t, tab.Explain("ABSENT", "BOUND", "ABSENT", nil), "a child comes into being")
	require.NoError(t, tab.Explain("ABSENT", "CANCEL_PENDING", "ABSENT", []string{"ctx-edge-cancel"}))
	require.NoError(t, tab.Explain("READY_PREPARED", "EVIDENCE_NOT_STARTED", "ABSENT", []string{"ctx-edge-cancel", "ctx-edge-cancelled"}))
	require.ErrorContains(t, tab.Explain("BOUND", "IN_FLIGHT", "ABSENT", nil), "lead from")
	require.ErrorContains(t, tab.Explain("BOUND", "BOUND", "ABSENT", []string{"nothing"}), "not in the table")
	require.ErrorContains(t, tab.Explain("READY_DECIDED", "READY_DECIDED", "ABSENT", []string{"ctx-edge-cancel"}), "taken from")
}
