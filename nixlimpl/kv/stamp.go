package kv

import (
	"encoding/binary"
)

// Odd constants: multiplying by one, or adding it again and again, visits every
// 64-bit value once.
const (
	mulA = 0xbf58476d1ce4e5b9
	mulB = 0x94d049bb133111eb
	// step is the difference between neighbouring words of a pattern, and step2 and
	// so on are its multiples modulo 2^64.
	step      = 0x9e3779b97f4a7c15
	step2     = 2 * step & wordMask
	step3     = 3 * step & wordMask
	step4     = 4 * step & wordMask
	step5     = 5 * step & wordMask
	step6     = 6 * step & wordMask
	step7     = 7 * step & wordMask
	step8     = 8 * step & wordMask
	stepChunk = diffChunk / 8 * step & wordMask
	wordMask  = 1<<64 - 1

	// diffChunk bounds what is looked at byte by byte for one bad byte.
	diffChunk = 4096
)

// mix is a bijection of 64-bit words (the finalizer of SplitMix64): different
// inputs always give different outputs, and close ones give unlike ones.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * mulA
	x = (x ^ x>>27) * mulB
	return x ^ x>>31
}

// stampBase is the first word of the stamp of a slot.
func stampBase(slotIndex, generation uint64) uint64 {
	return mix(mix(slotIndex+step) + generation)
}

// StampFree fills a free slot over its whole length with the pattern of its index
// and generation (KS-SLOT-10). Two generations of a slot, and two slots of a
// generation, differ in every full word of 8 bytes.
func StampFree(slot []byte, slotIndex, generation uint64) {
	fillWords(slot, stampBase(slotIndex, generation))
}

// CheckFree returns how many bytes of a free slot differ from the stamp that
// StampFree gave it: 0 for an untouched slot. It reads the whole slot. A foreign
// write can by chance leave a byte equal, so the count is a lower bound of the
// bytes written.
func CheckFree(slot []byte, slotIndex, generation uint64) int {
	return diffWords(slot, stampBase(slotIndex, generation))
}

// fillWords writes the words w, w+step, w+step2 and so on, little end first; a
// rest of less than 8 bytes gets the start of the next word.
func fillWords(b []byte, w uint64) {
	for len(b) >= 64 {
		x := (*[64]byte)(b)
		binary.LittleEndian.PutUint64(x[0:8], w)
		binary.LittleEndian.PutUint64(x[8:16], w+step)
		binary.LittleEndian.PutUint64(x[16:24], w+step2)
		binary.LittleEndian.PutUint64(x[24:32], w+step3)
		binary.LittleEndian.PutUint64(x[32:40], w+step4)
		binary.LittleEndian.PutUint64(x[40:48], w+step5)
		binary.LittleEndian.PutUint64(x[48:56], w+step6)
		binary.LittleEndian.PutUint64(x[56:64], w+step7)
		b = b[64:]
		w += step8
	}
	for ; len(b) >= 8; b, w = b[8:], w+step {
		binary.LittleEndian.PutUint64(b, w)
	}
	for i := range b {
		b[i] = byte(w >> (8 * i))
	}
}

// sameWords says whether b is what fillWords wrote.
func sameWords(b []byte, w uint64) bool {
	for len(b) >= 64 {
		x := (*[64]byte)(b)
		d := binary.LittleEndian.Uint64(x[0:8]) ^ w
		d |= binary.LittleEndian.Uint64(x[8:16]) ^ (w + step)
		d |= binary.LittleEndian.Uint64(x[16:24]) ^ (w + step2)
		d |= binary.LittleEndian.Uint64(x[24:32]) ^ (w + step3)
		d |= binary.LittleEndian.Uint64(x[32:40]) ^ (w + step4)
		d |= binary.LittleEndian.Uint64(x[40:48]) ^ (w + step5)
		d |= binary.LittleEndian.Uint64(x[48:56]) ^ (w + step6)
		d |= binary.LittleEndian.Uint64(x[56:64]) ^ (w + step7)
		if d != 0 {
			return false
		}
		b = b[64:]
		w += step8
	}
	for ; len(b) >= 8; b, w = b[8:], w+step {
		if binary.LittleEndian.Uint64(b) != w {
			return false
		}
	}
	for i := range b {
		if b[i] != byte(w>>(8*i)) {
			return false
		}
	}
	return true
}

// diffWords returns how many bytes of b differ from what fillWords wrote.
func diffWords(b []byte, w uint64) int {
	bad := 0
	for len(b) > 0 {
		n := min(len(b), diffChunk)
		if !sameWords(b[:n], w) {
			for i, have := range b[:n] {
				if have != wordByte(w, i) {
					bad++
				}
			}
		}
		b = b[n:]
		w += stepChunk
	}
	return bad
}

// wordByte is byte i of what fillWords writes from w on.
func wordByte(w uint64, i int) byte {
	return byte((w + uint64(i/8)*step) >> (8 * (i % 8)))
}
