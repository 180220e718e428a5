package shm

import (
	"fmt"
	"runtime"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// copyStep bounds one copy call: the runtime cannot stop a goroutine inside one,
// and a garbage collection would wait for all of a large write. It is above the
// 1 MiB from which the runtime's copy bypasses the cache on amd64, which made
// writes a third faster where memory bandwidth is the limit.
const copyStep = 4 << 20

// job is one posted write.
type job struct {
	id       transport.WriteID
	p        *peer
	dst, src []byte
}

// queue is a ring of jobs.
type queue struct {
	ring    []job
	head, n int
}

func (q *queue) push(j job) {
	if q.n == len(q.ring) {
		ring := make([]job, max(64, 2*q.n))
		k := copy(ring, q.ring[q.head:])
		copy(ring[k:], q.ring[:q.head])
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = j
	q.n++
}

func (q *queue) pop() job {
	j := q.ring[q.head]
	q.ring[q.head] = job{}
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	return j
}

// Post queues a copy of src, inside one region of this agent, to the start of
// dst, inside one announced region of the peer, and returns at once. Writes are
// not ordered among each other. WriteEnded says Done when the bytes are in the
// peer's memory, and Broken when the peer was lost or the agent closed before the
// copy began: then no byte was written. Errors: ReasonOutsideRegion (either end,
// empty, dst shorter than src, device other than 0), ReasonQueueFull,
// ReasonUnknownPeer, ReasonPeerGone, ReasonClosed.
func (a *Agent) Post(name string, src []byte, dst transport.Target) (transport.WriteID, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.live("post", name)
	if err != nil {
		return 0, err
	}
	if _, ok := find(a.own, addressOf(src), uint64(len(src))); !ok {
		return 0, outside(name, "%d source bytes in no region of this agent", len(src))
	}
	if dst.Device != 0 {
		return 0, outside(name, "device %d", dst.Device)
	}
	to, ok := find(p.regions, dst.Addr, dst.Len)
	if !ok {
		return 0, outside(name, "%d bytes at %#x", dst.Len, dst.Addr)
	}
	if len(to) < len(src) {
		return 0, outside(name, "%d source bytes for %d", len(src), dst.Len)
	}
	if a.queue.n >= a.cfg.QueueWrites {
		a.stats.Refused++
		return 0, &Error{Reason: ReasonQueueFull, What: "post " + name, Detail: "setting Config.QueueWrites"}
	}
	a.written++
	p.pending++
	a.queue.push(job{id: a.written, p: p, dst: to, src: src})
	a.work.Signal()
	return a.written, nil
}

func outside(name, format string, args ...any) error {
	return &Error{Reason: ReasonOutsideRegion, What: "post " + name, Detail: fmt.Sprintf(format, args...)}
}

// Release forgets a write and does nothing else: the copy goes on, and WriteEnded
// is still reported. It is idempotent. Error: ReasonUnknownWrite.
func (a *Agent) Release(id transport.WriteID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id == 0 || id > a.written {
		return &Error{Reason: ReasonUnknownWrite, What: fmt.Sprintf("release %d", id)}
	}
	return nil
}

// write is one worker. It ends when the agent closes and no job is left.
func (a *Agent) write() {
	for {
		a.mu.Lock()
		for a.queue.n == 0 && !a.closing {
			a.work.Wait()
		}
		if a.queue.n == 0 {
			a.mu.Unlock()
			return
		}
		j := a.queue.pop()
		var err error
		if a.closing {
			err = &Error{Reason: ReasonClosed, What: "write to " + j.p.name}
		} else if j.p.state != peerLive {
			err = &Error{Reason: ReasonPeerGone, What: "write to " + j.p.name}
		}
		a.mu.Unlock()
		if err == nil {
			for at := 0; at < len(j.src); at += copyStep {
				copy(j.dst[at:], j.src[at:min(at+copyStep, len(j.src))])
			}
		}
		a.finish(j, err)
		// Whoever waits for the event runs now, and not when the scheduler takes this
		// processor away after 10 ms of copying.
		runtime.Gosched()
	}
}

func (a *Agent) finish(j job, err error) {
	e := transport.Event{Kind: transport.WriteEnded, Write: j.id, Status: transport.Done, Err: err}
	a.mu.Lock()
	if err == nil {
		a.stats.Done++
		a.stats.Bytes += uint64(len(j.src))
	} else {
		a.stats.Broken++
		e.Status = transport.Broken
	}
	a.mu.Unlock()
	a.report(j.p, e)
	a.mu.Lock()
	j.p.pending-- // only now: until then the name stays and events keep their order
	idle := j.p.takeIdle()
	a.forget(j.p)
	a.mu.Unlock()
	unmapAll(idle)
}
