package nixl

import (
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"time"
)

// Fixed bounds.
const (
	// MaxNotice is the largest notification in bytes.
	MaxNotice = 1 << 20
	// MaxName is the longest agent name in bytes.
	MaxName = 4096
	// MaxRegions is the largest number of regions of one agent.
	MaxRegions = 1024
)

// Config describes one agent. The zero value of every field but Name means the
// default.
type Config struct {
	// Name is the registered identity, descriptor suffix included: 1 to MaxName bytes
	// without control characters, never used before (KS-BACK-15).
	Name string
	// Library is the path of libnixl_capi.so; empty means what Find says.
	Library string
	// Logger receives lost peers and refusals; nil discards.
	Logger *slog.Logger
	// Backend is the name of the library's backend; default UCX. BackendParams are its
	// parameters, key and value.
	Backend       string
	BackendParams map[string]string
	// Listen is the port of the library's own listener; 0 means none. That listener
	// binds every interface, cannot be told otherwise, authenticates nobody and hands
	// the metadata to whoever asks (KS-SEC-1).
	Listen int
	// ListenIP is the IPv4 address under which peers reach the listener.
	ListenIP string
	// ProgressDelay is how long the library's progress thread sleeps at most: 1 ms to
	// 10 s, default 100 ms. It wakes by itself when something arrives; small values
	// only cost.
	ProgressDelay time.Duration
	// Spin is how long after the latest activity the agent polls without a pause: 0
	// means the default of 50 us, negative none, at most 10 ms.
	Spin time.Duration
	// IdlePoll bounds the pause between two polls: 100 us to 1 s, default 10 ms.
	IdlePoll time.Duration
	// ConnectDeadline bounds AddPeer (the setting connect-deadline): 10 ms to 10 min,
	// default 2 s.
	ConnectDeadline time.Duration
	// FlushDeadline bounds how long Close waits for posted writes (the setting
	// flush-deadline): 1 ms to 1 min, default 2 s.
	FlushDeadline time.Duration
	// QueueWrites bounds the posted writes that have not ended; default 65536.
	QueueWrites int
	// MaxPeers bounds the connected peers; as many lost ones are remembered. When it is
	// reached, the peer that was silent longest makes room (PeerLost is reported), unless
	// something is under way with all of them. Default 1024.
	MaxPeers int
	// Probe makes the command of a process that runs ServeProbe (its first line of input
	// is the first argument). The agent starts one with Open and keeps it; metadata that
	// was never loaded before is loaded there first, and only what that process survived
	// and took is loaded here (KS-BACK-14). UCX ends a process over a damaged address or
	// key, and a checksum proves nothing about a sender. Standard input, output, error and
	// the first extra file are set by the agent. Without a Probe any peer that can send
	// one notice, or get one context result accepted, can end this process: leave it nil
	// only where every peer is trusted.
	Probe func() *exec.Cmd
	// NoticesPerSecond bounds the notices taken from one sender, or from all unknown
	// senders together, in one second; what is more is dropped and counted. Default
	// 100000.
	NoticesPerSecond int
	// NoticeBytesPerSecond bounds the bytes of those notices likewise: at least
	// MaxNotice, default 64 MiB.
	NoticeBytesPerSecond int
}

func (c *Config) complete() error {
	bad := func(format string, args ...any) error {
		return &Error{Reason: ReasonBadConfig, What: "open", Detail: fmt.Sprintf(format, args...)}
	}
	if c.Name == "" || len(c.Name) > MaxName {
		return bad("a name has 1 to %d bytes, not %d", MaxName, len(c.Name))
	}
	if i := controlAt(c.Name); i >= 0 {
		return bad("control character at byte %d of a name", i)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Backend == "" {
		c.Backend = "UCX"
	}
	if c.Listen < 0 || c.Listen > 65535 {
		return bad("Listen is %d, want 0 to 65535", c.Listen)
	}
	if c.Listen > 0 {
		if _, err := parseAddress(fmt.Sprintf("%s:%d", c.ListenIP, c.Listen)); err != nil {
			return bad("ListenIP %q is no IPv4 address", c.ListenIP)
		}
	}
	if c.Spin < 0 {
		c.Spin = -1
	}
	for _, f := range []struct {
		name               string
		value              *int
		normal, least, top int
	}{
		{"QueueWrites", &c.QueueWrites, 65536, 1, 1 << 24},
		{"MaxPeers", &c.MaxPeers, 1024, 1, 1 << 20},
		{"NoticesPerSecond", &c.NoticesPerSecond, 100_000, 10, 1 << 30},
		{"NoticeBytesPerSecond", &c.NoticeBytesPerSecond, 64 << 20, MaxNotice, 1 << 30},
	} {
		if *f.value == 0 {
			*f.value = f.normal
		}
		if *f.value < f.least || *f.value > f.top {
			return bad("%s is %d, want %d to %d", f.name, *f.value, f.least, f.top)
		}
	}
	for _, f := range []struct {
		name               string
		value              *time.Duration
		normal, least, top time.Duration
	}{
		{"ProgressDelay", &c.ProgressDelay, 100 * time.Millisecond, time.Millisecond, 10 * time.Second},
		{"Spin", &c.Spin, 50 * time.Microsecond, -1, 10 * time.Millisecond},
		{"IdlePoll", &c.IdlePoll, 10 * time.Millisecond, 100 * time.Microsecond, time.Second},
		{"ConnectDeadline", &c.ConnectDeadline, 2 * time.Second, 10 * time.Millisecond, 10 * time.Minute},
		{"FlushDeadline", &c.FlushDeadline, 2 * time.Second, time.Millisecond, time.Minute},
	} {
		if *f.value == 0 {
			*f.value = f.normal
		}
		if *f.value < f.least || *f.value > f.top {
			return bad("%s is %v, want %v to %v", f.name, *f.value, f.least, f.top)
		}
	}
	return nil
}

// controlAt is the index of the first control character of a name, or -1.
func controlAt(name string) int {
	return strings.IndexFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f })
}
