package simulate

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
)

// TestCompare: over the same schedules, plain v2 pays for lost notices and for user
// cancels with processes; with bit 48 a lost notice costs nothing, with bit 49 a
// cancel does not.
func TestCompare(t *testing.T) {
	spec.Covers(t, "KS-REC-11", "KS-QUI-12")
	all, v, err := Compare(context.Background(), Options{Schedules: 200, First: 1, Shape: DefaultShape(), Workers: 2})
	require.NoError(t, err)
	require.Zero(t, v)
	require.Len(t, all, 4)
	for _, c := range all {
		require.Len(t, c.Prices, 4)
		plain, x48, x49, both := c.Prices[0], c.Prices[1], c.Prices[2], c.Prices[3]
		for _, p := range c.Prices {
			require.Positive(t, p.Faults)
			t.Logf("%s, %d ranks, %s: %d faults, %d restarts (%.3f each), %d attempts asked, %+v", c.Fault, c.Ranks, p.Dialect, p.Faults, p.Restarts, p.PerFault, p.Asked, p.Ends)
		}
		require.Positive(t, plain.Restarts)
		require.Zero(t, x49.Restarts)
		require.Zero(t, both.Restarts)
		require.Zero(t, both.Unknown)
		if c.Fault == "lost completion notice" {
			require.Equal(t, both.Faults, both.Recovered)
			require.Equal(t, 200*100, both.Completed)
			if c.Ranks == 1 {
				require.Zero(t, x48.Restarts)
				require.Equal(t, 200*100, x48.Completed)
			}
		} else {
			require.Positive(t, x48.Restarts)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = Compare(ctx, Options{Schedules: 5, Shape: DefaultShape()})
	require.ErrorIs(t, err, context.Canceled)
}

// TestFaultFree: where nothing goes wrong everything completes. Plain v2 with more
// than one rank is the exception: by its table of rounds ranks that complete in
// different rounds are in doubt.
func TestFaultFree(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		for d := range NumDialects {
			rep, err := Many(context.Background(), Options{Schedules: 30, First: 900, Dialects: []Dialect{d}, Workers: 2,
				Shape: Shape{Transfers: 100, Calm: true, Ranks: ranks}})
			require.NoError(t, err)
			require.Zero(t, rep.Verdict)
			if ranks == 2 && (d == Plain || d == Recovery) {
				require.Less(t, rep.Completed, rep.Transfers, "%v", d)
				require.Positive(t, rep.Restarts[NoFault])
				continue
			}
			require.Equal(t, rep.Transfers, rep.Completed, "%v with %d ranks: %+v", d, ranks, rep.Ends)
			require.Zero(t, rep.Restarts.Sum())
			require.Zero(t, rep.Held)
		}
	}
}
