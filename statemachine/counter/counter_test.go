package counter_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/counter"
)

func ExampleCounter() {
	var c counter.Counter
	a, _ := c.Next()
	b, _ := c.Next()
	fmt.Println(a, b, c.Last())
	// Output: 1 2 2
}

func ExampleAfter() {
	c := counter.After(math.MaxUint64)
	_, err := c.Next()
	fmt.Println(err)
	// Output: counter: no number is left: generation-exhausted (KS-ID-5)
}

func TestFailsClosed(t *testing.T) {
	spec.Covers(t, "KS-ID-5")
	c := counter.After(math.MaxUint64 - 1)
	n, err := c.Next()
	require.NoError(t, err)
	require.Equal(t, uint64(math.MaxUint64), n)
	for range 3 {
		n, err = c.Next()
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.GenerationExhausted})
		require.Zero(t, n)
		require.Equal(t, uint64(math.MaxUint64), c.Last())
	}
}
