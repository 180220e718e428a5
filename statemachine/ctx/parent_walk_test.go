package ctx_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

var anyEvidence = []control.Evidence{0, control.NotStarted, control.SourceComplete, control.DestinationComplete, control.Unknown, control.Quiesced}

// drawInput draws any input, most of them plausible for two edges.
func drawInput(t *rapid.T, caps descriptor.Caps) ctx.ParentInput {
	in := ctx.ParentInput{
		Kind:     ctx.Event(rapid.IntRange(0, int(ctx.OnDoubt)+1).Draw(t, "kind")),
		Edge:     uint8(rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 200}).Draw(t, "edge")),
		Edges:    uint8(rapid.SampledFrom([]int{2, 2, 2, 1, 0, 9}).Draw(t, "edges")),
		Chunks:   uint16(rapid.SampledFrom([]int{2, 2, 1, 0, 65}).Draw(t, "chunks")),
		Count:    uint16(rapid.IntRange(0, 2).Draw(t, "count")),
		Match:    settle.Match(rapid.SampledFrom([]int{127, 127, 127, 127, 127, 0, 1, 63, 123, 95, 119, 31}).Draw(t, "match")),
		Evidence: rapid.SampledFrom(anyEvidence).Draw(t, "evidence"),
		Cause:    settle.Cause(rapid.IntRange(1, int(settle.BySibling)).Draw(t, "cause")),
		Wait:     settle.Wait(rapid.IntRange(0, int(settle.NumWaits)).Draw(t, "wait")),
		Contract: contract,
		Room:     rapid.IntRange(0, 9).Draw(t, "room") > 0,
		Again:    rapid.IntRange(0, 5).Draw(t, "again") == 0,
		PerChunk: rapid.Bool().Draw(t, "perChunk"),
		Caps:     caps,
	}
	in.Verdict = round.Verdict{
		Decision:  round.Decision(rapid.IntRange(0, int(round.Reduced)).Draw(t, "decision")),
		Row:       round.Row(rapid.SampledFrom([]int{0, 0, 0, int(round.RowMissing), int(round.RowConflict)}).Draw(t, "row")),
		Topology:  settle.Topology(rapid.IntRange(0, 3).Draw(t, "topology")),
		Cancelled: rapid.Bool().Draw(t, "cancelled"),
	}
	return in
}

// likely draws the input that an undisturbed attempt would see next.
func likely(t *rapid.T, p ctx.Parent, caps descriptor.Caps) (ctx.ParentInput, bool) {
	e := uint8(rapid.IntRange(0, 1).Draw(t, "on"))
	switch p.State() {
	case ctx.ParentAbsent:
		return publish(), true
	case ctx.ParentPublished:
		return open(e, 2, caps), true
	case ctx.ParentBound:
		switch p.Edge(e) {
		case ctx.EdgeAbsent:
			return open(e, 2, caps), true
		case ctx.EdgeBound:
			return on(ctx.OnPrepare), true
		case ctx.EdgeDecided:
			return on(ctx.OnBarrier), true
		case ctx.EdgeInFlight:
			if n := p.Posts(e); n.Made > n.Done+n.Failed+n.Released {
				return at(ctx.OnWritten, e), true
			}
			return at(ctx.OnPosted, e), true
		}
	case ctx.ParentReducing:
		if !p.Sealed(e) {
			return at(ctx.OnSealed, e), true
		}
		return message(ctx.OnTerminal, e, control.Quiesced), true
	}
	return ctx.ParentInput{}, false
}

// walker carries a parent through steps and checks each of them.
type walker struct {
	t              *rapid.T
	p              ctx.Parent
	tab            *ctx.Tables
	settled, ended int
	buf            []ctx.ParentEffect
	words          round.Contribution
}

func (w *walker) step(in ctx.ParentInput) bool {
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
		case ctx.DoSettle:
			w.settled++
			require.NotEqual(w.t, sm.Open, e.Disposition)
		case ctx.DoFree, ctx.DoProve:
			w.ended++
			require.True(w.t, next.Quiet(), "a lease ends on proof only")
		case ctx.DoContribute:
			w.words = round.Contribution{Intent: e.Intent, Evidence: e.Evidence}
		case ctx.DoSend:
			if e.Msg == control.TypeReady && e.Decision == control.DecisionNotReady && e.Evidence == control.NotStarted && e.Edge < 2 {
				require.NotContains(w.t, []ctx.EdgeState{ctx.EdgeDecided, ctx.EdgeInFlight, ctx.EdgeDraining}, next.Edge(e.Edge), "I5")
			}
		}
	}
	require.LessOrEqual(w.t, w.settled, 1, "one outcome")
	require.LessOrEqual(w.t, w.ended, 1, "one clean-up")
	for i := range uint8(ctx.MaxParentEdges) {
		if had := before.Evidence(i); had != settle.Missing && before.Edge(i) != ctx.EdgeAbsent && next.State() != ctx.ParentRetired {
			require.Equal(w.t, had, next.Evidence(i), "evidence is final")
		}
		if had := before.PeerEvidence(i); had != settle.Missing && next.Edges() > 0 {
			require.Equal(w.t, had, next.PeerEvidence(i), "the peer's first evidence is final")
		}
	}
	return true
}

// hold lets a round of this one rank decide.
func (w *walker) hold(absent bool) {
	v := round.View{Ranks: 1, X49: w.p.X49()}
	v.Phase, v.Committed = w.p.Phase()
	w.words = round.Contribution{}
	w.step(on(ctx.OnContribute))
	v.By[0] = w.words
	if absent {
		v.Absent = 1
	}
	w.step(ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Decide(&v)})
}

// finish lets time pass until nothing is owed any more.
func (w *walker) finish() {
	for range 40 {
		for _, k := range []settle.Wait{settle.ContextWait, settle.RequestWait, settle.ControlWait} {
			w.step(waited(k))
			w.hold(false)
		}
		for i := range w.p.Edges() {
			w.step(at(ctx.OnSealed, i))
			for p := w.p.Posts(i); p.Made > p.Done+p.Failed+p.Released; p = w.p.Posts(i) {
				w.step(at(ctx.OnWritten, i))
			}
		}
		if w.p.State().Terminal() || w.p.State() == ctx.ParentSuccess || w.p.State() == ctx.ParentRetired {
			return
		}
	}
}

func walkParent(t *rapid.T, tab *ctx.Tables) {
	caps := rapid.SampledFrom([]descriptor.Caps{0, x48, x49, x48 | x49}).Draw(t, "caps")
	w := &walker{t: t, tab: tab}
	n := rapid.IntRange(1, 80).Draw(t, "n")
	for range n {
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
	if w.p.State() == ctx.ParentAbsent {
		return
	}
	w.finish()
	require.Equal(t, 1, w.settled, "settled within its deadlines; in %v", w.p.State())
}

func TestParentWalks(t *testing.T) {
	spec.Covers(t, "KS-CTX-1", "KS-TIME-13", "KS-QUI-7", "KS-SLOT-3", "KS-SLOT-19", "KS-SET-1", "KS-SET-2")
	tab, err := ctx.LoadTables()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) { walkParent(t, tab) })
}

func FuzzParentWalks(f *testing.F) {
	tab, err := ctx.LoadTables()
	require.NoError(f, err)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { walkParent(t, tab) }))
}

// TestParentWithoutBits: without the bits an attempt takes the same steps whether or
// not inputs of the extensions reach it.
func TestParentWithoutBits(t *testing.T) {
	spec.Covers(t, "KS-REC-1", "KS-QUI-1", "KS-SEL-27")
	tab, err := ctx.LoadTables()
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
			if in.Kind == ctx.OnQuery || in.Evidence == control.Quiesced ||
				in.Kind == ctx.OnRound && (in.Verdict.Decision == round.EndDrain || in.Verdict.Topology == settle.Quiesced) {
				continue
			}
			for range rapid.IntRange(0, 2).Draw(t, "extra") {
				before := mixed.p
				switch rapid.IntRange(0, 1).Draw(t, "which") {
				case 0:
					mixed.step(message(ctx.OnQuery, in.Edge, 0))
				case 1:
					if before.State() != ctx.ParentPublished && before.State() != ctx.ParentAbsent {
						mixed.step(ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: round.EndDrain}})
					}
				}
				require.Equal(t, before, mixed.p)
			}
			a := plain.step(in)
			in.PerChunk = !in.PerChunk
			b := mixed.step(in)
			require.Equal(t, a, b)
			if a {
				require.True(t, slices.Equal(plain.buf, mixed.buf), "%v %v", plain.buf, mixed.buf)
			}
			plain.words, mixed.words = round.Contribution{}, round.Contribution{}
			q := mixed.p
			require.Equal(t, plain.p.State(), q.State())
			for i := range uint8(ctx.MaxParentEdges) {
				require.Equal(t, plain.p.Edge(i), q.Edge(i))
			}
		}
	})
}
