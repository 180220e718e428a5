package statemachine_test

import (
	"math/rand/v2"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/native"
	wireround "github.com/kvsettle/kvsettle/wire/round"
)

// v2Speed keeps n transfers of v2 in flight, one rank on each side, and takes them a
// step further in random order: three control messages and six entries in rounds
// (bind, ready and completion at CTX; admission, ready and completion at GEN), each
// encoded and decoded.
type v2Speed struct {
	live []struct {
		c     ctx.Parent
		g     gen.Parent
		id    uint64
		phase uint8
	}
	rng     *rand.PCG
	dialect control.Dialect
	request []byte
	limits  native.Limits
	buf     []byte
	entry   [1]wireround.Entry
	c       []ctx.ParentEffect
	g       []gen.ParentEffect
	next    uint64
	settled int
	sent    int
	entries int
}

const speedContract = settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet

func newV2Speed(n int, caps descriptor.Caps) *v2Speed {
	s := &v2Speed{rng: rand.NewPCG(1, 2), dialect: control.Dialect{Version: 1, Caps: 7 | caps}, limits: native.DefaultLimits(),
		c: make([]ctx.ParentEffect, 0, 32), g: make([]gen.ParentEffect, 0, 32)}
	r := speedRequest()
	var err error
	s.request, err = native.AppendRequestBody(nil, &r)
	must(err)
	s.live = make([]struct {
		c     ctx.Parent
		g     gen.Parent
		id    uint64
		phase uint8
	}, n)
	for i := range s.live {
		s.next++
		s.live[i].id = s.next
	}
	return s
}

func speedTicket(id uint64) identity.Ticket {
	return identity.Ticket{RequestID: id, InstanceEpoch: 11, Attempt: id, Direction: identity.CTXToGEN}
}

func speedKey(id uint64) identity.TransferKey {
	return identity.TransferKey{Ticket: speedTicket(id), GenAttempt: id, SourceEpoch: 21, DestinationEpoch: 22, Digest: [32]byte{1}}
}

func (s *v2Speed) ctx(p *ctx.Parent, in ctx.ParentInput) {
	var err error
	*p, s.c, err = p.Step(in, s.c[:0])
	must(err)
}

func (s *v2Speed) gen(p *gen.Parent, in gen.ParentInput) {
	var err error
	*p, s.g, err = p.Step(in, s.g[:0])
	must(err)
}

// decide encodes what the rank says, decodes it again and decides.
func (s *v2Speed) decide(id uint64, v *round.View, c round.Contribution) round.Verdict {
	c.Session = round.Session{Mode: descriptor.Enabled, Version: 1, Caps: s.dialect.Caps, ABI: 1, Digest: [32]byte{1}}
	ticket := speedTicket(id)
	s.entry[0] = c.Entry(ticket)
	var err error
	s.buf, err = wireround.Append(s.buf[:0], &wireround.Payload{Round: id, Entries: s.entry[:]})
	must(err)
	back, err := wireround.Decode(s.buf)
	must(err)
	v.Ranks = 1
	v.By[0] = round.Fold(back.Entries, ticket)
	s.entries++
	return round.Decide(v)
}

func (s *v2Speed) ctxRound(p *ctx.Parent, id uint64) {
	v := round.View{X49: p.X49()}
	v.Phase, v.Committed = p.Phase()
	s.ctx(p, ctx.ParentInput{Kind: ctx.OnContribute})
	for i := range s.c {
		if e := &s.c[i]; e.Kind == ctx.DoContribute {
			d := s.decide(id, &v, round.Contribution{Intent: e.Intent, Evidence: e.Evidence})
			s.ctx(p, ctx.ParentInput{Kind: ctx.OnRound, Verdict: d})
			return
		}
	}
	panic("nothing to say")
}

func (s *v2Speed) genRound(p *gen.Parent, id uint64) {
	v := round.View{X49: p.X49()}
	v.Phase, v.Committed = p.Phase()
	s.gen(p, gen.ParentInput{Kind: gen.OnContribute})
	for i := range s.g {
		if e := &s.g[i]; e.Kind == gen.DoContribute {
			d := s.decide(id, &v, round.Contribution{Intent: e.Intent, Evidence: e.Evidence, Publication: e.Publication, GenAttempt: id})
			s.gen(p, gen.ParentInput{Kind: gen.OnRound, Verdict: d})
			return
		}
	}
	panic("nothing to say")
}

// match compares a key as a receiver does.
func (s *v2Speed) match(got *identity.TransferKey, id uint64) settle.Match {
	s.sent++
	if *got != speedKey(id) {
		panic("another key")
	}
	return settle.Exact
}

// step takes one transfer as far as its next message or round.
func (s *v2Speed) step() {
	x := &s.live[s.rng.Uint64()%uint64(len(s.live))]
	caps := s.dialect.Caps
	var err error
	switch x.phase {
	case 0:
		s.ctx(&x.c, ctx.ParentInput{Kind: ctx.OnPublish, Room: true, Contract: speedContract, Binding: slot.Binding{Generation: 1, Token: x.id}})
	case 1:
		s.gen(&x.g, gen.ParentInput{Kind: gen.OnValidate, Value: true, Edges: 1, Parts: 1, Caps: caps})
		s.gen(&x.g, gen.ParentInput{Kind: gen.OnGranted, Binding: slot.Binding{Generation: 1, Token: x.id}})
		s.genRound(&x.g, x.id)
	case 2:
		s.gen(&x.g, gen.ParentInput{Kind: gen.OnPublish})
		s.buf, err = control.AppendOpen(s.buf[:0], s.dialect, &control.Open{ID: 1, Key: speedKey(x.id), Request: s.request})
		must(err)
		s.gen(&x.g, gen.ParentInput{Kind: gen.OnSent})
		f, err := control.Parse(s.buf)
		must(err)
		m, err := f.Open(s.dialect, s.limits)
		must(err)
		s.ctx(&x.c, ctx.ParentInput{Kind: ctx.OnOpen, Edges: 1, Chunks: 1, Caps: caps, Match: s.match(&m.Key, x.id)})
	case 3:
		s.ctxRound(&x.c, x.id)
		s.ctx(&x.c, ctx.ParentInput{Kind: ctx.OnPrepare})
	case 4:
		s.ctxRound(&x.c, x.id)
		s.ctx(&x.c, ctx.ParentInput{Kind: ctx.OnBarrier})
		ready := control.Ready{ID: 1, Key: speedKey(x.id), Decision: control.DecisionReady}
		if caps&(descriptor.CapRecovery|descriptor.CapQuiescence) != 0 {
			ready.Contract, ready.RetentionMS = uint32(speedContract), 15000
		}
		s.buf, err = control.AppendReady(s.buf[:0], s.dialect, &ready)
		must(err)
		f, err := control.Parse(s.buf)
		must(err)
		m, err := f.Ready(s.dialect)
		must(err)
		s.gen(&x.g, gen.ParentInput{Kind: gen.OnReady, Decision: m.Decision, Contract: settle.Contract(m.Contract), RetentionMS: m.RetentionMS, Match: s.match(&m.Key, x.id)})
	case 5:
		s.genRound(&x.g, x.id)
		s.gen(&x.g, gen.ParentInput{Kind: gen.OnBarrier})
	case 6:
		s.ctx(&x.c, ctx.ParentInput{Kind: ctx.OnPosted, Count: 1})
		s.ctx(&x.c, ctx.ParentInput{Kind: ctx.OnWritten})
		s.notice(&x.g, x.id)
	case 7:
		s.ctxRound(&x.c, x.id)
	case 8:
		s.gen(&x.g, gen.ParentInput{Kind: gen.OnProcessed, Value: true})
		s.genRound(&x.g, x.id)
		if x.g.Disposition() != sm.Completed || x.c.Disposition() != sm.Completed {
			panic("not completed")
		}
		s.settled++
	case 9:
		s.ctx(&x.c, ctx.ParentInput{Kind: ctx.OnWait, Wait: settle.RetentionWait})
		s.gen(&x.g, gen.ParentInput{Kind: gen.OnWait, Wait: settle.RetentionWait})
		s.next++
		x.g, x.c, x.id, x.phase = gen.Parent{}, ctx.Parent{}, s.next, 0
		return
	}
	x.phase++
}

// notice tells GEN that the data is there: the native sync, or DATA_COMPLETE.
func (s *v2Speed) notice(p *gen.Parent, id uint64) {
	var err error
	if s.dialect.Caps&descriptor.CapRecovery == 0 {
		s.buf, err = native.AppendSync(s.buf[:0], native.Sync{AgentName: "gen-0", Tag: native.DataTag(id)})
		must(err)
		n, err := native.DecodeNotification(s.buf)
		must(err)
		must(n.Sync.Validate())
		s.sent++
		s.gen(p, gen.ParentInput{Kind: gen.OnSync, Match: settle.Exact})
		return
	}
	s.buf, err = control.AppendDataComplete(s.buf[:0], s.dialect, &control.DataComplete{ID: 1, Key: speedKey(id), Count: 1, Bytes: 1 << 20})
	must(err)
	f, err := control.Parse(s.buf)
	must(err)
	m, err := f.DataComplete(s.dialect)
	must(err)
	s.gen(p, gen.ParentInput{Kind: gen.OnData, Count: uint16(m.Count), Chunk: uint16(m.Index), Match: s.match(&m.Key, id)})
}
