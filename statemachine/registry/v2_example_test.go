package registry_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/wire/identity"
)

// A ticket is authority while its attempt is active; after its end the same key is
// only answered.
func ExampleNewTickets() {
	r, err := registry.NewTickets(registry.Config{Session: 600, Active: 65536, Cache: 65536, Settings: settings})
	if err != nil {
		fmt.Println(err)
		return
	}
	ticket, _ := r.Mint(42)
	_ = r.Publish(ticket, 1, 0)
	k := identity.TransferKey{Ticket: ticket, GenAttempt: 7, SourceEpoch: 10, DestinationEpoch: 20}
	fmt.Println(r.Look(&k).Where, r.Look(&k).Authorises())
	a := registry.Attempt{GenAttempt: 7, Count: 1, Edges: [registry.MaxEdges]registry.Edge{{SourceEpoch: 10, DestinationEpoch: 20}}}
	_ = r.Bind(ticket, &a, 0)
	fmt.Println(r.Look(&k).Where, r.Look(&k).Authorises())
	_, _ = r.End(ticket, &registry.Ending{Kind: registry.Settled}, 1, nil)
	fmt.Println(r.Look(&k).Where, r.Look(&k).Authorises())
	// Output:
	// active false
	// active true
	// cache false
}
