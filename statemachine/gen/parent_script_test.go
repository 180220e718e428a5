package gen_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// loadTables prepares the tables; seen counts the rows that were taken.
func loadTables(t testing.TB) *tableSet {
	tab, err := gen.LoadTables()
	require.NoError(t, err)
	return &tableSet{tab, map[string]int{}}
}

type tableSet struct {
	*gen.Tables
	seen map[string]int
}

func (s *tableSet) explain(before, after gen.Parent, out []gen.ParentEffect) error {
	for _, e := range out {
		if e.Kind == gen.DoTake {
			s.seen[e.Row.String()]++
		}
	}
	return s.Explain(before, after, out)
}

// rig drives one parent and remembers what it did.
type rig struct {
	t     testing.TB
	p     gen.Parent
	tab   *tableSet
	out   []gen.ParentEffect
	count map[gen.Do]int
}

func newRig(t testing.TB, tab *tableSet) *rig {
	return &rig{t: t, tab: tab, count: map[gen.Do]int{}}
}

func (r *rig) do(in gen.ParentInput) *rig {
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
func (r *rig) refused(req string, in gen.ParentInput) *rig {
	r.t.Helper()
	kept := []gen.ParentEffect{{Kind: gen.DoStray}}
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
		if e.Kind == gen.DoTake {
			got = append(got, e.Row.String())
		}
	}
	require.Equal(r.t, ids, got)
	return r
}

func (r *rig) in(s gen.ParentState) *rig {
	r.t.Helper()
	require.Equal(r.t, s, r.p.State(), "%v", r.p.State())
	return r
}

func (r *rig) edge(i uint8, s gen.EdgeState) *rig {
	r.t.Helper()
	require.Equal(r.t, s, r.p.Edge(i), "%v", r.p.Edge(i))
	return r
}

// has requires that the last step had an effect like e: kind, edge, message,
// evidence and repetition.
func (r *rig) has(e gen.ParentEffect) *rig {
	r.t.Helper()
	for _, o := range r.out {
		if o.Kind == e.Kind && o.Edge == e.Edge && o.Msg == e.Msg && o.Evidence == e.Evidence && o.Again == e.Again {
			return r
		}
	}
	require.Failf(r.t, "effect missing", "%+v in %+v", e, r.out)
	return r
}

func (r *rig) hasNot(k gen.Do) *rig {
	r.t.Helper()
	for _, o := range r.out {
		require.NotEqual(r.t, k, o.Kind, "%+v", r.out)
	}
	return r
}

// The inputs by short names.
func imported(edges uint8, caps descriptor.Caps) gen.ParentInput {
	return gen.ParentInput{Kind: gen.OnValidate, Value: true, Edges: edges, Parts: 1, Caps: caps}
}

func message(k gen.Event, edge uint8, e control.Evidence) gen.ParentInput {
	return gen.ParentInput{Kind: k, Edge: edge, Evidence: e, Match: settle.Exact, Decision: control.DecisionNotReady}
}

func readyOn(edge uint8) gen.ParentInput {
	return gen.ParentInput{Kind: gen.OnReady, Edge: edge, Match: settle.Exact, Decision: control.DecisionReady,
		Contract: goodContract, RetentionMS: 15000}
}

func decided(d round.Decision) gen.ParentInput {
	return gen.ParentInput{Kind: gen.OnRound, Verdict: round.Verdict{Decision: d, GenAttempt: 9}}
}

func cancelled(d round.Decision) gen.ParentInput {
	return gen.ParentInput{Kind: gen.OnRound, Verdict: round.Verdict{Decision: d, Cancelled: true}}
}

func unset(d round.Decision) gen.ParentInput {
	return gen.ParentInput{Kind: gen.OnRound, Verdict: round.Verdict{Decision: d, Cancelled: true, AllUnset: true}}
}

func rejected() gen.ParentInput {
	return gen.ParentInput{Kind: gen.OnRound, Verdict: round.Verdict{Decision: round.EndNotStarted, AllReject: true}}
}

func reducedTo(t settle.Topology) gen.ParentInput {
	return gen.ParentInput{Kind: gen.OnRound, Verdict: round.Verdict{Decision: round.Reduced, Topology: t}}
}

func missing(d round.Decision) gen.ParentInput {
	return gen.ParentInput{Kind: gen.OnRound, Verdict: round.Verdict{Decision: d, Row: round.RowMissing}}
}

func waited(w settle.Wait) gen.ParentInput { return gen.ParentInput{Kind: gen.OnWait, Wait: w} }

func on(k gen.Event) gen.ParentInput { return gen.ParentInput{Kind: k} }

func at(k gen.Event, edge uint8) gen.ParentInput {
	return gen.ParentInput{Kind: k, Edge: edge, Match: settle.Exact, Value: true}
}

var (
	userCancel = gen.ParentInput{Kind: gen.OnCancel, Cause: settle.ByUser}
	granted    = gen.ParentInput{Kind: gen.OnGranted, Binding: slot.Binding{Slot: 1, Generation: 3, Token: 5}}
	processed  = gen.ParentInput{Kind: gen.OnProcessed, Value: true}
)

// admitted brings a parent with edges to ADMISSION_DECIDED, opened to OPEN_SENT,
// flying to IN_FLIGHT, success to SUCCESS_COMPLETE.
func (r *rig) admitted(edges uint8, caps descriptor.Caps) *rig {
	r.t.Helper()
	return r.do(imported(edges, caps)).do(granted).do(on(gen.OnContribute)).do(decided(round.GoOn)).in(gen.ParentAdmitted)
}

func (r *rig) publishing(edges uint8, caps descriptor.Caps) *rig {
	r.t.Helper()
	return r.admitted(edges, caps).do(on(gen.OnPublish)).in(gen.ParentPublishing)
}

func (r *rig) opened(edges uint8, caps descriptor.Caps) *rig {
	r.t.Helper()
	r.publishing(edges, caps)
	for i := range edges {
		r.do(at(gen.OnSent, i))
	}
	return r.in(gen.ParentOpenSent)
}

func (r *rig) flying(edges uint8, caps descriptor.Caps) *rig {
	r.t.Helper()
	r.opened(edges, caps)
	for i := range edges {
		r.do(readyOn(i))
	}
	return r.do(on(gen.OnContribute)).do(decided(round.GoOn)).do(on(gen.OnBarrier)).in(gen.ParentInFlight)
}

func (r *rig) success(edges uint8, caps descriptor.Caps) *rig {
	r.t.Helper()
	r.flying(edges, caps)
	for i := range edges {
		if caps&x48 != 0 {
			r.do(gen.ParentInput{Kind: gen.OnData, Edge: i, Count: 1, Match: settle.Exact})
		} else {
			r.do(at(gen.OnSync, i))
		}
	}
	return r.do(processed).do(on(gen.OnContribute)).do(decided(round.Commit)).in(gen.ParentSuccess)
}
