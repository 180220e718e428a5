package rows_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/settle/rows"
)

// The rows that a step reports have to explain it.
func ExampleTable_Explain() {
	t, err := rows.Load("ctx-edge-transitions")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Explain("BOUND", "CANCEL_PENDING", "ABSENT", []string{"ctx-edge-cancel"}))
	fmt.Println(t.Explain("BOUND", "IN_FLIGHT", "ABSENT", []string{"ctx-edge-show"}))
	// Output:
	// <nil>
	// row ctx-edge-show was taken from BOUND
}
