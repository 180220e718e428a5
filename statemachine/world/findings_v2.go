package world

import "github.com/kvsettle/kvsettle/statemachine/settle/wrong"

// watched makes a watched world of one case.
func watched(f V2Faults, change []func(*V2Case), rest ...func(*V2Watch)) V2Watch {
	b := newV2Sizes()
	b.add(f, change...)
	x := V2Watch{V2Config: V2Config{Name: "v2", Size: "finding", Cases: b.cases}}
	for _, r := range rest {
		r(&x)
	}
	return x
}

// with collects changes of a case.
func with(change ...func(*V2Case)) []func(*V2Case) { return change }

// asks adds a question to a watched world.
func asks(a watchAsk) func(*V2Watch) { return func(x *V2Watch) { x.asks = append(x.asks, a) } }

// follows lets a watched world follow rules.
func follows(r ...watchRule) func(*V2Watch) {
	return func(x *V2Watch) { x.rules = append(x.rules, r...) }
}

// bad breaks a rule of the machines.
func bad(r wrong.Rules) func(*V2Watch) { return func(x *V2Watch) { x.Bad |= r } }

// mustRetire calls only those states settled in which no metadata is left.
func mustRetire(x *V2Watch) { x.settled = (*v2World).retiredAll }

// slotsReturn calls only those states settled in which no slot of GEN is isolated.
func slotsReturn(x *V2Watch) { x.settled = (*v2World).slotsBack }

func strict(c *V2Case) { c.Strict = true }

// lossFindings are the doubts about lost messages, retention and cancels: D1 to D3,
// D5 to D7.
func lossFindings() []Finding {
	one := []func(*V2Case){}
	notice := V2Faults{DropNotices: 1, Retries: 1}
	refused := V2Faults{CancelCtx: 1, Drops: 1}
	pinned := V2Faults{CancelCtx: 1, Drops: 1, Retries: 2}
	both := V2Faults{Drops: 1, CancelGen: 1, CancelCtx: 1, Retries: 2}
	return []Finding{
		{"D1", "Does one lost completion notice, after CTX succeeded, cost a worker?", []Ask{
			{"plain v2", nobodyRestarts.name, false, watched(notice, one, asks(nobodyRestarts))},
			{"bit 48", nobodyRestarts.name, true, watched(V2Faults{DropNotices: 2, Drops: 1, Retries: 2}, with(caps(x48), chunks(2, true)), asks(nobodyRestarts))},
			{"bit 48", "LostNoticeCompletes", true, watched(V2Faults{DropNotices: 2, Drops: 1, Retries: 2}, with(caps(x48), chunks(2, true)), asks(nobodyRestarts))},
		}},
		{"D2", "May CTX stop to repeat its TERMINAL before a refused GEN, which waits for NOT_READY and TERMINAL, has heard it?", []Ask{
			{"GEN needs both messages; no re-send is left", refusedKnown.name, false, watched(refused, one, asks(refusedKnown), follows(openArrives, needsBoth))},
			{"either message is enough; no re-send is left", refusedKnown.name, true, watched(refused, one, asks(refusedKnown), follows(openArrives))},
			{"metadata retires by age", heardFirst.name, true, watched(V2Faults{CancelCtx: 1, Drops: 1, Retries: 2}, with(retires), asks(heardFirst))},
		}},
		{"D3", "Is metadata pinned for ever when a RECEIPT is lost and the other side has retired?", []Ask{
			{"retirement needs every receipt", Stuck, false, watched(pinned, with(retires), follows(receiptsPin), mustRetire)},
			{"retirement by age", Stuck, true, watched(pinned, with(retires), mustRetire)},
		}},
		{"D5", "Can a hostile or misrouted GEN end a healthy CTX worker by proposing, or with one broken frame?", []Ask{
			{"a refused proposal is UNKNOWN, and UNKNOWN restarts", ctxStays.name, false, watched(V2Faults{Mismatches: 1}, one, asks(ctxStays), follows(everyUnknownRestarts))},
			{"a refused proposal consumes the ticket, and no memory is in doubt", ctxStays.name, true, watched(V2Faults{Mismatches: 1, Retries: 1, Drops: 1}, one, asks(ctxStays))},
			{"a broken frame, plain v2", ctxStays.name, false, watched(V2Faults{Doubts: 1}, one, asks(ctxStays))},
			{"a broken frame, bit 49", nobodyRestarts.name, true, watched(V2Faults{Doubts: 1, Retries: 1, Drops: 1}, with(caps(x49)), asks(nobodyRestarts))},
		}},
		{"D6", "Success on one side, UNKNOWN on the other: can the two sides reach different dispositions?", []Ask{
			{"plain v2, evidence exchanged", sameDisposition.name, true, watched(both, one, asks(sameDisposition), follows(noteAlone))},
			{"bit 49, evidence exchanged", sameDisposition.name, true, watched(both, with(caps(x49)), asks(sameDisposition), follows(noteAlone))},
			{"plain v2, evidence lost for good", endsAlike.name, false, watched(V2Faults{Drops: 1, CancelGen: 1, CancelCtx: 1}, one, asks(endsAlike))},
			{"bit 49, CTX settles alone", endsAlike.name, false, watched(both, with(caps(x49)), asks(endsAlike))},
			{"either, whatever is lost", "SidesAgree", true, watched(both, with(caps(x49)))},
		}},
		{"D7", "Upstream lists no exit of CANCEL_SENT, and a GEN edge may wait for receipts that never come: does either hang?", []Ask{
			{"no exit of CANCEL_SENT", Stuck, false, watched(V2Faults{CancelGen: 1, Drops: 1, Retries: 2}, one, follows(noExit))},
			{"exit by evidence or control deadline", Stuck, true, watched(V2Faults{CancelGen: 1, Drops: 1, Retries: 2}, with(retires), mustRetire)},
			{"the same with bit 49", Stuck, true, watched(V2Faults{CancelGen: 1, Drops: 1, Retries: 2}, with(caps(x49), retires), mustRetire)},
		}},
	}
}

// decisionFindings are the doubts about epochs, rounds and the ready commit: D8, D9
// and D13.
func decisionFindings() []Finding {
	old := V2Faults{Crashes: 1, CancelGen: 1, CancelCtx: 1}
	met := V2Faults{CancelCtx: 1, Retries: 1}
	half := V2Faults{Crashes: 1}
	return []Finding{
		{"D8", "A peer's epoch changes while a side reduces: is the old epoch's evidence counted?", []Ask{
			{"nothing is said of the epoch while reducing", oldEvidence.name, false, watched(old, with(restarts), asks(oldEvidence), follows(noteTold), bad(wrong.IgnoreEpochs))},
			{"a changed epoch makes the rank UNKNOWN", oldEvidence.name, true, watched(old, with(restarts), asks(oldEvidence), follows(noteTold))},
		}},
		{"D9", "CANCEL and COMPLETE of two local ranks meet in one round: does a user's cancel cost a worker?", []Ask{
			{"plain v2", metSafely.name, false, watched(met, with(ranks(2, 1)), asks(metSafely), follows(noteMet))},
			{"bit 49", metSafely.name, true, watched(met, with(ranks(2, 1), caps(x49)), asks(metSafely), follows(noteMet))},
			{"bit 49", "NoWriteIntoFreeSlot", true, watched(met, with(ranks(2, 1), caps(x49)), asks(metSafely), follows(noteMet))},
		}},
		{"D13", "CTX dies when some of its ranks have shown READY and others not: does GEN end UNKNOWN, and is that safe?", []Ask{
			{"plain v2", halfReady.name, false, watched(half, with(ranks(2, 1), skewed), asks(halfReady), follows(noteHalf))},
			{"plain v2", "NoWriteIntoFreeSlot", true, watched(half, with(ranks(2, 1), skewed, far), asks(halfReady), follows(noteHalf))},
			{"bit 49, the death of a writer is proof", halfRestarts.name, true, watched(half, with(ranks(2, 1), skewed, caps(x49)), asks(halfRestarts), follows(noteHalf))},
			{"bit 49, the death of a writer is proof", Stuck, true, watched(half, with(ranks(2, 1), caps(x49)), slotsReturn)},
			{"bit 49, the death of a writer proves nothing", Stuck, false, watched(half, with(ranks(2, 1), caps(x49), far), slotsReturn)},
		}},
	}
}

// newFindings are what the models showed beyond the doubts.
func newFindings() []Finding {
	lateEpoch, fanOut := V2Faults{Crashes: 1}, V2Faults{CancelGen: 1, Retries: 1}
	answer := V2Faults{CancelCtx: 1}
	return []Finding{
		{"N1", "Plain v2, several local ranks, no fault: can they end otherwise than COMPLETED?", []Ask{
			{"plain v2, two CTX ranks", "FaultFreeCompletes", false, watched(V2Faults{}, with(ranks(2, 1), strict))},
			{"plain v2, two GEN ranks", "FaultFreeCompletes", false, watched(V2Faults{}, with(ranks(1, 2), strict))},
			{"bit 49, two CTX ranks", "FaultFreeCompletes", true, watched(V2Faults{}, with(ranks(2, 1), strict, caps(x49)))},
			{"bit 49, two GEN ranks", "FaultFreeCompletes", true, watched(V2Faults{}, with(ranks(1, 2), strict, caps(x49)))},
		}},
		{"N2", "A rank hears of a new peer epoch between a round and its verdict: can the local ranks end differently?", []Ask{
			{"the epoch overrides the verdict", "RanksAgree", false, watched(lateEpoch, with(ranks(2, 1)), bad(wrong.EpochAfterVerdict))},
			{"the verdict wins", "RanksAgree", true, watched(lateEpoch, with(ranks(2, 1)))},
		}},
		{"N3", "Bit 49, several GEN ranks, a cancel before one of them has sent its OPEN: does it end UNKNOWN?", []Ask{
			{"a cancelled rank sends no OPEN", "CancelNeverUnknown", false, watched(fanOut, with(ranks(1, 2), caps(x49)), follows(cancelEarly), bad(wrong.SilentOnceCancelled))},
			{"it sends its OPEN all the same", "CancelNeverUnknown", true, watched(fanOut, with(ranks(1, 2), caps(x49)), follows(cancelEarly))},
		}},
		{"N4", "Bit 49: a GEN that settled on NOT_READY gives its own evidence only when asked: can CTX end UNKNOWN for want of it?", []Ask{
			{"no re-send of TERMINAL is left", "CancelNeverUnknown", false, watched(answer, with(caps(x49), strict))},
			{"one re-send is left", "CancelNeverUnknown", true, watched(V2Faults{CancelCtx: 1, Retries: 1}, with(caps(x49), strict))},
		}},
	}
}
