package shm

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// join reserves a name while its handshake runs.
type join struct {
	address string // dialled address; empty for an incoming connection
	done    chan struct{}
	err     error // of a dial, valid once done is closed
}

// shake is one handshake in progress and everything it must give back on failure.
type shake struct {
	a        *Agent
	link     *link
	dialled  bool
	proc     *process
	deadline time.Time
	peer     hello // what the other side said of itself
	regions  []span
	announce []shared // own regions at its start
	j        *join    // nil for the far end of a dial to oneself
}

// begin takes a connection under the agent's wing. It owns conn from here on.
func (a *Agent) begin(conn *net.UnixConn, dialled bool) (*shake, error) {
	s := &shake{a: a, link: &link{conn: conn}, dialled: dialled, deadline: time.Now().Add(a.cfg.ConnectDeadline)}
	conn.SetDeadline(s.deadline)
	err := a.track(conn)
	if err == nil {
		s.proc, err = peerProcess(conn)
	}
	if err != nil {
		s.abort()
		return nil, err
	}
	return s, nil
}

func (a *Agent) track(conn *net.UnixConn) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return &Error{Reason: ReasonClosed, What: "connect"}
	}
	if len(a.shaking) >= maxShaking {
		return &Error{Reason: ReasonTooManyPeers, What: "connect",
			Detail: fmt.Sprintf("%d handshakes at one time", maxShaking)}
	}
	a.shaking[conn] = struct{}{}
	return nil
}

func (s *shake) abort() {
	s.a.mu.Lock()
	delete(s.a.shaking, s.link.conn)
	s.a.mu.Unlock()
	s.link.conn.Close()
	if s.proc != nil {
		s.proc.close()
	}
	unmapAll(s.regions)
}

// expect reads one frame of that kind.
func (s *shake) expect(k frameKind) (frame, error) {
	f, err := s.link.read()
	if err != nil {
		return f, s.explain(err)
	}
	if f.kind == k {
		return f, nil
	}
	closeFD(f.fd)
	if f.kind == kindRefuse && s.dialled {
		reason, err := parseRefuse(f.body)
		if err != nil {
			return f, err
		}
		return f, &Error{Reason: reason, What: "handshake", Detail: "the peer refused"}
	}
	return f, badFrame("kind %d in the handshake, want %d", f.kind, k)
}

func (s *shake) write(b []byte, fd int) error {
	if err := s.link.write(b, fd); err != nil {
		return s.explain(err)
	}
	return nil
}

func (s *shake) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &Error{Reason: ReasonHandshakeTimeout, What: "handshake",
			Detail: fmt.Sprintf("setting connect-deadline, Config.ConnectDeadline=%v", s.a.cfg.ConnectDeadline)}
	}
	return gone("handshake", err)
}

func (s *shake) sendHello(want string) error {
	s.a.mu.Lock()
	s.announce = s.a.shared // append-only: a snapshot
	s.a.mu.Unlock()
	return s.write(appendHello(nil, hello{regions: uint32(len(s.announce)), name: s.a.cfg.Name,
		want: want, address: s.a.address}), -1)
}

func (s *shake) receiveHello() error {
	f, err := s.expect(kindHello)
	if err != nil {
		return err
	}
	if s.peer, err = parseHello(f.body); err != nil {
		return err
	}
	if s.peer.want != s.a.cfg.Name {
		return &Error{Reason: ReasonWrongName, What: "handshake",
			Detail: fmt.Sprintf("%q wants %q", s.peer.name, s.peer.want)}
	}
	return nil
}

func (s *shake) sendRegions() error {
	for _, r := range s.announce {
		if err := s.write(appendRegion(nil, r.addr, r.size), r.fd); err != nil {
			return err
		}
	}
	return nil
}

func (s *shake) receiveRegions() error {
	for range s.peer.regions {
		f, err := s.expect(kindRegion)
		if err != nil {
			return err
		}
		r, err := mapRegion(s.regions, f)
		if err != nil {
			return err
		}
		s.regions = append(s.regions, r)
	}
	return nil
}

// finish makes the connection a live peer. The accepting side says ready first, so
// that no notice of it can reach a dialler which is still in its handshake.
func (s *shake) finish() error {
	a, name := s.a, s.peer.name
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return &Error{Reason: ReasonClosed, What: "connect " + name}
	}
	if s.j != nil && a.joins[name] != s.j {
		return &Error{Reason: ReasonDialCrossed, What: "connect " + name}
	}
	p := &peer{name: name, address: s.peer.address, link: s.link, proc: s.proc, regions: s.regions,
		out:     newOutbox(load{a.cfg.QueueNotices, a.cfg.QueueBytes}),
		deliver: new(sync.Mutex), lost: make(chan struct{}), gone: make(chan struct{}), far: s.j == nil}
	if !p.far {
		if err := a.claim(name, s.proc); err != nil {
			return err
		}
		if old := a.peers[name]; old != nil {
			p.deliver = old.deliver
			old.retired = true
			old.proc.close()
			close(old.gone)
		}
		a.peers[name] = p
		delete(a.joins, name) // a name counts once
	}
	if name == a.cfg.Name {
		p.deliver = &a.deliverSelf
	}
	if !s.dialled {
		p.out.control(appendHeader(nil, kindReady, 0), -1)
	}
	for _, r := range a.shared[len(s.announce):] {
		p.out.control(appendRegion(nil, r.addr, r.size), r.fd)
	}
	s.link.conn.SetDeadline(time.Time{})
	delete(a.shaking, s.link.conn)
	a.start(p)
	a.log.Debug("peer connected", "peer", name, "pid", s.proc.pid, "regions", len(s.regions), "dialled", s.dialled)
	return nil
}

// claim checks that a process may have a name: nobody has it, or that very process
// had it and still runs. Another process must wait for PeerDead, else that event
// would be about the wrong one. Agent.mu is held.
func (a *Agent) claim(name string, proc *process) error {
	p := a.peers[name]
	if p == nil || p.state == peerLost && !p.dead && p.proc.pid == proc.pid && p.proc.alive() {
		return nil
	}
	return &Error{Reason: ReasonNameInUse, What: "connect " + name,
		Detail: fmt.Sprintf("held by process %d, claimed by %d", p.proc.pid, proc.pid)}
}

// room checks Config.MaxPeers for one more name. Agent.mu is held.
func (a *Agent) room(name string) error {
	if len(a.peers)+len(a.joins) >= a.cfg.MaxPeers {
		return &Error{Reason: ReasonTooManyPeers, What: "connect " + name,
			Detail: fmt.Sprintf("setting Config.MaxPeers=%d", a.cfg.MaxPeers)}
	}
	return nil
}

// settle ends a reservation.
func (a *Agent) settle(name string, j *join, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.joins[name] == j {
		delete(a.joins, name)
	}
	j.err = err
	close(j.done)
}
