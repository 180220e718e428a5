package nixl

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// waiter lets one goroutine sleep for less than a millisecond, which Go's own timers
// do not in an idle process, and others wake it.
type waiter struct {
	fd     int
	asleep atomic.Bool
}

func newWaiter() (*waiter, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &waiter{fd: fd}, nil
}

// sleep returns after d, or earlier; at once when quiet says that there is news.
// Whoever wakes makes news first, so none is missed.
func (w *waiter) sleep(d time.Duration, quiet func() bool) {
	w.asleep.Store(true)
	if !quiet() {
		w.asleep.Store(false)
		return
	}
	ts := unix.NsecToTimespec(int64(d))
	fds := [1]unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	n, _ := unix.Ppoll(fds[:], &ts, nil) // an error is an early return
	w.asleep.Store(false)
	if n > 0 {
		var b [8]byte
		_, _ = unix.Read(w.fd, b[:])
	}
}

// wake ends the sleep, if there is one.
func (w *waiter) wake() {
	if w.asleep.Load() {
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], 1)
		_, _ = unix.Write(w.fd, b[:])
	}
}

func (w *waiter) close() { _ = unix.Close(w.fd) }
