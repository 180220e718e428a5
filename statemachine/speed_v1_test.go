package statemachine_test

import (
	"math/rand/v2"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/native"
)

// speedRequest is a native request as a GEN rank of one rank sends it after first
// contact.
func speedRequest() native.RequestAndBufferInfo {
	return native.RequestAndBufferInfo{
		AgentName: "gen-0", Address: "10.0.0.2:5000",
		Info: native.RequestInfo{RequestID: 7, State: native.DataTransceiverState{
			Comm: &native.CommState{Kind: native.CommAgent, Agents: []native.AgentState{{Name: "gen-0", ConnInfo: "10.0.0.2:5000"}}},
			Cache: &native.CacheState{KVHeadsPerLayer: []int32{8, 8}, SizePerHead: 128, TokensPerBlock: 32, TP: 1, PP: 1, CP: 1, DPSize: 1,
				AttentionLayerNumPerPP: []int32{2}, DataType: native.BF16, KVFactor: 2, IndexerQuantBlockSize: 128},
		}},
		Buffers: []native.MemoryDesc{{Addr: 4096, Len: 1 << 20}}, Kinds: []native.BufferKind{native.KV},
	}
}

// v1Speed keeps n transfers of v1 in flight, one rank on each side, and takes them a
// step further in random order. Every message is encoded by one side and decoded by
// the other.
type v1Speed struct {
	live []struct {
		g     gen.Machine
		c     ctx.Machine
		id    uint64
		phase uint8
	}
	rng     *rand.PCG
	request native.RequestAndBufferInfo
	buf     []byte
	g       []gen.Effect
	c       []ctx.Effect
	next    uint64
	now     sm.Time
	settled int
	sent    int
}

func newV1Speed(n int) *v1Speed {
	s := &v1Speed{rng: rand.NewPCG(1, 2), request: speedRequest(), g: make([]gen.Effect, 0, 16), c: make([]ctx.Effect, 0, 16)}
	s.live = make([]struct {
		g     gen.Machine
		c     ctx.Machine
		id    uint64
		phase uint8
	}, n)
	for i := range s.live {
		s.next++
		s.live[i].id = s.next
	}
	return s
}

var (
	speedGen = gen.Settings{Admission: 30e9, Request: 10e9, Control: 2e9}
	speedCtx = ctx.Settings{Admission: 30e9, Context: 60e9, Request: 10e9, Control: 2e9}
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *v1Speed) gen(m *gen.Machine, in gen.Input) {
	var err error
	in.Now = s.now
	*m, s.g, err = m.Step(in, s.g[:0])
	must(err)
}

func (s *v1Speed) ctx(m *ctx.Machine, in ctx.Input) {
	var err error
	in.Now = s.now
	*m, s.c, err = m.Step(in, s.c[:0])
	must(err)
}

// step takes one transfer as far as its next message.
func (s *v1Speed) step() {
	x := &s.live[s.rng.Uint64()%uint64(len(s.live))]
	s.now++
	var err error
	switch x.phase {
	case 0:
		s.ctx(&x.c, ctx.Input{Kind: ctx.Start, Edges: 1, Settings: speedCtx})
		s.ctx(&x.c, ctx.Input{Kind: ctx.Granted, Binding: slot.Binding{Generation: 1, Token: x.id}})
	case 1:
		s.gen(&x.g, gen.Input{Kind: gen.Start, Edges: 1, CancelBeatsSuccess: true, Settings: speedGen})
		s.gen(&x.g, gen.Input{Kind: gen.Granted, Binding: slot.Binding{Generation: 1, Token: x.id}})
		s.request.Info.RequestID = x.id
		s.buf, err = native.AppendRequest(s.buf[:0], s.request)
		must(err)
		n, err := native.DecodeNotification(s.buf)
		must(err)
		s.sent++
		must(n.Request.Validate())
		s.ctx(&x.c, ctx.Input{Kind: ctx.Request, Value: n.Request.Info.RequestID == x.id})
	case 2:
		s.gen(&x.g, gen.Input{Kind: gen.Published})
		s.buf, err = native.AppendReady(s.buf[:0], native.Ready{AgentName: "gen-0", Tag: native.DataTag(x.id), Ready: true})
		must(err)
		n, err := native.DecodeNotification(s.buf)
		must(err)
		s.sent++
		must(n.Ready.Validate(false))
		s.gen(&x.g, gen.Input{Kind: gen.Ready, Value: n.Ready.Ready})
	case 3:
		s.ctx(&x.c, ctx.Input{Kind: ctx.Written})
		s.buf, err = native.AppendSync(s.buf[:0], native.Sync{AgentName: "gen-0", Tag: native.DataTag(x.id)})
		must(err)
		n, err := native.DecodeNotification(s.buf)
		must(err)
		s.sent++
		must(n.Sync.Validate())
		s.gen(&x.g, gen.Input{Kind: gen.Sync})
	case 4:
		s.gen(&x.g, gen.Input{Kind: gen.Scattered, Value: true})
		if x.g.Disposition() != sm.Completed || x.c.Disposition() != sm.Completed {
			panic("not completed")
		}
		s.settled++
		s.next++
		x.g, x.c, x.id, x.phase = gen.Machine{}, ctx.Machine{}, s.next, 0
		return
	}
	x.phase++
}
