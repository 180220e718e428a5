package settle_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
)

// A cancelled transfer: the source has drained, the destination is idle.
func ExampleEdge() {
	fmt.Println(settle.Edge(control.Quiesced, control.Quiesced, true))
	fmt.Println(settle.Edge(control.Quiesced, control.Quiesced, false))
	// Output:
	// EDGE_QUIESCED
	// EDGE_UNKNOWN
}

// One edge was never started, the other drained.
func ExampleReduce() {
	edges := []settle.Result{settle.EdgeNotStarted, settle.EdgeQuiesced}
	fmt.Println(settle.Reduce(edges, true, true))
	fmt.Println(settle.Reduce(edges, false, true))
	// Output:
	// QUIESCED
	// UNKNOWN
}

// The disposition of one rank's edges comes back from its round payload.
func ExampleFromEvidence() {
	fmt.Println(settle.FromEvidence(settle.Quiesced.AsEvidence(true)))
	// Output: QUIESCED
}

// A source that posted one of two chunks and sealed.
func ExampleSource_Claim() {
	s := settle.Source{Posts: settle.Posts{Chunks: 2, Made: 1}, Committed: true, Sealed: true, Quiescence: true}
	fmt.Println(s.Claim())
	s.Posts.Done = 1
	fmt.Println(s.Claim(), s.Claim().Evidence())
	// Output:
	// claim-source-none
	// claim-source-quiesced LOCAL_QUIESCED
}

// What a source's evidence proves about the destination's slot.
func ExampleProves() {
	fmt.Println(settle.Proves(control.NotStarted, false), settle.Proves(control.Quiesced, false), settle.Proves(control.Quiesced, true))
	// Output: true false true
}

// The caller keeps the points in time that a machine does not know.
func ExampleAlarms() {
	var a settle.Alarms
	a.Arm(settle.RetryWait, 0, 50)
	a.Arm(settle.ControlWait, 0, 2000)
	w, at, _ := a.Next()
	fmt.Println(w, at)
	// Output: retry-first 50
}
