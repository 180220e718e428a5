package settle

import "github.com/kvsettle/kvsettle/wire/control"

// Missing is the evidence of a side that has said nothing yet.
const Missing control.Evidence = 0

// Result is what the evidence of both ends says about one edge (KS-SET-5).
type Result uint8

// The results; the zero value is the safe one.
const (
	EdgeUnknown Result = iota
	EdgeNotStarted
	EdgeCompleted
	EdgeQuiesced
)

// String returns the name that the spec uses.
func (r Result) String() string {
	switch r {
	case EdgeUnknown:
		return "EDGE_UNKNOWN"
	case EdgeNotStarted:
		return "EDGE_NOT_STARTED"
	case EdgeCompleted:
		return "EDGE_COMPLETED"
	case EdgeQuiesced:
		return "EDGE_QUIESCED"
	}
	return "INVALID"
}

// Topology is the disposition of all edges and all local ranks of an attempt.
type Topology uint8

// The dispositions; the zero value is the safe one (KS-SET-4).
const (
	Unknown Topology = iota
	NotStarted
	Completed
	Quiesced
)

// String returns the name that the spec uses.
func (t Topology) String() string {
	switch t {
	case Unknown:
		return "UNKNOWN"
	case NotStarted:
		return "NOT_STARTED"
	case Completed:
		return "COMPLETED"
	case Quiesced:
		return "QUIESCED"
	}
	return "INVALID"
}

// Edge reduces the evidence of the two ends of one edge. x49 says whether
// capability bit 49 is selected. Evidence that its role cannot give, and any value
// outside the enum, counts as UNKNOWN (KS-SET-11).
func Edge(source, destination control.Evidence, x49 bool) Result {
	switch {
	case source == control.NotStarted && destination == control.NotStarted:
		return EdgeNotStarted
	case source == control.SourceComplete && destination == control.DestinationComplete:
		return EdgeCompleted
	case !x49:
		return EdgeUnknown
	}
	quiet := source == control.NotStarted || source == control.SourceComplete || source == control.Quiesced
	idle := destination == control.NotStarted || destination == control.Quiesced
	if quiet && idle {
		return EdgeQuiesced
	}
	return EdgeUnknown
}

// Sum collects the results of edges. The zero value has none. It is comparable
// and its order of Add does not matter.
type Sum struct{ seen uint8 }

// Add takes one more edge into account.
func (s Sum) Add(r Result) Sum {
	if r > EdgeQuiesced {
		r = EdgeUnknown
	}
	s.seen |= 1 << r
	return s
}

// Topology reduces what was added. agree says that every local rank took part and
// sees the same; without it, and without any edge, the disposition is UNKNOWN.
func (s Sum) Topology(agree, x49 bool) Topology {
	switch {
	case !agree || s.seen == 0 || s.seen&(1<<EdgeUnknown) != 0:
		return Unknown
	case s.seen == 1<<EdgeNotStarted:
		return NotStarted
	case s.seen == 1<<EdgeCompleted:
		return Completed
	case x49:
		return Quiesced
	}
	return Unknown
}

// Reduce is the disposition of a list of edges; see [Sum.Topology].
func Reduce(edges []Result, agree, x49 bool) Topology {
	var s Sum
	for _, e := range edges {
		s = s.Add(e)
	}
	return s.Topology(agree, x49)
}

// AsResult turns the disposition of one rank's edges into a summand for the
// disposition of all ranks, so that ranks reduce by the same table as edges.
func (t Topology) AsResult() Result {
	switch t {
	case NotStarted:
		return EdgeNotStarted
	case Completed:
		return EdgeCompleted
	case Quiesced:
		return EdgeQuiesced
	}
	return EdgeUnknown
}

// AsEvidence is how a rank writes the disposition of its own edges into a round
// payload, seen from its role: source true for CTX.
func (t Topology) AsEvidence(source bool) control.Evidence {
	switch t {
	case NotStarted:
		return control.NotStarted
	case Completed:
		if source {
			return control.SourceComplete
		}
		return control.DestinationComplete
	case Quiesced:
		return control.Quiesced
	}
	return control.Unknown
}

// FromEvidence is the inverse of [Topology.AsEvidence]; anything else is UNKNOWN.
func FromEvidence(e control.Evidence) Topology {
	switch e {
	case control.NotStarted:
		return NotStarted
	case control.SourceComplete, control.DestinationComplete:
		return Completed
	case control.Quiesced:
		return Quiesced
	}
	return Unknown
}
