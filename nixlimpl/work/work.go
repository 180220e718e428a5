// Package work is the goroutines that do what takes time: gather, scatter, fill,
// check. They touch no machine; they call back when they are done, and the
// callback posts to the executor.
package work

import "sync"

// Group is a fixed number of workers with one unbounded first-in-first-out queue.
type Group struct {
	mu     sync.Mutex
	cond   *sync.Cond
	queue  []func()
	head   int
	closed bool
	done   sync.WaitGroup
}

// New starts n workers (at least one).
func New(n int) *Group {
	g := &Group{}
	g.cond = sync.NewCond(&g.mu)
	for range max(n, 1) {
		g.done.Go(g.run)
	}
	return g
}

// Go queues f. It never blocks. It reports false after Close: then f is not run.
func (g *Group) Go(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.queue = append(g.queue, f)
	g.cond.Signal()
	return true
}

// Split runs part over [0, n) in pieces of at most grain (at least 1), in parallel,
// and calls done once after the last piece, from a worker. Nothing to do calls done
// alone. It reports false after Close: then neither is called.
func (g *Group) Split(n, grain int, part func(lo, hi int), done func()) bool {
	if n <= 0 {
		return g.Go(done)
	}
	grain = max(grain, 1)
	pieces := (n-1)/grain + 1
	var mu sync.Mutex
	left := pieces
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	for i := range pieces {
		lo := i * grain
		hi := min(lo+grain, n)
		g.queue = append(g.queue, func() {
			part(lo, hi)
			mu.Lock()
			left--
			last := left == 0
			mu.Unlock()
			if last {
				done()
			}
		})
	}
	g.cond.Broadcast()
	return true
}

// Close runs what is queued, then ends the workers and waits for them. A worker
// must not call it.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.cond.Broadcast()
	g.mu.Unlock()
	g.done.Wait()
}

func (g *Group) run() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		for g.head == len(g.queue) {
			if g.closed {
				return
			}
			g.cond.Wait()
		}
		f := g.queue[g.head]
		g.queue[g.head] = nil
		g.head++
		if g.head == len(g.queue) {
			g.queue, g.head = g.queue[:0], 0
		}
		g.mu.Unlock()
		f()
		g.mu.Lock()
	}
}
