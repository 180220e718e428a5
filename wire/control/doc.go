// Package control reads and writes the control carrier: native variant 3, a
// 32-byte envelope with CRC-32C, and type-length-value items.
//
//	u64 LE  variant index 3
//	8       "TRTLCAN1"
//	u16     version, the selected control version
//	u16     type
//	u32     flags, zero
//	u32     payload length, at most 1 MiB
//	u32     CRC-32C of the payload
//	u64     message id, not zero
//	payload { u16 type, u16 flags (bit 0: required), u32 length, value } ...
//
// All but the variant index is in network order. Reading takes two steps. Parse
// checks the frame; where Broken says so, its error means that nothing in the bytes
// can be trusted, the key included, and concerns the connection. The method of Frame
// that belongs to the type then checks the items. Every other refusal drops that
// message and changes nothing. Type.CheckFrom holds a type to its direction.
// Writing is canonical: items ascend, each with flags 1.
//
// Reading allocates nothing unless it refuses. Slices in messages are parts of the
// input.
package control
