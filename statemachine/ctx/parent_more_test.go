package ctx_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
)

func TestParentRefuses(t *testing.T) {
	spec.Covers(t, "KS-CTX-1", "KS-ID-17", "KS-QUI-3", "KS-BACK-10", "KS-CTX-7", "KS-REG-20")
	tab := loadTables(t)
	for _, k := range []ctx.Event{ctx.OnCancel, ctx.OnReject, ctx.OnDoubt, ctx.OnEpochChanged, ctx.OnRound, ctx.OnReceipt} {
		newRig(t, tab).refused("KS-REG-1", on(k))
	}
	newRig(t, tab).refused("KS-CTX-1", on(0))
	newRig(t, tab).refused("KS-REG-20", on(ctx.OnPosted))
	r := newRig(t, tab).do(publish())
	for _, bad := range []func(*ctx.ParentInput){
		func(i *ctx.ParentInput) { i.Edges = 0 }, func(i *ctx.ParentInput) { i.Edges = ctx.MaxParentEdges + 1 },
		func(i *ctx.ParentInput) { i.Chunks = 0 }, func(i *ctx.ParentInput) { i.Chunks = ctx.MaxChunks + 1 },
		func(i *ctx.ParentInput) { i.Edge = 1 },
	} {
		o := open(0, 1, 0)
		bad(&o)
		r.refused("KS-REG-20", o)
	}
	for part, req := range map[settle.Match]string{settle.SameRequest: "KS-ID-1", settle.SameTicket: "KS-ID-3", settle.SameEpochs: "KS-ID-2", settle.SameRanks: "KS-ID-17"} {
		o, m := open(0, 1, 0), message(ctx.OnCancelMessage, 0, 0)
		o.Match &^= part
		m.Match &^= part
		r.refused(req, o).refused(req, m)
		newRig(t, tab).bound(1, 0).refused(req, o).refused(req, m)
	}
	r.refused("KS-CTX-2", decided(round.GoOn))
	r.do(open(0, 1, 0)).refused("KS-CTX-1", message(ctx.OnTerminal, 0, control.NotStarted))
	q := newRig(t, tab).bound(2, 0)
	o := open(0, 2, 0)
	o.Match &^= settle.SameDigest
	q.refused("KS-ID-17", o).refused("KS-REG-20", message(ctx.OnTerminal, 7, control.NotStarted)).refused("KS-REG-20", open(9, 2, 0))
	q.refused("KS-CTX-7", on(ctx.OnBarrier)).refused("KS-CTX-2", decided(round.GoOn)).refused("KS-CTX-2", decided(round.Commit)).refused("KS-CTX-2", decided(round.EndDrain))
	q.refused("KS-CTX-1", message(ctx.OnReceipt, 0, control.NotStarted)).refused("KS-QUI-3", at(ctx.OnPosted, 0))
	half := newRig(t, tab).do(publish()).do(open(0, 2, 0)).do(decided(round.GoOn))
	half.refused("KS-CTX-1", message(ctx.OnTerminal, 1, control.NotStarted))
	bad := open(1, 2, 0)
	bad.Chunks = 0
	half.refused("KS-REG-20", bad)
	f := newRig(t, tab).flying(1, 0).refused("KS-CTX-7", on(ctx.OnBarrier)).refused("KS-CTX-2", decided(round.EndNotStarted))
	f.refused("KS-BACK-10", at(ctx.OnWritten, 0)).refused("KS-QUI-3", at(ctx.OnSealed, 0))
	f.refused("KS-BACK-10", ctx.ParentInput{Kind: ctx.OnWritten, Again: true})
	f.refused("KS-QUI-3", ctx.ParentInput{Kind: ctx.OnPosted}).refused("KS-QUI-3", ctx.ParentInput{Kind: ctx.OnPosted, Count: 3})
	f.do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}).refused("KS-QUI-3", at(ctx.OnPosted, 0))
	f.refused("KS-CTX-1", on(ctx.OnPrepare))
	s := newRig(t, tab).flying(1, x49).do(userCancel).do(cancelled(round.EndDrain)).do(at(ctx.OnSealed, 0))
	s.refused("KS-QUI-3", at(ctx.OnPosted, 0)).refused("KS-QUI-3", at(ctx.OnSealed, 0))
}

// TestParentRepeatsFailedPosts: with contract bit 3 a chunk may be posted again.
func TestParentRepeatsFailedPosts(t *testing.T) {
	spec.Covers(t, "KS-QUI-4", "KS-SET-3")
	tab := loadTables(t)
	p := publish()
	p.Contract |= settle.ErrorQuiet
	r := newRig(t, tab).do(p).do(open(0, 1, 0)).do(decided(round.GoOn)).do(on(ctx.OnPrepare)).do(on(ctx.OnContribute)).do(decided(round.GoOn)).do(on(ctx.OnBarrier))
	r.do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}).do(at(ctx.OnWriteFailed, 0))
	require.False(t, r.p.Pending(), "it will be posted again")
	r.do(at(ctx.OnWritten, 0)).edge(0, ctx.EdgeInFlight).do(at(ctx.OnPosted, 0)).do(at(ctx.OnWritten, 0)).edge(0, ctx.EdgeSourceComplete)
	require.True(t, r.p.Quiet())
	plain := newRig(t, tab).flying(1, 0).do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}).do(at(ctx.OnWriteFailed, 0))
	require.True(t, plain.p.Pending(), "without bit 3 the chunk is lost")
	plain.refused("KS-QUI-3", at(ctx.OnPosted, 0))
}

// TestParentLateWrites: posts stay on watch after the attempt has ended, and a late
// success is told to GEN.
func TestParentLateWrites(t *testing.T) {
	spec.Covers(t, "KS-BACK-5", "KS-SLOT-6")
	tab := loadTables(t)
	r := newRig(t, tab).flying(1, 0).do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}).do(at(ctx.OnReleased, 0)).do(at(ctx.OnWritten, 0))
	r.do(decided(round.EndUnknown)).do(at(ctx.OnSealed, 0)).do(reducedTo(settle.Unknown))
	require.True(t, r.p.Isolated())
	r.do(ctx.ParentInput{Kind: ctx.OnWritten, Again: true}).took("ctx-late-proof").has(ctx.ParentEffect{Kind: ctx.DoSync})
	require.False(t, r.p.Isolated())
	perChunk := open(0, 1, x48)
	perChunk.PerChunk = true
	q := newRig(t, tab).do(publish()).do(perChunk).do(decided(round.GoOn)).do(on(ctx.OnPrepare)).do(on(ctx.OnContribute)).do(decided(round.GoOn)).do(on(ctx.OnBarrier))
	q.do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}).do(ctx.ParentInput{Kind: ctx.OnWritten, Chunk: 1})
	q.has(ctx.ParentEffect{Kind: ctx.DoSend, Msg: control.TypeDataComplete})
	q.do(ctx.ParentInput{Kind: ctx.OnWritten}).took("ctx-edge-done")
	n := 0
	for _, e := range q.out {
		if e.Kind == ctx.DoSend {
			n++
		}
	}
	require.Equal(t, 1, n, "one notice per chunk, none for the edge")
}

// TestParentRaces: what crosses an agreement that is in a round already.
func TestParentRaces(t *testing.T) {
	spec.Covers(t, "KS-RND-8", "KS-RND-9", "KS-REG-16", "KS-SET-1", "KS-RND-14")
	tab := loadTables(t)
	// A cancel after the ready intent was given waits for the common decision (M36).
	r := newRig(t, tab).bound(1, x49).do(on(ctx.OnPrepare)).do(on(ctx.OnContribute)).do(userCancel).edge(0, ctx.EdgePrepared)
	r.do(userCancel)
	require.False(t, r.p.Pending())
	r.do(decided(round.GoOn)).took("ctx-edge-install").has(ctx.ParentEffect{Kind: ctx.DoEnter})
	r.do(on(ctx.OnContribute)).do(cancelled(round.EndDrain)).took("ctx-edge-decided-drain-x49", "ctx-drain-x49")
	// The round decided nothing: now the edges are marked.
	w := newRig(t, tab).bound(1, 0).do(on(ctx.OnPrepare)).do(on(ctx.OnContribute)).do(userCancel).do(decided(round.Wait))
	w.took("ctx-edge-cancel").edge(0, ctx.EdgeCancelPending)
	// A sibling's wish.
	newRig(t, tab).bound(1, 0).do(decided(round.Adopt)).took("ctx-edge-cancel")
	// A cancel crosses the binding.
	b := newRig(t, tab).do(publish()).do(open(0, 2, 0)).do(on(ctx.OnContribute)).do(userCancel).do(decided(round.GoOn))
	b.took("ctx-bind", "ctx-edge-cancel").do(open(1, 2, 0)).took("ctx-edge-cancel")
	// Completion was given first: it wins, and the wish ends with it; a peer's does not.
	for _, in := range []ctx.ParentInput{userCancel, message(ctx.OnCancelMessage, 0, 0)} {
		c := newRig(t, tab).flying(1, 0).written(0).do(on(ctx.OnContribute)).do(in).do(decided(round.Commit)).took("ctx-complete")
		require.Equal(t, in.Kind == ctx.OnCancelMessage, c.p.Pending())
	}
	// A changed epoch drops a proposal, or ends what a round binds after it.
	e := newRig(t, tab).do(publish()).do(open(0, 1, 0)).do(on(ctx.OnEpochChanged)).in(ctx.ParentPublished)
	require.Zero(t, e.p.Edges())
	e.do(open(0, 1, 0)).do(on(ctx.OnContribute)).do(on(ctx.OnEpochChanged)).do(decided(round.GoOn)).took("ctx-bind", "ctx-edge-cancel")
	e.do(cancelled(round.EndNotStarted)).do(on(ctx.OnEpochChanged)).do(reducedTo(settle.Unknown)).took("ctx-epoch-changed").in(ctx.ParentUnknown)
	e.do(on(ctx.OnEpochChanged)).do(userCancel).do(ctx.ParentInput{Kind: ctx.OnDoubt, Cause: settle.ByProtocol})
	// What the ranks have decided holds on all of them, also on one that has heard of a
	// new epoch since the round.
	h := newRig(t, tab).bound(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(message(ctx.OnTerminal, 0, control.NotStarted))
	h.do(on(ctx.OnContribute)).do(on(ctx.OnEpochChanged)).do(reducedTo(settle.NotStarted)).took("ctx-reduce-not-started").has(ctx.ParentEffect{Kind: ctx.DoFree})
	// A doubt while reducing makes this rank UNKNOWN whatever the edges say.
	d := newRig(t, tab).bound(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(ctx.ParentInput{Kind: ctx.OnDoubt, Cause: settle.ByProtocol})
	d.do(message(ctx.OnTerminal, 0, control.NotStarted)).do(on(ctx.OnContribute)).has(ctx.ParentEffect{Kind: ctx.DoContribute, Evidence: control.Unknown})
	// A missing rank before the binding changes nothing.
	newRig(t, tab).do(publish()).do(open(0, 1, 0)).do(missing()).in(ctx.ParentPublished)
	// Before the commit with bit 49: what this rank did not start is NOT_STARTED.
	newRig(t, tab).bound(1, x49).do(cancelled(round.EndDrain)).took("ctx-edge-cancel", "ctx-edge-cancelled", "ctx-drain-x49")
	// Retries end with the control deadline.
	x := newRig(t, tab).bound(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(waited(settle.ControlWait)).do(waited(settle.RetryWait))
	require.Empty(t, x.out)
	// A wait that ended while its disarm was under way.
	x.do(waited(settle.SoftWait)).has(ctx.ParentEffect{Kind: ctx.DoStray})
	// The context deadline ends a ticket as failed (KS-TIME-6).
	y := newRig(t, tab).do(publish()).do(waited(settle.ContextWait)).do(on(ctx.OnContribute)).do(cancelled(round.EndNotStarted))
	require.Equal(t, sm.Failed, y.p.Disposition())
	require.Equal(t, settle.ByContextDeadline, y.p.Cause())
	// The peer says what it cannot know.
	z := newRig(t, tab).bound(1, 0).do(message(ctx.OnTerminal, 0, control.SourceComplete))
	require.Equal(t, control.Unknown, z.p.PeerEvidence(0))
	require.Equal(t, sm.UserCancel, ctx.ParentEffect{Cause: settle.ByUser}.Reason())
}

func TestParentReceipts(t *testing.T) {
	spec.Covers(t, "KS-SET-9")
	tab := loadTables(t)
	r := newRig(t, tab).bound(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(message(ctx.OnReceipt, 0, control.NotStarted))
	require.Equal(t, settle.Missing, r.p.PeerEvidence(0), "a receipt acknowledges bytes")
	require.False(t, r.p.Pending())
	r.do(waited(settle.RetryWait)).has(again(terminal(control.NotStarted)))
	r.do(message(ctx.OnTerminal, 0, control.NotStarted)).do(waited(settle.RetryWait)).hasNot(ctx.DoSend)
	r.refused("KS-CTX-1", message(ctx.OnReceipt, 0, control.Unknown))
}

func TestParentOutsideItsBounds(t *testing.T) {
	p := newRig(t, loadTables(t)).success(1, 0).p
	require.Equal(t, ctx.EdgeAbsent, p.Edge(200))
	require.Zero(t, p.Posts(200))
	require.Equal(t, settle.Missing, p.Evidence(200))
	require.Equal(t, settle.Missing, p.PeerEvidence(200))
	require.False(t, p.Sealed(200))
	require.Error(t, loadTables(t).Explain(p, ctx.Parent{}, nil))
	q := newRig(t, loadTables(t)).bound(1, 0).p
	r := newRig(t, loadTables(t)).flying(1, 0).p
	require.ErrorContains(t, loadTables(t).Explain(q, r, nil), "lead from BOUND to BOUND")
}

// TestParentWrongRules: each broken rule is seen on this side too.
func TestParentWrongRules(t *testing.T) {
	run := func(bad wrong.Rules, ins ...ctx.ParentInput) (p ctx.Parent, kinds map[ctx.Do]int) {
		p, kinds = ctx.Parent{}.WithWrongRules(bad), map[ctx.Do]int{}
		for _, in := range ins {
			var out []ctx.ParentEffect
			p, out, _ = p.Step(in, nil)
			for _, e := range out {
				kinds[e.Kind]++
			}
		}
		return p, kinds
	}
	bind := []ctx.ParentInput{publish(), open(0, 1, x49), on(ctx.OnContribute), decided(round.GoOn)}
	fly := append(append([]ctx.ParentInput{}, bind...), on(ctx.OnPrepare), on(ctx.OnContribute), decided(round.GoOn), on(ctx.OnBarrier), at(ctx.OnPosted, 0))
	with := func(a []ctx.ParentInput, more ...ctx.ParentInput) []ctx.ParentInput {
		return append(append([]ctx.ParentInput{}, a...), more...)
	}
	for _, c := range []struct {
		rule wrong.Rules
		ins  []ctx.ParentInput
		seen func(p ctx.Parent, kinds map[ctx.Do]int) bool
	}{
		{wrong.IdentifyByRequestID, with(bind, ctx.ParentInput{Kind: ctx.OnCancelMessage, Match: settle.SameRequest}), func(p ctx.Parent, _ map[ctx.Do]int) bool { return p.Pending() }},
		{wrong.IgnoreEpochs, with(bind, on(ctx.OnEpochChanged), ctx.ParentInput{Kind: ctx.OnOpen, Edges: 1, Chunks: 1, Match: settle.Exact &^ settle.SameEpochs}), func(p ctx.Parent, k map[ctx.Do]int) bool { return !p.Pending() }},
		{wrong.OldReachesNew, with(bind, ctx.ParentInput{Kind: ctx.OnCancelMessage, Match: settle.Exact &^ settle.SameAttempt}), func(p ctx.Parent, _ map[ctx.Do]int) bool { return p.Pending() }},
		{wrong.ReadyWithoutHit, []ctx.ParentInput{open(0, 1, 0)}, func(_ ctx.Parent, k map[ctx.Do]int) bool { return k[ctx.DoWrite] > 0 }},
		{wrong.ReadyWithoutHit, []ctx.ParentInput{publish(), userCancel, cancelled(round.EndNotStarted), open(0, 1, 0)}, func(_ ctx.Parent, k map[ctx.Do]int) bool { return k[ctx.DoWrite] > 0 }},
		{wrong.CancelTwice, with(bind, userCancel, cancelled(round.EndNotStarted), userCancel), func(_ ctx.Parent, k map[ctx.Do]int) bool { return k[ctx.DoSettle] > 0 }},
		{wrong.NotStartedAfterCommit, with(fly, userCancel, cancelled(round.EndDrain)), func(p ctx.Parent, _ map[ctx.Do]int) bool { return p.Evidence(0) == control.NotStarted }},
		{wrong.DoubtIsNotStarted, with(bind, userCancel, cancelled(round.EndNotStarted)), func(p ctx.Parent, _ map[ctx.Do]int) bool { return p.Pending() }},
		{wrong.FreeOnTimeout, with(fly, waited(settle.RequestWait)), func(_ ctx.Parent, k map[ctx.Do]int) bool { return k[ctx.DoFree] > 0 }},
		{wrong.FreeOnTimeout, with(fly, userCancel, cancelled(round.EndDrain), waited(settle.ControlWait)), func(_ ctx.Parent, k map[ctx.Do]int) bool { return k[ctx.DoFree] > 0 }},
		{wrong.FreeOnCancel, with(fly, userCancel), func(_ ctx.Parent, k map[ctx.Do]int) bool { return k[ctx.DoFree] > 0 }},
		{wrong.DecideAlone, with(fly, userCancel), func(p ctx.Parent, _ map[ctx.Do]int) bool { return p.State().Terminal() }},
		{wrong.TimeoutDecides, with(fly, waited(settle.RequestWait)), func(p ctx.Parent, _ map[ctx.Do]int) bool { return p.State().Terminal() }},
		{wrong.TimeoutDecides, with(fly, userCancel, cancelled(round.EndDrain), waited(settle.ControlWait)), func(p ctx.Parent, _ map[ctx.Do]int) bool { return p.State().Terminal() }},
		{wrong.ReceiptIsEvidence, with(bind, userCancel, cancelled(round.EndNotStarted), message(ctx.OnReceipt, 0, control.NotStarted)), func(p ctx.Parent, _ map[ctx.Do]int) bool { return p.Pending() }},
		{wrong.UnknownTouchesReleased, with(fly, userCancel, cancelled(round.EndDrain), waited(settle.ControlWait), reducedTo(settle.Unknown)), func(_ ctx.Parent, k map[ctx.Do]int) bool { return k[ctx.DoFree] > 0 }},
		{wrong.CleanUpTwice, with(bind, userCancel, cancelled(round.EndNotStarted), reducedTo(settle.NotStarted), message(ctx.OnCancelMessage, 0, 0)), func(_ ctx.Parent, k map[ctx.Do]int) bool { return k[ctx.DoFree] > 1 }},
		{wrong.NoDeadline, with(bind, waited(settle.RequestWait)), func(p ctx.Parent, _ map[ctx.Do]int) bool { return !p.Pending() }},
	} {
		require.True(t, c.seen(run(c.rule, c.ins...)), "rule %b", c.rule)
		require.False(t, c.seen(run(0, c.ins...)), "rule %b", c.rule)
	}
}

func TestParentFuzzSeeds(t *testing.T) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzParentWalks")
	require.NoError(t, err)
	require.Len(t, seeds, 8)
}

// TestParentUnsealedIsNotQuiet: while a post may still be made, finished posts prove
// nothing; the seal is what ends them.
func TestParentUnsealedIsNotQuiet(t *testing.T) {
	spec.Covers(t, "KS-QUI-3", "KS-SLOT-19")
	r := newRig(t, loadTables(t)).flying(1, 0).do(userCancel).do(cancelled(round.EndUnknown)).do(reducedTo(settle.Unknown))
	r.has(ctx.ParentEffect{Kind: ctx.DoQuarantine})
	r.do(at(ctx.OnPosted, 0)).hasNot(ctx.DoProve).do(at(ctx.OnSealed, 0)).hasNot(ctx.DoProve)
	r.do(at(ctx.OnWritten, 0)).took("ctx-late-proof").has(ctx.ParentEffect{Kind: ctx.DoProve})
}
