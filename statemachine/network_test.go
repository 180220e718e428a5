package statemachine_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	sm "github.com/kvsettle/kvsettle/statemachine"
)

// The bounds of the simulated worlds. A message is delivered within delay of its
// sending or never. A tag rests for lifetime: a request may come late, and so may
// the answer to it.
const (
	delay    sm.Time = 20
	lifetime         = 2 * delay
)

// network loses, repeats and reorders what is sent: nothing in it happens by
// itself, the test picks.
type network[M any] struct{ packets []packet[M] }

type packet[M any] struct {
	message M
	expires sm.Time
}

func (n *network[M]) send(now sm.Time, m M) {
	n.packets = append(n.packets, packet[M]{m, now + delay})
}

// expire drops what is too old to arrive.
func (n *network[M]) expire(now sm.Time) {
	n.packets = slices.DeleteFunc(n.packets, func(p packet[M]) bool { return p.expires < now })
}

// rare is true now and then. It takes the top of a range, which rapid draws less
// often and shrinks away from.
func rare(rt *rapid.T, label string) bool { return rapid.IntRange(0, 9).Draw(rt, label) == 9 }

// act picks a message and drops it, repeats it or takes it out for delivery.
func (n *network[M]) act(rt *rapid.T) (m M, deliver bool) {
	if len(n.packets) == 0 {
		return m, false
	}
	i := rapid.IntRange(0, len(n.packets)-1).Draw(rt, "message")
	p := n.packets[i]
	switch {
	case rare(rt, "lost"):
		n.packets = slices.Delete(n.packets, i, i+1)
		return m, false
	case rare(rt, "repeated"):
		return p.message, true
	}
	n.packets = slices.Delete(n.packets, i, i+1)
	return p.message, true
}

// often runs a property 30 times as often as the command line says.
func often(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	for range 30 {
		rapid.Check(t, prop)
	}
}
