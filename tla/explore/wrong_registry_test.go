package explore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// TestRegistryHolds explores the registry model at its smaller sizes.
func TestRegistryHolds(t *testing.T) {
	for _, size := range []string{"small", "medium"} {
		cfg, ok := world.RegistrySize(size)
		require.True(t, ok)
		m, err := world.Registries(cfg)
		require.NoError(t, err)
		rep, err := explore.Run(context.Background(), m, explore.Options{})
		require.NoError(t, err)
		t.Logf("%s: %d states, %d edges, depth %d", size, rep.States, rep.Edges, rep.Depth)
		for _, v := range append(rep.Violations, rep.Hangs...) {
			story, err := explore.Tell(m, v)
			require.NoError(t, err)
			t.Errorf("%s\n%s", v.Property, story.Text())
		}
	}
	_, ok := world.RegistrySize("huge")
	require.False(t, ok)
	_, err := world.Registries(world.RegistryConfig{Cases: []world.RegistryCase{{Tickets: 9}}})
	require.Error(t, err)
}

func TestRegistryWrong(t *testing.T) {
	size := func(bad wrong.Rules, w world.RegistryWrong) func() (*world.Model[world.RegistryState], error) {
		cfg, _ := world.RegistrySize("small")
		cfg.Bad, cfg.Wrong = bad, w
		return func() (*world.Model[world.RegistryState], error) { return world.Registries(cfg) }
	}
	for _, c := range []struct {
		bad   wrong.Rules
		wrong world.RegistryWrong
		red   string
	}{
		{0, world.RegistryWrong{WriteUnbound: true}, "AllowList"},
		{0, world.RegistryWrong{Guess: true}, "NotStartedIsTrue"},
		{0, world.RegistryWrong{KeepWindow: true}, "WindowsEnd"},
		{0, world.RegistryWrong{SecondBind: true}, "BoundOnce"},
		{0, world.RegistryWrong{PublishFull: true}, "FullExposesNothing"},
		{0, world.RegistryWrong{NeverExhaust: true}, explore.Stuck},
		{wrong.EvictNoPeerEarly, world.RegistryWrong{}, "AnswersKept"},
		{wrong.IdentifyByRequestID, world.RegistryWrong{}, "AllowList"},
	} {
		t.Run(c.red, func(t *testing.T) {
			seesRed(t, c.red, size(0, world.RegistryWrong{}), size(c.bad, c.wrong))
		})
	}
}
