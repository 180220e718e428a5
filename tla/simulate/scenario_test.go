package simulate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/timeline"
)

// A scenario is one case of the field: what happens, and what has to come of it, in
// one run or several. docs/field-cases.md lists them.
type scenario struct {
	Case  string        `json:"case"`
	About string        `json:"about"`
	Runs  []scenarioRun `json:"runs"`
}

type scenarioRun struct {
	Dialect    string `json:"dialect"`
	Why        string `json:"why"`
	CtxRanks   int    `json:"ctx_ranks"`
	GenRanks   int    `json:"gen_ranks"`
	Slots      int    `json:"slots"`
	ErrorQuiet bool   `json:"error_quiet"`
	DeathQuiet bool   `json:"death_quiet"`
	// Wrong names a rule of the world that is broken, to see that it is noticed.
	Wrong     string             `json:"wrong"`
	Transfers []scenarioTransfer `json:"transfers"`
	Faults    []scenarioFault    `json:"faults"`
	// Expect holds exact numbers; what it does not name may be anything, but for the
	// judges, who must find nothing else.
	Expect map[string]int `json:"expect"`
}

type scenarioTransfer struct {
	AtUS       int64  `json:"at_us"`
	ID         uint64 `json:"id"`
	Chunks     uint8  `json:"chunks"`
	PerChunk   bool   `json:"per_chunk"`
	RouterDies bool   `json:"router_dies"`
}

type scenarioFault struct {
	Kind     string `json:"kind"`
	Transfer uint16 `json:"transfer"`
	Edge     uint8  `json:"edge"`
	N        uint8  `json:"n"`
	AtUS     int64  `json:"at_us"`
	ForUS    int64  `json:"for_us"`
}

func (r *scenarioRun) schedule(t testing.TB) (*Schedule, Wrong) {
	d, err := ParseDialect(r.Dialect)
	require.NoError(t, err)
	s := &Schedule{Seed: 1, Dialect: d, CtxRanks: r.CtxRanks, GenRanks: r.GenRanks, Slots: r.Slots, ErrorQuiet: r.ErrorQuiet, DeathQuiet: r.DeathQuiet}
	for i, x := range r.Transfers {
		if x.ID == 0 {
			x.ID = uint64(i) + 1
		}
		s.Transfers = append(s.Transfers, Transfer{At: sm.Time(x.AtUS) * Microsecond, ID: x.ID, Chunks: x.Chunks, PerChunk: x.PerChunk, RouterDies: x.RouterDies, Key: uint16(i)})
	}
	for _, f := range r.Faults {
		k := -1
		for i := range NumKinds {
			if i.String() == f.Kind {
				k = int(i)
			}
		}
		require.GreaterOrEqual(t, k, 0, "no fault %q", f.Kind)
		require.Less(t, int(f.Transfer), len(s.Transfers))
		s.Faults = append(s.Faults, Fault{Kind: Kind(k), Transfer: f.Transfer, Edge: f.Edge, N: f.N, At: sm.Time(f.AtUS) * Microsecond, For: sm.Time(f.ForUS) * Microsecond})
	}
	slices.SortStableFunc(s.Faults, func(a, b Fault) int {
		switch {
		case a.Kind.Timed() != b.Kind.Timed():
			if a.Kind.Timed() {
				return 1
			}
			return -1
		}
		return int(a.Transfer) - int(b.Transfer)
	})
	var w Wrong
	switch r.Wrong {
	case "":
	case "notice-first":
		w.NoticeFirst = true
	default:
		require.Fail(t, "no rule "+r.Wrong)
	}
	return s, w
}

// numbers are what a scenario can expect.
func numbers(r *Result) map[string]int {
	return map[string]int{
		"completed": r.Completed, "recovered": r.Recovered, "rejected": r.Rejected, "cancelled": r.Cancelled, "quiesced": r.Quiesced,
		"failed": r.Failed, "unknown": r.Unknown, "not_admitted": r.Refused, "lost": r.Lost, "slots_held": r.Held,
		"restarts": r.Restarts.Sum(), "crashes": r.Crashes, "hangs": r.Hangs, "unsafe_reuse": r.UnsafeReuse, "lost_slots": r.LostSlots,
		"double_cleanup": r.DoubleCleanup, "wrong_outcomes": r.Outcomes, "false_success": r.FalseSuccess, "ranks_disagree": r.Disagree,
	}
}

// TestScenarios runs every case of the field that the machines can show.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/F*.json")
	require.NoError(t, err)
	require.Len(t, files, 30)
	doc, err := os.ReadFile("../../docs/field-cases.md")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			dec := json.NewDecoder(bytes.NewReader(text))
			dec.DisallowUnknownFields()
			var sc scenario
			require.NoError(t, dec.Decode(&sc))
			require.True(t, strings.HasPrefix(name, sc.Case+"-"))
			require.Contains(t, string(doc), "| "+sc.Case+" | `"+name+"` |")
			for i := range sc.Runs {
				run := &sc.Runs[i]
				sch, w := run.schedule(t)
				res := New().WithWrongRules(w).Run(sch)
				got := numbers(&res)
				require.NotEmpty(t, run.Expect)
				bad := 0
				for what, want := range run.Expect {
					n, ok := got[what]
					require.True(t, ok, "no number %q", what)
					require.Equal(t, want, n, "run %d, %s: %s; %s\n%+v %v", i+1, run.Dialect, what, res.First, res.Ends, res.Restarts.Map())
				}
				for _, what := range []string{"hangs", "unsafe_reuse", "lost_slots", "double_cleanup", "wrong_outcomes", "false_success", "ranks_disagree"} {
					bad += run.Expect[what]
				}
				require.Equal(t, bad, res.Bad(), "run %d, %s: %s", i+1, run.Dialect, res.First)
				for _, f := range sch.Faults {
					require.Positive(t, res.Applied[f.Kind], "run %d, %s: fault %v does not happen", i+1, run.Dialect, f.Kind)
				}
			}
		})
	}
}

// TestTimelines replays the cases of the field that single messages show.
func TestTimelines(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/F*.timeline")
	require.NoError(t, err)
	require.Len(t, files, 3)
	doc, err := os.ReadFile("../../docs/field-cases.md")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		tl, err := timeline.Read(text)
		require.NoError(t, err, file)
		found, err := Replay(tl)
		require.NoError(t, err, file)
		require.Empty(t, found)
		name, c := strings.TrimSuffix(filepath.Base(file), ".timeline"), ""
		c, _ = tl.Arg("case")
		require.Contains(t, string(doc), "| "+c+" | `"+name+"` |")
	}
}
