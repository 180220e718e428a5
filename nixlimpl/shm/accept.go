package shm

import (
	"errors"
	"net"
	"os"
	"time"
)

// accept takes connections until the agent closes.
func (a *Agent) accept() {
	for {
		conn, err := a.ln.AcceptUnix()
		switch {
		case err == nil:
			a.spawn(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // out of descriptors, most likely: it passes
			a.log.Error("accept", "err", err)
			select {
			case <-a.stop:
			case <-time.After(acceptPause):
			}
		}
	}
}

func (a *Agent) spawn(conn *net.UnixConn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		conn.Close()
		return
	}
	a.all.Go(func() { a.welcome(conn) })
}

// welcome runs one incoming handshake.
func (a *Agent) welcome(conn *net.UnixConn) {
	s, err := a.begin(conn, false)
	if err != nil {
		a.fault(err, "", nil)
		return
	}
	if err := s.welcome(); err != nil {
		a.fault(err, s.peer.name, s.proc)
		// Tell a peer that still listens. It fits the socket's buffer or is not sent.
		s.link.conn.SetWriteDeadline(time.Now().Add(refuseTimeout))
		_ = s.link.write(appendRefuse(nil, reasonOf(err)), -1)
		s.abort()
	}
}

func (s *shake) welcome() error {
	if err := s.receiveHello(); err != nil {
		return err
	}
	var wait <-chan struct{}
	var err error
	for {
		s.j, wait, err = s.a.reserveAccept(s.peer, s.proc)
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-s.a.stop:
		case <-time.After(time.Until(s.deadline)):
			return s.explain(os.ErrDeadlineExceeded)
		}
	}
	if err != nil {
		return err
	}
	err = s.answer()
	if s.j != nil {
		s.a.settle(s.peer.name, s.j, err)
	}
	return err
}

func (s *shake) answer() error {
	if err := s.sendHello(s.peer.name); err != nil {
		return err
	}
	if err := s.sendRegions(); err != nil {
		return err
	}
	if err := s.receiveRegions(); err != nil {
		return err
	}
	return s.finish()
}

// reserveAccept decides on a hello. It returns a channel where the name is about
// to become free, and nothing at all for the far end of this agent's dial to itself.
//
// Where both sides dial at once, the connection from the lesser name is kept: each
// side judges by the same rule, so exactly one survives.
func (a *Agent) reserveAccept(h hello, proc *process) (*join, <-chan struct{}, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return nil, nil, &Error{Reason: ReasonClosed, What: "accept " + h.name}
	}
	if ch := a.leaving(h.name); ch != nil {
		return nil, ch, nil
	}
	old := a.joins[h.name]
	if h.name == a.cfg.Name && h.address == a.address && proc.self() && old != nil {
		return nil, nil, nil
	}
	if err := a.claim(h.name, proc); err != nil {
		return nil, nil, err
	}
	if h.name == a.cfg.Name {
		return nil, nil, &Error{Reason: ReasonNameInUse, What: "accept " + h.name, Detail: "it is this agent's own"}
	}
	if old != nil && (old.address == "" || h.name > a.cfg.Name) {
		reason := ReasonNameInUse
		if old.address != "" {
			reason = ReasonDialCrossed
		}
		return nil, nil, &Error{Reason: reason, What: "accept " + h.name}
	}
	if old == nil {
		if err := a.room(h.name); err != nil {
			return nil, nil, err
		}
	}
	j := &join{done: make(chan struct{})}
	a.joins[h.name] = j
	return j, nil, nil
}
