// Package executor runs the one goroutine of a service that owns its machines.
//
// Workers (transport readers, copiers, control readers) post inputs to one
// unbounded queue; nothing else touches state. A wake-up cannot be lost: one
// queue, one consumer, and a posted input is either in the queue or done. Before
// a deadline is judged, everything that has arrived is taken first (KS-TIME-5).
package executor

import (
	"container/heap"
	"sync"
	"time"

	sm "github.com/kvsettle/kvsettle/statemachine"
)

// Loop is the executor. Create it with New, post from anywhere, run it once.
type Loop struct {
	mu     sync.Mutex
	inbox  []func()
	closed bool
	wake   chan struct{}
	start  time.Time

	// Below: only the running goroutine.
	timers timerHeap
	live   map[uint64]*timer
}

// New returns a Loop whose clock starts at zero now.
func New() *Loop {
	return &Loop{wake: make(chan struct{}, 1), start: time.Now(), live: make(map[uint64]*timer)}
}

// Now is the loop's monotonic clock in nanoseconds since New.
func (l *Loop) Now() sm.Time { return sm.Time(time.Since(l.start)) }

// Post queues one input. It never blocks. It reports false after Stop: then the
// input is not and will not be run.
func (l *Loop) Post(input func()) bool {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.inbox = append(l.inbox, input)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

// Stop makes Run return after the inputs that were posted before it; timers that
// are left do not fire. It may be called from anywhere, also more than once.
func (l *Loop) Stop() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// SetTimer arranges that fire runs once on the loop at or after at, a time of Now,
// with the time of the check; it replaces the timer that key had. at 0 removes it.
// Timers of different keys that are due together fire in no given order. Call it
// only on the loop, or before Run.
func (l *Loop) SetTimer(key uint64, at sm.Time, fire func(now sm.Time)) {
	if t := l.live[key]; t != nil {
		heap.Remove(&l.timers, t.index)
		delete(l.live, key)
	}
	if at == 0 {
		return
	}
	t := &timer{key: key, at: at, fire: fire}
	l.live[key] = t
	heap.Push(&l.timers, t)
}

// Run consumes inputs and timers until Stop. It must be called once.
func (l *Loop) Run() {
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	var batch []func()
	for {
		// What had arrived by now is in the batch, so a deadline up to now may be judged
		// after it; and a flood of inputs cannot put a due deadline off for ever.
		now := l.Now()
		l.mu.Lock()
		batch, l.inbox = l.inbox, batch[:0]
		closed := l.closed
		l.mu.Unlock()
		for i, f := range batch {
			f()
			batch[i] = nil
		}
		if closed {
			return
		}
		if l.judge(now) || len(batch) > 0 {
			continue
		}
		wait := time.Hour
		if l.timers.Len() > 0 {
			wait = time.Duration(l.timers[0].at - l.Now())
		}
		clock.Reset(wait)
		select {
		case <-l.wake:
		case <-clock.C:
		}
	}
}

// judge fires the timers that are due at now, each at most once, so that one that
// is set again for the past cannot hold up the inputs. It reports whether any fired.
func (l *Loop) judge(now sm.Time) bool {
	fired := false
	for n := l.timers.Len(); n > 0 && l.timers.Len() > 0 && l.timers[0].at <= now; n-- {
		t := heap.Pop(&l.timers).(*timer)
		delete(l.live, t.key)
		t.fire(now)
		fired = true
	}
	return fired
}

type timer struct {
	key   uint64
	at    sm.Time
	fire  func(sm.Time)
	index int
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is heap.Interface's.
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop is heap.Interface's.
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
