package gen_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

var anyEvidence = []control.Evidence{0, control.NotStarted, control.SourceComplete, control.DestinationComplete, control.Unknown, control.Quiesced}

// drawInput draws any input, most of them plausible for two edges.
func drawInput(t *rapid.T, caps descriptor.Caps) gen.ParentInput {
	in := gen.ParentInput{
		Kind:        gen.Event(rapid.IntRange(0, int(gen.OnPeerQuiet)+1).Draw(t, "kind")),
		Edge:        uint8(rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 200}).Draw(t, "edge")),
		Edges:       uint8(rapid.SampledFrom([]int{2, 2, 2, 1, 0, 9}).Draw(t, "edges")),
		Parts:       uint8(rapid.SampledFrom([]int{1, 2, 2, 0, 9}).Draw(t, "parts")),
		Part:        uint8(rapid.IntRange(0, 2).Draw(t, "part")),
		Value:       rapid.IntRange(0, 5).Draw(t, "value") > 0,
		Count:       uint16(rapid.SampledFrom([]int{2, 2, 2, 1, 0, 65}).Draw(t, "count")),
		Chunk:       uint16(rapid.IntRange(0, 2).Draw(t, "chunk")),
		Match:       settle.Match(rapid.SampledFrom([]int{127, 127, 127, 127, 127, 0, 1, 63, 123, 95, 119, 31}).Draw(t, "match")),
		Decision:    control.Decision(rapid.IntRange(1, 2).Draw(t, "ready")),
		Evidence:    rapid.SampledFrom(anyEvidence).Draw(t, "evidence"),
		State:       control.SourceState(rapid.IntRange(0, 6).Draw(t, "state")),
		Cause:       settle.Cause(rapid.IntRange(1, int(settle.BySibling)).Draw(t, "cause")),
		Wait:        settle.Wait(rapid.IntRange(0, int(settle.NumWaits)).Draw(t, "wait")),
		Contract:    goodContract,
		RetentionMS: 15000,
		Caps:        caps,
	}
	in.Verdict = round.Verdict{
		Decision:   round.Decision(rapid.IntRange(0, int(round.Reduced)).Draw(t, "decision")),
		Row:        round.Row(rapid.SampledFrom([]int{0, 0, 0, int(round.RowMissing), int(round.RowConflict)}).Draw(t, "row")),
		Topology:   settle.Topology(rapid.IntRange(0, 3).Draw(t, "topology")),
		Cancelled:  rapid.Bool().Draw(t, "cancelled"),
		AllReject:  rapid.Bool().Draw(t, "allReject"),
		AllUnset:   rapid.IntRange(0, 3).Draw(t, "allUnset") == 0,
		GenAttempt: uint64(rapid.IntRange(0, 1).Draw(t, "attempt")),
	}
	return in
}

// likely draws the input that an undisturbed attempt would see next.
func likely(t *rapid.T, p gen.Parent, caps descriptor.Caps) (gen.ParentInput, bool) {
	e := uint8(rapid.IntRange(0, 1).Draw(t, "on"))
	switch p.State() {
	case gen.ParentImported:
		return imported(2, caps), true
	case gen.ParentPrepared:
		if !p.Leased() {
			return granted, true
		}
	case gen.ParentAdmitted:
		return on(gen.OnPublish), true
	case gen.ParentPublishing:
		return at(gen.OnSent, e), true
	case gen.ParentOpenSent:
		if p.Edge(0) == gen.EdgeReadyAccepted && p.Edge(1) == gen.EdgeReadyAccepted {
			return on(gen.OnBarrier), true
		}
		return readyOn(e), true
	case gen.ParentInFlight:
		if p.Arrived(0) && p.Arrived(1) {
			return processed, true
		}
		if caps&x48 != 0 {
			return gen.ParentInput{Kind: gen.OnData, Edge: e, Count: 2, Chunk: uint16(rapid.IntRange(0, 1).Draw(t, "chunk")), Match: settle.Exact}, true
		}
		return at(gen.OnSync, e), true
	case gen.ParentCancelPending, gen.ParentCancelSent, gen.ParentReducing:
		return message(gen.OnTerminal, e, rapid.SampledFrom(anyEvidence).Draw(t, "evidence")), true
	}
	return gen.ParentInput{}, false
}

// walker carries a parent through steps and checks each of them.
type walker struct {
	t              *rapid.T
	p              gen.Parent
	tab            *gen.Tables
	settled, ended int
	buf            []gen.ParentEffect
	words          round.Contribution
}

func (w *walker) step(in gen.ParentInput) bool {
	before := w.p
	next, out, err := w.p.Step(in, w.buf[:0])
	if err != nil {
		require.Equal(w.t, before, next, "a refusal changes nothing")
		require.Empty(w.t, out)
		return false
	}
	require.NoError(w.t, w.tab.Explain(before, next, out))
	w.buf, w.p = out, next
	for _, e := range out {
		switch e.Kind {
		case gen.DoSettle:
			w.settled++
			require.NotEqual(w.t, sm.Open, e.Disposition)
		case gen.DoFree, gen.DoProve:
			w.ended++
			require.True(w.t, next.Quiet(), "a lease ends on proof only")
		case gen.DoContribute:
			w.words = round.Contribution{Intent: e.Intent, Evidence: e.Evidence, Publication: e.Publication, GenAttempt: 1}
		case gen.DoSend:
			if e.Msg == control.TypeCancel || e.Msg == control.TypeTerminal || e.Msg == control.TypeQuery {
				require.True(w.t, next.Proven(e.Edge), "KS-SEL-25")
			}
			require.NotEqual(w.t, gen.ParentUninstalled, next.State(), "KS-GEN-4")
		}
	}
	require.LessOrEqual(w.t, w.settled, 1, "one outcome")
	require.LessOrEqual(w.t, w.ended, 1, "one clean-up")
	for i := range uint8(gen.MaxParentEdges) {
		if had := before.Evidence(i); had != settle.Missing && next.State() != gen.ParentRetired {
			require.Equal(w.t, had, next.Evidence(i), "evidence is final")
		}
		if had := before.PeerEvidence(i); had != settle.Missing {
			require.Equal(w.t, had, next.PeerEvidence(i), "the source's first evidence is final")
		}
		require.True(w.t, next.Proven(i) || !before.Proven(i), "installation stays proven")
	}
	return true
}

// hold lets a round of this one rank decide.
func (w *walker) hold(absent bool) {
	v := round.View{Ranks: 1, X49: w.p.X49()}
	v.Phase, v.Committed = w.p.Phase()
	w.words = round.Contribution{}
	w.step(on(gen.OnContribute))
	v.By[0] = w.words
	if absent {
		v.Absent = 1
	}
	w.step(gen.ParentInput{Kind: gen.OnRound, Verdict: round.Decide(&v)})
}

// finish lets time pass until the attempt has its outcome.
func (w *walker) finish() {
	for range 40 {
		for i := range w.p.Edges() {
			w.step(at(gen.OnSent, i))
		}
		for _, k := range []settle.Wait{settle.AdmissionWait, settle.RequestWait, settle.ControlWait} {
			w.step(waited(k))
			w.hold(false)
		}
		for part := range uint8(gen.MaxParts) {
			w.step(gen.ParentInput{Kind: gen.OnProcessed, Part: part})
		}
		if w.p.State().Terminal() || w.p.State() == gen.ParentSuccess || w.p.State() == gen.ParentRetired {
			return
		}
	}
}

func walkParent(t *rapid.T, tab *gen.Tables) {
	caps := rapid.SampledFrom([]descriptor.Caps{0, x48, x49, x48 | x49}).Draw(t, "caps")
	w := &walker{t: t, tab: tab}
	for range rapid.IntRange(1, 80).Draw(t, "n") {
		switch rapid.IntRange(0, 5).Draw(t, "how") {
		case 0:
			w.step(drawInput(t, caps))
		case 1, 2:
			w.hold(rapid.IntRange(0, 30).Draw(t, "absent") == 0)
		default:
			if in, ok := likely(t, w.p, caps); ok {
				w.step(in)
			}
		}
	}
	w.finish()
	require.Equal(t, 1, w.settled, "settled within its deadlines; in %v", w.p.State())
}

func TestParentWalks(t *testing.T) {
	spec.Covers(t, "KS-GEN-1", "KS-GEN-4", "KS-GEN-9", "KS-SEL-25", "KS-TIME-13", "KS-SLOT-3", "KS-SLOT-19", "KS-SET-1")
	tab, err := gen.LoadTables()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) { walkParent(t, tab) })
}

func FuzzParentWalks(f *testing.F) {
	tab, err := gen.LoadTables()
	require.NoError(f, err)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { walkParent(t, tab) }))
}

// TestParentWithoutBits: without the bits an attempt takes the same steps whether or
// not inputs of the extensions reach it.
func TestParentWithoutBits(t *testing.T) {
	spec.Covers(t, "KS-REC-1", "KS-QUI-1", "KS-SEL-27")
	tab, err := gen.LoadTables()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		plain, mixed := &walker{t: t, tab: tab}, &walker{t: t, tab: tab}
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			in := drawInput(t, 0)
			if rapid.Bool().Draw(t, "likely") {
				if l, ok := likely(t, plain.p, 0); ok {
					in = l
				}
			}
			if in.Kind == gen.OnStatus || in.Kind == gen.OnData || in.Evidence == control.Quiesced ||
				in.Kind == gen.OnRound && (in.Verdict.Decision == round.EndDrain || in.Verdict.Topology == settle.Quiesced) {
				continue
			}
			for range rapid.IntRange(0, 2).Draw(t, "extra") {
				before := mixed.p
				switch rapid.IntRange(0, 3).Draw(t, "which") {
				case 0:
					require.False(t, mixed.step(gen.ParentInput{Kind: gen.OnStatus, Edge: in.Edge, State: control.StateSourceComplete, Match: settle.Exact}))
				case 1:
					require.False(t, mixed.step(gen.ParentInput{Kind: gen.OnData, Edge: in.Edge, Count: 1, Match: settle.Exact}))
				case 2:
					require.False(t, mixed.step(gen.ParentInput{Kind: gen.OnRound, Verdict: round.Verdict{Decision: round.EndDrain}}))
				case 3:
					mixed.step(waited(settle.SoftWait))
				}
				require.Equal(t, before, mixed.p)
			}
			a := plain.step(in)
			in.Contract, in.RetentionMS = settle.Contract(31), 1
			b := mixed.step(in)
			require.Equal(t, a, b)
			if a {
				require.True(t, slices.Equal(plain.buf, mixed.buf), "%v %v", plain.buf, mixed.buf)
			}
			require.Equal(t, plain.p, mixed.p)
		}
	})
}

// TestPairWithoutFaultIsTheSame: an undisturbed transfer takes the same rows with
// every combination of the bits; only the notice differs.
func TestPairWithoutFaultIsTheSame(t *testing.T) {
	spec.Covers(t, "KS-SEL-27")
	for seed := range uint64(50) {
		var want map[string]int
		for _, caps := range []descriptor.Caps{0, x48, x49, x48 | x49} {
			w := newPair(seed, pairConfig{ctxRanks: 1, genRanks: 1, chunks: 3, caps: caps, contract: goodContract, f: faults{delay: 20, slowWrite: 40}})
			w.run(60000)
			w.check(t, seed)
			if want == nil {
				want = w.rows
			}
			require.Equal(t, want, w.rows, "caps %x", uint64(caps))
		}
	}
}
