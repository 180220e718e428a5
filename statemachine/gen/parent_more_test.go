package gen_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
	wire "github.com/kvsettle/kvsettle/wire/round"
)

func TestParentRefuses(t *testing.T) {
	spec.Covers(t, "KS-GEN-1", "KS-GEN-2", "KS-ID-17", "KS-REC-4", "KS-REG-20", "KS-RND-10")
	tab := loadTables(t)
	r := newRig(t, tab)
	r.refused("KS-GEN-1", on(0)).refused("KS-REG-20", at(gen.OnSent, 0)).refused("KS-GEN-1", granted).refused("KS-REG-20", readyOn(0))
	for _, bad := range []func(*gen.ParentInput){
		func(i *gen.ParentInput) { i.Edges = 0 }, func(i *gen.ParentInput) { i.Edges = gen.MaxParentEdges + 1 },
		func(i *gen.ParentInput) { i.Parts = 0 }, func(i *gen.ParentInput) { i.Parts = gen.MaxParts + 1 },
	} {
		in := imported(1, 0)
		bad(&in)
		r.refused("KS-SEL-20", in)
	}
	r.do(imported(1, 0)).refused("KS-GEN-1", imported(1, 0)).refused("KS-GEN-1", readyOn(0)).refused("KS-RND-6", decided(round.GoOn))
	r.refused("KS-GEN-2", at(gen.OnSent, 0)).refused("KS-RND-6", decided(round.EndDrain))
	a := newRig(t, tab).admitted(1, 0).refused("KS-RND-6", decided(round.GoOn)).refused("KS-GEN-1", granted)
	a.do(on(gen.OnPublish)).do(at(gen.OnSent, 0)).refused("KS-GEN-2", at(gen.OnSent, 0)).refused("KS-RND-10", on(gen.OnBarrier))
	a.refused("KS-RND-6", decided(round.GoOn)).refused("KS-SET-9", message(gen.OnReceipt, 0, control.NotStarted))
	for part, req := range map[settle.Match]string{settle.SameRequest: "KS-ID-1", settle.SameTicket: "KS-ID-3", settle.SameAttempt: "KS-ID-3",
		settle.SameEpochs: "KS-ID-2", settle.SameRanks: "KS-ID-17", settle.SameDigest: "KS-ID-17"} {
		m := readyOn(0)
		m.Match &^= part
		a.refused(req, m)
	}
	f := newRig(t, tab).flying(1, x48).refused("KS-REC-1", at(gen.OnSync, 0)).refused("KS-SLOT-16", processed).refused("KS-RND-6", decided(round.Commit))
	for _, in := range []gen.ParentInput{{Count: 0}, {Count: gen.MaxChunks + 1}, {Count: 2, Chunk: 2}} {
		in.Kind, in.Match = gen.OnData, settle.Exact
		f.refused("KS-REC-4", in)
	}
	f.do(on(gen.OnWorkBegan)).refused("KS-SLOT-16", processed)
	newRig(t, tab).opened(1, x48).refused("KS-GEN-1", gen.ParentInput{Kind: gen.OnStatus, Match: settle.Exact}).refused("KS-GEN-1", on(gen.OnWorkBegan))
	gone := newRig(t, tab).success(1, 0).do(waited(settle.RetentionWait))
	for _, k := range []gen.Event{gen.OnCancel, gen.OnDoubt, gen.OnEpochChanged, gen.OnRound} {
		gone.refused("KS-REG-7", on(k))
	}
}

// TestParentRaces: what crosses a decision, a lease or an agreement.
func TestParentRaces(t *testing.T) {
	spec.Covers(t, "KS-RND-9", "KS-SLOT-18", "KS-SET-1", "KS-REG-16", "KS-QUI-8", "KS-SET-4", "KS-REG-14", "KS-RND-12",
		"KS-GEN-13", "KS-QUI-18", "KS-RND-14")
	tab := loadTables(t)
	// The lease is denied: all ranks end, nobody was told.
	d := newRig(t, tab).do(imported(1, 0)).do(gen.ParentInput{Kind: gen.OnDenied, Cause: settle.BySlot}).do(on(gen.OnContribute)).do(decided(round.Refuse))
	d.took("gen-admit-refused").hasNot(gen.DoWithdraw)
	require.Equal(t, sm.Rejected, d.p.Disposition())
	require.Equal(t, sm.SlotsExhausted, gen.ParentEffect{Cause: d.p.Cause()}.Reason())
	// What waits for a lease leaves the queue with the attempt; a grant after that is refused.
	q := newRig(t, tab).do(imported(1, 0)).do(userCancel).do(unset(round.EndNotStarted)).took("gen-cancel-local")
	q.has(gen.ParentEffect{Kind: gen.DoWithdraw}).hasNot(gen.DoFree).refused("KS-GEN-1", granted)
	// A cancel before this rank's fan-out, with siblings that published. Plain: nothing is
	// sent. Bit 49: this rank opens all the same, and says nothing before that.
	plain := newRig(t, tab).admitted(1, 0).do(cancelled(round.EndNotStarted)).took("gen-cancel-siblings").hasNot(gen.DoPublish).refused("KS-GEN-2", on(gen.OnPublish))
	require.True(t, plain.p.Pending())
	x := newRig(t, tab).admitted(1, x49).do(cancelled(round.EndDrain)).took("gen-cancel-siblings").has(gen.ParentEffect{Kind: gen.DoPublish})
	require.False(t, x.p.Pending())
	x.do(on(gen.OnPublish)).took("gen-commit-cancelled-x49").has(send(control.TypeOpen, 0, 0)).in(gen.ParentCancelPending).edge(0, gen.EdgeOpenSent)
	x.do(readyOn(0)).took("gen-edge-ready-after-cancel", "gen-cancel-ready", "gen-edge-cancel-quiesced-x49", "gen-cancel-evidence").has(send(control.TypeCancel, 0, 0))
	x = newRig(t, tab).admitted(1, x49).do(cancelled(round.EndDrain)).do(waited(settle.ControlWait)).refused("KS-GEN-2", on(gen.OnPublish))
	require.True(t, x.p.Pending(), "too late to open")
	newRig(t, tab).admitted(1, 0).do(decided(round.Adopt)).do(unset(round.EndNotStarted)).took("gen-cancel-local")
	newRig(t, tab).do(imported(1, 0)).do(userCancel).do(decided(round.Refuse)).took("gen-admit-refused")
	newRig(t, tab).do(imported(1, 0)).do(decided(round.EndNotStarted)).took("gen-admit-refused")
	// No byte of any OPEN left: nothing to prove, nothing to restart for.
	s := newRig(t, tab).publishing(1, 0).do(at(gen.OnSendFailed, 0)).took("gen-publish-failed").has(isFree).hasNot(gen.DoQuarantine)
	s.do(on(gen.OnContribute)).do(decided(round.EndUnknown)).took("gen-uninstalled").hasNot(gen.DoRestart)
	require.Equal(t, wire.FailedIndeterminate, s.p.Publication())
	// Silence of an uninstalled attempt, and its late proof.
	u := newRig(t, tab).publishing(1, 0).do(gen.ParentInput{Kind: gen.OnSendFailed}).in(gen.ParentUninstalled)
	u.do(message(gen.OnCancelMessage, 0, 0)).silent().do(readyOn(0)).silent().do(waited(settle.RetryWait)).silent()
	u.do(message(gen.OnReady, 0, control.NotStarted)).has(gen.ParentEffect{Kind: gen.DoProve}).silent()
	v := newRig(t, tab).publishing(1, 0).do(gen.ParentInput{Kind: gen.OnSendFailed}).do(message(gen.OnTerminal, 0, control.NotStarted))
	v.has(gen.ParentEffect{Kind: gen.DoProve}).silent()
	// A cancel crosses the fan-out.
	p := newRig(t, tab).publishing(2, x49).do(readyOn(0)).do(userCancel).do(on(gen.OnContribute)).do(cancelled(round.EndDrain)).in(gen.ParentCancelSent)
	p.do(at(gen.OnSent, 0)).do(at(gen.OnSendFailed, 1)).do(waited(settle.RetryWait)).took("gen-resend-cancel")
	q = newRig(t, tab).publishing(1, 0).do(waited(settle.RetryWait)).do(decided(round.Adopt)).do(cancelled(round.EndNotStarted)).took("gen-cancel")
	q.do(on(gen.OnEpochChanged)).do(reducedTo(settle.Unknown)).took("gen-epoch-changed")
	// What the ranks have decided holds, also on one that has heard of a new epoch since.
	h := newRig(t, tab).opened(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(message(gen.OnReady, 0, control.NotStarted))
	h.do(on(gen.OnContribute)).do(on(gen.OnEpochChanged)).do(reducedTo(settle.NotStarted)).took("gen-refused-bound").has(isFree)
	// Completion was given first: it wins, and the wish ends with it; a peer's does not.
	for _, in := range []gen.ParentInput{userCancel, message(gen.OnCancelMessage, 0, 0)} {
		c := newRig(t, tab).flying(1, 0).do(at(gen.OnSync, 0)).do(processed).do(on(gen.OnContribute)).do(in)
		c.do(decided(round.Commit)).took("gen-edge-done", "gen-complete")
		require.Equal(t, in.Kind == gen.OnCancelMessage, c.p.Pending())
	}
	// Contradictions prove nothing.
	x = newRig(t, tab).opened(1, x49).do(message(gen.OnReady, 0, control.NotStarted)).do(readyOn(0))
	require.False(t, x.p.Quiet())
	y := newRig(t, tab).flying(1, 0).do(message(gen.OnReady, 0, control.NotStarted))
	require.True(t, y.p.Pending())
	y.do(at(gen.OnPeerQuiet, 0))
	require.True(t, y.p.Quiet(), "but the end of the writer does")
	z := newRig(t, tab).flying(1, x48).do(gen.ParentInput{Kind: gen.OnData, Count: 2, Match: settle.Exact}).do(gen.ParentInput{Kind: gen.OnData, Count: 3, Match: settle.Exact})
	require.True(t, z.p.Pending())
	n := newRig(t, tab).opened(1, x48).do(message(gen.OnReady, 0, control.NotStarted)).do(gen.ParentInput{Kind: gen.OnData, Count: 1, Match: settle.Exact})
	require.False(t, n.p.Quiet())
	// A cache miss on a proven edge is doubt in plain v2 and nothing with bit 49.
	require.True(t, newRig(t, tab).flying(1, 0).do(message(gen.OnReady, 0, control.Unknown)).p.Pending())
	require.False(t, newRig(t, tab).flying(1, x49).do(message(gen.OnReady, 0, control.Unknown)).p.Pending())
	// A missing rank in the data phase with bit 49: drained, and UNKNOWN all the same.
	m := newRig(t, tab).flying(1, x49).do(missing(round.EndUnknown)).in(gen.ParentReducing).do(message(gen.OnTerminal, 0, control.Quiesced)).do(on(gen.OnContribute))
	m.has(gen.ParentEffect{Kind: gen.DoContribute, Evidence: control.Unknown})
	m.do(reducedTo(settle.Unknown)).has(isFree).hasNot(gen.DoRestart)
	// Reduced while a rank is missing in CANCEL_SENT.
	b := newRig(t, tab).flying(1, x49).do(on(gen.OnWorkBegan)).do(userCancel).do(cancelled(round.EndDrain)).in(gen.ParentCancelSent)
	b.do(ctxDoubt).do(reducedTo(settle.Unknown)).took("gen-cancel-evidence", "gen-reduce-unknown").hasNot(gen.DoFree)
	require.True(t, b.p.Busy())
	b.do(gen.ParentInput{Kind: gen.OnProcessed}).took("gen-edge-cancel-quiesced-x49")
	require.True(t, b.p.Isolated(), "no proof from the source yet")
	b.do(message(gen.OnTerminal, 0, control.Quiesced)).took("gen-edge-receipt", "gen-repeat", "gen-late-proof")
	b.do(message(gen.OnCancelMessage, 0, 0)).took("gen-repeat").do(waited(settle.RetentionWait))
	// Uninstalled at the control deadline although one edge was refused by a bound peer.
	k := newRig(t, tab).opened(2, 0).do(message(gen.OnTerminal, 0, control.NotStarted)).do(userCancel).do(cancelled(round.EndNotStarted)).do(waited(settle.ControlWait))
	k.took("gen-edge-open-deadline", "gen-cancel-ready", "gen-cancel-evidence").do(waited(settle.RetryWait)).silent()
	l := newRig(t, tab).opened(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(reducedTo(settle.Unknown))
	l.took("gen-cancel-uninstalled", "gen-uninstalled").do(waited(settle.RetentionWait)).has(gen.ParentEffect{Kind: gen.DoAbandon})
	newRig(t, tab).flying(1, 0).do(waited(settle.RetryWait)).silent().do(waited(settle.ContextWait)).silent().do(ctxDoubt)
	newRig(t, tab).do(ctxDoubt).do(ctxDoubt).do(unset(round.EndNotStarted)).do(ctxDoubt).do(on(gen.OnEpochChanged))
	require.Equal(t, control.Unknown, newRig(t, tab).flying(1, 0).do(message(gen.OnTerminal, 0, control.Unknown)).p.PeerEvidence(0))
}

var ctxDoubt = gen.ParentInput{Kind: gen.OnDoubt, Cause: settle.ByProtocol}

// TestParentAsks: bit 48 asks from the soft deadline on, with growing pauses, and
// waits on for every answer but two.
func TestParentAsks(t *testing.T) {
	spec.Covers(t, "KS-REC-5", "KS-REC-7", "KS-REC-11", "KS-REC-12")
	tab := loadTables(t)
	early := newRig(t, tab).opened(1, x48).do(gen.ParentInput{Kind: gen.OnData, Count: 2, Chunk: 1, Match: settle.Exact}).do(waited(settle.SoftWait)).silent()
	early.do(readyOn(0)).do(on(gen.OnContribute)).do(decided(round.GoOn)).do(on(gen.OnBarrier)).has(send(control.TypeQuery, 0, 0))
	table, err := spec.LoadTable("status-effects")
	require.NoError(t, err)
	require.Len(t, table.Rows, 6)
	for state := control.StateNotStarted; state <= control.StateQuiesced; state++ {
		r := newRig(t, tab).flying(1, x48|x49).do(waited(settle.SoftWait))
		r.do(gen.ParentInput{Kind: gen.OnStatus, State: state, Match: settle.Exact}).hasNot(gen.DoFree)
		require.Equal(t, state == control.StateSourceComplete, r.p.Arrived(0))
		require.Equal(t, state == control.StateQuiesced, r.p.Pending())
		require.Equal(t, settle.Missing, r.p.PeerEvidence(0), "STATUS is no evidence")
	}
	// Without contract bit 0 SOURCE_COMPLETE stands for nothing.
	weak := readyOn(0)
	weak.Contract = settle.SuccessQuiet
	w := newRig(t, tab).opened(1, x48).do(weak).do(on(gen.OnContribute)).do(decided(round.GoOn)).do(on(gen.OnBarrier)).do(waited(settle.SoftWait))
	require.False(t, w.do(gen.ParentInput{Kind: gen.OnStatus, State: control.StateSourceComplete, Match: settle.Exact}).p.Arrived(0))
	// TERMINAL with SOURCE_COMPLETE stands for the notices unless GEN has cancelled.
	require.True(t, newRig(t, tab).flying(1, x48).do(message(gen.OnTerminal, 0, control.SourceComplete)).p.Arrived(0))
	require.False(t, newRig(t, tab).flying(1, x48).do(userCancel).do(message(gen.OnTerminal, 0, control.SourceComplete)).p.Arrived(0))
	var steps []uint8
	a := newRig(t, tab).flying(1, x48).do(waited(settle.SoftWait))
	for range 20 {
		for _, e := range a.out {
			if e.Kind == gen.DoArm {
				steps = append(steps, e.Step)
			}
		}
		a.do(waited(settle.RetryWait))
	}
	require.Equal(t, []uint8{0, 1, 2, 3}, steps[:4])
	require.EqualValues(t, 16, steps[len(steps)-1], "bounded")
}

// TestParentBundle: one part of the bundle completes nothing, and wrong content
// ends the attempt with its slot proven.
func TestParentBundle(t *testing.T) {
	spec.Covers(t, "KS-SLOT-16", "KS-SET-3")
	tab := loadTables(t)
	in := imported(1, 0)
	in.Parts = 2
	fly := func() *rig {
		r := newRig(t, tab).do(in).do(granted).do(on(gen.OnContribute)).do(decided(round.GoOn)).do(on(gen.OnPublish)).do(at(gen.OnSent, 0)).do(readyOn(0))
		return r.do(on(gen.OnContribute)).do(decided(round.GoOn)).do(on(gen.OnBarrier)).do(at(gen.OnSync, 0))
	}
	r := fly().do(processed)
	require.False(t, r.p.Pending())
	r.refused("KS-SLOT-16", processed).do(gen.ParentInput{Kind: gen.OnProcessed, Part: 1, Value: true})
	require.True(t, r.p.Pending())
	bad := fly().do(gen.ParentInput{Kind: gen.OnProcessed}).do(gen.ParentInput{Kind: gen.OnProcessed, Part: 1, Value: true})
	require.Equal(t, settle.ByVerify, bad.p.Cause())
	bad.do(decided(round.EndUnknown)).do(reducedTo(settle.Unknown)).has(isFree).hasNot(gen.DoRestart)
	require.Equal(t, sm.Failed, bad.p.Disposition())
	// The end of the attempt waits for the local work before the slot goes.
	late := fly().do(userCancel).do(cancelled(round.EndUnknown)).do(reducedTo(settle.Unknown)).hasNot(gen.DoFree).hasNot(gen.DoQuarantine)
	late.do(processed).do(gen.ParentInput{Kind: gen.OnProcessed, Part: 1}).has(isFree)
}

func TestParentProofs(t *testing.T) {
	spec.Covers(t, "KS-SLOT-19", "KS-SLOT-20", "KS-QUI-13")
	tab := loadTables(t)
	proofOf := func(r *rig) slot.Proof {
		for _, e := range r.out {
			if e.Kind == gen.DoFree || e.Kind == gen.DoProve {
				return e.Proof
			}
		}
		return slot.None
	}
	require.Equal(t, slot.NeverAdvertised, proofOf(newRig(t, tab).admitted(1, 0).do(userCancel).do(unset(round.EndNotStarted))))
	require.Equal(t, slot.NotStarted, proofOf(newRig(t, tab).opened(1, 0).do(message(gen.OnReady, 0, control.NotStarted)).do(rejected())))
	require.Equal(t, slot.Written, proofOf(newRig(t, tab).success(2, 0)))
	drained := func(k gen.ParentInput) *rig {
		return newRig(t, tab).flying(2, x49).do(userCancel).do(cancelled(round.EndDrain)).do(reducedTo(settle.Unknown)).do(at(gen.OnPeerQuiet, 0)).do(k)
	}
	require.Equal(t, slot.WriterDead, proofOf(drained(at(gen.OnPeerQuiet, 1))))
	require.Equal(t, slot.Settled, proofOf(drained(message(gen.OnTerminal, 1, control.Quiesced))), "one of each")
	lost := newRig(t, tab).flying(2, x49).do(userCancel).do(cancelled(round.EndDrain)).do(reducedTo(settle.Unknown))
	lost.do(message(gen.OnTerminal, 0, control.SourceComplete)).do(message(gen.OnTerminal, 1, control.Quiesced))
	require.Equal(t, slot.Quiesced, proofOf(lost))
	require.Equal(t, slot.None, proofOf(drained(message(gen.OnTerminal, 1, control.Unknown))))
	require.Equal(t, slot.None, proofOf(drained(message(gen.OnReceipt, 1, control.Quiesced))), "a receipt proves nothing")
}

func TestParentOutsideItsBounds(t *testing.T) {
	r := newRig(t, loadTables(t)).success(1, 0)
	require.EqualValues(t, 5, r.p.Binding().Token)
	require.Equal(t, gen.EdgeAbsent, r.p.Edge(200))
	require.Equal(t, settle.Missing, r.p.Evidence(200))
	require.Equal(t, settle.Missing, r.p.PeerEvidence(200))
	require.False(t, r.p.Proven(200) || r.p.Arrived(200) || r.p.Busy())
	require.Error(t, loadTables(t).Explain(r.p, gen.Parent{}, nil))
	require.ErrorContains(t, loadTables(t).Explain(newRig(t, loadTables(t)).opened(1, 0).p, newRig(t, loadTables(t)).opened(1, 0).do(readyOn(0)).p, nil), "lead from OPEN_SENT")
	for c, want := range map[settle.Cause]control.Reason{settle.ByUser: control.ReasonUser, settle.ByRequestDeadline: control.ReasonDeadline,
		settle.ByShutdown: control.ReasonShutdown, settle.ByMixture: control.ReasonPeerFailure, settle.ByProtocol: control.ReasonProtocolError} {
		require.Equal(t, want, gen.ParentEffect{Cause: c}.CancelReason())
	}
}

func TestParentFuzzSeeds(t *testing.T) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzParentWalks")
	require.NoError(t, err)
	require.Len(t, seeds, 8)
}
