package spec_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
)

func table(t testing.TB, name string) spec.Table {
	t.Helper()
	tab, err := spec.LoadTable(name)
	require.NoError(t, err)
	return tab
}

func TestTablesCiteDefinedRequirements(t *testing.T) {
	tables := spec.Tables()
	require.GreaterOrEqual(t, len(tables), 30)
	for _, tab := range tables {
		for _, r := range tab.Rows {
			for _, id := range r.Req {
				_, ok := spec.Lookup(id)
				require.True(t, ok, "%s row %s cites %s", tab.Name, r.ID, id)
			}
		}
	}
}

// TestRowIDsAreUniqueOverTransitionTables lets models name a row without its table.
func TestRowIDsAreUniqueOverTransitionTables(t *testing.T) {
	seen := map[string]string{}
	for _, tab := range spec.Tables() {
		if tab.Kind == spec.List {
			continue
		}
		for _, r := range tab.Rows {
			require.Empty(t, seen[r.ID], "%s is a row of %s too", r.ID, tab.Name)
			seen[r.ID] = tab.Name
		}
	}
}

func TestLoadTableRefusesUnknownNames(t *testing.T) {
	_, err := spec.LoadTable("no-such-table")
	require.ErrorIs(t, err, spec.ErrNoTable)
}

func TestTablesAreCopies(t *testing.T) {
	a := table(t, "slot-transitions")
	a.Rows[0].Cells[0], a.States[0] = "X", "X"
	b := table(t, "slot-transitions")
	require.Equal(t, "FREE", b.Rows[0].Cells[0])
	require.Equal(t, "FREE", b.States[0])
}

func TestParseTablesRefuses(t *testing.T) {
	good := spec.Table{Name: "t", Title: "T", Chapter: "c", Kind: spec.Transitions, States: []string{"A", "B"}, Initial: "A", Final: []string{"B"},
		Columns: []string{"from", "event", "guard", "to"}, Rows: []spec.Row{{ID: "r", Cells: []string{"A", "e", spec.None, "B"}, Req: []string{"KS-SLOT-1"}}}}
	parse := func(tab spec.Table) error {
		b, err := json.Marshal(tab)
		require.NoError(t, err)
		_, err = spec.ParseTables(fstest.MapFS{"tables/t.json": {Data: b}})
		return err
	}
	require.NoError(t, parse(good))
	cases := map[string]struct {
		change func(*spec.Table)
		want   string
	}{
		"name":               {func(x *spec.Table) { x.Name = "u" }, "its name is"},
		"kind":               {func(x *spec.Table) { x.Kind = "k" }, "unknown kind"},
		"title":              {func(x *spec.Table) { x.Title = "" }, "are needed"},
		"cells":              {func(x *spec.Table) { x.Rows[0].Cells = []string{"A"} }, "1 cells for 4"},
		"empty cell":         {func(x *spec.Table) { x.Rows[0].Cells[2] = "" }, "empty cell"},
		"no requirement":     {func(x *spec.Table) { x.Rows[0].Req = nil }, "cites no requirement"},
		"row twice":          {func(x *spec.Table) { x.Rows = append(x.Rows, x.Rows[0]) }, "used twice"},
		"columns":            {func(x *spec.Table) { x.Columns[1] = "what" }, "begin with"},
		"initial":            {func(x *spec.Table) { x.Initial = "C" }, "initial state"},
		"final":              {func(x *spec.Table) { x.Final = []string{"C"} }, "final state"},
		"unknown from":       {func(x *spec.Table) { x.Rows[0].Cells[0] = "C" }, "unknown state"},
		"unknown to":         {func(x *spec.Table) { x.Rows[0].Cells[3] = "C" }, "unknown state"},
		"unreached":          {func(x *spec.Table) { x.States = append(x.States, "C") }, "no row reaches"},
		"not left":           {func(x *spec.Table) { x.Final = nil }, "no row leaves"},
		"final left":         {func(x *spec.Table) { x.Final = []string{"A", "B"} }, "leaves the final"},
		"states in decision": {func(x *spec.Table) { x.Kind = spec.Decision }, "only a table of transitions"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bad := good
			bad.Columns = slices.Clone(good.Columns)
			bad.Rows = []spec.Row{{ID: "r", Cells: slices.Clone(good.Rows[0].Cells), Req: good.Rows[0].Req}}
			c.change(&bad)
			require.ErrorContains(t, parse(bad), c.want)
		})
	}
	_, err := spec.ParseTables(fstest.MapFS{"tables/t.json": {Data: []byte(`{"name":"t","extra":1}`)}})
	require.ErrorContains(t, err, "unknown field")
}

func TestReasonCodes(t *testing.T) {
	spec.Covers(t, "KS-RSN-1")
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[spec.Reason]bool{}
	for _, r := range spec.Reasons() {
		require.Regexp(t, form, string(r.Code))
		require.False(t, seen[r.Code], "%s is listed twice", r.Code)
		seen[r.Code] = true
		got, ok := spec.Known(r.Code)
		require.True(t, ok)
		require.Equal(t, r, got)
	}
	require.NotEmpty(t, seen)
	_, ok := spec.Known("no-such-code")
	require.False(t, ok)
}

// TestTimeReasonsNameTheirSetting: a code that ends a wait begins with its setting.
func TestTimeReasonsNameTheirSetting(t *testing.T) {
	waits := table(t, "waits")
	for _, r := range spec.Reasons() {
		if r.Area != "time" {
			continue
		}
		named := slices.ContainsFunc(waits.Rows, func(w spec.Row) bool {
			s := waits.Cell(w, "setting")
			return string(r.Code) == s || strings.HasPrefix(string(r.Code), s+"-")
		})
		require.True(t, named, "%s names no setting", r.Code)
	}
}

func TestReasonsInTablesAreListed(t *testing.T) {
	prose := []string{"none", "of that class", "the negotiation's reason"}
	for _, name := range []string{"v1-validation", "local-validation", "rollout-matrix", "policy-values", "qualification", "request-checks"} {
		tab := table(t, name)
		for _, r := range tab.Rows {
			code := tab.Cell(r, "reason")
			require.NotEmpty(t, code, "%s has a column reason", name)
			if slices.Contains(prose, code) {
				continue
			}
			_, ok := spec.Known(spec.Reason(code))
			require.True(t, ok, "%s row %s: %s", name, r.ID, code)
		}
	}
}

// TestReductionIsTotal: every pair of evidences has exactly one row, plain v2 knows
// no QUIESCED, and bit 49 never makes an UNKNOWN edge complete or a settled one
// unknown.
func TestReductionIsTotal(t *testing.T) {
	tab := table(t, "edge-reduction")
	seen := map[string]bool{}
	for _, r := range tab.Rows {
		s, d := tab.Cell(r, "source evidence"), tab.Cell(r, "destination evidence")
		require.False(t, seen[s+d])
		seen[s+d] = true
		plain, with := tab.Cell(r, "plain v2"), tab.Cell(r, "with bit 49")
		require.NotEqual(t, "EDGE_QUIESCED", plain)
		if plain != with {
			require.Equal(t, "EDGE_UNKNOWN", plain)
			require.Equal(t, "EDGE_QUIESCED", with)
		}
		if strings.Contains(s+d, "UNKNOWN") || strings.Contains(s+d, "missing") {
			require.Equal(t, "EDGE_UNKNOWN", with)
		}
	}
	require.Len(t, seen, 25)
}

func TestRolloutMatrixIsComplete(t *testing.T) {
	tab := table(t, "rollout-matrix")
	require.Len(t, tab.Rows, 9)
	modes := []string{"legacy", "off", "on"}
	for _, gen := range modes {
		for _, ctx := range modes {
			r, ok := tab.Row(gen + "-" + ctx)
			require.True(t, ok)
			require.Equal(t, gen, tab.Cell(r, "gen"))
			require.Equal(t, ctx, tab.Cell(r, "ctx"))
			refused := (gen == "on") != (ctx == "on")
			require.Equal(t, refused, tab.Cell(r, "payload") == spec.None)
			require.Equal(t, refused, tab.Cell(r, "reason") != spec.None)
		}
	}
}

func TestCellAndList(t *testing.T) {
	tab := table(t, "slot-transitions")
	r, ok := tab.Row("slot-release-proven")
	require.True(t, ok)
	require.Equal(t, []string{"ADVERTISED", "IN_FLIGHT"}, tab.List(r, "from"))
	require.Empty(t, tab.Cell(r, "no such column"))
	require.Empty(t, tab.List(r, "no such column"))
	_, ok = tab.Row("no such row")
	require.False(t, ok)
}
