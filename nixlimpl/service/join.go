package service

import (
	"errors"
	"sync"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire/native"
)

// The bounds of first contacts. A stranger decides how long one takes, so none runs
// on the workers that copy.
const (
	// joinWorkers is how many run at once.
	joinWorkers = 4
	// maxMeeting bounds the requests of senders that cannot be answered yet, and
	// maxMeetingOfOne those of one sender.
	maxMeeting      = 128
	maxMeetingOfOne = 64
	// maxJoins bounds the first contacts that wait for a worker.
	maxJoins = 128
)

// joiners run first contacts, a fixed number at a time.
type joiners struct {
	queue chan func()
	stop  chan struct{}
	done  sync.WaitGroup
}

func newJoiners(n int) *joiners {
	j := &joiners{queue: make(chan func(), maxJoins), stop: make(chan struct{})}
	for range n {
		j.done.Go(func() {
			for {
				select {
				case <-j.stop:
					return
				default:
				}
				select {
				case <-j.stop:
					return
				case f := <-j.queue:
					f()
				}
			}
		})
	}
	return j
}

// start queues f; false means that too many wait.
func (j *joiners) start(f func()) bool {
	select {
	case j.queue <- f:
		return true
	default:
		return false
	}
}

// quit drops what waits. What runs ends with the agent; wait waits for it.
func (j *joiners) quit() { close(j.stop) }

func (j *joiners) wait() { j.done.Wait() }

// meet makes the sender of a request reachable and then goes on with the request.
// Requests of one sender wait for each other: what the first brings is enough for
// all of them, and a bad one spoils only itself.
func (c *CTX) meet(from string, req *native.RequestAndBufferInfo) {
	waiting := c.meets[from]
	if c.meeting == maxMeeting || len(waiting) == maxMeetingOfOne {
		c.refuse(from, "too-many-peers", "KS-SEC-3", nil)
		return
	}
	c.meeting++
	c.meets[from] = append(waiting, req)
	if len(waiting) == 0 {
		c.meetNext(from)
	}
}

func (c *CTX) meetNext(from string) {
	req := c.meets[from][0]
	if !c.joins.start(func() {
		err := c.agent.AddPeer(from, req.Address, req.Metadata)
		c.loop.Post(func() { c.met(from, err) })
	}) {
		c.met(from, errTooManyJoins)
	}
}

// met ends the first contact that the oldest waiting request of a sender began.
func (c *CTX) met(from string, err error) {
	waiting := c.meets[from]
	if err != nil {
		reason, req := joinFailure(err)
		c.refuse(from, reason, req, err)
		waiting = waiting[1:]
		c.meeting--
		if len(waiting) > 0 {
			c.meets[from] = waiting
			c.meetNext(from)
			return
		}
	}
	delete(c.meets, from)
	c.meeting -= len(waiting)
	for _, req := range waiting {
		c.request(from, req)
	}
}

var errTooManyJoins = errors.New("too many first contacts are under way")

// joinFailure finds the reason code of a failed first contact, and the requirement
// behind it.
func joinFailure(err error) (spec.Reason, string) {
	var coded interface {
		Code() spec.Reason
		Requirement() string
	}
	switch {
	case errors.As(err, &coded):
		return coded.Code(), coded.Requirement()
	case errors.Is(err, errTooManyJoins):
		return "too-many-peers", "KS-SEC-3"
	case errors.Is(err, transport.ErrClosed):
		return "agent-closed", "KS-SLOT-11"
	}
	return "bad-metadata", "KS-BACK-14"
}

// pinner is what an agent has that may drop a peer to make room for another.
type pinner interface{ Pin(peer string, n int) }

// pin says that attempts with a peer begin or end.
func (b *base) pin(peer string, n int) {
	if p, ok := b.agent.(pinner); ok && peer != "" {
		p.Pin(peer, n)
	}
}
