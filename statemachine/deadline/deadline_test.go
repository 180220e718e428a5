package deadline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
)

func ExampleAfter() {
	fmt.Println(deadline.After(3, 4), deadline.After(3, deadline.Never) == deadline.Never)
	// Output: 7 true
}

func ExampleOver() {
	fmt.Println(deadline.Over(5, 4), deadline.Over(5, 5), deadline.Over(deadline.Never, deadline.Never))
	// Output: false true false
}

func TestAfterNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := sm.Time(rapid.Int64Min(0).Draw(rt, "now"))
		length := sm.Time(rapid.Int64().Draw(rt, "length"))
		at := deadline.After(now, length)
		require.GreaterOrEqual(rt, at, now)
		if length > 0 && at != deadline.Never {
			require.Equal(rt, length, at-now)
		}
	})
}
