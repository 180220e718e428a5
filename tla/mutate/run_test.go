package mutate

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/tla"
	"github.com/kvsettle/kvsettle/tla/tlc"
)

// TestRotatingSample breaks a few models each day, other ones the next day: every
// break must make a model that TLC can run. `kvmodel mutate --all` runs them all.
func TestRotatingSample(t *testing.T) {
	list, err := tla.Ledger()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	tools, err := tlc.Find(ctx, tlc.Options{Progress: func(s string) { t.Log(s) }})
	require.NoError(t, err)
	day := time.Now().Unix() / 86400
	models := []string{"slot", "negotiate", "round"}
	opt := Options{Model: models[day%3], Sizes: []string{"small"}, Ledger: list, Tools: tools, Sample: 3, Seed: uint64(day), NoGo: true, HeapMB: 1024}
	rep, err := Run(ctx, opt)
	require.NoError(t, err)
	require.Len(t, rep.TLA, 3)
	for _, o := range rep.TLA {
		t.Logf("%s %s: %s %s", opt.Model, o.Name, o.Result, o.By)
		require.NotEqual(t, Unusable, o.Result, "%s: %s", o.Name, o.Note)
	}
}

// TestBreaksAreSeen breaks every rule of the slot's Go world; a property must see at
// least half of them.
func TestBreaksAreSeen(t *testing.T) {
	list, err := tla.Ledger()
	require.NoError(t, err)
	rep, err := Run(t.Context(), Options{Model: "slot", Sizes: []string{"small"}, Ledger: list, NoTLA: true})
	require.NoError(t, err)
	require.NotEmpty(t, rep.Go)
	killed := 0
	for _, o := range rep.Go {
		if o.Result == Killed {
			killed++
			require.Positive(t, rep.Kills[o.By])
		}
	}
	require.GreaterOrEqual(t, killed, len(rep.Go)/2, "%+v", rep.Go)
}
