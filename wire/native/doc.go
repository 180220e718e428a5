// Package native reads and writes what TensorRT-LLM's C++ cache transceiver puts
// on the wire today: little-endian, unaligned, without type tags, version,
// checksum or total length. Nothing in the bytes says which generation wrote
// them, so everything that differs takes an explicit Profile.
//
// Decoders are strict: they refuse short input, lengths and counts that do not
// fit, bools above 1, unknown indices and trailing bytes; what they accept they
// write back byte for byte. Ranges are not part of decoding; the Validate methods
// check them. A decoder first walks the whole input without allocating and
// builds the value only when all of it is sound.
//
// Not built, because no bytes exist to check against: the request of 2025 with
// one descriptor and no count, RequestInfo with block hashes and with the
// arbitrary-transfer flag, the first and the fourth CacheState generation, and
// ContextPhaseParams of 2026.
package native
