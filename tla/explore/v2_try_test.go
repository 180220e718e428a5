package explore

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

func TestTryV2(t *testing.T) {
	full := settle.Visible | settle.NoticeAfterData | settle.SuccessQuiet
	base := world.V2Case{Gens: 1, Ctxs: 1, Contract: full, DeathQuiet: true, Chunks: 1, Patient: true}
	F := func(c world.V2Case, f world.V2Faults) world.V2Case { c.Faults = f; return c }
	x48, x49, both := base, base, base
	x48.Caps = descriptor.CapRecovery
	x49.Caps = descriptor.CapQuiescence
	both.Caps = descriptor.CapRecovery | descriptor.CapQuiescence
	two, pair := base, base
	two.Ctxs, pair.Gens = 2, 2
	eager := base
	eager.Patient = false
	rest := base
	rest.Restarts = true
	chunks := both
	chunks.Chunks, chunks.PerChunk = 2, true
	for _, c := range []struct {
		n string
		c world.V2Case
	}{
		{"all patient", F(base, world.V2Faults{Drops: 1, Dups: 1, CancelGen: 1, CancelCtx: 1, Crashes: 1, Retries: 1})},
		{"no dup", F(base, world.V2Faults{Drops: 1, CancelGen: 1, CancelCtx: 1, Crashes: 1, Retries: 1})},
		{"rest", F(base, world.V2Faults{Drops: 1, Retries: 1, WriteFails: 1, VerifyFails: 1, Rejects: 1, Mismatches: 1, Refusals: 1, Denials: 1, Doubts: 1, RoundFails: 1})},
		{"eager", F(eager, world.V2Faults{Drops: 1})},
		{"x48", F(x48, world.V2Faults{DropNotices: 1, Drops: 1, Retries: 2})},
		{"x48 cancel", F(x48, world.V2Faults{DropNotices: 1, Drops: 1, Retries: 2, CancelGen: 1, CancelCtx: 1})},
		{"x49", F(x49, world.V2Faults{Drops: 1, CancelGen: 1, CancelCtx: 1, Retries: 1})},
		{"chunks", F(chunks, world.V2Faults{Drops: 1, DropNotices: 1, CancelGen: 1, Retries: 2})},
		{"chunks fail", F(chunks, world.V2Faults{WriteFails: 1, Releases: 1, CancelGen: 1, Retries: 1})},
		{"two", F(two, world.V2Faults{CancelGen: 1, Drops: 1, Retries: 1})},
		{"two all", F(two, world.V2Faults{CancelGen: 1, CancelCtx: 1, Drops: 1, Retries: 1, RoundFails: 1})},
		{"pair", F(pair, world.V2Faults{CancelGen: 1, Drops: 1, Retries: 1})},
		{"restart", F(rest, world.V2Faults{Crashes: 1, Drops: 1, CancelGen: 1, Retries: 1})},
		{"restart both", F(rest, world.V2Faults{Crashes: 2, Retries: 1})},
	} {
		m, err := world.V2(world.V2Config{Name: "v2-1", Size: "try", Cases: []world.V2Case{c.c}})
		require.NoError(t, err)
		rep, err := Run(context.Background(), m, Options{MaxStates: 800000})
		fmt.Printf("case %s: %d states %d edges depth %d settled %d hangs %d %.1fs %v\n", c.n, rep.States, rep.Edges, rep.Depth, rep.Settled, rep.HangStates, rep.Seconds, err)
		for _, v := range append(rep.Violations, rep.Hangs...) {
			st, err := Tell(m, v)
			if err != nil { fmt.Println(err) }
			fmt.Println(v.Property)
			fmt.Println(st.Text())
			break
		}
	}
}
