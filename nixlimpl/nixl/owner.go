package nixl

import (
	"runtime"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// takeMost bounds the notices of one sender that one look takes.
const takeMost = 4096

// pace says how long to wait until the next look: not at all while something just
// happened, then a small part of the quiet time, up to the idle bound. So polling
// makes a wait longer by a sixty-fourth at most, and an idle agent costs next to
// nothing.
func pace(quiet, spin, idle time.Duration) time.Duration {
	if quiet < spin {
		return 0
	}
	return min(max(quiet/64, 10*time.Microsecond), idle)
}

// run is the owner.
func (a *Agent) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer preciseSleep()()
	var active []*request
	var mine time.Duration // latest activity that the owner saw
	var closing time.Time
	strangers := &peer{}
	for {
		seen := a.busy.Load()
		moved := a.take(strangers)
		if fresh := a.adopt(); len(fresh) > 0 {
			active, moved = a.start(fresh, active, strangers), true
		}
		if a.look(&active) {
			moved = true
		}
		a.reportLost()
		now := time.Since(a.begun)
		if moved {
			mine = now
		}
		quiet := now - max(mine, time.Duration(a.busy.Load()))
		select {
		case <-a.stop:
			if closing.IsZero() {
				closing = time.Now().Add(a.cfg.FlushDeadline)
			}
			// A notice may be on its way out: the library sends it by its own thread.
			if len(active) == 0 && quiet > flushQuiet || time.Now().After(closing) {
				a.mu.Lock()
				a.stats.Isolated = len(active)
				a.mu.Unlock()
				return
			}
		default:
		}
		d := pace(quiet, a.cfg.Spin, a.cfg.IdlePoll)
		if d == 0 {
			// No Gosched: this goroutine owns its thread, and yielding would park the thread
			// and wake another one, 20 to 100 us each time.
			continue
		}
		quietStill := func() bool { return a.busy.Load() == seen }
		if len(active) == 0 && closing.IsZero() {
			a.rest.idle(func(fd int) { a.notices.idle(a.h, fd, quiet, a.cfg.IdlePoll) }, quietStill)
		} else {
			a.rest.sleep(d, quietStill)
		}
	}
}

// flushQuiet is how long nothing must have happened before an agent without writes
// is taken down.
const flushQuiet = 10 * time.Millisecond

// adopt takes over what was posted since.
func (a *Agent) adopt() []*request {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stats.Polls++
	fresh := a.fresh
	a.fresh = nil
	return fresh
}

// start begins writes. Where the library copies within the call, each may take a
// while: notices are looked for in between.
func (a *Agent) start(fresh, active []*request, strangers *peer) []*request {
	for _, r := range fresh {
		a.begin(r)
		if r.st == inProgress {
			active = append(active, r)
		} else {
			a.end(r)
		}
		a.take(strangers)
	}
	return active
}

// look asks for the status of every active request and reports those that ended.
func (a *Agent) look(active *[]*request) (moved bool) {
	all := *active
	left := all[:0]
	for _, r := range all {
		if r.st = requestStatus(a.h, r.h); r.st == inProgress {
			left = append(left, r)
			continue
		}
		r.call, moved = "get_xfer_status", true
		a.end(r)
	}
	clear(all[len(left):])
	*active = left
	return moved
}

// end reports a final status and lets the request go.
func (a *Agent) end(r *request) {
	e := transport.Event{Kind: transport.WriteEnded, Peer: r.p.name, Write: r.id, Status: transport.Done}
	if r.st != success {
		e.Status, e.Err, e.Unstarted = transport.Broken, a.broken(r), r.h == nil
	}
	if r.h != nil {
		if st := freeRequest(a.h, r.h); st != success {
			a.log.Warn("request not freed", "peer", r.p.name, "call", "nixl_capi_release_xfer_req", "status", st.String())
		}
	}
	a.mu.Lock()
	if r.st == success {
		a.stats.Done++
		a.stats.Bytes += uint64(len(r.src))
	} else {
		a.stats.Broken++
	}
	if a.open[r.id] {
		a.stats.Late++
	}
	delete(a.open, r.id)
	r.p.uses--
	a.mu.Unlock()
	a.sink(e)
}

// broken says why a write ended in an error, and gives up its peer unless only this
// write is to blame.
func (a *Agent) broken(r *request) error {
	what := "write to " + r.p.name
	if r.h == nil && checkMetadata(a.h, r.p.name) == success {
		// The library knows the peer and refused the write: it knows the regions better than
		// this agent where the metadata came by the listener.
		return failed(ReasonOutsideRegion, what, r.call, r.st)
	}
	a.breakPeer(r.p, r.call, r.st)
	return failed(ReasonPeerGone, what, r.call, r.st)
}

// take passes on the notices that arrived.
func (a *Agent) take(strangers *peer) bool {
	now := time.Since(a.begun)
	second := int64(now / time.Second)
	over := 0
	n, skipped, st := a.notices.take(a.h, takeMost, MaxNotice, func(name string, payload []byte) {
		a.mu.Lock()
		p := a.peers[name]
		if p != nil && p.state == peerLive {
			p.healed, p.used = false, now
		}
		a.mu.Unlock()
		if p == nil {
			p = strangers
		}
		if p.second != second {
			p.second, p.taken, p.bytes = second, 0, 0
		}
		p.taken++
		p.bytes += len(payload)
		if p.taken > a.cfg.NoticesPerSecond || p.bytes > a.cfg.NoticeBytesPerSecond || len(name) > MaxName {
			over++
			return
		}
		a.sink(transport.Event{Kind: transport.Notice, Peer: name, Payload: payload})
	})
	if n == 0 && skipped == 0 && st == success {
		return false
	}
	a.mu.Lock()
	a.stats.Notices += uint64(n - over)
	a.stats.Dropped += uint64(skipped + over)
	a.mu.Unlock()
	if skipped+over > 0 {
		a.log.Warn("notices dropped", "count", skipped+over, "setting", "NoticesPerSecond", "bound", a.cfg.NoticesPerSecond, "requirement", reqBounds)
	}
	return n > 0
}

// reportLost tells the sink about peers whose calls failed.
func (a *Agent) reportLost() {
	a.mu.Lock()
	lost := a.lost
	a.lost = nil
	a.mu.Unlock()
	for _, p := range lost {
		a.sink(transport.Event{Kind: transport.PeerLost, Peer: p.name})
	}
}
