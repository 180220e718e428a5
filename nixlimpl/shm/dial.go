package shm

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// AddPeer connects to the agent of that name at that address, tells it of all
// remote regions, and maps its own. It returns when both sides can notify and
// write by name, and blocks for at most about Config.ConnectDeadline. It returns
// nil at once where that peer is connected already, whichever side dialled; a lost
// peer is dialled anew. metadata must be empty. Errors: ReasonBadAddress,
// ReasonWrongName, ReasonNameInUse (that name is connected from another address, or
// this agent's name is taken over there), ReasonPeerGone (nobody listens),
// ReasonHandshakeTimeout, ReasonTooManyPeers, ReasonClosed, and the peer's refusal.
func (a *Agent) AddPeer(name, address string, metadata []byte) error {
	what := "add peer " + name
	if err := checkName(name); err != nil {
		return &Error{Reason: ReasonWrongName, What: "add peer", Err: err}
	}
	if len(metadata) != 0 {
		return &Error{Reason: ReasonBadMetadata, What: what, Detail: "this adaptor has none"}
	}
	socket, err := parseAddress(address)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(a.cfg.ConnectDeadline)
	j, err := a.reserveDial(name, address)
	if j == nil {
		return err
	}
	err = a.dial(name, socket, j)
	if errors.Is(err, &Error{Reason: ReasonDialCrossed}) || errors.Is(err, &Error{Reason: ReasonNameInUse}) {
		err = a.crossed(name, address, deadline, err)
	}
	if err != nil && a.isClosing() {
		err = &Error{Reason: ReasonClosed, What: "handshake", Err: err}
	}
	a.settle(name, j, err)
	if err != nil {
		a.log.Info("peer not added", "peer", name, "address", address, "err", err)
		return fmt.Errorf("%s at %s: %w", what, address, err)
	}
	return nil
}

// reserveDial returns a reservation, or none and what AddPeer returns: the result
// of an equal call in progress, or nil where the peer is connected.
func (a *Agent) reserveDial(name, address string) (*join, error) {
	for {
		j, wait, err := a.tryReserve(name, address)
		if j != nil || err != nil || wait == nil {
			return j, err
		}
		select {
		case <-wait.done:
		case <-a.stop:
			continue
		}
		if wait.dial != nil {
			return nil, wait.dial.err
		}
	}
}

// await is what stands in the way of a reservation for now.
type await struct {
	done <-chan struct{}
	dial *join // an equal call; nil for anything else
}

func (a *Agent) tryReserve(name, address string) (*join, *await, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return nil, nil, &Error{Reason: ReasonClosed, What: "add peer " + name}
	}
	taken := &Error{Reason: ReasonNameInUse, What: "add peer " + name, Detail: "from another address"}
	if p := a.peers[name]; p != nil && p.state == peerLive {
		if p.address != address {
			return nil, nil, taken
		}
		return nil, nil, nil
	}
	if ch := a.leaving(name); ch != nil {
		return nil, &await{done: ch}, nil
	}
	if j := a.joins[name]; j != nil {
		switch j.address {
		case "":
			return nil, &await{done: j.done}, nil
		case address:
			return nil, &await{done: j.done, dial: j}, nil
		}
		return nil, nil, taken
	}
	if err := a.room(name); err != nil {
		return nil, nil, err
	}
	j := &join{address: address, done: make(chan struct{})}
	a.joins[name] = j
	return j, nil, nil
}

func (a *Agent) dial(name, socket string, j *join) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return &Error{Reason: ReasonPeerGone, What: "dial", Err: err}
	}
	s, err := a.begin(conn, true)
	if err != nil {
		return err
	}
	s.j = j
	if err := s.dial(name); err != nil {
		s.abort()
		return err
	}
	return nil
}

func (s *shake) dial(name string) error {
	if err := s.sendHello(name); err != nil {
		return err
	}
	if err := s.receiveHello(); err != nil {
		return err
	}
	if s.peer.name != name {
		return &Error{Reason: ReasonWrongName, What: "handshake", Detail: fmt.Sprintf("it is %q", s.peer.name)}
	}
	if err := s.receiveRegions(); err != nil {
		return err
	}
	if err := s.sendRegions(); err != nil {
		return err
	}
	if _, err := s.expect(kindReady); err != nil {
		return err
	}
	return s.finish()
}

// crossed looks for the other connection where both sides dialled. A peer that
// says name-in-use has finished that one, so it is live here too or the name is
// held by somebody else. After dial-crossed it may still be on its way.
func (a *Agent) crossed(name, address string, deadline time.Time, refused error) error {
	for {
		a.mu.Lock()
		p, err := a.live("add peer", name)
		a.mu.Unlock()
		switch {
		case err == nil && p.address == address:
			return nil
		case errors.Is(err, &Error{Reason: ReasonClosed}):
			return err
		case errors.Is(refused, &Error{Reason: ReasonNameInUse}) || time.Now().After(deadline):
			return refused
		}
		time.Sleep(time.Millisecond)
	}
}
