package nixl

import (
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

// Agent is one endpoint over NIXL; it implements transport.Agent. All methods may
// be called from any goroutine; the sink may call all but AddPeer, which blocks,
// and Close, which waits for the sink.
//
// One goroutine, the owner, posts the writes, asks for their status, takes notices,
// and calls the sink, so no two threads ever use one request, and writes and notices
// do not wait for each other's locks in the library. Notify, Register and AddPeer
// call the library from the caller's goroutine.
type Agent struct {
	cfg  Config
	lib  *Library
	sink transport.Sink
	log  *slog.Logger

	h       handle // the library's agent
	backend handle
	notices noticeMap

	// calls is read-held around every call of the library from outside the owner, and
	// write-held to end them all.
	calls  sync.RWMutex
	closed bool // under calls

	owner sync.WaitGroup
	once  sync.Once
	quit  chan struct{} // Close has begun: first contacts end
	stop  chan struct{} // nothing new comes: the owner ends
	probe *prober       // nil without Config.Probe
	// strict: this library's metadata has the form that checkBlob knows.
	strict bool
	rest   *waiter      // the owner's
	busy   atomic.Int64 // nanoseconds since begun of the latest activity of callers
	begun  time.Time

	mu      sync.Mutex
	regions []region
	card    []byte // encoded; nil when a region was added since
	peers   map[string]*peer
	fresh   []*request                 // posted, not yet seen by the owner
	open    map[transport.WriteID]bool // posted and not ended; true: released
	written transport.WriteID
	lost    []*peer // to be reported by the owner
	stats   Stats
}

var _ transport.Agent = (*Agent)(nil)

// region is registered memory of this agent.
type region struct {
	addr uint64
	mem  []byte
}

// Stats counts what one agent did since Open.
type Stats struct {
	// Peers is the number of connected peers now.
	Peers int
	// Active is the number of posted writes that have not ended, released ones included.
	Active int
	// Done and Broken count ended writes, Bytes the bytes of those done. Late counts
	// those that ended after their release.
	Done, Broken, Late, Bytes uint64
	// Notices counts received notices, Dropped those beyond a bound or without a readable
	// sender.
	Notices, Dropped uint64
	// Healed counts connections that were made anew after an error, with nothing lost but
	// perhaps notices.
	Healed uint64
	// Evicted counts connected peers that were dropped to make room for others.
	Evicted uint64
	// Isolated counts writes that had not ended when Close gave up. Their memory stays
	// registered and mapped until the process ends.
	Isolated int
	// Polls counts how often the agent looked for events.
	Polls uint64
	// Faults counts refused metadata and lost peers by reason. The map is the caller's.
	Faults map[spec.Reason]uint64
}

// Open loads the library if needed and makes an agent with one backend. Events go
// to sink from then on, one call at a time, never after Close has returned. sink
// must not block. Errors: *UnsupportedError when this machine cannot do it; *Error.
func Open(cfg Config, sink transport.Sink) (*Agent, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if sink == nil {
		return nil, &Error{Reason: ReasonBadConfig, What: "open", Detail: "no sink"}
	}
	lib, err := Load(cfg.Library)
	if err != nil {
		return nil, err
	}
	if cfg.Listen > 0 {
		if err := portFree(cfg.Listen); err != nil {
			return nil, &Error{Reason: ReasonSystem, What: "open " + cfg.Name, Err: err,
				Detail: fmt.Sprintf("port %d for the library's listener (Config.Listen, flag --nixl-listen) cannot be had: name another; demo takes this one and the next", cfg.Listen)}
		}
	}
	if err := inspectPlugin(lib, cfg.Backend); err != nil {
		return nil, err
	}
	a := &Agent{
		cfg: cfg, lib: lib, sink: sink, log: cfg.Logger.With("agent", cfg.Name),
		quit: make(chan struct{}), stop: make(chan struct{}), begun: time.Now(),
		peers: map[string]*peer{}, open: map[transport.WriteID]bool{}, stats: Stats{Faults: map[spec.Reason]uint64{}},
	}
	if a.rest, err = newWaiter(); err != nil {
		return nil, &Error{Reason: ReasonSystem, What: "open " + cfg.Name, Err: err}
	}
	var st status
	if a.h, st = createAgent(cfg.Name, cfg.Listen, micros(cfg.ProgressDelay), micros(100*time.Millisecond)); st != success {
		a.rest.close()
		return nil, failed(ReasonSystem, "open "+cfg.Name, "create_configured_agent", st)
	}
	var params []string
	for k, v := range cfg.BackendParams {
		params = append(params, k, v)
	}
	if a.backend, st = createBackend(a.h, cfg.Backend, params); st != success {
		destroyAgent(a.h)
		a.rest.close()
		why := whyNoBackend(lib, cfg.Backend)
		a.log.Error("no backend", "backend", cfg.Backend, "status", st.String(), "err", why)
		return nil, why
	}
	if a.notices, st = newNoticeMap(); st != success {
		destroyBackend(a.backend)
		destroyAgent(a.h)
		a.rest.close()
		return nil, failed(ReasonSystem, "open "+cfg.Name, "create_notif_map", st)
	}
	if blob, st := localMetadata(a.h); st == success {
		a.strict = checkBlob(blob) == nil
	}
	if cfg.Probe != nil {
		if a.probe, err = newProber(cfg, lib.Path, a.quit); err != nil {
			a.notices.free()
			destroyBackend(a.backend)
			destroyAgent(a.h)
			a.rest.close()
			return nil, &Error{Reason: ReasonSystem, What: "open " + cfg.Name, Detail: "the probe process", Err: err}
		}
	}
	a.log.Info("agent", "library", lib.Path, "version", lib.Version, "backend", cfg.Backend)
	a.owner.Go(a.run)
	return a, nil
}

func micros(d time.Duration) uint64 { return uint64(d / time.Microsecond) }

// Name is the registered identity.
func (a *Agent) Name() string { return a.cfg.Name }

// Library is what this agent runs on.
func (a *Agent) Library() Library { return *a.lib }

// Address is how peers reach this agent: "nixl:" and its metadata in base64, or
// "ip:port" where the library's own listener is on. Call it after the last
// Register. It is empty after Close.
func (a *Agent) Address() string {
	if a.cfg.Listen > 0 {
		return fmt.Sprintf("%s:%d", a.cfg.ListenIP, a.cfg.Listen)
	}
	b, err := a.Metadata()
	if err != nil {
		return ""
	}
	return addressOfCard(b)
}

// Contract is what was measured of NIXL over UCX: success comes after a flush, so
// the bytes are there (Visible, SuccessQuiet); a notice attached to a write is sent
// after it (NotifyAfterData). Nothing else holds: after an error bytes may still be
// under way (ErrorQuiet), release stops nothing (ReleaseDrains), the bytes of a
// dead writer arrive out of its kernel's buffers (DeathQuiet), and notices get lost
// without a word (NotifyReliable).
func (a *Agent) Contract() transport.Contract {
	return transport.Contract{Visible: true, NotifyAfterData: true, SuccessQuiet: true}
}

// Metadata is the library's metadata of this agent with a list of its regions and a
// checksum (the card of the documentation). Call it after the last Register. The
// slice is shared and must not be changed.
func (a *Agent) Metadata() ([]byte, error) {
	if err := a.enter("metadata"); err != nil {
		return nil, err
	}
	defer a.leave()
	a.mu.Lock()
	ready := a.card
	c := card{regions: make([]remote, len(a.regions))}
	for i, r := range a.regions {
		c.regions[i] = remote{addr: r.addr, size: uint64(len(r.mem))}
	}
	a.mu.Unlock()
	if ready != nil {
		return ready, nil
	}
	blob, st := localMetadata(a.h)
	if st != success {
		return nil, failed(ReasonSystem, "metadata", "get_local_md", st)
	}
	c.blob = blob
	b := c.encode()
	a.mu.Lock()
	if len(a.regions) == len(c.regions) {
		a.card = b
	}
	a.mu.Unlock()
	return b, nil
}

// Register makes n bytes of zeroed memory outside the Go heap and registers it. A
// peer learns of it with the metadata; the library knows no memory that only the
// owner may use, so remote is not looked at. The memory is unmapped by Close.
// Errors: ReasonClosed, ReasonNoMemory, ReasonTooManyRegions.
func (a *Agent) Register(n int, _ bool) (transport.Region, error) {
	if n <= 0 {
		return transport.Region{}, &Error{Reason: ReasonNoMemory, What: "register", Detail: "a region has at least one byte"}
	}
	if err := a.enter("register"); err != nil {
		return transport.Region{}, err
	}
	defer a.leave()
	mem, err := newMemory(n)
	if err != nil {
		return transport.Region{}, &Error{Reason: ReasonNoMemory, What: "register", Err: err}
	}
	r := region{addr: addressOf(mem), mem: mem}
	a.mu.Lock()
	full := len(a.regions) == MaxRegions
	a.mu.Unlock()
	if full {
		freeMemory(mem)
		return transport.Region{}, &Error{Reason: ReasonTooManyRegions, What: "register"}
	}
	if st := registerMemory(a.h, r.addr, n, 0, false); st != success {
		freeMemory(mem)
		return transport.Region{}, failed(ReasonNoMemory, "register", "register_mem", st)
	}
	a.mu.Lock()
	a.regions, a.card = append(a.regions, r), nil
	a.mu.Unlock()
	return transport.Region{Addr: r.addr, Bytes: mem[:n:n]}, nil
}

// Stats returns the counts so far. It may be called after Close.
func (a *Agent) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	s.Active = len(a.open)
	for _, p := range a.peers {
		if p.state == peerLive {
			s.Peers++
		}
	}
	s.Faults = make(map[spec.Reason]uint64, len(a.stats.Faults))
	for r, n := range a.stats.Faults {
		s.Faults[r] = n
	}
	return s
}

// enter begins a call of the library; leave ends it.
func (a *Agent) enter(what string) error {
	a.calls.RLock()
	if a.closed {
		a.calls.RUnlock()
		return &Error{Reason: ReasonClosed, What: what}
	}
	return nil
}

func (a *Agent) leave() { a.calls.RUnlock() }

// nudge tells the owner that a caller did something which may have consequences.
func (a *Agent) nudge() {
	a.busy.Store(int64(time.Since(a.begun)))
	a.rest.wake()
}

// Expect says that a notice is likely to come soon, so that the agent looks for it
// more often for a while.
func (a *Agent) Expect() {
	if a.enter("expect") == nil {
		a.nudge()
		a.leave()
	}
}

// Close ends the agent: it takes nothing new, waits for posted writes for at most
// Config.FlushDeadline, then takes everything down in order: requests,
// registrations, peers, backend, agent, memory. If writes are left, the library's
// agent and the memory are left too, because they may still be in use; they are
// counted in Stats.Isolated, and only the end of the process ends them. It always
// returns nil and is idempotent. The sink must not call it.
func (a *Agent) Close() error {
	a.once.Do(a.shutdown)
	return nil
}

func (a *Agent) shutdown() {
	// First contacts hold calls for up to the connect deadline: they end now.
	close(a.quit)
	if a.probe != nil {
		a.probe.close()
	}
	a.calls.Lock()
	a.closed = true
	a.calls.Unlock()
	close(a.stop)
	a.rest.wake()
	a.owner.Wait()
	a.rest.close()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stats.Isolated > 0 {
		a.log.Error("closed with writes under way: their memory stays until the process ends",
			"writes", a.stats.Isolated, "setting", "flush-deadline", "bound", a.cfg.FlushDeadline, "requirement", reqShutdown)
		return
	}
	for _, r := range a.regions {
		if st := registerMemory(a.h, r.addr, len(r.mem), 0, true); st != success {
			a.log.Warn("region not deregistered", "call", "nixl_capi_deregister_mem", "status", st.String())
		}
	}
	for _, p := range a.peers {
		if p.known {
			invalidateMetadata(a.h, p.name)
		}
		p.cname.free()
	}
	clear(a.peers)
	a.notices.free()
	destroyBackend(a.backend)
	if st := a.destroy(); st != success {
		a.log.Error("agent not destroyed, its memory stays", "call", "nixl_capi_destroy_agent", "status", st.String())
		return
	}
	a.h = nil
	for _, r := range a.regions {
		freeMemory(r.mem)
	}
	a.regions = nil
}

// destroy ends the library's agent. With a listener that waits for a thread which may
// be connecting to an address that does not answer: that is not waited for longer
// than the flush deadline.
func (a *Agent) destroy() status {
	if a.cfg.Listen == 0 {
		return destroyAgent(a.h)
	}
	done := make(chan status, 1)
	go func() { done <- destroyAgent(a.h) }()
	select {
	case st := <-done:
		return st
	case <-time.After(a.cfg.FlushDeadline):
		return inProgress
	}
}

// portFree tries a port on every interface, as the library's listener will take it;
// the library itself does not say what went wrong.
func portFree(port int) error {
	l, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}
