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
	defer w.asleep.Store(false)
	ts := unix.NsecToTimespec(int64(d))
	fds := [1]unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	n, _ := unix.Ppoll(fds[:], &ts, nil) // an error is an early return
	if n > 0 {
		var b [8]byte
		_, _ = unix.Read(w.fd, b[:])
	}
}

// idle is sleep for long pauses: f waits for the descriptor.
func (w *waiter) idle(f func(fd int), quiet func() bool) {
	w.asleep.Store(true)
	defer w.asleep.Store(false)
	if quiet() {
		f(w.fd)
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

// preciseSleep makes the kernel end this thread's sleeps on time, and returns how to
// undo that.
func preciseSleep() func() {
	old, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return func() {}
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0)
	return func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(old), 0, 0, 0) }
}
