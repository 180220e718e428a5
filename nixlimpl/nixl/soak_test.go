//go:build linux

package nixl_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
)

// soakVariable is how long TestSoak runs; the default is a short look.
const soakVariable = "KVSETTLE_SOAK"

// sample is what a process holds.
type sample struct{ goroutines, threads, files, kib int }

func (p *side) sample() sample {
	p.t.Helper()
	p.send(command{Command: child.Command{Op: opGoroutines}})
	s := sample{goroutines: p.must(opGoroutines, 0).Blocks}
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	for name, at := range map[string]*int{"task": &s.threads, "fd": &s.files} {
		d, err := os.ReadDir(dir + name)
		require.NoError(p.t, err)
		*at = len(d)
	}
	b, err := os.ReadFile(dir + "status")
	require.NoError(p.t, err)
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	s.kib, err = strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(p.t, err)
	return s
}

// A long run with late writes, cancels, lost readies and a stopping CTX: every
// request ends, and neither process grows.
func TestSoak(t *testing.T) {
	nixl.NeedLibrary(t)
	length := 15 * time.Second
	if v := os.Getenv(soakVariable); v != "" {
		var err error
		length, err = time.ParseDuration(v)
		require.NoError(t, err)
	}
	s := setup{Role: "ctx", Slots: 8, Budget: 8, Bytes: 1 << 20, Deadline: 500 * time.Millisecond}
	c := startSide(t, s, nil)
	s.Role = "gen"
	g := startSide(t, s, nil)
	c.must(child.Ready, 0)
	g.must(child.Ready, 0)
	rng := rand.New(rand.NewPCG(1, 1))
	ended := map[string]int{}
	id := uint64(0)
	one := func() {
		id++
		h := context1(c, id, 200+rng.IntN(700))
		generate(g, h)
		if rng.IntN(8) == 0 {
			g.send(command{Command: child.Command{Op: child.OpCancel, RequestID: id, Reason: "user-cancel"}})
		}
		r := g.must(child.Outcome, id)
		ended[r.Disposition]++
		require.Zero(t, r.Corrupt)
		if r.Disposition != "completed" {
			c.release(id)
		}
	}
	work := func(d time.Duration) {
		for until := time.Now().Add(d); time.Now().Before(until); {
			switch rng.IntN(60) {
			case 0:
				c.arm(-1, true)
				one()
				c.arm(-1, false)
			case 1:
				g.arm(2, false)
				one()
				g.arm(-1, false)
			case 2:
				c.signal(syscall.SIGSTOP)
				time.Sleep(50 * time.Millisecond)
				c.signal(syscall.SIGCONT)
			default:
				one()
			}
		}
	}
	quiet := func() (a, b sample) {
		require.Eventually(t, func() bool {
			x, y := c.state(), g.state()
			return x.Open == 0 && y.Open == 0 && x.Slots.Free == 8 && y.Slots.Free == 8
		}, 20*time.Second, 20*time.Millisecond, "slots do not come back")
		return c.sample(), g.sample()
	}
	work(length / 3)
	c1, g1 := quiet()
	work(length * 2 / 3)
	c2, g2 := quiet()
	lc, lg := c.bye(), g.bye()
	require.Zero(t, lc.Canary+lg.Canary)
	t.Logf("%v, %d requests %v; CTX %+v -> %+v; GEN %+v -> %+v", length, id, ended, c1, c2, g1, g2)
	for _, x := range [][2]sample{{c1, c2}, {g1, g2}} {
		require.LessOrEqual(t, x[1].goroutines, x[0].goroutines+2)
		require.LessOrEqual(t, x[1].threads, x[0].threads+4)
		require.LessOrEqual(t, x[1].files, x[0].files+2)
		require.LessOrEqual(t, x[1].kib, x[0].kib*11/10+8192)
	}
	require.Positive(t, ended["completed"])
	require.Positive(t, ended["failed"]+ended["cancelled"])
}

// Two services, connected and with nothing to do, cost under 1 % of a core each.
func TestIdleServices(t *testing.T) {
	nixl.NeedLibrary(t)
	length := 5 * time.Second
	if os.Getenv(soakVariable) != "" {
		length = 30 * time.Second
	}
	s := setup{Role: "ctx", Slots: 4, Budget: 4, Bytes: 1 << 20, Deadline: time.Second}
	c := startSide(t, s, nil)
	s.Role = "gen"
	g := startSide(t, s, nil)
	c.must(child.Ready, 0)
	g.must(child.Ready, 0)
	served(t, c, g, 1, tokens, 1)
	time.Sleep(2 * time.Second)
	used := func(p *side) time.Duration {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		require.NoError(t, err)
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
		user, _ := strconv.Atoi(f[11])
		sys, _ := strconv.Atoi(f[12])
		return time.Duration(user+sys) * 10 * time.Millisecond
	}
	a, b := used(c), used(g)
	time.Sleep(length)
	ctx, gen := float64(used(c)-a)/float64(length), float64(used(g)-b)/float64(length)
	t.Logf("over %v idle: CTX %.2f %%, GEN %.2f %% of a core", length, ctx*100, gen*100)
	require.Less(t, ctx, 0.01)
	require.Less(t, gen, 0.01)
}
