package world

import (
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// The capabilities of the extensions.
const (
	x48 = descriptor.CapRecovery
	x49 = descriptor.CapQuiescence
)

// V2Names lists the models of V2Size.
func V2Names() []string {
	return []string{"ready", "settle", "v2-1", "v2-2", "restart", "recovery", "quiescence"}
}

// v2Sizes builds the cases of one model.
type v2Sizes struct {
	base  V2Case
	cases []V2Case
}

// newV2Sizes begins with the simplest world: one rank on each side, plain v2, one
// write, patience, and a backend like shm.
func newV2Sizes() *v2Sizes {
	return &v2Sizes{base: V2Case{Gens: 1, Ctxs: 1, Chunks: 1, Patient: true, DeathQuiet: true, Lockstep: true,
		Contract: settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet}}
}

func (b *v2Sizes) add(f V2Faults, change ...func(*V2Case)) {
	c := b.base
	for _, ch := range change {
		ch(&c)
	}
	c.Faults = f
	b.cases = append(b.cases, c)
}

func ranks(ctxs, gens int) func(*V2Case) { return func(c *V2Case) { c.Ctxs, c.Gens = ctxs, gens } }

func caps(d descriptor.Caps) func(*V2Case) { return func(c *V2Case) { c.Caps = d } }

func chunks(n int, per bool) func(*V2Case) { return func(c *V2Case) { c.Chunks, c.PerChunk = n, per } }

func eager(c *V2Case) { c.Patient = false }

func calls(c *V2Case) { c.Calls = true }

func restarts(c *V2Case) { c.Restarts = true }

func retires(c *V2Case) { c.Retires = true }

// far is a backend like NIXL: the death of a writer proves nothing, and neither does
// an error.
func far(c *V2Case) { c.DeathQuiet = false }

func errorQuiet(c *V2Case) { c.Contract |= settle.ErrorQuiet }

// V2Size returns the configuration of a v2 model. Every model has in its first case
// a lost, a doubled and a reordered message, a cancel on either side and a crash;
// the other cases have more ranks, faults of other kinds, or impatient deadlines.
func V2Size(name, size string) (V2Config, bool) {
	b := newV2Sizes()
	ok := size == "small" || size == "medium" || size == "large"
	medium, large := size == "medium", size == "large"
	switch name {
	case "ready":
		b.ready(medium, large)
	case "settle":
		b.settle(medium, large)
	case "v2-1":
		b.one(medium, large)
	case "v2-2":
		b.two(medium, large)
	case "restart":
		b.restart(medium, large)
	case "recovery":
		b.recovery(medium, large)
	case "quiescence":
		b.quiescence(medium, large)
	default:
		ok = false
	}
	return V2Config{Name: name, Size: size, Cases: b.cases}, ok
}

// odd is one of each fault that is neither the network's nor a user's: those that
// meet writes and local work, and those that meet the opening.
func odd(retries uint8) V2Faults {
	return V2Faults{WriteFails: 1, VerifyFails: 1, Rejects: 1, Mismatches: 1, Refusals: 1, Denials: 1, Doubts: 1, Retries: retries}
}

// skewed lets the ranks of a service hear a verdict one after the other, and the
// seal hold some time after it was asked for.
func skewed(c *V2Case) { c.Lockstep = false }

// ready: from the OPEN to the installation barrier, with ranks that miss rounds.
func (b *v2Sizes) ready(medium, large bool) {
	b.add(V2Faults{RoundFails: 1, CancelGen: 1, Retries: 1})
	b.add(V2Faults{SendFails: 1, CancelGen: 1}, calls)
	if medium || large {
		b.add(V2Faults{Dups: 1, Reorders: 1, CancelCtx: 1, Crashes: 1}, caps(x49))
		b.add(V2Faults{Drops: 1, Rejects: 1, Retries: 1}, caps(x49))
		b.add(V2Faults{Rejects: 1}, ranks(2, 1), caps(x49))
		b.add(V2Faults{RoundFails: 1, CancelCtx: 1})
	}
	if large {
		b.add(V2Faults{RoundFails: 1}, ranks(2, 1))
		b.add(V2Faults{RoundFails: 1}, ranks(2, 1), caps(x49))
		b.add(V2Faults{RoundFails: 1}, ranks(1, 2), caps(x49))
		b.add(V2Faults{RoundFails: 1}, ranks(1, 2))
		b.add(V2Faults{}, ranks(2, 1), caps(x49), skewed)
		b.add(V2Faults{Rejects: 1, CancelCtx: 1, Retries: 1}, ranks(2, 1), caps(x49))
	}
}

// settle: the exchange of evidence after a cancel or a doubt, and its retention.
func (b *v2Sizes) settle(medium, large bool) {
	b.add(V2Faults{Drops: 1, CancelGen: 1, Retries: 2}, retires)
	b.add(V2Faults{Dups: 1, Reorders: 1, CancelCtx: 1, Retries: 1}, caps(x49))
	if medium || large {
		b.add(V2Faults{CancelGen: 1, Reorders: 1, Crashes: 1, Retries: 1}, caps(x49))
		b.add(V2Faults{Drops: 2, CancelCtx: 1, Retries: 3}, retires)
		b.add(odd(1), retires)
		b.add(V2Faults{}, eager, retires)
	}
	if large {
		b.add(V2Faults{CancelGen: 1, Dups: 1, Reorders: 1, Crashes: 1, Retries: 1}, caps(x49))
		b.add(V2Faults{Drops: 1, CancelGen: 1, CancelCtx: 1, Retries: 2}, retires)
		b.add(V2Faults{Drops: 1, Dups: 1, Reorders: 1, CancelGen: 1, CancelCtx: 1, Retries: 2}, caps(x49))
	}
}

// one: plain v2, one rank on each side.
func (b *v2Sizes) one(medium, large bool) {
	b.add(V2Faults{WriteFails: 1, VerifyFails: 1, Doubts: 1})
	b.add(V2Faults{Rejects: 1, Mismatches: 1, Refusals: 1, Denials: 1})
	b.add(V2Faults{Drops: 1, CancelCtx: 1})
	if medium || large {
		b.add(V2Faults{Drops: 1, CancelGen: 1})
		b.add(V2Faults{Dups: 1, Reorders: 1, Crashes: 1})
		b.add(V2Faults{Releases: 1, WriteFails: 1, CancelCtx: 1}, far, chunks(2, false))
	}
	if large {
		b.add(V2Faults{CancelGen: 1}, eager)
		b.add(V2Faults{Drops: 1}, eager)
		b.add(V2Faults{Drops: 1, Dups: 1, Reorders: 1, CancelGen: 1, CancelCtx: 1, Crashes: 1})
		b.add(V2Faults{Drops: 1, CancelGen: 1, CancelCtx: 1, Crashes: 1, Retries: 1}, far)
	}
}

// two: several ranks.
func (b *v2Sizes) two(medium, large bool) {
	b.add(V2Faults{}, ranks(2, 1))
	b.add(V2Faults{}, ranks(1, 2), caps(x49))
	if medium || large {
		b.add(V2Faults{CancelCtx: 1, Retries: 1}, ranks(2, 1), caps(x49))
		b.add(V2Faults{Dups: 1, Reorders: 1, Crashes: 1}, caps(x48|x49))
		b.add(V2Faults{CancelGen: 1, Retries: 1}, caps(x48|x49))
		b.add(V2Faults{CancelCtx: 1}, ranks(1, 2), caps(x49))
		b.add(V2Faults{WriteFails: 1}, ranks(2, 1), caps(x49))
		b.add(V2Faults{Drops: 1, Retries: 2}, ranks(1, 2), caps(x48|x49))
	}
	if large {
		b.add(V2Faults{CancelGen: 1, Retries: 1}, ranks(2, 1), caps(x49))
		b.add(V2Faults{CancelGen: 1, Retries: 1}, ranks(2, 1))
		b.add(V2Faults{CancelCtx: 1, Retries: 1}, ranks(1, 2), caps(x49))
		b.add(V2Faults{CancelGen: 1, Retries: 1}, ranks(1, 2))
		b.add(V2Faults{}, ranks(2, 2), caps(x49))
	}
}

// restart: crashes with new epochs, and what arrives late from the old ones.
func (b *v2Sizes) restart(medium, large bool) {
	b.add(V2Faults{Crashes: 1}, restarts)
	b.add(V2Faults{Strays: 1, Retries: 1}, caps(x48|x49))
	if medium || large {
		b.add(V2Faults{Crashes: 1, Drops: 1}, restarts)
		b.add(V2Faults{Crashes: 1, Dups: 1}, restarts, far)
		b.add(V2Faults{Crashes: 1, Reorders: 1}, restarts, far)
		b.add(V2Faults{Crashes: 1, CancelGen: 1}, caps(x48|x49), restarts)
		b.add(V2Faults{Crashes: 1, CancelCtx: 1}, caps(x49), restarts)
	}
	if large {
		b.add(V2Faults{Crashes: 1, Dups: 1, Reorders: 1}, restarts, far)
		b.add(V2Faults{Crashes: 2, Drops: 1}, restarts)
		b.add(V2Faults{Crashes: 1, CancelGen: 1, Retries: 1}, restarts, far)
		b.add(V2Faults{Crashes: 2, Dups: 1, Reorders: 1, Retries: 1}, restarts, retires)
		b.add(V2Faults{Crashes: 1, Drops: 1, CancelGen: 1, Retries: 1}, restarts)
	}
}

// recovery: bit 48, lost completion notices.
func (b *v2Sizes) recovery(medium, large bool) {
	b.add(V2Faults{Drops: 1, DropNotices: 1, Retries: 2}, caps(x48), chunks(2, true))
	b.add(V2Faults{DropNotices: 1, CancelCtx: 1, Retries: 1}, caps(x48))
	b.add(V2Faults{Drops: 1, Dups: 1, Reorders: 1, DropNotices: 1, Retries: 2}, caps(x48), chunks(2, true))
	if medium || large {
		b.add(V2Faults{Drops: 2, Dups: 1, Reorders: 1, DropNotices: 2, Retries: 3}, caps(x48), chunks(2, true))
		b.add(V2Faults{DropNotices: 1, Reorders: 1, Crashes: 1, Retries: 1}, caps(x48|x49), far)
		b.add(V2Faults{DropNotices: 1, CancelGen: 1, Retries: 1}, caps(x48), retires)
		b.add(V2Faults{Drops: 1, DropNotices: 1, Retries: 2}, caps(x48|x49), chunks(2, true), ranks(2, 1))
	}
	if large {
		b.add(V2Faults{Drops: 1, DropNotices: 1, CancelGen: 1, CancelCtx: 1, Retries: 2}, caps(x48), chunks(2, true))
		b.add(V2Faults{DropNotices: 1, Retries: 1}, caps(x48), eager)
	}
}

// quiescence: bit 49, cancels in flight.
func (b *v2Sizes) quiescence(medium, large bool) {
	b.add(V2Faults{CancelGen: 1, WriteFails: 1}, caps(x48|x49), chunks(2, true))
	b.add(V2Faults{CancelCtx: 1, Releases: 1, Retries: 1}, caps(x48|x49), chunks(2, true))
	b.add(V2Faults{CancelGen: 1, CancelCtx: 1, Retries: 1}, caps(x49))
	b.add(V2Faults{CancelCtx: 1, Retries: 1}, caps(x49), skewed)
	if medium || large {
		b.add(V2Faults{CancelGen: 1, WriteFails: 1, Releases: 1, Retries: 1}, caps(x48|x49), chunks(2, true))
		b.add(V2Faults{CancelGen: 1, CancelCtx: 1, Retries: 1}, caps(x49), chunks(2, false))
		b.add(V2Faults{Drops: 1, CancelGen: 1, Retries: 2}, caps(x48|x49), chunks(2, true))
		b.add(V2Faults{Dups: 1, CancelGen: 1}, caps(x49))
		b.add(V2Faults{Reorders: 1, CancelCtx: 1}, caps(x49))
		b.add(V2Faults{WriteFails: 1, CancelGen: 1, Retries: 1}, caps(x49), chunks(2, false), errorQuiet)
		b.add(V2Faults{WriteFails: 1, Releases: 1, CancelCtx: 1, Crashes: 1, Retries: 1}, caps(x49), far)
	}
	if large {
		b.add(V2Faults{Drops: 1, CancelGen: 1, CancelCtx: 1, Retries: 2}, caps(x48|x49), chunks(2, true))
		b.add(V2Faults{CancelGen: 1}, caps(x49), eager)
		b.add(V2Faults{CancelGen: 1, CancelCtx: 1, Retries: 1}, caps(x49), chunks(2, false), ranks(2, 1))
	}
}
