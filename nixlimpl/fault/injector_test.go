package fault_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

const deadline = time.Second

// got is one event as it came out, with the virtual time since the start.
type got struct {
	transport.Event
	after time.Duration
}

// rig is an injector with everything around it recorded.
type rig struct {
	*fault.Injector
	sink transport.Sink

	mu     sync.Mutex
	start  time.Time
	events []got
	struck map[string]int
}

func newRig(seed uint64, faults ...fault.Spec) *rig {
	r := &rig{struck: map[string]int{}, start: time.Now()}
	r.Injector = fault.New(fault.Config{Faults: faults, Seed: seed, Deadline: deadline, Struck: func(name string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.struck[name]++
	}})
	r.sink = r.Sink(func(ev transport.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, got{ev, time.Since(r.start)})
	})
	return r
}

func (r *rig) seen() ([]got, map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	struck := map[string]int{}
	for k, v := range r.struck {
		struck[k] = v
	}
	return append([]got(nil), r.events...), struck
}

// note is the i-th notice of a native kind (0 request, 1 sync, 2 ready).
func note(kind uint64, i int) transport.Event {
	b := binary.LittleEndian.AppendUint64(nil, kind)
	return transport.Event{Kind: transport.Notice, Peer: "peer", Payload: binary.LittleEndian.AppendUint64(b, uint64(i))}
}

func number(e got) int { return int(binary.LittleEndian.Uint64(e.Payload[8:])) }

// near says whether n of total is within five standard deviations of the rate.
func near(t *testing.T, rate float64, n, total int, what string) {
	t.Helper()
	sigma := math.Sqrt(rate * (1 - rate) * float64(total))
	require.InDelta(t, rate*float64(total), float64(n), 5*sigma+0.5, "%s: %d of %d at rate %v", what, n, total, rate)
}

// TestTransparent: without faults everything passes unchanged, at once and in order.
func TestTransparent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1)
		var sent []transport.Event
		for i := range 100 {
			sent = append(sent, note(uint64(i%5), i))
		}
		sent = append(sent, transport.Event{Kind: transport.Notice, Payload: []byte{1}}, transport.Event{Kind: transport.PeerLost, Peer: "p"},
			transport.Event{Kind: transport.PeerDead, Peer: "p"}, transport.Event{Kind: transport.WriteEnded, Write: 7, Status: transport.Broken, Err: transport.ErrPeerGone})
		for _, ev := range sent {
			r.sink(ev)
		}
		events, struck := r.seen()
		require.Len(t, events, len(sent))
		for i := range sent {
			require.Equal(t, got{sent[i], 0}, events[i])
		}
		require.Empty(t, struck)
		inner := &agent{}
		require.Same(t, inner, r.Poster(1, 10, inner))
		r.Close()
		r.Close()
	})
}

// TestDropRates: each drop strikes its own kind only, at its rate.
func TestDropRates(t *testing.T) {
	kinds := map[string]uint64{fault.DropRequest: 0, fault.DropComplete: 1, fault.DropReady: 2}
	for name, kind := range kinds {
		for _, rate := range []float64{0.05, 0.5, 1} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(3, fault.Spec{Name: name, Rate: rate})
				const each = 2000
				for i := range each * 4 {
					r.sink(note(uint64(i%4), i))
				}
				events, struck := r.seen()
				count := map[uint64]int{}
				for _, e := range events {
					count[binary.LittleEndian.Uint64(e.Payload)]++
				}
				for k := range uint64(4) {
					if k != kind {
						require.Equal(t, each, count[k], "%s touches kind %d", name, k)
					}
				}
				require.Equal(t, map[string]int{name: each - count[kind]}, struck)
				near(t, rate, struck[name], each, name)
			})
		}
	}
}

// TestDelay: a delayed notice comes later, within a fifth of the deadline, and
// none is lost.
func TestDelay(t *testing.T) {
	for _, rate := range []float64{0.1, 0.6, 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(5, fault.Spec{Name: fault.Delay, Rate: rate})
			const n = 2000
			for i := range n {
				r.sink(note(uint64(i%3), i))
			}
			r.Close()
			events, struck := r.seen()
			require.Len(t, events, n)
			late := 0
			for _, e := range events {
				require.LessOrEqual(t, e.after, deadline/5)
				if e.after > 0 {
					late++
				}
			}
			near(t, rate, struck[fault.Delay], n, "delay")
			require.InDelta(t, struck[fault.Delay], late, 1)
		})
	}
}

// TestDuplicate: the second copy has memory of its own and comes within 20 ms.
func TestDuplicate(t *testing.T) {
	for _, rate := range []float64{0.1, 0.6, 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(6, fault.Spec{Name: fault.Duplicate, Rate: rate})
			const n = 2000
			for i := range n {
				r.sink(note(2, i))
			}
			r.Close()
			events, struck := r.seen()
			times := map[int][]got{}
			for _, e := range events {
				times[number(e)] = append(times[number(e)], e)
			}
			twice := 0
			for i := range n {
				switch list := times[i]; len(list) {
				case 1:
				case 2:
					twice++
					require.Equal(t, list[0].Payload, list[1].Payload)
					require.NotSame(t, &list[0].Payload[0], &list[1].Payload[0])
					require.LessOrEqual(t, list[1].after, 20*time.Millisecond)
				default:
					t.Fatalf("notice %d came %d times", i, len(list))
				}
			}
			require.Equal(t, struck[fault.Duplicate], twice)
			near(t, rate, twice, n, "duplicate")
		})
	}
}

// TestReorder: a held notice is overtaken by the next of its peer or comes alone
// after 50 ms. At rate r of those that get the chance it acts on r/(1+r) of all.
func TestReorder(t *testing.T) {
	for _, rate := range []float64{0.1, 0.5, 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(7, fault.Spec{Name: fault.Reorder, Rate: rate})
			const n = 4001
			for i := range n {
				r.sink(note(1, i))
			}
			r.Close()
			events, struck := r.seen()
			require.Len(t, events, n)
			swapped := 0
			seen := map[int]bool{}
			for i, e := range events {
				require.False(t, seen[number(e)], "twice")
				seen[number(e)] = true
				if i > 0 && number(e) < number(events[i-1]) {
					swapped++
					require.Equal(t, number(events[i-1])-1, number(e), "overtaken by one")
				}
			}
			last := 0
			if events[n-1].after > 0 {
				last = 1
				require.Equal(t, 50*time.Millisecond, events[n-1].after)
			}
			require.Equal(t, struck[fault.Reorder], swapped+last)
			near(t, rate/(1+rate), struck[fault.Reorder], n, "reorder")
		})
	}
	// Another peer's notice overtakes nothing.
	synctest.Test(t, func(t *testing.T) {
		r := newRig(7, fault.Spec{Name: fault.Reorder, Rate: 1})
		other := note(1, 2)
		other.Peer = "other"
		r.sink(note(1, 1))
		r.sink(other)
		events, _ := r.seen()
		require.Empty(t, events)
		r.Close()
		events, _ = r.seen()
		require.Len(t, events, 2)
	})
}

// TestSeeds: the same seed and order of events strike alike, another seed does not.
func TestSeeds(t *testing.T) {
	trace := func(seed uint64) (out string) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(seed, fault.Spec{Name: fault.DropReady, Rate: 0.3}, fault.Spec{Name: fault.Delay, Rate: 0.3},
				fault.Spec{Name: fault.Duplicate, Rate: 0.3}, fault.Spec{Name: fault.Reorder, Rate: 0.3}, fault.Spec{Name: fault.LateWrite, Rate: 0.3})
			inner := &agent{}
			for i := range 200 {
				r.sink(note(uint64(i%3), i))
				out += fmt.Sprint(r.Poster(uint64(i), 1, inner) == inner, " ")
				time.Sleep(time.Millisecond)
			}
			r.Close()
			events, struck := r.seen()
			for _, e := range events {
				out += fmt.Sprint(number(e), e.after, " ")
			}
			out += fmt.Sprint(struck)
		})
		return out
	}
	require.Equal(t, trace(1), trace(1))
	require.NotEqual(t, trace(1), trace(2))
}

// TestClose: it waits for what is due within a second and does the rest at once;
// after it nothing strikes.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(9, fault.Spec{Name: fault.Delay, Rate: 1}, fault.Spec{Name: fault.LateWrite, Rate: 1})
		inner := &agent{}
		p := r.Poster(1, 4, inner)
		_, err := p.Post("gen", make([]byte, 4), transport.Target{Len: 4})
		require.NoError(t, err)
		r.sink(note(1, 1))
		before := time.Now()
		r.Close()
		require.LessOrEqual(t, time.Since(before), time.Second, "what is due later is done now")
		require.Len(t, inner.list(), 1)
		events, struck := r.seen()
		require.Len(t, events, 1)

		r.sink(note(1, 2))
		after, still := r.seen()
		require.Len(t, after, 2)
		require.Equal(t, struck, still)
		require.Same(t, inner, r.Poster(2, 4, inner))
		// A poster from before passes its writes on.
		id, err := p.Post("gen", make([]byte, 4), transport.Target{Len: 4})
		require.NoError(t, err)
		require.Equal(t, inner.list()[1].id, id)
	})
}

// TestNegativeDeadline: a bound that makes no sense delays by nothing.
func TestNegativeDeadline(t *testing.T) {
	n := 0
	i := fault.New(fault.Config{Faults: []fault.Spec{{Name: fault.Delay, Rate: 1}}, Deadline: -time.Second})
	i.Sink(func(transport.Event) { n++ })(note(1, 1))
	i.Close()
	require.Equal(t, 1, n)
}
