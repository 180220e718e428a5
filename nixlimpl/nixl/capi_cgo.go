//go:build cgo && linux

package nixl

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"
)

// withCgo says whether this program can load the library at all.
const withCgo = true

type handle = unsafe.Pointer

// cText calls f with a C buffer and returns what f left there.
func cText(n int, f func(p *C.char, n C.size_t) C.int) (string, C.int) {
	p := (*C.char)(C.calloc(1, C.size_t(n)))
	defer C.free(unsafe.Pointer(p))
	rc := f(p, C.size_t(n))
	return C.GoString(p), rc
}

// cName is a name as C wants it, to be freed.
func cName(s string) *C.char { return C.CString(s) }

func free(p *C.char) { C.free(unsafe.Pointer(p)) }

func openLibrary(path string) error {
	p := cName(path)
	defer free(p)
	text, rc := cText(4096, func(b *C.char, n C.size_t) C.int { return C.kvn_open(p, b, n) })
	if rc != 0 {
		return errors.New(text)
	}
	return nil
}

func preloadLibrary(path string) error {
	p := cName(path)
	defer free(p)
	text, rc := cText(4096, func(b *C.char, n C.size_t) C.int { return C.kvn_preload(p, b, n) })
	if rc != 0 {
		return errors.New(text)
	}
	return nil
}

// missingFunctions lists the optional functions that the loaded library lacks.
func missingFunctions() []string {
	var out []string
	for i := C.int(0); ; i++ {
		var required C.int
		p := C.kvn_name(i, &required)
		if p == nil {
			return out
		}
		if C.kvn_has(p) == 0 {
			out = append(out, C.GoString(p))
		}
	}
}

// mappedFile is the path of a loaded library whose file name contains part.
func mappedFile(part string) string {
	p := cName("/" + part)
	defer free(p)
	text, rc := cText(4096, func(b *C.char, n C.size_t) C.int { return C.kvn_mapped(p, b, n) })
	if rc == 0 {
		return ""
	}
	return text
}

// setEnv sets a variable for C unless it is set.
func setEnv(name, value string) {
	n, v := cName(name), cName(value)
	C.kvn_setenv(n, v)
	free(n)
	free(v)
}

func createAgent(name string, port int, pthrMicros, lthrMicros uint64) (handle, status) {
	n := cName(name)
	defer free(n)
	var h unsafe.Pointer
	rc := C.kvn_create_agent(n, C.int(port), C.uint64_t(pthrMicros), C.uint64_t(lthrMicros), &h)
	return h, status(rc)
}

func destroyAgent(a handle) status { return status(C.kvn_destroy_agent(a)) }

func createBackend(a handle, kind string, params []string) (handle, status) {
	k := cName(kind)
	defer free(k)
	list := (**C.char)(C.calloc(C.size_t(len(params)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(list))
	at := unsafe.Slice(list, len(params)+1)
	for i, s := range params {
		at[i] = cName(s)
		defer free(at[i])
	}
	var h unsafe.Pointer
	rc := C.kvn_create_backend(a, k, list, C.int(len(params)/2), &h)
	return h, status(rc)
}

func destroyBackend(b handle) status { return status(C.kvn_destroy_backend(b)) }

func availablePlugins(a handle) (string, status) {
	text, rc := cText(4096, func(b *C.char, n C.size_t) C.int { return C.kvn_plugins(a, b, n) })
	return text, status(rc)
}

func registerMemory(a handle, addr uint64, n int, device uint32, remove bool) status {
	r := C.int(0)
	if remove {
		r = 1
	}
	return status(C.kvn_register(a, C.uintptr_t(addr), C.size_t(n), C.uint64_t(device), r))
}

func localMetadata(a handle) ([]byte, status) {
	var p unsafe.Pointer
	var n C.size_t
	rc := C.kvn_local_md(a, &p, &n)
	if rc != 0 {
		return nil, status(rc)
	}
	defer C.free(p)
	return C.GoBytes(p, C.int(n)), success
}

func loadMetadata(a handle, blob []byte) (string, status) {
	var name *C.char
	rc := C.kvn_load_md(a, unsafe.Pointer(unsafe.SliceData(blob)), C.size_t(len(blob)), &name)
	if rc != 0 || name == nil {
		return "", status(rc)
	}
	defer free(name)
	return C.GoString(name), success
}

func checkMetadata(a handle, name string) status {
	n := cName(name)
	defer free(n)
	return status(C.kvn_check_md(a, n))
}

func invalidateMetadata(a handle, name string) status {
	n := cName(name)
	defer free(n)
	return status(C.kvn_invalidate_md(a, n))
}

func fetchMetadata(a handle, name, ip string, port int) status {
	n, i := cName(name), cName(ip)
	defer free(n)
	defer free(i)
	return status(C.kvn_fetch_md(a, n, i, C.int(port)))
}

// peerName is a peer's name in C memory, so that hot calls copy nothing.
type peerName struct{ p *C.char }

func newPeerName(s string) peerName { return peerName{cName(s)} }

func (n peerName) free() { free(n.p) }

// The stages of write: how far it came.
const (
	stageArguments = iota
	stageCreate
	stagePost
)

// write creates and posts a request. note, when not nil, is attached. The request
// is not nil from stagePost on, whatever the status.
func write(a handle, read bool, peer peerName, src uint64, n int, dst uint64, device uint32, note []byte) (req handle, stage int, st status) {
	var h unsafe.Pointer
	var s C.int
	var r C.int
	if read {
		r = 1
	}
	rc := C.kvn_write(a, r, peer.p, C.uintptr_t(src), C.size_t(n), C.uintptr_t(dst), C.uint64_t(device),
		unsafe.Pointer(unsafe.SliceData(note)), C.size_t(len(note)), &h, &s)
	return h, int(s), status(rc)
}

func requestStatus(a, req handle) status { return status(C.kvn_status(a, req)) }

// freeRequest releases and destroys a request. It stops nothing.
func freeRequest(a, req handle) status { return status(C.kvn_free(a, req)) }

func sendNotice(a handle, peer peerName, msg []byte) status {
	if len(msg) == 0 {
		msg = []byte{0}[:0:1] // never a nil pointer
	}
	return status(C.kvn_notify(a, peer.p, unsafe.Pointer(unsafe.SliceData(msg)), C.size_t(len(msg))))
}

// noticeMap is the library's container of received notices.
type noticeMap struct{ h unsafe.Pointer }

func newNoticeMap() (noticeMap, status) {
	var m noticeMap
	rc := C.kvn_create_map(&m.h)
	return m, status(rc)
}

func (m noticeMap) free() { C.kvn_destroy_map(m.h) }

// idle waits until fd can be read or a notice is there to take, or some time has
// passed.
func (m noticeMap) idle(a handle, fd int, quiet, most time.Duration) {
	C.kvn_idle(a, m.h, C.int(fd), C.int64_t(quiet), C.int64_t(most))
}

// take gets what arrived and calls f with each sender and payload, which are f's.
// skipped is how many were left out because of the bounds.
func (m noticeMap) take(a handle, most, longest int, f func(peer string, payload []byte)) (n, skipped int, st status) {
	var out *C.char
	var size, count, left C.size_t
	rc := C.kvn_notices(a, m.h, C.size_t(most), C.size_t(longest), &out, &size, &count, &left)
	if out == nil {
		return 0, int(left), status(rc)
	}
	defer free(out)
	b := unsafe.Slice((*byte)(unsafe.Pointer(out)), int(size))
	for len(b) >= 8 {
		name, body := int(binary.NativeEndian.Uint32(b)), int(binary.NativeEndian.Uint32(b[4:]))
		b = b[8:]
		f(string(b[:name]), append([]byte(nil), b[name:name+body]...))
		b = b[name+body:]
	}
	return int(count), int(left), status(rc)
}
