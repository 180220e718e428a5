package child

import (
	"encoding/json"
	"io"
	"sync"
)

// Lines writes JSON lines without ever blocking the caller: a slow or stopped
// reader at the other end of the pipe holds up a goroutine of its own, not an
// executor.
type Lines struct {
	mu     sync.Mutex
	cond   *sync.Cond
	queue  [][]byte
	closed bool
	done   chan struct{}
}

// NewLines starts writing to w. Errors of w end it silently: the other side is
// gone, which is noticed elsewhere.
func NewLines(w io.Writer) *Lines {
	l := &Lines{done: make(chan struct{})}
	l.cond = sync.NewCond(&l.mu)
	go l.run(w)
	return l
}

// Send queues v as one line. After Close it does nothing.
func (l *Lines) Send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		// Every value sent is a struct of plain fields; Marshal of those cannot fail.
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.queue = append(l.queue, append(b, '\n'))
	l.cond.Signal()
}

// Close writes what is queued and ends the goroutine. Done is closed then.
func (l *Lines) Close() {
	l.mu.Lock()
	l.closed = true
	l.cond.Signal()
	l.mu.Unlock()
}

// Done is closed when everything is written or the writer failed.
func (l *Lines) Done() <-chan struct{} { return l.done }

func (l *Lines) run(w io.Writer) {
	defer close(l.done)
	for {
		l.mu.Lock()
		for len(l.queue) == 0 && !l.closed {
			l.cond.Wait()
		}
		batch := l.queue
		l.queue = nil
		over := l.closed && len(batch) == 0
		l.mu.Unlock()
		if over {
			return
		}
		for _, b := range batch {
			if _, err := w.Write(b); err != nil {
				l.mu.Lock()
				l.closed, l.queue = true, nil
				l.mu.Unlock()
				return
			}
		}
	}
}
