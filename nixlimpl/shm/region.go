package shm

import (
	"fmt"
	"unsafe"
)

// span is mapped memory and the address by which its owner names it.
type span struct {
	addr uint64
	mem  []byte
}

// at returns n bytes of the span from addr on. Empty ranges are never inside.
func (s span) at(addr, n uint64) ([]byte, bool) {
	size := uint64(len(s.mem))
	if n == 0 || addr < s.addr {
		return nil, false
	}
	off := addr - s.addr // no sum of untrusted numbers: nothing can overflow
	if off >= size || n > size-off {
		return nil, false
	}
	return s.mem[off : off+n : off+n], true
}

// find returns the memory of [addr, addr+n) where one span holds all of it.
func find(spans []span, addr, n uint64) ([]byte, bool) {
	for _, s := range spans {
		if mem, ok := s.at(addr, n); ok {
			return mem, true
		}
	}
	return nil, false
}

// overlaps reports whether a new region would make an address ambiguous.
func overlaps(spans []span, addr, n uint64) bool {
	for _, s := range spans {
		if addr < s.addr+uint64(len(s.mem)) && s.addr < addr+n {
			return true
		}
	}
	return false
}

func addressOf(mem []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
}

// shared is a remote-writable region of this agent, as it is announced.
type shared struct {
	addr, size uint64
	fd         int
}

// mapRegion maps what a region frame announced. It always consumes the frame's
// descriptor.
func mapRegion(have []span, f frame) (span, error) {
	defer closeFD(f.fd)
	addr, size, err := parseRegion(f.body)
	if err != nil {
		return span{}, err
	}
	if len(have) >= MaxRegions {
		return span{}, &Error{Reason: ReasonTooManyRegions, What: "region",
			Detail: fmt.Sprintf("at most %d", MaxRegions)}
	}
	if overlaps(have, addr, size) {
		return span{}, &Error{Reason: ReasonBadRegion, What: "region",
			Detail: fmt.Sprintf("%d bytes at %#x overlap another region", size, addr)}
	}
	mem, err := mapShared(f.fd, size)
	if err != nil {
		return span{}, &Error{Reason: ReasonBadRegion, What: "region",
			Detail: fmt.Sprintf("%d bytes at %#x", size, addr), Err: err}
	}
	return span{addr: addr, mem: mem}, nil
}

func unmapAll(spans []span) {
	for _, s := range spans {
		unmap(s.mem)
	}
}
