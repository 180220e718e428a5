package world

import (
	"strconv"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/dedup"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// lifetime is the control lifetime of the registry model: the unit in which its time
// passes. An entry may be evicted one lifetime after its last message, and retires
// within the second.
const lifetime sm.Time = 3

var bookSettings = settle.Settings{Admission: lifetime, Context: lifetime, Request: lifetime, Soft: 1, Control: 1,
	RetryFirst: 1, RetryMax: 2, Queue: 1, Replay: 1, Retention: lifetime}

// bookTicket is ticket t, from 0. All have the same request id: nothing may go by it.
func bookTicket(t uint8) identity.Ticket {
	return identity.Ticket{RequestID: 1, InstanceEpoch: 1, Attempt: uint64(t) + 1, Direction: identity.CTXToGEN}
}

func bookKey(t uint8) identity.TransferKey {
	return identity.TransferKey{Ticket: bookTicket(t), GenAttempt: 1, SourceEpoch: 1, DestinationEpoch: 2}
}

// bookUse says what a bookIn does.
type bookUse uint8

const (
	publishTicket bookUse = iota
	bindTicket
	endNoPeer
	endUnknown
	endComplete
	touchTicket
	lookTicket
	expireTickets
	ageBook
)

// bookIn is one use of CTX's registry.
type bookIn struct {
	use    bookUse
	ticket uint8
}

type bookOut struct {
	refused bool
	hit     registry.Hit
	// gone are the tickets that left, by bits; evicted those that had to, for room.
	gone, evicted uint8
	expired       uint8
	verdict       registry.Verdict
}

// book is the registry with its clock.
type book struct {
	t   *registry.Tickets
	now sm.Time
}

type bookTable struct {
	*automaton[bookIn, bookOut]
	// looks are the entries by row and ticket.
	looks [][]bookLook
}

// bookLook is what the registry knows about one ticket.
type bookLook struct {
	where    string
	bound    bool
	evidence string
	// since and idle count lifetimes: since an active entry began to wait, 1 at most, and
	// since the last message of one that has ended.
	since, idle int64
	noPeer      bool
}

func (l bookLook) value() canon.Value {
	return canon.Rec(field("where", canon.Str(l.where)), field("bound", canon.Bool(l.bound)), field("evidence", canon.Str(l.evidence)),
		field("noPeer", canon.Bool(l.noPeer)), field("since", canon.Int(l.since)), field("idle", canon.Int(l.idle)))
}

func (b *book) look(tickets int) ([]bookLook, error) {
	whole, err := canon.Read(b.t)
	if err != nil {
		return nil, err
	}
	out := make([]bookLook, tickets)
	for t := range out {
		out[t] = bookLook{where: "nowhere", evidence: "none"}
	}
	entries, _ := whole.Get("entries")
	for i := range entries.Len() {
		_, e := entries.At(i)
		num := func(name string) int64 { v, _ := e.Get(name); n, _ := v.Int64(); return n }
		ticket, _ := e.Get("ticket")
		attempt, _ := ticket.Get("Attempt")
		n, _ := attempt.Int64()
		where := registry.Where(num("where"))
		if n == 0 || where == registry.Nowhere {
			continue
		}
		l := &out[n-1]
		l.where, l.bound = where.String(), num("attempt") != 0
		if where == registry.InActive {
			// The wait began one lifetime before it ends; past its end it is in no queue.
			if l.since = -1; num("pos") >= 0 {
				l.since = min(1, (int64(b.now)+int64(lifetime)-num("at"))/int64(lifetime))
			}
			continue
		}
		if waiting, _ := e.Get("waiting"); waiting.Compare(canon.Bool(true)) == 0 {
			l.where = "waiting"
		}
		k := bookKey(uint8(n - 1))
		l.evidence = evidenceNames[int64(b.t.Look(&k).Evidence)]
		l.noPeer = registry.EndKind(num("kind")) == registry.NoPeer
		l.idle = (int64(b.now) - num("last")) / int64(lifetime)
	}
	return out, nil
}

// tabulateBook makes the table of CTX's registry with one active and one cached
// entry at most. keep is how many lifetimes an answer is retained (bit 48).
func tabulateBook(tickets int, keep sm.Time, bad wrong.Rules) (*bookTable, error) {
	cfg := registry.Config{Session: 1, Active: 1, Cache: 1, Settings: bookSettings}
	if _, err := registry.NewTickets(cfg); err != nil {
		return nil, err
	}
	t := &bookTable{}
	fresh := func() *book {
		r, _ := registry.NewTickets(cfg)
		return &book{t: r.WithWrongRules(bad)}
	}
	key := func(b *book) string {
		looks, err := b.look(tickets)
		if err != nil {
			return "unreadable"
		}
		k := ""
		for _, l := range looks {
			k += l.value().String()
		}
		return k
	}
	look := func(b *book) (canon.Value, error) {
		looks, err := b.look(tickets)
		t.looks = append(t.looks, looks)
		return seq(tickets, func(i int) canon.Value { return looks[i].value() }), err
	}
	apply := func(b *book, in bookIn) bookOut { return b.apply(in, keep*lifetime) }
	alphabet := func([]past[bookIn, bookOut]) []bookIn {
		ins := []bookIn{{use: expireTickets}, {use: ageBook}}
		for k := range uint8(tickets) {
			for use := publishTicket; use <= lookTicket; use++ {
				ins = append(ins, bookIn{use, k})
			}
		}
		return ins
	}
	var err error
	t.automaton, err = tabulate(fresh, key, look, apply, alphabet)
	return t, err
}

func (b *book) apply(in bookIn, keep sm.Time) (o bookOut) {
	k := bookTicket(in.ticket)
	var gone []registry.Gone
	var err error
	switch in.use {
	case publishTicket:
		err = b.t.Publish(k, uint32(in.ticket)+1, b.now)
	case bindTicket:
		a := registry.Attempt{GenAttempt: 1, Count: 1, Edges: [registry.MaxEdges]registry.Edge{{SourceEpoch: 1, DestinationEpoch: 2}}}
		if err = b.t.Bind(k, &a, b.now); err == nil {
			err = b.t.Advance(k, registry.ReadyDecided, b.now)
		}
	case endNoPeer:
		gone, err = b.t.End(k, &registry.Ending{Kind: registry.NoPeer}, b.now, nil)
	case endUnknown, endComplete:
		e := registry.Ending{Kind: registry.Settled, Keep: keep}
		e.Evidence[0] = control.Unknown
		if in.use == endComplete {
			e.Evidence[0] = control.SourceComplete
		}
		gone, err = b.t.End(k, &e, b.now, nil)
	case touchTicket:
		o.refused = !b.t.Touch(k, b.now)
	case lookTicket:
		key := bookKey(in.ticket)
		o.hit = b.t.Look(&key)
	case expireTickets:
		for _, x := range b.t.Expire(b.now, nil) {
			o.expired, o.verdict = uint8(x.ID), x.Verdict
		}
	case ageBook:
		b.now += lifetime
		gone = b.t.Sweep(b.now, nil)
	}
	for _, g := range gone {
		o.gone |= 1 << (g.ID - 1)
		if g.ByCount {
			o.evicted |= 1 << (g.ID - 1)
		}
	}
	o.refused = o.refused || err != nil
	return o
}

// regWindowUse says what a regWindowIn does.
type regWindowUse uint8

const (
	judgeMessage regWindowUse = iota
	recordMessage
	dropWindow
)

// regWindowIn is one use of the window of one key. other says that the bytes differ
// from those that GEN sent.
type regWindowIn struct {
	use   regWindowUse
	id    uint8
	other bool
	reply uint8
}

type regWindowOut struct {
	verdict            dedup.Verdict
	reply              uint8
	refused, violation bool
}

type regWindowTable = automaton[regWindowIn, regWindowOut]

func regWindowMessage(in regWindowIn) dedup.Message {
	m := dedup.Message{Epoch: 2, ID: uint64(in.id)}
	if in.other {
		m.Sum[0] = 1
	}
	return m
}

// tabulateRegWindow makes the table of one key's window, of one id.
func tabulateRegWindow(ids, replies uint8, bad wrong.Rules) (*regWindowTable, error) {
	fresh := func() *dedup.Table[uint8, uint8] {
		t, _ := dedup.New[uint8, uint8](1, 1)
		return t.WithWrongRules(bad)
	}
	apply := func(t *dedup.Table[uint8, uint8], in regWindowIn) (o regWindowOut) {
		var err error
		switch in.use {
		case judgeMessage:
			before := t.Counts().Violations
			o.verdict, o.reply, err = t.Judge(1, regWindowMessage(in))
			o.violation = t.Counts().Violations > before
		case recordMessage:
			err = t.Record(1, regWindowMessage(in), in.reply)
		case dropWindow:
			t.Drop(1)
		}
		o.refused = err != nil
		return o
	}
	// Judge tells all that the window knows.
	look := func(t *dedup.Table[uint8, uint8]) (canon.Value, error) {
		var items []canon.Value
		for id := range ids {
			for _, other := range []bool{false, true} {
				if o := apply(t, regWindowIn{use: judgeMessage, id: id + 1, other: other}); o.verdict == dedup.Repeat {
					items = append(items, canon.Rec(field("id", canon.Int(int64(id)+1)), field("other", canon.Bool(other)),
						field("reply", canon.Str(regReplyNames[o.reply]))))
				}
			}
		}
		return canon.Rec(field("known", canon.Bool(t.Counts().Keys > 0)), field("floor", canon.Int(int64(t.Floor(1)))), field("last", canon.Set(items...))), nil
	}
	key := func(t *dedup.Table[uint8, uint8]) string {
		v, _ := look(t)
		return v.String() + strconv.Itoa(t.Counts().IDs)
	}
	alphabet := func([]past[regWindowIn, regWindowOut]) []regWindowIn {
		ins := []regWindowIn{{use: dropWindow}}
		for id := range ids {
			for _, other := range []bool{false, true} {
				ins = append(ins, regWindowIn{use: judgeMessage, id: id + 1, other: other})
				for r := range replies {
					ins = append(ins, regWindowIn{use: recordMessage, id: id + 1, other: other, reply: r})
				}
			}
		}
		return ins
	}
	return tabulate(fresh, key, look, apply, alphabet)
}
