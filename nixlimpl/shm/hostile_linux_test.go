package shm

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

// raw is a peer that says what it likes.
type raw struct {
	t testing.TB
	link
	address string
}

func dialRaw(t testing.TB, a *Agent) *raw {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: strings.TrimPrefix(a.Address(), "shm:"), Net: "unix"})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	return &raw{t: t, link: link{conn: conn}, address: addressPrefix + strings.Repeat("0", 2*tokenLen)}
}

func (r *raw) hello(name, want string, regions uint32) []byte {
	return appendHello(nil, hello{regions: regions, name: name, want: want, address: r.address})
}

// join does a correct handshake without regions.
func (r *raw) join(name, want string) {
	r.t.Helper()
	require.NoError(r.t, r.write(r.hello(name, want, 0), -1))
	f, err := r.read()
	require.NoError(r.t, err)
	require.Equal(r.t, kindHello, f.kind)
	f, err = r.read()
	require.NoError(r.t, err)
	require.Equal(r.t, kindReady, f.kind)
}

// send writes bytes with any number of descriptors.
func (r *raw) send(b []byte, fds ...int) {
	r.t.Helper()
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	_, _, err := r.conn.WriteMsgUnix(b, oob, nil)
	require.NoError(r.t, err)
}

// ends checks that the agent closes the connection; it returns the code it gave.
func (r *raw) ends() spec.Reason {
	r.t.Helper()
	var reason spec.Reason
	for {
		f, err := r.read()
		if err != nil {
			require.True(r.t, errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET), "%v", err)
			return reason
		}
		if f.kind == kindRefuse {
			reason, err = parseRefuse(f.body)
			require.NoError(r.t, err)
		}
		closeFD(f.fd)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// victim is an agent with one honest peer, which must not notice anything.
func victim(t *testing.T) (ctx *Agent, events *recorder, log *lockedBuffer, honest func()) {
	log = &lockedBuffer{}
	ctx, events = open(t, Config{Name: "ctx", ConnectDeadline: 500 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	gen, genEvents := open(t, Config{Name: "gen"})
	slot, err := gen.Register(4096, true)
	require.NoError(t, err)
	src, err := ctx.Register(4096, false)
	require.NoError(t, err)
	require.NoError(t, gen.AddPeer("ctx", ctx.Address(), nil))
	base := count(t)
	return ctx, events, log, func() {
		t.Helper()
		require.NoError(t, gen.Notify("ctx", []byte("ping")))
		events.await(t, transport.Notice, "gen")
		_, err := ctx.Post("gen", src.Bytes, target(slot))
		require.NoError(t, err)
		require.Equal(t, transport.Done, events.await(t, transport.WriteEnded, "gen").Status)
		require.NoError(t, ctx.Notify("gen", []byte("pong")))
		genEvents.await(t, transport.Notice, "ctx")
		settled(t, resources{base.goroutines, base.fds + 2, base.mappings}) // 2: the raw socket in use
	}
}

func TestGarbageBeforeTheHandshake(t *testing.T) {
	spec.Covers(t, reqStranger)
	valid := (&raw{address: addressPrefix + strings.Repeat("0", 2*tokenLen)}).hello("evil", "ctx", 0)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(valid)
		b[at] = to
		return b
	}
	header := func(size uint32, kind frameKind) []byte { return appendHeader(nil, kind, int(size)) }
	body := func(b []byte, kind frameKind) []byte { return append(appendHeader(nil, kind, len(b)), b...) }
	for name, c := range map[string]struct {
		send []byte
		want spec.Reason
	}{
		"text":              {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ReasonBadFrame},
		"oversize":          {header(1<<31, kindHello), ReasonBadFrame},
		"oversize notice":   {header(MaxNotice+1, kindNotice), ReasonBadFrame},
		"unknown kind":      {header(0, 99), ReasonBadFrame},
		"reserved bytes":    {change(7, 1), ReasonBadFrame},
		"notice first":      {header(0, kindNotice), ReasonBadFrame},
		"ready first":       {header(0, kindReady), ReasonBadFrame},
		"hello too short":   {header(3, kindHello), ReasonBadFrame},
		"region without fd": {appendRegion(nil, 4096, 4096), ReasonBadFrame},
		"wrong magic":       {change(8, 'X'), ReasonBadHello},
		"version 2":         {change(17, 2), ReasonWrongVersion},
		"reserved in hello": {change(19, 2), ReasonBadHello},
		"too many regions":  {change(20, 2), ReasonTooManyRegions},
		"field too long":    {change(24, 255), ReasonBadHello},
		"field too short":   {change(25, 3), ReasonBadHello},
		"control character": {bytes.Replace(valid, []byte("evil"), []byte("ev\nl"), 1), ReasonBadHello},
		"other address":     {bytes.Replace(valid, []byte("shm:@"), []byte("tcp:@"), 1), ReasonBadHello},
		"bytes too many":    {body(append(bytes.Clone(valid[headerLen:]), 0), kindHello), ReasonBadHello},
		"wrong name":        {(&raw{address: addressPrefix + strings.Repeat("0", 2*tokenLen)}).hello("evil", "xtc", 0), ReasonWrongName},
		"name of the live":  {(&raw{address: addressPrefix + strings.Repeat("0", 2*tokenLen)}).hello("gen", "ctx", 0), ReasonNameInUse},
		"name of the agent": {(&raw{address: addressPrefix + strings.Repeat("0", 2*tokenLen)}).hello("ctx", "ctx", 0), ReasonNameInUse},
		"peer's refusal":    {appendRefuse(nil, "no-thanks"), ReasonBadFrame},
		"bad refusal":       {body([]byte("NO"), kindRefuse), ReasonBadFrame},
		"silence":           {nil, ReasonHandshakeTimeout},
		"half a hello":      {valid[:20], ReasonHandshakeTimeout},
		"promised regions":  {change(23, 1), ReasonHandshakeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, events, log, honest := victim(t)
			r := dialRaw(t, ctx)
			if len(c.send) > 0 {
				r.send(c.send)
			}
			// The refusal is told where the time for it is left: not always after a timeout
			// on a busy machine. It is counted and logged in any case.
			if got := r.ends(); got != "" || c.want != ReasonHandshakeTimeout {
				require.Equal(t, c.want, got)
			}
			require.Eventually(t, func() bool { return ctx.Stats().Faults[c.want] == 1 }, 10*time.Second, time.Millisecond)
			require.Contains(t, log.text(), "reason="+string(c.want))
			honest()
			events.none(t, transport.PeerLost, "evil")
			require.Equal(t, 1, ctx.Stats().Peers)
		})
	}
}

func TestGarbageAfterTheHandshake(t *testing.T) {
	spec.Covers(t, reqStranger)
	for name, send := range map[string][]byte{
		"oversize":     appendHeader(nil, kindNotice, MaxNotice+1),
		"unknown kind": appendHeader(nil, 0, 0),
		"hello again":  (&raw{address: addressPrefix + strings.Repeat("0", 2*tokenLen)}).hello("evil", "ctx", 0),
		"ready":        appendHeader(nil, kindReady, 0),
		"refuse":       appendRefuse(nil, "late"),
		"text":         []byte("some text that is no frame"),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, events, log, honest := victim(t)
			r := dialRaw(t, ctx)
			r.join("evil", "ctx")
			r.send(append(append(appendHeader(nil, kindNotice, 2), "hi"...), send...))
			require.Equal(t, "hi", string(events.await(t, transport.Notice, "evil").Payload))
			require.Empty(t, r.ends())
			require.ErrorIs(t, events.await(t, transport.PeerLost, "evil").Err, &Error{Reason: ReasonBadFrame})
			require.EqualValues(t, 1, ctx.Stats().Faults[ReasonBadFrame])
			require.Contains(t, log.text(), "reason=bad-frame")
			honest()
			require.Eventually(t, func() bool { return ctx.Stats().Peers == 1 }, 5*time.Second, time.Millisecond)
		})
	}
}

// TestMemoryThatIsNotProvenIsRefused offers descriptors that could fault a writer.
func TestMemoryThatIsNotProvenIsRefused(t *testing.T) {
	spec.Covers(t, reqStranger)
	memfd := func(t *testing.T, size int64, add int) int {
		fd, err := createMemfd()
		require.NoError(t, err)
		require.NoError(t, unix.Ftruncate(fd, size))
		if add != 0 {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, add)
			require.NoError(t, err)
		}
		t.Cleanup(func() { closeFD(fd) })
		return fd
	}
	file := func(t *testing.T, dir string) int {
		f, err := os.Create(filepath.Join(dir, "shm-hostile-test"))
		require.NoError(t, err)
		t.Cleanup(func() { f.Close(); os.Remove(f.Name()) })
		require.NoError(t, f.Truncate(1<<20))
		return int(f.Fd())
	}
	sealed := unix.F_SEAL_SHRINK
	for name, c := range map[string]struct {
		fds    func(t *testing.T) []int
		region []byte
		want   spec.Reason
	}{
		"unsealed": {func(t *testing.T) []int { return []int{memfd(t, 8192, 0)} }, appendRegion(nil, 4096, 8192), ReasonBadRegion},
		"sealed to grow": {func(t *testing.T) []int { return []int{memfd(t, 8192, unix.F_SEAL_GROW)} },
			appendRegion(nil, 4096, 8192), ReasonBadRegion},
		"too small":      {func(t *testing.T) []int { return []int{memfd(t, 8191, sealed)} }, appendRegion(nil, 4096, 8192), ReasonBadRegion},
		"no writing":     {func(t *testing.T) []int { return []int{memfd(t, 8192, sealed|unix.F_SEAL_WRITE)} }, appendRegion(nil, 4096, 8192), ReasonBadRegion},
		"plain file":     {func(t *testing.T) []int { return []int{file(t, t.TempDir())} }, appendRegion(nil, 4096, 8192), ReasonBadRegion},
		"tmpfs file":     {func(t *testing.T) []int { return []int{file(t, "/dev/shm")} }, appendRegion(nil, 4096, 8192), ReasonBadRegion},
		"standard input": {func(t *testing.T) []int { return []int{0} }, appendRegion(nil, 4096, 8192), ReasonBadRegion},
		"empty":          {func(t *testing.T) []int { return []int{memfd(t, 8192, sealed)} }, appendRegion(nil, 4096, 0), ReasonBadRegion},
		"overflow":       {func(t *testing.T) []int { return []int{memfd(t, 8192, sealed)} }, appendRegion(nil, ^uint64(0)-4095, 8192), ReasonBadRegion},
		"huge":           {func(t *testing.T) []int { return []int{memfd(t, 8192, sealed)} }, appendRegion(nil, 0, 1<<63), ReasonBadRegion},
		"no descriptor":  {func(t *testing.T) []int { return nil }, appendRegion(nil, 4096, 8192), ReasonBadFrame},
		"two of them": {func(t *testing.T) []int { return []int{memfd(t, 8192, sealed), memfd(t, 8192, sealed)} },
			appendRegion(nil, 4096, 8192), ReasonBadFrame},
		"two hundred": {func(t *testing.T) []int {
			fd := memfd(t, 8192, sealed)
			return slices.Repeat([]int{fd}, 200)
		}, appendRegion(nil, 4096, 8192), ReasonBadFrame},
		"with a notice": {func(t *testing.T) []int { return []int{memfd(t, 8192, sealed)} },
			appendHeader(nil, kindNotice, 0), ReasonBadFrame},
		"overlap": {func(t *testing.T) []int { return []int{memfd(t, 8192, sealed)} }, appendRegion(nil, 1<<20, 8192), ReasonBadRegion},
	} {
		t.Run(name, func(t *testing.T) {
			fds, good := c.fds(t), memfd(t, 8192, sealed)
			ctx, events, _, honest := victim(t)
			r := dialRaw(t, ctx)
			r.join("evil", "ctx")
			r.send(appendRegion(nil, 1<<20+4096, 8192), good)
			require.Eventually(t, func() bool {
				return ctx.Covers("evil", transport.Target{Addr: 1<<20 + 4096, Len: 8192})
			}, 5*time.Second, time.Millisecond, "the same with sealed memory is taken")
			r.send(c.region, fds...)
			require.Empty(t, r.ends())
			require.ErrorIs(t, events.await(t, transport.PeerLost, "evil").Err, &Error{Reason: c.want})
			require.False(t, ctx.Covers("evil", transport.Target{Addr: 4096, Len: 1}))
			honest()
		})
	}
}

func TestOwnMemoryCannotShrink(t *testing.T) {
	a, _ := open(t, Config{Name: "a"})
	_, err := a.Register(8192, true)
	require.NoError(t, err)
	fd := a.shared[0].fd
	require.ErrorIs(t, unix.Ftruncate(fd, 4096), unix.EPERM)
	require.ErrorIs(t, unix.Ftruncate(fd, 1<<20), unix.EPERM)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	require.ErrorIs(t, err, unix.EPERM)
}

// TestHandshakesAreBounded holds more silent connections open than are allowed.
func TestHandshakesAreBounded(t *testing.T) {
	ctx, _, log, honest := victim(t)
	conns := make([]*raw, maxShaking+10)
	for i := range conns {
		conns[i] = dialRaw(t, ctx)
	}
	require.Eventually(t, func() bool { return ctx.Stats().Faults[ReasonTooManyPeers] == 10 }, 5*time.Second, time.Millisecond)
	for _, c := range conns {
		c.ends()
		c.conn.Close()
	}
	require.Less(t, strings.Count(log.text(), "\n"), 10, "not a line for each")
	require.EqualValues(t, maxShaking, ctx.Stats().Faults[ReasonHandshakeTimeout])
	honest()
}
