package fault

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/nixlimpl/work"
)

// Config of an Injector.
type Config struct {
	Faults []Spec
	// Seed makes the strikes repeatable as far as the order of events is.
	Seed uint64
	// Deadline is the request deadline, not negative: late writes outlast it by a
	// quarter, delays stay below a fifth of it and below a second.
	Deadline time.Duration
	// Struck, if set, is called from any goroutine for each strike. It must not block
	// and must not call the Injector.
	Struck func(name string)
}

// Injector stands between a service and its agent. Sink wraps the service's sink,
// Poster one transfer's poster. Each message fault gets one chance per notice that
// comes in; reorder gets none while it holds a notice of that peer, which the next
// one then overtakes. Close waits for everything that is still to come.
type Injector struct {
	cfg  Config
	rate map[string]float64

	mu      sync.Mutex
	rng     *rand.Rand
	next    transport.Sink
	held    map[string]*heldNotice // reorder: one waiting notice per peer
	mapped  map[transport.WriteID]transport.WriteID
	swallow map[transport.WriteID]bool
	nextID  transport.WriteID
	closed  bool
	pending sync.WaitGroup
	delayed map[*delayed]struct{}
}

type heldNotice struct{ ev transport.Event }

// ownIDs marks the ids of writes that the injector answers for.
const ownIDs = transport.WriteID(1) << 63

// New returns an Injector; with no faults it is transparent.
func New(cfg Config) *Injector {
	i := &Injector{cfg: cfg, rate: make(map[string]float64), rng: rand.New(rand.NewPCG(cfg.Seed, 0x6b76)),
		held: make(map[string]*heldNotice), mapped: make(map[transport.WriteID]transport.WriteID),
		swallow: make(map[transport.WriteID]bool), delayed: make(map[*delayed]struct{}), nextID: ownIDs, next: func(transport.Event) {}}
	i.cfg.Deadline = max(cfg.Deadline, 0)
	for _, f := range cfg.Faults {
		i.rate[f.Name] = f.Rate
	}
	return i
}

// strikes decides one chance of a fault; i.mu is held.
func (i *Injector) strikes(name string) bool {
	r := i.rate[name]
	if r == 0 || i.closed || i.rng.Float64() >= r {
		return false
	}
	if i.cfg.Struck != nil {
		i.cfg.Struck(name)
	}
	return true
}

// Sink returns a sink that passes events on to next, except for what strikes. Call
// it once, before the first event. next is called from the caller's goroutine and
// from the Injector's own, and must not block.
func (i *Injector) Sink(next transport.Sink) transport.Sink {
	i.next = next
	return func(ev transport.Event) {
		switch ev.Kind {
		case transport.Notice:
			i.notice(ev)
		case transport.WriteEnded:
			i.ended(ev)
		default:
			i.next(ev)
		}
	}
}

// kindOf names the fault that drops a notice of this variant.
func kindOf(payload []byte) string {
	if len(payload) < 8 {
		return ""
	}
	switch binary.LittleEndian.Uint64(payload) {
	case 0:
		return DropRequest
	case 1:
		return DropComplete
	case 2:
		return DropReady
	}
	return ""
}

func (i *Injector) notice(ev transport.Event) {
	i.mu.Lock()
	if k := kindOf(ev.Payload); k != "" && i.strikes(k) {
		i.mu.Unlock()
		return
	}
	var delay time.Duration
	if i.strikes(Delay) {
		// At most a fifth of the deadline, and at most what the control lifetime allows.
		delay = time.Duration(i.rng.Int64N(int64(min(i.cfg.Deadline/5, time.Second)) + 1))
	}
	twice := i.strikes(Duplicate)
	again := time.Duration(i.rng.Int64N(int64(20*time.Millisecond) + 1))
	before := i.held[ev.Peer]
	delete(i.held, ev.Peer)
	hold := before == nil && delay == 0 && i.strikes(Reorder)
	if hold {
		h := &heldNotice{ev}
		i.held[ev.Peer] = h
		i.later(50*time.Millisecond, func() { i.unhold(h) })
	}
	i.mu.Unlock()
	switch {
	case hold:
	case delay > 0:
		i.mu.Lock()
		i.later(delay, func() { i.next(ev) })
		i.mu.Unlock()
	default:
		i.next(ev)
	}
	if before != nil {
		i.next(before.ev)
	}
	if twice {
		copied := ev
		copied.Payload = append([]byte(nil), ev.Payload...)
		i.mu.Lock()
		i.later(delay+again, func() { i.next(copied) })
		i.mu.Unlock()
	}
}

// unhold delivers a notice that no other one overtook.
func (i *Injector) unhold(h *heldNotice) {
	i.mu.Lock()
	mine := i.held[h.ev.Peer] == h
	if mine {
		delete(i.held, h.ev.Peer)
	}
	i.mu.Unlock()
	if mine {
		i.next(h.ev)
	}
}

// later runs f after d unless the injector was closed before; i.mu is held.
func (i *Injector) later(d time.Duration, f func()) {
	if i.closed {
		return
	}
	i.pending.Add(1)
	l := &delayed{at: time.Now().Add(d)}
	l.run = func() {
		defer i.pending.Done()
		i.mu.Lock()
		delete(i.delayed, l)
		i.mu.Unlock()
		f()
	}
	i.delayed[l] = struct{}{}
	l.timer = time.AfterFunc(d, l.run)
}

// delayed is one thing that a fault does later.
type delayed struct {
	at    time.Time
	timer *time.Timer
	run   func()
}

// closeWait is how long Close lets things be late; what would be later comes at once.
const closeWait = time.Second

// Close stops new strikes and waits until the late notices are delivered and the
// late writes posted; what is due more than a second from now is done now. After it
// the Injector is transparent.
func (i *Injector) Close() {
	i.mu.Lock()
	i.closed = true
	for l := range i.delayed {
		if time.Until(l.at) > closeWait && l.timer.Stop() {
			go l.run()
		}
	}
	i.mu.Unlock()
	i.pending.Wait()
}

func (i *Injector) ended(ev transport.Event) {
	i.mu.Lock()
	if i.swallow[ev.Write] {
		delete(i.swallow, ev.Write)
		i.mu.Unlock()
		return
	}
	if own, ok := i.mapped[ev.Write]; ok {
		delete(i.mapped, ev.Write)
		ev.Write = own
	}
	i.mu.Unlock()
	i.next(ev)
}

// Poster returns the poster of one request's transfer of total bytes: inner,
// unless late-write, break-order or break-release strikes this request.
func (i *Injector) Poster(_ uint64, total int, inner work.Poster) work.Poster {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, name := range []string{LateWrite, BreakOrder, BreakRelease} {
		if i.strikes(name) {
			return &poster{Poster: inner, in: i, fault: name, total: total}
		}
	}
	return inner
}

// poster strikes the last chunk of one transfer.
type poster struct {
	work.Poster
	in    *Injector
	fault string
	total int

	mu   sync.Mutex
	done int
}

// Post is work.Poster's.
func (p *poster) Post(peer string, src []byte, dst transport.Target) (transport.WriteID, error) {
	p.mu.Lock()
	p.done += len(src)
	last := p.done >= p.total
	p.mu.Unlock()
	if !last {
		return p.Poster.Post(peer, src, dst)
	}
	switch p.fault {
	case LateWrite:
		return p.own(peer, src, dst, p.in.cfg.Deadline+p.in.cfg.Deadline/4, false)
	case BreakOrder:
		return p.own(peer, src, dst, 40*time.Millisecond, true)
	}
	// break-release: the write is done properly, and then once more.
	id, err := p.Poster.Post(peer, src, dst)
	if err == nil {
		for _, d := range []time.Duration{30 * time.Millisecond, 150 * time.Millisecond} {
			p.in.mu.Lock()
			p.in.later(d, func() { p.hidden(peer, src, dst) })
			p.in.mu.Unlock()
		}
	}
	return id, err
}

// Release is work.Poster's. Of the injector's own writes it only forgets, as
// NIXL's release does.
func (p *poster) Release(id transport.WriteID) error {
	if id&ownIDs != 0 {
		return nil
	}
	return p.Poster.Release(id)
}

// own posts after d under an id of the injector. With lie, the end is reported at
// once instead of when it happens.
func (p *poster) own(peer string, src []byte, dst transport.Target, d time.Duration, lie bool) (transport.WriteID, error) {
	in := p.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return p.Poster.Post(peer, src, dst)
	}
	in.nextID++
	id := in.nextID
	if lie {
		in.later(0, func() {
			in.next(transport.Event{Kind: transport.WriteEnded, Peer: peer, Write: id, Status: transport.Done})
		})
		in.later(d, func() { p.hidden(peer, src, dst) })
		return id, nil
	}
	in.later(d, func() {
		in.mu.Lock()
		inner, err := p.Poster.Post(peer, src, dst)
		if err == nil {
			in.mapped[inner] = id
		}
		in.mu.Unlock()
		if err != nil {
			in.next(transport.Event{Kind: transport.WriteEnded, Peer: peer, Write: id, Status: transport.Broken, Err: err})
		}
	})
	return id, nil
}

// hidden is a write whose end nobody is told.
func (p *poster) hidden(peer string, src []byte, dst transport.Target) {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if id, err := p.Poster.Post(peer, src, dst); err == nil {
		p.in.swallow[id] = true
	}
}
