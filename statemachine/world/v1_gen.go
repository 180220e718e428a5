package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

func (w *v1World) at(s *V1State) *V1Case { return &w.cfg.Cases[s.Case] }

func (w *v1World) pool(s *V1State) *poolTable { return w.pools[s.Case] }

// poolStep does one thing to a pool that a machine asked for. A refusal there is a
// mistake of the machine.
func (w *v1World) poolStep(s *V1State, row *uint16, in slot.Input) poolOut {
	next, out, ok := w.pool(s).step(*row, in)
	if !ok || out.refused != "" {
		s.Refused = true
	}
	*row = next
	return out
}

// genStep gives an input to the machine of request r on GEN rank g and carries out
// its effects, as the service does.
func (w *v1World) genStep(s *V1State, g, r int, in gen.Input) {
	if st := s.Gen[g][r].State(); st == gen.Retired || st == gen.Imported && in.Kind != gen.Start {
		return // the service has no record of it: not yet, or no more
	}
	var buf [16]gen.Effect
	m, effects, err := s.Gen[g][r].Step(in, buf[:0])
	if err != nil {
		return // counted by the service, changes nothing
	}
	row, err := w.genRows.Of(s.Gen[g][r], in, m)
	w.took(row, err)
	s.Gen[g][r] = m
	for i := range effects {
		w.genDo(s, g, r, &effects[i])
	}
}

// took counts a row of the tables.
func (w *v1World) took(row int, err error) {
	if w.out == nil {
		return
	}
	if err != nil && w.unexplained == nil {
		w.unexplained = err
	}
	if row >= 0 {
		w.out.Take(row)
	}
}

func (w *v1World) genDo(s *V1State, g, r int, e *gen.Effect) {
	wrong := &w.cfg.Wrong
	row := &s.GenPool[g]
	switch e.Kind {
	case gen.AdvertiseSlot:
		w.poolStep(s, row, slot.Input{Kind: slot.Advertise, Binding: e.Binding})
		s.Target[g][r] = slotRef{uint8(e.Binding.Slot), uint8(e.Binding.Generation)}
	case gen.SendRequest:
		s.Call[g][r] = v1Call{calling, e.Edge}
	case gen.BeginSlot:
		w.poolStep(s, row, slot.Input{Kind: slot.Begin, Binding: e.Binding})
	case gen.Scatter:
		for k := range w.at(s).Ctxs {
			s.Early[g][r] = s.Early[g][r] || s.Write[k][g][r] != written
		}
	case gen.ReleaseSlot:
		if wrong.LoseSlot {
			return
		}
		w.poolStep(s, row, slot.Input{Kind: slot.Release, Binding: e.Binding, Proof: e.Proof})
		if wrong.CleanupTwice {
			w.poolStep(s, row, slot.Input{Kind: slot.Release, Binding: e.Binding, Proof: e.Proof})
		}
	case gen.QuarantineSlot:
		if wrong.FreeOnTimeout {
			w.poolStep(s, row, slot.Input{Kind: slot.Release, Binding: e.Binding, Proof: slot.Settled})
			return
		}
		w.poolStep(s, row, slot.Input{Kind: slot.Quarantine, Binding: e.Binding})
	case gen.ProveSlot:
		if !wrong.FreeOnTimeout {
			w.poolStep(s, row, slot.Input{Kind: slot.Prove, Binding: e.Binding, Proof: e.Proof})
		}
	case gen.EndTag:
		for k := range w.at(s).Ctxs {
			w.tag(s, g, k, tagIn{use: endTag, id: v1ID(r)})
		}
	case gen.Settle:
		s.GenOutcomes[g][r]++
		if wrong.SettleTwice {
			s.GenOutcomes[g][r]++
		}
	}
}

// tag uses the tag table that GEN rank g has for CTX rank k.
func (w *v1World) tag(s *V1State, g, k int, in tagIn) tagOut {
	if s.Aged[g] || w.cfg.Wrong.NoTagAge && in.use != endTag {
		in.now = 1
	}
	next, out, ok := w.tags.step(s.Tags[g][k], in)
	if !ok || out.refused {
		s.Refused = true
	}
	s.Tags[g][k] = next
	return out
}

// genImport is the arrival of a context result at GEN rank g.
func (w *v1World) genImport(s *V1State, g, r int) {
	c := w.at(s)
	w.genStep(s, g, r, gen.Input{Kind: gen.Start, Edges: uint8(c.Ctxs), CancelBeatsSuccess: c.Enabled && !w.cfg.Wrong.CompleteAfterCancel,
		ExpectReject: c.Fit == MismatchCanReject,
		Settings:     gen.Settings{Admission: waitAdmission, Request: waitRequest, Control: waitControl}})
	if c.Fit == MismatchSilent {
		w.genStep(s, g, r, gen.Input{Kind: gen.RefusedLocally, Reason: "peer-legacy"})
	}
}

// genMayAdmit says whether tags and a slot are there for request r.
func (w *v1World) genMayAdmit(s *V1State, g, r int) bool {
	row := s.GenPool[g]
	if w.pool(s).counts[row].Free == 0 || !w.pool(s).healthy[row] {
		return false
	}
	for k := range w.at(s).Ctxs {
		if s.GenLost[g][k] || s.GenQuiet[g][k] {
			return false
		}
		if !w.tag(s, g, k, tagIn{use: freeTag, id: v1ID(r)}).free {
			return false
		}
	}
	return true
}

func (w *v1World) genAdmit(s *V1State, g, r int) {
	out := w.poolStep(s, &s.GenPool[g], slot.Input{Kind: slot.Lease, Owner: uint64(r) + 1})
	for k := range w.at(s).Ctxs {
		w.tag(s, g, k, tagIn{use: holdTag, id: v1ID(r)})
	}
	w.genStep(s, g, r, gen.Input{Kind: gen.Granted, Binding: out.granted})
}

// genHears delivers a ready or sync of CTX rank k. Only the tag says which attempt it
// is for.
func (w *v1World) genHears(s *V1State, kind v1Kind, k, g, r int) {
	out := w.tag(s, g, k, tagIn{use: ownerOfTag, id: v1ID(r)})
	if !out.live {
		return
	}
	in := gen.Input{Kind: gen.Ready, Edge: uint8(k), Value: kind == msgReadyYes && !w.cfg.Wrong.BelieveReject}
	if kind == msgSync {
		in.Kind = gen.Sync
	}
	w.genStep(s, g, v1Index(out.owner), in)
}

// genCrash ends the process of GEN rank g with all that it had.
func (w *v1World) genCrash(s *V1State, g int) {
	s.GenDown[g] = true
	s.Gen[g] = [v1Reqs]gen.Machine{}
	s.Call[g] = [v1Reqs]v1Call{}
	s.GenPool[g] = 0
	s.Tags[g] = [v1Ctxs]uint16{}
	s.GenLost[g], s.GenQuiet[g] = [v1Ctxs]bool{}, [v1Ctxs]bool{}
	s.Aged[g] = false
	for bit := range v1Messages {
		if kind, _, to, _ := v1Message(bit); to == g && kind != msgRequest {
			s.Net.clear(bit)
		}
	}
}

func (w *v1World) genOpen(s *V1State, g, r int) bool {
	m := &s.Gen[g][r]
	return m.State() != gen.Imported && m.Disposition() == sm.Open
}
