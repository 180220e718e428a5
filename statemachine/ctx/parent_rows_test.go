package ctx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
)

var (
	notReady = ctx.ParentEffect{Kind: ctx.DoSend, Msg: control.TypeReady, Decision: control.DecisionNotReady, Evidence: control.NotStarted}
	miss     = ctx.ParentEffect{Kind: ctx.DoSend, Msg: control.TypeReady, Decision: control.DecisionNotReady, Evidence: control.Unknown}
	ready    = ctx.ParentEffect{Kind: ctx.DoSend, Msg: control.TypeReady, Decision: control.DecisionReady}
)

func terminal(e control.Evidence) ctx.ParentEffect {
	return ctx.ParentEffect{Kind: ctx.DoSend, Msg: control.TypeTerminal, Evidence: e}
}

func again(e ctx.ParentEffect) ctx.ParentEffect {
	e.Again = true
	return e
}

// rowCases has at least one script for each row of the two tables. Each script
// ends with the row's own step.
func rowCases() map[string]func(r *rig) {
	return map[string]func(r *rig){
		"ctx-publish": func(r *rig) {
			r.do(publish()).took("ctx-publish").in(ctx.ParentPublished).has(ctx.ParentEffect{Kind: ctx.DoPublish})
			require.True(r.t, r.p.Leased())
			require.EqualValues(r.t, 5, r.p.Binding().Token)
			r.refused("KS-CTX-1", publish())
		},
		"ctx-publish-full": func(r *rig) {
			r.do(ctx.ParentInput{Kind: ctx.OnPublish}).took("ctx-publish-full").in(ctx.ParentAbsent).hasNot(ctx.DoPublish)
		},
		"ctx-bind": func(r *rig) {
			r.do(publish()).do(open(0, 2, 0)).in(ctx.ParentPublished).has(ctx.ParentEffect{Kind: ctx.DoEnter})
			r.do(on(ctx.OnContribute)).do(decided(round.GoOn)).took("ctx-bind").has(ctx.ParentEffect{Kind: ctx.DoBind})
			r.edge(0, ctx.EdgeBound).edge(1, ctx.EdgeAbsent)
			r.do(open(1, 2, 0)).edge(1, ctx.EdgeBound)
		},
		"ctx-incompatible": func(r *rig) {
			o := open(0, 1, 0)
			o.Match &^= settle.SameSelection
			r.do(publish()).do(o).in(ctx.ParentPublished)
			r.do(on(ctx.OnContribute)).has(ctx.ParentEffect{Kind: ctx.DoContribute, Evidence: control.Unknown})
			r.do(decided(round.EndUnknown)).took("ctx-incompatible").in(ctx.ParentUnknown).has(miss)
			require.Equal(r.t, 1, r.count[ctx.DoFree], "nothing was ever read from the slot")
			require.Equal(r.t, sm.Failed, r.p.Disposition())
		},
		"ctx-incompatible-repeat": func(r *rig) {
			o := open(0, 1, 0)
			o.Match &^= settle.SameDigest
			r.do(publish()).do(o).do(decided(round.Refuse)).in(ctx.ParentUnknown)
			r.do(o).took("ctx-incompatible-repeat").has(again(miss))
		},
		"ctx-cancel-published": func(r *rig) {
			r.do(publish()).do(open(0, 1, 0)).do(userCancel).do(on(ctx.OnContribute))
			r.do(cancelled(round.EndNotStarted)).took("ctx-cancel-published").in(ctx.ParentNotStarted).has(notReady)
			require.Equal(r.t, sm.Cancelled, r.p.Disposition())
			require.Equal(r.t, 1, r.count[ctx.DoFree])
		},
		"ctx-cancel-unbound": func(r *rig) {
			r.do(message(ctx.OnCancelMessage, 0, 0)).took("ctx-cancel-unbound").in(ctx.ParentAbsent).has(miss)
			r.do(publish()).do(message(ctx.OnCancelMessage, 0, 0)).took("ctx-cancel-unbound").in(ctx.ParentPublished).has(miss)
		},
		"ctx-other-attempt": func(r *rig) {
			o := open(0, 1, 0)
			o.Match &^= settle.SameAttempt
			r.bound(1, 0).do(o).took("ctx-other-attempt").in(ctx.ParentBound).has(miss)
		},
		"ctx-cancel-bound": func(r *rig) {
			r.bound(1, 0).do(userCancel).do(on(ctx.OnContribute)).do(cancelled(round.EndNotStarted))
			r.took("ctx-edge-cancelled", "ctx-cancel-bound").in(ctx.ParentReducing).has(notReady).has(terminal(control.NotStarted))
		},
		"ctx-doubt": func(r *rig) {
			r.flying(1, 0).do(userCancel).do(on(ctx.OnContribute)).do(cancelled(round.EndUnknown))
			r.took("ctx-edge-doubt", "ctx-doubt").in(ctx.ParentReducing).has(terminal(control.Unknown)).has(ctx.ParentEffect{Kind: ctx.DoSeal})
		},
		"ctx-drain-x49": func(r *rig) {
			r.flying(1, x49).do(userCancel).do(on(ctx.OnContribute)).do(cancelled(round.EndDrain))
			r.took("ctx-edge-drain-x49", "ctx-drain-x49").in(ctx.ParentReducing).has(ctx.ParentEffect{Kind: ctx.DoSeal})
		},
		"ctx-complete": func(r *rig) {
			r.success(1, 0).took("ctx-complete").has(ctx.ParentEffect{Kind: ctx.DoFree})
			require.Equal(r.t, sm.Completed, r.p.Disposition())
			require.Equal(r.t, control.SourceComplete, r.p.Evidence(0))
		},
		"ctx-late-cancel": func(r *rig) {
			r.success(2, 0).do(message(ctx.OnCancelMessage, 0, 0)).took("ctx-answer").has(terminal(control.SourceComplete))
			r.do(on(ctx.OnContribute)).do(cancelled(round.KeepEvidence)).took("ctx-late-cancel").in(ctx.ParentReducing)
			r.has(ctx.ParentEffect{Kind: ctx.DoSend, Edge: 1, Msg: control.TypeTerminal, Evidence: control.SourceComplete})
		},
		"ctx-local-cancel-after-success": func(r *rig) {
			r.success(1, 0).do(userCancel).took("ctx-local-cancel-after-success")
			require.False(r.t, r.p.Pending())
		},
		"ctx-resend": func(r *rig) {
			r.flying(1, 0).do(userCancel).do(cancelled(round.EndUnknown)).do(waited(settle.RetryWait)).took("ctx-resend")
			r.has(again(terminal(control.Unknown)))
		},
		"ctx-reduce-not-started": func(r *rig) {
			r.bound(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(message(ctx.OnTerminal, 0, control.NotStarted))
			r.do(on(ctx.OnContribute)).do(reducedTo(settle.NotStarted)).took("ctx-reduce-not-started").in(ctx.ParentNotStarted)
			require.Equal(r.t, 1, r.count[ctx.DoFree])
		},
		"ctx-reduce-completed": func(r *rig) {
			r.success(1, 0).do(message(ctx.OnCancelMessage, 0, 0)).do(cancelled(round.KeepEvidence))
			r.do(message(ctx.OnTerminal, 0, control.DestinationComplete)).do(reducedTo(settle.Completed))
			r.took("ctx-reduce-completed").in(ctx.ParentCompleted)
			require.Equal(r.t, 1, r.count[ctx.DoSettle])
		},
		"ctx-reduce-quiesced-x49": func(r *rig) {
			r.flying(1, x49).do(userCancel).do(cancelled(round.EndDrain)).do(at(ctx.OnSealed, 0))
			r.do(message(ctx.OnTerminal, 0, control.Quiesced)).do(reducedTo(settle.Quiesced))
			r.took("ctx-reduce-quiesced-x49").in(ctx.ParentQuiesced).has(ctx.ParentEffect{Kind: ctx.DoFree})
			require.Equal(r.t, sm.Cancelled, r.p.Disposition())
		},
		"ctx-reduce-alone-x49": func(r *rig) {
			r.flying(1, x49).do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}).do(at(ctx.OnWritten, 0)).do(userCancel)
			r.do(cancelled(round.EndDrain)).do(at(ctx.OnWritten, 0)).took("ctx-edge-drained-complete-x49")
			r.do(reducedTo(settle.Completed)).took("ctx-reduce-alone-x49").in(ctx.ParentCompleted)
			require.Equal(r.t, sm.Cancelled, r.p.Disposition())
		},
		"ctx-reduce-unknown": func(r *rig) {
			r.flying(1, 0).do(at(ctx.OnPosted, 0)).do(userCancel).do(cancelled(round.EndUnknown)).do(waited(settle.ControlWait))
			r.do(on(ctx.OnContribute)).do(reducedTo(settle.Unknown)).took("ctx-reduce-unknown").in(ctx.ParentUnknown)
			r.has(ctx.ParentEffect{Kind: ctx.DoQuarantine}).has(ctx.ParentEffect{Kind: ctx.DoRestart})
			require.True(r.t, r.p.Isolated())
		},
		"ctx-epoch-changed": func(r *rig) {
			r.flying(1, 0).do(on(ctx.OnEpochChanged)).in(ctx.ParentBound).do(on(ctx.OnContribute))
			r.do(decided(round.EndUnknown)).in(ctx.ParentReducing).do(reducedTo(settle.Unknown)).took("ctx-epoch-changed").in(ctx.ParentUnknown)
		},
		"ctx-repeat": func(r *rig) {
			r.bound(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(message(ctx.OnTerminal, 0, control.NotStarted))
			r.do(reducedTo(settle.NotStarted))
			r.do(open(0, 1, 0)).took("ctx-repeat").has(again(notReady)).has(again(terminal(control.NotStarted)))
			r.do(message(ctx.OnCancelMessage, 0, 0)).took("ctx-repeat").has(again(terminal(control.NotStarted)))
			r.do(message(ctx.OnTerminal, 0, control.NotStarted)).took("ctx-repeat")
			r.has(ctx.ParentEffect{Kind: ctx.DoSend, Msg: control.TypeReceipt, Evidence: control.NotStarted})
			require.Equal(r.t, 1, r.count[ctx.DoFree])
			require.Equal(r.t, 1, r.count[ctx.DoSettle])
		},
		"ctx-retire": func(r *rig) {
			r.success(1, 0).do(waited(settle.RetentionWait)).took("ctx-retire", "ctx-edge-retire").in(ctx.ParentRetired)
			r.has(ctx.ParentEffect{Kind: ctx.DoDrop})
		},
		"ctx-stale": func(r *rig) {
			r.do(open(0, 1, 0)).took("ctx-stale").in(ctx.ParentAbsent).has(miss).hasNot(ctx.DoWrite)
			r.do(message(ctx.OnTerminal, 0, control.NotStarted)).took("ctx-stale")
			r.do(message(ctx.OnQuery, 0, 0)).took("ctx-stale").has(ctx.ParentEffect{Kind: ctx.DoSend, Msg: control.TypeStatus, State: control.StateUnknown})
			r.success(1, 0).do(waited(settle.RetentionWait)).do(open(0, 1, 0)).took("ctx-stale").in(ctx.ParentRetired).has(miss)
			r.refused("KS-REG-1", message(ctx.OnCancelMessage, 0, 0))
		},
		"ctx-edge-prepare": func(r *rig) {
			r.bound(2, 0).do(on(ctx.OnPrepare)).took("ctx-edge-prepare", "ctx-edge-prepare").edge(1, ctx.EdgePrepared)
		},
		"ctx-edge-cancel": func(r *rig) {
			r.bound(2, 0).do(message(ctx.OnCancelMessage, 0, 0)).took("ctx-edge-cancel", "ctx-edge-cancel").edge(1, ctx.EdgeCancelPending)
		},
		"ctx-edge-cancelled": func(r *rig) {
			r.bound(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).took("ctx-edge-cancelled", "ctx-cancel-bound").edge(0, ctx.EdgeNotStarted)
		},
		"ctx-edge-cancel-doubt": func(r *rig) {
			r.bound(1, 0).do(userCancel).do(missing()).took("ctx-edge-cancel-doubt", "ctx-doubt").edge(0, ctx.EdgeUnknown)
		},
		"ctx-edge-reject": func(r *rig) {
			r.bound(1, 0).do(on(ctx.OnPrepare)).do(on(ctx.OnContribute)).do(decided(round.EndNotStarted))
			r.took("ctx-edge-reject", "ctx-cancel-bound").edge(0, ctx.EdgeNotStarted)
		},
		"ctx-edge-install": func(r *rig) {
			r.installed(2, 0).took("ctx-edge-install", "ctx-edge-install").edge(0, ctx.EdgeDecided).hasNot(ctx.DoSend)
			r.has(ctx.ParentEffect{Kind: ctx.DoInstall})
		},
		"ctx-edge-round-failed": func(r *rig) {
			r.bound(1, 0).do(on(ctx.OnPrepare)).do(missing()).took("ctx-edge-round-failed", "ctx-doubt").edge(0, ctx.EdgeUnknown)
			q := newRig(r.t, r.tab).installed(1, 0).do(missing()).took("ctx-edge-round-failed", "ctx-doubt").edge(0, ctx.EdgeUnknown)
			q.hasNot(ctx.DoWrite)
			require.Zero(r.t, q.count[ctx.DoWrite])
		},
		"ctx-edge-show": func(r *rig) {
			r.installed(1, 0).do(on(ctx.OnBarrier)).took("ctx-edge-show").has(ready).edge(0, ctx.EdgeInFlight)
			var order []ctx.Do
			for _, e := range r.out {
				order = append(order, e.Kind)
			}
			require.Equal(r.t, []ctx.Do{ctx.DoTake, ctx.DoSend, ctx.DoWrite}, order)
		},
		"ctx-edge-decided-cancel": func(r *rig) {
			r.installed(1, 0).do(userCancel).edge(0, ctx.EdgeDecided).do(cancelled(round.EndUnknown))
			r.took("ctx-edge-decided-cancel", "ctx-doubt").has(terminal(control.Unknown))
		},
		"ctx-edge-decided-drain-x49": func(r *rig) {
			r.installed(1, x49).do(userCancel).do(cancelled(round.EndDrain)).took("ctx-edge-decided-drain-x49", "ctx-drain-x49")
			r.do(at(ctx.OnSealed, 0)).took("ctx-edge-drained-x49").has(terminal(control.Quiesced))
		},
		"ctx-edge-done": func(r *rig) {
			r.flying(1, 0).do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}).do(at(ctx.OnWritten, 0)).edge(0, ctx.EdgeInFlight)
			r.do(at(ctx.OnWritten, 0)).took("ctx-edge-done").has(ctx.ParentEffect{Kind: ctx.DoSync}).edge(0, ctx.EdgeSourceComplete)
			q := newRig(r.t, r.tab).flying(1, x48).written(0)
			q.has(ctx.ParentEffect{Kind: ctx.DoSend, Msg: control.TypeDataComplete}).hasNot(ctx.DoSync)
		},
		"ctx-edge-doubt": func(r *rig) {
			r.flying(1, 0).do(ctx.ParentInput{Kind: ctx.OnDoubt, Cause: settle.ByProtocol}).do(decided(round.EndUnknown))
			r.took("ctx-edge-doubt", "ctx-doubt")
		},
		"ctx-edge-drain-x49": func(r *rig) {
			r.flying(1, x49).do(at(ctx.OnPosted, 0)).do(ctx.ParentInput{Kind: ctx.OnWriteFailed}).do(on(ctx.OnContribute))
			r.do(decided(round.EndDrain)).took("ctx-edge-drain-x49", "ctx-drain-x49").edge(0, ctx.EdgeDraining)
		},
		"ctx-edge-drained-complete-x49": func(r *rig) {
			r.flying(1, x49).do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}).do(at(ctx.OnWritten, 0)).do(userCancel).do(cancelled(round.EndDrain))
			r.do(at(ctx.OnWritten, 0)).took("ctx-edge-drained-complete-x49").has(terminal(control.SourceComplete))
		},
		"ctx-edge-drained-x49": func(r *rig) {
			r.flying(1, x49).do(at(ctx.OnPosted, 0)).do(userCancel).do(cancelled(round.EndDrain)).do(at(ctx.OnSealed, 0)).edge(0, ctx.EdgeDraining)
			r.do(at(ctx.OnWritten, 0)).took("ctx-edge-drained-x49").has(terminal(control.Quiesced))
		},
		"ctx-edge-drain-unknown-x49": func(r *rig) {
			r.flying(1, x49).do(at(ctx.OnPosted, 0)).do(at(ctx.OnReleased, 0)).do(decided(round.EndDrain)).do(at(ctx.OnSealed, 0))
			r.do(waited(settle.ControlWait)).took("ctx-edge-drain-unknown-x49").has(terminal(control.Unknown))
			r.do(reducedTo(settle.Unknown)).has(ctx.ParentEffect{Kind: ctx.DoQuarantine}).hasNot(ctx.DoRestart)
		},
		"ctx-edge-duplicate-open": func(r *rig) {
			r.bound(1, 0).do(open(0, 1, 0)).took("ctx-edge-duplicate-open").hasNot(ctx.DoSend)
			newRig(r.t, r.tab).flying(1, 0).do(open(0, 1, 0)).took("ctx-edge-duplicate-open").has(again(ready)).hasNot(ctx.DoWrite)
			newRig(r.t, r.tab).success(1, 0).do(open(0, 1, 0)).took("ctx-edge-duplicate-open").has(again(ready))
		},
		"ctx-edge-retire": func(r *rig) {
			r.success(2, 0).do(waited(settle.RetentionWait)).took("ctx-retire", "ctx-edge-retire", "ctx-edge-retire").edge(1, ctx.EdgeRetired)
			// A rank was missing while this edge drained, and the contract lets nobody claim.
			weak := publish()
			weak.Contract = 0
			d := newRig(r.t, r.tab).do(weak).do(open(0, 1, x49)).do(on(ctx.OnContribute)).do(decided(round.GoOn)).do(on(ctx.OnPrepare))
			d.do(on(ctx.OnContribute)).do(decided(round.GoOn)).do(on(ctx.OnBarrier)).do(userCancel).do(cancelled(round.EndDrain))
			d.do(at(ctx.OnSealed, 0)).edge(0, ctx.EdgeDraining).do(reducedTo(settle.Unknown)).in(ctx.ParentUnknown)
			d.do(waited(settle.RetentionWait)).took("ctx-retire", "ctx-edge-drain-unknown-x49", "ctx-edge-retire")
		},
		"ctx-query-x48": func(r *rig) {
			for _, s := range []struct {
				set  func(*rig) *rig
				want control.SourceState
			}{
				{func(q *rig) *rig { return q.bound(1, x48) }, control.StateNotStarted},
				{func(q *rig) *rig { return q.flying(1, x48) }, control.StateInProgress},
				{func(q *rig) *rig { return q.success(1, x48) }, control.StateSourceComplete},
				{func(q *rig) *rig { return q.flying(1, x48).do(userCancel).do(cancelled(round.EndUnknown)) }, control.StateUnknown},
				{func(q *rig) *rig {
					return q.flying(1, x48|x49).do(userCancel).do(cancelled(round.EndDrain)).do(at(ctx.OnSealed, 0))
				}, control.StateQuiesced},
			} {
				q := s.set(newRig(r.t, r.tab))
				before := q.p
				q.do(message(ctx.OnQuery, 0, 0)).took("ctx-query-x48").has(ctx.ParentEffect{Kind: ctx.DoSend, Msg: control.TypeStatus, State: s.want})
				require.Equal(r.t, before, q.p, "a QUERY changes nothing")
			}
			r.bound(1, 0).refused("KS-REC-1", message(ctx.OnQuery, 0, 0))
		},
		"ctx-answer": func(r *rig) {
			r.flying(1, 0).do(userCancel).do(cancelled(round.EndUnknown)).do(message(ctx.OnCancelMessage, 0, 0)).took("ctx-answer")
			r.has(again(terminal(control.Unknown))).do(message(ctx.OnTerminal, 0, control.Unknown)).took("ctx-answer")
		},
		"ctx-pending-other": func(r *rig) {
			o := open(0, 1, 0)
			o.Match &^= settle.SameAttempt
			r.do(publish()).do(open(0, 1, 0)).do(o).took("ctx-pending-other").has(miss)
		},
		"ctx-late-open": func(r *rig) {
			r.do(publish()).do(open(0, 2, x49)).do(decided(round.GoOn)).do(userCancel).do(cancelled(round.EndNotStarted))
			r.do(open(1, 2, x49)).took("ctx-late-open").edge(1, ctx.EdgeNotStarted)
			r.has(ctx.ParentEffect{Kind: ctx.DoSend, Edge: 1, Msg: control.TypeReady, Decision: control.DecisionNotReady, Evidence: control.NotStarted})
			r.has(ctx.ParentEffect{Kind: ctx.DoSend, Edge: 1, Msg: control.TypeTerminal, Evidence: control.NotStarted})
			q := newRig(r.t, r.tab).do(publish()).do(open(0, 2, 0)).do(decided(round.GoOn)).do(userCancel).do(cancelled(round.EndNotStarted))
			q.do(open(1, 2, 0)).took("ctx-late-open")
			for _, e := range q.out {
				require.NotEqual(r.t, control.TypeTerminal, e.Msg, "plain v2 sends no byte of chapter 26")
			}
		},
		"ctx-late-proof": func(r *rig) {
			r.flying(1, 0).do(at(ctx.OnPosted, 0)).do(userCancel).do(cancelled(round.EndUnknown)).do(at(ctx.OnSealed, 0))
			r.do(reducedTo(settle.Unknown)).has(ctx.ParentEffect{Kind: ctx.DoQuarantine}).refused("KS-REG-8", waited(settle.RetentionWait))
			r.do(at(ctx.OnWritten, 0)).took("ctx-late-proof").has(ctx.ParentEffect{Kind: ctx.DoProve})
			r.do(waited(settle.RetentionWait)).in(ctx.ParentRetired)
			require.Zero(r.t, r.count[ctx.DoFree])
		},
	}
}

// TestParentTakesEachRow runs a script for each row and requires that the row was
// taken; together the scripts take every row of both tables.
func TestParentTakesEachRow(t *testing.T) {
	spec.Covers(t, "KS-CTX-1", "KS-CTX-2", "KS-CTX-3", "KS-CTX-4", "KS-CTX-5", "KS-CTX-6", "KS-CTX-7", "KS-CTX-8",
		"KS-CTX-9", "KS-REG-1", "KS-REG-12", "KS-REG-13", "KS-REC-6", "KS-REC-13", "KS-QUI-3", "KS-QUI-5", "KS-QUI-12", "KS-QUI-16")
	all := loadTables(t)
	cases := rowCases()
	for r := range ctx.NumRows {
		id := r.String()
		require.Contains(t, cases, id, "no script for row %s", id)
		t.Run(id, func(t *testing.T) {
			tab := &tableSet{all.Tables, map[string]int{}}
			cases[id](newRig(t, tab))
			require.NotZero(t, tab.seen[id], "row %s was not taken", id)
			for k, n := range tab.seen {
				all.seen[k] += n
			}
		})
	}
	for _, id := range all.IDs() {
		require.NotZero(t, all.seen[id], "row %s of the table is never taken", id)
	}
	require.Len(t, cases, int(ctx.NumRows))
	require.Equal(t, "invalid", ctx.NumRows.String())
}

func TestParentStatesAreThoseOfTheTables(t *testing.T) {
	spec.Covers(t, "KS-CTX-1")
	for name, word := range map[string]func(int) string{
		"ctx-parent-transitions": func(i int) string { return ctx.ParentState(i).String() },
		"ctx-edge-transitions":   func(i int) string { return ctx.EdgeState(i + 1).String() },
	} {
		tab, err := spec.LoadTable(name)
		require.NoError(t, err)
		for i, s := range tab.States {
			require.Equal(t, s, word(i), name)
		}
		require.Equal(t, "INVALID", word(len(tab.States)), name)
	}
	require.Equal(t, "ABSENT", ctx.EdgeAbsent.String())
}

func TestParentFreesByProof(t *testing.T) {
	spec.Covers(t, "KS-SLOT-19", "KS-SET-7")
	tab := loadTables(t)
	r := newRig(t, tab).success(1, 0)
	for _, e := range newRig(t, tab).success(1, 0).out {
		if e.Kind == ctx.DoFree {
			require.Equal(t, slot.OwnWritesFinal, e.Proof)
		}
	}
	require.False(t, r.p.Leased())
	// A released handle and an error without contract bit 3 prove nothing.
	for _, k := range []ctx.Event{ctx.OnReleased, ctx.OnWriteFailed} {
		q := newRig(t, tab).flying(1, x49).do(at(ctx.OnPosted, 0)).do(ctx.ParentInput{Kind: k}).do(decided(round.EndDrain)).do(at(ctx.OnSealed, 0))
		q.do(waited(settle.ControlWait)).do(reducedTo(settle.Unknown))
		require.True(t, q.p.Isolated(), "%v", k)
		require.False(t, q.p.Quiet())
	}
}
