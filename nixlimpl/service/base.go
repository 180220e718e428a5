package service

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/executor"
	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/nixlimpl/work"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/native"
)

// base is what both services share. Fields below the line belong to the loop's
// goroutine.
type base struct {
	cfg    Config
	log    *slog.Logger
	loop   *executor.Loop
	group  *work.Group
	joins  *joiners
	agent  transport.Agent
	name   string
	desc   descriptor.Descriptor
	state  native.DataTransceiverState
	region transport.Region
	kvmem  []byte
	ended  chan struct{} // the loop has returned

	// ---- loop only ----
	pool     *slot.Pool
	kvpool   *kv.Pool
	cache    *kv.Cache
	marks    *stamps
	canary   int
	stamping int // slots with a worker at their stamp
	counters map[string]uint64
	closing  bool
	effects  []slot.Effect
	// onFreed wakes whoever waits for a slot; onOver ends the service.
	onFreed func()
	onOver  func()
}

func (b *base) open(cfg Config, remote bool, sink transport.Sink) (err error) {
	if err := cfg.check(); err != nil {
		return err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Base == "" {
		cfg.Base = NewBase()
	}
	b.cfg, b.log = cfg, cfg.Logger
	b.counters = make(map[string]uint64)
	if b.name, b.desc, err = describe(cfg.Base, cfg.Local); err != nil {
		return err
	}
	if cfg.Local != negotiate.Legacy {
		// All local ranks must show one profile before anybody sees it (KS-SEL-8).
		if err := negotiate.ValidateLocal(b.desc.Mode, []string{b.name}).Err(); err != nil {
			return fmt.Errorf("service: own descriptor: %w", err)
		}
	}
	b.log.Info("mode", "local", cfg.Local.String(), "source", cfg.ModeSource, "agent", b.name)
	if b.pool, err = slot.New(slot.Config{ID: 1, Slots: cfg.Slots, Bytes: uint64(cfg.SlotBytes), Budget: cfg.Budget}); err != nil {
		return err
	}
	if b.kvmem, err = mapMemory(kv.PoolBytes(cfg.Geometry, cfg.KVBlocks)); err != nil {
		return err
	}
	if b.kvpool, err = kv.NewPool(b.kvmem, cfg.Geometry, cfg.KVBlocks); err != nil {
		unmapMemory(b.kvmem)
		return err
	}
	b.cache = kv.NewCache(b.kvpool)
	b.loop = executor.New()
	if b.agent, err = cfg.Open(b.name, sink); err != nil {
		unmapMemory(b.kvmem)
		return fmt.Errorf("service: opening the transport: %w", err)
	}
	if b.region, err = b.agent.Register(b.regionSize(), remote); err != nil {
		_ = b.agent.Close()
		unmapMemory(b.kvmem)
		return fmt.Errorf("service: registering %d slots of %d bytes: %w", cfg.Slots, cfg.SlotBytes, err)
	}
	b.group = work.New(cfg.Workers)
	b.joins = newJoiners(joinWorkers)
	b.marks = newStamps(cfg.Slots, cfg.SlotBytes)
	if cfg.Stamp {
		done := make(chan struct{})
		n := b.marks.extents()
		b.group.Split(cfg.Slots*n, 4, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				b.marks.stamp(b.slotMem(uint32(i/n)), i/n, 0, i%n, i%n+1)
			}
		}, func() { close(done) })
		<-done
	} else {
		b.stampGuards()
	}
	b.state = native.DataTransceiverState{
		Comm: &native.CommState{SelfIdx: 0, Kind: native.CommAgent,
			Agents: []native.AgentState{{Name: b.name, ConnInfo: b.agent.Address()}}},
		Cache: cacheState(cfg.Geometry),
	}
	b.ended = make(chan struct{})
	go func() {
		defer close(b.ended)
		b.loop.Run()
	}()
	return nil
}

func (b *base) slotMem(i uint32) []byte {
	at := b.slotAt(i)
	return b.region.Bytes[at : at+b.cfg.SlotBytes : at+b.cfg.SlotBytes]
}

// Name is the registered identity of the service's agent.
func (b *base) Name() string { return b.name }

// Address is how peers reach the service's agent.
func (b *base) Address() string { return b.agent.Address() }

// Enabled says whether this service runs v1 in enabled mode.
func (b *base) Enabled() bool { return b.cfg.Local == negotiate.On }

func (b *base) count(what string) { b.counters[what]++ }

// slotStep applies an input to the pool and acts on its effects.
func (b *base) slotStep(in slot.Input) (slot.Binding, error) {
	var err error
	b.effects, err = b.pool.Step(in, b.effects[:0])
	if err != nil {
		return slot.Binding{}, err
	}
	var got slot.Binding
	for _, e := range b.effects {
		switch e.Kind {
		case slot.Granted:
			got = e.Binding
		case slot.Isolated:
			b.count("slots_quarantined")
			b.log.Warn("slot quarantined", "slot", e.Binding.Slot, "generation", e.Binding.Generation, "request_id", e.Owner)
		case slot.OverBudget:
			b.log.Error("quarantine budget used up", "reason", sm.PoolUnhealthy)
			if b.onOver != nil {
				b.onOver()
			}
		}
	}
	return got, nil
}

// mustSlot is slotStep for inputs that the machines have already justified; a
// refusal is a defect and is counted and logged, never ignored.
func (b *base) mustSlot(in slot.Input) {
	if _, err := b.slotStep(in); err != nil {
		b.count("slot_refusals")
		b.log.Error("slot pool refused a machine's effect", "err", err, "slot", in.Binding.Slot)
	}
}

// giveBack ends a lease: stamp what was used in a worker, then free the slot.
// kind is Release or Prove.
func (b *base) giveBack(kind slot.Kind, bind slot.Binding, proof slot.Proof, used int) {
	end := func() {
		b.mustSlot(slot.Input{Kind: kind, Binding: bind, Proof: proof})
		if b.onFreed != nil {
			b.onFreed()
		}
	}
	n := min((used+extent-1)/extent, b.marks.extents())
	if !b.cfg.Stamp || n == 0 {
		end()
		return
	}
	b.stamping++
	mem := b.slotMem(bind.Slot)
	b.group.Split(n, 8, func(lo, hi int) {
		b.marks.stamp(mem, int(bind.Slot), bind.Generation, lo, hi)
	}, func() {
		b.loop.Post(func() {
			b.stamping--
			end()
		})
	})
}

// inspect checks a leased slot's stamp in a worker before it is used.
func (b *base) inspect(bind slot.Binding, then func()) {
	if !b.cfg.Stamp {
		then()
		return
	}
	var bad atomic.Int64
	mem := b.slotMem(bind.Slot)
	b.group.Split(b.marks.extents(), 8, func(lo, hi int) {
		bad.Add(int64(b.marks.check(mem, int(bind.Slot), lo, hi)))
	}, func() {
		b.loop.Post(func() {
			if n := int(bad.Load()); n > 0 {
				b.canary++
				b.log.Error("free slot was written", "slot", bind.Slot, "generation", bind.Generation, "bytes", n, "requirement", "KS-SLOT-10")
				b.marks.stampAll(mem, int(bind.Slot), bind.Generation)
			}
			then()
		})
	})
}

func (s *stamps) stampAll(mem []byte, slot int, generation uint64) {
	s.stamp(mem, slot, generation, 0, s.extents())
}

// sweep checks every free slot once, or the guards, on the loop, at the end.
func (b *base) sweep() {
	if !b.cfg.Stamp {
		b.canary += b.checkGuards()
		return
	}
	for i := range b.cfg.Slots {
		if st, gen, _ := b.pool.Look(uint32(i)); st == slot.Free {
			if n := b.marks.check(b.slotMem(uint32(i)), i, 0, b.marks.extents()); n > 0 {
				b.canary++
				b.log.Error("free slot was written", "slot", i, "generation", gen, "bytes", n, "requirement", "KS-SLOT-10")
			}
		}
	}
}

func (b *base) now() sm.Time { return b.loop.Now() }

func nanos(d time.Duration) sm.Time { return sm.Time(d) }

// State is a snapshot of a service, for reports and health checks.
type State struct {
	Name     string            `json:"name"`
	Healthy  bool              `json:"healthy"`
	Slots    slot.Counts       `json:"slots"`
	Open     int               `json:"open"`
	Waiting  int               `json:"waiting"`
	Unproven int               `json:"unproven"`
	Cached   int               `json:"cached"`
	Stamping int               `json:"stamping"`
	Canary   int               `json:"canary_violations"`
	Bytes    int64             `json:"bytes"`
	Hits     int               `json:"block_hits"`
	Misses   int               `json:"block_misses"`
	Counters map[string]uint64 `json:"counters"`
}

// snapshot fills what both sides share.
func (b *base) snapshot() State {
	c := make(map[string]uint64, len(b.counters))
	for k, v := range b.counters {
		c[k] = v
	}
	st := b.cache.Stats()
	return State{Name: b.name, Healthy: b.pool.Healthy(), Slots: b.pool.Counts(), Stamping: b.stamping,
		Canary: b.canary, Hits: st.Hits, Misses: st.Misses, Counters: c}
}

// shut ends everything below the machines, in the order of KS-SLOT-11: workers,
// then the agent with its memory.
func (b *base) shut() error {
	b.loop.Stop()
	<-b.ended
	b.joins.quit()
	b.group.Close()
	err := b.agent.Close()
	b.joins.wait()
	unmapMemory(b.kvmem)
	b.kvmem = nil
	return err
}
