// Package raw is the baseline of the benchmarks over NIXL: a process with an agent
// that obeys orders to write and to ping, with nothing of the protocol around.
package raw

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// The orders.
const (
	// Peer makes Name at Address known.
	Peer = "peer"
	// Write writes the first Bytes of the region, in pieces of Chunk, Window under way.
	Write = "write"
	// Ping sends Count notices one after the other, each answered by the peer, and
	// returns half of the median round trip.
	Ping = "ping"
	// Ready is the first answer: name, address and region.
	Ready = "ready"
)

// Order is one command to the process.
type Order struct {
	Op      string `json:"op"`
	Name    string `json:"name,omitempty"`
	Address string `json:"address,omitempty"`
	Addr    uint64 `json:"addr,omitempty"`
	Bytes   int    `json:"bytes,omitempty"`
	Chunk   int    `json:"chunk,omitempty"`
	Window  int    `json:"window,omitempty"`
	Count   int    `json:"count,omitempty"`
}

// Answer is the one answer to each order.
type Answer struct {
	Op      string        `json:"op"`
	Name    string        `json:"name,omitempty"`
	Address string        `json:"address,omitempty"`
	Addr    uint64        `json:"addr,omitempty"`
	Time    time.Duration `json:"time,omitempty"`
	Err     string        `json:"err,omitempty"`
}

// Config of the process.
type Config struct {
	// Name is the agent's, new for each process.
	Name string
	// Library is nixl.Config's.
	Library string
	// Bytes is the size of the one region.
	Bytes  int
	Logger *slog.Logger
}

// Serve obeys orders from in until it ends, and answers through say. The error says
// why it could not start.
func Serve(cfg Config, in io.Reader, say func(any)) error {
	notes := make(chan transport.Event, 64)
	var agent *nixl.Agent
	started := make(chan struct{})
	agent, err := nixl.Open(nixl.Config{Name: cfg.Name, Library: cfg.Library, Logger: cfg.Logger}, func(ev transport.Event) {
		if ev.Kind != transport.Notice {
			return
		}
		<-started
		if string(ev.Payload) == "ping" {
			_ = agent.Notify(ev.Peer, []byte("pong")) // a lost answer shows at the other side
			return
		}
		select {
		case notes <- ev:
		default:
		}
	})
	if err != nil {
		return err
	}
	close(started)
	defer agent.Close()
	region, err := agent.Register(cfg.Bytes, true)
	if err != nil {
		return err
	}
	for i := range region.Bytes {
		region.Bytes[i] = byte(i)
	}
	say(Answer{Op: Ready, Name: agent.Name(), Address: agent.Address(), Addr: region.Addr})
	for dec := json.NewDecoder(in); ; {
		var o Order
		if dec.Decode(&o) != nil {
			return nil
		}
		a := Answer{Op: o.Op}
		var err error
		switch o.Op {
		case Peer:
			err = agent.AddPeer(o.Name, o.Address, nil)
		case Write:
			if o.Bytes < 1 || o.Bytes > len(region.Bytes) {
				err = fmt.Errorf("%d bytes of %d", o.Bytes, len(region.Bytes))
				break
			}
			a.Time, err = agent.RawWrite(o.Name, region.Bytes[:o.Bytes], transport.Target{Addr: o.Addr, Len: uint64(o.Bytes)}, o.Chunk, o.Window)
		case Ping:
			a.Time, err = ping(agent, o.Name, o.Count, notes)
		default:
			err = fmt.Errorf("unknown order %q", o.Op)
		}
		if err != nil {
			a.Err = err.Error()
		}
		say(a)
	}
}

// pingDeadline bounds one round trip.
const pingDeadline = 5 * time.Second

func ping(agent *nixl.Agent, peer string, count int, notes <-chan transport.Event) (time.Duration, error) {
	times := make([]time.Duration, 0, count)
	for range count {
		start := time.Now()
		if err := agent.Notify(peer, []byte("ping")); err != nil {
			return 0, err
		}
		select {
		case <-notes:
		case <-time.After(pingDeadline):
			return 0, fmt.Errorf("no answer within %v", pingDeadline)
		}
		times = append(times, time.Since(start))
	}
	return Median(times) / 2, nil
}
