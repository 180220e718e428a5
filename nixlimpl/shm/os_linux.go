package shm

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// probe tries each kernel feature once.
func probe() error {
	var missing []string
	fd, err := createMemfd()
	if err != nil {
		missing = append(missing, fmt.Sprintf("memfd_create with sealing (%v; Linux 3.17 or newer, not blocked by seccomp)", err))
	} else {
		closeFD(fd)
	}
	fd, err = unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		missing = append(missing, fmt.Sprintf("pidfd_open (%v; Linux 5.3 or newer, not blocked by seccomp)", err))
	} else {
		closeFD(fd)
	}
	if missing != nil {
		return &UnsupportedError{Missing: missing}
	}
	return nil
}

func createMemfd() (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("kvsettle", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("kvsettle", flags)
	}
	return fd, err
}

// newShared makes sealed memory of n bytes. Its pages exist before it returns, so
// that a lack of memory is an error here and not a fault in some writer.
func newShared(n int) (fd int, mem []byte, err error) {
	fd, err = createMemfd()
	if err != nil {
		return -1, nil, err
	}
	if err = allocate(fd, int64(n)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err == nil {
		mem, err = unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		closeFD(fd)
		return -1, nil, err
	}
	populate(mem)
	return fd, mem, nil
}

// allocate sizes fd and reserves its pages. It goes in steps because a signal
// makes the kernel give up, and undo, the call in progress.
func allocate(fd int, size int64) error {
	if err := unix.Ftruncate(fd, size); err != nil {
		return err
	}
	const step = 16 << 20
	for at := int64(0); at < size; {
		switch err := unix.Fallocate(fd, 0, at, min(step, size-at)); {
		case err == nil:
			at += step
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
	return nil
}

// newPrivate makes memory of n bytes that no other process sees.
func newPrivate(n int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE) // only faster
	populate(mem)
	return mem, nil
}

// populate fills page tables ahead of the first copy: 16,384 faults per 64 MiB
// cost more than the copy itself. Before Linux 5.14 it does nothing.
func populate(mem []byte) { _ = unix.Madvise(mem, unix.MADV_POPULATE_WRITE) }

// mapShared maps size bytes of a peer's memory after proving that they cannot go
// away under a copy: tmpfs pages (huge pages may fail at first touch), sealed
// against shrinking, and at least as large as announced. Seals come first: after
// them the size only grows.
func mapShared(fd int, size uint64) ([]byte, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return nil, fmt.Errorf("fstatfs: %w", err)
	}
	if fs.Type != unix.TMPFS_MAGIC {
		return nil, fmt.Errorf("file system type %#x is not tmpfs", fs.Type)
	}
	have, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("seals: %w", err)
	}
	if have&unix.F_SEAL_SHRINK == 0 {
		return nil, fmt.Errorf("seals are %#x: not sealed against shrinking", have)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("fstat: %w", err)
	}
	if size > math.MaxInt || st.Size < 0 || uint64(st.Size) < size {
		return nil, fmt.Errorf("file has %d bytes", st.Size)
	}
	mem, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	// A forked child would keep the mapping past this process's death.
	_ = unix.Madvise(mem, unix.MADV_DONTFORK)
	if uint64(st.Blocks)*512 >= size { // else it would allocate what the owner did not
		populate(mem)
	}
	return mem, nil
}

func unmap(mem []byte) { _ = unix.Munmap(mem) }

func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}

func rights(fd int) []byte { return unix.UnixRights(fd) }

// parseRights returns every descriptor in a control message, for the caller to close.
func parseRights(oob []byte) []int {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var fds []int
	for i := range messages {
		got, err := unix.ParseUnixRights(&messages[i])
		if err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

// peerProcess asks the kernel who is at the other end. It refuses other users:
// abstract sockets have no file permissions that would.
func peerProcess(conn *net.UnixConn) (*process, error) {
	refuse := func(cause error) (*process, error) {
		return nil, &Error{Reason: ReasonNoProcess, What: "credentials", Err: cause}
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return refuse(err)
	}
	var cred *unix.Ucred
	watch, credErr, watchErr := -1, error(nil), error(nil)
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if credErr != nil || cred.Pid == int32(os.Getpid()) {
			return
		}
		watch, watchErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		if watchErr == nil {
			return
		}
		// Before Linux 6.5. Should the pid name another process by now, then the peer is
		// dead already, and PeerDead only comes later than it could.
		watch = -1
		if cred.Pid > 0 {
			watch, watchErr = unix.PidfdOpen(int(cred.Pid), 0)
		}
	})
	if err := errors.Join(err, credErr, watchErr); err != nil {
		closeFD(watch)
		return refuse(err)
	}
	if int(cred.Uid) != os.Geteuid() {
		closeFD(watch)
		return nil, &Error{Reason: ReasonWrongUser, What: "credentials",
			Detail: fmt.Sprintf("process %d runs as user %d", cred.Pid, cred.Uid)}
	}
	p := &process{pid: int(cred.Pid)}
	if watch >= 0 {
		if err := unix.SetNonblock(watch, true); err != nil { // the runtime's poller wants it
			closeFD(watch)
			return refuse(err)
		}
		p.watch = os.NewFile(uintptr(watch), "pidfd")
	}
	return p, nil
}

// ended reports whether the process behind a pidfd has exited, all its threads
// included.
func ended(pidfd int) bool {
	set := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(set, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0 && set[0].Revents&unix.POLLIN != 0
		}
	}
}
