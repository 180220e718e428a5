package gen_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

const (
	goodContract = settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet
	x48          = descriptor.CapRecovery
	x49          = descriptor.CapQuiescence
)

// check is what must hold after every run, whatever happened in it.
func (w *pair) check(t testing.TB, seed uint64) {
	t.Helper()
	require.Empty(t, w.bad, "seed %d", seed)
	for i, r := range w.c {
		require.Equal(t, 1, r.settled, "seed %d: ctx %d settled %d times in %v", seed, i, r.settled, r.p.State())
		if !r.p.Isolated() {
			require.Equal(t, ctx.ParentRetired, r.p.State(), "seed %d: ctx %d", seed, i)
			require.Equal(t, 1, r.freed, "seed %d: ctx %d lease", seed, i)
		}
	}
	for i, r := range w.g {
		require.Equal(t, 1, r.settled, "seed %d: gen %d settled %d times in %v", seed, i, r.settled, r.p.State())
		require.LessOrEqual(t, r.freed, 1, "seed %d: gen %d lease", seed, i)
		require.Equal(t, gen.ParentRetired, r.p.State(), "seed %d: gen %d", seed, i)
		limit := pairTimes.Admission + pairTimes.Request + pairTimes.Control + 1000
		require.LessOrEqual(t, r.endAt, limit, "seed %d: gen %d ended late", seed, i)
	}
	for i := 1; i < len(w.c); i++ {
		require.Equal(t, w.c[0].p.Disposition() == sm.Completed, w.c[i].p.Disposition() == sm.Completed, "seed %d: ctx ranks differ", seed)
	}
	for i := 1; i < len(w.g); i++ {
		require.Equal(t, w.g[0].p.Disposition() == sm.Completed, w.g[i].p.Disposition() == sm.Completed, "seed %d: gen ranks differ", seed)
	}
}

func (w *pair) restarts() (n int) {
	for _, r := range w.c {
		n += r.restart
	}
	for _, r := range w.g {
		n += r.restart
	}
	return n
}

var allFaults = faults{drop: 100, duplicate: 100, dropNotice: 50, delay: 60, slowWrite: 120, writeFail: 30, release: 20,
	absent: 5, barrier: 20, cancelGen: 300, cancelCtx: 200, epoch: 20, sendFail: 10, refuse: 40, mismatch: 20, verify: 20}

func TestPairUnderEverything(t *testing.T) {
	rows := map[string]int{}
	n := 400
	for _, caps := range []descriptor.Caps{0, x48, x49, x48 | x49} {
		for _, ranks := range [][2]int{{1, 1}, {2, 1}, {1, 2}, {2, 2}} {
			for _, per := range []bool{false, true} {
				t.Run(fmt.Sprintf("%x/%d-%d/%v", uint64(caps)>>48, ranks[0], ranks[1], per), func(t *testing.T) {
					outcome := map[string]int{}
					for seed := range uint64(n) {
						f := allFaults
						if seed%4 == 0 {
							f = faults{delay: 60, slowWrite: 200, drop: 300, cancelGen: 300}
						}
						con := goodContract
						if seed%2 == 0 {
							con |= settle.ErrorQuiet
						}
						w := newPair(seed, pairConfig{ctxRanks: ranks[0], genRanks: ranks[1], chunks: 3, caps: caps, contract: con, perChunk: per, f: f, parts: 1 + uint8(seed%3)})
						w.run(120000)
						w.check(t, seed)
						for k, v := range w.rows {
							rows[k] += v
						}
						outcome[w.g[0].p.Disposition().String()+"/"+w.c[0].p.Disposition().String()]++
					}
					t.Log(outcome)
				})
			}
		}
	}
	for _, k := range []int{0} {
		_ = k
		for r := range gen.NumRows {
			if rows[r.String()] == 0 {
				t.Log("not taken", r)
			}
		}
		for r := range ctx.NumRows {
			if rows[r.String()] == 0 {
				t.Log("not taken", r)
			}
		}
	}
	_ = sm.Open
}
