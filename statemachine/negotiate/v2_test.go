package negotiate_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
)

const v2Caps = descriptor.CapCancel | descriptor.CapReject | descriptor.CapPeerCancel

func v2(mode descriptor.Mode) descriptor.Descriptor {
	return descriptor.Descriptor{Min: 1, Max: 1, Caps: v2Caps, Mode: mode, Schema: 2, ABI: 1}
}

// named gives an agent with base and d, with the token of its base.
func named(t require.TestingT, base string, d descriptor.Descriptor) string {
	d.Token = descriptor.Token(base)
	name, err := descriptor.Name(base, d)
	require.NoError(t, err)
	return name
}

func ranks(t require.TestingT, base string, n int, d descriptor.Descriptor) []string {
	var out []string
	for i := range n {
		out = append(out, named(t, fmt.Sprintf("%s-%d", base, i), d))
	}
	return out
}

const noDescriptor = "node_1_2_0"

// TestV2Order breaks one rule after the other; the earlier one always wins.
func TestV2Order(t *testing.T) {
	spec.Covers(t, "KS-SEL-18", "KS-SEL-26", "KS-SEL-28", "KS-DESC-21")
	on, off := v2(descriptor.Enabled), v2(descriptor.Baseline)
	good := ranks(t, "ours", 2, on)
	v1on := named(t, "v1", descriptor.Default(descriptor.Enabled, 1))
	v1off := named(t, "v1", descriptor.Default(descriptor.Baseline, 1))
	other, bit, abi := on, on, on
	other.Min, other.Max = 2, 2
	bit.Caps &^= descriptor.CapPeerCancel
	abi.ABI = 2
	malformed := "x__trtllm_protocol_v2__trtllm_protocol_end"
	peers := func(names ...string) []string { return names }
	p := func(base string, d descriptor.Descriptor) string { return named(t, base, d) }
	for _, c := range []struct {
		name         string
		ours, theirs []string
		reason       spec.Reason
		blame        negotiate.Who
		rank         int
		req          string
	}{
		{"nobody here", nil, peers(malformed), negotiate.NoPeers, negotiate.Nobody, -1, "KS-SEL-15"},
		{"nobody there", good, nil, negotiate.NoPeers, negotiate.Nobody, -1, "KS-SEL-15"},
		{"own legacy", peers(good[0], noDescriptor), peers(malformed), negotiate.LocalNoDescriptor, negotiate.Ours, 1, "KS-SEL-8"},
		{"own v1", peers(v1on), peers(malformed), negotiate.LocalNoDescriptor, negotiate.Ours, 0, "KS-SEL-8"},
		{"own malformed", peers(malformed), peers(malformed), negotiate.LocalNoDescriptor, negotiate.Ours, 0, "KS-SEL-8"},
		{"malformed", peers(good[0], p("o", off)), peers(noDescriptor, malformed), negotiate.PeerMalformed, negotiate.Theirs, 1, "KS-SEL-3"},
		{"own modes", peers(good[0], p("o", off)), peers(noDescriptor), negotiate.LocalProfile, negotiate.Ours, 1, "KS-SEL-8"},
		{"legacy", good, peers(p("o", off), noDescriptor), negotiate.PeerLegacy, negotiate.Theirs, 1, "KS-SEL-28"},
		{"v1 enabled", good, peers(p("o", off), v1on), negotiate.PeerLegacy, negotiate.Theirs, 1, "KS-SEL-28"},
		{"v1 baseline", good, peers(v1off), negotiate.PeerLegacy, negotiate.Theirs, 0, "KS-SEL-28"},
		{"mode", good, peers(p("z", other), p("o", off)), negotiate.PeerModeMismatch, negotiate.Theirs, 1, "KS-SEL-26"},
		{"version", good, peers(p("b", bit), p("a", abi), p("z", other)), negotiate.PeerVersion, negotiate.Theirs, 2, "KS-SEL-18"},
		{"own versions", peers(good[0], p("z", other)), good, negotiate.PeerVersion, negotiate.Ours, 1, "KS-SEL-18"},
		{"bit 2", good, peers(p("a", abi), p("b", bit)), negotiate.PeerNoControl, negotiate.Theirs, 1, "KS-SEL-18"},
		{"own bit 2", peers(good[0], p("b", bit)), peers(p("a", abi)), negotiate.PeerNoControl, negotiate.Ours, 1, "KS-SEL-18"},
		{"abi", good, peers(p("n", on), p("a", abi)), negotiate.ABIMismatch, negotiate.Theirs, 1, "KS-SEL-18"},
		{"own abi", peers(p("n", on), p("a", abi)), peers(p("n", on)), negotiate.ABIMismatch, negotiate.Ours, 1, "KS-SEL-18"},
		{"off and on", peers(p("o", off)), peers(noDescriptor, p("n", on)), negotiate.PeerModeMismatch, negotiate.Theirs, 1, "KS-SEL-26"},
		{"off and v1 on", peers(p("o", off)), peers(v1on), negotiate.PeerModeMismatch, negotiate.Theirs, 0, "KS-SEL-26"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := negotiate.Select(c.ours, c.theirs)
			require.Equal(t, c.reason, s.Reason)
			require.Equal(t, c.blame, s.Blame)
			require.Equal(t, c.rank, s.Rank)
			require.False(t, s.Control, "no fallback, no part")
			require.Zero(t, s.Common)
			require.ErrorIs(t, s.Err(), &sm.Refusal{Reason: c.reason})
			require.ErrorContains(t, s.Err(), c.req)
			session, _, err := negotiate.Propose(negotiate.AsGEN, c.ours, c.theirs, nil)
			require.Nil(t, session)
			require.Equal(t, s.Err(), err)
		})
	}
}

// TestV2Baseline: a baseline service with a v2 name serves everybody who is off and
// sends nobody a control message.
func TestV2Baseline(t *testing.T) {
	spec.Covers(t, "KS-SEL-7", "KS-SEL-28", "KS-DESC-21")
	ours := ranks(t, "ours", 2, v2(descriptor.Baseline))
	other := v2(descriptor.Baseline)
	other.Min, other.Max, other.ABI, other.Caps = 7, 9, 3, 0
	theirs := []string{named(t, "v1", descriptor.Default(descriptor.Baseline, 1)), named(t, "v2", other)}
	s := negotiate.Select(ours, theirs)
	require.Equal(t, negotiate.Selection{Rank: -1}, s)
	require.NoError(t, s.Err())
	s = negotiate.Select(ours, append(theirs, noDescriptor))
	require.Equal(t, negotiate.Selection{Rank: -1, HasLegacy: true}, s)
	session, _, err := negotiate.Propose(negotiate.AsCTX, ours, theirs, nil)
	require.NoError(t, err)
	require.Nil(t, session)
}

// TestV1MeetsV2: for a v1 reader a v2 name carries no descriptor (M04).
func TestV1MeetsV2(t *testing.T) {
	spec.Covers(t, "KS-DESC-20", "KS-SEL-7", "KS-SEL-28")
	on := descriptor.Default(descriptor.Enabled, 1)
	names := ranks(t, "v2", 2, v2(descriptor.Enabled))
	require.Equal(t, negotiate.ClassLegacy, negotiate.ValidatePeers(on, names).Class)
	require.Equal(t, negotiate.RefuseLocally, negotiate.GEN(negotiate.On, on, names).Action)
	require.Equal(t, negotiate.Reject, negotiate.CTX(negotiate.On, on, names).Action)
	off := descriptor.Default(descriptor.Baseline, 1)
	v := negotiate.ValidatePeers(off, names)
	require.Equal(t, negotiate.ClassOKLegacy, v.Class)
	require.True(t, v.HasLegacy)
}

// TestV2Common: ranges that differ on every rank, on both sides, give everybody the
// same version, and bits 48 and 49 only where all have them (M03).
func TestV2Common(t *testing.T) {
	spec.Covers(t, "KS-SEL-15", "KS-SEL-27", "KS-DESC-10", "KS-DESC-28")
	wide := v2(descriptor.Enabled)
	wide.Max = 5
	d := func(low, high uint16, caps descriptor.Caps) descriptor.Descriptor {
		d := wide
		d.Min, d.Max, d.Caps = low, high, v2Caps|caps
		return d
	}
	all := descriptor.CapRecovery | descriptor.CapQuiescence | 1<<60
	gen := []string{named(t, "g0", d(1, 4, all)), named(t, "g1", d(2, 9, all))}
	ctx := []string{named(t, "c0", d(1, 7, all)), named(t, "c1", d(3, 6, all))}
	s := negotiate.Select(gen, ctx)
	require.Equal(t, negotiate.Common{Version: 4, Caps: v2Caps | all, ABI: 1}, s.Common)
	require.True(t, s.Control && s.Common.Recovery() && s.Common.Quiescence())
	require.Equal(t, s.Common, negotiate.Select(ctx, gen).Common, "the same from the other side")
	for bit, other := range map[descriptor.Caps]func(negotiate.Common) bool{
		descriptor.CapRecovery: negotiate.Common.Recovery, descriptor.CapQuiescence: negotiate.Common.Quiescence,
	} {
		for i := range 4 {
			g, c := slices.Clone(gen), slices.Clone(ctx)
			side := [][]string{g, c}[i/2]
			p, _, _ := descriptor.ParseV2(side[i%2])
			p.Caps &^= bit
			side[i%2] = named(t, "less", p)
			require.False(t, other(negotiate.Select(g, c).Common))
		}
	}
}

// TestV2Fold compares Select with the plain definition over random topologies, and
// shows that no subset decides: every rank that asks gets the answer for all.
func TestV2Fold(t *testing.T) {
	spec.Covers(t, "KS-SEL-15", "KS-SEL-18")
	rapid.Check(t, func(rt *rapid.T) {
		one := func(side string, i int) descriptor.Descriptor {
			d := v2(descriptor.Enabled)
			d.Min = rapid.Uint16Range(1, 4).Draw(rt, "min")
			d.Max = rapid.Uint16Range(d.Min, 6).Draw(rt, "max")
			d.Caps = descriptor.Caps(rapid.Uint64Range(0, 15).Draw(rt, "caps")) | descriptor.CapPeerCancel
			if rapid.IntRange(0, 5).Draw(rt, "odd") == 0 {
				d.Caps &^= descriptor.CapPeerCancel
			}
			d.ABI = rapid.SampledFrom([]uint64{1, 1, 1, 1, 2}).Draw(rt, "abi")
			return d
		}
		var sides [2][]string
		var all []descriptor.Descriptor
		for s := range sides {
			for i := range rapid.IntRange(1, 3).Draw(rt, "ranks") {
				d := one("x", i)
				all = append(all, d)
				sides[s] = append(sides[s], named(rt, fmt.Sprintf("s%d-%d", s, i), d))
			}
		}
		low, high, caps, ok := uint16(0), uint16(99), ^descriptor.Caps(0), true
		for _, d := range all {
			low, high, caps = max(low, d.Min), min(high, d.Max), caps&d.Caps
			ok = ok && d.ABI == all[0].ABI
		}
		ok = ok && low <= high && caps.Has(descriptor.CapPeerCancel)
		a, b := negotiate.Select(sides[0], sides[1]), negotiate.Select(sides[1], sides[0])
		require.Equal(rt, ok, a.Control)
		require.Equal(rt, ok, a.Reason == "")
		require.Equal(rt, a.Common, b.Common)
		require.Equal(rt, a.Control, b.Control)
		if ok {
			require.Equal(rt, negotiate.Common{Version: high, Caps: caps, ABI: all[0].ABI}, a.Common)
		}
		// Every local rank knows a part of the endpoints and all derive the same.
		contributions := make([]negotiate.Contribution, len(sides[0]))
		for i := range contributions {
			contributions[i] = negotiate.Contribution{Own: sides[0][i], Reach: make([]string, len(sides[1]))}
		}
		for j, name := range sides[1] {
			knows := rapid.IntRange(0, len(sides[0])-1).Draw(rt, "knows")
			for i := range contributions {
				if i == knows || rapid.Bool().Draw(rt, "too") {
					contributions[i].Reach[j] = name
				}
			}
		}
		s, ours, theirs, err := negotiate.Preflight(contributions)
		require.Equal(rt, a, s)
		require.Equal(rt, a.Err(), err)
		require.Equal(rt, sides[0], ours)
		require.Equal(rt, sides[1], theirs)
	})
}

func TestGatherRefuses(t *testing.T) {
	spec.Covers(t, "KS-ID-16")
	c := func(own string, reach ...string) negotiate.Contribution {
		return negotiate.Contribution{Own: own, Reach: reach}
	}
	for name, bad := range map[string][]negotiate.Contribution{
		"counts":  {c("a", "x"), c("b", "x", "y")},
		"names":   {c("a", "x"), c("b", "z")},
		"unknown": {c("a", "x", ""), c("b", "x", "")},
	} {
		_, _, _, err := negotiate.Preflight(bad)
		require.ErrorIs(t, err, &sm.Refusal{Reason: settle.RankMismatch}, name)
		require.ErrorContains(t, err, "KS-ID-16")
	}
	for _, none := range [][]negotiate.Contribution{nil, {c("a")}} {
		_, _, err := negotiate.Gather(none)
		require.ErrorIs(t, err, &sm.Refusal{Reason: negotiate.NoPeers})
	}
	_, _, err := negotiate.Gather([]negotiate.Contribution{c("a", "", "y"), c("b", "x", "")})
	require.NoError(t, err, "what one rank does not reach another one does")
}

// world is a topology of two CTX and two GEN ranks, seen from both sides.
type world struct {
	ctx, gen []string
	edges    []identity.Edge
	ticket   identity.Ticket
}

func newWorld(t require.TestingT) world {
	return world{
		ctx: ranks(t, "ctx", 2, v2(descriptor.Enabled)), gen: ranks(t, "gen", 2, v2(descriptor.Enabled)),
		edges:  []identity.Edge{{Source: 0, Destination: 0}, {Source: 1, Destination: 1}},
		ticket: identity.Ticket{RequestID: 5, InstanceEpoch: 6, Attempt: 7, Direction: identity.CTXToGEN},
	}
}

// TestSessionAgrees: GEN's candidate and CTX's recomputation are the same, and a key
// of one matches the other in every part (M10).
func TestSessionAgrees(t *testing.T) {
	spec.Covers(t, "KS-SEL-21", "KS-ID-16", "KS-SEL-9")
	w := newWorld(t)
	g, sel, err := negotiate.Propose(negotiate.AsGEN, w.gen, w.ctx, w.edges)
	require.NoError(t, err)
	require.True(t, sel.Control)
	c, _, err := negotiate.Propose(negotiate.AsCTX, w.ctx, w.gen, w.edges)
	require.NoError(t, err)
	require.Equal(t, g.Digest(), c.Digest())
	require.Equal(t, g.Common(), c.Common())
	require.Equal(t, 2, c.Edges())
	require.True(t, g.Fits(w.ctx, w.gen))
	again := slices.Clone(w.gen)
	again[1] = named(t, "gen-1-again", v2(descriptor.Enabled))
	require.False(t, g.Fits(w.ctx, again), "another epoch: computed anew")
	require.False(t, g.Fits(w.ctx[:1], w.gen))
	parts := settle.SameEpochs | settle.SameRanks | settle.SameDigest | settle.SameSelection
	for i := range 2 {
		k := g.Key(i, w.ticket, 9)
		require.NoError(t, k.Check())
		require.Equal(t, parts, c.Match(negotiate.Claim{Key: &k, Sender: w.gen[i], Embedded: w.gen[i], Open: true, Version: 1}))
		require.Equal(t, parts, g.Match(negotiate.Claim{Key: &k, Sender: w.ctx[i], Version: 1, FromCTX: true}))
		require.Equal(t, settle.SameEpochs|settle.SameRanks,
			negotiate.Authentic(negotiate.Claim{Key: &k, Sender: w.gen[i], Embedded: w.gen[i], Open: true}, w.ctx, w.gen))
	}
	// Edges outside the ranks make no topology, on either side.
	_, _, err = negotiate.Propose(negotiate.AsCTX, w.ctx, w.gen, []identity.Edge{{Source: 2}})
	require.Error(t, err)
	_, _, err = negotiate.Propose(negotiate.AsCTX, w.ctx, w.gen, nil)
	require.Error(t, err)
}

// TestMatchParts changes one thing of a good OPEN at a time (M06, M23 to M25).
func TestMatchParts(t *testing.T) {
	spec.Covers(t, "KS-SEL-21", "KS-SEL-22", "KS-ID-2", "KS-ID-17")
	w := newWorld(t)
	c, _, err := negotiate.Propose(negotiate.AsCTX, w.ctx, w.gen, w.edges)
	require.NoError(t, err)
	const all = settle.SameEpochs | settle.SameRanks | settle.SameDigest | settle.SameSelection
	other := named(t, "stranger", v2(descriptor.Enabled))
	d := v2(descriptor.Enabled)
	d.Token = 77
	reborn := "gen-0" + string(descriptor.AppendRaw(nil, d))
	for name, x := range map[string]struct {
		change func(*negotiate.Claim)
		lacks  settle.Match
		auth   bool
	}{
		"nothing":             {func(*negotiate.Claim) {}, 0, true},
		"version":             {func(c *negotiate.Claim) { c.Version = 2 }, settle.SameSelection, true},
		"digest":              {func(c *negotiate.Claim) { c.Key.Digest[5] ^= 1 }, settle.SameDigest | settle.SameSelection, true},
		"source epoch":        {func(c *negotiate.Claim) { c.Key.SourceEpoch++ }, settle.SameEpochs, false},
		"destination epoch":   {func(c *negotiate.Claim) { c.Key.DestinationEpoch++ }, settle.SameEpochs, false},
		"source rank":         {func(c *negotiate.Claim) { c.Key.SourceRank = 1 }, settle.SameRanks | settle.SameEpochs, false},
		"no such rank":        {func(c *negotiate.Claim) { c.Key.SourceRank = 2 }, settle.SameRanks | settle.SameEpochs, false},
		"no such destination": {func(c *negotiate.Claim) { c.Key.DestinationRank = 1 << 31 }, settle.SameRanks | settle.SameEpochs, false},
		"sender":              {func(c *negotiate.Claim) { c.Sender = other }, settle.SameRanks, false},
		"no sender":           {func(c *negotiate.Claim) { c.Sender = "" }, settle.SameRanks, false},
		"embedded":            {func(c *negotiate.Claim) { c.Embedded = other }, settle.SameRanks, false},
		"nothing embedded":    {func(c *negotiate.Claim) { c.Embedded = "" }, settle.SameRanks, false},
		"sender reborn":       {func(c *negotiate.Claim) { c.Sender = reborn }, settle.SameEpochs, false},
		"sibling's edge": {func(c *negotiate.Claim) {
			c.Key.DestinationRank, c.Key.DestinationEpoch = 1, descriptor.Token("gen-1")
			c.Sender, c.Embedded = w.gen[1], w.gen[1]
		}, settle.SameRanks, true},
	} {
		t.Run(name, func(t *testing.T) {
			key := c.Key(0, w.ticket, 9)
			claim := negotiate.Claim{Key: &key, Sender: w.gen[0], Embedded: w.gen[0], Open: true, Version: 1}
			x.change(&claim)
			require.Equal(t, all&^x.lacks, c.Match(claim))
			require.Equal(t, x.auth, negotiate.Authentic(claim, w.ctx, w.gen).Has(settle.SameEpochs|settle.SameRanks))
		})
	}
	key := c.Key(0, w.ticket, 9)
	key.SourceEpoch++
	bad := c.WithWrongRules(wrong.IgnoreEpochs)
	claim := negotiate.Claim{Key: &key, Sender: w.gen[0], Version: 1}
	require.True(t, bad.Match(claim).Has(settle.SameEpochs), "the wrong rule breaks I2")
	require.False(t, c.Match(claim).Has(settle.SameEpochs), "and only the copy")
	require.Zero(t, testing.AllocsPerRun(20, func() { _ = c.Match(claim) }))
	require.Zero(t, testing.AllocsPerRun(20, func() { _ = negotiate.Select(w.ctx, w.gen) }))
}

// TestTravels: what may be sent before both sides have installed the selection.
func TestTravels(t *testing.T) {
	spec.Covers(t, "KS-SEL-23", "KS-SEL-24")
	types := []control.Type{control.TypeOpen, control.TypeReady, control.TypeCancel, control.TypeTerminal, control.TypeReceipt,
		control.TypeQuery, control.TypeStatus, control.TypeDataComplete}
	for _, m := range types {
		for _, d := range []control.Decision{control.DecisionReady, control.DecisionNotReady} {
			first := m == control.TypeOpen || m == control.TypeReady && d == control.DecisionNotReady
			require.True(t, negotiate.Travels(m, d, true))
			require.Equal(t, first, negotiate.Travels(m, d, false), "%v %v", m, d)
			proof := m == control.TypeTerminal || m == control.TypeReady && d == control.DecisionReady
			require.Equal(t, proof, negotiate.ProvesInstallation(m, d))
			require.False(t, first && proof)
		}
	}
}

func TestWhoString(t *testing.T) {
	for w, want := range map[negotiate.Who]string{negotiate.Nobody: "nobody", negotiate.Ours: "ours", negotiate.Theirs: "theirs", 9: "invalid"} {
		require.Equal(t, want, w.String())
	}
	require.ErrorContains(t, negotiate.Selection{Reason: negotiate.PeerMalformed, Rank: 1, Blame: negotiate.Theirs, Parse: descriptor.ClassToken}.Err(), "theirs rank 1 (P_TOKEN)")
}
