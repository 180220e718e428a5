package world

import "github.com/kvsettle/kvsettle/statemachine/settle/wrong"

// smallFindings are the doubts that have worlds of their own: D4, D10 to D12, D14 to
// D16.
func smallFindings() []Finding {
	skew := func(unnumbered bool, f RoundFaults) RoundWatch {
		return RoundWatch{RoundConfig{Size: "finding", Ranks: 2, Rounds: 2, Left: f}, unnumbered}
	}
	reuse := V1Case{Gens: 1, Ctxs: 1, Reqs: 2, Enabled: true, Slots: 2, Budget: 1, Faults: V1Faults{Dups: 1}}
	return []Finding{
		{"D4", "A ticket that nobody bound was cancelled; its cached answer is evicted for one edge and not for the sibling: does GEN end UNKNOWN?", []Ask{
			{"each edge's answer is evicted by itself", "HarmlessStaysHarmless", false, NoPeerConfig{Ctxs: 1, Gens: 2, PerEdge: true, Bad: wrong.EvictNoPeerEarly}},
			{"the answers of a rank are evicted together, one CTX rank", "HarmlessStaysHarmless", false, NoPeerConfig{Ctxs: 1, Gens: 2, Bad: wrong.EvictNoPeerEarly}},
			{"the answers of a rank are evicted together, two CTX ranks", "HarmlessStaysHarmless", false, NoPeerConfig{Ctxs: 2, Gens: 1, Bad: wrong.EvictNoPeerEarly}},
			{"no answer is evicted within its control lifetime", "HarmlessStaysHarmless", true, NoPeerConfig{Ctxs: 2, Gens: 2}},
		}},
		{"D10", "CTX's registry is full of tickets whose GEN waits for slots: deadlock, or bounded?", []Ask{
			{"unbounded waits, two GEN ranks", Stuck, false, PressureConfig{Gens: 2, Requests: 3, Active: 2}},
			{"unbounded waits, one GEN rank", Stuck, true, PressureConfig{Gens: 1, Requests: 3, Active: 2}},
			{"unbounded waits, one GEN rank, a slot in quarantine", Stuck, false, PressureConfig{Gens: 1, Requests: 3, Active: 2, Losses: 1}},
			{"every wait has a deadline", Stuck, true, PressureConfig{Gens: 2, Requests: 3, Active: 2, Losses: 2, Deadlines: true, Restarts: true}},
			{"unbounded waits, two GEN ranks that lease in one order", Stuck, true, PressureConfig{Gens: 2, Requests: 3, Active: 2, InOrder: true}},
		}},
		{"D11", "Contributions sort absent ranks as 4,294,967,295: can that collide with a real rank?", []Ask{
			{"ticket, presence, ranks; any rank", "PlacesDiffer", true, SortConfig{AllRanks: true}},
			{"ticket and ranks only; any rank", "PlacesDiffer", false, SortConfig{AllRanks: true, NoPresence: true}},
			{"the codec's order; ranks below 4,294,967,295", "PlacesDiffer", true, SortConfig{Codec: true}},
			{"the codec's order; any rank", "PlacesDiffer", false, SortConfig{Codec: true, AllRanks: true}},
		}},
		{"D12", "After a reconnect a queued repeat meets a window that has moved on: is it carried out again, or does its answer do harm?", []Ask{
			{"a repeated OPEN below the floor is answered UNKNOWN, plain v2", nobodyRestarts.name, false, watched(V2Faults{Dups: 1}, nil, asks(nobodyRestarts), follows(belowIsUnknown))},
			{"the same, bit 48 alone", nobodyRestarts.name, false, watched(V2Faults{Dups: 1, Retries: 1}, with(caps(x48)), asks(nobodyRestarts), follows(belowIsUnknown))},
			{"the same, bit 49", nobodyRestarts.name, true, watched(V2Faults{Dups: 1, Retries: 1}, with(caps(x49)), asks(nobodyRestarts), follows(belowIsUnknown))},
			{"a repeated OPEN is answered from the active registry, plain v2", nobodyRestarts.name, true, watched(V2Faults{Dups: 1, Retries: 1}, nil, asks(nobodyRestarts))},
			{"a window of 2 for 5 messages", "CarriedOutOnce", true, WindowConfig{Window: 2, Messages: 5, Reconnects: 2}},
			{"a window of 2 for 5 messages", "NothingSkipped", false, WindowConfig{Window: 2, Messages: 5, Reconnects: 2}},
			{"a window as large as the number of messages", "NothingSkipped", true, WindowConfig{Window: 5, Messages: 5, Reconnects: 2}},
		}},
		{"D14", "One rank is a round ahead of another: can they decide differently?", []Ask{
			{"payloads count for the round that the receiver is in", "SameDecision", false, skew(true, RoundFaults{Cancels: 1})},
			{"payloads count for the round that they name", "SameDecision", true, skew(false, RoundFaults{Drops: 1, Dups: 1, Cancels: 1})},
			{"payloads count for the round that they name", "CancelNeverPasses", true, skew(false, RoundFaults{Drops: 1, Dups: 1, Cancels: 1})},
		}},
		{"D15", "A late CANCEL reaches an attempt that succeeded, after its slot went to the next one: can the old attempt's evidence hurt the new lease?", []Ask{
			{"UNKNOWN leaves alone what was released", "NewLeaseUntouched", true, ReuseConfig{Cancels: 2, Drops: 1}},
			{"UNKNOWN touches what was released; slots have generations", "NewLeaseUntouched", true, ReuseConfig{Cancels: 2, Drops: 1, Bad: wrong.UnknownTouchesReleased}},
			{"UNKNOWN touches what was released; slots have none", "NewLeaseUntouched", false, ReuseConfig{Cancels: 2, Drops: 1, Bad: wrong.UnknownTouchesReleased, ByIndex: true}},
		}},
		{"D16", "Can a late native sync of an ended attempt complete a newer one with the same 12-bit tag on the same connection?", []Ask{
			{"a tag is free when its attempt has ended", "CompletedHasData", false, V1Config{Size: "finding", Cases: []V1Case{reuse}, Wrong: V1Wrong{NoTagAge: true}}},
			{"a tag rests for the control lifetime", "CompletedHasData", true, V1Config{Size: "finding", Cases: []V1Case{reuse}}},
		}},
	}
}
