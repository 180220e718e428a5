package kv

import "unsafe"

// stream is copy(dst, src) for equal lengths with stores that go past the cache.
// The runtime's copy does so from 1 MiB on only, and a piece is smaller: an
// ordinary store first reads the line that it overwrites, a third of the memory
// traffic of a scatter.
func stream(dst, src []byte) {
	n := len(src) &^ 63
	if n > 0 && uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%16 == 0 {
		_ = dst[n-1] // the assembly checks nothing
		streamLines(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
	copy(dst, src)
}

// streamLines copies n bytes, a positive multiple of 64; dst is aligned to 16.
//
//go:noescape
func streamLines(dst, src *byte, n int)
