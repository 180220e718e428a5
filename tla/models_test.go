package tla_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/tla"
)

func TestLedgerIsReadable(t *testing.T) {
	list, err := tla.Ledger()
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for _, e := range list {
		cfg, err := tla.Files().ReadFile(e.Config)
		require.NoError(t, err)
		inv, temporal := tla.Properties(cfg)
		require.NotEmpty(t, append(inv, temporal...), "%s checks something", e.Config)
	}
	_, err = tla.Find(list, "v1", "none")
	require.ErrorIs(t, err, tla.ErrLedger)
}

func TestLedgerDefects(t *testing.T) {
	in := fstest.MapFS{"A.tla": {}, "A.cfg": {}}
	line := `{"model":"a","size":"s","module":"A","config":"A.cfg","states":1,"depth":1,"result":"ok"}`
	_, err := tla.ParseLedger([]byte("["+line+"]"), in)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"no JSON":       "[",
		"unknown field": `[{"model":"a","sise":"s"}]`,
		"twice":         "[" + line + "," + line + "]",
		"no states":     `[{"model":"a","size":"s","module":"A","config":"A.cfg","depth":1,"result":"ok"}]`,
		"no module":     `[{"model":"a","size":"s","module":"B","config":"A.cfg","states":1,"depth":1,"result":"ok"}]`,
		"no config":     `[{"model":"a","size":"s","module":"A","config":"B.cfg","states":1,"depth":1,"result":"ok"}]`,
	} {
		_, err := tla.ParseLedger([]byte(text), in)
		require.ErrorIs(t, err, tla.ErrLedger, name)
	}
}

func ExampleGraphConfig() {
	cfg := "SPECIFICATION Spec\nCONSTANT N = 2\nINVARIANTS\n  Safe\n  Sound\nPROPERTY Ends\n"
	fmt.Print(string(tla.GraphConfig([]byte(cfg), false)))
	fmt.Print(tla.Properties([]byte(cfg)))
	// Output:
	// INIT Init
	// NEXT Next
	// CONSTANT N = 2
	// [Safe Sound] [Ends]
}
