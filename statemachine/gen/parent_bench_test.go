package gen_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// transfer settles one undisturbed transfer of one rank on each side, with every
// decision round, and returns the number of steps.
type transfer struct {
	c     ctx.Parent
	g     gen.Parent
	cb    []ctx.ParentEffect
	gb    []gen.ParentEffect
	steps int
}

func (x *transfer) ctx(in ctx.ParentInput) {
	var err error
	if x.c, x.cb, err = x.c.Step(in, x.cb[:0]); err != nil {
		panic(err)
	}
	x.steps++
}

func (x *transfer) gen(in gen.ParentInput) {
	var err error
	if x.g, x.gb, err = x.g.Step(in, x.gb[:0]); err != nil {
		panic(err)
	}
	x.steps++
}

func (x *transfer) ctxRound() {
	v := round.View{Ranks: 1}
	v.Phase, v.Committed = x.c.Phase()
	x.ctx(ctx.ParentInput{Kind: ctx.OnContribute})
	for i := range x.cb {
		if x.cb[i].Kind == ctx.DoContribute {
			v.By[0] = round.Contribution{Intent: x.cb[i].Intent, Evidence: x.cb[i].Evidence}
		}
	}
	x.ctx(ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Decide(&v)})
}

func (x *transfer) genRound() {
	v := round.View{Ranks: 1}
	v.Phase, v.Committed = x.g.Phase()
	x.gen(gen.ParentInput{Kind: gen.OnContribute})
	for i := range x.gb {
		if x.gb[i].Kind == gen.DoContribute {
			v.By[0] = round.Contribution{Intent: x.gb[i].Intent, Evidence: x.gb[i].Evidence, Publication: x.gb[i].Publication, GenAttempt: 7}
		}
	}
	x.gen(gen.ParentInput{Kind: gen.OnRound, Verdict: round.Decide(&v)})
}

func (x *transfer) run(caps descriptor.Caps) {
	x.c, x.g, x.steps = ctx.Parent{}, gen.Parent{}, 0
	x.ctx(ctx.ParentInput{Kind: ctx.OnPublish, Room: true, Contract: goodContract})
	x.gen(gen.ParentInput{Kind: gen.OnValidate, Value: true, Edges: 1, Parts: 1, Caps: caps})
	x.gen(gen.ParentInput{Kind: gen.OnGranted})
	x.genRound()
	x.gen(gen.ParentInput{Kind: gen.OnPublish})
	x.gen(gen.ParentInput{Kind: gen.OnSent})
	x.ctx(ctx.ParentInput{Kind: ctx.OnOpen, Edges: 1, Chunks: 1, Caps: caps, Match: settle.Exact})
	x.ctxRound()
	x.ctx(ctx.ParentInput{Kind: ctx.OnPrepare})
	x.ctxRound()
	x.ctx(ctx.ParentInput{Kind: ctx.OnBarrier})
	x.gen(gen.ParentInput{Kind: gen.OnReady, Decision: 1, Match: settle.Exact, Contract: goodContract, RetentionMS: 15000})
	x.genRound()
	x.gen(gen.ParentInput{Kind: gen.OnBarrier})
	x.ctx(ctx.ParentInput{Kind: ctx.OnPosted, Count: 1})
	x.ctx(ctx.ParentInput{Kind: ctx.OnWritten})
	x.ctxRound()
	if caps&x48 != 0 {
		x.gen(gen.ParentInput{Kind: gen.OnData, Count: 1, Match: settle.Exact})
	} else {
		x.gen(gen.ParentInput{Kind: gen.OnSync, Match: settle.Exact})
	}
	x.gen(gen.ParentInput{Kind: gen.OnProcessed, Value: true})
	x.genRound()
	x.ctx(ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.RetentionWait})
	x.gen(gen.ParentInput{Kind: gen.OnWait, Wait: settle.RetentionWait})
}

func TestParentStepsDoNotAllocate(t *testing.T) {
	spec.Covers(t, "KS-TIME-18")
	for _, caps := range []descriptor.Caps{0, x48 | x49} {
		x := &transfer{cb: make([]ctx.ParentEffect, 0, 64), gb: make([]gen.ParentEffect, 0, 64)}
		require.Zero(t, testing.AllocsPerRun(100, func() { x.run(caps) }))
		require.Equal(t, sm.Completed, x.c.Disposition())
		require.Equal(t, sm.Completed, x.g.Disposition())
		require.Equal(t, gen.ParentRetired, x.g.State())
		t.Logf("bits %x: %d steps per transfer", uint64(caps)>>48, x.steps)
	}
	// Refusing costs nothing either.
	g := gen.Parent{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, _, err := g.Step(gen.ParentInput{Kind: gen.OnPublish}, nil); err == nil {
			panic("not refused")
		}
	}))
	t.Logf("sizes: ctx.Parent %d, gen.Parent %d, inputs %d and %d, effects %d and %d bytes", unsafe.Sizeof(ctx.Parent{}), unsafe.Sizeof(gen.Parent{}),
		unsafe.Sizeof(ctx.ParentInput{}), unsafe.Sizeof(gen.ParentInput{}), unsafe.Sizeof(ctx.ParentEffect{}), unsafe.Sizeof(gen.ParentEffect{}))
	require.LessOrEqual(t, unsafe.Sizeof(ctx.Parent{}), uintptr(512))
	require.LessOrEqual(t, unsafe.Sizeof(gen.Parent{}), uintptr(512))
}

func BenchmarkParentTransfer(b *testing.B) {
	x := &transfer{cb: make([]ctx.ParentEffect, 0, 64), gb: make([]gen.ParentEffect, 0, 64)}
	b.ReportAllocs()
	for b.Loop() {
		x.run(0)
	}
	b.ReportMetric(float64(x.steps), "steps/op")
}
