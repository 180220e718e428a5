package world

import (
	"errors"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// v1Leaves is what the canonical form of a v1 state leaves out.
var v1Leaves = [...]string{
	"gen.Machine: edges, cancels, expects, set (constants of the case), deadline's value (named by the wait), binding.Pool and Buffer (one pool per rank)",
	"ctx.Machine: edges, set (constants of the case), deadline's value (named by the wait), binding.Pool and Buffer (one pool per rank)",
	"slot.Pool: cfg (constant), counts (sums over entries)",
	"registry.Registry: limit, cacheMax, lifetime (constants), head (the order begins there), until (nothing of the world lets time pass there)",
}

var waitNames = [...]string{0: "none", waitAdmission: "admission", waitRequest: "request", waitControl: "control", waitContext: "context"}

func waitName(deadline int64) canon.Value {
	if deadline < 0 || deadline >= int64(len(waitNames)) {
		return canon.Int(deadline)
	}
	return canon.Str(waitNames[deadline])
}

var writeNames = [...]string{"none", "writing", "written", "ended", "orphan"}
var callNames = [...]string{"none", "calling", "visible"}

func field(name string, v canon.Value) canon.Field { return canon.Field{Name: name, Value: v} }

// bindingValue is a lease without its pool.
func bindingValue(v canon.Value) canon.Value {
	get := func(name string) canon.Value { f, _ := v.Get(name); return f }
	return canon.Rec(field("slot", get("Slot")), field("gen", get("Generation")), field("token", get("Token")))
}

func genValue(m *gen.Machine, errs *[]error) canon.Value {
	f := canon.Open(m)
	v := canon.Rec(
		field("state", canon.Str(gen.State(f.Int("state")).String())),
		field("result", canon.Str(sm.Disposition(f.Int("result")).String())),
		field("reason", f.Take("reason")),
		field("next", f.Take("next")),
		field("wanted", f.Take("wanted")),
		field("wantedBy", f.Take("wantedBy")),
		field("started", f.Take("started")),
		field("hasSlot", f.Take("hasSlot")),
		field("local", f.Take("local")),
		field("wait", waitName(f.Int("deadline"))),
		field("lease", bindingValue(f.Take("binding"))),
		field("asked", f.Set("asked")), field("ready", f.Set("ready")), field("refused", f.Set("refused")),
		field("synced", f.Set("synced")), field("quiet", f.Set("quiet")), field("tainted", f.Set("tainted")),
	)
	f.Leave("edges", "cancels", "expects", "set")
	*errs = append(*errs, f.Err())
	return v
}

func ctxValue(m *ctx.Machine, errs *[]error) canon.Value {
	f := canon.Open(m)
	v := canon.Rec(
		field("state", canon.Str(ctx.State(f.Int("state")).String())),
		field("result", canon.Str(sm.Disposition(f.Int("result")).String())),
		field("reason", f.Take("reason")),
		field("why", f.Take("why")),
		field("started", f.Take("started")),
		field("hasSlot", f.Take("hasSlot")),
		field("committed", f.Take("committed")),
		field("wanted", f.Take("wanted")),
		field("wait", waitName(f.Int("deadline"))),
		field("lease", bindingValue(f.Take("binding"))),
		field("bound", f.Set("bound")), field("stopped", f.Set("stopped")),
		field("written", f.Set("written")), field("ended", f.Set("ended")),
	)
	f.Leave("edges", "set")
	*errs = append(*errs, f.Err())
	return v
}

// poolValue is a pool as its slots and what it remembers beside them.
func poolValue(v canon.Value) (canon.Value, error) {
	get := func(v canon.Value, name string) canon.Value { f, _ := v.Get(name); return f }
	entries := get(v, "entries")
	var slots []canon.Value
	for i := range entries.Len() {
		_, e := entries.At(i)
		n, ok := get(e, "state").Int64()
		if !ok || e.Len() != 4 {
			return canon.Value{}, errors.New("canonical form of slot.Pool: an entry has other fields than state, gen, token, owner")
		}
		slots = append(slots, canon.Rec(field("state", canon.Str(slot.State(n).String())),
			field("gen", get(e, "gen")), field("token", get(e, "token")), field("owner", get(e, "owner"))))
	}
	if v.Len() != 6 {
		return canon.Value{}, errors.New("canonical form of slot.Pool: it has other fields than cfg, entries, counts, nextToken, unhealthy, closed")
	}
	return canon.Rec(field("slots", canon.Seq(slots...)), field("tokens", get(v, "nextToken")),
		field("unhealthy", get(v, "unhealthy")), field("closed", get(v, "closed"))), nil
}

// registryValue is a registry as the ids that it knows.
func registryValue(v canon.Value) (canon.Value, error) {
	get := func(name string) canon.Value { f, _ := v.Get(name); return f }
	if v.Len() != 9 {
		return canon.Value{}, errors.New("canonical form of registry.Registry: its fields have changed")
	}
	var active []canon.Value
	for i := range get("active").Len() {
		k, _ := get("active").At(i)
		active = append(active, k)
	}
	var ended []canon.Pair
	for i := range get("ended").Len() {
		k, t := get("ended").At(i)
		c, _ := t.Get("committed")
		ended = append(ended, canon.Pair{Key: k, Value: c})
	}
	head, _ := get("head").Int64()
	order := seq(get("order").Len()-int(head), func(i int) canon.Value { _, id := get("order").At(i + int(head)); return id })
	return canon.Rec(field("active", canon.Set(active...)), field("ended", canon.Fun(ended...)), field("order", order),
		field("maxGone", get("maxGone")), field("anyGone", get("anyGone"))), nil
}

// seq makes a sequence of n values.
func seq(n int, f func(i int) canon.Value) canon.Value {
	vals := make([]canon.Value, n)
	for i := range vals {
		vals[i] = f(i)
	}
	return canon.Seq(vals...)
}

func (w *v1World) canon(s *V1State) (canon.Value, error) {
	c := w.at(s)
	var errs []error
	byGen := func(f func(g int) canon.Value) canon.Value { return seq(c.Gens, f) }
	byCtx := func(f func(k int) canon.Value) canon.Value { return seq(c.Ctxs, f) }
	byReq := func(f func(r int) canon.Value) canon.Value { return seq(c.Reqs, f) }
	pool := func(row uint16) canon.Value {
		v, err := poolValue(w.pool(s).states[row])
		errs = append(errs, err)
		return v
	}
	edge := func(f func(k, g, r int) canon.Value) canon.Value {
		return byCtx(func(k int) canon.Value {
			return byGen(func(g int) canon.Value { return byReq(func(r int) canon.Value { return f(k, g, r) }) })
		})
	}
	gens := func(f func(g, r int) canon.Value) canon.Value {
		return byGen(func(g int) canon.Value { return byReq(func(r int) canon.Value { return f(g, r) }) })
	}
	ctxs := func(f func(k, r int) canon.Value) canon.Value {
		return byCtx(func(k int) canon.Value { return byReq(func(r int) canon.Value { return f(k, r) }) })
	}
	var net []canon.Value
	for bit := range v1Messages {
		if n := s.Net.count(bit); n > 0 {
			kind, k, g, r := v1Message(bit)
			net = append(net, canon.Rec(field("kind", canon.Str(v1KindNames[kind])), field("ctx", canon.Int(int64(k)+1)),
				field("gen", canon.Int(int64(g)+1)), field("req", canon.Int(int64(r)+1)), field("n", canon.Int(int64(n)))))
		}
	}
	l := s.Left
	budget := func(n uint8) canon.Value { return canon.Int(int64(n)) }
	v := canon.Rec(
		field("case", canon.Int(int64(s.Case)+1)),
		field("gen", gens(func(g, r int) canon.Value { return genValue(&s.Gen[g][r], &errs) })),
		field("ctx", ctxs(func(k, r int) canon.Value { return ctxValue(&s.Ctx[k][r], &errs) })),
		field("call", gens(func(g, r int) canon.Value {
			call := s.Call[g][r]
			return canon.Rec(field("state", canon.Str(callNames[call.State])), field("edge", canon.Int(int64(call.Edge))))
		})),
		field("genPool", byGen(func(g int) canon.Value { return pool(s.GenPool[g]) })),
		field("ctxPool", byCtx(func(k int) canon.Value { return pool(s.CtxPool[k]) })),
		field("registry", byCtx(func(k int) canon.Value {
			v, err := registryValue(w.regs.states[s.Reg[k]])
			errs = append(errs, err)
			return v
		})),
		field("tags", byGen(func(g int) canon.Value { return byCtx(func(k int) canon.Value { return w.tags.states[s.Tags[g][k]] }) })),
		field("target", gens(func(g, r int) canon.Value {
			t := s.Target[g][r]
			return canon.Rec(field("slot", canon.Int(int64(t.Slot))), field("gen", canon.Int(int64(t.Gen))))
		})),
		field("published", ctxs(func(k, r int) canon.Value { return canon.Bool(s.Published[k][r]) })),
		field("net", canon.Set(net...)),
		field("write", edge(func(k, g, r int) canon.Value { return canon.Str(writeNames[s.Write[k][g][r]]) })),
		field("stop", edge(func(k, g, r int) canon.Value { return canon.Bool(s.Stop[k][g][r]) })),
		field("said", edge(func(k, g, r int) canon.Value { return canon.Bits(uint64(s.Said[k][g][r]), 0) })),
		field("genOutcomes", gens(func(g, r int) canon.Value { return budget(s.GenOutcomes[g][r]) })),
		field("ctxOutcomes", ctxs(func(k, r int) canon.Value { return budget(s.CtxOutcomes[k][r]) })),
		field("early", gens(func(g, r int) canon.Value { return canon.Bool(s.Early[g][r]) })),
		field("cancelled", gens(func(g, r int) canon.Value { return canon.Bool(s.Cancelled[g][r]) })),
		field("genDown", byGen(func(g int) canon.Value { return canon.Bool(s.GenDown[g]) })),
		field("ctxDown", byCtx(func(k int) canon.Value { return canon.Bool(s.CtxDown[k]) })),
		field("genLost", byGen(func(g int) canon.Value { return byCtx(func(k int) canon.Value { return canon.Bool(s.GenLost[g][k]) }) })),
		field("genQuiet", byGen(func(g int) canon.Value { return byCtx(func(k int) canon.Value { return canon.Bool(s.GenQuiet[g][k]) }) })),
		field("ctxLost", byCtx(func(k int) canon.Value { return byGen(func(g int) canon.Value { return canon.Bool(s.CtxLost[k][g]) }) })),
		field("aged", byGen(func(g int) canon.Value { return canon.Bool(s.Aged[g]) })),
		field("refused", canon.Bool(s.Refused)),
		field("left", canon.Rec(field("drops", budget(l.Drops)), field("dups", budget(l.Dups)), field("cancelGen", budget(l.CancelGen)),
			field("cancelCtx", budget(l.CancelCtx)), field("crashes", budget(l.Crashes)), field("sendFails", budget(l.SendFails)),
			field("writeFails", budget(l.WriteFails)), field("verifyFails", budget(l.VerifyFails)), field("rejects", budget(l.Rejects)),
			field("denials", budget(l.Denials)), field("hits", budget(l.Hits)))),
	)
	return v, errors.Join(errs...)
}
