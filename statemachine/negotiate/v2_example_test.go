package negotiate_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
)

func agent(base string, caps descriptor.Caps) string {
	name, _ := descriptor.Name(base, descriptor.Descriptor{Min: 1, Max: 1, Caps: caps | 7, Mode: descriptor.Enabled,
		Token: descriptor.Token(base), Schema: 2, ABI: 1})
	return name
}

func ExampleSelect() {
	gen := []string{agent("gen-0", descriptor.CapRecovery), agent("gen-1", descriptor.CapRecovery)}
	ctx := []string{agent("ctx-0", descriptor.CapRecovery|descriptor.CapQuiescence)}
	s := negotiate.Select(gen, ctx)
	fmt.Println(s.Control, s.Common.Version, s.Common.Recovery(), s.Common.Quiescence())
	fmt.Println(negotiate.Select(gen, []string{"an-old-agent"}).Err())
	// Output:
	// true 1 true false
	// v2 selection, theirs rank 0: peer-legacy (KS-SEL-28)
}

func ExampleGather() {
	_, theirs, err := negotiate.Gather([]negotiate.Contribution{
		{Own: "gen-0", Reach: []string{"ctx-0", ""}},
		{Own: "gen-1", Reach: []string{"", "ctx-1"}},
	})
	fmt.Println(theirs, err)
	// Output: [ctx-0 ctx-1] <nil>
}

func ExamplePreflight() {
	_, _, _, err := negotiate.Preflight([]negotiate.Contribution{
		{Own: agent("gen-0", 0), Reach: []string{agent("ctx-0", 0)}},
		{Own: agent("gen-1", 0), Reach: []string{agent("ctx-0 reborn", 0)}},
	})
	fmt.Println(err)
	// Output: v2 selection: rank 1 names endpoint 0 differently: rank-mismatch (KS-ID-16)
}

func ExamplePropose() {
	gen, ctx := []string{agent("gen-0", 0)}, []string{agent("ctx-0", 0)}
	edges := []identity.Edge{{Source: 0, Destination: 0}}
	candidate, _, _ := negotiate.Propose(negotiate.AsGEN, gen, ctx, edges)
	again, _, _ := negotiate.Propose(negotiate.AsCTX, ctx, gen, edges)
	fmt.Println(candidate.Digest() == again.Digest(), candidate.Common() == again.Common())
	// Output: true true
}

func ExampleAuthentic() {
	gen, ctx := []string{agent("gen-0", 0)}, []string{agent("ctx-0", 0)}
	k := identity.TransferKey{SourceEpoch: descriptor.Token("ctx-0"), DestinationEpoch: 1}
	m := negotiate.Authentic(negotiate.Claim{Key: &k, Sender: gen[0], Embedded: gen[0], Open: true}, ctx, gen)
	fmt.Println(m.Check())
	// Output: settle: message of another request: unknown-ticket (KS-ID-1)
}

func ExampleTravels() {
	fmt.Println(negotiate.Travels(control.TypeOpen, 0, false), negotiate.Travels(control.TypeCancel, 0, false))
	// Output: true false
}

func ExampleProvesInstallation() {
	fmt.Println(negotiate.ProvesInstallation(control.TypeReady, control.DecisionReady),
		negotiate.ProvesInstallation(control.TypeReady, control.DecisionNotReady))
	// Output: true false
}
