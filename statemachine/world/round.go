package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/wire/control"
	wireround "github.com/kvsettle/kvsettle/wire/round"
)

// The greatest sizes of a round world.
const (
	roundRanks  = 3
	roundRounds = 2
)

// RoundConfig fixes a round model.
type RoundConfig struct {
	Size string
	// Ranks is the number of local ranks, 2 or 3; Rounds how many rounds they hold, 1 or
	// 2.
	Ranks, Rounds int
	Left          RoundFaults
	// Wrong breaks rules on purpose. Its zero value is right; no size sets it.
	Wrong RoundWrong
}

// RoundFaults are the budgets of a round model. Messages are delivered in any order.
type RoundFaults struct{ Drops, Dups, Cancels, Crashes uint8 }

// RoundWrong names the rules of a round world that can be broken.
type RoundWrong struct {
	// NoBarrier lets a rank pass as soon as it has installed.
	NoBarrier bool
	// TwoFaced tells some ranks of a cancel and others not.
	TwoFaced bool
	// NoDeadline lets round-deadline never pass.
	NoDeadline bool
}

// The kinds of messages between ranks.
const (
	roundAdmit uint8 = iota
	roundCancel
	roundInstalled
	roundKinds
)

var roundKindNames = [roundKinds]string{"admit", "cancel", "installed"}

// The decisions of a rank about one round, as this model tells them apart.
const (
	undecided uint8 = iota
	decidedGo
	decidedEnd
	decidedMissing
)

var roundDecisions = [...]string{"none", "go", "end", "missing"}

// RoundState is a state of a round world. The last index is the round, 0 or 1.
//
// As TLA+ variables: rank (from ranks to machines); wants (ranks that want the end);
// heard (from ranks and rounds to what was heard of whom); net; decided, passed; down;
// left.
type RoundState struct {
	Rank    [roundRanks]round.Machine
	Wants   [roundRanks]bool
	Heard   [roundRanks][roundRounds][roundRanks]uint8 // 1 admit, 2 cancel
	Said    [roundRanks][roundRounds]uint8
	Net     [2]uint64
	Decided [roundRanks][roundRounds]uint8
	Passed  [roundRanks][roundRounds]bool
	Down    [roundRanks]bool
	Left    RoundFaults
}

func roundBit(kind uint8, from, to, id int) int {
	return ((int(kind)*roundRanks+from)*roundRanks+to)*roundRounds + id
}

const roundMessages = int(roundKinds) * roundRanks * roundRanks * roundRounds

func roundMessage(bit int) (kind uint8, from, to, id int) {
	return uint8(bit / (roundRanks * roundRanks * roundRounds)), bit / (roundRanks * roundRounds) % roundRanks,
		bit / roundRounds % roundRanks, bit % roundRounds
}

type roundWorld struct{ cfg RoundConfig }

// RoundSize returns the configuration with that name.
func RoundSize(size string) (RoundConfig, bool) {
	switch size {
	case "small":
		return RoundConfig{Size: size, Ranks: 2, Rounds: 1, Left: RoundFaults{1, 1, 1, 1}}, true
	case "medium":
		return RoundConfig{Size: size, Ranks: 2, Rounds: 2, Left: RoundFaults{1, 1, 1, 1}}, true
	case "large":
		return RoundConfig{Size: size, Ranks: 3, Rounds: 1, Left: RoundFaults{1, 1, 1, 1}}, true
	}
	return RoundConfig{}, false
}

// The actions of the round model.
const (
	rndBegin Action = iota
	rndPayload
	rndInstalled
	rndDrop
	rndDup
	rndDeadline
	rndCancel
	rndCrash
)

var rndActions = []Info{
	rndBegin:     {Name: "BeginRound", Fair: true, From: "rank {rank}", To: "network", Args: []string{"rank"}},
	rndPayload:   {Name: "DeliverPayload", Fair: true, From: "rank {from}", To: "rank {rank}", Args: []string{"rank", "from", "round"}},
	rndInstalled: {Name: "DeliverInstalled", Fair: true, From: "rank {from}", To: "rank {rank}", Args: []string{"rank", "from", "round"}},
	rndDrop:      {Name: "Drop", From: "network", To: "network", Args: []string{"rank", "from", "round"}},
	rndDup:       {Name: "Duplicate", From: "network", To: "network", Args: []string{"rank", "from", "round"}},
	rndDeadline:  {Name: "RoundDeadline", Fair: true, From: "rank {rank}", To: "rank {rank}", Args: []string{"rank"}},
	rndCancel:    {Name: "UserCancel", From: "router", To: "rank {rank}", Args: []string{"rank"}},
	rndCrash:     {Name: "Crash", From: "rank {rank}", To: "rank {rank}", Args: []string{"rank"}},
}

// Round is the model of decision rounds and of the installation barrier among the
// local ranks of one service.
func Round(cfg RoundConfig) (*Model[RoundState], error) {
	if cfg.Ranks < 2 || cfg.Ranks > roundRanks || cfg.Rounds < 1 || cfg.Rounds > roundRounds {
		return nil, sm.Refuse(sm.BadRequest, "KS-RND-1", "round world: 2 or 3 ranks, 1 or 2 rounds")
	}
	w := &roundWorld{cfg}
	rows := make([]string, 0, round.RowAdmit)
	for r := round.RowMissing; r <= round.RowAdmit; r++ {
		rows = append(rows, r.String())
	}
	return &Model[RoundState]{
		Name: "round", Size: cfg.Size, Actors: []string{"router", "rank 1", "rank 2", "rank 3", "network"},
		Bounds: []Bound{{"ranks", cfg.Ranks}, {"rounds", cfg.Rounds}, {"drop", int(cfg.Left.Drops)}, {"duplicate", int(cfg.Left.Dups)},
			{"reorder", -1}, {"cancel at any rank", int(cfg.Left.Cancels)}, {"crash", int(cfg.Left.Crashes)}},
		Actions: rndActions, Rows: rows, Init: []RoundState{{Left: cfg.Left}}, Next: w.next, Settled: w.settled, Canon: w.canon,
		Invariants: []Invariant[RoundState]{
			{"SameDecision", []string{"KS-RND-6"}, w.sameDecision},
			{"BarrierMeansAll", []string{"KS-RND-10", "KS-RND-11"}, w.barrierMeansAll},
			{"MissingNeverPasses", []string{"KS-RND-12"}, w.missingNeverPasses},
			{"CancelNeverPasses", []string{"KS-RND-7"}, w.cancelNeverPasses},
		},
		Leaves: []string{"round.Machine: ranks (constant)"},
	}, nil
}

// step gives an input to a rank's machine and carries out its effects.
func (w *roundWorld) step(out *Out[RoundState], s *RoundState, r int, in round.Input) {
	var buf [8]round.Effect
	m, effects, err := s.Rank[r].Step(in, buf[:0])
	if err != nil {
		return
	}
	s.Rank[r] = m
	for _, e := range effects {
		id := int(e.ID) - 1
		switch e.Kind {
		case round.Send:
			w.send(s, r, id)
		case round.Judge:
			w.judge(out, s, r, id, e.Absent)
		case round.Announce:
			w.tell(s, roundInstalled, r, id)
			if w.cfg.Wrong.NoBarrier {
				s.Passed[r][id] = true
			}
			w.step(out, s, r, round.Input{Kind: round.Installed, Rank: uint8(r), ID: e.ID})
		case round.Pass:
			s.Passed[r][id] = true
		}
	}
}

// send tells the others what this rank contributes, and itself.
func (w *roundWorld) send(s *RoundState, r, id int) {
	kind := roundAdmit
	if s.Wants[r] {
		kind = roundCancel
	}
	s.Said[r][id] = kind + 1
	w.tell(s, kind, r, id)
	s.Heard[r][id][r] = kind + 1
	w.step(nil, s, r, round.Input{Kind: round.Entered, Rank: uint8(r), ID: uint64(id) + 1})
}

func (w *roundWorld) tell(s *RoundState, kind uint8, from, id int) {
	for to := range w.cfg.Ranks {
		if to == from || s.Down[to] {
			continue
		}
		if w.cfg.Wrong.TwoFaced && kind == roundCancel && to == w.cfg.Ranks-1 {
			s.Net[0] |= 1 << roundBit(roundAdmit, from, to, id)
			continue
		}
		s.Net[0] |= 1 << roundBit(kind, from, to, id)
	}
}

// judge decides what the heard contributions mean, with the function that the
// service calls.
func (w *roundWorld) judge(out *Out[RoundState], s *RoundState, r, id int, absent uint8) {
	v := round.View{Phase: round.Ready, Ranks: uint8(w.cfg.Ranks), Absent: absent}
	for from := range w.cfg.Ranks {
		switch s.Heard[r][id][from] {
		case roundAdmit + 1:
			v.By[from] = round.Contribution{Intent: wireround.Admit, Evidence: control.NotStarted}
		case roundCancel + 1:
			v.By[from] = round.Contribution{Intent: wireround.Cancel, Evidence: control.NotStarted}
		}
	}
	d := round.Decide(&v)
	if d.Row != round.NoRow {
		out.Take(int(d.Row) - 1)
	}
	switch {
	case d.Decision == round.GoOn:
		s.Decided[r][id] = decidedGo
		w.step(out, s, r, round.Input{Kind: round.Install, ID: uint64(id) + 1})
	case absent != 0:
		s.Decided[r][id] = decidedMissing
	default:
		s.Decided[r][id] = decidedEnd
	}
}

func (w *roundWorld) next(s *RoundState, out *Out[RoundState]) {
	for r := range w.cfg.Ranks {
		if s.Down[r] {
			continue
		}
		m := &s.Rank[r]
		a := int8(r)
		if !m.Busy() && int(m.ID()) < w.cfg.Rounds {
			w.step(out, out.From(s), r, round.Input{Kind: round.Begin, Ranks: uint8(w.cfg.Ranks)})
			out.Emit(rndBegin, a)
		}
		if m.Busy() && !w.cfg.Wrong.NoDeadline {
			w.step(out, out.From(s), r, round.Input{Kind: round.Deadline, ID: m.ID()})
			out.Emit(rndDeadline, a)
		}
		if s.Left.Cancels > 0 {
			n := out.From(s)
			n.Left.Cancels--
			n.Wants[r] = true
			out.Emit(rndCancel, a)
		}
		if s.Left.Crashes > 0 {
			n := out.From(s)
			n.Left.Crashes--
			n.Down[r] = true
			n.Rank[r] = round.Machine{}
			for bit := range roundMessages {
				if _, _, to, _ := roundMessage(bit); to == r {
					n.Net[0] &^= 1 << bit
					n.Net[1] &^= 1 << bit
				}
			}
			out.Emit(rndCrash, a)
		}
	}
	for bit := range roundMessages {
		if s.Net[0]>>bit&1 != 0 {
			w.nextMessage(s, bit, out)
		}
	}
}

func (w *roundWorld) nextMessage(s *RoundState, bit int, out *Out[RoundState]) {
	kind, from, to, id := roundMessage(bit)
	a, b, c := int8(to), int8(from), int8(id)
	take := func() *RoundState {
		n := out.From(s)
		if n.Net[1]>>bit&1 != 0 {
			n.Net[1] &^= 1 << bit
		} else {
			n.Net[0] &^= 1 << bit
		}
		return n
	}
	n := take()
	in := round.Input{Kind: round.Installed, Rank: uint8(from), ID: uint64(id) + 1}
	if kind != roundInstalled {
		in.Kind = round.Entered
		if n.Heard[to][id][from] == 0 {
			n.Heard[to][id][from] = kind + 1
		}
	}
	w.step(out, n, to, in)
	if kind == roundInstalled {
		out.Emit(rndInstalled, a, b, c)
	} else {
		out.Emit(rndPayload, a, b, c)
	}
	if s.Left.Drops > 0 {
		take().Left.Drops--
		out.Emit(rndDrop, a, b, c)
	}
	if s.Left.Dups > 0 && s.Net[1]>>bit&1 == 0 {
		n := out.From(s)
		n.Left.Dups--
		n.Net[1] |= 1 << bit
		out.Emit(rndDup, a, b, c)
	}
}

// pairs calls f for every two ranks and every round until it returns false.
func (w *roundWorld) pairs(f func(a, b, id int) bool) bool {
	for a := range w.cfg.Ranks {
		for b := range w.cfg.Ranks {
			for id := range w.cfg.Rounds {
				if a != b && !f(a, b, id) {
					return false
				}
			}
		}
	}
	return true
}

// sameDecision: ranks that heard everybody decided the same.
func (w *roundWorld) sameDecision(s *RoundState) bool {
	return w.pairs(func(a, b, id int) bool {
		x, y := s.Decided[a][id], s.Decided[b][id]
		return x == y || x == undecided || y == undecided || x == decidedMissing || y == decidedMissing
	})
}

// barrierMeansAll: who passes knows that every rank has installed.
func (w *roundWorld) barrierMeansAll(s *RoundState) bool {
	return w.pairs(func(a, b, id int) bool { return !s.Passed[a][id] || s.Decided[b][id] == decidedGo })
}

// missingNeverPasses: where a rank gave up on another, nobody passes.
func (w *roundWorld) missingNeverPasses(s *RoundState) bool {
	return w.pairs(func(a, b, id int) bool {
		return !s.Passed[a][id] || s.Said[b][id] != 0 && s.Decided[b][id] != decidedMissing
	})
}

// cancelNeverPasses: where a rank contributed a cancel, nobody passes.
func (w *roundWorld) cancelNeverPasses(s *RoundState) bool {
	return w.pairs(func(a, b, id int) bool { return !s.Passed[a][id] || s.Said[b][id] != roundCancel+1 })
}

// settled: every rank that lives has held its rounds and waits for nobody.
func (w *roundWorld) settled(s *RoundState) bool {
	for r := range w.cfg.Ranks {
		if !s.Down[r] && (s.Rank[r].Busy() || int(s.Rank[r].ID()) < w.cfg.Rounds) {
			return false
		}
	}
	return true
}

var roundStages = [...]string{"idle", "gathering", "barrier", "failed"}

func (w *roundWorld) canon(s *RoundState) (canon.Value, error) {
	var err error
	by := func(f func(r int) canon.Value) canon.Value { return seq(w.cfg.Ranks, f) }
	ids := func(f func(id int) canon.Value) canon.Value { return seq(w.cfg.Rounds, f) }
	num := func(n uint8) canon.Value { return canon.Int(int64(n)) }
	var net []canon.Value
	for bit := range roundMessages {
		if n := s.Net[0]>>bit&1 + s.Net[1]>>bit&1; n > 0 {
			kind, from, to, id := roundMessage(bit)
			net = append(net, canon.Rec(field("kind", canon.Str(roundKindNames[kind])), field("from", canon.Int(int64(from)+1)),
				field("to", canon.Int(int64(to)+1)), field("round", canon.Int(int64(id)+1)), field("n", canon.Int(int64(n)))))
		}
	}
	v := canon.Rec(
		field("rank", by(func(r int) canon.Value {
			f := canon.Open(s.Rank[r])
			ranks := func(name string) canon.Value { return canon.Bits(uint64(f.Int(name)), 1) }
			v := canon.Rec(field("id", f.Take("id")), field("stage", canon.Str(roundStages[f.Int("stage")])), field("entered", ranks("entered")),
				field("installed", ranks("installed")), field("early", ranks("early")), field("failures", f.Take("failures")), field("ranks", f.Take("ranks")))
			if e := f.Err(); e != nil {
				err = e
			}
			return v
		})),
		field("wants", by(func(r int) canon.Value { return canon.Bool(s.Wants[r]) })),
		field("heard", by(func(r int) canon.Value {
			return ids(func(id int) canon.Value { return by(func(q int) canon.Value { return num(s.Heard[r][id][q]) }) })
		})),
		field("said", by(func(r int) canon.Value { return ids(func(id int) canon.Value { return num(s.Said[r][id]) }) })),
		field("net", canon.Set(net...)),
		field("decided", by(func(r int) canon.Value {
			return ids(func(id int) canon.Value { return canon.Str(roundDecisions[s.Decided[r][id]]) })
		})),
		field("passed", by(func(r int) canon.Value { return ids(func(id int) canon.Value { return canon.Bool(s.Passed[r][id]) }) })),
		field("down", by(func(r int) canon.Value { return canon.Bool(s.Down[r]) })),
		field("left", canon.Rec(field("drops", num(s.Left.Drops)), field("dups", num(s.Left.Dups)), field("cancels", num(s.Left.Cancels)),
			field("crashes", num(s.Left.Crashes)))),
	)
	return v, err
}
