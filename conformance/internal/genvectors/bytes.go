package main

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"
)

// at returns b with other bytes from offset off on.
func at(b []byte, off int, put ...byte) []byte {
	out := append([]byte(nil), b...)
	copy(out[off:], put)
	return out
}

// cut returns the first n bytes of b, or with n below 0 all but the last -n.
func cut(b []byte, n int) []byte {
	if n < 0 {
		n += len(b)
	}
	return append([]byte(nil), b[:n]...)
}

// join returns the parts one after the other.
func join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func u16be(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
func u32be(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func u64be(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
func u64le(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
func u32le(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

// castagnoli is CRC-32C: reflected, initial value and final XOR all ones.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crc32c(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// tlv is one item of a control message or a ticket trailer.
func tlv(kind, flags uint16, value []byte) []byte {
	return join(u16be(kind), u16be(flags), u32be(uint32(len(value))), value)
}

// frame is a control notification, written here by its layout so that the vectors
// do not rest on one writer alone.
func frame(version, typ uint16, id uint64, payload []byte) []byte {
	return join(u64le(3), []byte("TRTLCAN1"), u16be(version), u16be(typ), u32be(0), u32be(uint32(len(payload))),
		u32be(crc32c(payload)), u64be(id), payload)
}

// str is a native string.
func str(s string) []byte { return join(u64le(uint64(len(s))), []byte(s)) }

// decimal writes a 64-bit number as fields hold it.
func decimal(v uint64) string { return strconv.FormatUint(v, 10) }
