package world

import (
	"errors"
	"strings"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
)

// v2Leaves is what the canonical form of a v2 state leaves out.
var v2Leaves = [...]string{
	"ctx.Parent: bad (zero), binding.Pool and Buffer (one pool per rank), edges beyond those of the case (zero)",
	"gen.Parent: bad (zero), binding.Pool and Buffer (one pool per rank), edges beyond those of the case (zero)",
	"slot.Pool: cfg (constant), counts (sums over entries)",
}

// The flags of the parents in the order of their bits. The accessors of the parents
// are compared with them, so that a changed order is noticed.
var (
	ctxFlagNames = []string{"x48", "x49", "perChunk", "opened", "wanted", "sealed", "committed", "leased", "isolated",
		"doubtful", "expired", "reduced", "stale"}
	genFlagNames = []string{"x48", "x49", "wanted", "sealed", "installed", "settling", "leased", "isolated", "owed", "busy",
		"processed", "doubtful", "expired", "soft", "asking", "stale", "failed", "queued"}
)

// lieNames are the claims that the truth can contradict, in the order of the bits.
var lieNames = []string{"NOT_STARTED", "SOURCE_COMPLETE", "QUIESCED", "notice", "DESTINATION_COMPLETE", "idle"}

func flagSet(mask int64, names []string, errs *[]error) (canon.Value, map[string]bool) {
	var list []canon.Value
	on := make(map[string]bool)
	for i, name := range names {
		if mask>>i&1 != 0 {
			list = append(list, canon.Str(name))
			on[name] = true
		}
	}
	if mask>>len(names) != 0 {
		*errs = append(*errs, errors.New("canonical form of a v2 state: a flag without a name"))
	}
	return canon.Set(list...), on
}

var evidenceNames = map[int64]string{0: "none", 1: "NOT_STARTED", 2: "SOURCE_COMPLETE", 3: "DESTINATION_COMPLETE", 4: "UNKNOWN", 0x81: "QUIESCED"}

func evidenceValue(v canon.Value) canon.Value {
	n, _ := v.Int64()
	if name, ok := evidenceNames[n]; ok {
		return canon.Str(name)
	}
	return v
}

// causeNames are the causes in their order, publicationNames how far an OPEN may
// have got.
var (
	causeNames = []string{"none", "user", "shutdown", "admission-deadline", "context-deadline", "request-deadline", "control-deadline",
		"round", "peer", "peer-refusal", "peer-unknown", "mixture", "epoch", "protocol", "publish", "write", "verify", "ranks",
		"incompatible", "slot", "sibling"}
	publicationNames = []string{"UNSET", "MAYBE_OBSERVABLE", "ACKED", "FAILED_INDETERMINATE"}
)

// named is a number by its name; one without a name stays a number.
func named(v canon.Value, names []string) canon.Value {
	if n, ok := v.Int64(); ok && n >= 0 && int(n) < len(names) {
		return canon.Str(names[n])
	}
	return v
}

// replaced returns a record with one field's value put through f.
func replaced(v canon.Value, f map[string]func(canon.Value) canon.Value) canon.Value {
	fields := make([]canon.Field, 0, v.Len())
	for i := range v.Len() {
		k, x := v.At(i)
		name, _ := k.Text()
		if change, ok := f[name]; ok {
			x = change(x)
		}
		fields = append(fields, field(name, x))
	}
	return canon.Rec(fields...)
}

func stateName(name func(n int64) string) func(canon.Value) canon.Value {
	return func(v canon.Value) canon.Value {
		n, _ := v.Int64()
		return canon.Str(name(n))
	}
}

// postsValue counts the writes of one edge.
func postsValue(v canon.Value) canon.Value {
	get := func(name string) canon.Value { f, _ := v.Get(name); return f }
	return canon.Rec(field("chunks", get("Chunks")), field("made", get("Made")), field("done", get("Done")),
		field("failed", get("Failed")), field("released", get("Released")))
}

// edgeValues takes the first n edges of a parent.
func edgeValues(list canon.Value, n int, state func(n int64) string) canon.Value {
	var out []canon.Value
	for i := range n {
		_, e := list.At(i)
		out = append(out, replaced(e, map[string]func(canon.Value) canon.Value{
			"state": stateName(state), "peer": evidenceValue,
			"got":   func(v canon.Value) canon.Value { m, _ := v.Int64(); return canon.Bits(uint64(m), 0) },
			"posts": postsValue,
		}))
	}
	return canon.Seq(out...)
}

func ctxParentValue(p *ctx.Parent, edges int, errs *[]error) canon.Value {
	f := canon.Open(p)
	flags, on := flagSet(f.Int("flags"), ctxFlagNames, errs)
	if on["x49"] != p.X49() || on["leased"] != p.Leased() {
		*errs = append(*errs, errors.New("canonical form of ctx.Parent: the order of the flags has changed"))
	}
	v := canon.Rec(
		field("state", canon.Str(ctx.ParentState(f.Int("state")).String())),
		field("result", canon.Str(sm.Disposition(f.Int("result")).String())),
		field("cause", named(f.Take("cause"), causeNames)), field("edges", f.Take("edges")), field("retries", f.Take("retries")),
		field("contract", canon.Bits(uint64(f.Int("con")), 0)), field("flags", flags),
		field("lease", bindingValue(f.Take("binding"))),
		field("edge", edgeValues(f.Take("edge"), edges, func(n int64) string { return ctx.EdgeState(n).String() })),
	)
	f.Leave("bad")
	*errs = append(*errs, f.Err())
	return v
}

func genParentValue(p *gen.Parent, edges int, errs *[]error) canon.Value {
	f := canon.Open(p)
	flags, on := flagSet(f.Int("flags"), genFlagNames, errs)
	if on["x49"] != p.X49() || on["leased"] != p.Leased() || on["isolated"] != p.Isolated() || on["busy"] != p.Busy() {
		*errs = append(*errs, errors.New("canonical form of gen.Parent: the order of the flags has changed"))
	}
	v := canon.Rec(
		field("state", canon.Str(gen.ParentState(f.Int("state")).String())),
		field("result", canon.Str(sm.Disposition(f.Int("result")).String())),
		field("cause", named(f.Take("cause"), causeNames)), field("edges", f.Take("edges")), field("parts", f.Take("parts")),
		field("ready", canon.Bits(uint64(f.Int("ready")), 0)), field("retries", f.Take("retries")), field("pub", named(f.Take("pub"), publicationNames)),
		field("contract", canon.Bits(uint64(f.Int("con")), 0)), field("flags", flags),
		field("lease", bindingValue(f.Take("binding"))),
		field("edge", edgeValues(f.Take("edge"), edges, func(n int64) string { return gen.EdgeState(n).String() })),
	)
	f.Leave("bad")
	*errs = append(*errs, f.Err())
	return v
}

var decisionNames = [...]string{"WAIT", "ADOPT", "GO_ON", "REFUSE", "END_NOT_STARTED", "END_UNKNOWN", "END_DRAIN", "COMMIT", "KEEP_EVIDENCE", "REDUCED"}

func verdictValue(v *round.Verdict) canon.Value {
	return canon.Rec(field("decision", canon.Str(decisionNames[v.Decision])), field("row", canon.Str(v.Row.String())),
		field("topology", canon.Str(v.Topology.String())), field("genAttempt", canon.Int(int64(v.GenAttempt))),
		field("cancelled", canon.Bool(v.Cancelled)), field("allReject", canon.Bool(v.AllReject)), field("allUnset", canon.Bool(v.AllUnset)))
}

func roundValue(r *v2Round, ranks int) canon.Value {
	return canon.Rec(field("busy", canon.Bool(r.Busy)), field("verdicts", canon.Bits(uint64(r.Verdicts), 1)),
		field("installed", canon.Bits(uint64(r.Installed), 1)), field("passing", canon.Bits(uint64(r.Passing), 1)),
		field("by", seq(ranks, func(i int) canon.Value { return verdictValue(&r.By[i]) })))
}

// waitsValue is a set of armed waits by name.
func waitsValue(mask uint8) canon.Value {
	var list []canon.Value
	for w := range settle.NumWaits {
		if mask>>w&1 != 0 {
			list = append(list, canon.Str(w.String()))
		}
	}
	return canon.Set(list...)
}

// messageValue is a message by its type, what it says, and the chunk that it is
// about.
func messageValue(kind v2Kind) canon.Value {
	name, says, _ := strings.Cut(v2KindNames[kind], " ")
	chunk := 0
	if kind >= v2Data && kind < v2Status {
		says, chunk = "", int(kind-v2Data)
	}
	return canon.Rec(field("type", canon.Str(name)), field("says", canon.Str(says)), field("chunk", canon.Int(int64(chunk))))
}

// netValue is the set of channels that are not empty.
func (w *v2World) netValue(s *V2State) canon.Value {
	var net []canon.Value
	for gi := range s.Net {
		for ci := range s.Net[gi] {
			for k := range s.Net[gi][ci] {
				for g := range s.Net[gi][ci][k] {
					for dir, c := range s.Net[gi][ci][k][g] {
						if c == 0 {
							continue
						}
						var list []canon.Value
						for ; c != 0; c = c.pop() {
							list = append(list, messageValue(c.head()))
						}
						net = append(net, canon.Rec(field("to", canon.Str([2]string{"CTX", "GEN"}[dir])),
							field("ctx", canon.Int(int64(k)+1)), field("gen", canon.Int(int64(g)+1)),
							field("genInc", canon.Int(int64(gi))), field("ctxInc", canon.Int(int64(ci))), field("msgs", canon.Seq(list...))))
					}
				}
			}
		}
	}
	return canon.Set(net...)
}

func (w *v2World) canon(s *V2State) (canon.Value, error) {
	c := w.at(s)
	var errs []error
	byCtx := func(f func(k int) canon.Value) canon.Value { return seq(c.Ctxs, f) }
	byGen := func(f func(g int) canon.Value) canon.Value { return seq(c.Gens, f) }
	num := func(n uint8) canon.Value { return canon.Int(int64(n)) }
	pool := func(row uint16) canon.Value {
		v, err := poolValue(w.pool.states[row])
		errs = append(errs, err)
		return v
	}
	l := s.Left
	lied, _ := flagSet(int64(s.Lied), lieNames, &errs)
	v := canon.Rec(
		field("ctx", byCtx(func(k int) canon.Value { return ctxParentValue(&s.Ctx[k], c.Gens, &errs) })),
		field("gen", byGen(func(g int) canon.Value { return genParentValue(&s.Gen[g], c.Ctxs, &errs) })),
		field("ctxWaits", byCtx(func(k int) canon.Value { return waitsValue(s.CtxWaits[k]) })),
		field("genWaits", byGen(func(g int) canon.Value { return waitsValue(s.GenWaits[g]) })),
		field("ctxRound", roundValue(&s.CtxRound, c.Ctxs)), field("genRound", roundValue(&s.GenRound, c.Gens)),
		field("call", byGen(func(g int) canon.Value {
			return byCtx(func(k int) canon.Value { return canon.Str(callNames[s.Call[g][k]]) })
		})),
		field("net", w.netValue(s)),
		field("edge", byCtx(func(k int) canon.Value {
			return byGen(func(g int) canon.Value {
				x := &s.Edge[k][g]
				set := func(m uint8) canon.Value { return canon.Bits(uint64(m), 0) }
				return canon.Rec(field("open", canon.Bool(x.Open)), field("seal", canon.Bool(x.Seal)), field("into", num(x.Into)), field("made", num(x.Made)),
					field("active", set(x.Active)), field("loose", set(x.Loose)), field("landed", set(x.Landed)), field("handed", set(x.Handed)))
			})
		})),
		field("ctxPool", byCtx(func(k int) canon.Value { return pool(s.CtxPool[k]) })),
		field("genPool", byGen(func(g int) canon.Value { return pool(s.GenPool[g]) })),
		field("published", byCtx(func(k int) canon.Value { return canon.Bool(s.Published[k]) })),
		field("boundTo", byCtx(func(k int) canon.Value { return num(s.BoundTo[k]) })),
		field("imported", byGen(func(g int) canon.Value { return canon.Bool(s.Imported[g]) })),
		field("leaseAsked", byGen(func(g int) canon.Value { return canon.Bool(s.LeaseAsked[g]) })),
		field("work", byGen(func(g int) canon.Value { return canon.Bool(s.Work[g]) })),
		field("ctxOutcomes", byCtx(func(k int) canon.Value { return num(s.CtxOutcomes[k]) })),
		field("genOutcomes", byGen(func(g int) canon.Value { return num(s.GenOutcomes[g]) })),
		field("ctxUnknown", byCtx(func(k int) canon.Value { return canon.Bool(s.CtxUnknown[k]) })),
		field("genUnknown", byGen(func(g int) canon.Value { return canon.Bool(s.GenUnknown[g]) })),
		field("ctxDown", canon.Bool(s.CtxDown)), field("genDown", canon.Bool(s.GenDown)),
		field("ctxInc", num(s.CtxInc)), field("genInc", num(s.GenInc)),
		field("ctxTold", canon.Bits(uint64(s.CtxTold), 1)), field("genTold", canon.Bits(uint64(s.GenTold), 1)),
		field("genQuiet", canon.Bits(uint64(s.GenQuiet), 1)),
		field("ctxRetried", byCtx(func(k int) canon.Value { return num(s.CtxRetried[k]) })),
		field("genRetried", byGen(func(g int) canon.Value { return num(s.GenRetried[g]) })),
		field("lied", lied), field("refused", canon.Bool(s.Refused)),
		field("overflow", canon.Bool(s.Overflow)), field("retrying", canon.Bool(s.Retrying)),
		field("crossed", canon.Bool(s.Crossed)), field("hasty", canon.Bool(s.Hasty)), field("alone", canon.Bool(s.Alone)), field("harmed", canon.Bool(s.Harmed)), field("cancelled", canon.Bool(s.Cancelled)),
		field("left", canon.Rec(field("drops", num(l.Drops)), field("dups", num(l.Dups)), field("reorders", num(l.Reorders)), field("dropNotices", num(l.DropNotices)),
			field("cancelGen", num(l.CancelGen)), field("cancelCtx", num(l.CancelCtx)), field("crashes", num(l.Crashes)),
			field("retries", num(l.Retries)), field("sendFails", num(l.SendFails)), field("writeFails", num(l.WriteFails)),
			field("releases", num(l.Releases)), field("verifyFails", num(l.VerifyFails)), field("rejects", num(l.Rejects)),
			field("mismatches", num(l.Mismatches)), field("refusals", num(l.Refusals)), field("denials", num(l.Denials)),
			field("roundFails", num(l.RoundFails)), field("doubts", num(l.Doubts)), field("strays", num(l.Strays)))),
	)
	return canon.Rec(field("case", canon.Int(int64(s.Case)+1)), field("world", v)), errors.Join(errs...)
}
