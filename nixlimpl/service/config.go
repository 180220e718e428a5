// Package service is the running half of a transceiver: CTX and GEN as services
// that own machines, memory and an agent, and carry out what the machines decide.
package service

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/nixlimpl/work"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/native"
)

// Settings are the bounds of every wait of a service. All must be positive.
type Settings struct {
	// Admission bounds waiting for tag, blocks and slot (admission-deadline).
	Admission time.Duration
	// Context bounds how long a published context waits for GEN (context-deadline).
	Context time.Duration
	// Request bounds GEN send to verified, and CTX bound to written (request-deadline).
	Request time.Duration
	// Control bounds waits for proof and for the peer's control answers (control-deadline).
	Control time.Duration
	// Restart bounds how long a service over its quarantine budget lives (unknown-restart-deadline).
	Restart time.Duration
}

// DefaultSettings are the protocol's defaults (KS-TIME-2 to KS-TIME-6).
func DefaultSettings() Settings {
	return Settings{Admission: 30 * time.Second, Context: 60 * time.Second, Request: 10 * time.Second,
		Control: 2 * time.Second, Restart: 5 * time.Second}
}

// Scaled returns the settings for another request deadline: the bounds that wait
// for a peer keep their proportion to it, capped at their defaults.
func (s Settings) Scaled(request time.Duration) Settings {
	f := float64(request) / float64(s.Request)
	if f < 1 {
		s.Control = max(time.Duration(float64(s.Control)*f), 100*time.Millisecond)
	}
	s.Request = request
	return s
}

// request is the request deadline of one request: its own where that is shorter.
func (s Settings) request(ms uint64) time.Duration {
	if own := time.Duration(ms) * time.Millisecond; ms != 0 && ms < 1<<40 && own < s.Request {
		return own
	}
	return s.Request
}

// ControlLifetime is how long after the end of an attempt a message of it may
// still arrive: control deadline, 1 s of queues and 1 s of replay. With a short
// control deadline a late request and its late answer need that allowance twice.
func (s Settings) ControlLifetime() time.Duration {
	return max(s.Control, 2*time.Second) + 2*time.Second
}

// Hooks let a fault injector stand between a service and its agent. All fields are
// optional.
type Hooks struct {
	// Poster replaces the poster of one request's transfer of total bytes.
	Poster func(requestID uint64, total int, inner work.Poster) work.Poster
}

// Config of a service. The caller owns the logger; nil discards.
type Config struct {
	// Base is the agent's name without descriptor; empty makes one from host, process
	// and random bits.
	Base string
	// Local says which descriptor the agent shows and which rules it keeps.
	Local negotiate.Local
	// ModeSource says where Local came from; it is only logged (KS-POL-3).
	ModeSource string
	// Geometry of the paged cache, and its number of blocks.
	Geometry kv.Geometry
	KVBlocks int
	// Slots, their size in bytes, and the quarantine budget (negative: half).
	Slots     int
	SlotBytes int
	Budget    int
	// Chunk is the size of one write in bytes.
	Chunk    int
	Settings Settings
	// Workers is the number of copying goroutines.
	Workers int
	// PeerReady42 is for a legacy peer that tags ready with the constant 42: at most
	// one request is outstanding then (KS-TAG-2).
	PeerReady42 bool
	// Stamp checks and stamps free slots over their whole length (KS-SLOT-10). Without
	// it guard pages stand around the slots (benchmarks).
	Stamp bool
	// Verify checks every byte of every block that arrived (GEN).
	Verify bool
	// NoCopy neither gathers nor scatters: the slots' content is moved as it is
	// (benchmarks). It needs Verify off.
	NoCopy bool
	// Unsafe switches the quarantine off, for the one test that shows what it prevents.
	// No command sets it.
	unsafeReuse bool
	// Open makes the agent.
	Open   func(name string, sink transport.Sink) (transport.Agent, error)
	Hooks  Hooks
	Logger *slog.Logger
}

func (c *Config) check() error {
	bad := func(what string) error {
		return fmt.Errorf("service: %s must be positive: %w", what, sm.Refuse(sm.BadRequest, "KS-TIME-1", "configuration"))
	}
	switch {
	case c.KVBlocks <= 0:
		return bad("kv blocks")
	case c.Slots <= 0:
		return bad("slots")
	case c.SlotBytes <= 0:
		return bad("slot bytes")
	case c.Chunk <= 0:
		return bad("chunk")
	case c.Settings.Admission <= 0, c.Settings.Context <= 0, c.Settings.Request <= 0, c.Settings.Control <= 0, c.Settings.Restart <= 0:
		return bad("every deadline")
	case c.Open == nil:
		return bad("Open")
	}
	return c.Geometry.Validate()
}

// NewBase returns a fresh agent name in upstream's form: host, process, random.
func NewBase() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	var b [8]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%s_%d_%d_0", host, os.Getpid(), binary.LittleEndian.Uint64(b[:]))
}

// describe returns the agent name and the descriptor that the local rules give it.
func describe(base string, local negotiate.Local) (string, descriptor.Descriptor, error) {
	mode := descriptor.Baseline
	if local == negotiate.On {
		mode = descriptor.Enabled
	}
	d := descriptor.Default(mode, descriptor.Token(base))
	if local == negotiate.Legacy {
		return base, d, nil
	}
	name, err := descriptor.Name(base, d)
	return name, d, err
}

// Outcome is how a request ended on one side.
type Outcome struct {
	RequestID   uint64
	Disposition sm.Disposition
	Reason      spec.Reason
	// Message is one line for people; for a deadline it names the setting.
	Message string
	// FullHit: nothing was missing, nothing was transferred.
	FullHit bool
	// Bytes is the size of what was transferred (GEN) or written (CTX).
	Bytes int64
	// Latency is GEN send to verified; zero unless completed by a transfer.
	Latency time.Duration
	// Blocks is how many paged blocks were verified; Corrupt how many were wrong.
	Blocks, Corrupt int
	// Hits and Misses count prefix blocks that GEN had and had not.
	Hits, Misses int
}

// settingOf names the setting, its value and the flag behind a deadline reason.
func settingOf(r spec.Reason, s Settings) string {
	switch r {
	case sm.AdmissionDeadlineSlot, sm.AdmissionDeadlineTag, sm.AdmissionDeadlineBlock:
		return fmt.Sprintf("setting admission-deadline = %v", s.Admission)
	case sm.ContextDeadline:
		return fmt.Sprintf("setting context-deadline = %v", s.Context)
	case sm.RequestDeadlineReady, sm.RequestDeadlineData, sm.RequestDeadlineLocal, sm.RequestDeadlineBind, sm.RequestDeadlineWrite:
		return fmt.Sprintf("setting request-deadline = %v (flag --deadline)", s.Request)
	}
	return ""
}

// cacheState describes a geometry in native terms, for a single rank.
func cacheState(g kv.Geometry) *native.CacheState {
	heads := make([]int32, g.Layers)
	for i := range heads {
		heads[i] = int32(g.Heads)
	}
	c := &native.CacheState{
		KVHeadsPerLayer: heads, SizePerHead: int32(g.HeadDim), TokensPerBlock: int32(g.TokensPerBlock),
		TP: 1, PP: 1, CP: 1, DPSize: 1, AttentionLayerNumPerPP: []int32{int32(g.Layers)},
		DataType: native.BF16, KVFactor: int32(g.KVFactor), BlockReuse: true, PartialReuse: true,
		IndexerQuantBlockSize: native.DefaultQuantBlockSize,
	}
	if g.KVFactor == 1 {
		c.AttentionType = native.AttentionMLA
	}
	return c
}

// sameLayout says whether two cache states can exchange blocks. Ranks may differ.
func sameLayout(a, b *native.CacheState) bool {
	if a == nil || b == nil || len(a.KVHeadsPerLayer) != len(b.KVHeadsPerLayer) {
		return false
	}
	for i := range a.KVHeadsPerLayer {
		if a.KVHeadsPerLayer[i] != b.KVHeadsPerLayer[i] {
			return false
		}
	}
	return a.SizePerHead == b.SizePerHead && a.TokensPerBlock == b.TokensPerBlock && a.DataType == b.DataType &&
		a.AttentionType == b.AttentionType && a.KVFactor == b.KVFactor && a.TP == b.TP && a.PP == b.PP && a.CP == b.CP
}

// lastKey is the key of block i of a request: its tokens, made from the hash id.
func lastKey(g kv.Geometry, hashes []uint64, tokens, i int) native.BlockKey {
	c := kv.ContentOf(g, hashes, tokens, i)
	key := native.BlockKey{Tokens: make([]native.UniqueToken, c.Valid)}
	for t := range key.Tokens {
		x := (c.Hash+1)*0x9e3779b97f4a7c15 + uint64(c.FirstPos+t)
		x ^= x >> 29
		key.Tokens[t] = native.UniqueToken{ID: int32(x & 0x7fffffff)}
	}
	return key
}

func sameKey(a, b native.BlockKey) bool {
	if len(a.Tokens) != len(b.Tokens) || len(a.ExtraKeys) != 0 || len(b.ExtraKeys) != 0 ||
		a.UsesExtraIDs != b.UsesExtraIDs || a.HasLora != b.HasLora || a.LoraTaskID != b.LoraTaskID ||
		a.HasSalt != b.HasSalt || a.CacheSaltID != b.CacheSaltID {
		return false
	}
	for i := range a.Tokens {
		if a.Tokens[i] != b.Tokens[i] {
			return false
		}
	}
	return true
}

// reasonOf finds the reason code in an error, or gives the fallback.
func reasonOf(err error, fallback spec.Reason) spec.Reason {
	var r *sm.Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	var k *kv.Error
	if errors.As(err, &k) {
		return k.Reason
	}
	return fallback
}
