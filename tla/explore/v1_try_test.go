package explore

import (
	"context"
	"os"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/world"
)

func TestTryV1(t *testing.T) {
	size := os.Getenv("SIZE")
	if size == "" { size = "small" }
	cfg, _ := world.V1Size(size)
	m, err := world.V1(cfg)
	require.NoError(t, err)
	rep, err := Run(context.Background(), m, Options{Workers: 2, MaxStates: 6000000, Every: 2*time.Second, Progress: func(p Progress) { fmt.Printf("%+v\n", p) }})
	fmt.Println(err)
	fmt.Printf("%s states %d edges %d depth %d settled %d hangstates %d %.2fs mem %+v  %.0f/s\n", rep.Size, rep.States, rep.Edges, rep.Depth, rep.Settled, rep.HangStates, rep.Seconds, rep.Memory, float64(rep.States)/rep.Seconds)
	for a, n := range rep.Fired {
		if n == 0 { fmt.Println("dead", m.Actions[a].Name) }
	}
	for _, v := range append(rep.Violations, rep.Hangs...) {
		fmt.Println(v.Property, v.Reqs)
		fmt.Println(" init", v.Path.Init)
		for _, e := range v.Path.Events { fmt.Println("  ", m.Describe(e)) }
		ss, err := Replay(m, v.Path)
		require.NoError(t, err)
		c, err := m.Canon(&ss[len(ss)-1])
		fmt.Println(c, err)
	}
}
