package fault_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// agent records what is posted and released.
type agent struct {
	mu       sync.Mutex
	next     transport.WriteID
	posts    []posted
	released []transport.WriteID
	refuse   bool
}

type posted struct {
	id  transport.WriteID
	at  uint64
	now time.Time
}

var errRefused = errors.New("refused by the test")

func (a *agent) Post(_ string, _ []byte, dst transport.Target) (transport.WriteID, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuse {
		return 0, errRefused
	}
	a.next++
	a.posts = append(a.posts, posted{a.next, dst.Addr, time.Now()})
	return a.next, nil
}

func (a *agent) Release(id transport.WriteID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.released = append(a.released, id)
	return nil
}

func (a *agent) list() []posted {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]posted(nil), a.posts...)
}

// three posts a transfer of three chunks of 4 bytes and returns their ids.
func three(t *testing.T, r *rig, inner *agent) (ids []transport.WriteID, p interface {
	Release(transport.WriteID) error
}) {
	poster := r.Poster(1, 12, inner)
	for i := range uint64(3) {
		id, err := poster.Post("gen", make([]byte, 4), transport.Target{Addr: 4 * i, Len: 4})
		require.NoError(t, err)
		ids = append(ids, id)
	}
	return ids, poster
}

func ended(id transport.WriteID) transport.Event {
	return transport.Event{Kind: transport.WriteEnded, Peer: "gen", Write: id, Status: transport.Done}
}

// TestLateWrite: the last chunk goes out after the deadline, under one id to the
// caller and another to the agent, and a release does not stop it.
func TestLateWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, inner := newRig(1, fault.Spec{Name: fault.LateWrite, Rate: 1}), &agent{}
		began := time.Now()
		ids, p := three(t, r, inner)
		require.Len(t, inner.list(), 2, "the first chunks go at once")
		require.Equal(t, []transport.WriteID{1, 2}, ids[:2])
		for _, id := range ids {
			require.NoError(t, p.Release(id))
		}
		require.Equal(t, []transport.WriteID{1, 2}, inner.released, "the agent knows nothing of the late one yet")

		time.Sleep(deadline)
		synctest.Wait()
		require.Len(t, inner.list(), 2, "it outlasts the deadline")
		time.Sleep(deadline)
		synctest.Wait()
		list := inner.list()
		require.Len(t, list, 3)
		require.Equal(t, deadline+deadline/4, list[2].now.Sub(began))
		require.Equal(t, uint64(8), list[2].at)
		events, struck := r.seen()
		require.Empty(t, events, "no end before the write")
		require.Equal(t, map[string]int{fault.LateWrite: 1}, struck)

		r.sink(ended(list[2].id))
		r.sink(ended(list[2].id + 1)) // somebody else's
		events, _ = r.seen()
		require.Equal(t, ended(ids[2]), events[0].Event, "mapped back")
		require.Equal(t, ended(list[2].id+1), events[1].Event)
		r.Close()
	})
}

// TestLateWriteRefused: if the agent refuses it then, the write ends broken.
func TestLateWriteRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, inner := newRig(1, fault.Spec{Name: fault.LateWrite, Rate: 1}), &agent{}
		ids, _ := three(t, r, inner)
		inner.mu.Lock()
		inner.refuse = true
		inner.mu.Unlock()
		r.Close()
		events, _ := r.seen()
		require.Equal(t, []transport.Event{{Kind: transport.WriteEnded, Peer: "gen", Write: ids[2], Status: transport.Broken, Err: errRefused}},
			[]transport.Event{events[0].Event})
	})
}

// TestBreakOrder: the end of the last chunk is reported before its data is written,
// and its real end is nobody's business.
func TestBreakOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, inner := newRig(1, fault.Spec{Name: fault.BreakOrder, Rate: 1}), &agent{}
		ids, _ := three(t, r, inner)
		synctest.Wait()
		events, struck := r.seen()
		require.Len(t, events, 1)
		require.Equal(t, ended(ids[2]), events[0].Event)
		require.Len(t, inner.list(), 2, "reported, not written")
		require.Equal(t, map[string]int{fault.BreakOrder: 1}, struck)

		time.Sleep(40 * time.Millisecond)
		synctest.Wait()
		list := inner.list()
		require.Len(t, list, 3)
		require.Equal(t, uint64(8), list[2].at)
		r.sink(ended(list[2].id))
		events, _ = r.seen()
		require.Len(t, events, 1, "its end is swallowed")
		r.Close()
	})
}

// TestBreakRelease: the last chunk is written properly and then twice more, after
// its final status.
func TestBreakRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, inner := newRig(1, fault.Spec{Name: fault.BreakRelease, Rate: 1}), &agent{}
		ids, p := three(t, r, inner)
		require.Equal(t, []transport.WriteID{1, 2, 3}, ids)
		for _, id := range ids {
			r.sink(ended(id))
		}
		events, _ := r.seen()
		require.Len(t, events, 3)
		require.NoError(t, p.Release(3))
		require.Equal(t, []transport.WriteID{3}, inner.released)
		r.Close()
		list := inner.list()
		require.Len(t, list, 5)
		for _, again := range list[3:] {
			require.Equal(t, uint64(8), again.at)
			require.Greater(t, again.now, list[2].now)
			r.sink(ended(again.id))
		}
		events, struck := r.seen()
		require.Len(t, events, 3)
		require.Equal(t, map[string]int{fault.BreakRelease: 1}, struck)
	})
}

// TestPosterRates: faults of a request strike at their rate, the rest of the
// requests keep the agent itself.
func TestPosterRates(t *testing.T) {
	for _, name := range []string{fault.LateWrite, fault.BreakOrder, fault.BreakRelease} {
		for _, rate := range []float64{0.1, 0.6, 1} {
			r, inner := newRig(11, fault.Spec{Name: name, Rate: rate}), &agent{}
			const n = 2000
			same := 0
			for i := range n {
				if r.Poster(uint64(i), 4, inner) == inner {
					same++
				}
			}
			_, struck := r.seen()
			require.Equal(t, n-same, struck[name])
			near(t, rate, struck[name], n, name)
		}
	}
}

// TestAllAtOnce runs every fault together from many goroutines: every notice that
// is not dropped comes, and Close ends. For the race detector.
func TestAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults []fault.Spec
		for _, name := range fault.Names() {
			faults = append(faults, fault.Spec{Name: name, Rate: 0.3})
		}
		r, inner := newRig(1, faults...), &agent{}
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				p := r.Poster(uint64(g), 400, inner)
				for i := range 100 {
					r.sink(note(uint64(i%4), g*1000+i))
					if id, err := p.Post("gen", make([]byte, 4), transport.Target{Len: 4}); err == nil && id < 1<<63 {
						r.sink(ended(id))
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		all.Wait()
		r.Close()
		events, _ := r.seen()
		seen := map[int]bool{}
		for _, e := range events {
			if e.Kind == transport.Notice {
				seen[number(e)] = true
			}
		}
		for g := range 4 {
			for i := range 100 {
				if i%4 == 3 { // a kind that nothing drops
					require.True(t, seen[g*1000+i])
				}
			}
		}
	})
}
