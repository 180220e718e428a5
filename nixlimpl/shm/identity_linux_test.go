package shm

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kvsettle/kvsettle/internal/notrun"
	"github.com/kvsettle/kvsettle/spec"
)

// TestOtherUsersAreRefused connects from a thread that gave up root.
func TestOtherUsersAreRefused(t *testing.T) {
	spec.Covers(t, reqStranger)
	ctx, _, _, honest := victim(t)
	result := make(chan error, 1)
	fds := make(chan int, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			result <- errno
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			fds <- fd
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: strings.TrimPrefix(ctx.Address(), "shm:")})
		}
		result <- err
	}()
	err := <-result
	if err == unix.EPERM {
		notrun.Record(t, "needs root to become another user")
		return
	}
	require.NoError(t, err)
	defer func() { closeFD(<-fds) }()
	require.Eventually(t, func() bool { return ctx.Stats().Faults[ReasonWrongUser] == 1 }, 5*time.Second, time.Millisecond)
	honest()
}

// TestAnswersAreChecked dials something that answers as it likes.
func TestAnswersAreChecked(t *testing.T) {
	own := addressPrefix + strings.Repeat("1", 2*tokenLen)
	answer := func(h hello) []byte {
		h.address = own
		return appendHello(nil, h)
	}
	for name, c := range map[string]struct {
		send []byte
		want spec.Reason
	}{
		"other name":       {answer(hello{name: "xtc", want: "gen"}), ReasonWrongName},
		"other wanted":     {answer(hello{name: "ctx", want: "neg"}), ReasonWrongName},
		"too many regions": {answer(hello{name: "ctx", want: "gen", regions: MaxRegions + 1}), ReasonTooManyRegions},
		"notice":           {appendHeader(nil, kindNotice, 0), ReasonBadFrame},
		"refusal":          {appendRefuse(nil, "too-many-peers"), ReasonTooManyPeers},
		"no code":          {append(appendHeader(nil, kindRefuse, 1), 'X'), ReasonBadFrame},
		"never ready":      {answer(hello{name: "ctx", want: "gen"}), ReasonHandshakeTimeout},
		"ends":             {nil, ReasonPeerGone},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: strings.TrimPrefix(own, "shm:"), Net: "unix"})
			require.NoError(t, err)
			defer ln.Close()
			gen, _ := open(t, Config{Name: "gen", ConnectDeadline: 500 * time.Millisecond})
			slot, err := gen.Register(4096, true)
			require.NoError(t, err)
			sawMemory := make(chan bool, 1)
			go func() {
				conn, err := ln.AcceptUnix()
				if err != nil {
					return
				}
				defer conn.Close()
				l := link{conn: conn}
				_, _ = l.read()
				_ = l.write(c.send, -1)
				if c.send == nil {
					conn.Close()
				}
				f, err := l.read()
				closeFD(f.fd)
				sawMemory <- err == nil && f.kind == kindRegion
				_, _ = l.read()
			}()
			err = gen.AddPeer("ctx", own, nil)
			require.ErrorIs(t, err, &Error{Reason: c.want})
			require.Equal(t, name == "never ready", <-sawMemory, "memory goes only to whom it is meant for")
			require.False(t, gen.Covers("ctx", target(slot)))
			require.Zero(t, gen.Stats().Peers)
		})
	}
}

func TestOnlyTmpfsIsMapped(t *testing.T) {
	f, err := os.Open("/proc/version")
	require.NoError(t, err)
	defer f.Close()
	_, err = mapShared(int(f.Fd()), 1)
	require.ErrorContains(t, err, "not tmpfs")
}
