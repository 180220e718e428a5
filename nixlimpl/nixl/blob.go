package nixl

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The library's metadata is a text mark and then fields, each a name, a length of
// eight bytes in little-endian order, that many bytes, and '|'. The names are not
// delimited, so a reader must know which one comes.

// maxParts bounds the connections, and the sections with all their descriptors, in
// one blob.
const maxParts = 4096

// maxAddressVersion is the newest version of a UCX address that UCX 1.x reads; the
// low half of its first byte says it, and UCX ends the process over another one.
const maxAddressVersion = 1

type blobReader struct {
	rest []byte
	err  error
}

func (r *blobReader) field(name string) []byte {
	if r.err != nil {
		return nil
	}
	rest, ok := bytes.CutPrefix(r.rest, []byte(name))
	if !ok || len(rest) < 9 {
		r.err = fmt.Errorf("no field %q in the last %d bytes", name, len(r.rest))
		return nil
	}
	n := binary.LittleEndian.Uint64(rest)
	rest = rest[8:]
	if n >= uint64(len(rest)) || rest[n] != '|' {
		r.err = fmt.Errorf("field %q of %d bytes does not end in the %d that are left", name, n, len(rest))
		return nil
	}
	r.rest = rest[n+1:]
	return rest[:n]
}

func (r *blobReader) number(name string) uint64 {
	b := r.field(name)
	if r.err == nil && len(b) != 8 {
		r.err = fmt.Errorf("field %q has %d bytes, want 8", name, len(b))
	}
	if r.err != nil {
		return 0
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxParts {
		r.err = fmt.Errorf("field %q is %d, at most %d", name, n, maxParts)
		return 0
	}
	return n
}

func (r *blobReader) text(name, want string) {
	if got := r.field(name); r.err == nil && string(got) != want {
		r.err = fmt.Errorf("field %q is %q, want %q", name, got[:min(len(got), 32)], want)
	}
}

// checkBlob reads metadata of NIXL 1.5 to its end: cut or stretched metadata is not
// the library's business. It cannot say whether the UCX addresses and keys in it
// are sound; only their version is looked at.
func checkBlob(blob []byte) error {
	r := &blobReader{rest: blob}
	r.rest, _ = bytes.CutPrefix(blob, []byte("nixlSerDes|"))
	r.field("Agent")
	for n := r.number("Conns"); n > 0 && r.err == nil; n-- {
		kind := string(r.field("t"))
		address := r.field("c")
		if r.err == nil && kind == "UCX" && (len(address) == 0 || address[0]&0x0f > maxAddressVersion) {
			r.err = fmt.Errorf("a UCX address of an unknown version")
		}
	}
	r.text("", "MemSection")
	parts := 0
	for n := r.number("nixlSecElms"); n > 0 && r.err == nil; n-- {
		r.field("bknd")
		r.text("nixlDList", "nixlSDList")
		r.field("t")
		for m := r.number("n"); m > 0 && r.err == nil; m-- {
			if parts++; parts > maxParts {
				r.err = fmt.Errorf("more than %d descriptors", maxParts)
			}
			r.field("")
		}
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes after its end", len(r.rest))
	}
	return r.err
}

// renameBlob is the same metadata for another name. blobName must have found one.
func renameBlob(blob []byte, name string) []byte {
	n := binary.LittleEndian.Uint64(blob[len(blobStart):])
	out := append(make([]byte, 0, len(blob)+len(name)), blobStart...)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(name)))
	out = append(out, name...)
	return append(out, blob[len(blobStart)+8+int(n):]...)
}
