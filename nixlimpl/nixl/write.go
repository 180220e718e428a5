package nixl

import (
	"fmt"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// request is one posted write. After Post it belongs to the owner alone.
type request struct {
	id     transport.WriteID
	p      *peer
	src    []byte
	dst    transport.Target
	notice []byte
	h      handle
	st     status
	// call is the one that st came from.
	call string
}

// Post queues a write of src, inside one region of this agent, to the start of dst,
// inside one region of the peer, and returns at once. Writes are not ordered among
// each other. WriteEnded says Done when the bytes are in the peer's memory; Broken
// says that an error was seen, and nothing about where the bytes are. Errors: ReasonOutsideRegion,
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
	id, err := a.admit(&request{src: src, dst: dst, notice: notice}, name)
	if err != nil {
		return 0, err
	}
	a.nudge()
	return id, nil
}

// admit checks a write, gives it its number and puts it before the owner.
func (a *Agent) admit(r *request, name string) (transport.WriteID, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.holdLocked("post", name)
	if err != nil {
		return 0, err
	}
	switch dst := r.dst; {
	case !a.owns(r.src):
		err = outside(name, "%d source bytes in no region of this agent", len(r.src))
	case uint64(len(r.src)) > dst.Len:
		err = outside(name, "%d source bytes for %d", len(r.src), dst.Len)
	case !p.open && !p.card.covers(dst.Addr, dst.Len, dst.Device):
		err = outside(name, "%d bytes at %#x of device %d", dst.Len, dst.Addr, dst.Device)
	case len(a.open) >= a.cfg.QueueWrites:
		err = &Error{Reason: ReasonQueueFull, What: "post " + name, Detail: "setting Config.QueueWrites"}
	}
	if err != nil {
		p.uses--
		return 0, err
	}
	a.written++
	a.open[a.written] = false
	r.id, r.p = a.written, p
	a.fresh = append(a.fresh, r)
	return r.id, nil
}

// begin gives a write to the library, which copies within the call where UCX copies
// by itself. Only the owner calls it.
func (a *Agent) begin(r *request) {
	stage := 0
	r.h, stage, r.st = write(a.h, false, r.p.cname, addressOf(r.src), len(r.src), r.dst.Addr, r.dst.Device, r.notice)
	r.call = [...]string{stageArguments: "create_xfer_dlist", stageCreate: "create_xfer_req", stagePost: "post_xfer_req"}[stage]
	if stage < stagePost && r.st == success {
		r.st = backend
	}
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
