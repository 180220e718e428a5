package world

import (
	"math/bits"

	"github.com/kvsettle/kvsettle/wire/control"
)

// v2Kind is a message of v2 with what it carries beside its key.
type v2Kind uint8

// The messages. Those with evidence or a state have one kind for each value.
const (
	v2Open v2Kind = iota
	v2Cancel
	v2Query
	v2GenTerminal                     // and evidence
	v2GenReceipt  = v2GenTerminal + 5 // and evidence
	v2Ready       = v2GenReceipt + 5  // from here on of CTX
	v2Refuse      = v2Ready + 1       // NOT_READY, LOCAL_NOT_STARTED
	v2NoTicket    = v2Refuse + 1      // NOT_READY, LOCAL_UNKNOWN
	v2Sync        = v2NoTicket + 1    // native sync
	v2Data        = v2Sync + 1        // and chunk
	v2Status      = v2Data + v2Chunks // and state
	v2CtxTerminal = v2Status + 5      // and evidence
	v2CtxReceipt  = v2CtxTerminal + 5 // and evidence
	v2Kinds       = v2CtxReceipt + 5
)

var v2KindNames = [v2Kinds]string{
	"OPEN", "CANCEL", "QUERY",
	"TERMINAL NOT_STARTED", "TERMINAL SOURCE_COMPLETE", "TERMINAL DESTINATION_COMPLETE", "TERMINAL UNKNOWN", "TERMINAL QUIESCED",
	"RECEIPT NOT_STARTED", "RECEIPT SOURCE_COMPLETE", "RECEIPT DESTINATION_COMPLETE", "RECEIPT UNKNOWN", "RECEIPT QUIESCED",
	"READY", "NOT_READY NOT_STARTED", "NOT_READY UNKNOWN", "sync", "DATA_COMPLETE 1", "DATA_COMPLETE 2",
	"STATUS NOT_STARTED", "STATUS IN_PROGRESS", "STATUS SOURCE_COMPLETE", "STATUS UNKNOWN", "STATUS QUIESCED",
	"TERMINAL NOT_STARTED", "TERMINAL SOURCE_COMPLETE", "TERMINAL DESTINATION_COMPLETE", "TERMINAL UNKNOWN", "TERMINAL QUIESCED",
	"RECEIPT NOT_STARTED", "RECEIPT SOURCE_COMPLETE", "RECEIPT DESTINATION_COMPLETE", "RECEIPT UNKNOWN", "RECEIPT QUIESCED",
}

var evidences = [5]control.Evidence{control.NotStarted, control.SourceComplete, control.DestinationComplete, control.Unknown, control.Quiesced}

// evidenceIndex counts evidence from 0; anything unknown counts as UNKNOWN.
func evidenceIndex(e control.Evidence) v2Kind {
	for i, x := range evidences {
		if x == e {
			return v2Kind(i)
		}
	}
	return 3
}

// v2Channel is what is on its way along one edge in one direction, in order, up to
// v2Depth messages: one byte each, the oldest lowest, its kind plus 1.
type v2Channel uint64

const v2Depth = 8

func (c v2Channel) len() int { return (bits.Len64(uint64(c)) + 7) / 8 }

func (c v2Channel) head() v2Kind { return v2Kind(c&0xff) - 1 }

func (c v2Channel) has(kind v2Kind) bool {
	for ; c != 0; c >>= 8 {
		if c.head() == kind {
			return true
		}
	}
	return false
}

// push appends a message; fits is false when the channel is full.
func (c v2Channel) push(kind v2Kind) (next v2Channel, fits bool) {
	n := c.len()
	if n == v2Depth {
		return c, false
	}
	return c | v2Channel(kind+1)<<(8*n), true
}

func (c v2Channel) pop() v2Channel { return c >> 8 }

// v2Net is the part of the network between one incarnation of each service, by CTX
// rank, GEN rank and direction: 0 to CTX, 1 to GEN.
type v2Net [v2Ctxs][v2Gens][2]v2Channel

// direction of a message.
func direction(kind v2Kind) int {
	if kind >= v2Ready {
		return 1
	}
	return 0
}

// send puts a message at the end of its channel. One that is there already, with
// the same bytes, stands for its repeat too.
func (n *v2Net) send(kind v2Kind, k, g int) (fits bool) {
	c := &n[k][g][direction(kind)]
	if c.has(kind) {
		return true
	}
	*c, fits = c.push(kind)
	return fits
}

func (n *v2Net) empty() bool { return *n == v2Net{} }

// clear drops every message of one direction.
func (n *v2Net) clear(dir int) {
	for k := range n {
		for g := range n[k] {
			n[k][g][dir] = 0
		}
	}
}
