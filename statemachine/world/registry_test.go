package world_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/world"
)

func ExampleRegistries() {
	cfg, _ := world.RegistrySize("small")
	m, err := world.Registries(cfg)
	fmt.Println(m.Name, len(m.Init), m.Bounds[1], m.Invariants[0].Name, err)
	// Output: registry 4 {tickets 2} AllowList <nil>
}

func TestRegistryModel(t *testing.T) {
	for _, size := range []string{"small", "medium", "large"} {
		cfg, ok := world.RegistrySize(size)
		require.True(t, ok)
		require.Zero(t, cfg.Bad, "no size breaks a rule")
		require.Zero(t, cfg.Wrong)
		if size == "small" {
			walk(world.Registries(cfg))(t)
		}
	}
	_, ok := world.RegistrySize("huge")
	require.False(t, ok)
	var refusal *sm.Refusal
	for _, c := range []world.RegistryCase{{}, {Tickets: 4}, {Tickets: 1, Resends: 3}, {Tickets: 1, Keep: 3}} {
		_, err := world.Registries(world.RegistryConfig{Cases: []world.RegistryCase{c}})
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "KS-REG-2", refusal.Req)
	}
}
