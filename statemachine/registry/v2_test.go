package registry_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/identity"
)

const session = 600

// settings in a clock of small numbers: lifetime 40, retirement 60 after the last
// message.
var settings = settle.Settings{Admission: 30, Context: 60, Request: 100, Soft: 25, Control: 20,
	RetryFirst: 1, RetryMax: 8, Queue: 10, Replay: 10, Retention: 150}

func ctxRegistry(t testing.TB, active, cache int) *registry.Tickets {
	t.Helper()
	r, err := registry.NewTickets(registry.Config{Session: session, Active: active, Cache: cache, Settings: settings})
	require.NoError(t, err)
	return r
}

func genRegistry(t testing.TB, active, cache int) *registry.Tickets {
	t.Helper()
	r, err := registry.NewTickets(registry.Config{Active: active, Cache: cache, Settings: settings})
	require.NoError(t, err)
	return r
}

func ticket(n uint64) identity.Ticket {
	return identity.Ticket{RequestID: 5, InstanceEpoch: session, Attempt: n, Direction: identity.CTXToGEN}
}

func attempt(gen uint64, edges uint8) *registry.Attempt {
	a := &registry.Attempt{GenAttempt: gen, Digest: [32]byte{1}, Count: edges}
	for i := range min(edges, registry.MaxEdges) {
		a.Edges[i] = registry.Edge{SourceRank: 0, DestinationRank: uint32(i), SourceEpoch: 10, DestinationEpoch: 20 + uint64(i)}
	}
	return a
}

func key(n, gen uint64, edge uint32) *identity.TransferKey {
	return &identity.TransferKey{Ticket: ticket(n), GenAttempt: gen, DestinationRank: edge,
		SourceEpoch: 10, DestinationEpoch: 20 + uint64(edge), Digest: [32]byte{1}}
}

func isRefusal(t testing.TB, err error, reason spec.Reason, req string) {
	t.Helper()
	require.ErrorIs(t, err, &sm.Refusal{Reason: reason})
	require.ErrorContains(t, err, req)
}

func TestNewTickets(t *testing.T) {
	spec.Covers(t, "KS-REG-17", "KS-TIME-8")
	for _, c := range [][2]int{{0, 1}, {1, 0}, {registry.MaxEntries + 1, 1}, {1, registry.MaxEntries + 1}} {
		_, err := registry.NewTickets(registry.Config{Active: c[0], Cache: c[1], Settings: settings})
		isRefusal(t, err, sm.BadRequest, "KS-TIME-8")
	}
	_, err := registry.NewTickets(registry.Config{Active: 1, Cache: 1})
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	r := ctxRegistry(t, 1, 1)
	require.Zero(t, r.Counts())
	require.Equal(t, registry.Hit{Edge: registry.NoEdge, Evidence: control.Unknown}, r.Look(key(1, 1, 0)), "a new process knows nothing")
	limits, err := spec.LoadTable("limits")
	require.NoError(t, err)
	for _, name := range []string{"active-limit", "terminal-cache"} {
		for _, row := range limits.Rows {
			if row.Cells[0] == name {
				require.Equal(t, "1", row.Cells[3])
				require.Equal(t, "16777216", row.Cells[4])
			}
		}
	}
	require.Equal(t, 16777216, registry.MaxEntries)
}

// TestOnlyAnExactHitAuthorises changes one part of the key at a time (I1, I2, I3,
// I12; M21 to M25).
func TestOnlyAnExactHitAuthorises(t *testing.T) {
	spec.Covers(t, "KS-REG-1", "KS-REG-20", "KS-ID-1", "KS-ID-2", "KS-ID-3", "KS-ID-17")
	r := ctxRegistry(t, 4, 4)
	require.NoError(t, r.Publish(ticket(1), 11, 0))
	require.False(t, r.Look(key(1, 7, 0)).Authorises(), "published is not bound")
	require.Equal(t, settle.SameRequest|settle.SameTicket|settle.SameAttempt, r.Look(key(1, 7, 0)).Match)
	require.NoError(t, r.Bind(ticket(1), attempt(7, 2), 0))
	h := r.Look(key(1, 7, 1))
	require.True(t, h.Authorises())
	require.Equal(t, registry.Hit{Where: registry.InActive, ID: 11, Edge: 1, Phase: registry.Bound, Match: settle.Exact}, h)
	for name, c := range map[string]struct {
		change func(k *identity.TransferKey)
		lacks  settle.Match
	}{
		"request":           {func(k *identity.TransferKey) { k.Ticket.RequestID++ }, settle.Exact},
		"ctx attempt":       {func(k *identity.TransferKey) { k.Ticket.Attempt++ }, settle.Exact},
		"session":           {func(k *identity.TransferKey) { k.Ticket.InstanceEpoch++ }, settle.Exact},
		"direction":         {func(k *identity.TransferKey) { k.Ticket.Direction = 2 }, settle.Exact},
		"gen attempt":       {func(k *identity.TransferKey) { k.GenAttempt++ }, settle.SameAttempt},
		"source epoch":      {func(k *identity.TransferKey) { k.SourceEpoch++ }, settle.SameEpochs},
		"destination epoch": {func(k *identity.TransferKey) { k.DestinationEpoch++ }, settle.SameEpochs},
		"rank":              {func(k *identity.TransferKey) { k.SourceRank++ }, settle.SameRanks | settle.SameEpochs},
		"digest":            {func(k *identity.TransferKey) { k.Digest[9]++ }, settle.SameDigest | settle.SameSelection},
	} {
		k := key(1, 7, 1)
		c.change(k)
		h := r.Look(k)
		require.False(t, h.Authorises(), name)
		require.Equal(t, settle.Exact&^c.lacks, h.Match, name)
	}
	// Ended: the same key is answered and authorises nothing.
	_, err := r.End(ticket(1), &registry.Ending{Kind: registry.Settled, Evidence: [8]control.Evidence{control.SourceComplete}}, 1, nil)
	require.NoError(t, err)
	h = r.Look(key(1, 7, 0))
	require.Equal(t, registry.InCache, h.Where)
	require.Equal(t, settle.Exact, h.Match)
	require.False(t, h.Authorises())
	require.Equal(t, control.SourceComplete, h.Evidence)
	require.Equal(t, control.Unknown, r.Look(key(1, 7, 1)).Evidence, "nothing was fixed for this edge")
	require.Equal(t, control.Unknown, r.Look(key(1, 8, 0)).Evidence, "another attempt learns nothing")
}

func TestAdmissionIsBounded(t *testing.T) {
	spec.Covers(t, "KS-REG-2", "KS-REG-3", "KS-TIME-18")
	r := ctxRegistry(t, 2, 1)
	require.NoError(t, r.Publish(ticket(1), 1, 0))
	require.NoError(t, r.Publish(ticket(2), 2, 0))
	for range 3 {
		isRefusal(t, r.Publish(ticket(3), 3, 0), sm.RegistryFull, "KS-REG-2")
	}
	require.Equal(t, registry.Counts{Active: 2, Refused: 3}, r.Counts())
	require.Equal(t, registry.Nowhere, r.Look(key(3, 1, 0)).Where)
	// Long after every deadline the entries are still there (KS-REG-3).
	require.Len(t, r.Expire(1000, nil), 2)
	require.Empty(t, r.Sweep(1000, nil))
	isRefusal(t, r.Publish(ticket(3), 3, 1000), sm.RegistryFull, "KS-REG-2")
	_, err := r.End(ticket(1), &registry.Ending{Kind: registry.NoPeer}, 1000, nil)
	require.NoError(t, err)
	require.NoError(t, r.Publish(ticket(3), 3, 1000))
}

func TestTicketsAreUsedOnce(t *testing.T) {
	spec.Covers(t, "KS-ID-7", "KS-ID-8", "KS-REG-17")
	r := ctxRegistry(t, 8, 1)
	one, err := r.Mint(5)
	require.NoError(t, err)
	require.Equal(t, ticket(1), one)
	two, err := r.Mint(5)
	require.NoError(t, err)
	require.Equal(t, ticket(2), two, "the same request id, another attempt")
	require.NoError(t, r.Publish(one, 1, 0))
	isRefusal(t, r.Publish(one, 2, 0), sm.DuplicateID, "KS-ID-7")
	other := one
	other.InstanceEpoch++
	isRefusal(t, r.Publish(other, 1, 0), settle.StaleEpoch, "KS-REG-17")
	require.Error(t, r.Publish(identity.Ticket{}, 1, 0))
	require.NoError(t, r.Bind(one, attempt(7, 1), 0))
	isRefusal(t, r.Bind(one, attempt(8, 1), 0), settle.TicketBound, "KS-ID-8")
	isRefusal(t, r.Bind(one, attempt(7, 1), 0), settle.TicketBound, "KS-ID-8")
	isRefusal(t, r.Publish(one, 2, 0), settle.TicketBound, "KS-ID-8")
	_, err = r.End(one, &registry.Ending{Kind: registry.Settled}, 0, nil)
	require.NoError(t, err)
	isRefusal(t, r.Publish(one, 2, 0), settle.TicketBound, "KS-ID-8")
	require.Len(t, r.Sweep(1000, nil), 1)
	isRefusal(t, r.Publish(one, 2, 1000), sm.DuplicateID, "KS-ID-7") // also after it was forgotten
	require.NoError(t, r.Publish(two, 2, 1000))
	_, err = genRegistry(t, 1, 1).Mint(5)
	isRefusal(t, err, sm.WrongState, "KS-REG-20")
}

func TestAttemptsOfGEN(t *testing.T) {
	spec.Covers(t, "KS-REG-20", "KS-ID-8", "KS-ID-9", "KS-ID-10")
	r := genRegistry(t, 4, 4)
	isRefusal(t, r.Publish(ticket(1), 1, 0), sm.WrongState, "KS-REG-20")
	for _, bad := range []*registry.Attempt{attempt(0, 1), attempt(1, 0), attempt(1, 9)} {
		isRefusal(t, r.Admit(ticket(1), bad, 1, 0), sm.BadRequest, "KS-ID-9")
	}
	twins := attempt(1, 2)
	twins.Edges[1] = twins.Edges[0]
	isRefusal(t, r.Admit(ticket(1), twins, 1, 0), sm.BadRequest, "KS-REG-20")
	require.NoError(t, r.Admit(ticket(1), attempt(7, 1), 1, 0))
	isRefusal(t, r.Admit(ticket(1), attempt(8, 1), 2, 0), settle.TicketBound, "KS-ID-8")
	isRefusal(t, r.Bind(ticket(1), attempt(8, 1), 0), sm.WrongState, "KS-REG-20")
	// An attempt that never opened leaves the ticket to another one.
	gone, err := r.End(ticket(1), &registry.Ending{Kind: registry.NeverOpened}, 0, nil)
	require.NoError(t, err)
	require.Empty(t, gone)
	require.Zero(t, r.Counts())
	require.NoError(t, r.Admit(ticket(1), attempt(8, 1), 2, 0))
	// One that may have opened does not.
	require.NoError(t, r.Advance(ticket(1), registry.Bound, 1))
	_, err = r.End(ticket(1), &registry.Ending{Kind: registry.NeverOpened}, 1, nil)
	isRefusal(t, err, sm.WrongState, "KS-CTX-1")
	_, err = r.End(ticket(1), &registry.Ending{Kind: registry.Settled}, 1, nil)
	require.NoError(t, err)
	isRefusal(t, r.Admit(ticket(1), attempt(9, 1), 3, 1), settle.TicketBound, "KS-ID-8")
	ctx := ctxRegistry(t, 1, 1)
	isRefusal(t, ctx.Admit(ticket(1), attempt(1, 1), 1, 0), sm.WrongState, "KS-REG-20")
}

// TestExpiry plays every phase of CTX against its deadline.
func TestExpiry(t *testing.T) {
	spec.Covers(t, "KS-REG-4", "KS-REG-5", "KS-TIME-6", "KS-TIME-14", "KS-REG-3")
	for p, want := range map[registry.Phase][2]registry.Verdict{
		registry.Published:     {registry.ToCancel, registry.ToCancel},
		registry.Bound:         {registry.ToCancel, registry.ToCancel},
		registry.ReadyPrepared: {registry.ToCancel, registry.ToCancel},
		registry.ReadyDecided:  {registry.ToUnknown, registry.ToDrain},
		registry.InFlight:      {registry.ToUnknown, registry.ToDrain},
	} {
		for x49, verdict := range want {
			r := ctxRegistry(t, 1, 1)
			require.NoError(t, r.Publish(ticket(1), 1, 10))
			end := sm.Time(10 + 60)
			if p > registry.Published {
				a := attempt(7, 1)
				a.X49 = x49 == 1
				require.NoError(t, r.Bind(ticket(1), a, 15))
				end = 15 + 100
			}
			if p > registry.Bound {
				require.NoError(t, r.Advance(ticket(1), p, 16))
			}
			at, ok := r.Next()
			require.True(t, ok)
			require.Equal(t, end, at)
			require.Empty(t, r.Expire(end-1, nil))
			require.Equal(t, []registry.Expired{{ticket(1), 1, verdict}}, r.Expire(end, nil), "%v", p)
			require.Empty(t, r.Expire(end+1000, nil), "once per wait")
			require.Equal(t, 1, r.Counts().Active, "the machine decides, the entry stays")
			_, ok = r.Next()
			require.False(t, ok)
			require.Equal(t, p, r.Look(key(1, 7, 0)).Phase)
		}
	}
	r := ctxRegistry(t, 1, 1)
	r.WithWrongRules(wrong.NoDeadline)
	require.NoError(t, r.Publish(ticket(1), 1, 0))
	require.Empty(t, r.Expire(1000, nil), "the wrong rule breaks B1")
}

func TestPhasesAndLimits(t *testing.T) {
	spec.Covers(t, "KS-TIME-11")
	r := ctxRegistry(t, 2, 2)
	isRefusal(t, r.Bind(ticket(1), attempt(7, 1), 0), settle.UnknownTicket, "KS-REG-1")
	isRefusal(t, r.Advance(ticket(1), registry.Bound, 0), settle.UnknownTicket, "KS-REG-1")
	isRefusal(t, r.Limit(ticket(1), 0), settle.UnknownTicket, "KS-REG-1")
	require.NoError(t, r.Publish(ticket(1), 1, 0))
	isRefusal(t, r.Advance(ticket(1), registry.Bound, 0), sm.WrongState, "KS-CTX-1")
	isRefusal(t, r.Bind(ticket(1), attempt(0, 1), 0), sm.BadRequest, "KS-ID-9")
	isRefusal(t, r.Limit(ticket(1), 61), sm.BadRequest, "KS-TIME-11")
	require.NoError(t, r.Limit(ticket(1), 50))
	isRefusal(t, r.Limit(ticket(1), 51), sm.BadRequest, "KS-TIME-11")
	require.Len(t, r.Expire(50, nil), 1)
	isRefusal(t, r.Limit(ticket(1), 1), sm.BadRequest, "KS-TIME-11")
	require.NoError(t, r.Bind(ticket(1), attempt(7, 1), 55), "the round had agreed already")
	require.Len(t, r.Expire(155, nil), 1, "the wait of the bound attempt is another one")
	for _, p := range []registry.Phase{registry.Published, registry.Bound, 0, 9} {
		isRefusal(t, r.Advance(ticket(1), p, 0), sm.WrongState, "KS-CTX-1")
	}
	require.NoError(t, r.Advance(ticket(1), registry.InFlight, 0))
	isRefusal(t, r.Advance(ticket(1), registry.ReadyDecided, 0), sm.WrongState, "KS-CTX-1")
	g := genRegistry(t, 1, 1)
	require.NoError(t, g.Admit(ticket(1), attempt(7, 1), 1, 0))
	isRefusal(t, g.Advance(ticket(1), registry.InFlight, 0), sm.WrongState, "KS-CTX-1")
	require.Len(t, g.Expire(30, nil), 1, "admission-deadline")
	require.NoError(t, g.Advance(ticket(1), registry.Bound, 31))
	at, _ := g.Next()
	require.Equal(t, sm.Time(131), at, "request-deadline counts from the first OPEN")
}

func TestEndingsFitTheirEntry(t *testing.T) {
	spec.Covers(t, "KS-REG-7")
	r := ctxRegistry(t, 4, 4)
	bad := func(n uint64, e registry.Ending, reason spec.Reason) {
		t.Helper()
		before := r.Counts()
		gone, err := r.End(ticket(n), &e, 0, nil)
		require.ErrorIs(t, err, &sm.Refusal{Reason: reason})
		require.Empty(t, gone)
		require.Equal(t, before, r.Counts())
	}
	bad(1, registry.Ending{Kind: registry.NoPeer}, settle.UnknownTicket)
	require.NoError(t, r.Publish(ticket(1), 1, 0))
	for _, e := range []registry.Ending{{}, {Kind: 9}, {Kind: registry.Settled}, {Kind: registry.NeverOpened},
		{Kind: registry.NoPeer, Pinned: true}, {Kind: registry.Refused, Pinned: true}} {
		bad(1, e, sm.WrongState)
	}
	require.NoError(t, r.Bind(ticket(1), attempt(7, 1), 0))
	bad(1, registry.Ending{Kind: registry.NoPeer}, sm.WrongState)
	bad(1, registry.Ending{Kind: registry.Refused}, sm.WrongState)
	_, err := r.End(ticket(1), &registry.Ending{Kind: registry.Settled}, 0, nil)
	require.NoError(t, err)
	bad(1, registry.Ending{Kind: registry.Settled}, settle.UnknownTicket)
	require.Error(t, r.Advance(ticket(1), registry.InFlight, 0))
}

// TestNoPeer: M26 to M28. The answer is there for every edge or for none.
func TestNoPeer(t *testing.T) {
	spec.Covers(t, "KS-REG-19", "KS-REG-21", "KS-REG-7", "KS-REG-6")
	r := ctxRegistry(t, 8, 2)
	for n := uint64(1); n <= 3; n++ {
		require.NoError(t, r.Publish(ticket(n), uint32(n), 0))
		gone, err := r.End(ticket(n), &registry.Ending{Kind: registry.NoPeer}, sm.Time(n), nil)
		require.NoError(t, err)
		require.Empty(t, gone, "a no-peer answer is kept for its lifetime too")
	}
	// A sibling edge that opens within the lifetime hears the same (doubt D4).
	require.Equal(t, control.NotStarted, r.Look(key(1, 7, 0)).Evidence)
	require.Equal(t, 1, r.Counts().Ended)
	at, ok := r.Next()
	require.True(t, ok)
	require.Equal(t, sm.Time(41), at)
	require.Empty(t, r.Sweep(40, nil))
	require.Equal(t, []registry.Gone{{ticket(1), 1, true}}, r.Sweep(41, nil))
	for edge := range uint32(8) {
		require.Equal(t, control.Unknown, r.Look(key(1, 7, edge)).Evidence)
		require.Equal(t, registry.Nowhere, r.Look(key(1, 7, edge)).Where)
		require.Equal(t, control.NotStarted, r.Look(key(2, 7, edge)).Evidence)
		require.False(t, r.Look(key(2, 7, edge)).Authorises())
	}
	require.Equal(t, registry.Counts{Cached: 2, NoPeer: 2, ByCount: 1}, r.Counts())
	// A late OPEN keeps the answer for those that come after it.
	require.True(t, r.Touch(ticket(2), 50))
	require.False(t, r.Touch(ticket(1), 50))
	require.Equal(t, []registry.Gone{{ticket(3), 3, false}}, r.Sweep(63, nil))
	require.Empty(t, r.Sweep(109, nil))
	require.Equal(t, []registry.Gone{{ticket(2), 2, false}}, r.Sweep(110, nil))
	require.Equal(t, registry.Counts{ByCount: 1, ByAge: 2}, r.Counts())
}

// TestNoPeerWaitsForGEN: without pressure the answer is there for as long as a context
// may wait for its attempt.
func TestNoPeerWaitsForGEN(t *testing.T) {
	spec.Covers(t, "KS-REG-24")
	long := settings
	long.Context = 500
	r, err := registry.NewTickets(registry.Config{Session: session, Active: 8, Cache: 2, Settings: long})
	require.NoError(t, err)
	require.NoError(t, r.Publish(ticket(1), 1, 0))
	_, err = r.End(ticket(1), &registry.Ending{Kind: registry.NoPeer}, 10, nil)
	require.NoError(t, err)
	require.Empty(t, r.Sweep(509, nil))
	require.Equal(t, control.NotStarted, r.Look(key(1, 7, 0)).Evidence)
	require.Equal(t, []registry.Gone{{ticket(1), 1, false}}, r.Sweep(510, nil))
}

// TestRefusedProposal: M06, M07. The proposal that consumed a ticket is known again.
func TestRefusedProposal(t *testing.T) {
	spec.Covers(t, "KS-CTX-3", "KS-SEL-22")
	r := ctxRegistry(t, 8, 2)
	require.NoError(t, r.Publish(ticket(1), 1, 0))
	require.False(t, r.SameProposal(ticket(1), [32]byte{9}))
	_, err := r.End(ticket(1), &registry.Ending{Kind: registry.Refused, Fingerprint: [32]byte{9}}, 0, nil)
	require.NoError(t, err)
	require.True(t, r.SameProposal(ticket(1), [32]byte{9}))
	require.False(t, r.SameProposal(ticket(1), [32]byte{8}))
	require.False(t, r.SameProposal(ticket(2), [32]byte{9}))
	require.Equal(t, control.Unknown, r.Look(key(1, 7, 0)).Evidence)
	require.False(t, r.Look(key(1, 7, 0)).Authorises())
	require.Error(t, r.Bind(ticket(1), attempt(8, 1), 0), "no other attempt binds it")
}

// TestCacheKeepsItsLifetime: room comes from age, and admission feels the pressure.
func TestCacheKeepsItsLifetime(t *testing.T) {
	spec.Covers(t, "KS-REG-6", "KS-REG-8", "KS-REG-9", "KS-REC-8", "KS-TIME-18")
	require.Equal(t, sm.Time(40), settings.Lifetime())
	r := ctxRegistry(t, 2, 1)
	settled := func(n uint64, now sm.Time, e registry.Ending) []registry.Gone {
		t.Helper()
		require.NoError(t, r.Publish(ticket(n), uint32(n), now))
		require.NoError(t, r.Bind(ticket(n), attempt(7, 1), now))
		e.Kind = registry.Settled
		gone, err := r.End(ticket(n), &e, now, nil)
		require.NoError(t, err)
		return gone
	}
	require.Empty(t, settled(1, 0, registry.Ending{}))
	require.Empty(t, settled(2, 10, registry.Ending{Evidence: [8]control.Evidence{control.NotStarted}}))
	require.Equal(t, registry.Counts{Ended: 1, Cached: 1}, r.Counts())
	require.Equal(t, control.NotStarted, r.Look(key(2, 7, 0)).Evidence, "answered while it waits")
	require.False(t, r.Look(key(2, 7, 0)).Authorises())
	require.NoError(t, r.Publish(ticket(3), 3, 10))
	isRefusal(t, r.Publish(ticket(4), 4, 10), sm.RegistryFull, "KS-REG-2")
	at, ok := r.Next()
	require.True(t, ok)
	require.Equal(t, sm.Time(40), at)
	require.Empty(t, r.Sweep(39, nil))
	require.Equal(t, []registry.Gone{{ticket(1), 1, true}}, r.Sweep(40, nil), "its lifetime is over and its place is wanted")
	require.Equal(t, 0, r.Counts().Ended)
	require.NoError(t, r.Publish(ticket(4), 4, 40))
	require.Empty(t, r.Sweep(69, nil))
	require.Equal(t, []registry.Gone{{ticket(2), 2, false}}, r.Sweep(70, nil), "control deadline and lifetime after the last message")

	// Retention holds longer, an unproven post for ever.
	r = ctxRegistry(t, 3, 2)
	settled(1, 0, registry.Ending{Keep: 150})
	settled(2, 0, registry.Ending{Pinned: true})
	settled(3, 0, registry.Ending{Pinned: true})
	require.Empty(t, r.Sweep(149, nil))
	require.Equal(t, []registry.Gone{{ticket(1), 1, false}}, r.Sweep(150, nil))
	require.Empty(t, r.Sweep(100000, nil))
	require.Equal(t, registry.Counts{Cached: 2, ByAge: 1}, r.Counts())
	require.True(t, r.Touch(ticket(2), 100000))
	require.NoError(t, r.Unpin(ticket(2)))
	isRefusal(t, r.Unpin(ticket(2)), settle.UnknownTicket, "KS-REG-1")
	require.Empty(t, r.Sweep(100059, nil))
	require.Equal(t, []registry.Gone{{ticket(2), 2, false}}, r.Sweep(100060, nil))
}

// TestWaitingForRoom: an entry without room goes of age too, and proof moves it.
func TestWaitingForRoom(t *testing.T) {
	spec.Covers(t, "KS-REG-8")
	r := ctxRegistry(t, 3, 1)
	for n := uint64(1); n <= 3; n++ {
		require.NoError(t, r.Publish(ticket(n), uint32(n), 0))
		require.NoError(t, r.Bind(ticket(n), attempt(7, 1), 0))
		_, err := r.End(ticket(n), &registry.Ending{Kind: registry.Settled, Pinned: n != 2}, 0, nil)
		require.NoError(t, err)
	}
	require.Equal(t, registry.Counts{Ended: 2, Cached: 1}, r.Counts())
	require.True(t, r.Touch(ticket(2), 5))
	require.True(t, r.Touch(ticket(3), 5))
	require.Equal(t, []registry.Gone{{ticket(2), 2, false}}, r.Sweep(65, nil))
	require.NoError(t, r.Unpin(ticket(3)))
	require.Equal(t, []registry.Gone{{ticket(3), 3, false}}, r.Sweep(65, nil))
	require.NoError(t, r.Unpin(ticket(1)))
	require.Equal(t, []registry.Gone{{ticket(1), 1, false}}, r.Sweep(65, nil))
	require.Equal(t, registry.Counts{ByAge: 3}, r.Counts())
}

// TestBindings: a changed epoch names exactly the attempts it voids (M48).
func TestBindings(t *testing.T) {
	spec.Covers(t, "KS-REG-16", "KS-CTL-19")
	r := ctxRegistry(t, 8, 8)
	for n := uint64(1); n <= 4; n++ {
		require.NoError(t, r.Publish(ticket(n), uint32(n), 0))
	}
	require.NoError(t, r.Bind(ticket(1), attempt(7, 1), 0))
	require.NoError(t, r.Bind(ticket(2), attempt(7, 2), 0))
	require.NoError(t, r.Bind(ticket(3), attempt(7, 2), 0))
	_, err := r.End(ticket(3), &registry.Ending{Kind: registry.Settled}, 0, nil)
	require.NoError(t, err)
	require.Equal(t, []uint32{1, 2}, r.Bindings(20, nil))
	require.Equal(t, []uint32{2}, r.Bindings(21, nil))
	require.Equal(t, []uint32{1, 2}, r.Bindings(10, nil))
	require.Empty(t, r.Bindings(99, nil))
	require.Equal(t, 3, r.Counts().Active, "the registry changes nothing")
}

// TestStrangersChangeNothing: a million messages for tickets that are not here cost
// neither memory nor a place (F13).
func TestStrangersChangeNothing(t *testing.T) {
	spec.Covers(t, "KS-SEC-3", "KS-TIME-18")
	r := ctxRegistry(t, 8, 8)
	require.NoError(t, r.Publish(ticket(1), 1, 0))
	before := r.Counts()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		for n := uint64(2); n < 1000; n++ {
			k := key(n, 7, 0)
			if r.Look(k).Where != registry.Nowhere || r.Touch(k.Ticket, 1) {
				t.Fatal("a stranger is known")
			}
		}
	}))
	require.Equal(t, before, r.Counts())
}

func TestNames(t *testing.T) {
	require.Equal(t, "READY_DECIDED", registry.ReadyDecided.String())
	require.Equal(t, "INVALID", registry.Phase(0).String())
	require.Equal(t, "INVALID", registry.Phase(9).String())
	require.Equal(t, []string{"nowhere", "active", "cache", "invalid"},
		[]string{registry.Nowhere.String(), registry.InActive.String(), registry.InCache.String(), registry.Where(9).String()})
	require.Equal(t, []string{"cancel", "unknown", "drain", "invalid"},
		[]string{registry.ToCancel.String(), registry.ToUnknown.String(), registry.ToDrain.String(), registry.Verdict(9).String()})
}

// TestWrongRules: each broken rule breaks its invariant and nothing does so without.
func TestWrongRules(t *testing.T) {
	for rule, k := range map[wrong.Rules]*identity.TransferKey{
		wrong.IdentifyByRequestID: key(99, 7, 0),
		wrong.OldReachesNew:       key(1, 8, 0),
		wrong.IgnoreEpochs:        func() *identity.TransferKey { k := key(1, 7, 0); k.SourceEpoch++; return k }(),
		wrong.ReadyWithoutHit:     key(2, 7, 0),
	} {
		r := ctxRegistry(t, 4, 4)
		for n := uint64(1); n <= 2; n++ {
			require.NoError(t, r.Publish(ticket(n), uint32(n), 0))
			require.NoError(t, r.Bind(ticket(n), attempt(7, 1), 0))
		}
		_, err := r.End(ticket(2), &registry.Ending{Kind: registry.Settled}, 0, nil)
		require.NoError(t, err)
		right := r.Look(k)
		require.False(t, right.Authorises())
		r.WithWrongRules(rule)
		h := r.Look(k)
		require.True(t, h.Authorises() || h.ID != 0 && right.ID == 0, "%b", rule)
		require.NotEqual(t, right, h)
	}
}

// TestIdleTicketIsSmall: at most 1 KiB for a published ticket that waits.
func TestIdleTicketIsSmall(t *testing.T) {
	const n = 100_000
	r, err := registry.NewTickets(registry.Config{Session: session, Active: n, Cache: 1, Settings: settings})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := uint64(1); i <= n; i++ {
		if err := r.Publish(ticket(i), uint32(i), 0); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	per := float64(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%.0f bytes per idle ticket", per)
	require.Less(t, per, 512.0, "half of the 1 KiB; the machine takes the rest")
	runtime.KeepAlive(r)
}

// TestNoAllocation: once the registry has grown, a whole life allocates nothing.
func TestNoAllocation(t *testing.T) {
	r := ctxRegistry(t, 8, 8)
	a, end := attempt(7, 2), registry.Ending{Kind: registry.Settled}
	now, n := sm.Time(0), uint64(0)
	gone, expired := make([]registry.Gone, 0, 8), make([]registry.Expired, 0, 8)
	life := func() {
		n++
		now += 100
		k := ticket(n)
		err := r.Publish(k, 1, now)
		if err == nil {
			err = r.Bind(k, a, now)
		}
		if err == nil {
			err = r.Advance(k, registry.InFlight, now)
		}
		x := key(n, 7, 1)
		if err != nil || !r.Look(x).Authorises() || len(r.Expire(now, expired[:0])) != 0 {
			t.Fatal(err)
		}
		if _, err = r.End(k, &end, now, gone[:0]); err != nil || !r.Touch(k, now) || len(r.Sweep(now+60, gone[:0])) != 1 {
			t.Fatal(err)
		}
	}
	for range 100 {
		life()
	}
	require.Zero(t, testing.AllocsPerRun(100, life))
	require.Equal(t, deadline.Never, sm.Time(math.MaxInt64))
}

func BenchmarkLook(b *testing.B) {
	r := ctxRegistry(b, 100_000, 1)
	for i := uint64(1); i <= 100_000; i++ {
		_ = r.Publish(ticket(i), uint32(i), 0)
		_ = r.Bind(ticket(i), attempt(7, 1), 0)
	}
	k := key(1, 7, 0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k.Ticket.Attempt = uint64(i*7919)%100_000 + 1
		if !r.Look(k).Authorises() {
			b.Fatal("miss")
		}
	}
}
