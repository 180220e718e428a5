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
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// loose drives a GEN parent whose rules may be broken: rows are not checked.
type loose struct {
	p     gen.Parent
	count map[gen.Do]int
	last  []gen.ParentEffect
	err   error
}

func newLoose(bad wrong.Rules) *loose {
	return &loose{p: gen.Parent{}.WithWrongRules(bad), count: map[gen.Do]int{}}
}

func (l *loose) do(ins ...gen.ParentInput) *loose {
	for _, in := range ins {
		l.p, l.last, l.err = l.p.Step(in, nil)
		for _, e := range l.last {
			l.count[e.Kind]++
		}
	}
	return l
}

func capsOf(n uint64) (c descriptor.Caps) {
	if n == 1 {
		c = x48
	}
	return c
}

func (l *loose) opened(caps uint64) *loose {
	return l.do(imported(1, capsOf(caps)), granted, on(gen.OnContribute), decided(round.GoOn), on(gen.OnPublish), at(gen.OnSent, 0))
}

func (l *loose) flying(caps uint64) *loose {
	return l.opened(caps).do(readyOn(0), on(gen.OnContribute), decided(round.GoOn), on(gen.OnBarrier))
}

// looseCtx is the same for CTX.
type looseCtx struct {
	p    ctx.Parent
	last []ctx.ParentEffect
	err  error
}

func newLooseCtx(bad wrong.Rules) *looseCtx { return &looseCtx{p: ctx.Parent{}.WithWrongRules(bad)} }

func (l *looseCtx) do(ins ...ctx.ParentInput) *looseCtx {
	for _, in := range ins {
		l.p, l.last, l.err = l.p.Step(in, nil)
	}
	return l
}

func (l *looseCtx) has(k ctx.Do) bool {
	for _, e := range l.last {
		if e.Kind == k {
			return true
		}
	}
	return false
}

func ctxRound(d round.Decision) ctx.ParentInput {
	return ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: d, Cancelled: true}}
}

func (l *looseCtx) bound() *looseCtx {
	return l.do(ctx.ParentInput{Kind: ctx.OnPublish, Room: true, Contract: goodContract},
		ctx.ParentInput{Kind: ctx.OnOpen, Edges: 1, Chunks: 2, Match: settle.Exact},
		ctx.ParentInput{Kind: ctx.OnContribute}, ctxRound(round.GoOn))
}

func (l *looseCtx) flying() *looseCtx {
	return l.bound().do(ctx.ParentInput{Kind: ctx.OnPrepare}, ctx.ParentInput{Kind: ctx.OnContribute}, ctxRound(round.GoOn),
		ctx.ParentInput{Kind: ctx.OnBarrier})
}

// violations say for each rule whether its invariant is broken in a short run.
func violations() map[wrong.Rules]func(bad wrong.Rules) bool {
	cancelCtx := ctx.ParentInput{Kind: ctx.OnCancel, Cause: settle.ByUser}
	return map[wrong.Rules]func(bad wrong.Rules) bool{
		wrong.IdentifyByRequestID: func(bad wrong.Rules) bool {
			l := newLooseCtx(bad).bound().do(ctx.ParentInput{Kind: ctx.OnCancelMessage, Match: settle.SameRequest})
			g := newLoose(bad).flying(0).do(gen.ParentInput{Kind: gen.OnSync, Match: settle.SameRequest})
			return l.p.Pending() && g.p.Arrived(0)
		},
		wrong.IgnoreEpochs: func(bad wrong.Rules) bool {
			g := newLoose(bad).flying(0).do(on(gen.OnEpochChanged))
			c := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnEpochChanged})
			goesOn := !g.p.Pending() && !c.p.Pending()
			g.do(gen.ParentInput{Kind: gen.OnSync, Match: settle.Exact &^ settle.SameEpochs})
			c.do(ctx.ParentInput{Kind: ctx.OnCancelMessage, Match: settle.Exact &^ settle.SameEpochs})
			return goesOn && g.p.Arrived(0) && c.err == nil
		},
		wrong.ReadyWithoutHit: func(bad wrong.Rules) bool {
			open := ctx.ParentInput{Kind: ctx.OnOpen, Edges: 1, Chunks: 2, Match: settle.Exact}
			never := newLooseCtx(bad).do(open)
			ended := newLooseCtx(bad).do(ctx.ParentInput{Kind: ctx.OnPublish, Room: true}, cancelCtx, ctxRound(round.EndNotStarted), open)
			return never.has(ctx.DoWrite) && ended.has(ctx.DoWrite)
		},
		wrong.CancelTwice: func(bad wrong.Rules) bool {
			l := newLoose(bad).flying(0).do(userCancel, userCancel, cancelled(round.EndUnknown), userCancel)
			c := newLooseCtx(bad).bound().do(cancelCtx, cancelCtx, ctxRound(round.EndNotStarted), cancelCtx)
			return l.count[gen.DoSettle] > 0 && c.has(ctx.DoSettle)
		},
		wrong.NotStartedAfterCommit: func(bad wrong.Rules) bool {
			plain := newLooseCtx(bad).flying().do(cancelCtx, ctxRound(round.EndUnknown))
			drain := newLooseCtx(bad).do(ctx.ParentInput{Kind: ctx.OnPublish, Room: true, Contract: goodContract},
				ctx.ParentInput{Kind: ctx.OnOpen, Edges: 1, Chunks: 2, Match: settle.Exact, Caps: x49},
				ctx.ParentInput{Kind: ctx.OnContribute}, ctxRound(round.GoOn), ctx.ParentInput{Kind: ctx.OnPrepare},
				ctx.ParentInput{Kind: ctx.OnContribute}, ctxRound(round.GoOn), ctx.ParentInput{Kind: ctx.OnBarrier}, cancelCtx, ctxRound(round.EndDrain))
			return plain.p.Evidence(0) == control.NotStarted && drain.p.Evidence(0) == control.NotStarted
		},
		wrong.CompleteEarly: func(bad wrong.Rules) bool {
			c := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2})
			g := newLoose(bad).flying(0).do(at(gen.OnSync, 0), on(gen.OnContribute), decided(round.Commit))
			return c.p.Evidence(0) == control.SourceComplete && g.p.Disposition() == sm.Completed
		},
		wrong.DoubtIsNotStarted: func(bad wrong.Rules) bool {
			c := newLooseCtx(bad).bound().do(cancelCtx, ctxRound(round.EndNotStarted))
			g := newLoose(bad).opened(0).do(userCancel, cancelled(round.EndNotStarted))
			return c.p.Pending() && g.p.Pending()
		},
		wrong.FreeOnTimeout: func(bad wrong.Rules) bool {
			c := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 1}, ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.RequestWait})
			d := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 1}, cancelCtx, ctxRound(round.EndUnknown), ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.ControlWait})
			g := newLoose(bad).flying(0).do(waited(settle.RequestWait))
			h := newLoose(bad).opened(0).do(userCancel, cancelled(round.EndNotStarted), waited(settle.ControlWait))
			return c.has(ctx.DoFree) && d.has(ctx.DoFree) && g.count[gen.DoFree] > 0 && h.count[gen.DoFree] > 0
		},
		wrong.FreeOnCancel: func(bad wrong.Rules) bool {
			c := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 1}, cancelCtx)
			return c.has(ctx.DoFree) && newLoose(bad).opened(0).do(userCancel).count[gen.DoFree] > 0
		},
		wrong.UnknownTouchesReleased: func(bad wrong.Rules) bool {
			l := newLoose(bad).flying(0).do(at(gen.OnSync, 0), processed, on(gen.OnContribute), decided(round.Commit),
				message(gen.OnCancelMessage, 0, 0), cancelled(round.KeepEvidence), reducedTo(settle.Unknown))
			owned := newLoose(bad).flying(0).do(userCancel, cancelled(round.EndUnknown), reducedTo(settle.Unknown))
			c := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 1}, cancelCtx, ctxRound(round.EndUnknown),
				ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: round.Reduced}})
			d := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}, ctx.ParentInput{Kind: ctx.OnWritten},
				ctx.ParentInput{Kind: ctx.OnWritten}, ctx.ParentInput{Kind: ctx.OnContribute}, ctxRound(round.Commit),
				ctx.ParentInput{Kind: ctx.OnCancelMessage, Match: settle.Exact}, ctxRound(round.KeepEvidence),
				ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: round.Reduced}})
			return l.count[gen.DoQuarantine] > 0 && owned.count[gen.DoFree] > 0 && c.has(ctx.DoFree) && d.has(ctx.DoQuarantine)
		},
		wrong.DecideAlone: func(bad wrong.Rules) bool {
			c := newLooseCtx(bad).flying().do(cancelCtx)
			return c.p.State().Terminal() && newLoose(bad).opened(0).do(userCancel).p.State().Terminal()
		},
		wrong.OldReachesNew: func(bad wrong.Rules) bool {
			old := settle.Exact &^ (settle.SameAttempt | settle.SameTicket)
			g := newLoose(bad).flying(0).do(gen.ParentInput{Kind: gen.OnSync, Match: old})
			c := newLooseCtx(bad).bound().do(ctx.ParentInput{Kind: ctx.OnCancelMessage, Match: settle.Exact &^ settle.SameAttempt})
			return g.p.Arrived(0) && c.p.Pending()
		},
		wrong.ReceiptIsEvidence: func(bad wrong.Rules) bool {
			c := newLooseCtx(bad).bound().do(cancelCtx, ctxRound(round.EndNotStarted),
				ctx.ParentInput{Kind: ctx.OnReceipt, Match: settle.Exact, Evidence: control.NotStarted})
			d := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}, ctx.ParentInput{Kind: ctx.OnWritten},
				ctx.ParentInput{Kind: ctx.OnWritten}, ctx.ParentInput{Kind: ctx.OnContribute}, ctxRound(round.Commit),
				ctx.ParentInput{Kind: ctx.OnCancelMessage, Match: settle.Exact}, ctxRound(round.KeepEvidence),
				ctx.ParentInput{Kind: ctx.OnReceipt, Match: settle.Exact, Evidence: control.SourceComplete})
			g := newLoose(bad).flying(0).do(userCancel, cancelled(round.EndUnknown), message(gen.OnReceipt, 0, control.Unknown))
			return c.p.PeerEvidence(0) != settle.Missing && d.p.PeerEvidence(0) != settle.Missing && g.p.PeerEvidence(0) != settle.Missing
		},
		wrong.CleanUpTwice: func(bad wrong.Rules) bool {
			l := newLoose(bad).opened(0).do(message(gen.OnReady, 0, control.NotStarted), rejected(), message(gen.OnCancelMessage, 0, 0))
			c := newLooseCtx(bad).bound().do(cancelCtx, ctxRound(round.EndNotStarted),
				ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: round.Reduced, Topology: settle.NotStarted}},
				ctx.ParentInput{Kind: ctx.OnCancelMessage, Match: settle.Exact})
			return l.count[gen.DoFree] > 1 && c.has(ctx.DoFree)
		},
		wrong.TimeoutDecides: func(bad wrong.Rules) bool {
			c := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.RequestWait})
			d := newLooseCtx(bad).flying().do(cancelCtx, ctxRound(round.EndUnknown), ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.ControlWait})
			g := newLoose(bad).flying(0).do(waited(settle.RequestWait))
			h := newLoose(bad).opened(0).do(userCancel, cancelled(round.EndNotStarted), waited(settle.ControlWait))
			return c.p.State().Terminal() && d.p.State().Terminal() && g.p.State().Terminal() && h.p.State().Terminal()
		},
		wrong.PartIsBundle: func(bad wrong.Rules) bool {
			g := newLoose(bad).flying(1).do(gen.ParentInput{Kind: gen.OnData, Count: 2, Match: settle.Exact})
			two := newLoose(bad)
			in := imported(1, 0)
			in.Parts = 2
			two.do(in, granted, on(gen.OnContribute), decided(round.GoOn), on(gen.OnPublish), at(gen.OnSent, 0), readyOn(0),
				on(gen.OnContribute), decided(round.GoOn), on(gen.OnBarrier), at(gen.OnSync, 0), processed, on(gen.OnContribute), decided(round.Commit))
			c := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 2}, ctx.ParentInput{Kind: ctx.OnWritten})
			return g.p.Arrived(0) && two.p.Disposition() == sm.Completed && c.p.Evidence(0) == control.SourceComplete
		},
		wrong.NoDeadline: func(bad wrong.Rules) bool {
			c := newLooseCtx(bad).bound().do(ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.RequestWait})
			return !c.p.Pending() && !newLoose(bad).opened(0).do(waited(settle.RequestWait)).p.Pending()
		},
		wrong.NoRestart: func(bad wrong.Rules) bool {
			l := newLoose(bad).flying(0).do(userCancel, cancelled(round.EndUnknown), reducedTo(settle.Unknown))
			c := newLooseCtx(bad).flying().do(ctx.ParentInput{Kind: ctx.OnPosted, Count: 1}, cancelCtx, ctxRound(round.EndUnknown),
				ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: round.Reduced}})
			return l.p.Isolated() && l.count[gen.DoRestart] == 0 && c.p.Isolated() && !c.has(ctx.DoRestart)
		},
		wrong.NoPause: func(bad wrong.Rules) bool {
			l := newLoose(bad).opened(0).do(waited(settle.RetryWait), waited(settle.RetryWait))
			c := newLooseCtx(bad).bound().do(cancelCtx, ctxRound(round.EndNotStarted), ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.RetryWait})
			var pause uint8
			for _, e := range l.last {
				pause = max(pause, e.Step)
			}
			for _, e := range c.last {
				pause = max(pause, e.Step)
			}
			return pause == 0
		},
	}
}

// TestEachWrongRuleIsSeen: every invariant holds with the right rules and is seen
// broken with its wrong one, on both sides where the rule exists on both.
func TestEachWrongRuleIsSeen(t *testing.T) {
	spec.Covers(t, "KS-ID-1", "KS-ID-2", "KS-REG-1", "KS-SET-1", "KS-SET-2", "KS-SET-3", "KS-SET-4", "KS-SLOT-19", "KS-SET-6",
		"KS-SET-7", "KS-SET-8", "KS-ID-3", "KS-SET-9", "KS-SLOT-3", "KS-TIME-14", "KS-SLOT-16", "KS-TIME-13", "KS-SET-10", "KS-REG-13")
	v := violations()
	for _, n := range wrong.All() {
		t.Run(n.Invariant+"/"+n.Name, func(t *testing.T) {
			require.Contains(t, v, n.Rule)
			require.True(t, v[n.Rule](n.Rule), "broken and not seen")
			require.False(t, v[n.Rule](0), "seen although nothing is broken")
		})
	}
	require.Len(t, v, len(wrong.All()))
}

// TestPairSeesWrongRules: the pair's own checks of memory go red with the rules
// that are about memory.
func TestPairSeesWrongRules(t *testing.T) {
	f := faults{delay: 60, slowWrite: 15000, drop: 100, cancelGen: 500, cancelCtx: 200, release: 100}
	for _, n := range wrong.All() {
		switch n.Rule {
		case wrong.FreeOnCancel, wrong.FreeOnTimeout, wrong.CompleteEarly, wrong.NotStartedAfterCommit, wrong.UnknownTouchesReleased:
		default:
			continue
		}
		t.Run(n.Name, func(t *testing.T) {
			for seed := range uint64(2000) {
				w := newPair(seed, pairConfig{ctxRanks: 1, genRanks: 1, chunks: 2, contract: goodContract, f: f, bad: n.Rule})
				w.noRows = true
				w.run(60000)
				if len(w.bad) > 0 {
					t.Logf("seed %d: %s", seed, w.bad[0])
					return
				}
			}
			require.Fail(t, "no run sees it")
		})
	}
}
