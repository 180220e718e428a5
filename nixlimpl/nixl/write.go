package nixl

import (
	"fmt"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// request is one posted write. After Post it belongs to the owner alone.
type request struct {
	id transport.WriteID
	p  *peer
	h  handle
	n  int
	st status
}

// Post starts a write of src, inside one region of this agent, to the start of
// dst, inside one region of the peer. The call may take as long as the copy, where
// UCX copies by itself. Writes are not ordered among each other. WriteEnded says
// Done when the bytes are in the peer's memory; Broken says that an error was seen,
// and nothing about where the bytes are. Errors: ReasonOutsideRegion,
// ReasonQueueFull, ReasonUnknownPeer, ReasonPeerGone, ReasonClosed.
func (a *Agent) Post(name string, src []byte, dst transport.Target) (transport.WriteID, error) {
	return a.post(name, src, dst, nil)
}

// PostNotify is Post with a notice that the peer gets after the bytes of this very
// write. It says nothing about other writes.
func (a *Agent) PostNotify(name string, src []byte, dst transport.Target, notice []byte) (transport.WriteID, error) {
	if len(notice) == 0 || len(notice) > MaxNotice {
		return 0, &Error{Reason: ReasonTooLarge, What: "post " + name, Detail: fmt.Sprintf("a notice of %d bytes, want 1 to %d", len(notice), MaxNotice)}
	}
	return a.post(name, src, dst, notice)
}

func (a *Agent) post(name string, src []byte, dst transport.Target, notice []byte) (transport.WriteID, error) {
	if err := a.enter("post " + name); err != nil {
		return 0, err
	}
	defer a.leave()
	r, err := a.admit(name, src, dst)
	if err != nil {
		return 0, err
	}
	h, stage, st := write(a.h, false, r.p.cname, addressOf(src), len(src), dst.Addr, dst.Device, notice)
	if stage < stagePost {
		return 0, a.refuse(r, stage, st)
	}
	a.mu.Lock()
	r.h, r.st = h, st
	a.fresh = append(a.fresh, r)
	a.mu.Unlock()
	a.nudge()
	return r.id, nil
}

// admit checks the arguments of a write and takes its number and its peer.
func (a *Agent) admit(name string, src []byte, dst transport.Target) (*request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.holdLocked("post", name)
	if err != nil {
		return nil, err
	}
	switch {
	case !a.owns(src):
		err = outside(name, "%d source bytes in no region of this agent", len(src))
	case uint64(len(src)) > dst.Len:
		err = outside(name, "%d source bytes for %d", len(src), dst.Len)
	case !p.open && !p.card.covers(dst.Addr, dst.Len, dst.Device):
		err = outside(name, "%d bytes at %#x of device %d", dst.Len, dst.Addr, dst.Device)
	case len(a.open) >= a.cfg.QueueWrites:
		err = &Error{Reason: ReasonQueueFull, What: "post " + name, Detail: "setting Config.QueueWrites"}
	}
	if err != nil {
		p.uses--
		return nil, err
	}
	a.written++
	a.open[a.written] = false
	return &request{id: a.written, p: p, n: len(src)}, nil
}

// refuse takes back a write that the library did not start and finds out why.
func (a *Agent) refuse(r *request, stage int, st status) error {
	a.mu.Lock()
	delete(a.open, r.id)
	r.p.uses--
	a.mu.Unlock()
	call := "create_xfer_dlist"
	if stage == stageCreate {
		call = "create_xfer_req"
	}
	if check := checkMetadata(a.h, r.p.name); check != success {
		a.breakPeer(r.p, "check_remote_md", check)
		return failed(ReasonPeerGone, "post "+r.p.name, call, st)
	}
	return failed(ReasonOutsideRegion, "post "+r.p.name, call, st)
}

func (a *Agent) owns(src []byte) bool {
	at, n := addressOf(src), uint64(len(src))
	for _, r := range a.regions {
		if size := uint64(len(r.mem)); n > 0 && at >= r.addr && at-r.addr < size && n <= size-(at-r.addr) {
			return true
		}
	}
	return false
}

func outside(name, format string, args ...any) error {
	return &Error{Reason: ReasonOutsideRegion, What: "post " + name, Detail: fmt.Sprintf(format, args...)}
}

// Release marks a write as given up and stops nothing: the library's own release
// does not either, and would lose sight of it. It stays on watch, and WriteEnded is
// reported when it really ends (KS-BACK-5). It is idempotent. Error:
// ReasonUnknownWrite.
func (a *Agent) Release(id transport.WriteID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id == 0 || id > a.written {
		return &Error{Reason: ReasonUnknownWrite, What: fmt.Sprintf("release %d", id)}
	}
	if _, ok := a.open[id]; ok {
		a.open[id] = true
	}
	return nil
}
