package identity_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/wire/identity"
)

var ticket = identity.Ticket{RequestID: 42, InstanceEpoch: 7, Attempt: 1, Direction: identity.CTXToGEN}

func ExampleDecodeTicket() {
	b, err := identity.AppendTicket(nil, ticket)
	fmt.Printf("%x %v\n", b, err)
	t, err := identity.DecodeTicket(b)
	fmt.Println(t == ticket, err)
	b[24] = 2
	_, err = identity.DecodeTicket(b)
	fmt.Println(err)
	// Output:
	// 000000000000002a0000000000000007000000000000000101 <nil>
	// true <nil>
	// ticket.direction at byte 24: bad-value: 2 (KS-ID-12)
}

func ExampleAppendTicket() {
	_, err := identity.AppendTicket(nil, identity.Ticket{Direction: identity.CTXToGEN, InstanceEpoch: 7})
	fmt.Println(err)
	// Output: ticket.ctxAttempt: bad-value: zero (KS-ID-7)
}

func ExampleAppendKey() {
	k := identity.TransferKey{Ticket: ticket, GenAttempt: 1, SourceEpoch: 100, DestinationEpoch: 200}
	b, err := identity.AppendKey(nil, &k)
	fmt.Println(len(b), err)
	k.GenAttempt = 0
	_, err = identity.AppendKey(nil, &k)
	fmt.Println(err)
	// Output:
	// 89 <nil>
	// transferKey.genAttempt: bad-value: zero (KS-ID-12)
}

func ExampleDecodeKey() {
	_, err := identity.DecodeKey(make([]byte, 88))
	fmt.Println(err)
	_, err = identity.DecodeKey(make([]byte, 89))
	fmt.Println(err)
	// Output:
	// transferKey at byte 0: short-input: 88 of 89 bytes (KS-ID-11)
	// transferKey.ctxInstanceEpoch at byte 8: bad-value: zero (KS-ID-12)
}

func ExampleTopology_Digest() {
	t := identity.Topology{
		Direction: identity.CTXToGEN, Version: 1, Caps: 7, ABI: 1,
		Sources:      []identity.Member{{Name: "ctx-0", Epoch: 10}},
		Destinations: []identity.Member{{Name: "gen-0", Epoch: 20}},
		Edges:        []identity.Edge{{Source: 0, Destination: 0}},
	}
	d, err := t.Digest()
	fmt.Printf("%x %v\n", d[:8], err)
	t.Edges[0].Source = 1
	_, err = t.Digest()
	fmt.Println(err)
	// Output:
	// 42b9c2e5f2e51f75 <nil>
	// topology.edges: out-of-range: edge 0 names no rank (KS-ID-15)
}

func ExampleTopology_Key() {
	t := identity.Topology{
		Direction: identity.CTXToGEN, Version: 1, Caps: 7, ABI: 1,
		Sources:      []identity.Member{{Name: "ctx-0", Epoch: 10}, {Name: "ctx-1", Epoch: 11}},
		Destinations: []identity.Member{{Name: "gen-0", Epoch: 20}},
		Edges:        []identity.Edge{{Source: 0, Destination: 0}, {Source: 1, Destination: 0}},
	}
	k, err := t.Key(ticket, 1, 1)
	fmt.Println(k.SourceRank, k.DestinationRank, k.SourceEpoch, k.DestinationEpoch, err)
	_, err = t.Key(ticket, 1, 2)
	fmt.Println(err)
	// Output:
	// 1 0 11 20 <nil>
	// topology.edges: out-of-range: no edge 2 (KS-ID-13)
}

func ExampleAppendTopology() {
	_, err := identity.AppendTopology(nil, &identity.Topology{Direction: identity.CTXToGEN})
	fmt.Println(err)
	// Output: topology.sources: bad-count: none (KS-ID-19)
}
