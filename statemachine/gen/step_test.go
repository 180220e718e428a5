package gen_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/gen"
)

// life is a full attempt of two edges, without its set-up.
func life(t testing.TB, m gen.Machine, dst []gen.Effect) (gen.Machine, []gen.Effect) {
	for _, in := range [...]gen.Input{
		{Kind: gen.Start, Edges: 2, Settings: settings}, {Kind: gen.Granted, Binding: binding},
		{Kind: gen.Published, Edge: 0}, {Kind: gen.Published, Edge: 1},
		{Kind: gen.Ready, Edge: 0, Value: true}, {Kind: gen.Ready, Edge: 1, Value: true},
		{Kind: gen.Tick, Now: 1}, {Kind: gen.Sync, Edge: 1}, {Kind: gen.Sync, Edge: 0},
		{Kind: gen.Scattered, Value: true},
	} {
		var err error
		if m, dst, err = m.Step(in, dst[:0]); err != nil {
			t.Fatal(err)
		}
	}
	return m, dst
}

// TestStepDoesNotAllocate: a step into a slice with room allocates nothing.
func TestStepDoesNotAllocate(t *testing.T) {
	dst := make([]gen.Effect, 0, 16)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		m, _ := life(t, gen.Machine{}, dst)
		if m.State() != gen.Retired {
			t.Fatal(m.State())
		}
	}))
	require.LessOrEqual(t, unsafe.Sizeof(gen.Machine{}), uintptr(256))
	t.Logf("a machine has %d bytes", unsafe.Sizeof(gen.Machine{}))
}

// TestMachineIsAValue: machines compare with ==, and a step changes only what it
// returns, so that models can store and hash them.
func TestMachineIsAValue(t *testing.T) {
	s := play(t, "start:2 grant pub:0")
	before, again := s.m, s.m
	next, _, err := again.Step(gen.Input{Kind: gen.Published, Edge: 1}, nil)
	require.NoError(t, err)
	require.True(t, before == again)
	require.False(t, next == before)
}

func BenchmarkLife(b *testing.B) {
	dst := make([]gen.Effect, 0, 16)
	b.ReportAllocs()
	for b.Loop() {
		life(b, gen.Machine{}, dst)
	}
}
