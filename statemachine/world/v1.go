package world

import (
	"slices"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// The greatest sizes of a v1 world.
const (
	v1Gens = 2
	v1Ctxs = 2
	v1Reqs = 2
)

// Fit says what GEN's validation found out about the CTX ranks of a v1 case.
type Fit uint8

// Compatible peers transfer. At a mismatch GEN asks all the same where every CTX
// rank can reject before DMA, and refuses silently otherwise.
const (
	Compatible Fit = iota
	MismatchCanReject
	MismatchSilent
)

// V1Case is one of the worlds that a v1 model starts in; each is an initial state.
type V1Case struct {
	// Gens, Ctxs and Reqs are the numbers of GEN ranks, CTX ranks (1 or 2 each) and
	// requests (1 or 2). Every GEN rank has an edge to every CTX rank.
	Gens, Ctxs, Reqs int
	// Enabled: a cancel that comes before success decides.
	Enabled bool
	// DeathQuiet: the adaptor's contract counts the death of a writer as proof, and a
	// dead writer's write ends with it. Without, the write may still land.
	DeathQuiet bool
	// Fit is the outcome of GEN's validation.
	Fit Fit
	// Slots and Budget are each pool's size and quarantine budget.
	Slots, Budget int
	// Faults are how often each fault may strike in one run, and how often users act.
	Faults V1Faults
}

// V1Config fixes a v1 model.
type V1Config struct {
	Size  string
	Cases []V1Case
	// Wrong breaks rules on purpose. Its zero value is right; no size sets it.
	Wrong V1Wrong
}

// V1Faults are the budgets of a v1 model.
type V1Faults struct {
	// Drops and Dups are messages lost and doubled. Order needs no budget: messages
	// are delivered in any order.
	Drops, Dups uint8
	// CancelGen and CancelCtx are user cancels at either side.
	CancelGen, CancelCtx uint8
	// Crashes are process deaths on either side.
	Crashes uint8
	// SendFails are requests whose send fails or ends in doubt.
	SendFails uint8
	// WriteFails are writes that end in an error, VerifyFails wrong blocks after a
	// scatter.
	WriteFails, VerifyFails uint8
	// Rejects are requests that one CTX rank finds unacceptable. Denials are
	// admissions that can never succeed. Hits are requests without missing blocks.
	Rejects, Denials, Hits uint8
}

// V1Wrong names the rules of a v1 world that can be broken.
type V1Wrong struct {
	// FreeOnTimeout releases a slot where it must be quarantined.
	FreeOnTimeout bool
	// FreeSourceOnTimeout does the same at CTX.
	FreeSourceOnTimeout bool
	// NoTagAge gives a tag to the next request as soon as an attempt has ended, with
	// its messages still in the network.
	NoTagAge bool
	// SyncEarly tells GEN that the data is complete when the write starts.
	SyncEarly bool
	// SettleTwice reports each outcome of GEN twice.
	SettleTwice bool
	// CleanupTwice releases each slot twice.
	CleanupTwice bool
	// RejectLate answers a request for an ended context with ready=false, whether or
	// not its ready commit was crossed.
	RejectLate bool
	// TrustDeath takes the death of a writer as proof against the contract.
	TrustDeath bool
	// OneRankCommits lets CTX commit when the first GEN rank has asked.
	OneRankCommits bool
	// NoRequestDeadline forgets the wait that the request deadline bounds.
	NoRequestDeadline bool
	// IgnoreBudget keeps a process going whose quarantine budget is used up.
	IgnoreBudget bool
	// LoseSlot forgets to release a slot.
	LoseSlot bool
	// CompleteAfterCancel runs a world in enabled mode with machines in baseline mode.
	CompleteAfterCancel bool
	// BelieveReject lets GEN take any answer for ready=false.
	BelieveReject bool
	// NoBudget gives the pools a larger quarantine budget than the case says.
	NoBudget bool
	// WriteAfterReject starts the write of a request that was answered ready=false.
	WriteAfterReject bool
}

// The states of one write, CTX's half of the truth that GEN cannot see.
const (
	noWrite uint8 = iota
	writing
	written
	writeEnded
	// orphan: the writer died and the write may still land.
	orphan
)

// The states of GEN's call that sends a request.
const (
	noCall uint8 = iota
	// calling: the call was made, the message may or may not be visible yet.
	calling
	// visible: the message is on its way, the call has not returned.
	visible
)

// Bits of V1State.Said.
const (
	saidYes uint8 = 1 << iota
	saidNo
	saidSync
)

// V1State is a state of a v1 world. First indexes are GEN ranks for what GEN has
// and CTX ranks for what CTX has; the last index is the request.
//
// As TLA+ variables: case; gen, ctx (functions to records); call; genPool, ctxPool
// (sequences of slots); tags, registry; target (slot and generation that a request
// advertised); net (set of messages with their number); write; said; outcomes;
// down, lost, quiet; aged; refused; left (the budgets).
type V1State struct {
	Case    uint8
	Gen     [v1Gens][v1Reqs]gen.Machine
	Ctx     [v1Ctxs][v1Reqs]ctx.Machine
	Call    [v1Gens][v1Reqs]v1Call
	GenPool [v1Gens]uint16
	CtxPool [v1Ctxs]uint16
	Reg     [v1Ctxs]uint16
	Tags    [v1Gens][v1Ctxs]uint16
	Target  [v1Gens][v1Reqs]slotRef
	// Published says which contexts were visible once.
	Published [v1Ctxs][v1Reqs]bool
	Net       v1Net
	Write     [v1Ctxs][v1Gens][v1Reqs]uint8
	Stop      [v1Ctxs][v1Gens][v1Reqs]bool
	Said      [v1Ctxs][v1Gens][v1Reqs]uint8
	// GenOutcomes and CtxOutcomes count the reports to the user.
	GenOutcomes [v1Gens][v1Reqs]uint8
	CtxOutcomes [v1Ctxs][v1Reqs]uint8
	// Early says that GEN read the slot before all of its data was there.
	Early [v1Gens][v1Reqs]bool
	// Cancelled says that GEN took a cancel while the request was open.
	Cancelled [v1Gens][v1Reqs]bool
	// GenDown and CtxDown: the process is gone. GenLost[g][k]: GEN rank g was told so of
	// CTX rank k; GenQuiet: with proof. CtxLost[k][g]: CTX rank k was told of GEN rank g.
	GenDown  [v1Gens]bool
	CtxDown  [v1Ctxs]bool
	GenLost  [v1Gens][v1Ctxs]bool
	GenQuiet [v1Gens][v1Ctxs]bool
	CtxLost  [v1Ctxs][v1Gens]bool
	// Aged: the control lifetime of GEN rank g's first ended attempt has passed.
	Aged [v1Gens]bool
	// Refused: a container refused what a machine told it to do.
	Refused bool
	Left    V1Faults
}

// v1Call is a call that sends the request of one edge.
type v1Call struct{ State, Edge uint8 }

type slotRef struct {
	Slot uint8
	Gen  uint8
}

// v1World holds what does not change: the configuration and the tables.
type v1World struct {
	cfg   V1Config
	pools []*poolTable
	tags  *tagTable
	regs  *regTable
	// genRows and ctxRows name the rows that steps take; out counts them, on a copy of
	// the world that belongs to it. unexplained keeps the first step without a row.
	genRows     *gen.Rows
	ctxRows     *ctx.Rows
	out         *Out[V1State]
	unexplained error
}

// The lengths of the waits in a world without time: each is a different number, so
// that a machine's deadline says which wait it belongs to.
const (
	waitAdmission sm.Time = iota + 1
	waitRequest
	waitControl
	waitContext
)

// V1Size returns the configuration with that name: small, medium or large. A larger
// one has the cases of the smaller ones with more faults, and worlds with more
// ranks or requests.
func V1Size(size string) (V1Config, bool) {
	one := V1Case{Gens: 1, Ctxs: 1, Reqs: 1, Enabled: true, DeathQuiet: true, Slots: 1}
	base, far, reject, silent := one, one, one, one
	base.Enabled, far.DeathQuiet, reject.Fit, silent.Fit = false, false, MismatchCanReject, MismatchSilent
	mixed := V1Case{Gens: 1, Ctxs: 2, Reqs: 1, Enabled: true, Slots: 1}
	pair := V1Case{Gens: 2, Ctxs: 1, Reqs: 1, Enabled: true, Slots: 1, DeathQuiet: true}
	reuse := V1Case{Gens: 1, Ctxs: 1, Reqs: 2, Enabled: true, Slots: 2, Budget: 1}
	over := V1Case{Gens: 1, Ctxs: 1, Reqs: 2, Slots: 2}
	cfg := V1Config{Size: size}
	add := func(c V1Case, f V1Faults) {
		c.Faults = f
		cfg.Cases = append(cfg.Cases, c)
	}
	if size != "small" {
		add(one, V1Faults{Drops: 1, Dups: 1, CancelGen: 1, CancelCtx: 1, Crashes: 1})
	}
	switch size {
	case "small":
		add(one, V1Faults{Drops: 1, Dups: 1, CancelGen: 1})
		add(one, V1Faults{CancelCtx: 1, Crashes: 1})
		add(one, V1Faults{SendFails: 1, WriteFails: 1, Rejects: 1, Denials: 1, VerifyFails: 1, Hits: 1, CancelGen: 1})
		add(base, V1Faults{Drops: 1, CancelGen: 1})
		add(far, V1Faults{Drops: 1, Crashes: 1})
		add(reject, V1Faults{Drops: 1, CancelGen: 1})
		add(silent, V1Faults{CancelGen: 1})
	case "medium":
		add(one, V1Faults{Drops: 1, CancelGen: 1, CancelCtx: 1, SendFails: 1, WriteFails: 1, Rejects: 1, Denials: 1, VerifyFails: 1, Hits: 1})
		add(base, V1Faults{Drops: 1, Dups: 1, CancelGen: 1, Crashes: 1})
		add(far, V1Faults{Drops: 1, Dups: 1, CancelGen: 1, Crashes: 1})
		add(reject, V1Faults{Drops: 1, Dups: 1, CancelGen: 1, Crashes: 1})
		add(silent, V1Faults{CancelGen: 1, CancelCtx: 1, Crashes: 1})
		add(mixed, V1Faults{Rejects: 1, Drops: 1})
		add(pair, V1Faults{})
		add(reuse, V1Faults{Dups: 1})
		add(over, V1Faults{Drops: 1})
	case "large":
		add(mixed, V1Faults{Rejects: 1, Drops: 1, Dups: 1, CancelGen: 1, SendFails: 1})
		add(mixed, V1Faults{Drops: 1, Crashes: 1, CancelGen: 1, CancelCtx: 1})
		add(pair, V1Faults{Drops: 1, CancelGen: 1})
		add(reuse, V1Faults{Drops: 1, Dups: 1, CancelGen: 1})
		add(over, V1Faults{Drops: 1, CancelGen: 1})
	default:
		return V1Config{}, false
	}
	return cfg, true
}

// V1 is the model of legacy and v1: GEN ranks that fetch from CTX ranks by request,
// ready and sync, with their pools, tags and registries. Two requests of a world
// share one 12-bit tag. GEN takes a tag again only when no message of the ended
// attempt is left in the network: that is what a control lifetime means here.
func V1(cfg V1Config) (*Model[V1State], error) {
	w := &v1World{cfg: cfg}
	ids := []uint64{v1ID(0), v1ID(1)}
	var err error
	for _, c := range cfg.Cases {
		if c.Gens < 1 || c.Gens > v1Gens || c.Ctxs < 1 || c.Ctxs > v1Ctxs || c.Reqs < 1 || c.Reqs > v1Reqs {
			return nil, sm.Refuse(sm.BadRequest, "KS-V1-1", "v1 world: 1 or 2 GEN ranks, CTX ranks and requests")
		}
		budget := c.Budget
		if cfg.Wrong.NoBudget {
			budget = c.Slots
		}
		t, err := tabulatePool(slot.Config{Slots: c.Slots, Bytes: 1, Budget: budget}, c.Reqs, c.Reqs, false)
		if err != nil {
			return nil, err
		}
		w.pools = append(w.pools, t)
	}
	if w.tags, err = tabulateTag(ids); err != nil {
		return nil, err
	}
	if w.regs, err = tabulateRegistry(ids, v1Reqs, 1); err != nil {
		return nil, err
	}
	if w.genRows, err = gen.LoadRows(); err != nil {
		return nil, err
	}
	if w.ctxRows, err = ctx.LoadRows(); err != nil {
		return nil, err
	}
	m := &Model[V1State]{
		Rows: slices.Concat(w.genRows.IDs(), w.ctxRows.IDs()),
		Name: "v1", Size: cfg.Size, Bounds: cfg.bounds(), Actors: []string{"router", "GEN 1", "GEN 2", "network", "CTX 1", "CTX 2"},
		Actions: collect(len(v1Actions), func(i int) Info { return v1Actions[i] }), Next: w.next, Invariants: w.invariants(), Settled: w.settled, Canon: w.canon, Leaves: collect(len(v1Leaves), func(i int) string { return v1Leaves[i] }),
	}
	for i := range cfg.Cases {
		m.Init = append(m.Init, w.first(i))
	}
	return m, nil
}

// v1ID is the request id of request r. All of them share a tag.
func v1ID(r int) uint64 { return uint64(r)<<12 + 1 }

func v1Index(id uint64) int { return int(id >> 12) }

func (c V1Config) bounds() []Bound {
	// The largest of all cases.
	var f V1Faults
	for _, k := range c.Cases {
		f.Drops, f.Dups = max(f.Drops, k.Faults.Drops), max(f.Dups, k.Faults.Dups)
		f.CancelGen, f.CancelCtx = max(f.CancelGen, k.Faults.CancelGen), max(f.CancelCtx, k.Faults.CancelCtx)
		f.Crashes, f.SendFails = max(f.Crashes, k.Faults.Crashes), max(f.SendFails, k.Faults.SendFails)
		f.WriteFails, f.VerifyFails = max(f.WriteFails, k.Faults.WriteFails), max(f.VerifyFails, k.Faults.VerifyFails)
		f.Rejects, f.Denials, f.Hits = max(f.Rejects, k.Faults.Rejects), max(f.Denials, k.Faults.Denials), max(f.Hits, k.Faults.Hits)
	}
	return []Bound{{"cases", len(c.Cases)}, {"drop", int(f.Drops)}, {"duplicate", int(f.Dups)}, {"reorder", -1},
		{"cancel at GEN", int(f.CancelGen)}, {"cancel at CTX", int(f.CancelCtx)}, {"crash", int(f.Crashes)},
		{"send failure", int(f.SendFails)}, {"write failure", int(f.WriteFails)}, {"wrong block", int(f.VerifyFails)},
		{"reject", int(f.Rejects)}, {"denial", int(f.Denials)}, {"full hit", int(f.Hits)}}
}

// first is the initial state of a case: every context was asked for at every CTX
// rank and waits for admission.
func (w *v1World) first(i int) V1State {
	c := w.cfg.Cases[i]
	s := V1State{Case: uint8(i), Left: c.Faults}
	edges := uint8(c.Gens)
	if w.cfg.Wrong.OneRankCommits {
		edges = 1
	}
	for k := range c.Ctxs {
		for r := range c.Reqs {
			w.reg(&s, k, regIn{use: openID, id: v1ID(r)})
			w.ctxStep(&s, k, r, ctx.Input{Kind: ctx.Start, Edges: edges, Settings: ctx.Settings{
				Admission: waitAdmission, Context: waitContext, Request: waitRequest, Control: waitControl}})
		}
	}
	return s
}
