// Package transport is the seam between the executor and whatever moves bytes:
// the shared-memory adaptor (shm) and, later, NIXL. An adaptor declares its
// contract in data; the machines decide from that and from nothing else.
package transport

import (
	"errors"
)

// Contract is what an adaptor promises, in data (KS-BACK-1). The five first
// fields are the contract bits 0 to 4 of the protocol.
type Contract struct {
	// Visible: final success of a write means that its bytes are visible at the peer.
	Visible bool `json:"completion_implies_visible"`
	// NotifyAfterData: a notice attached to a write is delivered after that write's bytes.
	NotifyAfterData bool `json:"notification_after_data"`
	// SuccessQuiet: after final success the write touches neither end's memory again.
	SuccessQuiet bool `json:"success_implies_quiet"`
	// ErrorQuiet: after a final error the write touches neither end's memory again.
	ErrorQuiet bool `json:"error_implies_quiet"`
	// ReleaseDrains: Release returns only after access has ended. False: it only forgets.
	ReleaseDrains bool `json:"release_drains"`
	// DeathQuiet: once the adaptor reports PeerDead, nothing of that peer writes any more.
	DeathQuiet bool `json:"writer_death_implies_quiet"`
	// NotifyReliable: a notice is neither lost nor reordered while both processes live.
	NotifyReliable bool `json:"notification_reliable"`
}

// Status of a posted write.
type Status uint8

// A write is Pending until it is Done or Broken; both are final.
const (
	Pending Status = iota
	Done
	Broken
)

// EventKind says what an Event reports.
type EventKind uint8

// The events of an agent.
const (
	// Notice: a notification arrived. Peer and Payload are set.
	Notice EventKind = iota + 1
	// WriteEnded: a posted write reached its final status (also after Release: that
	// is the late proof). Write, Status and Err are set.
	WriteEnded
	// PeerLost: the connection to Peer ended. It proves nothing about memory.
	PeerLost
	// PeerDead: the process of Peer is proven to be gone. What that proves is for
	// Contract.DeathQuiet to say.
	PeerDead
)

// WriteID names one posted write of one agent; it is never reused.
type WriteID uint64

// Event is one thing that an agent reports. Payload belongs to the receiver of
// the event and is never touched by the adaptor again.
type Event struct {
	Kind    EventKind
	Peer    string
	Payload []byte
	Write   WriteID
	Status  Status
	Err     error
	// Unstarted: a Broken write that never began, so it touches no memory whatever the
	// contract says of errors.
	Unstarted bool
}

// Region describes registered memory.
type Region struct {
	// Addr is the address by which peers name the first byte.
	Addr uint64
	// Bytes is the memory, outside the Go heap. It belongs to the region until it
	// is deregistered.
	Bytes []byte
	// Device is 0 for host memory.
	Device uint32
}

// Target is remote memory to write to, as a peer advertised it.
type Target struct {
	Addr   uint64
	Len    uint64
	Device uint32
}

// Agent is one endpoint: an identity, registered memory, peers and writes. Its
// methods may be called from any goroutine unless said otherwise. An agent has
// one incarnation: after Close a new one has another name.
type Agent interface {
	// Name is the registered identity, descriptor suffix included.
	Name() string
	// Address is how peers reach this agent (the connectionInfo of its AgentState).
	Address() string
	// Contract is what this adaptor promises.
	Contract() Contract
	// Metadata is what a peer needs beside name and address to write here. It may be
	// empty. Call it after the last Register.
	Metadata() ([]byte, error)
	// Register makes n bytes of new zeroed memory that peers may write to (remote
	// true) or that only this agent's own writes read from.
	Register(n int, remote bool) (Region, error)
	// AddPeer makes a peer reachable. It is idempotent for equal arguments. The agent
	// whose memory is to be written calls it first (GEN does); the other side learns
	// of the peer from that contact.
	AddPeer(name, address string, metadata []byte) error
	// Covers says whether the peer's registered memory holds all of t.
	Covers(peer string, t Target) bool
	// Notify sends one message to a peer. A nil error means accepted, not received.
	Notify(peer string, payload []byte) error
	// Post starts a write of src (inside a Region of this agent) to the start of dst.
	// src must stay unchanged until the write's WriteEnded. An error means that
	// nothing was started.
	Post(peer string, src []byte, dst Target) (WriteID, error)
	// Release gives up interest in a write; what that means is Contract.ReleaseDrains.
	// WriteEnded is still reported when the write really ends.
	Release(WriteID) error
	// Close ends the agent: it drops peers, waits for its own writes, and frees its
	// memory. Nothing is reported after it returns. Idempotent.
	Close() error
}

// Sink receives the events of an agent. It is called from the adaptor's own
// goroutines, one call at a time for one peer, and must not block.
type Sink func(Event)

// Errors that adaptors return; wrapped with what and which peer.
var (
	ErrUnknownPeer   = errors.New("unknown-peer")
	ErrPeerGone      = errors.New("peer-gone")
	ErrOutsideRegion = errors.New("outside-region")
	ErrClosed        = errors.New("agent-closed")
	ErrTooLarge      = errors.New("notification-too-large")
	// ErrPeerSlow: the peer takes notices slower than they come, and the bound on what
	// waits for it is reached. Nothing was queued.
	ErrPeerSlow = errors.New("peer-slow")
)
