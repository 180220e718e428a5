package nixl

import (
	"runtime"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// takeMost bounds the notices of one sender that one look takes.
const takeMost = 4096

// pace says how long to wait until the next look: not at all while something just
// happened, then an eighth of the quiet time, up to the idle bound. So a wait costs
// at most an eighth more than it took, and an idle agent next to nothing.
func pace(quiet, spin, idle time.Duration) time.Duration {
	if quiet < spin {
		return 0
	}
	return min(max(quiet/8, 20*time.Microsecond), idle)
}

// run is the owner.
func (a *Agent) run() {
	var active []*request
	var mine time.Duration // latest activity that the owner saw
	var closing time.Time
	strangers := &peer{}
	for {
		seen := a.busy.Load()
		active = a.adopt(active)
		left, moved := a.look(active)
		active = left
		if a.take(strangers) {
			moved = true
		}
		a.reportLost()
		now := time.Since(a.start)
		if moved {
			mine = now
		}
		select {
		case <-a.stop:
			if closing.IsZero() {
				closing = time.Now().Add(a.cfg.FlushDeadline)
			}
			// A notice may be on its way out: the library sends it by its own thread.
			quiet := now - max(mine, time.Duration(a.busy.Load()))
			if len(active) == 0 && quiet > 10*time.Millisecond || time.Now().After(closing) {
				a.mu.Lock()
				a.stats.Isolated = len(active)
				a.mu.Unlock()
				return
			}
		default:
		}
		d := pace(now-max(mine, time.Duration(a.busy.Load())), a.cfg.Spin, a.cfg.IdlePoll)
		if d == 0 {
			runtime.Gosched()
			continue
		}
		a.rest.sleep(d, func() bool { return a.busy.Load() == seen })
	}
}

// adopt takes over what was posted since.
func (a *Agent) adopt(active []*request) []*request {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stats.Polls++
	active = append(active, a.fresh...)
	clear(a.fresh)
	a.fresh = a.fresh[:0]
	return active
}

// look asks for the status of every active request and reports those that ended.
func (a *Agent) look(active []*request) (left []*request, moved bool) {
	left = active[:0]
	for _, r := range active {
		if r.st == inProgress {
			r.st = requestStatus(a.h, r.h)
		}
		if r.st == inProgress {
			left = append(left, r)
			continue
		}
		moved = true
		a.end(r)
	}
	clear(active[len(left):])
	return left, moved
}

// end reports a final status and lets the request go.
func (a *Agent) end(r *request) {
	e := transport.Event{Kind: transport.WriteEnded, Peer: r.p.name, Write: r.id, Status: transport.Done}
	if r.st != success {
		e.Status = transport.Broken
		e.Err = failed(ReasonPeerGone, "write to "+r.p.name, "get_xfer_status", r.st)
		a.breakPeer(r.p, "get_xfer_status", r.st)
	}
	if st := freeRequest(a.h, r.h); st != success {
		a.log.Warn("request not freed", "peer", r.p.name, "call", "nixl_capi_release_xfer_req", "status", st.String())
	}
	a.mu.Lock()
	if r.st == success {
		a.stats.Done++
		a.stats.Bytes += uint64(r.n)
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

// take passes on the notices that arrived.
func (a *Agent) take(strangers *peer) bool {
	second := int64(time.Since(a.start) / time.Second)
	over := 0
	n, skipped, st := a.notices.take(a.h, takeMost, MaxNotice, func(name string, payload []byte) {
		a.mu.Lock()
		p := a.peers[name]
		if p != nil && p.state == peerLive {
			p.healed = false
		}
		a.mu.Unlock()
		if p == nil {
			p = strangers
		}
		if p.second != second {
			p.second, p.taken = second, 0
		}
		if p.taken++; p.taken > a.cfg.NoticesPerSecond || len(name) > MaxName {
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
