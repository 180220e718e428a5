package tag_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/tag"
)

// Two request ids that are equal modulo 4096 never live on one rank pair at once.
func ExampleTable() {
	var t tag.Table
	fmt.Println(t.Hold(7, 0))
	fmt.Println(t.Hold(7+4096, 0))
	fmt.Println(t.End(7, 50)) // 50: the end plus the control lifetime
	free, again := t.FreeAt(7+4096, 20)
	fmt.Println(free, again)
	fmt.Println(t.Hold(7+4096, 50))
	// Output:
	// <nil>
	// another attempt of this rank pair holds the 12-bit tag: tag-busy (KS-TAG-3)
	// <nil>
	// false 50
	// <nil>
}
