package gen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/gen"
)

// everyWord has every kind of input at least once; the kinds that depend on an
// edge or a mask have the variants that matter for two edges.
const everyWord = "start:2 grant deny refuse nothing pub:0 pub:1 pub:2 err:0 doubt:0 yes:0 no:0 yes:1 sync:0 sync:1 " +
	"good bad cancel abort lost:1 quiet:1 quiet:3 tick due junk"

// everyState holds, per state, how to get there with two edges and what each
// input does: "words | new state and effects" or "words | refused code
// requirement". SCATTERING stands twice, open and after its deadline.
var everyState = []struct{ state, setup, table string }{
	{"IMPORTED", "", `
		start:2 | WAITING admit timer:1000
		grant deny refuse nothing pub:0 pub:1 pub:2 err:0 doubt:0 yes:0 no:0 yes:1 sync:0 sync:1 good bad cancel abort lost:1 quiet:1 quiet:3 tick due junk | refused wrong-state KS-V1-12
	`},
	{"WAITING", "start:2", `
		start:2 | refused wrong-state KS-V1-12
		grant | PUBLISHING advertise timer:100 request:0
		deny | RETIRED withdraw no-timer failed(slot-too-small) drop
		refuse | RETIRED withdraw no-timer rejected(peer-legacy) drop
		nothing | RETIRED withdraw no-timer completed drop
		pub:0 pub:1 err:0 doubt:0 | refused wrong-state KS-V1-18
		pub:2 | refused unknown-edge KS-TAG-5
		yes:0 no:0 yes:1 sync:0 sync:1 | WAITING stray(unknown-edge)
		good bad | refused wrong-state KS-V1-21
		cancel | RETIRED withdraw no-timer cancelled(user-cancel) drop
		abort | RETIRED withdraw no-timer failed(pool-unhealthy) drop
		lost:1 quiet:1 quiet:3 tick | WAITING
		due | RETIRED withdraw no-timer failed(admission-deadline-slot) drop
		junk | refused wrong-state KS-V1-15
	`},
	{"PUBLISHING", "start:2 grant", `
		start:2 | refused wrong-state KS-V1-12
		grant deny refuse nothing | refused wrong-state KS-V1-1
		pub:0 err:0 doubt:0 | PUBLISHING request:1
		pub:1 | refused wrong-state KS-V1-18
		pub:2 | refused unknown-edge KS-TAG-5
		yes:0 no:0 sync:0 cancel abort lost:1 quiet:1 quiet:3 tick | PUBLISHING
		yes:1 sync:1 | PUBLISHING stray(unknown-edge)
		good bad | refused wrong-state KS-V1-21
		due | UNPROVEN no-timer quarantine failed(request-deadline-ready)
		junk | refused wrong-state KS-V1-15
	`},
	{"REQUEST_SENT", "start:2 grant pub:0 pub:1", `
		start:2 | refused wrong-state KS-V1-12
		grant deny refuse nothing | refused wrong-state KS-V1-1
		pub:0 pub:1 err:0 doubt:0 | refused wrong-state KS-V1-18
		pub:2 | refused unknown-edge KS-TAG-5
		yes:0 no:0 yes:1 sync:0 sync:1 cancel tick | REQUEST_SENT
		good bad | refused wrong-state KS-V1-21
		abort | UNPROVEN no-timer quarantine failed(pool-unhealthy)
		lost:1 quiet:1 | DRAINING timer:20
		quiet:3 | RETIRED no-timer release(writer-dead) end-tag failed(peer-lost) drop
		due | UNPROVEN no-timer quarantine failed(request-deadline-ready)
		junk | refused wrong-state KS-V1-15
	`},
	{"CANCEL_PENDING", "start:2:e grant pub:0 pub:1 cancel", `
		start:2 | refused wrong-state KS-V1-12
		grant deny refuse nothing | refused wrong-state KS-V1-1
		pub:0 pub:1 err:0 doubt:0 | refused wrong-state KS-V1-18
		pub:2 | refused unknown-edge KS-TAG-5
		yes:0 no:0 yes:1 sync:0 sync:1 tick | CANCEL_PENDING
		good bad | refused wrong-state KS-V1-21
		cancel | CANCEL_PENDING stray(user-cancel)
		abort due | UNPROVEN no-timer quarantine cancelled(user-cancel)
		lost:1 quiet:1 | DRAINING timer:20
		quiet:3 | RETIRED no-timer release(writer-dead) end-tag cancelled(user-cancel) drop
		junk | refused wrong-state KS-V1-15
	`},
	{"IN_FLIGHT", "start:2 grant pub:0 pub:1 yes:0 yes:1", `
		start:2 | refused wrong-state KS-V1-12
		grant deny refuse nothing | refused wrong-state KS-V1-1
		pub:0 pub:1 err:0 doubt:0 | refused wrong-state KS-V1-18
		pub:2 | refused unknown-edge KS-TAG-5
		yes:0 yes:1 | IN_FLIGHT stray(duplicate-id)
		no:0 | UNPROVEN stray(conflicting-ready) no-timer quarantine failed(conflicting-ready)
		sync:0 sync:1 cancel tick | IN_FLIGHT
		good bad | refused wrong-state KS-V1-21
		abort | UNPROVEN no-timer quarantine failed(pool-unhealthy)
		lost:1 quiet:1 | DRAINING timer:20
		quiet:3 | RETIRED no-timer release(writer-dead) end-tag failed(peer-lost) drop
		due | UNPROVEN no-timer quarantine failed(request-deadline-completion)
		junk | refused wrong-state KS-V1-15
	`},
	{"SCATTERING", "start:2 grant pub:0 pub:1 sync:0 sync:1", `
		start:2 | refused wrong-state KS-V1-12
		grant deny refuse nothing | refused wrong-state KS-V1-1
		pub:0 pub:1 err:0 doubt:0 | refused wrong-state KS-V1-18
		pub:2 | refused unknown-edge KS-TAG-5
		yes:0 yes:1 sync:0 sync:1 | SCATTERING stray(duplicate-id)
		no:0 | SCATTERING stray(conflicting-ready) no-timer failed(conflicting-ready)
		good | RETIRED no-timer release(written) end-tag completed drop
		bad | RETIRED no-timer release(written) end-tag failed(verify-failed) drop
		cancel lost:1 quiet:1 quiet:3 tick | SCATTERING
		abort | SCATTERING no-timer failed(pool-unhealthy)
		due | SCATTERING no-timer failed(request-deadline-scatter)
		junk | refused wrong-state KS-V1-15
	`},
	{"SCATTERING", "start:2 grant pub:0 pub:1 sync:0 sync:1 due", `
		start:2 | refused wrong-state KS-V1-12
		grant deny refuse nothing | refused wrong-state KS-V1-1
		pub:0 pub:1 err:0 doubt:0 | refused wrong-state KS-V1-18
		pub:2 | refused unknown-edge KS-TAG-5
		yes:0 yes:1 sync:0 sync:1 | SCATTERING stray(duplicate-id)
		no:0 | SCATTERING stray(conflicting-ready)
		good bad | RETIRED release(written) end-tag drop
		cancel | SCATTERING stray(user-cancel)
		abort lost:1 quiet:1 quiet:3 tick due | SCATTERING
		junk | refused wrong-state KS-V1-15
	`},
	{"DRAINING", "start:2 grant pub:0 pub:1 lost:1", `
		start:2 | refused wrong-state KS-V1-12
		grant deny refuse nothing | refused wrong-state KS-V1-1
		pub:0 pub:1 err:0 doubt:0 | refused wrong-state KS-V1-18
		pub:2 | refused unknown-edge KS-TAG-5
		yes:0 no:0 yes:1 sync:0 sync:1 cancel lost:1 quiet:1 tick | DRAINING
		good bad | refused wrong-state KS-V1-21
		abort due | UNPROVEN no-timer quarantine failed(peer-lost)
		quiet:3 | RETIRED no-timer release(writer-dead) end-tag failed(peer-lost) drop
		junk | refused wrong-state KS-V1-15
	`},
	{"UNPROVEN", "start:2 grant pub:0 pub:1 due", `
		start:2 | refused wrong-state KS-V1-12
		grant deny refuse nothing | refused wrong-state KS-V1-1
		pub:0 pub:1 err:0 doubt:0 | refused wrong-state KS-V1-18
		pub:2 | refused unknown-edge KS-TAG-5
		yes:0 no:0 yes:1 sync:0 sync:1 abort lost:1 quiet:1 tick due | UNPROVEN
		good bad | refused wrong-state KS-V1-21
		cancel | UNPROVEN stray(user-cancel)
		quiet:3 | RETIRED prove(writer-dead) end-tag drop
		junk | refused wrong-state KS-V1-15
	`},
	{"RETIRED", "start:2 grant pub:0 pub:1 no:0 no:1", `
		start:2 grant deny refuse nothing pub:0 pub:1 pub:2 err:0 doubt:0 yes:0 no:0 yes:1 sync:0 sync:1 good bad cancel abort lost:1 quiet:1 quiet:3 tick due junk | refused wrong-state KS-V1-15
	`},
}

// TestEveryStateEveryInput covers the whole product of states and inputs,
// refusals included (script.step checks that a refused step changed nothing).
func TestEveryStateEveryInput(t *testing.T) {
	spec.Covers(t, "KS-V1-4", "KS-V1-8", "KS-V1-12", "KS-V1-15", "KS-V1-22", "KS-V1-24", "KS-V1-26", "KS-TIME-1", "KS-TIME-3")
	states := map[string]bool{}
	for _, c := range everyState {
		t.Run(c.state+" "+c.setup, func(t *testing.T) {
			seen := map[string]bool{}
			for line := range strings.Lines(c.table) {
				words, want, ok := strings.Cut(line, "|")
				if !ok {
					continue
				}
				for _, word := range strings.Fields(words) {
					s := play(t, c.setup)
					require.Equal(t, c.state, s.m.State().String())
					require.Equal(t, strings.TrimSpace(want), s.step(word), "%s | %s", c.setup, word)
					require.False(t, seen[word], "%s stands twice", word)
					seen[word] = true
				}
			}
			for _, word := range strings.Fields(everyWord) {
				require.True(t, seen[word], "no row for %s", word)
			}
		})
		states[c.state] = true
	}
	for s := gen.Imported; s <= gen.Retired; s++ {
		require.True(t, states[s.String()], "no rows for %s", s)
	}
	require.Equal(t, "INVALID", (gen.Retired + 1).String())
}
