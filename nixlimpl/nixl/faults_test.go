//go:build linux

package nixl_test

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
)

// The wait states in which a fault strikes: which notice is lost or which write is
// late so that the state lasts, and how to get there.
var waits = []struct {
	name string
	// dropCTX and dropGEN are the variants that side loses; -1 none.
	dropCTX, dropGEN int
	late             bool
	// asked: GEN is asked; cancel: and cancelled; over: its deadline has passed.
	asked, cancel, over bool
}{
	{name: "CTX published", dropCTX: -1, dropGEN: -1},
	{name: "GEN request sent", dropCTX: 0, dropGEN: -1, asked: true},
	{name: "GEN in flight, CTX done", dropCTX: -1, dropGEN: 1, asked: true},
	{name: "GEN in flight, CTX writing", dropCTX: -1, dropGEN: -1, late: true, asked: true},
	{name: "GEN cancel pending", dropCTX: -1, dropGEN: 1, asked: true, cancel: true},
	{name: "GEN unproven", dropCTX: -1, dropGEN: 1, asked: true, over: true},
	{name: "GEN unproven, CTX unproven", dropCTX: -1, dropGEN: -1, late: true, asked: true, over: true},
}

const (
	tokens   = 1000
	deadline = 800 * time.Millisecond
	// slack is for a busy machine: scheduling, not waiting.
	slack = 3 * time.Second
)

// bound is what every request ends within: request and control deadline.
const bound = deadline + deadline/5 + slack

type cell struct{ wait, side, fault, gen, ctx, next string }

// Every wait state, on each side, with each fault: the survivors end the request
// within its bound and serve the next one.
func TestFaultTable(t *testing.T) {
	nixl.NeedLibrary(t)
	var mu sync.Mutex
	var table []cell
	t.Run("cells", func(t *testing.T) {
		for _, w := range waits {
			for _, struck := range []string{"ctx", "gen"} {
				for _, fault := range []string{"kill", "stop", "reset"} {
					if fault == "reset" && struck == "gen" {
						continue // a connection has no side
					}
					t.Run(w.name+"/"+struck+"/"+fault, func(t *testing.T) {
						t.Parallel()
						var env, wrap []string
						if fault == "reset" {
							nixl.NeedSystem(t)
							s := nixl.NewSpaces(t)
							env, wrap = []string{"UCX_TLS=tcp", "UCX_NET_DEVICES=lo"}, s.Wrap(s.A)
						}
						s := setup{Role: "ctx", Slots: 4, Budget: 4, Bytes: 1 << 20, Deadline: deadline}
						c := startSide(t, s, env, wrap...)
						s.Role = "gen"
						g := startSide(t, s, env, wrap...)
						c.must(child.Ready, 0)
						g.must(child.Ready, 0)
						served(t, c, g, 1000, tokens, 3)
						c.arm(w.dropCTX, w.late)
						g.arm(w.dropGEN, false)
						h := context1(c, 1, tokens)
						if w.asked {
							generate(g, h)
							g.must(child.Sent, 1)
							time.Sleep(50 * time.Millisecond)
						}
						if w.cancel {
							g.send(command{Command: child.Command{Op: child.OpCancel, RequestID: 1, Reason: "user-cancel"}})
							time.Sleep(20 * time.Millisecond)
						}
						row := cell{wait: w.name, side: struck, fault: fault, gen: "not asked", ctx: "-"}
						if w.over {
							row.gen = g.must(child.Outcome, 1).Reason
						}
						begun := time.Now()
						c, g = strike(t, fault, struck, c, g, env, wrap)
						took := func() string { return time.Since(begun).Round(10 * time.Millisecond).String() }
						if w.asked && !w.over && !(fault == "kill" && struck == "gen") {
							r, ok := g.wait(bound+deadline*3/2, child.Outcome, 1)
							require.True(t, ok, "GEN did not end the request")
							row.gen = r.Disposition + " " + r.Reason + ", " + took()
						}
						// Nobody will fetch any more: the router says so.
						c.release(1)
						if !(fault == "kill" && struck == "ctx") {
							r, ok := c.wait(bound+deadline*3/2, child.Ended, 1)
							require.True(t, ok, "CTX did not end the request")
							row.ctx = r.Disposition + " " + r.Reason + ", " + took()
						}
						if fault == "kill" {
							if struck == "gen" {
								row.gen = "killed"
							} else {
								row.ctx = "killed"
							}
						}
						c.arm(-1, false)
						g.arm(-1, false)
						tries := served(t, c, g, 2000, tokens, 4)
						require.LessOrEqual(t, tries, 1, "the next request must be served; one may miss its deadline on a busy machine")
						row.next = fmt.Sprintf("%d failed before", tries)
						require.Zero(t, c.state().Open)
						require.Zero(t, g.state().Open)
						lc := c.bye()
						lg := g.bye()
						require.Zero(t, lc.Canary+lg.Canary, "a free slot was written")
						mu.Lock()
						table = append(table, row)
						mu.Unlock()
					})
				}
			}
		}
	})
	sort.Slice(table, func(i, j int) bool { return fmt.Sprint(table[i]) < fmt.Sprint(table[j]) })
	var b strings.Builder
	fmt.Fprintf(&b, "request deadline %v\n| wait state | struck | fault | GEN | CTX | next request |\n| --- | --- | --- | --- | --- | --- |\n", deadline)
	for _, r := range table {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.wait, r.side, r.fault, r.gen, r.ctx, r.next)
	}
	t.Log(b.String())
	want := len(waits) * 4
	if os.Getenv("KVSETTLE_SYSTEM") == "1" && os.Geteuid() == 0 {
		want += len(waits)
	}
	require.GreaterOrEqual(t, len(table), len(waits)*4, "empty cells")
	t.Logf("%d of %d cells", len(table), want)
}

// strike does the fault; a killed side is replaced.
func strike(t *testing.T, fault, struck string, c, g *side, env, wrap []string) (*side, *side) {
	victim := c
	if struck == "gen" {
		victim = g
	}
	switch fault {
	case "kill":
		victim.kill()
		n := startSide(t, victim.setup, env, wrap...)
		n.must(child.Ready, 0)
		if struck == "gen" {
			return c, n
		}
		return n, g
	case "stop":
		victim.signal(syscall.SIGSTOP)
		time.Sleep(deadline * 3 / 2)
		victim.signal(syscall.SIGCONT)
	case "reset":
		out := nixl.Run(t, append(append([]string(nil), wrap...), "ss", "-K", "-t", "state", "established")...)
		require.GreaterOrEqual(t, strings.Count(out, "\n"), 3, "no connection was reset: %s", out)
	}
	return c, g
}
