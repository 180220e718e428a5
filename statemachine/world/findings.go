package world

import "slices"

// Finding is a world in which a property does not hold by the rules as they are. It
// stays here so that anybody can replay it; once a rule changes, its test says so.
type Finding struct {
	// Name is the command-line name.
	Name string
	// Property is the invariant that the explorer finds violated.
	Property string
	// Says is the answer in one sentence.
	Says string
	// Config is the world.
	Config V2Config
}

// Findings lists what the models have shown about v2.
func Findings() []Finding {
	one := func(name string, f V2Faults, change ...func(*V2Case)) V2Config {
		b := newV2Sizes()
		b.add(f, change...)
		return V2Config{Name: name, Size: "finding", Cases: b.cases}
	}
	strict := func(c *V2Case) { c.Strict = true }
	return []Finding{
		{"uneven-ctx", "FaultFreeCompletes", "plain v2, two CTX ranks: ranks whose writes end in different rounds end UNKNOWN and restart, although nothing went wrong",
			one("uneven-ctx", V2Faults{}, ranks(2, 1), strict)},
		{"uneven-gen", "FaultFreeCompletes", "plain v2, two GEN ranks: the same on the side that receives",
			one("uneven-gen", V2Faults{}, ranks(1, 2), strict)},
		{"epoch-after-verdict", "RanksAgree", "a rank that hears of a new peer epoch between a round and its verdict ends UNKNOWN, its sibling COMPLETED",
			one("epoch-after-verdict", V2Faults{Crashes: 1}, ranks(2, 1))},
		{"cancel-before-fan-out", "CancelNeverUnknown", "bit 49, two GEN ranks: a cancel that reaches one rank before its OPEN leaves CTX waiting for that OPEN and the sibling's edge unproven: UNKNOWN without a fault",
			one("cancel-before-fan-out", V2Faults{CancelGen: 1, Retries: 1}, ranks(1, 2), caps(x49))},
		{"retry-for-receiver", "CancelNeverUnknown", "bit 49: a GEN that settled on NOT_READY gives its own evidence only when CTX sends TERMINAL again, so without one re-send CTX ends UNKNOWN",
			one("retry-for-receiver", V2Faults{CancelCtx: 1}, caps(x49), func(c *V2Case) { c.Strict = true })},
	}
}

// LookupFinding returns the finding with this name.
func LookupFinding(name string) (Finding, bool) {
	all := Findings()
	i := slices.IndexFunc(all, func(f Finding) bool { return f.Name == name })
	if i < 0 {
		return Finding{}, false
	}
	return all[i], true
}
