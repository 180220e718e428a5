package shm

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

type peerState uint8

const (
	peerLive   peerState = iota
	peerEnding           // takes nothing more; PeerLost is being reported
	peerLost             // reported; kept until it is over and no write is pending
)

// peer is one connection generation of a named peer.
type peer struct {
	name, address string
	link          *link
	proc          *process
	out           *outbox
	// far marks the accepting end of a dial to oneself: it carries frames, but the
	// dialling end stands for the peer.
	far bool

	stalled atomic.Bool   // took nothing for Config.StallDeadline
	deliver *sync.Mutex   // held around the sink; shared by all generations of a name
	lost    chan struct{} // closed when state is peerLost
	gone    chan struct{} // closed when the name is free again

	// Under Agent.mu:
	state   peerState
	dead    bool   // the process is known to have ended: nobody may take the name over
	over    bool   // no event of connection or process is still to come
	retired bool   // a later generation from the same process watches instead
	regions []span // unmapped once the peer is lost and no write is pending
	pending int
}

func (a *Agent) report(p *peer, e transport.Event) {
	e.Peer = p.name
	p.deliver.Lock()
	defer p.deliver.Unlock()
	a.sink(e)
}

// takeIdle hands out the mappings of a lost peer for unmapping, once.
func (p *peer) takeIdle() []span {
	if p.state == peerLive || p.pending > 0 {
		return nil
	}
	spans := p.regions
	p.regions = nil
	return spans
}

// start runs a peer's goroutines. Agent.mu is held.
func (a *Agent) start(p *peer) {
	a.links[p] = struct{}{}
	a.all.Go(func() { a.read(p) })
	a.all.Go(func() { a.send(p) })
	if !p.proc.self() {
		a.all.Go(func() { a.watch(p) })
	}
}

func (a *Agent) send(p *peer) {
	err := p.out.run(func(b []byte, fd int) error {
		p.link.conn.SetWriteDeadline(time.Now().Add(a.cfg.StallDeadline))
		return p.link.write(b, fd)
	})
	if err != nil {
		p.stalled.Store(errors.Is(err, os.ErrDeadlineExceeded))
		// What the peer sent before it went is still worth reading, but not for ever.
		p.link.conn.SetReadDeadline(time.Now().Add(drainTimeout))
	}
}

func (a *Agent) read(p *peer) {
	err := a.receive(p)
	if p.stalled.Load() {
		err = &Error{Reason: ReasonPeerSlow, What: "send to " + p.name,
			Detail: fmt.Sprintf("setting Config.StallDeadline=%v", a.cfg.StallDeadline)}
	}
	a.mu.Lock()
	p.state = peerEnding
	idle := p.takeIdle()
	closing := a.closing
	a.mu.Unlock()
	dropped := p.out.fail()
	p.link.conn.Close()
	<-p.out.done
	unmapAll(idle)

	if !closing && !p.far {
		if reason := reasonOf(err); reason != ReasonPeerGone {
			a.fault(err, p.name, p.proc)
		}
		a.log.Info("peer lost", "peer", p.name, "pid", p.proc.pid, "err", err)
		a.report(p, transport.Event{Kind: transport.PeerLost, Err: err})
	}
	a.mu.Lock()
	a.stats.Dropped += uint64(dropped)
	p.state = peerLost
	delete(a.links, p)
	p.over = p.proc.self()
	a.forget(p)
	a.mu.Unlock()
	close(p.lost)
}

// receive returns why the connection ended, as an *Error.
func (a *Agent) receive(p *peer) error {
	for {
		f, err := p.link.read()
		if err != nil {
			return gone("read from "+p.name, err)
		}
		switch f.kind {
		case kindNotice:
			a.mu.Lock()
			a.stats.Notices++
			a.mu.Unlock()
			a.report(p, transport.Event{Kind: transport.Notice, Payload: f.body})
		case kindRegion:
			s, err := mapRegion(p.regions, f) // only this goroutine adds to a live peer's regions
			if err != nil {
				return err
			}
			a.mu.Lock()
			p.regions = append(p.regions, s)
			a.mu.Unlock()
		default:
			return badFrame("kind %d after the handshake", f.kind)
		}
	}
}

// gone turns an error of the socket into ReasonPeerGone; faults pass.
func gone(what string, err error) error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return &Error{Reason: ReasonPeerGone, What: what, Err: err}
}

// watch reports PeerDead once the process has ended and PeerLost is reported.
func (a *Agent) watch(p *peer) {
	defer p.proc.close()
	if !p.proc.wait() {
		return
	}
	// The kernel closed the dead process's end, unless somebody else holds it too.
	p.link.conn.SetReadDeadline(time.Now().Add(drainTimeout))
	<-p.lost
	a.mu.Lock()
	p.dead = true
	quiet := p.retired || a.closing
	a.mu.Unlock()
	if !quiet {
		a.log.Info("peer dead", "peer", p.name, "pid", p.proc.pid)
		a.report(p, transport.Event{Kind: transport.PeerDead})
	}
	a.mu.Lock()
	p.over = true
	a.forget(p)
	a.mu.Unlock()
}

// forget frees the name of a peer of which nothing more will be reported, unless a
// later generation has it. Agent.mu is held.
func (a *Agent) forget(p *peer) {
	if p.over && p.pending == 0 && a.peers[p.name] == p {
		delete(a.peers, p.name)
		close(p.gone)
	}
}

// leaving returns a channel that closes when a peer of that name, which is on its
// way out by itself, has got further; nil where waiting is of no use. Agent.mu is
// held.
func (a *Agent) leaving(name string) <-chan struct{} {
	p := a.peers[name]
	switch {
	case p == nil || p.state == peerLive:
		return nil
	case p.state == peerEnding:
		return p.lost
	case p.dead || !p.proc.alive():
		return p.gone
	}
	return nil
}

// live returns the connected peer of that name. Agent.mu is held.
func (a *Agent) live(what, name string) (*peer, error) {
	if a.closing {
		return nil, &Error{Reason: ReasonClosed, What: what}
	}
	p := a.peers[name]
	if p == nil {
		return nil, &Error{Reason: ReasonUnknownPeer, What: what + " " + name}
	}
	if p.state != peerLive {
		return nil, &Error{Reason: ReasonPeerGone, What: what + " " + name}
	}
	return p, nil
}

// Covers reports whether one announced region of a connected peer holds all of t.
// An empty t and other devices than 0 are never covered.
func (a *Agent) Covers(name string, t transport.Target) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.live("covers", name)
	if err != nil || t.Device != 0 {
		return false
	}
	_, ok := find(p.regions, t.Addr, t.Len)
	return ok
}

// Notify queues a copy of payload for a peer and returns at once. Notices to one
// peer arrive in the order of the calls. Errors: ReasonTooLarge over MaxNotice;
// ReasonPeerSlow when Config.QueueNotices or QueueBytes of that peer are full, a
// stopped peer for example; ReasonUnknownPeer, ReasonPeerGone, ReasonClosed.
func (a *Agent) Notify(name string, payload []byte) error {
	if len(payload) > MaxNotice {
		return &Error{Reason: ReasonTooLarge, What: "notify " + name}
	}
	a.mu.Lock()
	p, err := a.live("notify", name)
	a.mu.Unlock()
	if err != nil {
		return err
	}
	if reason := p.out.notice(payload); reason != "" {
		a.mu.Lock()
		a.stats.Refused++
		a.mu.Unlock()
		e := &Error{Reason: reason, What: "notify " + name}
		if reason == ReasonPeerSlow {
			e.Detail = "settings Config.QueueNotices, Config.QueueBytes"
		}
		return e
	}
	return nil
}
