// Package child runs one service in its own process and speaks with the driver
// over two pipes: commands come in on standard input, reports go out on standard
// output, one JSON object a line. The process ends when its input does.
package child

import (
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/nixlimpl/service"
	"github.com/kvsettle/kvsettle/wire/handover"
)

// What drivers give where nobody chose.
const (
	// DefaultChunk is the size of one write in bytes.
	DefaultChunk = 1 << 20
	// DefaultWorkers is the number of copying goroutines of each service.
	DefaultWorkers = 2
	// DefaultWindow is the number of chunks in CTX's staging slot: few, so that a chunk
	// is written while it is still in the cache, and two for each worker, so that the
	// writer does not wait for them.
	DefaultWindow = 2 * DefaultWorkers
)

// RoleRaw is the role of a process that measures the library alone; of Start it uses
// SlotBytes, the size of its region, and Library.
const RoleRaw = "raw"

// Start is the first line that a child reads.
type Start struct {
	// Role is "ctx", "gen", RoleRaw, which obeys the orders of package raw, or
	// nixl.RoleProbe, which loads metadata before a service does.
	Role           string        `json:"role"`
	Local          string        `json:"local"`
	ModeSource     string        `json:"mode_source"`
	Geometry       string        `json:"geometry"`
	Scale          int           `json:"scale"`
	TokensPerBlock int           `json:"tokens_per_block"`
	KVBlocks       int           `json:"kv_blocks"`
	Slots          int           `json:"slots"`
	SlotBytes      int           `json:"slot_bytes"`
	Budget         int           `json:"budget"`
	Chunk          int           `json:"chunk"`
	Workers        int           `json:"workers"`
	Deadline       time.Duration `json:"deadline"`
	Transport      string        `json:"transport"`
	// Library, Listen and ListenIP are for the nixl transport (nixl.Config).
	Library  string       `json:"library,omitempty"`
	Listen   int          `json:"listen,omitempty"`
	ListenIP string       `json:"listen_ip,omitempty"`
	Seed     uint64       `json:"seed"`
	Faults   []fault.Spec `json:"faults"`
	Debug    bool         `json:"debug"`
	// Bare switches stamps and the check of every byte off (benchmarks); guard pages
	// between the slots remain.
	Bare bool `json:"bare"`
	// NoCopy neither gathers nor scatters (benchmarks).
	NoCopy bool `json:"no_copy,omitempty"`
}

// The commands.
const (
	OpContext    = "context"
	OpGeneration = "generation"
	OpCancel     = "cancel"
	// OpAbort fails everything that is open, with Reason.
	OpAbort = "abort"
	// OpVerify makes GEN check every byte from the next request on.
	OpVerify   = "verify"
	OpState    = "state"
	OpShutdown = "shutdown"
)

// Command is one line to a child.
type Command struct {
	Op        string             `json:"op"`
	Handover  *handover.Handover `json:"handover,omitempty"`
	RequestID uint64             `json:"request_id,omitempty"`
	Reason    string             `json:"reason,omitempty"`
}

// The reports.
const (
	Ready        = "ready"
	Context      = "context"
	ContextError = "context_error"
	Sent         = "sent"
	Outcome      = "outcome"
	Ended        = "ended"
	Fault        = "fault"
	Unhealthy    = "unhealthy"
	StateReport  = "state"
	Bye          = "bye"
	Refused      = "refused"
)

// Report is one line from a child. At is nanoseconds on the child's own clock.
type Report struct {
	Op          string             `json:"op"`
	Name        string             `json:"name,omitempty"`
	RequestID   uint64             `json:"request_id,omitempty"`
	Handover    *handover.Handover `json:"handover,omitempty"`
	Disposition string             `json:"disposition,omitempty"`
	Reason      string             `json:"reason,omitempty"`
	Message     string             `json:"message,omitempty"`
	Requirement string             `json:"requirement,omitempty"`
	FullHit     bool               `json:"full_hit,omitempty"`
	Bytes       int64              `json:"bytes,omitempty"`
	Latency     time.Duration      `json:"latency,omitempty"`
	Blocks      int                `json:"blocks,omitempty"`
	Corrupt     int                `json:"corrupt,omitempty"`
	Hits        int                `json:"hits,omitempty"`
	Misses      int                `json:"misses,omitempty"`
	State       *service.State     `json:"state,omitempty"`
}
