package ctx_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
)

// everyWord has every kind of input at least once; the kinds that depend on an
// edge or a mask have the variants that matter for two edges.
const everyWord = "start:2 grant deny ask:0 ask:1 ask:2 refuse:0 refuse:1 wrote:0 wrote:1 wrote:2 ended:0 ended:1 " +
	"cancel abort lost:1 lost:2 lost:3 tick due junk"

// everyState holds, per state, how to get there with two edges and what each
// input does: "words | new state and effects" or "words | refused code
// requirement".
var everyState = []struct{ state, setup, table string }{
	{"IMPORTED", "", `
		start:2 | WAITING admit timer:1000
		grant deny ask:0 ask:1 ask:2 refuse:0 refuse:1 wrote:0 wrote:1 wrote:2 ended:0 ended:1 cancel abort lost:1 lost:2 lost:3 tick due junk | refused wrong-state KS-V1-12
	`},
	{"WAITING", "start:2", `
		start:2 | refused wrong-state KS-V1-12
		grant | PUBLISHED timer:500 publish
		deny | RETIRED withdraw no-timer failed(slot-too-small) drop
		ask:0 ask:1 refuse:0 refuse:1 | WAITING stray(duplicate-id)
		ask:2 wrote:2 | refused unknown-edge KS-V1-13
		wrote:0 wrote:1 ended:0 ended:1 | refused wrong-state KS-V1-11
		cancel | RETIRED withdraw no-timer cancelled(user-cancel) drop
		abort | RETIRED withdraw no-timer failed(pool-unhealthy) drop
		lost:1 lost:2 lost:3 tick | WAITING
		due | RETIRED withdraw no-timer failed(admission-deadline-slot) drop
		junk | refused wrong-state KS-V1-15
	`},
	{"PUBLISHED", "start:2 grant", `
		start:2 | refused wrong-state KS-V1-12
		grant deny | refused wrong-state KS-SLOT-15
		ask:0 ask:1 refuse:0 refuse:1 | BOUND timer:100
		ask:2 wrote:2 | refused unknown-edge KS-V1-13
		wrote:0 wrote:1 ended:0 ended:1 | refused wrong-state KS-V1-11
		cancel | RETIRED no-timer release(not-started) cancelled(user-cancel) drop
		abort | RETIRED no-timer release(not-started) failed(pool-unhealthy) drop
		lost:1 lost:2 lost:3 tick | PUBLISHED
		due | RETIRED no-timer release(not-started) failed(context-deadline) drop
		junk | refused wrong-state KS-V1-15
	`},
	{"BOUND", "start:2 grant ask:0", `
		start:2 | refused wrong-state KS-V1-12
		grant deny | refused wrong-state KS-SLOT-15
		ask:0 refuse:0 | BOUND stray(duplicate-id)
		ask:1 | IN_FLIGHT begin ready:0=true ready:1=true write:0 write:1
		ask:2 wrote:2 | refused unknown-edge KS-V1-13
		refuse:1 | RETIRED ready:0=false ready:1=false no-timer release(not-started) rejected(layout-mismatch) drop
		wrote:0 wrote:1 ended:0 ended:1 | refused wrong-state KS-V1-11
		cancel | RETIRED ready:0=false no-timer release(not-started) cancelled(user-cancel) drop
		abort | RETIRED ready:0=false no-timer release(not-started) failed(pool-unhealthy) drop
		lost:1 lost:3 | RETIRED ready:0=false no-timer release(not-started) failed(peer-lost) drop
		lost:2 tick | BOUND
		due | RETIRED ready:0=false no-timer release(not-started) failed(request-deadline-bind) drop
		junk | refused wrong-state KS-V1-15
	`},
	{"IN_FLIGHT", "start:2 grant ask:0 ask:1", `
		start:2 | refused wrong-state KS-V1-12
		grant deny | refused wrong-state KS-SLOT-15
		ask:0 ask:1 refuse:0 refuse:1 | IN_FLIGHT stray(duplicate-id)
		ask:2 wrote:2 | refused unknown-edge KS-V1-13
		wrote:0 | IN_FLIGHT sync:0
		wrote:1 | IN_FLIGHT sync:1
		ended:0 ended:1 tick | IN_FLIGHT
		cancel | IN_FLIGHT stray(user-cancel)
		abort lost:3 | DRAINING stop:0 stop:1 timer:20
		lost:1 | DRAINING stop:0 timer:20
		lost:2 | DRAINING stop:1 timer:20
		due | UNPROVEN no-timer quarantine failed(request-deadline-write)
		junk | refused wrong-state KS-V1-15
	`},
	{"DRAINING", "start:2 grant ask:0 ask:1 lost:1", `
		start:2 | refused wrong-state KS-V1-12
		grant deny | refused wrong-state KS-SLOT-15
		ask:0 ask:1 refuse:0 refuse:1 | DRAINING stray(duplicate-id)
		ask:2 wrote:2 | refused unknown-edge KS-V1-13
		wrote:0 | DRAINING sync:0
		wrote:1 | DRAINING sync:1
		ended:0 ended:1 abort lost:1 tick | DRAINING
		cancel | DRAINING stray(user-cancel)
		lost:2 lost:3 | DRAINING stop:1
		due | UNPROVEN no-timer quarantine failed(peer-lost)
		junk | refused wrong-state KS-V1-15
	`},
	{"UNPROVEN", "start:2 grant ask:0 ask:1 due", `
		start:2 | refused wrong-state KS-V1-12
		grant deny | refused wrong-state KS-SLOT-15
		ask:0 ask:1 refuse:0 refuse:1 | UNPROVEN stray(duplicate-id)
		ask:2 wrote:2 | refused unknown-edge KS-V1-13
		wrote:0 | UNPROVEN sync:0
		wrote:1 | UNPROVEN sync:1
		ended:0 ended:1 abort tick due | UNPROVEN
		cancel | UNPROVEN stray(user-cancel)
		lost:1 | UNPROVEN stop:0
		lost:2 | UNPROVEN stop:1
		lost:3 | UNPROVEN stop:0 stop:1
		junk | refused wrong-state KS-V1-15
	`},
	{"RETIRED", "start:2 grant ask:0 ask:1 wrote:0 wrote:1", `
		start:2 grant deny ask:0 ask:1 ask:2 refuse:0 refuse:1 wrote:0 wrote:1 wrote:2 ended:0 ended:1 cancel abort lost:1 lost:2 lost:3 tick due junk | refused wrong-state KS-V1-15
	`},
}

// TestEveryStateEveryInput covers the whole product of states and inputs,
// refusals included (script.step checks that a refused step changed nothing).
func TestEveryStateEveryInput(t *testing.T) {
	spec.Covers(t, "KS-V1-3", "KS-V1-7", "KS-V1-10", "KS-V1-11", "KS-V1-12", "KS-V1-15", "KS-V1-28", "KS-V1-29", "KS-TIME-1")
	states := map[string]bool{}
	for _, c := range everyState {
		t.Run(c.state, func(t *testing.T) {
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
	for s := ctx.Imported; s <= ctx.Retired; s++ {
		require.True(t, states[s.String()], "no rows for %s", s)
	}
	require.Equal(t, "INVALID", (ctx.Retired + 1).String())
}
