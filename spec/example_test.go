package spec_test

import (
	"fmt"
	"os"
	"testing/fstest"

	"github.com/kvsettle/kvsettle/spec"
)

func ExampleLookup() {
	r, ok := spec.Lookup("KS-SLOT-7")
	fmt.Println(ok, r.Level, r.Title, "|", r.Link())
	// Output: true MUST RETIRED stays | spec/11-slots.md#quarantine
}

func ExampleRequirements() {
	slots := 0
	for _, r := range spec.Requirements() {
		if r.Topic() == "TAG" {
			slots++
		}
	}
	fmt.Println(slots, "requirements about tags")
	// Output: 7 requirements about tags
}

func ExampleLoadTable() {
	t, err := spec.LoadTable("slot-transitions")
	if err != nil {
		panic(err)
	}
	for _, r := range t.Rows {
		if t.Cell(r, "to") == "QUARANTINED" {
			fmt.Println(r.ID, t.List(r, "from"), t.Cell(r, "guard"), r.Req)
		}
	}
	// Output: slot-quarantine [ADVERTISED IN_FLIGHT] no proof [KS-SLOT-4 KS-SLOT-5]
}

func ExampleTables() {
	for _, t := range spec.Tables() {
		if t.Kind == spec.Transitions {
			fmt.Println(t.Name, len(t.States), "states")
		}
	}
	// Output:
	// ctx-edge-transitions 11 states
	// ctx-parent-transitions 10 states
	// gen-edge-transitions 9 states
	// gen-parent-transitions 17 states
	// slot-transitions 6 states
	// v1-ctx-transitions 8 states
	// v1-gen-transitions 10 states
}

func ExampleKnown() {
	r, ok := spec.Known("no-proof")
	fmt.Println(ok, r.Area, "|", r.Meaning)
	// Output: true slot | a release without the proof it needs
}

func ExampleCovers() {
	dir, err := os.MkdirTemp("", "covers")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv(spec.CoversVariable, dir)
	defer os.Unsetenv(spec.CoversVariable)

	t := &fakeTB{} // in a test this is its *testing.T
	spec.Covers(t, "KS-TAG-1")
	t.end()

	covered, err := spec.ReadCovered(dir)
	if err != nil {
		panic(err)
	}
	tested, untested, err := spec.Judge(covered)
	fmt.Println(tested, len(untested) > 100, err)
	// Output: [KS-TAG-1] true <nil>
}

func ExampleDangling() {
	fsys := fstest.MapFS{"a.go": {Data: []byte("// KS-SLOT-4 and " + id("NOWHERE") + "\n")}}
	all, err := spec.Citations(fsys)
	fmt.Println(len(all), err)
	for _, c := range spec.Dangling(all) {
		fmt.Printf("%s:%d\n", c.File, c.Line)
	}
	// Output:
	// 2 <nil>
	// a.go:1
}

func ExampleCompareIDs() {
	fmt.Println(spec.CompareIDs("KS-SLOT-9", "KS-SLOT-10") < 0, spec.Topic("KS-SLOT-9"))
	// Output: true SLOT
}
