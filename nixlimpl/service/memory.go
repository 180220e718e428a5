package service

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
)

// mapMemory gets n bytes outside the Go heap, zeroed.
func mapMemory(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("service: mapping %d bytes of memory: %w", n, err)
	}
	return b, nil
}

func unmapMemory(b []byte) {
	if b != nil {
		_ = unix.Munmap(b)
	}
}

// extent is the grain of slot stamps: only what a lease used is stamped anew.
const extent = 1 << 20

// stamps remembers which generation stamped which part of each slot. Only whoever
// holds the slot (the executor, or the worker it gave the slot to) touches a row.
type stamps struct {
	slotBytes int
	gens      [][]uint64
}

func newStamps(slots, slotBytes int) *stamps {
	s := &stamps{slotBytes: slotBytes, gens: make([][]uint64, slots)}
	for i := range s.gens {
		s.gens[i] = make([]uint64, (slotBytes+extent-1)/extent)
	}
	return s
}

func (s *stamps) extents() int { return (s.slotBytes + extent - 1) / extent }

func (s *stamps) key(slot, e int) uint64 { return uint64(slot)<<24 | uint64(e) }

// stamp writes extents [lo, hi) of a slot for a generation.
func (s *stamps) stamp(mem []byte, slot int, generation uint64, lo, hi int) {
	for e := lo; e < hi; e++ {
		part := mem[e*extent : min((e+1)*extent, len(mem))]
		kv.StampFree(part, s.key(slot, e), generation)
		s.gens[slot][e] = generation
	}
}

// check returns how many bytes of extents [lo, hi) differ from their stamp.
func (s *stamps) check(mem []byte, slot, lo, hi int) int {
	bad := 0
	for e := lo; e < hi; e++ {
		part := mem[e*extent : min((e+1)*extent, len(mem))]
		bad += kv.CheckFree(part, s.key(slot, e), s.gens[slot][e])
	}
	return bad
}
