package service

import "github.com/kvsettle/kvsettle/nixlimpl/kv"

// guardBytes of known content stand before, between and after the slots where free
// slots are not stamped (benchmarks): they show a write that left its slot, and
// cost nothing while the clock runs.
const guardBytes = 4096

// guardKey keeps the content of guards apart from that of stamped slots.
const guardKey = 1 << 48

func (b *base) guardSize() int {
	if b.cfg.Stamp {
		return 0
	}
	return guardBytes
}

// regionSize is what all slots and guards need, in bytes.
func (b *base) regionSize() int { return b.cfg.Slots*(b.cfg.SlotBytes+b.guardSize()) + b.guardSize() }

// slotAt is the offset of a slot in the region.
func (b *base) slotAt(i uint32) int {
	return int(i)*(b.cfg.SlotBytes+b.guardSize()) + b.guardSize()
}

// guard returns the memory before slot i; i may be the number of slots.
func (b *base) guard(i int) []byte {
	end := b.slotAt(uint32(i))
	return b.region.Bytes[end-b.guardSize() : end]
}

func (b *base) stampGuards() {
	for i := range b.cfg.Slots + 1 {
		kv.StampFree(b.guard(i), guardKey+uint64(i), 0)
	}
}

// checkGuards returns how many guards somebody wrote to.
func (b *base) checkGuards() int {
	bad := 0
	for i := range b.cfg.Slots + 1 {
		if n := kv.CheckFree(b.guard(i), guardKey+uint64(i), 0); n > 0 {
			bad++
			b.log.Error("guard page was written", "before_slot", i, "bytes", n, "requirement", "KS-SLOT-10")
		}
	}
	return bad
}
