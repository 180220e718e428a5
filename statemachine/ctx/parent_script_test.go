package ctx_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

const (
	x48      = descriptor.CapRecovery
	x49      = descriptor.CapQuiescence
	contract = settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet
	exact    = settle.Exact
)

// loadTables prepares the tables; seen counts the rows that were taken.
func loadTables(t testing.TB) *tableSet {
	tab, err := ctx.LoadTables()
	require.NoError(t, err)
	return &tableSet{tab, map[string]int{}}
}

type tableSet struct {
	*ctx.Tables
	seen map[string]int
}

func (s *tableSet) explain(before, after ctx.Parent, out []ctx.ParentEffect) error {
	for _, e := range out {
		if e.Kind == ctx.DoTake {
			s.seen[e.Row.String()]++
		}
	}
	return s.Explain(before, after, out)
}

// rig drives one parent and remembers what it did.
type rig struct {
	t     testing.TB
	p     ctx.Parent
	tab   *tableSet
	out   []ctx.ParentEffect
	count map[ctx.Do]int
}

func newRig(t testing.TB, tab *tableSet) *rig {
	return &rig{t: t, tab: tab, count: map[ctx.Do]int{}}
}

func (r *rig) do(in ctx.ParentInput) *rig {
	r.t.Helper()
	next, out, err := r.p.Step(in, nil)
	require.NoError(r.t, err)
	require.NoError(r.t, r.tab.explain(r.p, next, out))
	for _, e := range out {
		r.count[e.Kind]++
	}
	r.p, r.out = next, out
	return r
}

// refused requires that the input is refused, with this requirement, and changes
// nothing.
func (r *rig) refused(req string, in ctx.ParentInput) *rig {
	r.t.Helper()
	kept := []ctx.ParentEffect{{Kind: ctx.DoStray}}
	next, out, err := r.p.Step(in, kept)
	var refusal *sm.Refusal
	require.True(r.t, errors.As(err, &refusal), "%v", err)
	require.Equal(r.t, req, refusal.Req, "%v", err)
	require.NotEmpty(r.t, refusal.Reason)
	require.Equal(r.t, r.p, next)
	require.Equal(r.t, kept, out)
	return r
}

// took requires that the last step took these rows, in this order.
func (r *rig) took(ids ...string) *rig {
	r.t.Helper()
	var got []string
	for _, e := range r.out {
		if e.Kind == ctx.DoTake {
			got = append(got, e.Row.String())
		}
	}
	require.Equal(r.t, ids, got)
	return r
}

func (r *rig) in(s ctx.ParentState) *rig {
	r.t.Helper()
	require.Equal(r.t, s, r.p.State(), "%v", r.p.State())
	return r
}

func (r *rig) edge(i uint8, s ctx.EdgeState) *rig {
	r.t.Helper()
	require.Equal(r.t, s, r.p.Edge(i), "%v", r.p.Edge(i))
	return r
}

// has requires that the last step had an effect like e: kind, edge, message,
// decision, evidence, state and repetition.
func (r *rig) has(e ctx.ParentEffect) *rig {
	r.t.Helper()
	for _, o := range r.out {
		if o.Kind == e.Kind && o.Edge == e.Edge && o.Msg == e.Msg && o.Decision == e.Decision &&
			o.Evidence == e.Evidence && o.State == e.State && o.Again == e.Again {
			return r
		}
	}
	require.Failf(r.t, "effect missing", "%+v in %+v", e, r.out)
	return r
}

func (r *rig) hasNot(k ctx.Do) *rig {
	r.t.Helper()
	for _, o := range r.out {
		require.NotEqual(r.t, k, o.Kind, "%+v", r.out)
	}
	return r
}

// The inputs by short names.
func publish() ctx.ParentInput {
	return ctx.ParentInput{Kind: ctx.OnPublish, Room: true, Contract: contract, Binding: slot.Binding{Slot: 1, Generation: 3, Token: 5}}
}

func open(edge, edges uint8, caps descriptor.Caps) ctx.ParentInput {
	return ctx.ParentInput{Kind: ctx.OnOpen, Edge: edge, Edges: edges, Chunks: 2, Caps: caps, Match: exact}
}

func message(k ctx.Event, edge uint8, e control.Evidence) ctx.ParentInput {
	return ctx.ParentInput{Kind: k, Edge: edge, Evidence: e, Match: exact}
}

func decided(d round.Decision) ctx.ParentInput {
	return ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: d}}
}

func cancelled(d round.Decision) ctx.ParentInput {
	return ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: d, Cancelled: true}}
}

func reducedTo(t settle.Topology) ctx.ParentInput {
	return ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: round.Reduced, Topology: t}}
}

func missing() ctx.ParentInput {
	return ctx.ParentInput{Kind: ctx.OnRound, Verdict: round.Verdict{Decision: round.EndUnknown, Row: round.RowMissing}}
}

func waited(w settle.Wait) ctx.ParentInput { return ctx.ParentInput{Kind: ctx.OnWait, Wait: w} }

func on(k ctx.Event) ctx.ParentInput { return ctx.ParentInput{Kind: k} }

func at(k ctx.Event, edge uint8) ctx.ParentInput {
	return ctx.ParentInput{Kind: k, Edge: edge, Count: 1}
}

var userCancel = ctx.ParentInput{Kind: ctx.OnCancel, Cause: settle.ByUser}

// bound brings a parent with edges to BOUND; ready to IN_FLIGHT.
func (r *rig) bound(edges uint8, caps descriptor.Caps) *rig {
	r.t.Helper()
	r.do(publish())
	for i := range edges {
		r.do(open(i, edges, caps))
	}
	return r.do(on(ctx.OnContribute)).do(decided(round.GoOn)).in(ctx.ParentBound)
}

func (r *rig) installed(edges uint8, caps descriptor.Caps) *rig {
	r.t.Helper()
	return r.bound(edges, caps).do(on(ctx.OnPrepare)).do(on(ctx.OnContribute)).do(decided(round.GoOn))
}

func (r *rig) flying(edges uint8, caps descriptor.Caps) *rig {
	r.t.Helper()
	return r.installed(edges, caps).do(on(ctx.OnBarrier))
}

// written writes an edge completely.
func (r *rig) written(edge uint8) *rig {
	r.t.Helper()
	r.do(ctx.ParentInput{Kind: ctx.OnPosted, Edge: edge, Count: 2})
	return r.do(at(ctx.OnWritten, edge)).do(at(ctx.OnWritten, edge))
}

func (r *rig) success(edges uint8, caps descriptor.Caps) *rig {
	r.t.Helper()
	r.flying(edges, caps)
	for i := range edges {
		r.written(i)
	}
	return r.do(on(ctx.OnContribute)).do(decided(round.Commit)).in(ctx.ParentSuccess)
}
