package native

import "encoding/binary"

// The functions of this file answer one question as fast as they can: is a
// request sound and within limits? They name nothing. When the answer is no, the
// reader walks the same bytes again to say why; a property test and the fuzz
// targets hold the two to the same answer.
//
// A position below 0 means that something was refused; it stays so.

const refusedAt = -1

// skipBytes passes n bytes.
func skipBytes(b []byte, at, n int) int {
	if at < 0 || n > len(b)-at {
		return refusedAt
	}
	return at + n
}

// skipList passes a count and that many elements of a fixed size.
func skipList(b []byte, at, size, limit int) int {
	n, at := skipCount(b, at, size, limit)
	if at < 0 {
		return refusedAt
	}
	return at + n*size
}

// skipCount reads a count of elements of at least size bytes.
func skipCount(b []byte, at, size, limit int) (n, next int) {
	if at < 0 || len(b)-at < 8 {
		return 0, refusedAt
	}
	count := binary.LittleEndian.Uint64(b[at:])
	left := uint64(len(b) - at - 8)
	if count > left || count*uint64(size) > left || limit > 0 && count > uint64(limit) {
		return 0, refusedAt
	}
	return int(count), at + 8
}

// skipBool reads a bool.
func skipBool(b []byte, at int) (set bool, next int) {
	if at < 0 || at >= len(b) || b[at] > 1 {
		return false, refusedAt
	}
	return b[at] == 1, at + 1
}

// skipOptU64 passes an optional 64-bit number.
func skipOptU64(b []byte, at int) int {
	set, at := skipBool(b, at)
	if set {
		return skipBytes(b, at, 8)
	}
	return at
}

func skipKey(b []byte, at int, l *Limits) int {
	_, at = skipBool(b, at)
	at = skipOptU64(b, at)
	at = skipList(b, at, sizeToken, l.Tokens)
	n, at := skipCount(b, at, minMmKey, l.ExtraKeys)
	for ; n > 0 && at >= 0; n-- {
		var has bool
		if has, at = skipBool(b, skipBytes(b, at, 36)); has {
			at = skipList(b, at, 1, l.Text)
		}
	}
	return skipOptU64(b, at)
}

func skipComm(b []byte, at int, l *Limits) int {
	if at < 0 || len(b)-at < 12 {
		return refusedAt
	}
	kind := binary.LittleEndian.Uint64(b[at+4:])
	at += 12
	switch kind {
	case uint64(CommMPI):
		return skipList(b, at, 4, l.Ranks)
	case uint64(CommSocket):
		n, at := skipCount(b, at, minSocket, l.Ranks)
		for ; n > 0 && at >= 0; n-- {
			at = skipList(b, skipBytes(b, at, 2), 1, l.Text)
		}
		return at
	case uint64(CommAgent):
		n, at := skipCount(b, at, minAgent, l.Ranks)
		for ; n > 0 && at >= 0; n-- {
			at = skipList(b, skipList(b, at, 1, l.Text), 1, l.Text)
		}
		return at
	}
	return refusedAt
}

// skipCache passes a CacheState of Mid2026. Between its lists stand runs of fixed
// size with bools at known places.
func skipCache(b []byte, at int, l *Limits) int {
	at = skipList(b, at, 4, l.Layers)
	run := at
	if at = skipBytes(b, at, 5*4+1+2*4); at < 0 || b[run+20] > 1 {
		return refusedAt
	}
	run = skipList(b, at, 4, l.Layers)
	// dataType, attentionType, kvFactor, three bools, two numbers, two bools.
	if at = skipBytes(b, run, 4+1+4+3+8+2); at < 0 {
		return refusedAt
	}
	if b[run+9]|b[run+10]|b[run+11]|b[run+20]|b[run+21] > 1 {
		return refusedAt
	}
	if b[run+21] == 1 {
		return skipList(b, skipBytes(b, at, 11*4), 4, l.Layers)
	}
	return at
}

func skipState(b []byte, at int, l *Limits) int {
	set, at := skipBool(b, at)
	if set {
		at = skipComm(b, at, l)
	}
	if set, at = skipBool(b, at); set {
		at = skipCache(b, at, l)
	}
	return at
}

// soundRequest reports whether b is exactly one request without variant index.
func soundRequest(b []byte, l *Limits) bool {
	at := skipList(b, skipList(b, 0, 1, l.Text), 1, l.Text)
	at = skipBytes(b, at, 8+4)
	at = skipKey(b, at, l)
	at = skipState(b, at, l)
	at = skipList(b, at, sizeMemory, l.Buffers)
	set, at := skipBool(b, at)
	if set {
		at = skipList(b, at, 1, l.Metadata)
	}
	at = skipList(b, skipBytes(b, at, 4), 1, l.Buffers)
	return at == len(b)
}
