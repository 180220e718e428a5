package shm

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// link is one connection, read by one goroutine and written by one.
type link struct {
	conn *net.UnixConn
	hdr  [headerLen]byte
	oob  [64]byte // room for more descriptors than a frame may carry, so that too many show
}

// frame is one received frame. fd is -1 except for a region, whose receiver must
// close it.
type frame struct {
	kind frameKind
	body []byte // owned by the receiver
	fd   int
}

// read returns the next frame. io.EOF means that the peer ended the stream between
// frames. Descriptors come with the header only: the sender attaches them to the
// first byte of a frame, and headers are read exactly.
func (l *link) read() (frame, error) {
	var fds []int
	fail := func(err error) (frame, error) {
		for _, fd := range fds {
			closeFD(fd)
		}
		return frame{fd: -1}, err
	}
	for n := 0; n < headerLen; {
		k, oobn, flags, _, err := l.conn.ReadMsgUnix(l.hdr[n:], l.oob[:])
		if oobn > 0 {
			fds = append(fds, parseRights(l.oob[:oobn])...)
		}
		if err != nil {
			if n > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fail(err)
		}
		if flags&syscall.MSG_CTRUNC != 0 {
			return fail(badFrame("descriptors were cut"))
		}
		n += k
	}
	h, err := parseHeader(l.hdr)
	if err != nil {
		return fail(err)
	}
	want := 0
	if h.kind == kindRegion {
		want = 1
	}
	if len(fds) != want {
		return fail(badFrame("kind %d with %d descriptors", h.kind, len(fds)))
	}
	f := frame{kind: h.kind, body: make([]byte, h.size), fd: -1}
	// A plain read: the kernel drops descriptors that are attached to body bytes.
	if _, err := io.ReadFull(l.conn, f.body); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fail(err)
	}
	if want == 1 {
		f.fd = fds[0]
	}
	return f, nil
}

// write sends bytes; a descriptor other than -1 travels with the first of them.
func (l *link) write(b []byte, fd int) error {
	if fd >= 0 {
		n, _, err := l.conn.WriteMsgUnix(b, rights(fd), nil)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	if len(b) == 0 {
		return nil
	}
	_, err := l.conn.Write(b)
	return err
}
