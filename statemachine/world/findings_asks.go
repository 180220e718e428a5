package world

import (
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	wireround "github.com/kvsettle/kvsettle/wire/round"
)

// The questions about v2. Each is an invariant of a watched world.

// nobodyRestarts: no service that lives was asked to exit.
var nobodyRestarts = watchAsk{"NobodyRestarts", []string{"KS-SET-10"}, func(w *v2World, s *V2Watched) bool { return !w.restart(&s.V2State) }}

// ctxStays: CTX was not asked to exit.
var ctxStays = watchAsk{"CtxNeverRestarts", []string{"KS-SET-10"}, func(w *v2World, s *V2Watched) bool { return !w.ctxMustExit(&s.V2State) }}

// refusedKnown: a GEN that CTX refused before its commit does not end UNKNOWN.
var refusedKnown = watchAsk{"RefusedNeverUnknown", []string{"KS-GEN-6", "KS-QUI-7"}, func(w *v2World, s *V2Watched) bool {
	if s.CtxDown || s.GenDown || !w.genUnknownNow(&s.V2State) {
		return true
	}
	return w.every(&s.V2State, func(k, g int) bool { return s.Ctx[k].Edge(uint8(g)) != ctx.EdgeNotStarted })
}}

// heardFirst: while a GEN rank waits for an answer to its OPEN, the refusal of that
// OPEN is not forgotten.
var heardFirst = watchAsk{"HeardBeforeRetired", []string{"KS-GEN-10", "KS-REG-8"}, func(w *v2World, s *V2Watched) bool {
	if s.CtxDown || s.GenDown {
		return true
	}
	return w.every(&s.V2State, func(k, g int) bool {
		return s.Ctx[k].State() != ctx.ParentRetired || s.Gen[g].Edge(uint8(k)) != gen.EdgeOpenSent
	})
}}

// exchanged says whether both sides of every edge have the other's evidence, and
// fixed their disposition with it in hand.
func (w *v2World) exchanged(s *V2State) bool {
	return w.every(s, func(k, g int) bool {
		c, d := &s.Ctx[k], &s.Gen[g]
		return c.State().Terminal() && d.State().Terminal() && c.PeerEvidence(uint8(g)) != settle.Missing && d.PeerEvidence(uint8(k)) != settle.Missing
	})
}

// alike compares the dispositions of two parents.
func alike(c ctx.ParentState, g gen.ParentState) bool { return c.String() == g.String() }

// The marks of the watched worlds.
const (
	// markAlone and markAloneGen: the last round of CTX, of GEN, lacked some of the
	// other side's evidence.
	markAlone = 1 << iota
	markAloneGen
	// markTold and markTold2: GEN rank 1, 2 was told of a new epoch while it reduced and
	// no verdict was on its way to it. markTold<<2 and <<3 are CTX ranks.
	markTold
	markTold2
	markToldCtx
	markToldCtx2
	// markMet: CANCEL met COMPLETE in one round.
	markMet
	// markHalf: CTX died when some of its ranks had shown READY and some had not.
	markHalf
	// markHeld: GEN has a NOT_READY that it may not take yet.
	markHeld
)

// sameDisposition: where both sides have exchanged all evidence before either fixed
// its disposition, both end alike.
var sameDisposition = watchAsk{"SameDisposition", []string{"KS-SET-12"}, func(w *v2World, s *V2Watched) bool {
	if s.CtxDown || s.GenDown || s.Marks&(markAlone|markAloneGen) != 0 || !w.exchanged(&s.V2State) {
		return true
	}
	return w.every(&s.V2State, func(k, g int) bool { return alike(s.Ctx[k].State(), s.Gen[g].State()) })
}}

// endsAlike: where both sides were ended by reduction, they end alike, with or
// without having heard each other.
var endsAlike = watchAsk{"EndsAlike", []string{"KS-SET-12"}, func(w *v2World, s *V2Watched) bool {
	if s.CtxDown || s.GenDown {
		return true
	}
	return w.every(&s.V2State, func(k, g int) bool {
		c, d := s.Ctx[k].State(), s.Gen[g].State()
		return !c.Terminal() || !d.Terminal() || d == gen.ParentLocalCancelled || alike(c, d)
	})
}}

// noteAlone remembers whether the last round of a side had all of the other's
// evidence.
func noteAlone(w *v2World, s *V2Watched, ev Event, n *V2Watched) bool {
	c := w.at(&s.V2State)
	note := func(mark uint16, missing func(k, g int) bool) {
		n.Marks &^= mark
		for k := range c.Ctxs {
			for g := range c.Gens {
				if missing(k, g) {
					n.Marks |= mark
				}
			}
		}
	}
	switch ev.Action {
	case v2CtxRound:
		note(markAlone, func(k, g int) bool { return s.Ctx[k].PeerEvidence(uint8(g)) == settle.Missing })
	case v2GenRound:
		note(markAloneGen, func(k, g int) bool { return s.Gen[g].PeerEvidence(uint8(k)) == settle.Missing })
	}
	return true
}

// oldEvidence: a rank that hears of a new epoch while it reduces ends UNKNOWN.
var oldEvidence = watchAsk{"OldEvidenceNotCounted", []string{"KS-REG-16", "KS-ID-2"}, func(w *v2World, s *V2Watched) bool {
	for g := range w.at(&s.V2State).Gens {
		if st := s.Gen[g].State(); s.Marks&(markTold<<g) != 0 && !s.GenDown && st.Terminal() && st != gen.ParentUnknown {
			return false
		}
	}
	for k := range w.at(&s.V2State).Ctxs {
		if st := s.Ctx[k].State(); s.Marks&(markToldCtx<<k) != 0 && !s.CtxDown && st.Terminal() && st != ctx.ParentUnknown {
			return false
		}
	}
	return true
}}

// noteTold remembers which ranks heard of a new epoch while they reduced.
func noteTold(_ *v2World, s *V2Watched, ev Event, n *V2Watched) bool {
	i := int(ev.Args[0])
	if n.GenDown {
		n.Marks &^= markTold | markTold2
	}
	if n.CtxDown {
		n.Marks &^= markToldCtx | markToldCtx2
	}
	switch ev.Action {
	case v2GenEpochChanged:
		if s.Gen[i].State() == gen.ParentReducing && !s.GenRound.Busy {
			n.Marks |= markTold << i
		}
	case v2CtxEpochChanged:
		if s.Ctx[i].State() == ctx.ParentReducing && !s.CtxRound.Busy {
			n.Marks |= markToldCtx << i
		}
	}
	return true
}

// metSafely: a CANCEL that met a COMPLETE in one round restarts nobody.
var metSafely = watchAsk{"CancelMeetsComplete", []string{"KS-RND-8", "KS-QUI-10"}, func(w *v2World, s *V2Watched) bool {
	return s.Marks&markMet == 0 || !w.restart(&s.V2State)
}}

// noteMet remembers a round in which CANCEL and COMPLETE met.
func noteMet(w *v2World, _ *V2Watched, _ Event, n *V2Watched) bool {
	for _, r := range [...]*v2Round{&n.CtxRound, &n.GenRound} {
		for i := range r.By {
			if r.By[i].Row == round.RowCancelComplete {
				n.Marks |= markMet
			}
		}
	}
	return true
}

// halfReady: a GEN that was shown READY by some ranks of a CTX that then died ends
// better than UNKNOWN.
var halfReady = watchAsk{"HalfReadyIsKnown", []string{"KS-RND-10", "KS-SET-4"}, func(w *v2World, s *V2Watched) bool {
	return s.Marks&markHalf == 0 || s.GenDown || !w.genUnknownNow(&s.V2State)
}}

// halfRestarts: and it need not restart for that.
var halfRestarts = watchAsk{"HalfReadyRestartsNobody", []string{"KS-SET-10"}, func(w *v2World, s *V2Watched) bool {
	return s.Marks&markHalf == 0 || !w.genMustExit(&s.V2State)
}}

// noteHalf remembers a crash of CTX between the READY of its ranks.
func noteHalf(w *v2World, s *V2Watched, ev Event, n *V2Watched) bool {
	if ev.Action != v2CrashCtx {
		return true
	}
	c := w.at(&s.V2State)
	shown, hidden := false, false
	for k := range c.Ctxs {
		for g := range c.Gens {
			if s.Ctx[k].Edge(uint8(g)) == ctx.EdgeInFlight {
				shown = true
			}
			if s.Ctx[k].Edge(uint8(g)) == ctx.EdgeDecided {
				hidden = true
			}
		}
	}
	if shown && hidden {
		n.Marks |= markHalf
	}
	return true
}

// needsBoth is upstream's rule for a refused GEN: NOT_READY counts only together with
// TERMINAL.
func needsBoth(_ *v2World, s *V2Watched, ev Event, n *V2Watched) bool {
	if ev.Action != v2DeliverNotReady || ev.Args[2] != 0 {
		return true
	}
	k, g := ev.Args[0], ev.Args[1]
	if s.Gen[g].PeerEvidence(uint8(k)) != settle.Missing {
		return true
	}
	n.V2State = s.V2State
	ch := &n.Net[0][0][k][g][1]
	*ch = ch.pop()
	n.Marks |= markHeld
	return true
}

// openArrives is a network that loses anything but an OPEN.
func openArrives(_ *v2World, _ *V2Watched, ev Event, _ *V2Watched) bool {
	return ev.Action != v2DropMessage || v2Kind(ev.Args[0]) != v2Open
}

// cancelEarly are users who cancel before some GEN rank has sent its OPEN.
func cancelEarly(w *v2World, s *V2Watched, ev Event, _ *V2Watched) bool {
	if ev.Action != v2UserCancelGen {
		return true
	}
	for g := range w.at(&s.V2State).Gens {
		if s.Gen[g].Publication() == wireround.Unset {
			return true
		}
	}
	return false
}

// receiptsPin is upstream's rule for retirement: not before every TERMINAL was
// acknowledged.
func receiptsPin(_ *v2World, s *V2Watched, ev Event, _ *V2Watched) bool {
	switch ev.Action {
	case v2CtxRetire:
		return !owesReceipt(s.Ctx[ev.Args[0]])
	case v2GenRetire:
		return !owesReceipt(s.Gen[ev.Args[0]])
	}
	return true
}

// everyUnknownRestarts is upstream's rule for UNKNOWN: it ends the process, whether
// or not memory is in doubt.
func everyUnknownRestarts(w *v2World, s *V2Watched, _ Event, n *V2Watched) bool {
	for k := range w.at(&n.V2State).Ctxs {
		if s.Ctx[k].State() != ctx.ParentUnknown && n.Ctx[k].State() == ctx.ParentUnknown {
			n.CtxUnknown[k] = true
		}
	}
	for g := range w.at(&n.V2State).Gens {
		if s.Gen[g].State() != gen.ParentUnknown && n.Gen[g].State() == gen.ParentUnknown {
			n.GenUnknown[g] = true
		}
	}
	return true
}

// noExit is upstream's table, which lists no transition out of CANCEL_SENT.
func noExit(w *v2World, s *V2Watched, _ Event, n *V2Watched) bool {
	for g := range w.at(&s.V2State).Gens {
		for k := range w.at(&s.V2State).Ctxs {
			if !n.GenDown && s.Gen[g].Edge(uint8(k)) == gen.EdgeCancelSent && n.Gen[g].Edge(uint8(k)) != gen.EdgeCancelSent {
				return false
			}
		}
		if !n.GenDown && s.Gen[g].State() == gen.ParentCancelSent && n.Gen[g].State() != gen.ParentCancelSent {
			return false
		}
	}
	return true
}

// belowIsUnknown answers a repeated OPEN of a live edge as one below the floor of a
// full window: with NOT_READY and LOCAL_UNKNOWN, although the edge is at work.
func belowIsUnknown(w *v2World, s *V2Watched, ev Event, n *V2Watched) bool {
	if ev.Action != v2DeliverOpen {
		return true
	}
	k, g := int(ev.Args[0]), int(ev.Args[1])
	if st := s.Ctx[k].Edge(uint8(g)); st != ctx.EdgeInFlight && st != ctx.EdgeSourceComplete {
		return true
	}
	n.V2State = s.V2State
	ch := &n.Net[0][0][k][g][0]
	*ch = ch.pop()
	w.toGen(&n.V2State, k, g, v2NoTicket)
	return true
}
