package doctor

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// probeSHM tries each thing that the shared-memory transport stands on.
func probeSHM() []Check {
	memfd, seals := probeMemfd()
	return []Check{memfd, seals, probePidfd(), probeSocket()}
}

func probeMemfd() (memfd, seals Check) {
	memfd = Check{Name: "memfd", Status: OK, Found: "memfd_create works"}
	seals = Check{Name: "seals", Status: OK, Found: "a sealed memfd cannot shrink"}
	fd, err := unix.MemfdCreate("kvsettle-doctor", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		memfd.Status, memfd.Found = Missing, fmt.Sprintf("memfd_create: %v", err)
		memfd.Fix = "Use Linux 3.17 or newer and a seccomp profile that allows memfd_create."
		seals.Status, seals.Found, seals.Fix = Missing, "no memfd to seal", memfd.Fix
		return memfd, seals
	}
	defer unix.Close(fd)
	err = unix.Ftruncate(fd, 8192)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	switch {
	case err != nil:
		seals.Found = fmt.Sprintf("sealing: %v", err)
	case unix.Ftruncate(fd, 0) == nil:
		seals.Found = "a sealed memfd could be shrunk"
	default:
		return memfd, seals
	}
	seals.Status, seals.Fix = Missing, "Use a Linux kernel with file sealing (a sandbox that imitates Linux may lack it)."
	return memfd, seals
}

func probePidfd() Check {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return Check{"pidfd", Missing, fmt.Sprintf("pidfd_open: %v", err),
			"Use Linux 5.3 or newer and a seccomp profile that allows pidfd_open."}
	}
	_ = unix.Close(fd)
	return Check{Name: "pidfd", Status: OK, Found: "pidfd_open works"}
}

// probeSocket meets itself at an abstract address and asks who is there.
func probeSocket() Check {
	bad := func(err error) Check {
		return Check{"abstract-socket", Missing, err.Error(), "Allow Unix sockets with abstract addresses in this sandbox or network name space."}
	}
	var token [16]byte
	rand.Read(token[:]) // never fails
	at := &net.UnixAddr{Name: "@kvsettle-doctor-" + hex.EncodeToString(token[:]), Net: "unix"}
	l, err := net.ListenUnix("unix", at)
	if err != nil {
		return bad(err)
	}
	defer l.Close()
	c, err := net.DialUnix("unix", nil, at)
	if err != nil {
		return bad(err)
	}
	defer c.Close()
	raw, err := c.SyscallConn()
	if err == nil {
		var credErr error
		err = raw.Control(func(fd uintptr) { _, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
		if err == nil {
			err = credErr
		}
	}
	if err != nil {
		return bad(fmt.Errorf("peer credentials: %w", err))
	}
	return Check{Name: "abstract-socket", Status: OK, Found: "abstract Unix sockets with peer credentials work"}
}
