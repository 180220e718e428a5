package fault_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	sm "github.com/kvsettle/kvsettle/statemachine"
)

func TestParse(t *testing.T) {
	once := map[string]bool{fault.KillCTX: true, fault.KillGEN: true, fault.StopCTX: true}
	for _, name := range fault.Names() {
		s, err := fault.Parse(name)
		require.NoError(t, err)
		require.Equal(t, fault.Spec{Name: name, Rate: fault.DefaultRate, Once: once[name]}, s)
		s, err = fault.Parse(name + "=0.75")
		require.NoError(t, err)
		require.Equal(t, fault.Spec{Name: name, Rate: 0.75}, s)
		require.Equal(t, name+"=0.75", s.String())
		require.Equal(t, name == fault.BreakOrder || name == fault.BreakRelease, fault.Breaks(name))
	}
	require.Len(t, fault.Names(), 13)
	fault.Names()[0] = "changed"
	require.Equal(t, fault.DropComplete, fault.Names()[0], "the list is the caller's own")

	for text, want := range map[string]float64{"delay=1": 1, "delay=1.0": 1, "delay=1e-3": 0.001, "delay=0x1p-2": 0.25, "delay=.5": 0.5} {
		s, err := fault.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s.Rate, text)
	}
	for _, text := range []string{"delay=0", "delay=-0.1", "delay=1.0000001", "delay=2", "delay=", "delay= 0.5", "delay=0.5 ", "delay=NaN",
		"delay=Inf", "delay=-Inf", "delay=1e-400", "delay=0.2=0.3", "delay=x"} {
		_, err := fault.Parse(text)
		require.ErrorIs(t, err, &sm.Refusal{Reason: fault.ReasonBadFault}, text)
		require.ErrorContains(t, err, "fault delay: rate", text)
	}
	for _, text := range []string{"", "=0.5", "Delay", "delay ", "drop", "kill"} {
		_, err := fault.Parse(text)
		require.ErrorIs(t, err, &sm.Refusal{Reason: fault.ReasonBadFault}, text)
		for _, name := range fault.Names() {
			require.ErrorContains(t, err, name, text)
		}
	}
}

// seeds is the number of checked-in inputs of FuzzParse.
const seeds = 12

// FuzzParse: whatever is taken is a known fault with a rate in bounds, and its
// text means the same again.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		s, err := fault.Parse(text)
		if err != nil {
			require.Equal(t, fault.Spec{}, s)
			return
		}
		require.Contains(t, fault.Names(), s.Name)
		require.True(t, s.Rate > 0 && s.Rate <= 1)
		require.True(t, strings.HasPrefix(text, s.Name))
		again, err := fault.Parse(s.String())
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}

func TestFuzzSeeds(t *testing.T) {
	list, err := os.ReadDir("testdata/fuzz/FuzzParse")
	require.NoError(t, err)
	require.Len(t, list, seeds)
}

func ExampleParse() {
	for _, text := range []string{"drop-ready", "drop-ready=0.5", "kill-ctx", "delay=7"} {
		s, err := fault.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(s, s.Rate, s.Once)
	}
	// Output:
	// drop-ready=0.2 0.2 false
	// drop-ready=0.5 0.5 false
	// kill-ctx 0.2 true
	// fault delay: rate "7" is not a number in (0, 1]: bad-config (KS-TIME-8)
}
