package policy_test

import (
	"fmt"
	"time"

	"github.com/kvsettle/kvsettle/statemachine/policy"
)

func ExampleDecide() {
	cell := policy.SHMCell(1, 10*time.Second)
	d, err := policy.Decide(policy.NotGiven, policy.Setting{}, cell)
	fmt.Println(d.Mode, d.Required, d.Source, err)

	cell.PP = 2
	_, err = policy.Decide(policy.NotGiven, policy.Setting{Set: true, Value: "1"}, cell)
	fmt.Println(err)
	// Output:
	// enabled false default <nil>
	// enabled mode is required by the variable, but this configuration is not qualified: required-not-qualified (KS-POL-4); unqualified-pipeline-parallelism: pipeline parallelism is not 1: it runs in legacy and baseline only
}

func ExampleCell_Qualify() {
	cell := policy.NIXLCell(2, 0)
	cell.Transport = policy.Mooncake
	for _, why := range cell.Qualify() {
		fmt.Println(why)
	}
	// Output:
	// unqualified-transport-mooncake
	// unqualified-deadline
}

func ExampleStage_Permits() {
	p := policy.StageCanary10.Permits()
	fmt.Println(p.Carrier, p.Admits(false, 9), p.Admits(false, 10))
	// Output: true true false
}
