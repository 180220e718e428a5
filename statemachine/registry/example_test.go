package registry_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/registry"
)

// What is active authorises; what has ended only answers.
func ExampleRegistry() {
	r, err := registry.New(16, 64, 4_000_000_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Open(7, 0), r.Open(8, 0))
	fmt.Println(r.Close(7, true, "", 0), r.Close(8, false, "user-cancel", 0))
	for _, id := range []uint64{7, 8, 9} {
		active, answer, why := r.Look(id)
		fmt.Println(active, answer == registry.Reject, why)
	}
	fmt.Println(r.Open(7, 0))
	// Output:
	// <nil> <nil>
	// <nil> <nil>
	// false false context-ended
	// false true context-ended
	// false true unknown-context
	// registry: request id was used before: duplicate-id (KS-V1-7)
}
