package executor_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/nixlimpl/executor"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
)

const ms = sm.Time(time.Millisecond)

// start runs a loop in a bubble of virtual time; the returned function stops it
// and waits.
func start(l *executor.Loop) (stop func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		l.Run()
	}()
	return func() {
		l.Stop()
		<-over
	}
}

// TestEvidenceFirst: what arrived while the loop was busy is taken before a
// deadline that passed meanwhile is judged.
func TestEvidenceFirst(t *testing.T) {
	spec.Covers(t, "KS-TIME-5")
	synctest.Test(t, func(t *testing.T) {
		l := executor.New()
		var order []string
		stop := start(l)
		l.Post(func() {
			l.SetTimer(1, 10*ms, func(sm.Time) { order = append(order, "deadline") })
			time.Sleep(20 * time.Millisecond) // a slow step, past the deadline
		})
		time.Sleep(5 * time.Millisecond)
		for i := range 3 {
			l.Post(func() { order = append(order, fmt.Sprint("input ", i)) })
		}
		time.Sleep(10 * time.Millisecond)
		l.Post(func() { order = append(order, "late input") })
		time.Sleep(10 * time.Millisecond)
		stop()
		require.Equal(t, []string{"input 0", "input 1", "input 2", "late input", "deadline"}, order)
	})
}

// TestFloodDoesNotHoldUpDeadlines: inputs that never end cannot keep a deadline
// from being judged.
func TestFloodDoesNotHoldUpDeadlines(t *testing.T) {
	spec.Covers(t, "KS-TIME-1")
	synctest.Test(t, func(t *testing.T) {
		l := executor.New()
		var fired sm.Time
		inputs := 0
		var flood func()
		flood = func() {
			time.Sleep(time.Millisecond)
			if inputs++; inputs < 1000 {
				l.Post(flood)
			}
		}
		l.SetTimer(1, 10*ms, func(now sm.Time) { fired = now })
		stop := start(l)
		l.Post(flood)
		time.Sleep(2 * time.Second)
		stop()
		require.Equal(t, 1000, inputs)
		require.GreaterOrEqual(t, fired, 10*ms)
		require.LessOrEqual(t, fired, 12*ms)
	})
}

// TestPastTimerDoesNotHoldUpInputs: a timer that sets itself for the past again
// and again lets inputs through.
func TestPastTimerDoesNotHoldUpInputs(t *testing.T) {
	l := executor.New()
	n := 0
	var again func(sm.Time)
	again = func(sm.Time) {
		n++
		l.SetTimer(1, 1, again)
	}
	l.SetTimer(1, 1, again)
	stop := start(l)
	done := make(chan struct{})
	require.True(t, l.Post(func() { close(done) }))
	<-done
	stop()
}

func TestTimers(t *testing.T) {
	spec.Covers(t, "KS-TIME-12")
	synctest.Test(t, func(t *testing.T) {
		l := executor.New()
		require.Zero(t, l.Now())
		var fired []string
		at := func(name string, key uint64, when sm.Time) {
			l.SetTimer(key, when, func(now sm.Time) {
				require.GreaterOrEqual(t, now, when)
				fired = append(fired, fmt.Sprintf("%s at %d", name, now/ms))
			})
		}
		stop := start(l)
		l.Post(func() {
			at("c", 3, 30*ms)
			at("a", 1, 10*ms)
			at("b", 2, 20*ms)
			at("gone", 4, 15*ms)
			at("replaced", 5, 5*ms)
			at("e", 5, 25*ms) // later than before
			at("replaced", 6, 50*ms)
			at("f", 6, 12*ms) // earlier than before
			l.SetTimer(4, 0, nil)
			l.SetTimer(99, 0, nil) // none there: nothing happens
		})
		synctest.Wait() // the loop sleeps; nothing spins
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, []string{"a at 10", "f at 12", "b at 20", "e at 25", "c at 30"}, fired)

		// A timer may set itself again, and may remove others that are due with it.
		fired = nil
		l.Post(func() {
			l.SetTimer(1, l.Now()+10*ms, func(now sm.Time) {
				fired = append(fired, "first")
				l.SetTimer(2, 0, nil)
				at("again", 1, now+10*ms)
			})
			l.SetTimer(2, l.Now()+11*ms, func(sm.Time) { fired = append(fired, "removed") })
			time.Sleep(15 * time.Millisecond) // both are due when the loop looks
		})
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, []string{"first", "again at 125"}, fired)
		stop()
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := executor.New()
		var ran []int
		for i := range 3 {
			require.True(t, l.Post(func() {
				ran = append(ran, i)
				// Too late: the loop was stopped before it ran.
				require.False(t, l.Post(func() { ran = append(ran, -1) }))
			}))
		}
		l.SetTimer(1, 1, func(sm.Time) { ran = append(ran, -2) })
		l.Stop()
		l.Stop()
		require.False(t, l.Post(func() { ran = append(ran, -3) }))
		time.Sleep(time.Second) // the timer is long due
		l.Run()
		require.Equal(t, []int{0, 1, 2}, ran)
		require.False(t, l.Post(func() {}))
	})
}

// TestStopWakesASleeper: Stop reaches a loop that waits for nothing.
func TestStopWakesASleeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := executor.New()
		stop := start(l)
		synctest.Wait()
		began := time.Now()
		stop()
		require.Zero(t, time.Since(began))
	})
}

// TestManyPosters: from many goroutines every accepted input runs once, each
// poster's in its order, and state that only inputs touch needs no lock.
func TestManyPosters(t *testing.T) {
	spec.Covers(t, "KS-TIME-14")
	l := executor.New()
	stop := start(l)
	const posters, each = 8, 500
	got := make([][]int, posters)
	fired := 0
	var all sync.WaitGroup
	for p := range posters {
		all.Go(func() {
			for i := range each {
				require.True(t, l.Post(func() {
					got[p] = append(got[p], i)
					l.SetTimer(uint64(p), l.Now()+1, func(sm.Time) { fired++ })
				}))
			}
		})
	}
	all.Wait()
	stop()
	for p := range posters {
		require.Len(t, got[p], each)
		for i, v := range got[p] {
			require.Equal(t, i, v)
		}
	}
	require.LessOrEqual(t, fired, posters*each)
}

// TestRandomTimers compares the timers with a naive list, in virtual time.
func TestRandomTimers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			l := executor.New()
			stop := start(l)
			var mu sync.Mutex
			want, fired := map[uint64]sm.Time{}, map[uint64]sm.Time{}
			got := func(key uint64) sm.Time {
				mu.Lock()
				defer mu.Unlock()
				return fired[key]
			}
			now := sm.Time(0)
			for range rapid.IntRange(1, 20).Draw(rt, "sets") {
				key := rapid.Uint64Range(0, 3).Draw(rt, "key")
				after := sm.Time(rapid.Int64Range(0, 20).Draw(rt, "after")) * ms
				pause := sm.Time(rapid.Int64Range(0, 5).Draw(rt, "pause")) * ms
				l.Post(func() {
					if after == 0 {
						l.SetTimer(key, 0, nil)
						return
					}
					l.SetTimer(key, l.Now()+after, func(now sm.Time) {
						mu.Lock()
						fired[key] = now
						mu.Unlock()
					})
				})
				synctest.Wait()
				if after == 0 {
					if want[key] > now {
						delete(want, key)
					}
				} else {
					want[key] = now + after
				}
				time.Sleep(time.Duration(pause))
				synctest.Wait()
				now += pause
				for key, at := range want {
					if at <= now {
						require.Equal(rt, at, got(key), "fires exactly when it is due")
					}
				}
			}
			time.Sleep(time.Second)
			synctest.Wait()
			for key, at := range want {
				require.Equal(rt, at, got(key))
			}
			stop()
		})
	})
}

// TestPostDoesNotBlock: the queue takes inputs while the loop does not run.
func TestPostDoesNotBlock(t *testing.T) {
	l := executor.New()
	n := 0
	for range 10_000 {
		l.Post(func() { n++ })
	}
	l.Stop()
	l.Run()
	require.Equal(t, 10_000, n)
}

func ExampleLoop() {
	l := executor.New()
	l.Post(func() {
		fmt.Println("an input")
		l.SetTimer(1, l.Now()+ms, func(sm.Time) {
			fmt.Println("its deadline")
			l.Stop()
		})
	})
	l.Run()
	fmt.Println(l.Post(func() {}))
	// Output:
	// an input
	// its deadline
	// false
}
