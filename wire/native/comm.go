package native

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// CommKind says which list a CommState carries; its value is the variant index.
type CommKind uint8

// The kinds that can be encoded. Index 0, the empty variant, cannot.
const (
	CommMPI    CommKind = 1
	CommSocket CommKind = 2
	CommAgent  CommKind = 3
)

// Socket is the address of one rank of the socket kind.
type Socket struct {
	Port uint16
	IP   string
}

// CommState says how the ranks of one service are reached and which of them is
// the sender. Only the list of Kind is used; the others must be empty.
type CommState struct {
	// SelfIdx is the sender's index in the list; -1 means unset.
	SelfIdx int32
	Kind    CommKind
	Ranks   []int32
	Sockets []Socket
	// Agents holds one agent per rank, in rank order.
	Agents []AgentState
}

const minSocket = 10

// Count returns how many ranks the state lists.
func (c *CommState) Count() int {
	switch c.Kind {
	case CommMPI:
		return len(c.Ranks)
	case CommSocket:
		return len(c.Sockets)
	case CommAgent:
		return len(c.Agents)
	}
	return 0
}

// AppendComm appends the encoding of c. It refuses an unknown Kind and lists
// that Kind would drop.
func AppendComm(dst []byte, c *CommState) ([]byte, error) {
	total := len(c.Ranks) + len(c.Sockets) + len(c.Agents)
	if c.Kind < CommMPI || c.Kind > CommAgent {
		return dst, refuse(wire.ReasonBadIndex, reqComm, "commState.variantIndex", strconv.Itoa(int(c.Kind)))
	}
	if total != c.Count() {
		return dst, refuse(wire.ReasonBadValue, reqEncode, "commState", "a list that its kind does not carry")
	}
	dst = appendI32(dst, c.SelfIdx)
	dst = appendU64(dst, uint64(c.Kind))
	switch c.Kind {
	case CommMPI:
		return appendI32s(dst, c.Ranks), nil
	case CommSocket:
		dst = appendU64(dst, uint64(len(c.Sockets)))
		for _, s := range c.Sockets {
			dst = appendStr(appendU16(dst, s.Port), s.IP)
		}
	case CommAgent:
		dst = appendU64(dst, uint64(len(c.Agents)))
		for _, a := range c.Agents {
			dst = AppendAgent(dst, a)
		}
	}
	return dst, nil
}

// DecodeComm decodes exactly one CommState. It owns its memory.
func DecodeComm(b []byte) (CommState, error) {
	return decode("commState", Mid2026, b, readComm)
}

func readComm(r *reader, dst *CommState) {
	self := r.I32LE("selfIdx")
	at := r.Offset()
	index := r.U64LE("variantIndex")
	if r.OK() && (index < uint64(CommMPI) || index > uint64(CommAgent)) {
		r.Fail(wire.ReasonBadIndex, reqComm, "variantIndex", at, strconv.FormatUint(index, 10))
	}
	if !r.OK() {
		return
	}
	if dst != nil {
		dst.SelfIdx, dst.Kind = self, CommKind(index)
	}
	switch CommKind(index) {
	case CommMPI:
		ranks := readI32s(r, "ranks", r.limits.Ranks, dst != nil)
		if dst != nil {
			dst.Ranks = ranks
		}
	case CommSocket:
		readSockets(r, dst)
	case CommAgent:
		readAgents(r, dst)
	}
}

func readSockets(r *reader, dst *CommState) {
	n := r.list("sockets", minSocket, r.limits.Ranks)
	if dst != nil && n > 0 {
		dst.Sockets = make([]Socket, n)
	}
	for i := 0; i < n && r.OK(); i++ {
		port, ip := r.U16LE("port"), r.str("ip")
		if dst != nil {
			dst.Sockets[i] = Socket{Port: port, IP: string(ip)}
		}
	}
}

func readAgents(r *reader, dst *CommState) {
	n := r.list("agents", minAgent, r.limits.Ranks)
	if dst != nil && n > 0 {
		dst.Agents = make([]AgentState, n)
	}
	r.Enter("agents")
	for i := 0; i < n && r.OK(); i++ {
		var one *AgentState
		if dst != nil {
			one = &dst.Agents[i]
		}
		readAgent(r, one)
	}
	r.Leave()
}

// Validate checks ranges: a known kind, SelfIdx inside the list, no negative MPI
// rank, no agent without a name.
func (c *CommState) Validate() error {
	if c.Kind < CommMPI || c.Kind > CommAgent {
		return refuse(wire.ReasonOutOfRange, reqComm, "commState.kind", strconv.Itoa(int(c.Kind)))
	}
	if c.SelfIdx < 0 || int(c.SelfIdx) >= c.Count() {
		return refuse(wire.ReasonOutOfRange, reqIndices, "commState.selfIdx",
			strconv.Itoa(int(c.SelfIdx))+" of "+strconv.Itoa(c.Count()))
	}
	for _, rank := range c.Ranks {
		if rank < 0 {
			return refuse(wire.ReasonOutOfRange, reqIndices, "commState.ranks", strconv.Itoa(int(rank)))
		}
	}
	for i := range c.Agents {
		if c.Agents[i].Name == "" {
			return refuse(wire.ReasonOutOfRange, reqNames, "commState.agents", "agent "+strconv.Itoa(i)+" has no name")
		}
	}
	return nil
}
