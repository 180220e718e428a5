package gen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
)

func send(m control.Type, edge uint8, e control.Evidence) gen.ParentEffect {
	return gen.ParentEffect{Kind: gen.DoSend, Msg: m, Edge: edge, Evidence: e}
}

func again(e gen.ParentEffect) gen.ParentEffect {
	e.Again = true
	return e
}

var (
	isFree       = gen.ParentEffect{Kind: gen.DoFree}
	isQuarantine = gen.ParentEffect{Kind: gen.DoQuarantine}
	isRestart    = gen.ParentEffect{Kind: gen.DoRestart}
)

func (r *rig) silent() *rig {
	r.t.Helper()
	return r.hasNot(gen.DoSend)
}

// rowCases has at least one script for each row of the two tables. Each script
// ends with the row's own step.
func rowCases() map[string]func(r *rig) {
	ns, unk := control.NotStarted, control.Unknown
	return map[string]func(r *rig){
		"gen-refuse": func(r *rig) {
			r.do(gen.ParentInput{Kind: gen.OnValidate, Cause: settle.ByIncompatible}).took("gen-refuse").in(gen.ParentLocalCancelled).silent()
			require.Equal(r.t, sm.Rejected, r.p.Disposition())
		},
		"gen-prepare": func(r *rig) {
			r.do(imported(2, 0)).took("gen-prepare").in(gen.ParentPrepared).has(gen.ParentEffect{Kind: gen.DoLease})
			require.False(r.t, r.p.Pending(), "a rank agrees with its lease in hand")
			require.True(r.t, r.do(granted).p.Pending())
		},
		"gen-admit": func(r *rig) {
			r.admitted(1, 0).took("gen-admit").has(gen.ParentEffect{Kind: gen.DoPublish})
		},
		"gen-admit-refused": func(r *rig) {
			r.do(imported(1, 0)).do(decided(round.Refuse)).took("gen-admit-refused").in(gen.ParentLocalCancelled)
			require.Equal(r.t, sm.Rejected, r.p.Disposition())
			newRig(r.t, r.tab).do(imported(1, 0)).do(missing(round.Refuse)).took("gen-admit-refused").has(gen.ParentEffect{Kind: gen.DoWithdraw})
		},
		"gen-admission-deadline": func(r *rig) {
			r.admitted(1, 0).do(waited(settle.AdmissionWait)).in(gen.ParentAdmitted).do(on(gen.OnContribute))
			r.do(unset(round.EndNotStarted)).took("gen-admission-deadline").has(isFree).hasNot(gen.DoWithdraw)
			require.Equal(r.t, sm.Failed, r.p.Disposition())
		},
		"gen-cancel-local": func(r *rig) {
			r.admitted(1, 0).do(userCancel).do(unset(round.EndNotStarted)).took("gen-cancel-local").has(isFree).silent()
			newRig(r.t, r.tab).do(userCancel).do(unset(round.EndNotStarted)).took("gen-cancel-local")
			newRig(r.t, r.tab).do(imported(1, 0)).do(userCancel).do(unset(round.EndNotStarted)).took("gen-cancel-local")
		},
		"gen-cancel-siblings": func(r *rig) {
			r.admitted(1, 0).do(cancelled(round.EndNotStarted)).took("gen-cancel-siblings").in(gen.ParentCancelPending)
			require.True(r.t, r.p.Leased(), "slots are kept")
			r.do(on(gen.OnContribute)).do(reducedTo(settle.NotStarted)).took("gen-refused-bound").has(isFree)
		},
		"gen-commit": func(r *rig) {
			r.do(imported(2, 0)).do(granted).refused("KS-GEN-2", on(gen.OnPublish))
			r = newRig(r.t, r.tab).admitted(2, 0)
			r.do(on(gen.OnPublish)).took("gen-commit")
			var order []gen.Do
			for _, e := range r.out {
				if e.Kind == gen.DoAdvertise || e.Kind == gen.DoSend {
					order = append(order, e.Kind)
				}
			}
			require.Equal(r.t, []gen.Do{gen.DoAdvertise, gen.DoSend, gen.DoSend}, order)
			r.refused("KS-GEN-2", on(gen.OnPublish))
		},
		"gen-published": func(r *rig) {
			r.publishing(2, 0).do(at(gen.OnSent, 0)).in(gen.ParentPublishing).do(at(gen.OnSent, 1)).took("gen-published").in(gen.ParentOpenSent)
		},
		"gen-publish-failed": func(r *rig) {
			r.publishing(2, 0).do(gen.ParentInput{Kind: gen.OnSendFailed}).in(gen.ParentPublishing).do(at(gen.OnSent, 1))
			r.took("gen-publish-failed").in(gen.ParentUninstalled).has(isQuarantine).silent()
		},
		"gen-cancel": func(r *rig) {
			r.opened(2, 0).do(userCancel).in(gen.ParentOpenSent).do(on(gen.OnContribute)).do(cancelled(round.EndNotStarted))
			r.took("gen-cancel").in(gen.ParentCancelPending).silent().hasNot(gen.DoFree)
			newRig(r.t, r.tab).publishing(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).took("gen-cancel")
		},
		"gen-resend-open": func(r *rig) {
			r.opened(1, 0).do(waited(settle.RetryWait)).took("gen-resend-open").has(again(send(control.TypeOpen, 0, 0)))
			r.do(userCancel).do(cancelled(round.EndNotStarted)).do(waited(settle.RetryWait)).took("gen-resend-open")
		},
		"gen-all-ready": func(r *rig) {
			r.flying(2, 0).took("gen-all-ready", "gen-edge-install", "gen-edge-install").has(gen.ParentEffect{Kind: gen.DoBegin})
		},
		"gen-no-peer": func(r *rig) {
			r.opened(2, 0).do(message(gen.OnReady, 0, ns)).do(message(gen.OnReady, 1, ns)).do(on(gen.OnContribute)).do(rejected())
			r.took("gen-no-peer").in(gen.ParentNotStarted).has(isFree).silent()
			require.Equal(r.t, sm.Rejected, r.p.Disposition())
		},
		"gen-refused-bound": func(r *rig) {
			r.opened(1, 0).do(message(gen.OnReady, 0, ns)).do(message(gen.OnTerminal, 0, ns)).do(rejected()).took("gen-refused-bound").has(isFree)
			q := newRig(r.t, r.tab).opened(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(message(gen.OnTerminal, 0, ns))
			q.do(on(gen.OnContribute)).do(reducedTo(settle.NotStarted)).took("gen-refused-bound")
			require.Equal(r.t, sm.Cancelled, q.p.Disposition())
		},
		"gen-mixed-installed": func(r *rig) {
			r.opened(2, 0).do(readyOn(0)).do(message(gen.OnReady, 1, unk)).do(decided(round.EndUnknown))
			r.took("gen-edge-doubt", "gen-mixed-installed").in(gen.ParentReducing).has(send(control.TypeTerminal, 0, unk))
			for _, e := range r.out {
				require.False(r.t, e.Kind == gen.DoSend && e.Edge == 1, "no TERMINAL on an unproven edge")
			}
		},
		"gen-mixed-uninstalled": func(r *rig) {
			r.opened(2, 0).do(message(gen.OnReady, 0, unk)).do(waited(settle.RequestWait)).do(decided(round.EndUnknown))
			r.took("gen-edge-open-deadline", "gen-mixed-uninstalled").in(gen.ParentUninstalled).has(isQuarantine).silent()
		},
		"gen-cancel-ready": func(r *rig) {
			r.opened(2, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(readyOn(1))
			r.took("gen-edge-ready-after-cancel", "gen-cancel-ready").in(gen.ParentCancelSent).has(send(control.TypeCancel, 1, 0))
		},
		"gen-cancel-uninstalled": func(r *rig) {
			r.opened(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(waited(settle.ControlWait))
			r.took("gen-edge-open-deadline", "gen-cancel-uninstalled").in(gen.ParentUninstalled).has(isQuarantine).silent()
		},
		"gen-resend-cancel": func(r *rig) {
			r.opened(2, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(readyOn(1)).do(waited(settle.RetryWait)).took("gen-resend-cancel")
			r.has(again(send(control.TypeCancel, 1, 0))).has(again(send(control.TypeOpen, 0, 0)))
		},
		"gen-cancel-evidence": func(r *rig) {
			r.opened(1, 0).do(readyOn(0)).do(userCancel).do(cancelled(round.EndUnknown)).took("gen-cancel", "gen-edge-cancel", "gen-cancel-ready")
			r.do(message(gen.OnTerminal, 0, unk)).took("gen-edge-cancel-unknown", "gen-cancel-evidence").in(gen.ParentReducing)
			q := newRig(r.t, r.tab).opened(1, 0).do(readyOn(0)).do(userCancel).do(cancelled(round.EndUnknown)).do(waited(settle.ControlWait))
			q.took("gen-edge-cancel-unknown", "gen-cancel-evidence").in(gen.ParentReducing)
		},
		"gen-complete": func(r *rig) {
			r.success(2, 0).took("gen-edge-done", "gen-edge-done", "gen-complete").has(isFree).silent()
			require.Equal(r.t, sm.Completed, r.p.Disposition())
		},
		"gen-doubt": func(r *rig) {
			r.flying(1, 0).do(userCancel).do(cancelled(round.EndUnknown)).took("gen-edge-doubt", "gen-doubt").in(gen.ParentReducing)
			r.has(send(control.TypeCancel, 0, 0)).has(send(control.TypeTerminal, 0, unk))
		},
		"gen-cancel-x49": func(r *rig) {
			r.flying(1, x49).do(userCancel).do(cancelled(round.EndDrain))
			r.took("gen-cancel-x49", "gen-edge-cancel", "gen-edge-cancel-quiesced-x49", "gen-cancel-evidence").in(gen.ParentReducing)
			r.has(send(control.TypeCancel, 0, 0)).has(send(control.TypeTerminal, 0, control.Quiesced)).hasNot(gen.DoFree)
		},
		"gen-late-cancel": func(r *rig) {
			r.success(1, 0).do(message(gen.OnCancelMessage, 0, 0)).took("gen-answer").do(on(gen.OnContribute))
			r.do(cancelled(round.KeepEvidence)).took("gen-late-cancel").in(gen.ParentReducing)
		},
		"gen-resend-terminal": func(r *rig) {
			r.flying(1, 0).do(userCancel).do(cancelled(round.EndUnknown)).do(waited(settle.RetryWait)).took("gen-resend-terminal")
			r.has(again(send(control.TypeTerminal, 0, unk)))
		},
		"gen-reduce-not-started": func(r *rig) {
			// Only a rank whose edges were opened and refused after a proven sibling gets here.
			r.opened(2, x49).do(userCancel).do(cancelled(round.EndNotStarted)).do(readyOn(0)).do(message(gen.OnReady, 1, ns))
			r.in(gen.ParentReducing).do(reducedTo(settle.NotStarted)).took("gen-reduce-not-started").in(gen.ParentNotStarted)
		},
		"gen-reduce-completed": func(r *rig) {
			r.success(1, 0).do(message(gen.OnCancelMessage, 0, 0)).do(cancelled(round.KeepEvidence))
			r.do(message(gen.OnTerminal, 0, control.SourceComplete)).do(reducedTo(settle.Completed)).took("gen-reduce-completed").in(gen.ParentCompleted)
			require.Equal(r.t, 1, r.count[gen.DoSettle])
			require.Equal(r.t, 1, r.count[gen.DoFree])
		},
		"gen-reduce-quiesced-x49": func(r *rig) {
			r.flying(1, x49).do(userCancel).do(cancelled(round.EndDrain)).do(message(gen.OnTerminal, 0, control.Quiesced))
			r.do(reducedTo(settle.Quiesced)).took("gen-reduce-quiesced-x49").in(gen.ParentQuiesced).has(isFree)
			require.Equal(r.t, sm.Cancelled, r.p.Disposition())
		},
		"gen-reduce-unknown": func(r *rig) {
			r.flying(1, 0).do(userCancel).do(cancelled(round.EndUnknown)).do(waited(settle.ControlWait)).do(on(gen.OnContribute))
			r.do(reducedTo(settle.Unknown)).took("gen-reduce-unknown").in(gen.ParentUnknown).has(isQuarantine).has(isRestart)
			require.Equal(r.t, sm.Failed, r.p.Disposition())
		},
		"gen-uninstalled": func(r *rig) {
			r.opened(1, 0).do(waited(settle.RequestWait)).do(decided(round.EndUnknown)).in(gen.ParentUninstalled).do(on(gen.OnContribute))
			r.do(reducedTo(settle.Unknown)).took("gen-uninstalled").in(gen.ParentUnknown).has(isRestart).silent()
		},
		"gen-epoch-changed": func(r *rig) {
			r.flying(1, 0).do(on(gen.OnEpochChanged)).in(gen.ParentInFlight).do(decided(round.EndUnknown)).took("gen-epoch-changed").in(gen.ParentUnknown).has(isQuarantine)
			newRig(r.t, r.tab).opened(1, 0).do(on(gen.OnEpochChanged)).do(decided(round.EndUnknown)).took("gen-epoch-changed")
			newRig(r.t, r.tab).opened(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(on(gen.OnEpochChanged)).do(reducedTo(settle.Unknown)).took("gen-epoch-changed")
		},
		"gen-late-proof": func(r *rig) {
			r.flying(1, 0).do(userCancel).do(cancelled(round.EndUnknown)).do(reducedTo(settle.Unknown)).has(isQuarantine)
			r.do(at(gen.OnSync, 0)).took("gen-late-proof").in(gen.ParentUnknown).has(gen.ParentEffect{Kind: gen.DoProve})
			require.Equal(r.t, sm.Failed, r.p.Disposition(), "a late success is proof only")
			r.do(at(gen.OnSync, 0)).hasNot(gen.DoProve)
		},
		"gen-repeat": func(r *rig) {
			r.opened(1, 0).do(message(gen.OnReady, 0, ns)).do(rejected()).do(message(gen.OnTerminal, 0, ns)).took("gen-edge-receipt", "gen-repeat")
			r.has(send(control.TypeReceipt, 0, ns)).has(send(control.TypeTerminal, 0, ns))
			r.do(message(gen.OnReady, 0, ns)).took("gen-repeat").do(message(gen.OnCancelMessage, 0, 0)).took("gen-repeat")
			require.Equal(r.t, 1, r.count[gen.DoFree])
		},
		"gen-retire": func(r *rig) {
			r.success(1, 0).do(waited(settle.RetentionWait)).took("gen-retire", "gen-edge-retire").in(gen.ParentRetired)
		},
		"gen-stale": func(r *rig) {
			r.success(1, 0).do(waited(settle.RetentionWait)).do(readyOn(0)).took("gen-stale").silent()
			r.do(message(gen.OnTerminal, 0, ns)).took("gen-stale").do(message(gen.OnCancelMessage, 0, 0)).took("gen-stale")
			r.refused("KS-REG-7", at(gen.OnSync, 0))
		},
		"gen-edge-ready": func(r *rig) {
			r.opened(2, x48).do(readyOn(0)).took("gen-edge-ready").edge(0, gen.EdgeReadyAccepted).has(gen.ParentEffect{Kind: gen.DoClip})
			require.True(r.t, r.p.Proven(0))
			require.False(r.t, r.p.Proven(1))
		},
		"gen-edge-no-peer": func(r *rig) {
			r.opened(2, 0).do(message(gen.OnReady, 0, ns)).took("gen-edge-no-peer").edge(0, gen.EdgeNotStarted)
			require.False(r.t, r.p.Proven(0))
		},
		"gen-edge-refused": func(r *rig) {
			r.opened(2, 0).do(message(gen.OnTerminal, 0, ns)).took("gen-edge-refused").edge(0, gen.EdgeNotStarted).has(send(control.TypeReceipt, 0, ns))
			require.True(r.t, r.p.Proven(0))
		},
		"gen-edge-rejected": func(r *rig) {
			r.opened(2, 0).do(message(gen.OnReady, 0, unk)).took("gen-edge-rejected").edge(0, gen.EdgeUnknown)
			require.Equal(r.t, settle.Missing, r.p.PeerEvidence(0))
		},
		"gen-edge-terminal": func(r *rig) {
			r.opened(2, 0).do(message(gen.OnTerminal, 0, control.SourceComplete)).took("gen-edge-terminal").edge(0, gen.EdgeUnknown)
			require.True(r.t, r.p.Proven(0))
		},
		"gen-edge-open-deadline": func(r *rig) {
			r.opened(1, 0).do(waited(settle.RequestWait)).do(decided(round.EndUnknown)).took("gen-edge-open-deadline", "gen-mixed-uninstalled")
		},
		"gen-edge-install": func(r *rig) { r.flying(1, 0).took("gen-all-ready", "gen-edge-install") },
		"gen-edge-done":    func(r *rig) { r.success(1, x48).took("gen-edge-done", "gen-complete") },
		"gen-edge-doubt": func(r *rig) {
			r.flying(1, 0).do(waited(settle.RequestWait)).do(cancelled(round.EndUnknown)).took("gen-edge-doubt", "gen-doubt")
		},
		"gen-edge-ready-after-cancel": func(r *rig) {
			r.opened(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(readyOn(0)).took("gen-edge-ready-after-cancel", "gen-cancel-ready")
			r.edge(0, gen.EdgeCancelSent).hasNot(gen.DoInstall)
		},
		"gen-edge-cancel": func(r *rig) {
			r.opened(2, x49).do(readyOn(0)).do(userCancel).do(cancelled(round.EndDrain))
			r.took("gen-cancel", "gen-edge-cancel", "gen-cancel-ready", "gen-edge-cancel-quiesced-x49")
		},
		"gen-edge-cancel-unknown": func(r *rig) {
			r.opened(1, 0).do(readyOn(0)).do(userCancel).do(cancelled(round.EndUnknown)).do(message(gen.OnCancelMessage, 0, 0))
			r.took("gen-answer", "gen-edge-cancel-unknown", "gen-cancel-evidence").has(send(control.TypeTerminal, 0, unk))
		},
		"gen-edge-cancel-quiesced-x49": func(r *rig) {
			r.flying(1, x49).do(at(gen.OnSync, 0)).do(userCancel).do(cancelled(round.EndDrain)).edge(0, gen.EdgeCancelSent).in(gen.ParentCancelSent)
			r.do(processed).took("gen-edge-cancel-quiesced-x49", "gen-cancel-evidence").has(send(control.TypeTerminal, 0, control.Quiesced))
		},
		"gen-edge-cancel-not-started-x49": func(r *rig) {
			// No honest source says NOT_STARTED after its READY; the row is for one that does.
			r.flying(1, x49).do(on(gen.OnWorkBegan)).do(userCancel).do(cancelled(round.EndDrain)).do(message(gen.OnTerminal, 0, ns))
			r.do(gen.ParentInput{Kind: gen.OnProcessed}).took("gen-edge-cancel-not-started-x49", "gen-cancel-evidence").edge(0, gen.EdgeNotStarted)
		},
		"gen-edge-receipt": func(r *rig) {
			r.success(1, 0).do(message(gen.OnTerminal, 0, control.SourceComplete)).took("gen-edge-receipt")
			r.has(send(control.TypeReceipt, 0, control.SourceComplete)).has(send(control.TypeTerminal, 0, control.DestinationComplete))
			r.do(message(gen.OnTerminal, 0, control.Unknown))
			require.Equal(r.t, control.SourceComplete, r.p.PeerEvidence(0), "the first evidence is final")
		},
		"gen-edge-retire": func(r *rig) {
			r.success(2, 0).do(waited(settle.RetentionWait)).took("gen-retire", "gen-edge-retire", "gen-edge-retire")
		},
		"gen-ask-x48": func(r *rig) {
			r.flying(2, x48).do(gen.ParentInput{Kind: gen.OnData, Count: 1, Match: settle.Exact}).do(waited(settle.SoftWait)).took("gen-ask-x48")
			r.has(send(control.TypeQuery, 1, 0))
			for _, e := range r.out {
				require.False(r.t, e.Kind == gen.DoSend && e.Edge == 0, "edge 0 is complete")
			}
			r.do(waited(settle.RetryWait)).took("gen-ask-x48")
			r.do(gen.ParentInput{Kind: gen.OnStatus, Edge: 1, State: control.StateSourceComplete, Match: settle.Exact})
			r.has(gen.ParentEffect{Kind: gen.DoProcess}).hasNot(gen.DoFree)
		},
		"gen-answer": func(r *rig) {
			r.flying(1, 0).do(userCancel).do(cancelled(round.EndUnknown)).do(message(gen.OnCancelMessage, 0, 0)).took("gen-answer")
			r.has(again(send(control.TypeTerminal, 0, unk)))
		},
		"gen-cancel-unproven": func(r *rig) {
			r.admitted(1, x49).do(cancelled(round.EndDrain)).in(gen.ParentCancelPending).do(on(gen.OnPublish))
			r.do(message(gen.OnReady, 0, ns)).do(on(gen.OnContribute)).do(reducedTo(settle.Quiesced)).took("gen-cancel-unproven", "gen-reduce-quiesced-x49").in(gen.ParentQuiesced).has(isFree)
		},
		"gen-commit-cancelled-x49": func(r *rig) {
			r.admitted(1, x49).do(cancelled(round.EndDrain)).do(on(gen.OnPublish)).took("gen-commit-cancelled-x49")
			r.do(waited(settle.RetryWait)).took("gen-resend-open").has(again(send(control.TypeOpen, 0, 0)))
		},
		"gen-edge-terminal-x49": func(r *rig) {
			r.opened(1, x49).do(message(gen.OnTerminal, 0, control.Quiesced)).took("gen-edge-terminal-x49").edge(0, gen.EdgeCancelSent)
			r.do(on(gen.OnContribute)).do(cancelled(round.EndDrain))
			r.took("gen-cancel", "gen-cancel-ready", "gen-edge-cancel-quiesced-x49", "gen-cancel-evidence")
			r.do(reducedTo(settle.Quiesced)).has(isFree)
		},
	}
}

// TestParentTakesEachRow runs a script for each row and requires that the row was
// taken; together the scripts take every row of both tables.
func TestParentTakesEachRow(t *testing.T) {
	spec.Covers(t, "KS-GEN-1", "KS-GEN-2", "KS-GEN-3", "KS-GEN-4", "KS-GEN-5", "KS-GEN-7", "KS-GEN-8", "KS-GEN-9",
		"KS-SEL-24", "KS-SEL-25", "KS-REC-5", "KS-REC-7", "KS-REC-11", "KS-QUI-6", "KS-QUI-7", "KS-QUI-11", "KS-SET-9")
	all := loadTables(t)
	cases := rowCases()
	for r := range gen.NumRows {
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
	require.Len(t, cases, int(gen.NumRows))
	require.Equal(t, "invalid", gen.NumRows.String())
}

func TestParentStatesAreThoseOfTheTables(t *testing.T) {
	spec.Covers(t, "KS-GEN-1")
	for name, word := range map[string]func(int) string{
		"gen-parent-transitions": func(i int) string { return gen.ParentState(i).String() },
		"gen-edge-transitions":   func(i int) string { return gen.EdgeState(i + 1).String() },
	} {
		tab, err := spec.LoadTable(name)
		require.NoError(t, err)
		require.Equal(t, tab.Initial, word(0), name)
		for i, s := range tab.States {
			require.Contains(t, tab.States, word(i), name)
			_ = s
		}
		require.Equal(t, "INVALID", word(len(tab.States)), name)
	}
	require.Equal(t, "ABSENT", gen.EdgeAbsent.String())
}
