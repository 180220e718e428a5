package policy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// A roll-back changes what comes, not what is under way.
func ExampleGate() {
	g := Gate{Mode: descriptor.Enabled, Stage: StageCanary50}
	open := g.Admit(120, 1, 7)
	back := g.Move(StageCanary10)
	fmt.Println(open.Mode, back.Admit(120, 1, 7).Mode, back.Admit(105, 1, 7).Mode, open.Mode)
	// Output: enabled baseline enabled enabled
}

// TestGate compares every stage with its row and with the rows before it.
func TestGate(t *testing.T) {
	spec.Covers(t, "KS-POL-12", "KS-POL-14")
	table, err := spec.LoadTable("rollout-stages")
	require.NoError(t, err)
	require.Len(t, table.Rows, int(StageDefault)+1)
	shares := map[Stage]int{StageCanary1: 1, StageCanary10: 10, StageCanary50: 50, StageDefault: 100}
	for s := StageOff; s <= StageDefault; s++ {
		require.Equal(t, table.Rows[s].Cells[0], s.String())
		for _, optIn := range []bool{false, true} {
			g := Gate{Mode: descriptor.Enabled, Stage: s, OptIn: optIn, Exact: true}
			enabled := 0
			for id := range uint64(1000) {
				a := g.Admit(id, 1, 7)
				require.Equal(t, s, a.Stage)
				require.Equal(t, s >= StageObserve, a.Record)
				require.Equal(t, a.Mode == descriptor.Enabled && s >= StageProtocol, a.Carrier)
				require.Equal(t, a.Carrier, a.Version == 1 && a.Caps == 7)
				require.Equal(t, !a.Carrier, a.Version == 0 && a.Caps == 0, "nothing new on the wire")
				if a.Mode == descriptor.Enabled {
					enabled++
				}
			}
			want := 10 * shares[s]
			if optIn && s >= StageFailClosed {
				want = 1000
			}
			require.Equal(t, want, enabled, "%v, opted in: %v", s, optIn)
		}
	}
	// DEFAULT_ON is for one exact cell; any other has to ask.
	g := Gate{Mode: descriptor.Enabled, Stage: StageDefault}
	require.Equal(t, descriptor.Baseline, g.Admit(1, 1, 7).Mode)
	g.OptIn = true
	require.Equal(t, descriptor.Enabled, g.Admit(1, 1, 7).Mode)
	// A baseline process admits in baseline at every stage.
	for s := StageOff; s <= StageDefault; s++ {
		require.Equal(t, Admission{Stage: s}, Gate{Stage: s, OptIn: true, Exact: true}.Admit(1, 1, 7))
	}
	require.Equal(t, Admission{Stage: 99}, Gate{Mode: descriptor.Enabled, Stage: 99, OptIn: true}.Admit(1, 1, 7))
}

// TestRollBack is M70: while the gate moves and the switch goes off, what was admitted
// stays under what it was admitted with, and nothing new comes in under the old mode.
func TestRollBack(t *testing.T) {
	spec.Covers(t, "KS-POL-16", "KS-SEL-10")
	rapid.Check(t, func(rt *rapid.T) {
		g := Gate{Mode: descriptor.Enabled, Stage: StageDefault, Exact: true, OptIn: rapid.Bool().Draw(rt, "opt in")}
		admitted := map[uint64]Admission{}
		kept := map[uint64]Admission{}
		for id := range uint64(rapid.IntRange(0, 40).Draw(rt, "requests")) {
			switch rapid.IntRange(0, 4).Draw(rt, "event") {
			case 0:
				g = g.Move(Stage(rapid.IntRange(0, int(StageDefault)).Draw(rt, "stage")))
			case 1:
				if rapid.IntRange(0, 5).Draw(rt, "off") == 0 {
					g = g.TurnOff()
				}
			}
			admitted[id] = g.Admit(id, 1, 7)
			kept[id] = admitted[id]
			if g.Off {
				require.Equal(rt, Admission{Stage: g.Stage}, admitted[id])
			}
			if admitted[id].Mode == descriptor.Enabled {
				require.True(rt, g.Stage.Permits().Admits(g.OptIn, id))
			}
		}
		require.Equal(rt, kept, admitted)
	})
}
