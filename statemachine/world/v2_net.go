package world

import (
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

const (
	v2Messages = int(v2Kinds) * v2Ctxs * v2Gens
	v2Words    = (v2Messages + 63) / 64
)

// v2Net is the part of the network between one incarnation of each service: how
// many of each message are on their way, 0 to 2, without order.
type v2Net [2][v2Words]uint64

func v2Bit(kind v2Kind, k, g int) int { return (int(kind)*v2Ctxs+k)*v2Gens + g }

func v2Message(bit int) (kind v2Kind, k, g int) {
	return v2Kind(bit / (v2Ctxs * v2Gens)), bit / v2Gens % v2Ctxs, bit % v2Gens
}

func (n *v2Net) count(bit int) int {
	return int(n[0][bit/64]>>(bit%64)&1 + n[1][bit/64]>>(bit%64)&1)
}

// add puts a message into the network. A third copy changes nothing.
func (n *v2Net) add(bit int) {
	one := uint64(1) << (bit % 64)
	n[1][bit/64] |= n[0][bit/64] & one
	n[0][bit/64] |= one
}

// send is add for a message that is sent again with the same bytes: one copy of it
// stands for all.
func (n *v2Net) send(bit int) {
	n[0][bit/64] |= 1 << (bit % 64)
}

func (n *v2Net) remove(bit int) {
	one := uint64(1) << (bit % 64)
	if n[1][bit/64]&one != 0 {
		n[1][bit/64] &^= one
		return
	}
	n[0][bit/64] &^= one
}

func (n *v2Net) empty() bool { return *n == v2Net{} }

// clear drops every message of the given direction.
func (n *v2Net) clear(fromCtx bool) {
	for bit := range v2Messages {
		if kind, _, _ := v2Message(bit); kind >= v2Ready == fromCtx && n.count(bit) > 0 {
			n.remove(bit)
			n.remove(bit)
		}
	}
}
