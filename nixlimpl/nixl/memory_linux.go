//go:build linux

package nixl

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// newMemory makes n bytes of zeroed memory outside the Go heap.
func newMemory(n int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE) // only faster
	_ = unix.Madvise(mem, unix.MADV_POPULATE_WRITE)
	return mem, nil
}

func freeMemory(mem []byte) { _ = unix.Munmap(mem) }

func addressOf(mem []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }
