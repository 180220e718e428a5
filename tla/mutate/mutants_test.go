package mutate

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/tla"
)

const sample = `---- MODULE S ----
EXTENDS Naturals
VARIABLES x, y
(* A comment with
   /\ x = 1 in it *)
Step(v) == /\ y' = v
Act ==
  /\ x < 2
  /\ x' = [x EXCEPT !.a = 1,
                    !.b = f(1, 2)]
  /\ Step(3)
  /\ UNCHANGED y
Pick(m) ==
  CASE m.a /\ m.b -> 1
    [] m.c -> IF m.d THEN 2 ELSE 3
    [] OTHER -> 4
Init == /\ x = 0
        /\ y = 0
====`

func TestMutants(t *testing.T) {
	all := Mutants("S.tla", []byte(sample), []string{"Step", "Act"})
	var got []string
	for _, m := range all {
		got = append(got, m.Definition+" "+m.Kind+" "+m.To)
	}
	require.ElementsMatch(t, []string{
		`Act guard /\ TRUE`,
		`Act assignment /\ UNCHANGED x`,
		`Act update /\ x' = [x EXCEPT !.a = @,`,
		`Act update !.b = @]`,
		`Pick case CASE FALSE -> 1`,
		`Pick case CASE m.b -> 1`,
		`Pick case CASE m.a -> 1`,
		`Pick case [] FALSE -> IF m.d THEN 2 ELSE 3`,
		`Pick condition [] m.c -> IF TRUE THEN 2 ELSE 3`,
		`Pick condition [] m.c -> IF FALSE THEN 2 ELSE 3`,
	}, got)
	for _, m := range all {
		require.NotEqual(t, sample, string(m.Text))
		require.Contains(t, string(m.Text), "Init ==")
	}
}

func TestTreeHasMutants(t *testing.T) {
	modules := map[string][]byte{}
	names, err := fs.Glob(tla.Files(), "*.tla")
	require.NoError(t, err)
	for _, n := range names {
		modules[n], err = tla.Files().ReadFile(n)
		require.NoError(t, err)
	}
	actions := Actions(modules)
	require.Subset(t, actions, []string{"CtxStep", "GenRank", "CallEnds", "GenGone", "Uses"})
	require.NotContains(t, actions, "MayLease")
	n := 0
	for name, text := range modules {
		for _, m := range Mutants(name, text, actions) {
			n++
			require.NotEmpty(t, m.Definition)
			require.Equal(t, strings.TrimSuffix(name, ".tla"), strings.SplitN(m.Name, ":", 2)[0])
		}
	}
	require.GreaterOrEqual(t, n, 100)
	t.Logf("%d mutants in %d modules", n, len(names))
}
