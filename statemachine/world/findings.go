package world

import (
	"cmp"
	"slices"
)

// Finding is a question about the protocol that worlds answer: one of the doubts D1
// to D16, or something that the models showed by themselves (N1 and on). It stays
// here so that anybody can ask again; docs/findings has a page for each.
type Finding struct {
	// Name is the command-line name and that of the page.
	Name string
	// Question is the doubt in one sentence.
	Question string
	// Asks are put in order. The first one is the rule as upstream has it, or as the
	// first machines of this tree had it.
	Asks []Ask
}

// Confirmed says that the doubt is real by the recorded answers: the rule of the
// first ask violates its property.
func (f *Finding) Confirmed() bool { return len(f.Asks) > 0 && !f.Asks[0].Holds }

// Ask is one property asked of one world, with the answer that was recorded.
type Ask struct {
	// Rule says which rule the world follows, in a few words.
	Rule string
	// Property is an invariant of the world, or Stuck for the search for hangs.
	Property string
	// Holds is the recorded answer.
	Holds bool
	// World is the configuration of a model: V2Watch, V1Config, RoundWatch,
	// NoPeerConfig, PressureConfig, SortConfig, WindowConfig or ReuseConfig.
	World any
}

// Stuck is the property of an Ask that wants every fair run to settle.
const Stuck = "Stuck"

// Findings lists the findings: the doubts in the order of their numbers, then the
// others. The slice is the caller's own.
func Findings() []Finding {
	all := slices.Concat(lossFindings(), decisionFindings(), smallFindings(), newFindings())
	// A name is a letter and a number.
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Name[0], b.Name[0]), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return all
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
