package native

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// MemoryDesc names registered memory at the receiver: first address, length in
// bytes, device id.
type MemoryDesc struct {
	Addr, Len uint64
	Device    uint32
}

const sizeMemory = 20

// AppendMemoryDesc appends the 20-byte encoding of m.
func AppendMemoryDesc(dst []byte, m MemoryDesc) []byte {
	return appendU32(appendU64(appendU64(dst, m.Addr), m.Len), m.Device)
}

// DecodeMemoryDesc decodes exactly one MemoryDesc.
func DecodeMemoryDesc(b []byte) (MemoryDesc, error) {
	return decode("memoryDesc", Mid2026, b, readMemory)
}

func readMemory(r *reader, dst *MemoryDesc) {
	addr, length, device := r.U64LE("addr"), r.U64LE("len"), r.U32LE("deviceId")
	if dst != nil {
		*dst = MemoryDesc{addr, length, device}
	}
}

// Validate refuses an empty range and one that wraps around the address space.
func (m MemoryDesc) Validate() error {
	if m.Len == 0 {
		return refuse(wire.ReasonOutOfRange, reqMemory, "memoryDesc.len", "zero")
	}
	if m.Addr+m.Len < m.Addr {
		return refuse(wire.ReasonOutOfRange, reqMemory, "memoryDesc",
			strconv.FormatUint(m.Addr, 10)+" + "+strconv.FormatUint(m.Len, 10)+" overflows")
	}
	return nil
}
