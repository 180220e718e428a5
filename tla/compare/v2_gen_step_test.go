package compare

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/wire/control"
	wireround "github.com/kvsettle/kvsettle/wire/round"
)

var (
	genEvents = map[gen.Event]string{gen.OnValidate: "Validate", gen.OnContribute: "Contribute", gen.OnRound: "Round",
		gen.OnGranted: "Granted", gen.OnDenied: "Denied", gen.OnPublish: "Publish", gen.OnSent: "Sent", gen.OnSendFailed: "SendFailed",
		gen.OnReady: "Ready", gen.OnCancelMessage: "CancelMessage", gen.OnTerminal: "Terminal", gen.OnReceipt: "Receipt",
		gen.OnStatus: "Status", gen.OnSync: "Sync", gen.OnData: "Data", gen.OnBarrier: "Barrier", gen.OnProcessed: "Processed",
		gen.OnCancel: "Cancel", gen.OnWait: "Wait", gen.OnEpochChanged: "EpochChanged", gen.OnDoubt: "Doubt", gen.OnPeerQuiet: "PeerQuiet"}
	genMessages   = map[control.Type]string{control.TypeOpen: "OPEN", control.TypeCancel: "CANCEL", control.TypeTerminal: "TERMINAL", control.TypeReceipt: "RECEIPT", control.TypeQuery: "QUERY"}
	v2Decisions   = map[control.Decision]string{0: "", control.DecisionReady: "READY", control.DecisionNotReady: "NOT_READY"}
	v2Publication = [...]string{"UNSET", "MAYBE_OBSERVABLE", "ACKED", "FAILED_INDETERMINATE"}
	v2Phases      = [...]string{"Admission", "Ready", "Data", "Settling"}
)

// genInValue is an input as the module has it.
func genInValue(in gen.ParentInput) canon.Value {
	return rec("kind", genEvents[in.Kind], "edge", int(in.Edge)+1, "edges", int(in.Edges), "parts", int(in.Parts), "part", int(in.Part),
		"value", in.Value, "match", bitNames(uint64(in.Match), v2Parts[:]), "decision", v2Decisions[in.Decision], "evidence", v2Evidence[in.Evidence],
		"state", v2States[in.State], "cause", v2Causes[in.Cause], "wait", waitValue(in.Wait, in.Kind == gen.OnWait),
		"contract", canon.Bits(uint64(in.Contract), 0), "chunk", int(in.Chunk), "count", int(in.Count), "caps", capsValue(in.Caps),
		"verdict", world.V2VerdictValue(in.Verdict), "binding", leaseValue(in.Binding))
}

// genEffectValue is an effect as the module has it; one that the module leaves out
// gives ok false.
func genEffectValue(e gen.ParentEffect) (v canon.Value, ok bool) {
	switch e.Kind {
	case gen.DoContribute:
		v = rec("kind", "Contribute", "intent", v2Intents[e.Intent], "evidence", v2Evidence[e.Evidence], "publication", v2Publication[e.Publication])
	case gen.DoSend:
		says := ""
		if e.Evidence != 0 || e.Msg == control.TypeTerminal || e.Msg == control.TypeReceipt {
			says = v2Evidence[e.Evidence]
		}
		v = rec("kind", "Send", "msg", genMessages[e.Msg], "edge", int(e.Edge)+1, "says", says, "again", e.Again)
	case gen.DoFree:
		v = rec("kind", "Free", "proof", v2Proofs[e.Proof])
	case gen.DoProve:
		v = rec("kind", "Prove", "proof", v2Proofs[e.Proof])
	case gen.DoSettle:
		v = rec("kind", "Settle", "disposition", e.Disposition.String(), "cause", v2Causes[e.Cause])
	case gen.DoArm:
		v = rec("kind", "Arm", "wait", e.Wait.String(), "step", int(e.Step))
	case gen.DoDisarm:
		v = rec("kind", "Disarm", "wait", e.Wait.String())
	case gen.DoTake, gen.DoEnter, gen.DoPublish, gen.DoCache, gen.DoClip, gen.DoDrop, gen.DoStray:
		return v, false
	default:
		plain := map[gen.Do]string{gen.DoLease: "Lease", gen.DoWithdraw: "Withdraw", gen.DoAdvertise: "Advertise", gen.DoInstall: "Install",
			gen.DoBegin: "Begin", gen.DoProcess: "Process", gen.DoQuarantine: "Quarantine", gen.DoAbandon: "Abandon", gen.DoRestart: "Restart"}
		v = rec("kind", plain[e.Kind])
	}
	return v, true
}

// genInputs are the inputs that the worlds give to a parent, and their neighbours.
func genInputs(c world.V2Case) []gen.ParentInput {
	n := uint8(c.Ctxs)
	in := []gen.ParentInput{
		{Kind: gen.OnContribute}, {Kind: gen.OnPublish}, {Kind: gen.OnBarrier}, {Kind: gen.OnEpochChanged},
		{Kind: gen.OnGranted, Binding: slot.Binding{Generation: 1, Token: 1}}, {Kind: gen.OnDenied, Cause: settle.BySlot},
		{Kind: gen.OnCancel, Cause: settle.ByUser}, {Kind: gen.OnCancel, Cause: settle.ByShutdown}, {Kind: gen.OnDoubt, Cause: settle.ByProtocol},
		{Kind: gen.OnProcessed, Value: true}, {Kind: gen.OnProcessed}, {Kind: gen.OnValidate, Cause: settle.ByIncompatible},
		{Kind: gen.OnValidate, Value: true, Edges: n, Parts: 1, Caps: c.Caps}, {Kind: gen.OnValidate, Value: true, Edges: n, Parts: 2, Caps: c.Caps},
		{Kind: gen.OnProcessed, Value: true, Part: 1},
	}
	for _, v := range v2Verdicts() {
		// Every decision as often as the others.
		for range 1 + 19*int(v.Decision/round.Reduced) {
			in = append(in, gen.ParentInput{Kind: gen.OnRound, Verdict: v})
		}
	}
	for w := range settle.NumWaits {
		in = append(in, gen.ParentInput{Kind: gen.OnWait, Wait: w})
	}
	for i := range n + 1 {
		in = append(in, gen.ParentInput{Kind: gen.OnSent, Edge: i}, gen.ParentInput{Kind: gen.OnSendFailed, Edge: i},
			gen.ParentInput{Kind: gen.OnSendFailed, Edge: i, Value: true}, gen.ParentInput{Kind: gen.OnPeerQuiet, Edge: i})
		for _, m := range []settle.Match{settle.Exact, settle.Exact, settle.Exact, settle.Exact &^ settle.SameEpochs, settle.SameRequest} {
			message := func(k gen.Event) gen.ParentInput { return gen.ParentInput{Kind: k, Edge: i, Match: m} }
			ready := message(gen.OnReady)
			ready.Decision, ready.Contract = control.DecisionReady, c.Contract
			in = append(in, ready, message(gen.OnCancelMessage), message(gen.OnSync))
			for ev := range v2Evidence {
				for _, k := range []gen.Event{gen.OnTerminal, gen.OnReceipt} {
					x := message(k)
					x.Evidence = ev
					in = append(in, x)
				}
				refusal := message(gen.OnReady)
				refusal.Decision, refusal.Evidence = control.DecisionNotReady, ev
				in = append(in, refusal)
			}
			for st := control.StateNotStarted; st <= control.StateQuiesced; st++ {
				x := message(gen.OnStatus)
				x.State = st
				in = append(in, x)
			}
			for chunk := range uint16(2) {
				for count := range uint16(3) {
					x := message(gen.OnData)
					x.Chunk, x.Count = chunk, count
					in = append(in, x)
				}
			}
		}
	}
	return in
}

// genParent is a parent that a world led to, with its case.
type genParent struct {
	p    gen.Parent
	in   world.V2Case
	from string
}

// genParents walks the worlds of all v2 models at random and collects the parents of
// GEN on the way.
func genParents(t *testing.T, rng *rand.Rand, walks int) []genParent {
	t.Helper()
	seen := map[genParent]bool{}
	var out []genParent
	for _, name := range world.V2Names() {
		cfg, ok := world.V2Size(name, "medium")
		require.True(t, ok)
		m, err := world.V2(cfg)
		require.NoError(t, err)
		var s, next world.V2State
		n := 0
		to := world.NewOut(func(_ world.Event, x *world.V2State) {
			if n++; rng.IntN(n) == 0 {
				next = *x
			}
		})
		for walk := range walks {
			s = m.Init[walk%len(m.Init)]
			from := fmt.Sprintf("%s, case %d", name, s.Case+1)
			for range 100 {
				n = 0
				m.Next(&s, to)
				if n == 0 {
					break
				}
				s = next
				for g := range cfg.Cases[s.Case].Gens {
					if x := (genParent{s.Gen[g], cfg.Cases[s.Case], from}); !seen[x] && !s.GenDown {
						seen[x] = true
						out = append(out, x)
					}
				}
			}
		}
	}
	return out
}

func genStepCase(t *testing.T, p gen.Parent, c world.V2Case, in gen.ParentInput, taken *[gen.NumRows]int) (v2Case, gen.Parent, bool) {
	t.Helper()
	next, effects, err := p.Step(in, nil)
	before, e1 := world.V2GenValue(p, c.Ctxs)
	after, e2 := world.V2GenValue(next, c.Ctxs)
	require.NoError(t, e1)
	require.NoError(t, e2)
	var eff []canon.Value
	for _, e := range effects {
		if e.Kind == gen.DoTake {
			taken[e.Row]++
		}
		if v, ok := genEffectValue(e); ok {
			eff = append(eff, v)
		}
	}
	return v2Case{before: before, in: genInValue(in), want: rec("ok", err == nil, "p", after, "eff", canon.Seq(eff...))}, next, err == nil
}

// genFacts is what the world asks a parent, as a case of the same shape.
func genFacts(t *testing.T, p gen.Parent, c world.V2Case) v2Case {
	t.Helper()
	before, err := world.V2GenValue(p, c.Ctxs)
	require.NoError(t, err)
	phase, committed := p.Phase()
	return v2Case{before: before, in: rec("kind", "Facts"), says: "facts",
		want: rec("ok", p.Pending(), "p", v2Phases[phase], "eff", canon.Seq(canon.Bool(committed), canon.Bool(p.MayPublish()), canon.Bool(p.Disposition() == sm.Open)))}
}

// decideCase is one round among random contributions.
func decideCase(rng *rand.Rand) v2Case {
	v := round.View{Phase: round.Phase(rng.IntN(4)), Committed: rng.IntN(3) == 0, X49: rng.IntN(2) == 0, Ranks: uint8(1 + rng.IntN(3))}
	if rng.IntN(4) == 0 {
		v.Absent = 1 << rng.IntN(int(v.Ranks))
	}
	evidence := []control.Evidence{0, control.NotStarted, control.NotStarted, control.SourceComplete, control.DestinationComplete, control.Unknown, control.Quiesced}
	alike := rng.IntN(2) == 0
	var by []canon.Value
	for r := range v.Ranks {
		c := &v.By[r]
		c.Intent = wireround.Intent(rng.IntN(5))
		c.Evidence = evidence[rng.IntN(len(evidence))]
		c.Publication = wireround.Publication(max(0, rng.IntN(6)-2))
		if r == 0 || rng.IntN(8) == 0 {
			c.GenAttempt = uint64(rng.IntN(3))
		}
		if r > 0 && alike {
			c.Intent, c.Evidence = v.By[0].Intent, v.By[0].Evidence
		}
		by = append(by, rec("intent", v2Intents[c.Intent], "evidence", v2Evidence[c.Evidence], "publication", v2Publication[c.Publication], "genAttempt", int(c.GenAttempt)))
	}
	return v2Case{before: rec("phase", v2Phases[v.Phase], "committed", v.Committed, "x49", v.X49, "absent", canon.Bits(uint64(v.Absent), 1), "by", canon.Seq(by...)),
		in: rec("kind", "Decide"), want: rec("ok", true, "p", world.V2VerdictValue(round.Decide(&v)), "eff", canon.Seq()), says: "decide"}
}

// TestGenStep holds GenStep of V2Gen.tla and Decide of V2Common.tla against gen.Parent
// and round.Decide, step by step, from parents that the worlds lead to, and sees
// modules without one of their rules go red. KVSETTLE_STEPS=20000 makes it long.
func TestGenStep(t *testing.T) {
	n := 1000
	if s := os.Getenv("KVSETTLE_STEPS"); s != "" {
		_, err := fmt.Sscan(s, &n)
		require.NoError(t, err)
	}
	tt := tools(t)
	rng := rand.New(rand.NewPCG(11, uint64(n)))
	parents := genParents(t, rng, 100+n/50)
	var taken [gen.NumRows]int
	var cases []v2Case
	seen, states, kinds, refused := map[string]bool{}, map[string]int{}, map[string]int{}, 0
	byState := map[gen.ParentState][]genParent{}
	for _, x := range parents {
		byState[x.p.State()] = append(byState[x.p.State()], x)
	}
	inputs := map[world.V2Case]map[gen.Event][]gen.ParentInput{}
	add := func(c v2Case) bool {
		key := c.before.String() + c.in.String()
		if seen[key] {
			return false
		}
		seen[key] = true
		cases = append(cases, c)
		return true
	}
	pick := func() (genParent, func() gen.ParentInput) {
		some := byState[gen.ParentState(rng.IntN(len(allGenStates())))]
		if len(some) == 0 {
			some = parents
		}
		x := some[rng.IntN(len(some))]
		if inputs[x.in] == nil {
			inputs[x.in] = map[gen.Event][]gen.ParentInput{}
			for _, in := range genInputs(x.in) {
				inputs[x.in][in.Kind] = append(inputs[x.in][in.Kind], in)
			}
		}
		return x, func() gen.ParentInput {
			for {
				if list := inputs[x.in][gen.Event(rng.IntN(int(gen.OnPeerQuiet)+1))]; len(list) > 0 {
					return list[rng.IntN(len(list))]
				}
			}
		}
	}
	take := func(x genParent, in gen.ParentInput) (next gen.Parent) {
		c, next, ok := genStepCase(t, x.p, x.in, in, &taken)
		c.says = x.from + ": " + genEvents[in.Kind]
		if add(c) {
			states[x.p.State().String()]++
			kinds[genEvents[in.Kind]]++
			if !ok {
				refused++
			}
		}
		if ok { // from here others go on
			byState[next.State()] = append(byState[next.State()], genParent{next, x.in, x.from + " and on"})
		}
		return next
	}
	// A third at random, then what takes a row of the tables that few have taken so far.
	for len(cases) < n/3 {
		x, draw := pick()
		for range 1 + rng.IntN(3) { // a few steps beyond the world
			in := draw()
			for tries := rng.IntN(20); tries > 0; tries-- {
				if q, _, err := x.p.Step(in, nil); err == nil && q != x.p {
					break
				}
				in = draw()
			}
			x.p = take(x, in)
		}
		if rng.IntN(4) == 0 {
			add(genFacts(t, x.p, x.in))
			add(decideCase(rng))
		}
	}
	for often := 1; len(cases) < n; often++ {
		for range 20_000 {
			x, draw := pick()
			in := draw()
			if _, effects, err := x.p.Step(in, nil); err == nil && takesRare(effects, &taken, often) && len(cases) < n {
				take(x, in)
			}
		}
	}
	missing := []string{}
	for r, k := range taken {
		if k == 0 {
			missing = append(missing, gen.Row(r).String())
		}
	}
	t.Logf("%d cases from %d parents, %d refused; states %v; inputs %v; rows not taken %v", len(cases), len(parents), refused, states, kinds, missing)
	require.LessOrEqual(t, len(missing), 2, "rows of the tables")
	require.Len(t, states, len(allGenStates()), "every state of the parent")
	require.Len(t, kinds, len(genEvents), "every input")
	const step = `CASE s.in.kind = "Facts" -> [ok |-> Pending(s.before), p |-> Phase(s.before), eff |-> <<Committed(s.before), MayPublish(s.before), s.before.result = "open">>]
  [] s.in.kind = "Decide" -> [ok |-> TRUE, p |-> Decide(s.before), eff |-> <<>>]
  [] OTHER -> GenStep(s.before, s.in)`
	for _, d := range differences(t, tt, "V2Gen, TLC", step, cases, nil) {
		t.Error(d)
	}
	edge, err := tla.Files().ReadFile("V2GenEdge.tla")
	require.NoError(t, err)
	common, err := tla.Files().ReadFile("V2Common.tla")
	require.NoError(t, err)
	only := func(decides bool) []v2Case {
		list := slices.DeleteFunc(slices.Clone(cases), func(c v2Case) bool { return (c.says == "decide") != decides })
		return list[:min(len(list), 400)]
	}
	red := func(name string, text []byte, some []v2Case) {
		require.NotEmpty(t, differences(t, tt, "V2Gen, TLC", step, some, map[string][]byte{name: text}), "a lost rule of %s must be seen", name)
	}
	red("V2GenEdge.tla", replaced(t, edge, "     \\/ ~e.tainted /\\ e.done\n", ""), only(false))
	red("V2Common.tla", replaced(t, common, "       [] v.absent # {} -> Verdict(v, \"round-missing\", EarlyRefusal(v))\n", ""), only(true))
}

// takesRare says that a row is among the effects that was taken less than often times.
func takesRare(effects []gen.ParentEffect, taken *[gen.NumRows]int, often int) bool {
	return slices.ContainsFunc(effects, func(e gen.ParentEffect) bool { return e.Kind == gen.DoTake && taken[e.Row] < often })
}

func allGenStates() []gen.ParentState {
	var out []gen.ParentState
	for s := gen.ParentImported; s <= gen.ParentRetired; s++ {
		out = append(out, s)
	}
	return out
}
