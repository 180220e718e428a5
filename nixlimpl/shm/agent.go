package shm

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

const (
	tokenLen      = 16 // random bytes in an address
	maxShaking    = 64 // connections in handshake at one time
	acceptPause   = 50 * time.Millisecond
	refuseTimeout = 50 * time.Millisecond
	logPause      = time.Second
	drainTimeout  = time.Second // for what a dead or deaf peer left in the socket
)

// Agent is one endpoint over shared memory; it implements transport.Agent. All
// methods may be called from any goroutine; the sink may call all but AddPeer,
// which blocks, and Close, which waits for the sink.
type Agent struct {
	cfg     Config
	sink    transport.Sink
	log     *slog.Logger
	address string
	ln      *net.UnixListener

	all     sync.WaitGroup // every goroutine; added to under mu while not closing
	workers sync.WaitGroup // those that copy
	once    sync.Once
	stop    chan struct{} // closed when closing

	deliverSelf sync.Mutex // peer.deliver of both ends of a dial to oneself

	mu      sync.Mutex
	work    sync.Cond // queue has grown, or closing
	closing bool
	own     []span   // sources of writes: all memory of Register
	shared  []shared // the remote-writable ones, in the order of announcement
	peers   map[string]*peer
	links   map[*peer]struct{}         // connected peers, and own far ends of self-dials
	joins   map[string]*join           // names in handshake
	shaking map[*net.UnixConn]struct{} // connections in handshake
	queue   queue
	written transport.WriteID // the newest
	stats   Stats
	logged  map[spec.Reason]time.Time // the latest log line about a fault
}

var _ transport.Agent = (*Agent)(nil)

// Stats counts what one agent did since Open.
type Stats struct {
	// Peers is the number of peers now, lost ones with a living process included.
	Peers int
	// Done and Broken count ended writes, Bytes the bytes of those done.
	Done, Broken, Bytes uint64
	// Notices counts received notices, Dropped those that Notify accepted and that were
	// given up because the peer was lost or Close did not wait for it any longer.
	Notices, Dropped uint64
	// Refused counts notices and writes that a full queue or a failed connection kept
	// out.
	Refused uint64
	// Faults counts connections that were closed or refused by this side, by reason.
	// The map belongs to the caller.
	Faults map[spec.Reason]uint64
}

// Supported returns nil where Open can work, or an *UnsupportedError that names
// what this system lacks.
func Supported() error { return probe() }

// Open makes an agent and listens. Events go to sink from then on: one call at a
// time for one peer, never after Close has returned. sink must not block. Errors:
// *UnsupportedError; *Error with ReasonBadConfig or ReasonSystem.
func Open(cfg Config, sink transport.Sink) (*Agent, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if sink == nil {
		return nil, &Error{Reason: ReasonBadConfig, What: "open", Detail: "no sink"}
	}
	if err := probe(); err != nil {
		return nil, err
	}
	var token [tokenLen]byte
	rand.Read(token[:]) // never fails
	a := &Agent{
		cfg:     cfg,
		sink:    sink,
		log:     cfg.Logger.With("agent", cfg.Name),
		address: addressPrefix + hex.EncodeToString(token[:]),
		stop:    make(chan struct{}),
		peers:   map[string]*peer{},
		links:   map[*peer]struct{}{},
		joins:   map[string]*join{},
		shaking: map[*net.UnixConn]struct{}{},
		stats:   Stats{Faults: map[spec.Reason]uint64{}},
		logged:  map[spec.Reason]time.Time{},
	}
	a.work.L = &a.mu
	socket, err := parseAddress(a.address)
	if err != nil {
		return nil, err
	}
	a.ln, err = net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, &Error{Reason: ReasonSystem, What: "listen on " + a.address, Err: err}
	}
	a.all.Go(a.accept)
	for range cfg.Writers {
		a.workers.Go(a.write)
	}
	return a, nil
}

// Name is the registered identity.
func (a *Agent) Name() string { return a.cfg.Name }

// Address is "shm:@kvsettle-" and 32 hexadecimal digits, new for every agent. It
// names an abstract socket, so it means something in one network name space only.
func (a *Agent) Address() string { return a.address }

// Contract is what shared memory promises. A final write is bytes in memory that
// the peer sees at once, and the copy is over (Visible, SuccessQuiet, ErrorQuiet);
// notices follow in the order of Notify, after the bytes of writes that had ended
// before (NotifyAfterData, NotifyReliable); PeerDead means that the peer's mappings
// are gone (DeathQuiet). Release only forgets.
func (a *Agent) Contract() transport.Contract {
	return transport.Contract{
		Visible:         true,
		NotifyAfterData: true,
		SuccessQuiet:    true,
		ErrorQuiet:      true,
		ReleaseDrains:   false,
		DeathQuiet:      true,
		NotifyReliable:  true,
	}
}

// Metadata is always empty: name and address suffice.
func (a *Agent) Metadata() ([]byte, error) { return nil, nil }

// Register makes n bytes of zeroed, page-aligned memory outside the Go heap, whose
// pages exist when it returns. Connected peers hear of a remote region before any
// notice that is sent later. The memory is unmapped by Close and must not be
// touched after it. Errors: ReasonClosed, ReasonNoMemory, ReasonTooManyRegions.
func (a *Agent) Register(n int, remote bool) (transport.Region, error) {
	if n <= 0 {
		return transport.Region{}, &Error{Reason: ReasonNoMemory, What: "register",
			Detail: fmt.Sprintf("%d bytes", n)}
	}
	fd, mem, err := -1, []byte(nil), error(nil)
	if remote {
		fd, mem, err = newShared(n)
	} else {
		mem, err = newPrivate(n)
	}
	if err != nil {
		return transport.Region{}, &Error{Reason: ReasonNoMemory, What: "register",
			Detail: fmt.Sprintf("%d bytes", n), Err: err}
	}
	s := span{addr: addressOf(mem), mem: mem}
	if err := a.adopt(s, fd); err != nil {
		unmap(mem)
		closeFD(fd)
		return transport.Region{}, err
	}
	return transport.Region{Addr: s.addr, Bytes: mem[:n:n]}, nil
}

func (a *Agent) adopt(s span, fd int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return &Error{Reason: ReasonClosed, What: "register"}
	}
	if fd >= 0 {
		if len(a.shared) == MaxRegions {
			return &Error{Reason: ReasonTooManyRegions, What: "register",
				Detail: fmt.Sprintf("at most %d", MaxRegions)}
		}
		r := shared{addr: s.addr, size: uint64(len(s.mem)), fd: fd}
		a.shared = append(a.shared, r)
		for p := range a.links {
			p.out.control(appendRegion(nil, r.addr, r.size), fd)
		}
	}
	a.own = append(a.own, s)
	return nil
}

// Stats returns the counts so far. It may be called after Close.
func (a *Agent) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	s.Peers = len(a.peers)
	s.Faults = make(map[spec.Reason]uint64, len(a.stats.Faults))
	for r, n := range a.stats.Faults {
		s.Faults[r] = n
	}
	return s
}

// fault counts a connection that this side ends because of err, and logs it unless
// the same reason was logged less than logPause ago: a stranger must not fill logs.
func (a *Agent) fault(err error, peer string, proc *process) {
	reason := reasonOf(err)
	a.mu.Lock()
	quiet := a.closing // then Close itself cut the connection
	if !quiet {
		a.stats.Faults[reason]++
		quiet = time.Since(a.logged[reason]) < logPause
	}
	total := a.stats.Faults[reason]
	if !quiet {
		a.logged[reason] = time.Now()
	}
	a.mu.Unlock()
	if quiet {
		return
	}
	pid := 0
	if proc != nil {
		pid = proc.pid
	}
	a.log.Warn("connection refused or closed", "reason", reason, "total", total, "peer", peer, "pid", pid, "err", err)
}

// Close ends the agent: it takes nothing new, breaks queued writes, waits for the
// running ones, sends accepted notices for at most Config.FlushDeadline, drops all
// peers, and unmaps everything. All goroutines and descriptors of the agent are
// gone when it returns. It always returns nil and is idempotent. The sink must not
// call it.
func (a *Agent) Close() error {
	a.once.Do(a.shutdown)
	return nil
}

func (a *Agent) isClosing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closing
}

func (a *Agent) shutdown() {
	a.mu.Lock()
	a.closing = true
	a.work.Broadcast()
	links := make([]*peer, 0, len(a.links))
	for p := range a.links {
		links = append(links, p)
	}
	for c := range a.shaking {
		c.Close()
	}
	a.mu.Unlock()
	close(a.stop)
	a.ln.Close()
	a.workers.Wait()

	deadline := time.Now().Add(a.cfg.FlushDeadline)
	for _, p := range links {
		p.out.close()
	}
	for _, p := range links {
		select {
		case <-p.out.done:
		case <-time.After(time.Until(deadline)):
		}
		p.link.conn.Close()
	}
	a.mu.Lock()
	for _, p := range a.peers {
		p.proc.close()
	}
	a.mu.Unlock()
	a.all.Wait()

	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.peers)
	unmapAll(a.own)
	for _, r := range a.shared {
		closeFD(r.fd)
	}
	a.own, a.shared = nil, nil
}
