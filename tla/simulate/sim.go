package simulate

import (
	"fmt"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/escalate"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

// Wrong names the rules of a simulation that can be broken, to see its judges fail.
// The zero value breaks none, and nothing but tests sets another.
type Wrong struct {
	// Machines breaks rules of the v2 machines.
	Machines wrong.Rules
	// NoQuarantine frees a slot where its machine asks for quarantine.
	NoQuarantine bool
	// ForgetLease drops the end of a lease.
	ForgetLease bool
	// EndTwice ends each lease again.
	EndTwice bool
	// NoTimers lets no wait end.
	NoTimers bool
	// SettleTwice reports each outcome twice.
	SettleTwice bool
	// NoticeFirst sends completion notices before the data.
	NoticeFirst bool
}

// seat is what a service keeps beside the machine of one attempt on one rank.
type seat struct {
	alarms  settle.Alarms
	timer   sm.Time // of the event that is in the queue; 0 for none
	start   sm.Time
	opened  sm.Time // first OPEN
	binding slot.Binding
	disp    sm.Disposition
	live    bool // the machine is there
	queued  bool // waits for a slot
	dirty   bool // has something to say in a round
	touched bool // stepped since it spoke in the present round
	barrier bool
	settled uint8
	ended   uint8 // times its lease was ended
	asked   bool  // asked for a completion
	unknown bool
	calm    bool // ended by QUIESCED
	held    bool // its slot is in quarantine
	doubted bool // by a broken frame
	shown   bool // CTX of v1: published
}

// xfer is one transfer as the world sees it.
type xfer struct {
	first, faults int // its faults
	ctxInc        uint8
	genInc        uint8
	sent          uint8
	imported      bool
	early         bool // cancelled before GEN knew it
	caught        bool // something happened to it that was not its own fault
	draws         uint32
}

// edge is the truth about the writes of one edge, by bits of chunks.
type edge struct {
	open, begun, noted bool
	failed             bool // v1: a write failed for good
	seal               bool
	intoInc            uint8
	made, active       uint8
	loose, landed      uint8
	into               slot.Binding
}

// hot says that a write can still touch memory.
func (e *edge) hot(chunks uint8) bool {
	return e.active|e.loose != 0 || e.open && !e.seal && e.made != 1<<chunks-1
}

// service is one side's process.
type service struct {
	inc     uint8
	up      bool
	ranks   int
	proc    escalate.Process
	pools   [MaxRanks]*slot.Pool
	waiting [MaxRanks][]uint16 // for a slot
	stall   sm.Time            // until then it does nothing
	slow    sm.Time            // until then every event costs
	open    int                // seats without an outcome
	round   rounds
	senders *escalate.Senders[uint8]
	cuts    int
	due     sm.Time // by when an unhealthy process is gone
	reason  Kind
	// v1
	ids  [MaxRanks]*registry.Registry
	tags [MaxRanks][MaxRanks]*tag.Table // of GEN, by rank and CTX rank
}

// Sim runs schedules, one after another. Its memory is used again and again; a Sim
// belongs to one goroutine.
type Sim struct {
	sch   *Schedule
	set   settle.Settings
	wrong Wrong
	now   sm.Time
	slack sm.Time
	q     queue
	srv   [2]service
	last  [2][MaxRanks][MaxRanks]sm.Time // of the connections
	xs    []xfer
	seats [2][]seat
	edges []edge
	cp    []ctx.Parent
	gp    []gen.Parent
	cm    []ctx.Machine
	gm    []gen.Machine
	res   Result
	rec   *Recorder
	cause uint32
	mute  bool // what a step wants to say is not news

	cbuf  []ctx.ParentEffect
	gbuf  []gen.ParentEffect
	c1buf []ctx.Effect
	g1buf []gen.Effect
	pbuf  []slot.Effect
	ebuf  []escalate.Effect
}

// Settings are the bounds of every wait: the protocol's defaults.
func Settings() settle.Settings {
	return settle.Settings{Admission: 30 * Second, Context: 60 * Second, Request: 10 * Second, Soft: 2500 * Millisecond, Control: 2 * Second,
		RetryFirst: 50 * Millisecond, RetryMax: Second, Queue: Second, Replay: Second, Retention: 15 * Second}
}

const (
	restartDeadline = 5 * Second
	detect          = 5 * Millisecond // a dead peer is noticed
	tick            = 500 * Microsecond
	eventCost       = 300 * Microsecond // of a slow service
)

// New returns a simulator.
func New() *Sim { return &Sim{set: Settings()} }

// WithWrongRules returns s with broken rules, for tests that want to see a judge
// find something.
func (s *Sim) WithWrongRules(w Wrong) *Sim {
	s.wrong = w
	return s
}

// WithRecorder makes s record what happens; nil ends it.
func (s *Sim) WithRecorder(r *Recorder) *Sim {
	s.rec = r
	return s
}

// Run runs one schedule to its end. The result is the same every time.
func (s *Sim) Run(sch *Schedule) Result {
	s.reset(sch)
	for {
		e, ok := s.q.pop()
		if !ok {
			break
		}
		s.now = e.at
		if e.side < nobody && s.delayed(&e) {
			continue
		}
		s.res.Events++
		s.cause = e.cause
		s.handle(&e)
	}
	s.finish()
	return s.res
}

func grow[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	v = v[:n]
	clear(v)
	return v
}

func (s *Sim) reset(sch *Schedule) {
	s.sch, s.now, s.cause, s.slack = sch, 0, 0, 0
	s.res = Result{Transfers: len(sch.Transfers)}
	s.q.reset()
	s.last = [2][MaxRanks][MaxRanks]sm.Time{}
	n := len(sch.Transfers)
	s.xs, s.edges = grow(s.xs, n), grow(s.edges, n*MaxRanks*MaxRanks)
	for side := range s.seats {
		s.seats[side] = grow(s.seats[side], n*MaxRanks)
	}
	if sch.Dialect.V2() {
		s.cp, s.gp = grow(s.cp, n*MaxRanks), grow(s.gp, n*MaxRanks)
	} else {
		s.cm, s.gm = grow(s.cm, n*MaxRanks), grow(s.gm, n*MaxRanks)
	}
	s.srv[ctxSide].ranks, s.srv[genSide].ranks = sch.CtxRanks, sch.GenRanks
	for side := range s.srv {
		v := &s.srv[side]
		v.inc, v.stall, v.slow = 0, 0, 0
		s.startService(side)
	}
	for i := range sch.Transfers {
		s.q.push(event{at: sch.Transfers[i].At, kind: evArrive, side: ctxSide, x: uint16(i), inc: anyInc})
	}
	s.plan()
}

// plan finds the faults of each transfer and schedules what has a time of its own.
func (s *Sim) plan() {
	for i := range s.sch.Faults {
		f := &s.sch.Faults[i]
		if f.Kind.Timed() {
			s.q.push(event{at: f.At, kind: evFault, side: nobody, x: uint16(i)})
			continue
		}
		xf := &s.xs[f.Transfer]
		if xf.faults == 0 {
			xf.first = i
		}
		xf.faults++
		switch f.Kind {
		case CancelCtx, CancelGen:
			side := uint8(ctxSide)
			if f.Kind == CancelGen {
				side = genSide
			}
			s.q.push(event{at: s.sch.Transfers[f.Transfer].At + f.For, kind: evUser, side: side, x: f.Transfer, inc: anyInc})
		}
	}
}

// anyInc marks an event that does not belong to one incarnation.
const anyInc = 0xff

// fault returns a planned fault of a transfer.
func (s *Sim) fault(x uint16, k Kind, c, g uint8) *Fault {
	xf := &s.xs[x]
	for i := xf.first; i < xf.first+xf.faults; i++ {
		f := &s.sch.Faults[i]
		if f.Kind == k && (c == anyRank || f.Edge == c+MaxRanks*g) {
			return f
		}
	}
	return nil
}

const anyRank = 0xff

// delayed puts an event off while its service stands still or is slow.
func (s *Sim) delayed(e *event) bool {
	v := &s.srv[e.side]
	if v.stall > s.now {
		if e.kind == evWritten && e.d == 0 {
			// The data lands all the same; only its owner hears later.
			s.landed(e)
			e.d = 1
		}
		e.at = v.stall
		if e.kind == evTimer || e.kind == evDue {
			e.at++ // what has arrived is read before a deadline is judged (KS-TIME-5)
		}
		s.q.put(*e)
		return true
	}
	if v.slow > s.now {
		v.stall = s.now + eventCost
	}
	return false
}

// draw returns a number below n that depends on the seed, the transfer and how many
// it has drawn before.
func (s *Sim) draw(x uint16, n sm.Time) sm.Time {
	xf := &s.xs[x]
	xf.draws++
	h := s.sch.Seed*0x9e3779b97f4a7c15 + uint64(s.sch.Transfers[x].Key)<<32 + uint64(xf.draws)
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	h ^= h >> 31
	return sm.Time(h % uint64(n))
}

func at(x uint16, rank uint8) int { return int(x)*MaxRanks + int(rank) }

func (s *Sim) edge(x uint16, c, g uint8) *edge {
	return &s.edges[int(x)*MaxRanks*MaxRanks+int(c)+MaxRanks*int(g)]
}

// later schedules something for the present incarnation of a service.
func (s *Sim) later(d sm.Time, e event) {
	e.at, e.cause = s.now+d, s.cause
	if e.side < nobody {
		e.inc = s.srv[e.side].inc
	}
	s.q.push(e)
}

// bad records what a judge found.
func (s *Sim) bad(n *int, format string, args ...any) {
	*n++
	if s.res.First == "" {
		s.res.First = fmt.Sprintf("seed %d %s at %d us: ", s.sch.Seed, s.sch.Dialect, s.now/Microsecond) + fmt.Sprintf(format, args...)
	}
	if s.rec != nil {
		s.rec.find(s, fmt.Sprintf(format, args...))
	}
}

func (s *Sim) handle(e *event) {
	if e.side < nobody && e.inc != anyInc && e.kind != evDeliver && e.kind != evWritten {
		if v := &s.srv[e.side]; !v.up || v.inc != e.inc {
			return
		}
	}
	switch e.kind {
	case evArrive:
		s.arrive(e.x)
	case evImport:
		s.imports(e)
	case evDeliver:
		s.deliver(e)
	case evTimer:
		s.timer(e)
	case evRound:
		s.holdRound(int(e.side))
	case evVerdict:
		s.hearVerdict(int(e.side), e.rank)
	case evBarrier:
		s.passBarrier(int(e.side))
	case evGrant:
		s.grant(int(e.side), e.rank)
	case evPublish:
		s.genStep(e.x, e.rank, gen.ParentInput{Kind: gen.OnPublish})
	case evSent:
		s.sentResult(e)
	case evPrepare:
		s.ctxStep(e.x, e.rank, ctx.ParentInput{Kind: ctx.OnPrepare})
	case evPost:
		s.post(e)
	case evWritten:
		s.written(e)
	case evLand:
		s.landLate(e)
	case evSealed:
		s.ctxStep(e.x, e.rank, ctx.ParentInput{Kind: ctx.OnSealed, Edge: e.edge})
	case evProcessed:
		s.processed(e)
	case evUser:
		s.user(e)
	case evFault:
		s.timed(&s.sch.Faults[e.x])
	case evShut:
		s.shut(int(e.side))
	case evDue:
		s.process(int(e.side), escalate.Input{Kind: escalate.Due})
	case evExit:
		s.exit(int(e.side))
	case evStart:
		s.startService(int(e.a))
	case evGone:
		s.gone(e)
	case evEnded:
		s.writeEnds(e.x, e.rank, e.edge)
	}
}

// restore ends the part of a run that was caused by the last recorded step.
func (s *Sim) restore(cause uint32) { s.cause = cause }
