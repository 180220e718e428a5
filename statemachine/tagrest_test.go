package statemachine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

// TestTagRestsForRequestAndAnswer: a duplicate request that comes as late as it may
// is answered from CTX's memory, and that answer may be late again. A tag that
// rests for one delay only gives the answer to the next attempt; one that rests
// for two does not.
func TestTagRestsForRequestAndAnswer(t *testing.T) {
	spec.Covers(t, "KS-TAG-3", "KS-REG-22")
	wrong := func(rest sm.Time) bool {
		var tags tag.Table
		const old, next = 5, 5 + tag.Width
		require.NoError(t, tags.Hold(old, 0))
		// The request is sent at 0 and refused at once; the attempt ends at 1.
		require.NoError(t, tags.End(old, 1+rest))
		answered := delay           // the duplicate arrives
		arrives := answered + delay // and so does the second ready=false
		for now := answered; now <= arrives; now++ {
			if tags.Hold(next, now) == nil {
				break
			}
		}
		owner, live := tags.Owner(tag.Of(old))
		return live && owner == next
	}
	require.True(t, wrong(delay))
	require.False(t, wrong(lifetime))
}
