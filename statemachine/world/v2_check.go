package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

func (w *v2World) invariants() []Invariant[V2State] {
	told := func(bit uint8) func(*V2State) bool { return func(s *V2State) bool { return s.Lied&bit == 0 } }
	return []Invariant[V2State]{
		{"NoWriteIntoFreeSlot", []string{"KS-SLOT-4", "KS-SLOT-19", "KS-SET-7"}, w.noWriteIntoFreeSlot},
		{"NoWriteFromFreeSlot", []string{"KS-SLOT-4", "KS-CTX-8"}, w.noWriteFromFreeSlot},
		{"CompletedHasData", []string{"KS-SET-3"}, w.completedHasData},
		{"OneOutcome", []string{"KS-V1-12"}, w.oneOutcome},
		{"CleanupOnce", []string{"KS-SLOT-3"}, func(s *V2State) bool { return !s.Refused }},
		{"ChannelsSuffice", nil, func(s *V2State) bool { return !s.Overflow }},
		{"OtherKeysChangeNothing", []string{"KS-ID-17", "KS-REG-16", "KS-ID-8"}, func(s *V2State) bool { return !s.Crossed }},
		{"OnlyRoundsDecide", []string{"KS-TIME-14", "KS-TIME-15", "KS-RND-8"}, func(s *V2State) bool { return !s.Alone }},
		{"PausesGrow", []string{"KS-REG-13"}, func(s *V2State) bool { return !s.Hasty }},
		{"NotStartedIsTrue", []string{"KS-SET-2"}, w.notStartedIsTrue},
		{"SourceCompleteIsTrue", []string{"KS-SET-3", "KS-REC-13"}, told(2)},
		{"QuiescedIsTrue", []string{"KS-QUI-4", "KS-QUI-5"}, w.quiescedIsTrue},
		{"NoticeAfterData", []string{"KS-V1-11"}, told(8)},
		{"DestinationCompleteIsTrue", []string{"KS-SET-3"}, told(16)},
		{"DestinationIdle", []string{"KS-QUI-6"}, told(32)},
		{"EvidenceIsTheirs", []string{"KS-SET-9", "KS-SET-11"}, w.evidenceIsTheirs},
		{"RanksAgree", []string{"KS-RND-6", "KS-SET-5"}, w.ranksAgree},
		{"SidesAgree", []string{"KS-SET-5"}, w.sidesAgree},
		{"BarrierHolds", []string{"KS-RND-10", "KS-RND-11"}, w.barrierHolds},
		{"UnknownRestarts", []string{"KS-SET-7", "KS-SET-10"}, w.unknownRestarts},
		{"LeasesAddUp", []string{"KS-SLOT-27"}, w.leasesAddUp},
		{"CancelNeverUnknown", []string{"KS-QUI-12"}, w.cancelNeverUnknown},
		{"FaultFreeCompletes", []string{"KS-SET-3", "KS-RND-8"}, w.faultFreeCompletes},
		{"LostNoticeCompletes", []string{"KS-REC-11"}, w.lostNoticeCompletes},
	}
}

// every calls f for every edge until it returns false.
func (w *v2World) every(s *V2State, f func(k, g int) bool) bool {
	c := w.at(s)
	for k := range c.Ctxs {
		for g := range c.Gens {
			if !f(k, g) {
				return false
			}
		}
	}
	return true
}

// mayWrite says whether a write of this edge can still reach GEN's memory.
func (w *v2World) mayWrite(s *V2State, k, g int) bool {
	x := &s.Edge[k][g]
	if x.Active|x.Loose != 0 {
		return true
	}
	return !s.CtxDown && x.Open && int(x.Made) < w.at(s).Chunks
}

// noWriteIntoFreeSlot: as long as a write may land, the slot that was advertised
// for it is nobody else's. A restarted GEN has other memory.
func (w *v2World) noWriteIntoFreeSlot(s *V2State) bool {
	if s.GenDown {
		return true
	}
	return w.every(s, func(k, g int) bool {
		if !w.mayWrite(s, k, g) || s.Edge[k][g].Into != s.GenInc+1 {
			return true
		}
		switch w.pool.slots[s.GenPool[g]][0].state {
		case slot.Advertised, slot.InFlight, slot.Quarantined, slot.Retired:
			return true
		}
		return false
	})
}

func (w *v2World) noWriteFromFreeSlot(s *V2State) bool {
	if s.CtxDown {
		return true
	}
	return w.every(s, func(k, g int) bool {
		return s.Edge[k][g].Active == 0 || w.pool.slots[s.CtxPool[k]][0].state != slot.Free
	})
}

func (w *v2World) completedHasData(s *V2State) bool {
	all := uint8(1)<<w.at(s).Chunks - 1
	return w.every(s, func(k, g int) bool {
		x := &s.Edge[k][g]
		return s.GenDown || s.Gen[g].Disposition() != sm.Completed || x.Landed == all && x.Into == s.GenInc+1 && !s.Work[g]
	})
}

func (w *v2World) oneOutcome(s *V2State) bool {
	return w.every(s, func(k, g int) bool {
		if s.GenOutcomes[g] > 1 || s.CtxOutcomes[k] > 1 {
			return false
		}
		return (s.GenDown || (s.Gen[g].Disposition() != sm.Open) == (s.GenOutcomes[g] == 1)) &&
			(s.CtxDown || (s.Ctx[k].Disposition() != sm.Open) == (s.CtxOutcomes[k] == 1))
	})
}

// evidenceIsTheirs: what a side has recorded as the other's evidence is what the
// other claims, while both live in the incarnations that made the attempt.
func (w *v2World) evidenceIsTheirs(s *V2State) bool {
	if s.CtxDown || s.GenDown || s.CtxInc > 0 || s.GenInc > 0 {
		return true
	}
	return w.every(s, func(k, g int) bool {
		c, d := &s.Ctx[k], &s.Gen[g]
		if c.State() == ctx.ParentRetired || d.State() == gen.ParentRetired {
			return true
		}
		src := d.PeerEvidence(uint8(k))
		if src != settle.Missing && src != c.Evidence(uint8(g)) && !(src == control.NotStarted && c.Edge(uint8(g)) == ctx.EdgeAbsent) {
			return false
		}
		dst := c.PeerEvidence(uint8(g))
		return dst == settle.Missing || dst == d.Evidence(uint8(k))
	})
}

// ranksAgree: ranks whose attempt was ended by reduction ended it alike.
func (w *v2World) ranksAgree(s *V2State) bool {
	c := w.at(s)
	if c.Ctxs == 2 && !s.CtxDown {
		a, b := s.Ctx[0].State(), s.Ctx[1].State()
		if a.Terminal() && b.Terminal() && a != b {
			return false
		}
	}
	if c.Gens == 2 && !s.GenDown {
		a, b := s.Gen[0].State(), s.Gen[1].State()
		if a.Terminal() && b.Terminal() && a != b {
			return false
		}
	}
	return true
}

// sidesAgree: a side that says NOT_STARTED leaves no room for one that says
// COMPLETED, and neither for success.
func (w *v2World) sidesAgree(s *V2State) bool {
	if s.CtxDown || s.GenDown || s.CtxInc > 0 || s.GenInc > 0 {
		return true
	}
	return w.every(s, func(k, g int) bool {
		a, b := s.Ctx[k].State(), s.Gen[g].State()
		begun := b == gen.ParentCompleted || b == gen.ParentSuccess
		return !(a == ctx.ParentNotStarted && begun) &&
			!(b == gen.ParentNotStarted && (a == ctx.ParentCompleted || a == ctx.ParentSuccess))
	})
}

// barrierHolds: no rank shows READY before every rank has installed it.
func (w *v2World) barrierHolds(s *V2State) bool {
	c := w.at(s)
	if s.CtxDown || c.Ctxs < 2 {
		return true
	}
	for g := range c.Gens {
		shown, missing := false, false
		for k := range c.Ctxs {
			e := s.Ctx[k].Edge(uint8(g))
			shown = shown || e == ctx.EdgeInFlight
			missing = missing || s.Ctx[k].State() == ctx.ParentBound && (e == ctx.EdgeBound || e == ctx.EdgePrepared || e == ctx.EdgeCancelPending)
		}
		if shown && missing {
			return false
		}
	}
	return true
}

// unknownRestarts: in plain v2 an attempt that ended UNKNOWN with an unproven lease
// has asked for the restart.
func (w *v2World) unknownRestarts(s *V2State) bool {
	c := w.at(s)
	if c.Caps.Has(descriptor.CapQuiescence) {
		return true
	}
	return w.every(s, func(k, g int) bool {
		if p := &s.Gen[g]; !s.GenDown && p.State() == gen.ParentUnknown && p.Isolated() && !s.GenUnknown[g] {
			return false
		}
		p := &s.Ctx[k]
		return s.CtxDown || p.State() != ctx.ParentUnknown || !p.Isolated() || s.CtxUnknown[k]
	})
}

// leasesAddUp: what the machines believe of their lease is what the pool says.
func (w *v2World) leasesAddUp(s *V2State) bool {
	return w.every(s, func(k, g int) bool {
		if p := &s.Gen[g]; !s.GenDown && p.State() != gen.ParentRetired {
			n := w.pool.counts[s.GenPool[g]]
			if p.Leased() != (n.Leased == 1) || p.Isolated() != (n.Quarantined == 1) {
				return false
			}
		}
		p := &s.Ctx[k]
		if s.CtxDown || p.State() == ctx.ParentRetired || p.State() == ctx.ParentAbsent {
			return true
		}
		n := w.pool.counts[s.CtxPool[k]]
		return p.Leased() == (n.Leased == 1) && p.Isolated() == (n.Quarantined == 1)
	})
}

// enough says that deadlines wait for everything else and that every rank may re-send
// more often than messages are lost.
func (c *V2Case) enough() bool { return c.Patient && (c.Faults.Retries > c.Faults.Drops || c.Strict) }

// cancelNeverUnknown: with bit 49 and patience, cancels and lost messages alone end
// no attempt UNKNOWN.
func (w *v2World) cancelNeverUnknown(s *V2State) bool {
	c := w.at(s)
	if !c.enough() || !c.Caps.Has(descriptor.CapQuiescence) || s.Harmed {
		return true
	}
	return w.every(s, func(k, g int) bool {
		return s.Gen[g].State() != gen.ParentUnknown && s.Gen[g].State() != gen.ParentUninstalled && s.Ctx[k].State() != ctx.ParentUnknown
	})
}

// lostNoticeCompletes: with bit 48 and patience, an attempt that lost nothing but
// messages, and that nobody cancelled, ends completed.
func (w *v2World) lostNoticeCompletes(s *V2State) bool {
	c := w.at(s)
	if !c.enough() || !c.Caps.Has(descriptor.CapRecovery) || s.Harmed || s.Cancelled {
		return true
	}
	return w.every(s, func(k, g int) bool {
		d := s.Gen[g].Disposition()
		return s.GenDown || d == sm.Open || d == sm.Completed
	})
}

// faultFreeCompletes: with patience, an attempt that nothing happened to ends
// completed. In plain v2 with several ranks it does not: ranks that complete in
// different rounds end UNKNOWN by the table of rounds. Strict asks for it all the
// same.
func (w *v2World) faultFreeCompletes(s *V2State) bool {
	c := w.at(s)
	if !c.Patient || s.Left != c.Faults || (c.Gens+c.Ctxs > 2 && !c.Caps.Has(descriptor.CapQuiescence) && !c.Strict) {
		return true
	}
	return w.every(s, func(k, g int) bool {
		a, b := s.Gen[g].Disposition(), s.Ctx[k].Disposition()
		return !s.GenDown && !s.CtxDown && (a == sm.Open || a == sm.Completed) && (b == sm.Open || b == sm.Completed)
	})
}

// notStartedIsTrue: an edge that says NOT_STARTED never posted a write.
func (w *v2World) notStartedIsTrue(s *V2State) bool {
	return s.Lied&1 == 0 && w.every(s, func(k, g int) bool {
		return s.CtxDown || s.Ctx[k].Edge(uint8(g)) != ctx.EdgeNotStarted || s.Edge[k][g].Made == 0
	})
}

// quiescedIsTrue: an edge that says QUIESCED writes nothing any more.
func (w *v2World) quiescedIsTrue(s *V2State) bool {
	return s.Lied&4 == 0 && w.every(s, func(k, g int) bool {
		x := &s.Edge[k][g]
		return s.CtxDown || s.Ctx[k].Edge(uint8(g)) != ctx.EdgeQuiesced || x.Active|x.Loose == 0
	})
}
