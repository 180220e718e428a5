package settle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
)

// word is how the tables write evidence.
func word(t *testing.T, s string) control.Evidence {
	t.Helper()
	if s == "missing" {
		return settle.Missing
	}
	for _, e := range []control.Evidence{control.NotStarted, control.SourceComplete, control.DestinationComplete, control.Unknown, control.Quiesced} {
		if e.String() == s {
			return e
		}
	}
	require.Fail(t, "no such evidence", s)
	return 0
}

func table(t *testing.T, name string) spec.Table {
	t.Helper()
	tab, err := spec.LoadTable(name)
	require.NoError(t, err)
	return tab
}

// TestEdgeIsTheTable compares every row, and counts them: five values a side.
func TestEdgeIsTheTable(t *testing.T) {
	spec.Covers(t, "KS-SET-5", "KS-QUI-9", "KS-SET-4")
	tab := table(t, "edge-reduction")
	require.Len(t, tab.Rows, 25)
	for _, r := range tab.Rows {
		src, dst := word(t, tab.Cell(r, "source evidence")), word(t, tab.Cell(r, "destination evidence"))
		require.Equal(t, tab.Cell(r, "plain v2"), settle.Edge(src, dst, false).String(), r.ID)
		require.Equal(t, tab.Cell(r, "with bit 49"), settle.Edge(src, dst, true).String(), r.ID)
	}
}

func TestClaimsFitTheRole(t *testing.T) {
	spec.Covers(t, "KS-SET-11")
	for e := range 256 {
		for _, x := range []bool{false, true} {
			require.Equal(t, settle.EdgeUnknown, settle.Edge(control.DestinationComplete, control.Evidence(e), x))
			require.Equal(t, settle.EdgeUnknown, settle.Edge(control.Evidence(e), control.SourceComplete, x))
		}
	}
	require.Equal(t, settle.EdgeUnknown, settle.Edge(7, 7, true), "values outside the enum")
}

func TestTopologyIsTheTable(t *testing.T) {
	spec.Covers(t, "KS-SET-5", "KS-SET-2", "KS-SET-3")
	tab := table(t, "topology-reduction")
	n, c, q, u := settle.EdgeNotStarted, settle.EdgeCompleted, settle.EdgeQuiesced, settle.EdgeUnknown
	cases := map[string][]struct {
		edges []settle.Result
		agree bool
	}{
		"topology-unknown":     {{[]settle.Result{n, u}, true}, {[]settle.Result{n, n}, false}, {[]settle.Result{c}, false}, {nil, true}, {[]settle.Result{99, n}, true}},
		"topology-not-started": {{[]settle.Result{n}, true}, {[]settle.Result{n, n}, true}},
		"topology-completed":   {{[]settle.Result{c, c, c}, true}},
		"topology-mixed":       {{[]settle.Result{n, c}, true}, {[]settle.Result{q}, true}, {[]settle.Result{q, c}, true}, {[]settle.Result{n, q}, true}, {[]settle.Result{n, c, q}, true}},
	}
	require.Len(t, cases, len(tab.Rows))
	for _, r := range tab.Rows {
		require.NotEmpty(t, cases[r.ID], r.ID)
		for _, k := range cases[r.ID] {
			require.Equal(t, tab.Cell(r, "plain v2"), settle.Reduce(k.edges, k.agree, false).String(), "%s %v", r.ID, k)
			require.Equal(t, tab.Cell(r, "with bit 49"), settle.Reduce(k.edges, k.agree, true).String(), "%s %v", r.ID, k)
		}
	}
}

// TestRanksReduceLikeEdges: it does not matter how the edges are spread over ranks,
// nor in which order they are added.
func TestRanksReduceLikeEdges(t *testing.T) {
	spec.Covers(t, "KS-SET-5")
	rapid.Check(t, func(t *rapid.T) {
		edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) settle.Result {
			return settle.Result(rapid.IntRange(0, 3).Draw(t, "r"))
		}), 1, 8).Draw(t, "edges")
		cut := rapid.IntRange(1, len(edges)).Draw(t, "cut")
		x49 := rapid.Bool().Draw(t, "x49")
		whole := settle.Reduce(edges, true, x49)
		sum := settle.Sum{}.Add(settle.Reduce(edges[:cut], true, x49).AsResult())
		if cut < len(edges) {
			sum = sum.Add(settle.Reduce(edges[cut:], true, x49).AsResult())
		}
		require.Equal(t, whole, sum.Topology(true, x49))
		require.Equal(t, whole, settle.FromEvidence(whole.AsEvidence(true)))
		require.Equal(t, whole, settle.FromEvidence(whole.AsEvidence(false)))
	})
}

func TestEffectsAreTheTable(t *testing.T) {
	spec.Covers(t, "KS-SET-6", "KS-SET-7", "KS-QUI-13", "KS-SET-10")
	tab := table(t, "disposition-effects")
	leases := map[settle.Leases]string{settle.Free: "freed on both sides", settle.CleanUp: "normal clean-up", settle.Quarantine: "quarantined"}
	for i, top := range []settle.Topology{settle.NotStarted, settle.Completed, settle.Quiesced, settle.Unknown} {
		r := tab.Rows[i]
		require.Equal(t, top.String(), tab.Cell(r, "disposition"))
		require.Contains(t, tab.Cell(r, "leases"), leases[top.Leases()], r.ID)
		require.Contains(t, tab.Cell(r, "outcome"), top.Outcome(false, true).String(), r.ID)
		require.Contains(t, tab.Cell(r, "outcome"), top.Outcome(true, false).String(), r.ID)
		restarts := strings.Contains(tab.Cell(r, "process"), "restart")
		require.Equal(t, restarts, top.Restarts(true, false), r.ID)
		require.False(t, top.Restarts(false, false), r.ID)
		require.False(t, top.Restarts(true, true), "with bit 49 the budget decides")
	}
	require.Len(t, tab.Rows, 4)
}

func TestNames(t *testing.T) {
	require.Equal(t, "INVALID", settle.Result(9).String())
	require.Equal(t, "INVALID", settle.Topology(9).String())
	require.Equal(t, settle.EdgeUnknown, settle.Topology(9).AsResult())
	require.Equal(t, control.Unknown, settle.Topology(9).AsEvidence(true))
}
