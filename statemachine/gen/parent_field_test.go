package gen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// fieldCases are field failures (F) and matrix cases (M) that the v2 machines can
// show, by the numbers of the lists that they come from.
func fieldCases(t *testing.T, tab *tableSet) map[string]func() {
	rig := func() *rig { return newRig(t, tab) }
	ns, unk, qui := control.NotStarted, control.Unknown, control.Quiesced
	pairOf := func(caps descriptor.Caps, f faults, seeds uint64, each func(w *pair)) {
		for seed := range seeds {
			w := newPair(seed, pairConfig{ctxRanks: 1, genRanks: 1, chunks: 3, caps: caps, contract: goodContract, f: f, parts: 1})
			w.run(120000)
			w.check(t, seed)
			each(w)
		}
	}
	return map[string]func(){
		"F01 one dropped notice": func() {
			f := faults{delay: 20, slowWrite: 40, dropNotice: 1000}
			pairOf(0, f, 10, func(w *pair) {
				require.Equal(t, sm.Failed, w.g[0].p.Disposition())
				require.Zero(t, w.g[0].freed, "quarantined, not free")
			})
			pairOf(x48, f, 10, func(w *pair) { require.Equal(t, sm.Completed, w.g[0].p.Disposition()) })
		},
		"F03 a write cannot be posted": func() {
			f := faults{delay: 20, slowWrite: 40, writeFail: 1000}
			for _, caps := range []descriptor.Caps{0, x48, x49} {
				pairOf(caps, f, 10, func(w *pair) { require.NotEqual(t, sm.Completed, w.g[0].p.Disposition()) })
			}
		},
		"F09 cancel with everything pending, completions in any order": func() {
			pairOf(x49, faults{delay: 100, slowWrite: 400, cancelGen: 1000, duplicate: 500}, 60, func(w *pair) { require.LessOrEqual(t, w.g[0].freed, 1) })
		},
		"F11 M43 READY twice": func() {
			r := rig().flying(1, 0).do(readyOn(0)).silent()
			require.Equal(t, gen.ParentInFlight, r.p.State())
		},
		"F15 M59 abort while the source writes": func() {
			r := rig().flying(1, x49).do(userCancel).do(cancelled(round.EndDrain)).hasNot(gen.DoFree)
			r.do(message(gen.OnTerminal, 0, qui)).hasNot(gen.DoFree).do(reducedTo(settle.Quiesced)).has(isFree)
		},
		"F17 every rank is answered after the drain": func() {
			for seed := range uint64(40) {
				w := newPair(seed, pairConfig{ctxRanks: 1, genRanks: 2, chunks: 3, caps: x49, contract: goodContract,
					f: faults{delay: 30, slowWrite: 500, cancelGen: 1000}, parts: 1})
				w.run(120000)
				w.check(t, seed)
				require.Zero(t, w.restarts())
			}
		},
		"F19 a released handle is no proof": func() {
			// No lease ends while a write is under way (the pair checks it), and the request
			// goes on only if the final status says so in time.
			pairOf(x49, faults{delay: 20, slowWrite: 40, release: 1000}, 20, func(w *pair) {
				require.Positive(t, w.rows["ctx-drain-x49"])
			})
		},
		"F23 F69 I15 a timer only records": func() {
			r := rig().flying(1, 0).do(waited(settle.RequestWait)).in(gen.ParentInFlight).hasNot(gen.DoFree).hasNot(gen.DoSettle)
			require.True(t, r.p.Pending())
		},
		"F31 the peer never started, is dead, or its notice was lost": func() {
			never := rig().opened(1, 0).do(message(gen.OnReady, 0, ns)).do(rejected()).has(isFree)
			require.Equal(t, sm.Rejected, never.p.Disposition())
			dead := rig().flying(1, 0).do(waited(settle.RequestWait)).do(decided(round.EndUnknown)).do(reducedTo(settle.Unknown)).has(isQuarantine)
			dead.do(at(gen.OnPeerQuiet, 0)).has(gen.ParentEffect{Kind: gen.DoProve})
		},
		"F37 M58 the first end wins": func() {
			r := rig().flying(1, 0).do(userCancel).do(cancelled(round.EndUnknown)).do(reducedTo(settle.Unknown)).do(at(gen.OnSync, 0))
			require.Equal(t, sm.Failed, r.p.Disposition())
			require.Equal(t, 1, r.count[gen.DoSettle])
		},
		"F43 waiting for a slot quarantines nothing": func() {
			r := rig().do(imported(1, 0)).do(waited(settle.AdmissionWait)).do(unset(round.EndNotStarted))
			require.Zero(t, r.count[gen.DoQuarantine])
			require.Equal(t, sm.Failed, r.p.Disposition())
		},
		"F45 what arrived before the deadline counts": func() {
			r := rig().flying(1, 0).do(at(gen.OnSync, 0)).do(processed).do(on(gen.OnContribute)).do(waited(settle.RequestWait))
			require.Equal(t, sm.Completed, r.do(decided(round.Commit)).p.Disposition())
		},
		"F51 M23 M48 a changed epoch": func() {
			r := rig().flying(1, 0).do(on(gen.OnEpochChanged)).do(decided(round.EndUnknown)).in(gen.ParentUnknown)
			old := at(gen.OnSync, 0)
			old.Match &^= settle.SameEpochs
			r.refused("KS-ID-2", old)
		},
		"F67 F71 M33 a silent rank": func() {
			v := round.View{Phase: round.Ready, Ranks: 2}
			v.By[0] = round.Contribution{Intent: 2, Evidence: ns}
			require.Equal(t, round.Adopt, round.Decide(&v).Decision)
			v.Absent = 2
			require.Equal(t, round.EndUnknown, round.Decide(&v).Decision)
		},
		"M05 M29 refused before anything is reserved": func() {
			rig().do(gen.ParentInput{Kind: gen.OnValidate, Cause: settle.ByIncompatible}).silent().hasNot(gen.DoLease)
			r := rig().do(imported(1, 0)).do(decided(round.Refuse)).silent()
			require.Equal(t, 1, r.count[gen.DoWithdraw])
		},
		"M06 another selection at CTX": func() {
			r := rig().opened(1, 0).do(message(gen.OnReady, 0, unk)).do(on(gen.OnContribute)).do(decided(round.EndUnknown))
			r.in(gen.ParentUninstalled).has(isQuarantine).silent()
		},
		"M07 M22 another attempt for the ticket": func() {
			c := newLooseCtx(0).bound()
			before := c.p
			c.do(ctx.ParentInput{Kind: ctx.OnOpen, Edges: 1, Chunks: 2, Match: settle.Exact &^ settle.SameAttempt})
			require.Equal(t, before, c.p)
			require.True(t, c.has(ctx.DoSend))
		},
		"M26 M27 cancel before OPEN": func() {
			c := newLooseCtx(0).do(ctx.ParentInput{Kind: ctx.OnPublish, Room: true}, ctx.ParentInput{Kind: ctx.OnCancel, Cause: settle.ByUser}, ctxRound(round.EndNotStarted))
			require.False(t, c.has(ctx.DoSend), "no peer is told")
			c.do(ctx.ParentInput{Kind: ctx.OnOpen, Edges: 1, Chunks: 2, Match: settle.Exact})
			require.True(t, c.has(ctx.DoSend))
			require.False(t, c.has(ctx.DoWrite))
		},
		"M30 M31 the commit of the publication": func() {
			rig().admitted(1, 0).do(userCancel).do(unset(round.EndNotStarted)).has(isFree)
			rig().admitted(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).hasNot(gen.DoFree).in(gen.ParentCancelPending)
			rig().publishing(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).hasNot(gen.DoFree)
		},
		"M32 nothing proven installed": func() {
			r := rig().opened(2, 0).do(userCancel).do(cancelled(round.EndNotStarted)).silent().do(waited(settle.ControlWait)).silent().has(isQuarantine)
			r.do(reducedTo(settle.Unknown)).silent().has(isRestart)
		},
		"M34 M35 cancel before the ready commit": func() {
			for _, order := range [][]gen.ParentInput{
				{message(gen.OnReady, 0, ns), message(gen.OnTerminal, 0, ns)}, {message(gen.OnTerminal, 0, ns), message(gen.OnReady, 0, ns)}, {message(gen.OnTerminal, 0, ns)},
			} {
				r := rig().opened(1, 0).do(userCancel).do(cancelled(round.EndNotStarted))
				for _, in := range order {
					r.do(in)
				}
				r.do(on(gen.OnContribute)).do(reducedTo(settle.NotStarted)).has(isFree)
			}
		},
		"M37 the barrier is not reached": func() {
			c := newLooseCtx(0).bound().do(ctx.ParentInput{Kind: ctx.OnPrepare}, ctx.ParentInput{Kind: ctx.OnContribute}, ctxRound(round.GoOn),
				ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: round.EndUnknown, Row: round.RowMissing}})
			require.Equal(t, control.Unknown, c.p.Evidence(0))
			require.False(t, c.has(ctx.DoWrite))
		},
		"M39 CANCEL crosses READY": func() {
			r := rig().opened(1, 0).do(userCancel).do(cancelled(round.EndNotStarted)).do(readyOn(0)).has(send(control.TypeCancel, 0, 0)).hasNot(gen.DoInstall)
			r.do(message(gen.OnTerminal, 0, unk)).edge(0, gen.EdgeUnknown)
			rig().opened(1, x49).do(userCancel).do(cancelled(round.EndNotStarted)).do(readyOn(0)).edge(0, gen.EdgeQuiesced)
		},
		"M41 both sides cancel at once": func() {
			r := rig().flying(1, x49).do(message(gen.OnCancelMessage, 0, 0)).do(on(gen.OnContribute)).do(cancelled(round.EndDrain))
			r.has(send(control.TypeTerminal, 0, qui))
			rig().flying(1, 0).do(message(gen.OnCancelMessage, 0, 0)).do(cancelled(round.EndUnknown)).has(send(control.TypeTerminal, 0, unk))
		},
		"M42 success needs no terminal exchange": func() {
			rig().success(1, 0).silent().has(isFree)
		},
		"M45 M46 dropped replies": func() {
			pairOf(x48|x49, faults{delay: 30, slowWrite: 100, drop: 400, cancelGen: 500}, 60, func(w *pair) { require.Zero(t, w.restarts()) })
		},
		"M52 mixed peers": func() {
			rig().opened(2, 0).do(readyOn(0)).do(message(gen.OnReady, 1, ns)).do(decided(round.EndUnknown)).took("gen-edge-doubt", "gen-mixed-installed")
		},
		"M57 released generations stay released": func() {
			r := rig().success(1, 0).do(message(gen.OnCancelMessage, 0, 0)).do(cancelled(round.KeepEvidence)).do(reducedTo(settle.Unknown))
			r.hasNot(gen.DoQuarantine).hasNot(gen.DoRestart).in(gen.ParentUnknown)
			require.Equal(t, sm.Completed, r.p.Disposition())
		},
		"M60 KV complete, the rest is not": func() {
			in := imported(1, 0)
			in.Parts = 3
			r := rig().do(in).do(granted).do(on(gen.OnContribute)).do(decided(round.GoOn)).do(on(gen.OnPublish)).do(at(gen.OnSent, 0)).do(readyOn(0))
			r.do(on(gen.OnContribute)).do(decided(round.GoOn)).do(on(gen.OnBarrier)).do(at(gen.OnSync, 0)).do(processed)
			require.False(t, r.p.Pending())
		},
	}
}

func TestFieldAndMatrixCases(t *testing.T) {
	spec.Covers(t, "KS-REC-11", "KS-QUI-9", "KS-SLOT-19", "KS-TIME-14", "KS-ID-2", "KS-GEN-3", "KS-GEN-4", "KS-GEN-6", "KS-GEN-7", "KS-SET-7", "KS-SLOT-16", "KS-RND-11")
	tab := loadTables(t)
	for name := range fieldCases(t, tab) {
		t.Run(name, func(t *testing.T) { fieldCases(t, tab)[name]() })
	}
}
