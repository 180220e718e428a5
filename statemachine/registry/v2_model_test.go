package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
)

// naive is what a registry should be, without any structure: one line per ticket,
// searched from end to end.
type naive struct {
	active, cache int
	now           sm.Time
	lines         map[uint64]*line
	used          map[uint64]bool
	lost          uint64
}

type line struct {
	where   registry.Where
	waiting bool
	pinned  bool
	attempt uint64
	phase   registry.Phase
	kind    registry.EndKind
	due     sm.Time // 0: no deadline is armed
	last    sm.Time
	keep    sm.Time
	told    control.Evidence
}

func (l *line) retires() sm.Time { return l.last + max(60, l.keep) }
func (l *line) movable() sm.Time { return l.last + max(40, l.keep) }

func (m *naive) count(f func(*line) bool) (n int) {
	for _, l := range m.lines {
		if f(l) {
			n++
		}
	}
	return n
}

func (m *naive) full() bool {
	return m.count(func(l *line) bool { return l.where == registry.InActive || l.waiting }) >= m.active
}

func cachedNow(l *line) bool { return l.where == registry.InCache && !l.waiting }

// victim says whether n may be evicted for room now.
func (m *naive) victim(n uint64) bool {
	v := m.lines[n]
	if v == nil || !cachedNow(v) || v.pinned || m.count(cachedNow) < m.cache {
		return false
	}
	for _, l := range m.lines {
		if !cachedNow(l) || l.pinned || l == v {
			continue
		}
		if l.kind == registry.NoPeer && v.kind != registry.NoPeer && l.movable() <= m.now {
			return false
		}
		if (l.kind == registry.NoPeer) == (v.kind == registry.NoPeer) && l.retires() < v.retires() {
			return false
		}
	}
	return v.movable() <= m.now
}

func (m *naive) leave(t require.TestingT, gone []registry.Gone) {
	for _, g := range gone {
		n := g.Ticket.Attempt
		l := m.lines[n]
		require.NotNil(t, l, "what left was here")
		require.Equal(t, registry.InCache, l.where)
		require.Equal(t, uint32(n), g.ID)
		if g.ByCount {
			require.True(t, m.victim(n), "a legal victim")
		} else {
			require.False(t, l.pinned)
			require.LessOrEqual(t, l.retires(), m.now)
		}
		delete(m.lines, n)
		m.lost = max(m.lost, n)
		// Whoever waits longest for room takes it.
		m.settleRoom()
	}
}

// settleRoom lets waiting lines in where the real one has let them in: the order
// among them is by retirement.
func (m *naive) settleRoom() {
	for m.count(cachedNow) < m.cache {
		var first *line
		for _, l := range m.lines {
			if l.waiting && (first == nil || m.rank(l) < m.rank(first)) {
				first = l
			}
		}
		if first == nil {
			return
		}
		first.waiting = false
	}
}

func (m *naive) rank(l *line) sm.Time {
	if l.pinned {
		return 1 << 62
	}
	return l.retires()
}

// TestTicketsAgainstNaive walks a CTX registry and the naive one side by side.
func TestTicketsAgainstNaive(t *testing.T) {
	spec.Covers(t, "KS-REG-1", "KS-REG-2", "KS-REG-3", "KS-REG-4", "KS-REG-5", "KS-REG-6", "KS-REG-7", "KS-REG-8", "KS-REG-19")
	rapid.Check(t, func(rt *rapid.T) {
		m := &naive{active: rapid.IntRange(1, 4).Draw(rt, "active"), cache: rapid.IntRange(1, 3).Draw(rt, "cache"),
			lines: map[uint64]*line{}, used: map[uint64]bool{}}
		r, err := registry.NewTickets(registry.Config{Session: session, Active: m.active, Cache: m.cache, Settings: settings})
		require.NoError(rt, err)
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			n := rapid.Uint64Range(1, 9).Draw(rt, "ticket")
			m.step(rt, r, n)
			m.check(rt, r, n)
		}
	})
}

func (m *naive) step(rt *rapid.T, r *registry.Tickets, n uint64) {
	l := m.lines[n]
	live := l != nil && l.where == registry.InActive
	switch rapid.IntRange(0, 8).Draw(rt, "what") {
	case 0, 1:
		may := l == nil && n > m.lost && !m.full()
		require.Equal(rt, may, r.Publish(ticket(n), uint32(n), m.now) == nil)
		if may {
			m.lines[n] = &line{where: registry.InActive, phase: registry.Published, due: m.now + 60, last: m.now}
		}
	case 2:
		a := attempt(rapid.Uint64Range(1, 2).Draw(rt, "gen"), 1)
		may := live && l.attempt == 0
		require.Equal(rt, may, r.Bind(ticket(n), a, m.now) == nil)
		if may {
			l.attempt, l.phase, l.due, l.last = a.GenAttempt, registry.Bound, m.now+100, m.now
		}
	case 3:
		p := registry.Phase(rapid.IntRange(0, 6).Draw(rt, "phase"))
		may := live && l.attempt != 0 && p > l.phase && p <= registry.InFlight
		require.Equal(rt, may, r.Advance(ticket(n), p, m.now) == nil)
		if may {
			l.phase = p
		}
	case 4, 5:
		m.end(rt, r, n)
	case 6:
		known := l != nil
		require.Equal(rt, known, r.Touch(ticket(n), m.now))
		if known {
			l.last = m.now
		}
	case 7:
		may := l != nil && l.pinned
		require.Equal(rt, may, r.Unpin(ticket(n)) == nil)
		if may {
			l.pinned = false
		}
	case 8:
		m.now += sm.Time(rapid.IntRange(0, 70).Draw(rt, "pass"))
		for _, e := range r.Expire(m.now, nil) {
			x := m.lines[e.Ticket.Attempt]
			require.NotZero(rt, x.due)
			require.LessOrEqual(rt, x.due, m.now)
			require.Equal(rt, x.phase >= registry.ReadyDecided, e.Verdict == registry.ToUnknown)
			x.due = 0
		}
		require.Zero(rt, m.count(func(l *line) bool { return l.where == registry.InActive && l.due != 0 && l.due <= m.now }))
		m.leave(rt, r.Sweep(m.now, nil))
		require.Zero(rt, m.count(func(l *line) bool {
			return l.where == registry.InCache && !l.pinned && l.retires() <= m.now
		}), "all that has its age has left")
	}
}

func (m *naive) end(rt *rapid.T, r *registry.Tickets, n uint64) {
	l := m.lines[n]
	e := registry.Ending{
		Kind:   registry.EndKind(rapid.IntRange(1, 4).Draw(rt, "kind")),
		Pinned: rapid.IntRange(0, 3).Draw(rt, "pinned") == 0,
		Keep:   sm.Time(rapid.SampledFrom([]int{0, 0, 150}).Draw(rt, "keep")),
	}
	e.Evidence[0] = control.Evidence(rapid.IntRange(0, 4).Draw(rt, "evidence"))
	live := l != nil && l.where == registry.InActive
	var may bool
	switch e.Kind {
	case registry.NoPeer, registry.Refused:
		may = live && l.attempt == 0 && !e.Pinned
	case registry.Settled:
		may = live && l.attempt != 0
	}
	gone, err := r.End(ticket(n), &e, m.now, nil)
	require.Equal(rt, may, err == nil)
	if !may {
		return
	}
	require.LessOrEqual(rt, len(gone), 1)
	for _, g := range gone {
		require.True(rt, g.ByCount && m.victim(g.Ticket.Attempt))
		delete(m.lines, g.Ticket.Attempt)
		m.lost = max(m.lost, g.Ticket.Attempt)
	}
	if len(gone) == 0 && m.count(cachedNow) >= m.cache {
		for x := range m.lines {
			require.False(rt, m.victim(x), "%d could have gone", x)
		}
		l.waiting = true
	}
	*l = line{where: registry.InCache, waiting: l.waiting, pinned: e.Pinned, attempt: l.attempt, phase: l.phase, kind: e.Kind,
		last: m.now, keep: e.Keep, told: e.Evidence[0]}
	if l.told == settle.Missing {
		l.told = control.Unknown
	}
}

func (m *naive) check(rt *rapid.T, r *registry.Tickets, n uint64) {
	c := r.Counts()
	require.Equal(rt, m.count(func(l *line) bool { return l.where == registry.InActive }), c.Active)
	require.Equal(rt, m.count(func(l *line) bool { return l.waiting }), c.Ended)
	require.Equal(rt, m.count(cachedNow), c.Cached)
	require.Equal(rt, m.count(func(l *line) bool { return cachedNow(l) && l.kind == registry.NoPeer }), c.NoPeer)
	require.LessOrEqual(rt, c.Active+c.Ended, m.active)
	require.LessOrEqual(rt, c.Cached, m.cache)
	for gen := uint64(1); gen <= 2; gen++ {
		h := r.Look(key(n, gen, 0))
		l := m.lines[n]
		if l == nil {
			require.Equal(rt, registry.Hit{Edge: registry.NoEdge, Evidence: control.Unknown}, h)
			continue
		}
		require.Equal(rt, l.where, h.Where)
		require.Equal(rt, l.where == registry.InActive && l.attempt == gen, h.Authorises())
		want := control.Unknown
		switch {
		case l.where == registry.InActive:
			want = settle.Missing
		case l.kind == registry.NoPeer:
			want = control.NotStarted
		case l.kind == registry.Settled && l.attempt == gen:
			want = l.told
		}
		require.Equal(rt, want, h.Evidence)
	}
}
