package nixl

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// peerState says what the agent knows of a peer.
type peerState uint8

const (
	peerJoining peerState = iota // one AddPeer is at it
	peerLive
	peerLost // an error was seen; the metadata must be loaded anew before the next use
)

// peer is one other agent. Fields are under Agent.mu unless said otherwise.
type peer struct {
	name  string
	cname peerName // valid while the peer is in the map or uses > 0
	state peerState
	known bool // the library has its metadata
	card  card
	// proved is the metadata that was found good, of the joiner alone.
	proved []byte
	// open: the regions are unknown, because the metadata came by the listener. The
	// library itself refuses what is not registered.
	open bool
	uses int           // calls and requests that hold the peer
	pins int           // attempts that need it (Pin)
	used time.Duration // since begun: the latest notice, either way, or write
	done chan struct{} // closed when joining ends
	err  error         // of the latest join
	lost time.Time
	// healed: the connection was made anew by this side, and no notice of the peer has
	// arrived since.
	healed bool

	// Only the owner's: the notices taken in the current second, and their bytes.
	second int64
	taken  int
	bytes  int
}

// AddPeer makes a peer reachable: from metadata as Metadata returns it, else from
// an address of either form. The metadata is checked before the library sees it. It
// does nothing for a connected peer with equal metadata, or when no metadata is
// given. A lost peer is dropped and loaded again (KS-BACK-18), from what is given or
// what is remembered. It blocks for at most Config.ConnectDeadline. Errors:
// ReasonBadMetadata, ReasonWrongName, ReasonBadAddress, ReasonNameInUse,
// ReasonTooManyPeers, ReasonConnectDeadline, ReasonClosed.
func (a *Agent) AddPeer(name, address string, metadata []byte) error {
	if err := a.enter("add peer " + name); err != nil {
		return err
	}
	defer a.leave()
	err := a.addPeer(name, address, metadata)
	if err != nil {
		a.mu.Lock()
		a.stats.Faults[reasonOf(err)]++
		a.mu.Unlock()
	}
	return err
}

func (a *Agent) addPeer(name, address string, metadata []byte) error {
	if name == "" || len(name) > MaxName || name == a.cfg.Name {
		return &Error{Reason: ReasonWrongName, What: "add peer", Detail: fmt.Sprintf("a name of %d bytes, or its own", len(name))}
	}
	if i := controlAt(name); i >= 0 {
		// The library's names end at the first NUL: it would mean another peer.
		return &Error{Reason: ReasonWrongName, What: "add peer", Detail: fmt.Sprintf("control character at byte %d of a name", i)}
	}
	at := place{card: metadata}
	if len(metadata) == 0 {
		var err error
		if at, err = parseAddress(address); err != nil {
			return err
		}
	}
	if at.ip != "" && a.cfg.Listen == 0 {
		// Anybody can name an address: none is connected to unless the user asked for that.
		return &Error{Reason: ReasonBadAddress, What: "add peer " + name, Detail: fmt.Sprintf("%s:%d, but Config.Listen (flag --nixl-listen) is off", at.ip, at.port)}
	}
	var c card
	if at.ip == "" {
		var err error
		if c, err = decodeCard(name, at.card); err != nil {
			return err
		}
	}
	until := time.Now().Add(a.cfg.ConnectDeadline)
	p, mine, err := a.join(name, c, at.ip != "", until)
	if err != nil || !mine {
		return err
	}
	err = a.load(p, c, at, until)
	a.mu.Lock()
	p.state, p.err = peerLive, err
	if err != nil {
		p.state, p.lost = peerLost, time.Now()
	} else {
		p.card, p.open, p.used = c, at.ip != "", time.Since(a.begun)
	}
	close(p.done)
	p.uses--
	a.mu.Unlock()
	return err
}

// join finds or makes the peer. mine says that the caller must load it; then it
// holds the peer and nobody else does.
func (a *Agent) join(name string, c card, listener bool, until time.Time) (*peer, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		p := a.peers[name]
		switch {
		case p == nil:
			if err := a.room(); err != nil {
				return nil, false, err
			}
			p = &peer{name: name, cname: newPeerName(name), uses: 1, done: make(chan struct{})}
			a.peers[name] = p
			return p, true, nil
		case p.state == peerLive:
			if !listener && !p.open && !bytes.Equal(c.blob, p.card.blob) {
				return nil, false, &Error{Reason: ReasonNameInUse, What: "add peer " + name,
					Detail: "a connected peer of that name has other metadata"}
			}
			return p, false, nil
		case p.state == peerJoining:
			done := p.done
			a.mu.Unlock()
			err := wait(done, a.quit, until)
			a.mu.Lock()
			if err != nil {
				return nil, false, a.late(name, "another first contact is under way")
			}
			if p.err != nil {
				return nil, false, p.err
			}
		case p.uses > 0:
			// Requests of before the loss are not over; the library still needs the old metadata
			// for them.
			a.mu.Unlock()
			time.Sleep(time.Millisecond)
			a.mu.Lock()
			select {
			case <-a.quit:
				return nil, false, &Error{Reason: ReasonClosed, What: "add peer " + name}
			default:
			}
			if time.Now().After(until) {
				return nil, false, a.late(name, "writes to it from before the connection broke are under way")
			}
		default:
			p.state, p.uses, p.done, p.err, p.healed = peerJoining, 1, make(chan struct{}), nil, false
			return p, true, nil
		}
	}
}

func wait(done, stop <-chan struct{}, until time.Time) error {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-stop:
	case <-t.C:
	}
	return transport.ErrClosed
}

func (a *Agent) late(name, detail string) error {
	return &Error{Reason: ReasonConnectDeadline, What: "add peer " + name,
		Detail: fmt.Sprintf("%s, setting connect-deadline = %v", detail, a.cfg.ConnectDeadline)}
}

// room makes place for one more peer: of the lost ones the one lost longest is
// forgotten first, and when too many are connected, the one that was silent longest
// of those that nothing is under way with. So strangers that come once cannot keep
// newcomers out.
func (a *Agent) room() error {
	live, oldest, idle := 0, (*peer)(nil), (*peer)(nil)
	for _, p := range a.peers {
		switch {
		case p.state != peerLost || p.uses > 0:
			live++
			if p.state == peerLive && p.uses == 0 && p.pins == 0 && (idle == nil || p.used < idle.used) {
				idle = p
			}
		case oldest == nil || p.lost.Before(oldest.lost):
			oldest = p
		}
	}
	if live >= a.cfg.MaxPeers {
		if idle == nil {
			return &Error{Reason: ReasonTooManyPeers, What: "add peer", Detail: fmt.Sprintf("something is under way with each of Config.MaxPeers = %d", a.cfg.MaxPeers)}
		}
		a.stats.Evicted++
		a.lost = append(a.lost, idle)
		a.forget(idle)
		a.rest.wake()
	}
	if len(a.peers) >= 2*a.cfg.MaxPeers && oldest != nil {
		a.forget(oldest)
	}
	return nil
}

// forget drops a peer that nobody holds.
func (a *Agent) forget(p *peer) {
	delete(a.peers, p.name)
	if p.known {
		invalidateMetadata(a.h, p.name)
	}
	p.cname.free()
}

// Pin says that attempts with a peer begin (n positive) or end (n negative): a peer
// with attempts is not dropped to make room for another. It does nothing for an
// unknown peer.
func (a *Agent) Pin(name string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.peers[name]; p != nil {
		p.pins = max(p.pins+n, 0)
	}
}

// load gives the peer's metadata to the library.
func (a *Agent) load(p *peer, c card, at place, until time.Time) error {
	what := "add peer " + p.name
	if at.ip == "" && !bytes.Equal(c.blob, p.proved) {
		if err := a.prove(what, c, until); err != nil {
			return err
		}
		p.proved = c.blob
	}
	if p.known {
		// An error here means that the library has dropped it by itself.
		invalidateMetadata(a.h, p.name)
		p.known = false
	}
	if at.ip != "" {
		if st := fetchMetadata(a.h, p.name, at.ip, at.port); st != success {
			return failed(ReasonConnectDeadline, what, "fetch_remote_md", st)
		}
		// The call says nothing about success; only the metadata itself does.
		for checkMetadata(a.h, p.name) != success {
			select {
			case <-a.quit:
				return &Error{Reason: ReasonClosed, What: what}
			case <-time.After(5 * time.Millisecond):
			}
			if time.Now().After(until) {
				return a.late(p.name, fmt.Sprintf("no metadata from %s:%d", at.ip, at.port))
			}
		}
		p.known = true
		return nil
	}
	got, st := loadMetadata(a.h, c.blob)
	if st != success {
		// The library may have kept a part of it: nothing but a new name helps then.
		return failed(ReasonBadMetadata, what, "load_remote_md", st)
	}
	p.known = true
	if got != p.name {
		return &Error{Reason: ReasonWrongName, What: what, Detail: fmt.Sprintf("the library loaded it as %q", got)}
	}
	return nil
}

// prove keeps metadata that does harm away from the library: what can be read of it
// is read, and a sacrificial process loads it first.
func (a *Agent) prove(what string, c card, until time.Time) error {
	if a.strict {
		if err := checkBlob(c.blob); err != nil {
			return &Error{Reason: ReasonBadMetadata, What: what, Err: err}
		}
	}
	if a.probe == nil {
		return nil
	}
	err := a.probe.judge(c.blob, until)
	var bad *probeRefusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return &Error{Reason: ReasonBadMetadata, What: what, Detail: "the probe process could not load it", Err: bad}
	case errors.Is(err, errProbeClosed):
		return &Error{Reason: ReasonClosed, What: what}
	}
	return &Error{Reason: ReasonConnectDeadline, What: what, Err: err,
		Detail: fmt.Sprintf("setting connect-deadline = %v", a.cfg.ConnectDeadline)}
}

// hold returns a live peer, to be dropped after use.
func (a *Agent) hold(what, name string) (*peer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.holdLocked(what, name)
}

func (a *Agent) holdLocked(what, name string) (*peer, error) {
	p := a.peers[name]
	for p != nil && p.state == peerJoining && p.healed {
		done := p.done
		a.mu.Unlock()
		<-done // soon: no network is waited for
		a.mu.Lock()
		p = a.peers[name]
	}
	if p == nil || p.state == peerJoining {
		return nil, &Error{Reason: ReasonUnknownPeer, What: what + " " + name}
	}
	if p.state == peerLost {
		return nil, &Error{Reason: ReasonPeerGone, What: what + " " + name}
	}
	p.uses++
	p.used = time.Since(a.begun)
	return p, nil
}

func (a *Agent) drop(p *peer) {
	a.mu.Lock()
	p.uses--
	a.mu.Unlock()
}

// breakPeer marks a peer as lost after a call on it failed; the owner reports it.
func (a *Agent) breakPeer(p *peer, call string, st status) {
	a.mu.Lock()
	first := p.state == peerLive
	if first {
		p.state, p.lost = peerLost, time.Now()
		a.lost = append(a.lost, p)
		a.stats.Faults[ReasonPeerGone]++
	}
	a.mu.Unlock()
	if first {
		a.log.Warn("peer lost", "peer", p.name, "call", "nixl_capi_"+call, "status", st.String())
		a.nudge()
	}
}

// heal makes a broken connection anew, where nothing but earlier notices, which may
// get lost anyhow, can have been under way: only the caller holds the peer. A dead
// peer takes the first notice after that without an error, so there is no second
// time until it has said something.
func (a *Agent) heal(p *peer) bool {
	a.mu.Lock()
	if p.state != peerLive || p.uses != 1 || p.healed || p.open {
		a.mu.Unlock()
		return false
	}
	p.state, p.done, p.healed = peerJoining, make(chan struct{}), true
	c := p.card
	a.mu.Unlock()
	err := a.load(p, c, place{}, time.Now().Add(a.cfg.ConnectDeadline))
	a.mu.Lock()
	p.state, p.err = peerLive, err // the caller reports it as lost when this did not help
	close(p.done)
	if err == nil {
		a.stats.Healed++
	}
	a.mu.Unlock()
	a.log.Info("connection made anew", "peer", p.name, "err", err)
	return err == nil
}

// Covers says whether the peer is connected and one of its regions holds all of t.
// Of a peer that came by the listener the regions are unknown: then it says yes, and
// the library refuses at Post.
func (a *Agent) Covers(name string, t transport.Target) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.peers[name]
	return p != nil && p.state == peerLive && (p.open || p.card.covers(t.Addr, t.Len, t.Device))
}

// Connected says whether the peer can be used now.
func (a *Agent) Connected(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.peers[name]
	return p != nil && p.state == peerLive
}

// Notify hands one message to the library, which promises nothing: not that it
// arrives, not when, not in which order. Errors: ReasonTooLarge, ReasonUnknownPeer,
// ReasonPeerGone, ReasonClosed.
func (a *Agent) Notify(name string, payload []byte) error {
	if len(payload) > MaxNotice {
		return &Error{Reason: ReasonTooLarge, What: "notify " + name, Detail: fmt.Sprintf("%d bytes, at most %d", len(payload), MaxNotice)}
	}
	if err := a.enter("notify " + name); err != nil {
		return err
	}
	defer a.leave()
	p, err := a.hold("notify", name)
	if err != nil {
		return err
	}
	defer a.drop(p)
	st := sendNotice(a.h, p.cname, payload)
	if st != success && a.heal(p) {
		st = sendNotice(a.h, p.cname, payload)
	}
	if st != success {
		a.breakPeer(p, "gen_notif", st)
		return failed(ReasonPeerGone, "notify "+name, "gen_notif", st)
	}
	a.nudge()
	return nil
}
