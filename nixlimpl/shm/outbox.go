package shm

import (
	"sync"

	"github.com/kvsettle/kvsettle/spec"
)

// keepBuffer is the largest buffer an outbox keeps for reuse, so that one burst
// does not pin its peak for the life of the peer.
const keepBuffer = 256 << 10

// outbox holds the frames for one peer in order. Adding never blocks; one
// goroutine runs the sending.
type outbox struct {
	mu         sync.Mutex
	wake       sync.Cond
	buf, spare []byte
	fds        []mark
	fresh      load // of the notices in buf
	held       load // of all that are accepted and not yet written
	limit      load
	dropped    int // notices that were accepted and given up
	state      boxState
	done       chan struct{} // closed when run has returned
}

// load counts notices and their bytes, headers included.
type load struct{ notices, bytes int }

// mark says that the frame which starts at off carries fd.
type mark struct{ off, fd int }

type boxState uint8

const (
	boxOpen   boxState = iota
	boxClosed          // takes no more, sends the rest
	boxFailed          // sends nothing any more
)

func newOutbox(limit load) *outbox {
	o := &outbox{limit: limit, done: make(chan struct{})}
	o.wake.L = &o.mu
	return o
}

// notice copies payload into the queue. An empty reason means accepted.
func (o *outbox) notice(payload []byte) spec.Reason {
	o.mu.Lock()
	defer o.mu.Unlock()
	size := headerLen + len(payload)
	switch {
	case o.state != boxOpen:
		return ReasonPeerGone
	case o.held.notices >= o.limit.notices || size > o.limit.bytes-o.held.bytes:
		return ReasonPeerSlow
	}
	o.buf = append(appendHeader(o.buf, kindNotice, len(payload)), payload...)
	for _, l := range []*load{&o.fresh, &o.held} {
		l.notices++
		l.bytes += size
	}
	o.wake.Signal()
	return ""
}

// control queues a frame outside the bounds of notices: regions and ready are
// bounded by themselves and must not be refused.
func (o *outbox) control(encoded []byte, fd int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != boxOpen {
		return
	}
	if fd >= 0 {
		o.fds = append(o.fds, mark{len(o.buf), fd})
	}
	o.buf = append(o.buf, encoded...)
	o.wake.Signal()
}

// close ends the queue after what is in it.
func (o *outbox) close() { _ = o.leave(boxClosed) }

// fail ends it at once and returns how many accepted notices were given up.
func (o *outbox) fail() int { return o.leave(boxFailed) }

func (o *outbox) leave(to boxState) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state = max(o.state, to)
	if o.state == boxFailed {
		o.dropped += o.held.notices
		o.buf, o.spare, o.fds, o.fresh, o.held = nil, nil, nil, load{}, load{}
	}
	o.wake.Signal()
	return o.dropped
}

// run sends until the queue is closed and empty, or fails. Everything queued goes
// out in as few writes as descriptors allow.
func (o *outbox) run(write func(b []byte, fd int) error) error {
	defer close(o.done)
	for {
		o.mu.Lock()
		for o.state == boxOpen && len(o.buf) == 0 {
			o.wake.Wait()
		}
		if len(o.buf) == 0 {
			o.mu.Unlock()
			return nil
		}
		buf, fds, fresh := o.buf, o.fds, o.fresh
		o.buf, o.spare, o.fds, o.fresh = o.spare, nil, nil, load{}
		o.mu.Unlock()

		if err := sendBatch(buf, fds, write); err != nil {
			o.fail()
			return err
		}

		o.mu.Lock()
		if o.state != boxFailed {
			o.held.notices -= fresh.notices
			o.held.bytes -= fresh.bytes
			if cap(buf) <= keepBuffer {
				o.spare = buf[:0]
			}
		}
		o.mu.Unlock()
	}
}

func sendBatch(buf []byte, fds []mark, write func(b []byte, fd int) error) error {
	at, fd := 0, -1
	for i := 0; i <= len(fds); i++ {
		end, next := len(buf), -1
		if i < len(fds) {
			end, next = fds[i].off, fds[i].fd
		}
		if end > at {
			if err := write(buf[at:end], fd); err != nil {
				return err
			}
		}
		at, fd = end, next
	}
	return nil
}
