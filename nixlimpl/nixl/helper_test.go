package nixl

import (
	"bufio"
	"encoding/json"
	"fmt"
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

// helperVariable makes the test program an agent that obeys commands on its input.
const helperVariable = "KVSETTLE_NIXL_HELPER"

// order is one command to a helper, answer its one answer, or an event.
type order struct {
	Op      string `json:"op"`
	Name    string `json:"name,omitempty"`
	Address string `json:"address,omitempty"`
	Data    []byte `json:"data,omitempty"`
	Addr    uint64 `json:"addr,omitempty"`
	At      int    `json:"at,omitempty"`
	N       int    `json:"n,omitempty"`
	Value   byte   `json:"value,omitempty"`
}

type answer struct {
	Op      string        `json:"op"`
	Name    string        `json:"name,omitempty"`
	Address string        `json:"address,omitempty"`
	Data    []byte        `json:"data,omitempty"`
	Addr    uint64        `json:"addr,omitempty"`
	N       int           `json:"n,omitempty"`
	ID      uint64        `json:"id,omitempty"`
	Err     string        `json:"err,omitempty"`
	Event   bool          `json:"event,omitempty"`
	Status  int           `json:"status,omitempty"`
	Stats   *Stats        `json:"stats,omitempty"`
	CPU     time.Duration `json:"cpu,omitempty"`
}

const helperBytes = 64 << 20

func helper() int {
	var mu sync.Mutex
	enc := json.NewEncoder(os.Stdout)
	say := func(a answer) {
		mu.Lock()
		defer mu.Unlock()
		_ = enc.Encode(a)
	}
	agent, err := Open(Config{Name: os.Getenv(helperVariable)}, func(e transport.Event) {
		text := ""
		if e.Err != nil {
			text = e.Err.Error()
		}
		op := map[transport.EventKind]string{transport.Notice: "notice", transport.WriteEnded: "ended", transport.PeerLost: "lost"}[e.Kind]
		say(answer{Op: op, Event: true, Name: e.Peer, Data: e.Payload, ID: uint64(e.Write), Status: int(e.Status), Err: text})
	})
	if err != nil {
		say(answer{Op: "failed", Err: err.Error()})
		return 3
	}
	region, err := agent.Register(helperBytes, true)
	if err != nil {
		say(answer{Op: "failed", Err: err.Error()})
		return 3
	}
	say(answer{Op: "ready", Name: agent.Name(), Address: agent.Address(), Addr: region.Addr})
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var o order
		if json.Unmarshal(in.Bytes(), &o) != nil {
			return 4
		}
		a := answer{Op: o.Op}
		var err error
		switch o.Op {
		case "peer":
			err = agent.AddPeer(o.Name, o.Address, nil)
		case "notify":
			err = agent.Notify(o.Name, o.Data)
		case "post":
			var id transport.WriteID
			id, err = agent.Post(o.Name, region.Bytes[o.At:o.At+o.N], transport.Target{Addr: o.Addr + uint64(o.At), Len: uint64(o.N)})
			a.ID = uint64(id)
		case "burst": // the whole region, N times, in pieces of 1 MiB
			for i := 0; i < o.N && err == nil; i++ {
				for at := 0; at < helperBytes && err == nil; at += 1 << 20 {
					_, err = agent.Post(o.Name, region.Bytes[at:at+1<<20], transport.Target{Addr: o.Addr + uint64(at), Len: 1 << 20})
				}
			}
		case "releaseall":
			for id := transport.WriteID(1); agent.Release(id) == nil; id++ {
			}
		case "release":
			err = agent.Release(transport.WriteID(o.Addr))
		case "fill":
			for i := range region.Bytes {
				region.Bytes[i] = o.Value
			}
		case "count":
			for _, b := range region.Bytes {
				if b == o.Value {
					a.N++
				}
			}
		case "stats":
			s := agent.Stats()
			a.Stats = &s
			var ru syscall.Rusage
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
			a.CPU = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
		case "close":
			err = agent.Close()
		}
		if err != nil {
			a.Err = err.Error()
		}
		say(a)
	}
	return 0
}

// remoteAgent is an agent in another process.
type remoteAgent struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      *json.Encoder
	answers chan answer
	events  chan answer
	answer  // the ready answer: name, address, region
}

// launch starts a helper; wrap is put before the command (ip netns exec ...).
func launch(t *testing.T, name string, env []string, wrap ...string) *remoteAgent {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	args := append(wrap, exe, "-test.run=^$")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), helperVariable+"="+name), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	r := &remoteAgent{t: t, cmd: cmd, in: json.NewEncoder(in), answers: make(chan answer, 16), events: make(chan answer, 65536)}
	go func() {
		defer close(r.answers)
		dec := json.NewDecoder(out)
		for {
			var a answer
			if dec.Decode(&a) != nil {
				return
			}
			if a.Event {
				r.events <- a
			} else {
				r.answers <- a
			}
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Signal(syscall.SIGCONT)
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
	})
	r.answer = r.get(30 * time.Second)
	require.Equal(t, "ready", r.Op, r.Err)
	return r
}

func (r *remoteAgent) get(bound time.Duration) answer {
	r.t.Helper()
	select {
	case a, ok := <-r.answers:
		require.True(r.t, ok, "the helper ended")
		return a
	case <-time.After(bound):
		r.t.Fatal("the helper does not answer")
	}
	panic("unreachable")
}

// do gives an order and returns the answer.
func (r *remoteAgent) do(o order) answer {
	r.t.Helper()
	require.NoError(r.t, r.in.Encode(o))
	a := r.get(60 * time.Second)
	require.Equal(r.t, o.Op, a.Op)
	return a
}

// event waits for an event of that kind and drops others.
func (r *remoteAgent) event(op string, bound time.Duration) (answer, bool) {
	end := time.After(bound)
	for {
		select {
		case e := <-r.events:
			if e.Op == op {
				return e, true
			}
		case <-end:
			return answer{}, false
		}
	}
}

func (r *remoteAgent) kill() { _ = r.cmd.Process.Kill() }

// meet makes two helpers known to each other.
func meet(t *testing.T, a, b *remoteAgent) {
	t.Helper()
	require.Empty(t, a.do(order{Op: "peer", Name: b.Name, Address: b.Address}).Err)
	require.Empty(t, b.do(order{Op: "peer", Name: a.Name, Address: a.Address}).Err)
}

var nameCount struct {
	sync.Mutex
	n int
}

// fresh is a name that no agent had before.
func fresh(part string) string {
	nameCount.Lock()
	defer nameCount.Unlock()
	nameCount.n++
	return fmt.Sprintf("%s_%d_%d_%s", part, os.Getpid(), nameCount.n, strings.Repeat("x", 8))
}
