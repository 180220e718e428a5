package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// The greatest sizes of a v2 world.
const (
	v2Gens   = 3
	v2Ctxs   = 3
	v2Chunks = 2
	v2Incs   = 2 // incarnations of a service
)

// V2Case is one of the worlds that a v2 model starts in; each is an initial state.
// There is one ticket and one logical consumption of it, or a second one after a
// restart.
type V2Case struct {
	// Gens and Ctxs are the numbers of ranks of either service, 1 to 3. Every GEN rank
	// has an edge to every CTX rank.
	Gens, Ctxs int
	// Caps holds bits 48 and 49 where they are selected.
	Caps descriptor.Caps
	// Contract is what the backend declares, and what this world's backend keeps:
	// without SuccessQuiet nothing is modelled; without ErrorQuiet a failed write may
	// still land.
	Contract settle.Contract
	// DeathQuiet: a dead writer's writes end with it, and the adaptor says so.
	DeathQuiet bool
	// Chunks is how many writes each edge consists of, 1 or 2; PerChunk sends one
	// notice each (bit 48).
	Chunks   int
	PerChunk bool
	// Patient: deadlines pass only when nothing else can happen any more. Otherwise
	// they pass at any moment.
	Patient bool
	// Calls: an OPEN can be seen by its peer before its send returns, and sends can
	// fail. Otherwise a send is one event with what caused it.
	Calls bool
	// Restarts: a service that crashed comes back with a new epoch and empty
	// registries, once.
	Restarts bool
	// Lockstep: all ranks of a service hear a verdict, pass the barrier and confirm a
	// seal in one event.
	Lockstep bool
	// Strict checks the properties about patience also where they are known not to hold.
	Strict bool
	// Retires: metadata may retire once its retention is over.
	Retires bool
	Faults  V2Faults
}

// V2Faults are the budgets of a v2 case.
type V2Faults struct {
	// Drops, Dups and Reorders are messages lost, doubled, and overtaken by all that is
	// behind them; a double comes behind them too. DropNotices are completion notices
	// lost.
	Drops, Dups, Reorders, DropNotices uint8
	// CancelGen and CancelCtx are user cancels at either side.
	CancelGen, CancelCtx uint8
	// Crashes are deaths of a whole service.
	Crashes uint8
	// Retries are re-sends by each rank, SendFails sends of OPEN that fail or end in
	// doubt.
	Retries, SendFails uint8
	// WriteFails are final errors, Releases handles given up before they were final.
	WriteFails, Releases, VerifyFails uint8
	// Rejects are ranks of CTX that cannot serve, Mismatches OPENs whose selection
	// differs, Refusals contexts that GEN finds incompatible, Denials leases refused.
	Rejects, Mismatches, Refusals, Denials uint8
	// RoundFails are rounds that a rank does not enter, or barriers not reached.
	RoundFails uint8
	// Doubts are protocol violations noticed. Strays are messages of another attempt,
	// ticket or epoch that reach the parent of this one.
	Doubts, Strays uint8
}

// V2Config fixes a v2 model.
type V2Config struct {
	Name, Size string
	Cases      []V2Case
	// Bad breaks rules of the machines, Wrong those of this world. Both are zero in
	// every size.
	Bad   wrong.Rules
	Wrong V2Wrong
}

// V2Wrong names the rules of a v2 world that can be broken.
type V2Wrong struct {
	// SealIgnored posts on after a seal.
	SealIgnored bool
	// BarrierIgnored lets each rank pass the installation barrier alone.
	BarrierIgnored bool
	// TrustDeath takes the death of a writer as proof against the contract.
	TrustDeath bool
	// ForgetLease drops what a machine says about its lease.
	ForgetLease bool
	// NeverAsk lets the soft deadline never pass.
	NeverAsk bool
	// WorkUnseen begins local work with the first notice and does not tell the machine.
	WorkUnseen bool
}

// v2Edge is the truth about the writes of one edge, by bits of chunks.
type v2Edge struct {
	// Open: posts may be made. Active: posted and not final. Loose: final or given up
	// as far as CTX knows, and may still land. Landed: the data is there.
	Open bool
	Seal bool // asked for, not confirmed
	// Into is the incarnation of GEN whose memory is written, plus 1.
	Into                          uint8
	Made                          uint8
	Active, Loose, Landed, Handed uint8
}

// v2Round is one side's present round.
type v2Round struct {
	Busy      bool
	Verdicts  uint8 // ranks that have not heard the verdict
	Installed uint8 // ranks in the installation barrier
	Passing   uint8 // ranks that have not heard that the barrier was passed
	By        [max(v2Ctxs, v2Gens)]round.Verdict
}

// V2State is a state of a v2 world.
//
// As TLA+: the variables case and world, a record of ctx, gen (functions from ranks to records); ctxWaits,
// genWaits (sets of armed waits); ctxRound, genRound; call; net (sequences of messages);
// edge (the truth about writes); ctxPool, genPool; published; leaseAsked; work;
// outcomes; down, inc, told; exit; refused; left (the budgets).
type V2State struct {
	Case               uint8
	Ctx                [v2Ctxs]ctx.Parent
	Gen                [v2Gens]gen.Parent
	CtxWaits           [v2Ctxs]uint8
	GenWaits           [v2Gens]uint8
	CtxRound, GenRound v2Round
	Call               [v2Gens][v2Ctxs]uint8
	Net                [v2Incs][v2Incs]v2Net
	Edge               [v2Ctxs][v2Gens]v2Edge
	CtxPool            [v2Ctxs]uint16
	GenPool            [v2Gens]uint16
	Published          [v2Ctxs]bool
	// BoundTo is the incarnation of GEN that each CTX parent's edges belong to, plus 1.
	BoundTo     [v2Ctxs]uint8
	Imported    [v2Gens]bool
	LeaseAsked  [v2Gens]bool
	Work        [v2Gens]bool
	CtxOutcomes [v2Ctxs]uint8
	GenOutcomes [v2Gens]uint8
	CtxUnknown  [v2Ctxs]bool // asked to restart
	GenUnknown  [v2Gens]bool
	// CtxDown and GenDown: the service is gone. Inc: its incarnation. Told: the ranks
	// of the other side that were told.
	CtxDown, GenDown bool
	CtxInc, GenInc   uint8
	CtxTold, GenTold uint8
	GenQuiet         uint8
	// CtxRetried and GenRetried count the re-sends of each rank.
	CtxRetried [v2Ctxs]uint8
	GenRetried [v2Gens]uint8
	// Lied: a message was sent that the truth contradicts.
	Lied    uint8
	Refused bool
	// Overflow: a channel was full. Crossed: a message with another key changed a
	// parent. Hasty: a re-send was armed without a longer pause.
	// Alone: a parent got its outcome from something else than a round.
	Overflow, Crossed, Hasty, Alone bool
	// Retrying is set while a retry is being carried out, never between events.
	Retrying bool
	// Harmed: something other than cancels, lost notices and lost messages happened.
	Harmed    bool
	Cancelled bool
	Left      V2Faults
}

type v2World struct {
	cfg  V2Config
	pool *poolTable
	// lease is the binding of CTX's publication lease, the same on every rank.
	lease slot.Binding
}

// V2 is the model of v2 with its extensions: parents and edges of both services,
// rounds, chunked writes, and the control messages between them.
func V2(cfg V2Config) (*Model[V2State], error) {
	for _, c := range cfg.Cases {
		if c.Gens < 1 || c.Gens > v2Gens || c.Ctxs < 1 || c.Ctxs > v2Ctxs || c.Chunks < 1 || c.Chunks > v2Chunks {
			return nil, sm.Refuse(sm.BadRequest, "KS-RND-1", "v2 world: 1 to 3 ranks on each side, 1 or 2 chunks")
		}
	}
	pool, err := tabulatePool(slot.Config{Slots: 1, Bytes: 1, Budget: 1}, 1, 1, true)
	if err != nil {
		return nil, err
	}
	w := &v2World{cfg: cfg, pool: pool}
	m := &Model[V2State]{
		Name: cfg.Name, Size: cfg.Size, Bounds: cfg.bounds(), Actors: []string{"router", "GEN", "GEN 1", "GEN 2", "GEN 3", "network", "CTX 1", "CTX 2", "CTX 3", "CTX"},
		Actions: collect(len(v2Actions), func(i int) Info { return v2Actions[i] }), Rows: v2Rows(), Next: w.next, Invariants: w.invariants(), Settled: w.settled, Canon: w.canon, Leaves: collect(len(v2Leaves), func(i int) string { return v2Leaves[i] }),
	}
	for i := range cfg.Cases {
		m.Init = append(m.Init, w.first(i))
	}
	return m, nil
}

func (c V2Config) bounds() []Bound {
	var f V2Faults
	ranks, chunks := 0, 0
	for _, k := range c.Cases {
		ranks, chunks = max(ranks, k.Gens, k.Ctxs), max(chunks, k.Chunks)
		f.Drops, f.Dups, f.DropNotices = max(f.Drops, k.Faults.Drops), max(f.Dups, k.Faults.Dups), max(f.DropNotices, k.Faults.DropNotices)
		f.Reorders = max(f.Reorders, k.Faults.Reorders)
		f.CancelGen, f.CancelCtx = max(f.CancelGen, k.Faults.CancelGen), max(f.CancelCtx, k.Faults.CancelCtx)
		f.Crashes, f.Retries, f.SendFails = max(f.Crashes, k.Faults.Crashes), max(f.Retries, k.Faults.Retries), max(f.SendFails, k.Faults.SendFails)
		f.WriteFails, f.Releases, f.VerifyFails = max(f.WriteFails, k.Faults.WriteFails), max(f.Releases, k.Faults.Releases), max(f.VerifyFails, k.Faults.VerifyFails)
		f.Rejects, f.Mismatches = max(f.Rejects, k.Faults.Rejects), max(f.Mismatches, k.Faults.Mismatches)
		f.Refusals, f.Denials = max(f.Refusals, k.Faults.Refusals), max(f.Denials, k.Faults.Denials)
		f.RoundFails, f.Doubts = max(f.RoundFails, k.Faults.RoundFails), max(f.Doubts, k.Faults.Doubts)
		f.Strays = max(f.Strays, k.Faults.Strays)
	}
	return []Bound{{"cases", len(c.Cases)}, {"ranks", ranks}, {"chunks", chunks}, {"drop", int(f.Drops)}, {"duplicate", int(f.Dups)},
		{"reorder", int(f.Reorders)}, {"lost notice", int(f.DropNotices)}, {"cancel at GEN", int(f.CancelGen)}, {"cancel at CTX", int(f.CancelCtx)},
		{"crash", int(f.Crashes)}, {"retry", int(f.Retries)}, {"send failure", int(f.SendFails)}, {"write failure", int(f.WriteFails)},
		{"release", int(f.Releases)}, {"wrong block", int(f.VerifyFails)}, {"reject", int(f.Rejects)}, {"mismatch", int(f.Mismatches)},
		{"refusal", int(f.Refusals)}, {"denial", int(f.Denials)}, {"failed round", int(f.RoundFails)}, {"doubt", int(f.Doubts)}, {"stray", int(f.Strays)}}
}

// first is the initial state of a case: CTX has leased its source slots and is about
// to publish the ticket on every rank.
func (w *v2World) first(i int) V2State {
	s := V2State{Case: uint8(i), Left: w.cfg.Cases[i].Faults}
	w.bornCtx(&s)
	w.bornGen(&s)
	c := w.at(&s)
	for k := range c.Ctxs {
		w.lease = w.poolStep(&s, &s.CtxPool[k], slot.Input{Kind: slot.Lease, Owner: 1}).granted
	}
	return s
}

func (w *v2World) at(s *V2State) *V2Case { return &w.cfg.Cases[s.Case] }

func (w *v2World) bornCtx(s *V2State) {
	for k := range w.at(s).Ctxs {
		s.Ctx[k] = ctx.Parent{}.WithWrongRules(w.cfg.Bad)
	}
}

func (w *v2World) bornGen(s *V2State) {
	for g := range w.at(s).Gens {
		s.Gen[g] = gen.Parent{}.WithWrongRules(w.cfg.Bad)
	}
}

// poolStep does one thing to a pool that a machine asked for. A refusal there is a
// mistake of the machine.
func (w *v2World) poolStep(s *V2State, row *uint16, in slot.Input) poolOut {
	next, out, ok := w.pool.step(*row, in)
	if !ok || out.refused != "" {
		s.Refused = true
	}
	*row = next
	return out
}

// v2Rows lists the rows of the tables of chapters 13 and 14, then those of rounds.
func v2Rows() []string {
	var rows []string
	for r := range ctx.NumRows {
		rows = append(rows, r.String())
	}
	for r := range gen.NumRows {
		rows = append(rows, r.String())
	}
	for r := round.RowMissing; r <= round.RowAdmit; r++ {
		rows = append(rows, r.String())
	}
	return rows
}

func ctxRow(r ctx.Row) int { return int(r) }

func genRow(r gen.Row) int { return int(ctx.NumRows) + int(r) }

func roundRow(r round.Row) int { return int(ctx.NumRows) + int(gen.NumRows) + int(r) - 1 }
