package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/dedup"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/retry"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// regTickets is the greatest number of tickets of a registry world.
const regTickets = 3

// RegistryCase is one of the worlds that a registry model starts in.
type RegistryCase struct {
	// Tickets is how many tickets CTX publishes, one after the other, 1 to 3. Its
	// registry holds one of them active and one in the terminal cache.
	Tickets int
	// Resends is how often GEN sends an unanswered message again, 0 to 2.
	Resends int
	// Keep is how many lifetimes an answer is retained; 0 without bit 48.
	Keep   int
	Faults RegistryFaults
}

// RegistryFaults are the budgets of a registry case. Messages arrive in any order.
type RegistryFaults struct {
	// Tampers are messages that arrive with other bytes under their id.
	Drops, Dups, Tampers, CancelGen, CancelCtx, Crashes uint8
	// Ages is how often a control lifetime passes; only while nothing is under way.
	Ages uint8
}

// RegistryConfig fixes a registry model.
type RegistryConfig struct {
	Size  string
	Cases []RegistryCase
	// Bad breaks rules of the containers, Wrong those of this world. Both are zero in
	// every size.
	Bad   wrong.Rules
	Wrong RegistryWrong
}

// RegistryWrong names the rules of a registry world that can be broken.
type RegistryWrong struct {
	// WriteUnbound writes without asking the registry.
	WriteUnbound bool
	// Guess answers what nobody remembers with NOT_STARTED.
	Guess bool
	// KeepWindow keeps the window of a ticket that has left the registry.
	KeepWindow bool
	// SecondBind carries a repeated OPEN out again.
	SecondBind bool
	// PublishFull shows a context that the registry had no room for.
	PublishFull bool
	// NeverExhaust lets GEN wait for an answer for ever.
	NeverExhaust bool
}

// RegistrySize returns the configuration with that name.
func RegistrySize(size string) (RegistryConfig, bool) {
	small := []RegistryCase{
		{Tickets: 1, Resends: 1, Faults: RegistryFaults{Dups: 1, CancelGen: 1, CancelCtx: 1, Ages: 1}},
		{Tickets: 1, Resends: 1, Faults: RegistryFaults{Drops: 1, Tampers: 1, Crashes: 1, Ages: 1}},
		{Tickets: 2, Faults: RegistryFaults{CancelCtx: 1, Ages: 1}},
		{Tickets: 2, Keep: 2, Faults: RegistryFaults{CancelCtx: 2, Ages: 2}},
	}
	medium := append(small,
		RegistryCase{Tickets: 1, Resends: 1, Faults: RegistryFaults{Drops: 1, Dups: 1, Tampers: 1, CancelGen: 1, CancelCtx: 1, Crashes: 1, Ages: 1}},
		RegistryCase{Tickets: 2, Faults: RegistryFaults{CancelGen: 1, CancelCtx: 1, Ages: 1}},
		RegistryCase{Tickets: 3, Faults: RegistryFaults{CancelCtx: 2, Ages: 2}})
	large := append(medium,
		RegistryCase{Tickets: 2, Resends: 1, Faults: RegistryFaults{Drops: 1, CancelGen: 1, CancelCtx: 1, Ages: 1}})
	cases := map[string][]RegistryCase{"small": small, "medium": medium, "large": large}[size]
	return RegistryConfig{Size: size, Cases: cases}, cases != nil
}

// The messages: first those to CTX, then the answers, then the notice of complete
// data.
const (
	regOpen uint8 = iota
	regCancel
	regReady
	regRefusal
	regMiss
	regUnknown
	regComplete
	regSync
	regKinds
)

var regKindNames = [regKinds]string{"OPEN", "CANCEL", "READY", "NOT_READY NOT_STARTED", "NOT_READY UNKNOWN", "TERMINAL UNKNOWN",
	"TERMINAL SOURCE_COMPLETE", "sync"}

// regReplyNames are the answers that a window remembers, 0 for none; a reply is the
// kind of the answer less regReady, plus 1.
var regReplyNames = [...]string{"none", "READY", "NOT_READY NOT_STARTED", "NOT_READY UNKNOWN", "TERMINAL UNKNOWN", "TERMINAL SOURCE_COMPLETE"}

// The states of GEN's side of a ticket.
const (
	regHeld uint8 = iota
	regOpening
	regInFlight
	regDone
	regCancelling
	regNotStarted
	regEndUnknown
)

var regGenNames = [...]string{"HELD", "OPENING", "IN_FLIGHT", "DONE", "CANCELLING", "NOT_STARTED", "UNKNOWN"}

var regGivenNames = [...]string{"none", "published", "refused"}

// RegistryGen is GEN's side of one ticket.
type RegistryGen struct {
	State uint8
	// Arrived: the data is here. Wire is the exchange of its OPEN, message 1, or CANCEL,
	// message 2.
	Arrived bool
	Wire    retry.Exchange
}

// RegistryState is a state of a registry world: CTX's memory of tickets, and GEN
// that consumes them.
//
// As TLA+ variables: case; given (by ticket: none, published, refused); gen; book
// (what CTX's registry knows, by ticket); window (the duplicates it knows); net (a set
// of messages with their number, 1 or 2); bound (how often an attempt was bound);
// wrote; said (the answers that were sent); down, the services that are gone; restarts
// of CTX; early (an answer was evicted within its lifetime); left.
type RegistryState struct {
	Case             uint8
	Given            [regTickets]uint8
	Gen              [regTickets]RegistryGen
	Book             uint16
	Window           [regTickets]uint16
	Net              [2]uint32 // by kind and ticket; the second holds second copies
	Bound            [regTickets]uint8
	Wrote            [regTickets]bool
	Said             [regTickets]uint8 // by kind less regReady
	CtxDown, GenDown bool
	Restarts         uint8
	Early            bool
	Left             RegistryFaults
}

type regWorld struct {
	cfg    RegistryConfig
	books  []*bookTable // by case
	window *regWindowTable
}

// Registries is the model of chapter 17: an allow-list with room for one ticket, a
// terminal cache with room for one answer, a window of one message id for each
// ticket, re-sends and their end, and answers that age.
func Registries(cfg RegistryConfig) (*Model[RegistryState], error) {
	w := &regWorld{cfg: cfg}
	var bounds struct {
		tickets, resends, keep int
		f                      RegistryFaults
	}
	b := &bounds
	m := &Model[RegistryState]{Name: "registry", Size: cfg.Size, Actors: []string{"router", "GEN", "network", "CTX"}, Actions: regActions,
		Next: w.next, Settled: w.settled, Canon: w.canon, Invariants: w.invariants(),
		Leaves: []string{"registry.Tickets: order of registration (one entry in each queue), counters, clock (only differences count)",
			"dedup.Table: counters", "retry.Exchange: next, end (follow from the number of re-sends)"}}
	for i, c := range cfg.Cases {
		if c.Tickets < 1 || c.Tickets > regTickets || c.Resends < 0 || c.Resends > 2 || c.Keep < 0 || c.Keep > 2 {
			return nil, sm.Refuse(sm.BadRequest, "KS-REG-2", "registry world: 1 to 3 tickets, up to 2 re-sends and 2 lifetimes")
		}
		t, err := tabulateBook(c.Tickets, sm.Time(c.Keep), cfg.Bad)
		if err != nil {
			return nil, err
		}
		w.books = append(w.books, t)
		m.Init = append(m.Init, RegistryState{Case: uint8(i), Left: c.Faults})
		b.tickets, b.resends, b.keep = max(b.tickets, c.Tickets), max(b.resends, c.Resends), max(b.keep, c.Keep)
		f := &b.f
		f.Drops, f.Dups, f.Tampers = max(f.Drops, c.Faults.Drops), max(f.Dups, c.Faults.Dups), max(f.Tampers, c.Faults.Tampers)
		f.CancelGen, f.CancelCtx, f.Crashes = max(f.CancelGen, c.Faults.CancelGen), max(f.CancelCtx, c.Faults.CancelCtx), max(f.Crashes, c.Faults.Crashes)
		f.Ages = max(f.Ages, c.Faults.Ages)
	}
	var err error
	if w.window, err = tabulateRegWindow(2, uint8(len(regReplyNames)), cfg.Bad); err != nil {
		return nil, err
	}
	m.Bounds = []Bound{{"cases", len(cfg.Cases)}, {"tickets", b.tickets}, {"active", 1}, {"cached", 1}, {"window", 1}, {"re-send", b.resends},
		{"lifetime", int(b.f.Ages)}, {"retention", b.keep}, {"drop", int(b.f.Drops)}, {"duplicate", int(b.f.Dups)}, {"reorder", -1},
		{"other bytes", int(b.f.Tampers)}, {"cancel at GEN", int(b.f.CancelGen)}, {"cancel at CTX", int(b.f.CancelCtx)}, {"crash", int(b.f.Crashes)}}
	return m, nil
}

func (w *regWorld) at(s *RegistryState) *RegistryCase { return &w.cfg.Cases[s.Case] }

// settings bound the exchanges of a case: the last re-send is before the deadline.
func (c *RegistryCase) settings() settle.Settings {
	s := bookSettings
	s.Control = sm.Time(2*c.Resends + 1)
	return s
}

// due is the point at which an exchange sends again, and where it ends after that.
func (c *RegistryCase) due(e *retry.Exchange) sm.Time {
	if e.State() == retry.Last {
		return sm.Time(2*c.Resends + 1)
	}
	return sm.Time(2*e.Resends() + 1)
}

// wire gives an input to GEN's exchange of ticket t and sends what it sends. It says
// whether the exchange is exhausted.
func (w *regWorld) wire(n *RegistryState, t uint8, in retry.Input) (exhausted bool) {
	set := w.at(n).settings()
	var buf [4]retry.Effect
	e, effects, err := n.Gen[t].Wire.Step(&set, in, buf[:0])
	if err != nil {
		return false
	}
	n.Gen[t].Wire = e
	for _, x := range effects {
		switch x.Do {
		case retry.Send:
			w.put(n, uint8(x.ID-1), t)
		case retry.Exhaust:
			exhausted = true
		}
	}
	return exhausted
}

func regBit(kind, t uint8) uint32 { return 1 << (kind*regTickets + t) }

// put sends a message. One that is on its way stands for its repeat.
func (w *regWorld) put(n *RegistryState, kind, t uint8) {
	if kind < regReady && n.CtxDown || kind >= regReady && n.GenDown {
		return
	}
	n.Net[0] |= regBit(kind, t)
}

// use applies in to CTX's registry. What leaves it takes its window along.
func (w *regWorld) use(n *RegistryState, use bookUse, t uint8) bookOut {
	next, out, _ := w.books[n.Case].step(n.Book, bookIn{use, t})
	for k := range uint8(w.at(n).Tickets) {
		l := w.look(n, k)
		age, keep := l.idle, int64(max(1, w.at(n).Keep))
		if use == ageBook {
			age++
		}
		if l.noPeer {
			keep = 1
		}
		n.Early = n.Early || out.evicted>>k&1 != 0 && age < keep
		if out.gone>>k&1 != 0 && !w.cfg.Wrong.KeepWindow {
			w.seen(n, k, regWindowIn{use: dropWindow})
		}
	}
	n.Book = next
	return out
}

func (w *regWorld) seen(n *RegistryState, t uint8, in regWindowIn) regWindowOut {
	next, out, _ := w.window.step(n.Window[t], in)
	n.Window[t] = next
	return out
}

// look is what CTX finds for ticket t.
func (w *regWorld) look(s *RegistryState, t uint8) *bookLook {
	return &w.books[s.Case].looks[s.Book][t]
}

// remembered is the answer to a message that nothing else answers (KS-REG-7,
// KS-REG-18).
func (w *regWorld) remembered(n *RegistryState, t uint8) uint8 {
	hit := w.use(n, lookTicket, t).hit
	switch {
	case hit.Where == registry.Nowhere && w.cfg.Wrong.Guess:
		return regRefusal
	case hit.Where != registry.InCache:
		return regMiss
	}
	switch evidenceNames[int64(hit.Evidence)] {
	case "NOT_STARTED":
		return regRefusal
	case "SOURCE_COMPLETE":
		return regComplete
	}
	return regUnknown
}

// ctxHears: a message reaches CTX. other: with other bytes than GEN sent.
func (w *regWorld) ctxHears(n *RegistryState, kind, t uint8, other bool) {
	hit := w.use(n, lookTicket, t).hit
	if hit.Where == registry.Nowhere {
		w.say(n, t, w.remembered(n, t)) // no window for what nobody knows
		return
	}
	w.use(n, touchTicket, t)
	msg := regWindowIn{use: judgeMessage, id: kind + 1, other: other}
	v := w.seen(n, t, msg)
	bound := hit.Where == registry.InActive && w.look(n, t).bound
	var reply uint8
	switch {
	case v.violation:
		if bound {
			w.use(n, endUnknown, t)
		}
		return
	case v.verdict == dedup.Repeat:
		if w.cfg.Wrong.SecondBind && kind == regOpen && bound {
			n.Bound[t]++
		}
		if v.reply > 0 {
			w.say(n, t, v.reply-1+regReady)
		}
		return
	case v.verdict == dedup.Below:
		w.say(n, t, w.remembered(n, t))
		return
	case hit.Where != registry.InActive:
		reply = w.remembered(n, t)
	case kind == regOpen && !bound:
		if !w.use(n, bindTicket, t).refused {
			n.Bound[t]++
		}
		reply = regReady
	case kind == regCancel && !bound:
		w.use(n, endNoPeer, t)
		reply = regRefusal
	case kind == regCancel:
		w.use(n, endUnknown, t)
		reply = regUnknown
	default:
		reply = regMiss
	}
	msg.use, msg.reply = recordMessage, reply-regReady+1
	w.seen(n, t, msg)
	w.say(n, t, reply)
}

func (w *regWorld) say(n *RegistryState, t, reply uint8) {
	n.Said[t] |= 1 << (reply - regReady)
	w.put(n, reply, t)
}

// genHears: an answer or a notice reaches GEN.
func (w *regWorld) genHears(n *RegistryState, kind, t uint8) {
	g := &n.Gen[t]
	waits := g.State == regOpening || g.State == regCancelling
	answer := func(to uint8) {
		if waits {
			w.wire(n, t, retry.Input{Kind: retry.Answer})
		}
		g.State = to
	}
	arrived := func() uint8 {
		if g.Arrived {
			return regDone
		}
		return regInFlight
	}
	switch {
	case kind == regSync && (g.State == regOpening || g.State == regInFlight):
		g.Arrived = true
		if g.State == regInFlight {
			g.State = regDone
		}
	case (kind == regReady || kind == regComplete) && g.State == regOpening:
		answer(arrived())
	case kind == regRefusal && waits:
		answer(regNotStarted)
	case kind == regMiss && waits, kind == regUnknown && (waits || g.State == regInFlight), kind == regComplete && g.State == regCancelling:
		answer(regEndUnknown)
	}
}
