package shm

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Fixed bounds.
const (
	// MaxNotice is the largest notification in bytes: a control frame with a full
	// payload, its 8-byte variant index and 32-byte envelope (KS-CTL-6).
	MaxNotice = 1<<20 + 40
	// MaxName is the longest agent name in bytes.
	MaxName = 4096
	// MaxRegions is the largest number of remote-writable regions of one agent.
	MaxRegions = 1024
)

// Config describes one agent. The zero value of every field but Name means the
// default.
type Config struct {
	// Name is the registered identity, descriptor suffix included: 1 to MaxName bytes
	// without control characters.
	Name string
	// Logger receives refusals and lost peers; nil discards.
	Logger *slog.Logger
	// Writers is the number of goroutines that copy, 1 to 64; default 2.
	Writers int
	// ConnectDeadline bounds AddPeer and every incoming handshake (the setting
	// connect-deadline): 10 ms to 10 min, default 2 s.
	ConnectDeadline time.Duration
	// FlushDeadline bounds how long Close goes on sending notices that Notify accepted
	// (the setting flush-deadline): 1 ms to 1 min, default 500 ms.
	FlushDeadline time.Duration
	// StallDeadline bounds the age of what waits for a peer that takes nothing: the
	// connection ends then. 10 ms to 1 h, default 1 min. Keep it above every deadline
	// of a request, so that a process that is only stopped is not lost by it.
	StallDeadline time.Duration
	// QueueNotices bounds the accepted and unsent notices of one peer; default 4096.
	QueueNotices int
	// QueueBytes bounds their bytes, 8 per notice included; default 8 MiB, and not
	// less than one notice of MaxNotice.
	QueueBytes int
	// QueueWrites bounds the posted writes of the agent that have not begun; default
	// 65536.
	QueueWrites int
	// MaxPeers bounds the peers, counting those that are lost and whose process still
	// lives; default 1024.
	MaxPeers int
}

func (c *Config) complete() error {
	if err := checkName(c.Name); err != nil {
		return &Error{Reason: ReasonBadConfig, What: "open", Detail: "Name", Err: err}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, f := range []struct {
		name               string
		value              *int
		normal, least, top int
	}{
		{"Writers", &c.Writers, 2, 1, 64},
		{"QueueNotices", &c.QueueNotices, 4096, 1, 1 << 24},
		{"QueueBytes", &c.QueueBytes, 8 << 20, MaxNotice + headerLen, 1 << 30},
		{"QueueWrites", &c.QueueWrites, 65536, 1, 1 << 24},
		{"MaxPeers", &c.MaxPeers, 1024, 1, 1 << 20},
	} {
		if *f.value == 0 {
			*f.value = f.normal
		}
		if *f.value < f.least || *f.value > f.top {
			return &Error{Reason: ReasonBadConfig, What: "open",
				Detail: fmt.Sprintf("%s is %d, want %d to %d", f.name, *f.value, f.least, f.top)}
		}
	}
	for _, f := range []struct {
		name               string
		value              *time.Duration
		normal, least, top time.Duration
	}{
		{"ConnectDeadline", &c.ConnectDeadline, 2 * time.Second, 10 * time.Millisecond, 10 * time.Minute},
		{"FlushDeadline", &c.FlushDeadline, 500 * time.Millisecond, time.Millisecond, time.Minute},
		{"StallDeadline", &c.StallDeadline, time.Minute, 10 * time.Millisecond, time.Hour},
	} {
		if *f.value == 0 {
			*f.value = f.normal
		}
		if *f.value < f.least || *f.value > f.top {
			return &Error{Reason: ReasonBadConfig, What: "open",
				Detail: fmt.Sprintf("%s is %v, want %v to %v", f.name, *f.value, f.least, f.top)}
		}
	}
	return nil
}

func checkName(s string) error {
	if s == "" || len(s) > MaxName {
		return fmt.Errorf("a name has 1 to %d bytes, not %d", MaxName, len(s))
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }); i >= 0 {
		return fmt.Errorf("control character at byte %d of a name", i)
	}
	return nil
}
