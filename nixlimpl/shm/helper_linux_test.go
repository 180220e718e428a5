package shm

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

const helperVar = "KVSETTLE_SHM_HELPER"

// TestMain turns the test binary into a helper process where the variable asks for
// it: role, name, and for role gen the address to dial.
func TestMain(m *testing.M) {
	if role := os.Getenv(helperVar); role != "" {
		if err := helper(strings.Split(role, " ")); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// helper runs until stdin ends, so it never outlives the test. It prints its
// address first.
//
//	ctx NAME            obeys the notices below
//	gen NAME PEER ADDR  dials PEER and offers one region
//
// Notices: "fill ADDR LEN CHUNK SEED" writes the pattern and sends "chunk I" after
// each chunk and "filled" at the end; "burst N" sends "seq 0" to "seq N-1"; "loop ADDR LEN" writes for ever, having said
// "looping"; "count" is answered "count N ORDERED"; anything else that starts with
// "seq " is counted.
func helper(args []string) error {
	events := newRecorder()
	a, err := Open(Config{Name: args[1]}, events.sink)
	if err != nil {
		return err
	}
	fmt.Println("address", a.Address())
	go func() {
		if err := obey(a, events); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}()
	if args[0] == "gen" {
		r, err := a.Register(8<<20, true)
		if err != nil {
			return err
		}
		if err := a.AddPeer(args[2], args[3], nil); err != nil {
			return err
		}
		fmt.Println("region", r.Addr, len(r.Bytes))
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return a.Close()
}

func obey(a *Agent, events *recorder) error {
	next, ordered := 0, true
	for {
		e, ok := events.next(time.Hour, func(e transport.Event) bool { return e.Kind == transport.Notice })
		if !ok {
			return nil
		}
		var addr, size, chunk, seed uint64
		text := string(e.Payload)
		switch {
		case strings.HasPrefix(text, "seq "):
			var n int
			if _, err := fmt.Sscanf(text, "seq %d", &n); err != nil {
				return err
			}
			ordered = ordered && n == next
			next++
		case strings.HasPrefix(text, "burst "):
			if _, err := fmt.Sscanf(text, "burst %d", &size); err != nil {
				return err
			}
			for i := range size {
				if err := a.Notify(e.Peer, fmt.Appendf(nil, "seq %d", i)); err != nil {
					return err
				}
			}
		case text == "count":
			if err := a.Notify(e.Peer, fmt.Appendf(nil, "count %d %t", next, ordered)); err != nil {
				return err
			}
		case strings.HasPrefix(text, "fill "):
			if _, err := fmt.Sscanf(text, "fill %d %d %d %d", &addr, &size, &chunk, &seed); err != nil {
				return err
			}
			if err := fill(a, events, e.Peer, addr, size, chunk, seed); err != nil {
				return err
			}
		case strings.HasPrefix(text, "loop "):
			if _, err := fmt.Sscanf(text, "loop %d %d", &addr, &size); err != nil {
				return err
			}
			return loop(a, events, e.Peer, transport.Target{Addr: addr, Len: size})
		}
	}
}

func fill(a *Agent, events *recorder, peer string, addr, size, chunk, seed uint64) error {
	src, err := a.Register(int(size), false)
	if err != nil {
		return err
	}
	pattern(src.Bytes, seed)
	index := map[transport.WriteID]uint64{}
	for at := uint64(0); at < size; at += chunk {
		id, err := a.Post(peer, src.Bytes[at:at+chunk], transport.Target{Addr: addr + at, Len: chunk})
		if err != nil {
			return err
		}
		index[id] = at / chunk
	}
	for range index {
		e, ok := events.next(10*time.Second, func(e transport.Event) bool {
			_, mine := index[e.Write]
			return e.Kind == transport.WriteEnded && mine
		})
		if !ok || e.Status != transport.Done {
			return fmt.Errorf("write ended as %v: %v", e.Status, e.Err)
		}
		if err := a.Notify(peer, fmt.Appendf(nil, "chunk %d %d", seed, index[e.Write])); err != nil {
			return err
		}
	}
	return a.Notify(peer, fmt.Appendf(nil, "filled %d", seed))
}

// loop keeps two writes of the whole target running until the process is killed.
func loop(a *Agent, events *recorder, peer string, to transport.Target) error {
	src, err := a.Register(int(to.Len), false)
	if err != nil {
		return err
	}
	for round := uint64(0); ; round++ {
		if round < 2 || round%2 == 0 {
			pattern(src.Bytes[:4096], round)
		}
		if _, err := a.Post(peer, src.Bytes, to); err != nil {
			return err
		}
		if round == 1 {
			if err := a.Notify(peer, []byte("looping")); err != nil {
				return err
			}
		}
		if round > 0 {
			if _, ok := events.next(10*time.Second, func(e transport.Event) bool {
				return e.Kind == transport.WriteEnded
			}); !ok {
				return fmt.Errorf("no write ended")
			}
		}
	}
}

// pattern fills mem with words that depend on seed and position.
func pattern(mem []byte, seed uint64) {
	for i := 0; i+8 <= len(mem); i += 8 {
		binary.LittleEndian.PutUint64(mem[i:], word(seed, uint64(i)))
	}
}

func word(seed, at uint64) uint64 { return (at + 1) * (2*seed + 0x9e3779b97f4a7c15) }

// matches checks pattern over mem, which starts at byte at of the whole.
func matches(mem []byte, seed, at uint64) bool {
	for i := 0; i+8 <= len(mem); i += 8 {
		if binary.LittleEndian.Uint64(mem[i:]) != word(seed, at+uint64(i)) {
			return false
		}
	}
	return true
}

// child is a helper process.
type child struct {
	*exec.Cmd
	address string
	lines   *bufio.Scanner
	stdin   io.WriteCloser
}

func startChild(t testing.TB, role ...string) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := &child{Cmd: exec.Command(self)}
	c.Env = append(os.Environ(), helperVar+"="+strings.Join(role, " "))
	c.Stderr = os.Stderr
	c.stdin, err = c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	c.lines = bufio.NewScanner(out)
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGCONT)
		_ = c.stdin.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	_, err = fmt.Sscanf(c.line(t), "address %s", &c.address)
	require.NoError(t, err)
	return c
}

// stop sends SIGSTOP and waits until it has worked.
func (c *child) stop(t testing.TB) {
	t.Helper()
	require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		return err == nil && strings.Contains(string(b), ") T ")
	}, 5*time.Second, time.Millisecond)
}

func (c *child) line(t testing.TB) string {
	t.Helper()
	require.True(t, c.lines.Scan(), "helper ended")
	return c.lines.Text()
}

// recorder is a sink that keeps events until they are asked for. It fails the
// process when the adaptor calls it twice at one time for one peer.
type recorder struct {
	mu     sync.Mutex
	grown  chan struct{}
	events []transport.Event
	inside sync.Map // peer -> *sync.Mutex
}

func newRecorder() *recorder { return &recorder{grown: make(chan struct{})} }

func (r *recorder) sink(e transport.Event) {
	lock, _ := r.inside.LoadOrStore(e.Peer, new(sync.Mutex))
	if !lock.(*sync.Mutex).TryLock() {
		panic("two sink calls at one time for peer " + e.Peer)
	}
	defer lock.(*sync.Mutex).Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	close(r.grown)
	r.grown = make(chan struct{})
}

// next removes and returns the first event that fits, waiting for it.
func (r *recorder) next(limit time.Duration, fits func(transport.Event) bool) (transport.Event, bool) {
	timeout := time.After(limit)
	for {
		r.mu.Lock()
		for i, e := range r.events {
			if fits(e) {
				r.events = append(r.events[:i:i], r.events[i+1:]...)
				r.mu.Unlock()
				return e, true
			}
		}
		grown := r.grown
		r.mu.Unlock()
		select {
		case <-grown:
		case <-timeout:
			return transport.Event{}, false
		}
	}
}

// await returns the next event of that kind from that peer.
func (r *recorder) await(t testing.TB, kind transport.EventKind, peer string) transport.Event {
	t.Helper()
	e, ok := r.next(5*time.Second, func(e transport.Event) bool { return e.Kind == kind && e.Peer == peer })
	require.True(t, ok, "no event %d of %s", kind, peer)
	return e
}

// none checks that no such event is there or comes soon.
func (r *recorder) none(t testing.TB, kind transport.EventKind, peer string) {
	t.Helper()
	_, ok := r.next(50*time.Millisecond, func(e transport.Event) bool { return e.Kind == kind && e.Peer == peer })
	require.False(t, ok, "unexpected event %d of %s", kind, peer)
}

// open makes an agent that the test closes.
func open(t testing.TB, cfg Config) (*Agent, *recorder) {
	t.Helper()
	r := newRecorder()
	a, err := Open(cfg, r.sink)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a, r
}
