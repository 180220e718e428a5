package world

// v1Kind is the kind of a message of v1.
type v1Kind uint8

const (
	msgRequest v1Kind = iota
	msgReadyYes
	msgReadyNo
	msgSync
	v1Kinds
)

var v1KindNames = [v1Kinds]string{"request", "ready", "reject", "sync"}

// v1Net is the network: for every message that can exist how many of it are on
// their way, 0 to 2, two bits each. It has no order.
type v1Net [2]uint64

// v1Bit is the place of a message between CTX rank k and GEN rank g about request r.
func v1Bit(kind v1Kind, k, g, r int) int {
	return ((int(kind)*v1Ctxs+k)*v1Gens+g)*v1Reqs + r
}

const v1Messages = int(v1Kinds) * v1Ctxs * v1Gens * v1Reqs

// v1Message takes a place apart.
func v1Message(bit int) (kind v1Kind, k, g, r int) {
	return v1Kind(bit / (v1Ctxs * v1Gens * v1Reqs)), bit / (v1Gens * v1Reqs) % v1Ctxs, bit / v1Reqs % v1Gens, bit % v1Reqs
}

func (n *v1Net) count(bit int) int { return int(n[0]>>bit&1 + n[1]>>bit&1) }

// add puts a message into the network. A third copy changes nothing.
func (n *v1Net) add(bit int) {
	n[1] |= n[0] & (1 << bit)
	n[0] |= 1 << bit
}

func (n *v1Net) remove(bit int) {
	if n[1]>>bit&1 != 0 {
		n[1] &^= 1 << bit
		return
	}
	n[0] &^= 1 << bit
}

func (n *v1Net) clear(bit int) {
	n[0] &^= 1 << bit
	n[1] &^= 1 << bit
}
