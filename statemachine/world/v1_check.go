package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

func (w *v1World) invariants() []Invariant[V1State] {
	return []Invariant[V1State]{
		{"NoWriteIntoFreeSlot", []string{"KS-SLOT-4", "KS-SLOT-19", "KS-V1-9"}, w.noWriteIntoFreeSlot},
		{"NoWriteFromFreeSlot", []string{"KS-SLOT-4", "KS-V1-31"}, w.noWriteFromFreeSlot},
		{"CompletedHasData", []string{"KS-V1-21", "KS-TAG-3"}, w.completedHasData},
		{"OneOutcome", []string{"KS-V1-12"}, w.oneOutcome},
		{"CleanupOnce", []string{"KS-SLOT-3"}, func(s *V1State) bool { return !s.Refused }},
		{"SlotsAddUp", []string{"KS-SLOT-27"}, w.slotsAddUp},
		{"RejectIsTrue", []string{"KS-V1-2", "KS-V1-5", "KS-V1-7"}, w.rejectIsTrue},
		{"SyncAfterSuccess", []string{"KS-V1-11"}, w.syncAfterSuccess},
		{"AllAskedBeforeReady", []string{"KS-V1-28"}, w.allAskedBeforeReady},
		{"OutcomesAgree", []string{"KS-V1-4", "KS-V1-5"}, w.outcomesAgree},
		{"BudgetStopsAdmission", []string{"KS-SLOT-5"}, w.budgetStopsAdmission},
		{"CancelDecides", []string{"KS-V1-17"}, w.cancelDecides},
	}
}

// edges calls f for every edge and request of the case, until it returns false.
func (w *v1World) edges(s *V1State, f func(k, g, r int) bool) bool {
	c := w.at(s)
	for k := range c.Ctxs {
		for g := range c.Gens {
			for r := range c.Reqs {
				if !f(k, g, r) {
					return false
				}
			}
		}
	}
	return true
}

// noWriteIntoFreeSlot: a write that may still land has its slot to itself.
func (w *v1World) noWriteIntoFreeSlot(s *V1State) bool {
	return w.edges(s, func(k, g, r int) bool {
		if wr := s.Write[k][g][r]; wr != writing && wr != orphan || s.GenDown[g] {
			return true
		}
		t := s.Target[g][r]
		look := w.pool(s).slots[s.GenPool[g]][t.Slot]
		if look.gen != uint64(t.Gen) {
			return false
		}
		switch look.state {
		case slot.Advertised, slot.InFlight, slot.Quarantined:
			return true
		}
		return false
	})
}

// noWriteFromFreeSlot: the source of a write that is under way is not free.
func (w *v1World) noWriteFromFreeSlot(s *V1State) bool {
	c := w.at(s)
	for k := range c.Ctxs {
		busy := 0
		for r := range c.Reqs {
			for g := range c.Gens {
				if s.Write[k][g][r] == writing {
					busy++
					break
				}
			}
		}
		counts := w.pool(s).counts[s.CtxPool[k]]
		if counts.Total-counts.Free < busy {
			return false
		}
	}
	return true
}

func (w *v1World) completedHasData(s *V1State) bool {
	return w.edges(s, func(k, g, r int) bool {
		m := &s.Gen[g][r]
		asked, _, _, _ := m.Count()
		return !s.Early[g][r] && (m.Disposition() != sm.Completed || asked == 0 || s.Write[k][g][r] == written)
	})
}

func (w *v1World) oneOutcome(s *V1State) bool {
	return w.edges(s, func(k, g, r int) bool {
		if s.GenOutcomes[g][r] > 1 || s.CtxOutcomes[k][r] > 1 {
			return false
		}
		if !s.GenDown[g] && (s.Gen[g][r].Disposition() != sm.Open) != (s.GenOutcomes[g][r] == 1) {
			return false
		}
		return s.CtxDown[k] || (s.Ctx[k][r].Disposition() != sm.Open) == (s.CtxOutcomes[k][r] == 1)
	})
}

// slotsAddUp: the attempts that hold a slot are as many as the slots that are held.
func (w *v1World) slotsAddUp(s *V1State) bool {
	c := w.at(s)
	for g := range c.Gens {
		held := 0
		for r := range c.Reqs {
			switch s.Gen[g][r].State() {
			case gen.Imported, gen.Waiting, gen.Retired:
			default:
				held++
			}
		}
		n := w.pool(s).counts[s.GenPool[g]]
		if n.Free+n.Leased+n.Quarantined != n.Total || n.Total-n.Free != held {
			return false
		}
	}
	for k := range c.Ctxs {
		held := 0
		for r := range c.Reqs {
			switch s.Ctx[k][r].State() {
			case ctx.Imported, ctx.Waiting, ctx.Retired:
			default:
				held++
			}
		}
		n := w.pool(s).counts[s.CtxPool[k]]
		if n.Free+n.Leased+n.Quarantined != n.Total || n.Total-n.Free != held {
			return false
		}
	}
	return true
}

// rejectIsTrue: ready=false is said only where nothing was written and never will
// be, and never beside ready=true.
func (w *v1World) rejectIsTrue(s *V1State) bool {
	return w.edges(s, func(k, g, r int) bool {
		said := s.Said[k][g][r]
		return said&saidNo == 0 || said&(saidYes|saidSync) == 0 && s.Write[k][g][r] == noWrite
	})
}

func (w *v1World) syncAfterSuccess(s *V1State) bool {
	return w.edges(s, func(k, g, r int) bool {
		return s.Said[k][g][r]&saidSync == 0 || s.Write[k][g][r] == written
	})
}

// allAskedBeforeReady: ready=true comes after the request of every GEN rank, or of
// those that live.
func (w *v1World) allAskedBeforeReady(s *V1State) bool {
	c := w.at(s)
	return w.edges(s, func(k, g, r int) bool {
		if s.Said[k][g][r]&saidYes == 0 {
			return true
		}
		for other := range c.Gens {
			if s.Target[other][r] == (slotRef{}) {
				return false
			}
		}
		return true
	})
}

// outcomesAgree: what one side reports leaves room for what the other reports.
func (w *v1World) outcomesAgree(s *V1State) bool {
	return w.edges(s, func(k, g, r int) bool {
		m, n := &s.Gen[g][r], &s.Ctx[k][r]
		asked, _, _, _ := m.Count()
		switch {
		case m.Disposition() == sm.Rejected && asked > 0:
			return s.Said[k][g][r]&saidYes == 0 && n.Disposition() != sm.Completed
		case n.Disposition() == sm.Completed:
			return s.Write[k][g][r] == written
		}
		return true
	})
}

// budgetStopsAdmission: a pool beyond its budget leases nothing more and its
// process does not serve on.
func (w *v1World) budgetStopsAdmission(s *V1State) bool {
	c := w.at(s)
	for g := range c.Gens {
		row := s.GenPool[g]
		if w.pool(s).counts[row].Quarantined > c.Budget && w.pool(s).healthy[row] {
			return false
		}
	}
	for k := range c.Ctxs {
		row := s.CtxPool[k]
		if w.pool(s).counts[row].Quarantined > c.Budget && w.pool(s).healthy[row] {
			return false
		}
	}
	return true
}

// cancelDecides: in enabled mode a request is not completed once its cancel was
// taken.
func (w *v1World) cancelDecides(s *V1State) bool {
	c := w.at(s)
	for g := range c.Gens {
		for r := range c.Reqs {
			if c.Enabled && s.Cancelled[g][r] && s.Gen[g][r].Disposition() == sm.Completed {
				return false
			}
		}
	}
	return true
}

// settled: every process that lives has reported every request, no local work is
// left, and a process over its budget has gone.
func (w *v1World) settled(s *V1State) bool {
	c := w.at(s)
	for k := range c.Ctxs {
		if s.CtxDown[k] {
			continue
		}
		if !w.pool(s).healthy[s.CtxPool[k]] {
			return false
		}
		for r := range c.Reqs {
			if w.ctxOpen(s, k, r) {
				return false
			}
		}
	}
	for g := range c.Gens {
		if s.GenDown[g] {
			continue
		}
		if !w.pool(s).healthy[s.GenPool[g]] {
			return false
		}
		for r := range c.Reqs {
			m := &s.Gen[g][r]
			switch {
			case m.State() == gen.Imported && w.visible(s, r), w.genOpen(s, g, r), m.State() == gen.Scattering:
				return false
			}
		}
	}
	return true
}

// visible says whether every CTX rank published the context of request r.
func (w *v1World) visible(s *V1State, r int) bool {
	for k := range w.at(s).Ctxs {
		if !s.Published[k][r] {
			return false
		}
	}
	return true
}
