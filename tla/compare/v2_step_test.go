package compare

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/tlc"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// v2Case is one step of a machine: what it was in, the input, and the record [ok, p,
// eff] that must come out.
type v2Case struct {
	before, in, want canon.Value
	says             string
}

func rec(fields ...any) canon.Value {
	var list []canon.Field
	for i := 0; i < len(fields); i += 2 {
		list = append(list, canon.Field{Name: fields[i].(string), Value: asValue(fields[i+1])})
	}
	return canon.Rec(list...)
}

func asValue(x any) canon.Value {
	switch x := x.(type) {
	case canon.Value:
		return x
	case string:
		return canon.Str(x)
	case int:
		return canon.Int(int64(x))
	case bool:
		return canon.Bool(x)
	}
	panic(fmt.Sprintf("%T", x))
}

// differences asks TLC for step, an expression over s.before and s.in in module,
// of every case and returns those that differ from what is wanted, at most five.
func differences(t *testing.T, tt tlc.Tools, module, step string, cases []v2Case, replace map[string][]byte) []string {
	t.Helper()
	const atOnce = 1500 // more at once need more memory
	if len(cases) > atOnce {
		out := differences(t, tt, module, step, cases[:atOnce], replace)
		return append(out, differences(t, tt, module, step, cases[atOnce:], replace)...)
	}
	dir := t.TempDir()
	require.NoError(t, tla.Unpack(dir, replace))
	// TLC copes with many small constants better than with one large expression.
	var b strings.Builder
	fmt.Fprintf(&b, "---- MODULE Steps ----\nEXTENDS %s\n", module)
	const lot = 50
	lots := 0
	for i := 0; i < len(cases); i += lot {
		fmt.Fprintf(&b, "Lot%d == <<\n", lots)
		for j := i; j < min(i+lot, len(cases)); j++ {
			c := cases[j]
			sep := ","
			if j+1 == min(i+lot, len(cases)) {
				sep = ""
			}
			fmt.Fprintf(&b, " [n |-> %d, before |-> %s, in |-> %s, want |-> %s]%s\n", j, c.before, c.in, c.want, sep)
		}
		b.WriteString(">>\n")
		lots++
	}
	fmt.Fprintf(&b, "Right(s) == LET x == %s IN IF [ok |-> x.ok, p |-> x.p, eff |-> x.eff] = s.want THEN TRUE ELSE PrintT(\"differs \" \\o ToString(s.n) \\o \" \" \\o ToString(x))\n", step)
	b.WriteString("VARIABLE v\nInit == v = 0\nNext == v = 0 /\\ v' = 1\n")
	for i := range lots {
		fmt.Fprintf(&b, "ASSUME \\A i \\in DOMAIN Lot%d : Right(Lot%d[i])\n", i, i)
	}
	b.WriteString("====\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Steps.tla"), []byte(b.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Steps.cfg"), []byte("INIT Init\nNEXT Next\n"), 0o600))
	run, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	cmd := exec.CommandContext(run, tt.Java, "-Xmx1g", "-cp", tt.Jar, "tlc2.TLC", "-workers", "1", "-deadlock", "-metadir", t.TempDir(), "-config", "Steps.cfg", "Steps")
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	require.Contains(t, string(text), "Model checking completed", "TLC did not get through the steps: %v\n%s", err, text)
	var out []string
	for line := range strings.Lines(string(text)) {
		var n int
		if _, err := fmt.Sscanf(line, `"differs %d`, &n); err != nil || len(out) == 5 {
			continue
		}
		c := cases[n]
		out = append(out, fmt.Sprintf("%s\n before %s\n in     %s\n Go     %s\n TLA+   %s", c.says, c.before, c.in, c.want, line))
	}
	return out
}

// The small numbers of inputs by the names that the modules use.
var (
	ctxEvents = map[ctx.Event]string{ctx.OnPublish: "Publish", ctx.OnOpen: "Open", ctx.OnContribute: "Contribute", ctx.OnRound: "Round",
		ctx.OnPrepare: "Prepare", ctx.OnReject: "Reject", ctx.OnBarrier: "Barrier", ctx.OnPosted: "Posted", ctx.OnWritten: "Written",
		ctx.OnWriteFailed: "WriteFailed", ctx.OnReleased: "Released", ctx.OnSealed: "Sealed", ctx.OnCancel: "Cancel",
		ctx.OnCancelMessage: "CancelMessage", ctx.OnTerminal: "Terminal", ctx.OnReceipt: "Receipt", ctx.OnQuery: "Query",
		ctx.OnWait: "Wait", ctx.OnEpochChanged: "EpochChanged", ctx.OnDoubt: "Doubt"}
	v2Evidence = map[control.Evidence]string{0: "none", control.NotStarted: "NOT_STARTED", control.SourceComplete: "SOURCE_COMPLETE",
		control.DestinationComplete: "DESTINATION_COMPLETE", control.Unknown: "UNKNOWN", control.Quiesced: "QUIESCED"}
	v2Causes = [...]string{"none", "user", "shutdown", "admission-deadline", "context-deadline", "request-deadline", "control-deadline",
		"round", "peer", "peer-refusal", "peer-unknown", "mixture", "epoch", "protocol", "publish", "write", "verify", "ranks",
		"incompatible", "slot", "sibling"}
	v2Intents = [...]string{"none", "ADMIT", "CANCEL", "COMPLETE", "REJECT"}
	v2Parts   = [...]string{"request", "ticket", "attempt", "epochs", "ranks", "digest", "selection"}
	v2Proofs  = [...]string{"None", "NeverAdvertised", "NotStarted", "Written", "OwnWritesFinal", "WriterDead", "Settled", "Quiesced", "NewIncarnation"}
	v2States  = [...]string{"none", "NOT_STARTED", "IN_PROGRESS", "SOURCE_COMPLETE", "UNKNOWN", "QUIESCED"}
)

func bitNames(mask uint64, names []string) canon.Value {
	var list []canon.Value
	for i, n := range names {
		if mask>>i&1 != 0 {
			list = append(list, canon.Str(n))
		}
	}
	return canon.Set(list...)
}

func capsValue(c descriptor.Caps) canon.Value {
	var list []canon.Value
	if c.Has(descriptor.CapRecovery) {
		list = append(list, canon.Str("x48"))
	}
	if c.Has(descriptor.CapQuiescence) {
		list = append(list, canon.Str("x49"))
	}
	return canon.Set(list...)
}

func leaseValue(b slot.Binding) canon.Value {
	return rec("slot", int(b.Slot), "gen", int(b.Generation), "token", int(b.Token))
}

func waitValue(in settle.Wait, kind bool) string {
	if !kind {
		return "none"
	}
	return in.String()
}

func ctxInValue(in ctx.ParentInput) canon.Value {
	return rec("kind", ctxEvents[in.Kind], "edge", int(in.Edge)+1, "edges", int(in.Edges), "match", bitNames(uint64(in.Match), v2Parts[:]),
		"evidence", v2Evidence[in.Evidence], "cause", v2Causes[in.Cause], "wait", waitValue(in.Wait, in.Kind == ctx.OnWait),
		"contract", canon.Bits(uint64(in.Contract), 0), "room", in.Room, "again", in.Again, "perChunk", in.PerChunk, "chunks", int(in.Chunks),
		"chunk", int(in.Chunk), "count", int(in.Count), "caps", capsValue(in.Caps), "verdict", world.V2VerdictValue(in.Verdict),
		"binding", leaseValue(in.Binding))
}

// ctxEffectValue is an effect as the module has it; one that the module leaves out
// gives ok false.
func ctxEffectValue(e ctx.ParentEffect) (v canon.Value, ok bool) {
	edge := int(e.Edge) + 1
	send := func(msg, says string, chunk int) canon.Value {
		return rec("kind", "Send", "msg", msg, "edge", edge, "says", says, "chunk", chunk)
	}
	switch e.Kind {
	case ctx.DoPublish:
		v = rec("kind", "Publish")
	case ctx.DoContribute:
		v = rec("kind", "Contribute", "intent", v2Intents[e.Intent], "evidence", v2Evidence[e.Evidence])
	case ctx.DoInstall:
		v = rec("kind", "Install")
	case ctx.DoSend:
		switch e.Msg {
		case control.TypeReady:
			v = send("READY", "", 0)
			if e.Decision != control.DecisionReady {
				v = send("NOT_READY", v2Evidence[e.Evidence], 0)
			}
		case control.TypeTerminal:
			v = send("TERMINAL", v2Evidence[e.Evidence], 0)
		case control.TypeReceipt:
			v = send("RECEIPT", v2Evidence[e.Evidence], 0)
		case control.TypeStatus:
			v = send("STATUS", v2States[e.State], 0)
		case control.TypeDataComplete:
			v = send("DATA_COMPLETE", "", int(e.Chunk))
		default:
			v = send("none", "", 0)
		}
	case ctx.DoSync:
		v = rec("kind", "Sync", "edge", edge)
	case ctx.DoWrite:
		v = rec("kind", "Write", "edge", edge)
	case ctx.DoSeal:
		v = rec("kind", "Seal", "edge", edge)
	case ctx.DoFree:
		v = rec("kind", "Free", "proof", v2Proofs[e.Proof])
	case ctx.DoProve:
		v = rec("kind", "Prove", "proof", v2Proofs[e.Proof])
	case ctx.DoQuarantine:
		v = rec("kind", "Quarantine")
	case ctx.DoRestart:
		v = rec("kind", "Restart")
	case ctx.DoSettle:
		v = rec("kind", "Settle", "disposition", e.Disposition.String(), "cause", v2Causes[e.Cause])
	case ctx.DoArm:
		v = rec("kind", "Arm", "wait", e.Wait.String(), "step", int(e.Step))
	case ctx.DoDisarm:
		v = rec("kind", "Disarm", "wait", e.Wait.String())
	case ctx.DoTake, ctx.DoEnter, ctx.DoBind, ctx.DoCache, ctx.DoDrop, ctx.DoStray:
		return v, false
	}
	return v, true
}

// v2Verdicts are verdicts of every decision, with every row and topology that the
// machines tell apart.
func v2Verdicts() []round.Verdict {
	var out []round.Verdict
	for d := round.Wait; d <= round.KeepEvidence; d++ {
		for _, row := range []round.Row{round.NoRow, round.RowMissing, round.RowConflict, round.RowAdmit} {
			for _, flags := range []round.Verdict{{}, {Cancelled: true}, {AllReject: true, AllUnset: true}, {Cancelled: true, AllUnset: true}} {
				flags.Decision, flags.Row, flags.GenAttempt = d, row, 1
				out = append(out, flags)
			}
		}
	}
	for top := settle.Unknown; top <= settle.Quiesced; top++ {
		out = append(out, round.Verdict{Decision: round.Reduced, Topology: top}, round.Verdict{Decision: round.Reduced, Topology: top, Cancelled: true})
	}
	return out
}

// ctxInputs are the inputs of a walk: those that the worlds give, and more.
func ctxInputs(edges int, caps descriptor.Caps, chunks uint16, perChunk bool, con settle.Contract, lease slot.Binding) []ctx.ParentInput {
	in := []ctx.ParentInput{
		{Kind: ctx.OnPublish, Room: true, Contract: con, Binding: lease}, {Kind: ctx.OnPublish, Contract: con, Binding: lease},
		{Kind: ctx.OnContribute}, {Kind: ctx.OnPrepare}, {Kind: ctx.OnBarrier}, {Kind: ctx.OnEpochChanged},
		{Kind: ctx.OnReject, Cause: settle.ByIncompatible}, {Kind: ctx.OnDoubt, Cause: settle.ByProtocol}, {Kind: ctx.OnCancel, Cause: settle.ByUser},
	}
	for _, v := range v2Verdicts() {
		in = append(in, ctx.ParentInput{Kind: ctx.OnRound, Verdict: v})
	}
	for w := range settle.NumWaits {
		in = append(in, ctx.ParentInput{Kind: ctx.OnWait, Wait: w})
	}
	matches := []settle.Match{settle.Exact, settle.Exact &^ settle.SameAttempt, settle.Exact &^ settle.SameTicket, settle.Exact &^ settle.SameEpochs,
		settle.Exact &^ settle.SameSelection, settle.SameRequest, settle.Exact &^ (settle.SameAttempt | settle.SameEpochs)}
	for e := range uint8(edges) {
		for _, m := range matches {
			in = append(in, ctx.ParentInput{Kind: ctx.OnOpen, Edge: e, Match: m, Edges: uint8(edges), Chunks: chunks, Caps: caps, PerChunk: perChunk},
				ctx.ParentInput{Kind: ctx.OnCancelMessage, Edge: e, Match: m}, ctx.ParentInput{Kind: ctx.OnQuery, Edge: e, Match: m})
			for ev := range v2Evidence {
				in = append(in, ctx.ParentInput{Kind: ctx.OnTerminal, Edge: e, Match: m, Evidence: ev}, ctx.ParentInput{Kind: ctx.OnReceipt, Edge: e, Match: m, Evidence: ev})
			}
		}
		in = append(in, ctx.ParentInput{Kind: ctx.OnPosted, Edge: e, Count: 1}, ctx.ParentInput{Kind: ctx.OnSealed, Edge: e})
		for c := range chunks {
			for _, again := range []bool{false, true} {
				for _, k := range []ctx.Event{ctx.OnWritten, ctx.OnWriteFailed, ctx.OnReleased} {
					in = append(in, ctx.ParentInput{Kind: k, Edge: e, Chunk: c, Again: again})
				}
				in = append(in, ctx.ParentInput{Kind: ctx.OnWriteFailed, Edge: e, Chunk: c, Again: again, Count: 1})
			}
		}
	}
	return in
}

// ctxCases walks parents at random and collects n different steps. Inputs that change
// the parent are preferred, so that walks get far.
func ctxCases(t *testing.T, n int, seed uint64) []v2Case {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	seen := map[string]bool{}
	var out []v2Case
	for len(out) < n {
		edges := 1 + rng.IntN(2)
		caps := descriptor.Caps(0)
		if rng.IntN(2) == 0 {
			caps |= descriptor.CapRecovery
		}
		if rng.IntN(2) == 0 {
			caps |= descriptor.CapQuiescence
		}
		con := settle.Visible | settle.NoticeAfterData
		if rng.IntN(4) > 0 {
			con |= settle.SuccessQuiet
		}
		if rng.IntN(2) == 0 {
			con |= settle.ErrorQuiet
		}
		inputs := ctxInputs(edges, caps, uint16(1+rng.IntN(2)), rng.IntN(2) == 0, con, slot.Binding{Generation: 1, Token: 1})
		var helpful, others []ctx.ParentInput
		for _, in := range inputs {
			switch in.Kind {
			case ctx.OnPublish, ctx.OnContribute, ctx.OnPrepare, ctx.OnBarrier, ctx.OnPosted, ctx.OnWritten, ctx.OnSealed:
				helpful = append(helpful, in)
			case ctx.OnOpen:
				if in.Match == settle.Exact {
					helpful = append(helpful, in, in)
				}
			case ctx.OnRound:
				if d := in.Verdict.Decision; (d == round.GoOn || d == round.Commit) && in.Verdict.Row == round.RowAdmit {
					helpful = append(helpful, in)
				}
				if in.Verdict.Decision < round.KeepEvidence && rng.IntN(6) > 0 {
					continue
				}
			}
			others = append(others, in)
		}
		p := ctx.Parent{}
		calm := rng.IntN(30)
		for i := range 60 {
			in := others[rng.IntN(len(others))]
			if i < calm {
				for range 30 {
					in = helpful[rng.IntN(len(helpful))]
					if q, _, err := p.Step(in, nil); err == nil && q != p {
						break
					}
				}
			}
			if p.State() == ctx.ParentRetired && rng.IntN(3) == 0 {
				break
			}
			next, effects, err := p.Step(in, nil)
			c := v2Case{says: fmt.Sprintf("%v", ctxEvents[in.Kind])}
			before, e1 := world.V2CtxValue(p, edges)
			after, e2 := world.V2CtxValue(next, edges)
			require.NoError(t, e1)
			require.NoError(t, e2)
			var eff []canon.Value
			for _, e := range effects {
				if v, ok := ctxEffectValue(e); ok {
					eff = append(eff, v)
				}
			}
			c.before, c.in, c.want = before, ctxInValue(in), rec("ok", err == nil, "p", after, "eff", canon.Seq(eff...))
			if key := c.before.String() + c.in.String(); !seen[key] {
				seen[key] = true
				out = append(out, c)
			}
			p = next
		}
	}
	return out[:n]
}

// spread takes n cases, as evenly as there are some, from all states of the parent.
func spread(cases []v2Case, n int) (out []v2Case, states map[string]int) {
	by, states := map[string][]v2Case{}, map[string]int{}
	for _, c := range cases {
		st, _ := c.before.Get("state")
		by[st.String()] = append(by[st.String()], c)
	}
	for len(out) < n && len(by) > 0 {
		for _, st := range slices.Sorted(maps.Keys(by)) {
			list := by[st]
			out, states[st] = append(out, list[0]), states[st]+1
			if by[st] = list[1:]; len(list) == 1 {
				delete(by, st)
			}
		}
	}
	return out, states
}

// TestCtxStep holds CtxStep of V2Ctx.tla against ctx.Parent, step by step, and sees a
// module without one of its rules go red. KVSETTLE_STEPS=20000 makes it long.
func TestCtxStep(t *testing.T) {
	n := 600
	if s := os.Getenv("KVSETTLE_STEPS"); s != "" {
		_, err := fmt.Sscan(s, &n)
		require.NoError(t, err)
	}
	tt := tools(t)
	cases, states := spread(ctxCases(t, 8*n, 7), n)
	refused := 0
	for _, c := range cases {
		if ok, _ := c.want.Get("ok"); ok.Compare(canon.Bool(true)) != 0 {
			refused++
		}
	}
	t.Logf("%d steps, %d of them refused, by state %v", len(cases), refused, states)
	require.Len(t, states, 10, "every state of the parent")
	for _, d := range differences(t, tt, "V2Ctx", "CtxStep(s.before, s.in)", cases, nil) {
		t.Error(d)
	}
	text, err := tla.Files().ReadFile("V2CtxEdge.tla")
	require.NoError(t, err)
	broken := map[string][]byte{"V2CtxEdge.tla": replaced(t, text, `Arm("control-deadline", 0), `, "")}
	require.NotEmpty(t, differences(t, tt, "V2Ctx", "CtxStep(s.before, s.in)", cases, broken), "a lost effect must be seen")
}
