package ctx_test

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
)

// life is a full context of two edges.
func life(t testing.TB, m ctx.Machine, dst []ctx.Effect) (ctx.Machine, []ctx.Effect) {
	for _, in := range [...]ctx.Input{
		{Kind: ctx.Start, Edges: 2, Settings: settings}, {Kind: ctx.Granted, Binding: binding},
		{Kind: ctx.Request, Edge: 0, Value: true}, {Kind: ctx.Request, Edge: 1, Value: true},
		{Kind: ctx.Tick, Now: 1}, {Kind: ctx.Written, Edge: 1}, {Kind: ctx.Written, Edge: 0},
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
	dst := make([]ctx.Effect, 0, 16)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		m, _ := life(t, ctx.Machine{}, dst)
		if m.State() != ctx.Retired {
			t.Fatal(m.State())
		}
	}))
	require.LessOrEqual(t, unsafe.Sizeof(ctx.Machine{}), uintptr(256))
	t.Logf("a machine has %d bytes", unsafe.Sizeof(ctx.Machine{}))
}

// TestMachineIsAValue: machines compare with ==, and a step changes only what it
// returns, so that models can store and hash them.
func TestMachineIsAValue(t *testing.T) {
	s := play(t, "start:2 grant ask:0")
	before, again := s.m, s.m
	next, _, err := again.Step(ctx.Input{Kind: ctx.Request, Edge: 1, Value: true}, nil)
	require.NoError(t, err)
	require.True(t, before == again)
	require.False(t, next == before)
}

func BenchmarkLife(b *testing.B) {
	dst := make([]ctx.Effect, 0, 16)
	b.ReportAllocs()
	for b.Loop() {
		life(b, ctx.Machine{}, dst)
	}
}

// seeds is the number of checked-in inputs of FuzzStep.
const seeds = 10

// FuzzStep reads pairs of bytes as inputs: kind, then edge, mask, value and time
// from the other one.
func FuzzStep(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		var m ctx.Machine
		var c counts
		var now sm.Time
		dst := make([]ctx.Effect, 0, 16)
		for ; len(data) >= 2; data = data[2:] {
			arg := data[1]
			now += sm.Time(arg)
			in := ctx.Input{Kind: ctx.Kind(data[0]), Now: now, Edge: arg & 0x3f, Edges: arg & 0x7f, Value: arg&0x80 != 0,
				Mask: uint64(arg) * 0x0101010101010101, Binding: binding, Settings: settings}
			next, effects, err := m.Step(in, dst[:0])
			if err != nil {
				require.Equal(t, m, next)
				require.Empty(t, effects)
				continue
			}
			m = next
			for _, e := range effects {
				c.add(t, m, e)
			}
			require.Equal(t, m.Disposition() != sm.Open, c.settled == 1)
		}
	})
}

func TestFuzzSeeds(t *testing.T) {
	list, err := os.ReadDir("testdata/fuzz/FuzzStep")
	require.NoError(t, err)
	require.Len(t, list, seeds)
}
