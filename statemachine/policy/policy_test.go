package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// axis is one way to leave a reference cell.
type axis struct {
	name   string
	change func(*Cell)
	reason spec.Reason // "" when the cell stays qualified
}

var axes = []axis{
	{"python transceiver", func(c *Cell) { c.Transceiver = Python }, "unqualified-transceiver-python"},
	{"unknown transceiver", func(c *Cell) { c.Transceiver = TransceiverUnknown }, "unqualified-transceiver"},
	{"no such transceiver", func(c *Cell) { c.Transceiver = 99 }, "unqualified-transceiver"},
	{"nixl with ucx", func(c *Cell) { c.Transport = NIXLUCX }, ""},
	{"shm", func(c *Cell) { c.Transport = SHM }, ""},
	{"direct ucx", func(c *Cell) { c.Transport = DirectUCX }, "unqualified-transport-direct-ucx"},
	{"mpi", func(c *Cell) { c.Transport = MPI }, "unqualified-transport-mpi"},
	{"mooncake", func(c *Cell) { c.Transport = Mooncake }, "unqualified-transport-mooncake"},
	{"nixl with libfabric", func(c *Cell) { c.Transport = NIXLLibfabric }, "unqualified-transport-nixl-libfabric"},
	{"unknown transport", func(c *Cell) { c.Transport = TransportUnknown }, "unqualified-transport"},
	{"no such transport", func(c *Cell) { c.Transport = 99 }, "unqualified-transport"},
	{"legacy executor", func(c *Cell) { c.Executor = ExecutorLegacy }, "unqualified-executor-legacy"},
	{"autodeploy", func(c *Cell) { c.Executor = AutoDeploy }, "unqualified-executor-autodeploy"},
	{"unknown executor", func(c *Cell) { c.Executor = ExecutorUnknown }, "unqualified-executor"},
	{"no such executor", func(c *Cell) { c.Executor = 99 }, "unqualified-executor"},
	{"not staged", func(c *Cell) { c.Staged = false }, "unqualified-staging"},
	{"zero copy into the destination", func(c *Cell) { c.ZeroCopyDestination = true }, "unqualified-zero-copy"},
	{"source past its staging", func(c *Cell) { c.SourceDirect = true }, ""},
	{"no deadline", func(c *Cell) { c.Deadline = 0 }, "unqualified-deadline"},
	{"negative deadline", func(c *Cell) { c.Deadline = -time.Second }, "unqualified-deadline"},
	{"shortest deadline", func(c *Cell) { c.Deadline = 1 }, ""},
	{"no overlap", func(c *Cell) { c.Overlap = false }, "unqualified-overlap"},
	{"tp 8", func(c *Cell) { c.TP = 8 }, ""},
	{"tp 0", func(c *Cell) { c.TP = 0 }, "unqualified-tensor-parallelism"},
	{"pp 2", func(c *Cell) { c.PP = 2 }, "unqualified-pipeline-parallelism"},
	{"pp 0", func(c *Cell) { c.PP = 0 }, "unqualified-pipeline-parallelism"},
	{"cp 2", func(c *Cell) { c.CP = 2 }, "unqualified-context-parallelism"},
	{"cp 0", func(c *Cell) { c.CP = 0 }, "unqualified-context-parallelism"},
	{"attention dp", func(c *Cell) { c.AttentionDP = true }, "unqualified-attention-dp"},
	{"dwdp", func(c *Cell) { c.DWDP = true }, "unqualified-dwdp"},
	{"connector", func(c *Cell) { c.Connector = true }, "unqualified-connector"},
	{"layerwise", func(c *Cell) { c.Layerwise = true }, "unqualified-layerwise"},
	{"unbounded admission", func(c *Cell) { c.BoundedAdmission = false }, "unqualified-admission"},
	{"synchronous receive", func(c *Cell) { c.SynchronousReceive = true }, "unqualified-synchronous-receive"},
}

var references = map[string]Cell{"nixl": NIXLCell(2, 10*time.Second), "shm": SHMCell(1, 10*time.Second)}

// TestEveryAxis leaves each reference cell in one direction and looks at all
// that the switch can say.
func TestEveryAxis(t *testing.T) {
	spec.Covers(t, "KS-POL-7", "KS-POL-8", "KS-POL-10", "KS-POL-11")
	table, err := spec.LoadTable("qualification")
	require.NoError(t, err)
	listed, here := map[string]bool{}, map[string]bool{}
	for _, row := range table.Rows {
		listed[row.Cells[3]] = true
	}
	for _, a := range axes {
		if a.reason != "" {
			here[string(a.reason)] = true
		}
	}
	require.Equal(t, listed, here, "the conditions of the specification are the axes tested here")
	for name, reference := range references {
		require.Empty(t, reference.Qualify(), name)
		for _, a := range axes {
			t.Run(name+"/"+a.name, func(t *testing.T) {
				cell := reference
				a.change(&cell)
				if a.reason == "" {
					require.Empty(t, cell.Qualify())
				} else {
					require.Equal(t, []spec.Reason{a.reason}, cell.Qualify())
					require.NotEmpty(t, Explain(a.reason))
				}
				checkSwitch(t, cell)
			})
		}
	}
}

// checkSwitch compares Decide with the table in its comment.
func checkSwitch(t require.TestingT, cell Cell) {
	why := cell.Qualify()
	// What each choice comes to in this cell.
	unset, on, off := Decision{}, Decision{Required: true}, Decision{Reason: SwitchedOff}
	if why == nil {
		unset.Mode, on.Mode = descriptor.Enabled, descriptor.Enabled
	} else {
		unset.Reason, on.Reason = NotQualified, RequiredNotQualified
	}
	bad := Decision{Reason: BadSwitch}
	from := func(d Decision, s Source, overridden bool) Decision {
		d.Source, d.Overridden, d.Reasons = s, overridden, why
		return d
	}
	cases := []struct {
		name     string
		flag     Choice
		variable Setting
		want     Decision
	}{
		{"nothing", NotGiven, Setting{}, from(unset, Default, false)},
		{"0", NotGiven, Setting{true, "0"}, from(off, FromVariable, false)},
		{"1", NotGiven, Setting{true, "1"}, from(on, FromVariable, false)},
		{"empty", NotGiven, Setting{true, ""}, from(bad, FromVariable, false)},
		{"true", NotGiven, Setting{true, "true"}, from(bad, FromVariable, false)},
		{"01", NotGiven, Setting{true, "01"}, from(bad, FromVariable, false)},
		{"a space", NotGiven, Setting{true, "1 "}, from(bad, FromVariable, false)},
		{"flag off", ChooseOff, Setting{}, from(off, FromFlag, false)},
		{"flag on", ChooseOn, Setting{}, from(on, FromFlag, false)},
		{"flag off over 1", ChooseOff, Setting{true, "1"}, from(off, FromFlag, true)},
		{"flag on over 0", ChooseOn, Setting{true, "0"}, from(on, FromFlag, true)},
		{"flag off over a bad value", ChooseOff, Setting{true, "x"}, from(off, FromFlag, true)},
		{"no such flag", 9, Setting{}, from(bad, Default, false)},
	}
	for _, c := range cases {
		got, err := Decide(c.flag, c.variable, cell)
		require.Equal(t, c.want, got, c.name)
		switch got.Reason {
		case BadSwitch:
			require.ErrorIs(t, err, &statemachine.Refusal{Reason: BadSwitch}, c.name)
		case RequiredNotQualified:
			var u *UnqualifiedError
			require.ErrorAs(t, err, &u, c.name)
			require.Equal(t, why, u.Reasons, c.name)
			for _, r := range append([]spec.Reason{RequiredNotQualified}, why...) {
				require.ErrorIs(t, err, &statemachine.Refusal{Reason: r}, c.name)
				require.ErrorContains(t, err, string(r), c.name)
			}
			require.ErrorContains(t, err, "required by the "+got.Source.String(), c.name)
		default:
			require.NoError(t, err, c.name)
			require.Equal(t, got.Reason == "", got.Mode == descriptor.Enabled, c.name)
		}
	}
}

// TestSpecTable compares Decide with the rows of the specification.
func TestSpecTable(t *testing.T) {
	spec.Covers(t, "KS-POL-1", "KS-POL-2", "KS-POL-4")
	table, err := spec.LoadTable("policy-values")
	require.NoError(t, err)
	values := map[string]Setting{
		"unset": {}, "0": {true, "0"}, "1": {true, "1"}, "set and empty": {true, ""}, "anything else": {true, "2"},
	}
	cells := map[string][]Cell{"qualifies": {SHMCell(1, time.Second)}, "does not qualify": {{}}}
	cells["any"] = append(cells["qualifies"], cells["does not qualify"]...)
	require.Len(t, table.Rows, 7)
	for _, row := range table.Rows {
		value, ok := values[row.Cells[0]]
		require.True(t, ok, row.ID)
		require.NotEmpty(t, cells[row.Cells[1]], row.ID)
		for _, cell := range cells[row.Cells[1]] {
			d, err := Decide(NotGiven, value, cell)
			require.Equal(t, row.Cells[3] == "yes", err == nil, row.ID)
			if err == nil {
				require.Equal(t, row.Cells[2], d.Mode.String(), row.ID)
			}
			require.Equal(t, strings.TrimPrefix(row.Cells[4], spec.None), string(d.Reason), row.ID)
		}
	}
}

// TestReasonsAddUp: any set of deviations gives exactly the reasons of each, and
// enabled mode never comes out of an unqualified cell.
func TestReasonsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := NIXLCell(1, time.Second)
		for _, a := range rapid.SliceOfN(rapid.SampledFrom(axes), 0, 6).Draw(t, "axes") {
			a.change(&cell)
		}
		// The same field may have been changed twice, so the reasons are recomputed
		// from the fields by leaving the reference cell one field at a time.
		want := map[spec.Reason]bool{}
		for _, f := range fields {
			one := NIXLCell(1, time.Second)
			f(&one, cell)
			for _, r := range one.Qualify() {
				want[r] = true
			}
		}
		got := map[spec.Reason]bool{}
		for _, r := range cell.Qualify() {
			require.False(t, got[r], "%s twice", r)
			got[r] = true
		}
		require.Equal(t, want, got)
		checkSwitch(t, cell)
	})
}

// fields copy one field each.
var fields = []func(to *Cell, from Cell){
	func(to *Cell, from Cell) { to.Transceiver = from.Transceiver },
	func(to *Cell, from Cell) { to.Transport = from.Transport },
	func(to *Cell, from Cell) { to.Executor = from.Executor },
	func(to *Cell, from Cell) { to.Staged = from.Staged },
	func(to *Cell, from Cell) { to.ZeroCopyDestination = from.ZeroCopyDestination },
	func(to *Cell, from Cell) { to.SourceDirect = from.SourceDirect },
	func(to *Cell, from Cell) { to.Deadline = from.Deadline },
	func(to *Cell, from Cell) { to.Overlap = from.Overlap },
	func(to *Cell, from Cell) { to.TP, to.PP, to.CP = from.TP, from.PP, from.CP },
	func(to *Cell, from Cell) { to.AttentionDP = from.AttentionDP },
	func(to *Cell, from Cell) { to.DWDP = from.DWDP },
	func(to *Cell, from Cell) { to.Connector = from.Connector },
	func(to *Cell, from Cell) { to.Layerwise = from.Layerwise },
	func(to *Cell, from Cell) { to.BoundedAdmission = from.BoundedAdmission },
	func(to *Cell, from Cell) { to.SynchronousReceive = from.SynchronousReceive },
}

func TestZeroCellIsRefused(t *testing.T) {
	require.Equal(t, []spec.Reason{
		TransceiverOther, TransportOther, ExecutorOther, NotStaged, NoDeadline, NoOverlap,
		TensorParallelism, PipelineParallelism, ContextParallelism, AdmissionUnbounded,
	}, Cell{}.Qualify())
	_, err := Decide(ChooseOn, Setting{}, Cell{})
	require.Len(t, err.(*UnqualifiedError).Unwrap(), 1+10)
}

func TestWords(t *testing.T) {
	require.Empty(t, Explain("something-else"))
	for _, r := range []spec.Reason{BadSwitch, SwitchedOff, NotQualified, RequiredNotQualified} {
		require.NotEmpty(t, Explain(r))
	}
	require.Equal(t, "invalid", Source(9).String())
	_, err := Decide(NotGiven, Setting{true, "yes\n"}, Cell{})
	require.ErrorContains(t, err, `TRTLLM_DISAGG_ENABLE_INFLIGHT_CANCEL must be unset, 0 or 1, not "yes\n"`)
}

func TestStages(t *testing.T) {
	spec.Covers(t, "KS-POL-12", "KS-POL-14")
	table, err := spec.LoadTable("rollout-stages")
	require.NoError(t, err)
	require.Len(t, table.Rows, 8)
	for i, row := range table.Rows {
		require.Equal(t, row.Cells[0], Stage(i).String())
	}
	for _, c := range []struct {
		stage                Stage
		name                 string
		record, act, carrier bool
		byDefault, withOptIn int // of 100 request ids
	}{
		{StageOff, "OFF", false, false, false, 0, 0},
		{StageObserve, "OBSERVE_ONLY", true, false, false, 0, 0},
		{StageFailClosed, "OPT_IN_FAIL_CLOSED", true, true, false, 0, 100},
		{StageProtocol, "OPT_IN_PROTOCOL", true, true, true, 0, 100},
		{StageCanary1, "CANARY_1", true, true, true, 1, 100},
		{StageCanary10, "CANARY_10", true, true, true, 10, 100},
		{StageCanary50, "CANARY_50", true, true, true, 50, 100},
		{StageDefault, "DEFAULT_ON", true, true, true, 100, 100},
		{StageDefault + 1, "invalid", false, false, false, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.name, c.stage.String())
			p := c.stage.Permits()
			require.Equal(t, []bool{c.record, c.act, c.carrier}, []bool{p.Record, p.Act, p.Carrier})
			count := func(optIn bool) (n int) {
				for id := range uint64(100) {
					if p.Admits(optIn, 1<<40+id) {
						n++
					}
				}
				return n
			}
			require.Equal(t, c.byDefault, count(false))
			require.Equal(t, c.withOptIn, count(true))
		})
	}
}
