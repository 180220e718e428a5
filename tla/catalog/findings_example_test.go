package catalog_test

import (
	"context"
	"fmt"

	"github.com/kvsettle/kvsettle/tla/catalog"
	"github.com/kvsettle/kvsettle/tla/explore"
)

func ExampleAsk() {
	f, answers, err := catalog.Ask(context.Background(), "D11", explore.Options{})
	fmt.Println(f.Question, err)
	for _, a := range answers {
		fmt.Println(a.Ask.Rule, a.Holds, a.Same())
	}
	// Output:
	// Contributions sort absent ranks as 4,294,967,295: can that collide with a real rank? <nil>
	// ticket, presence, ranks; any rank true true
	// ticket and ranks only; any rank false true
	// the codec's order; ranks below 4,294,967,295 true true
	// the codec's order; any rank false true
}
