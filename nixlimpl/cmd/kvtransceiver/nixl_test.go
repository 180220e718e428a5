package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/demo"
	"github.com/kvsettle/kvsettle/nixlimpl/internal/nixltest"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
)

func TestDemoOverNIXL(t *testing.T) {
	nixltest.Need(t)
	for _, args := range [][]string{{}, {"--nixl-listen", "41811"}, {"--ctx-mode", "legacy", "--gen-mode", "off"}} {
		c, _ := command(t, append([]string{"demo", "--transport", "nixl", "--json", "--requests", "20", "--speed", "0"}, args...)...)
		out, err := c.Output()
		require.Zero(t, exitCode(err), "%v", err)
		var r demo.Result
		require.NoError(t, json.Unmarshal(out, &r))
		require.Equal(t, "nixl", r.Transport)
		require.Equal(t, 20, r.Dispositions.Completed)
		require.Zero(t, r.Unsettled+r.BlocksCorrupt+r.CanaryViolations)
		require.Equal(t, 8, r.Slots.GEN.Free)
	}
}

// A library that cannot be used ends the start with 3 and names the file and the fix.
func TestNIXLExitCodes(t *testing.T) {
	nixltest.Need(t)
	absent := filepath.Join(t.TempDir(), "absent.so")
	for _, x := range []struct {
		args []string
		env  string
		code int
		want []string
	}{
		{[]string{"demo", "--transport", "nixl", "--nixl-library", absent}, "", exitMachine, []string{absent, "site-packages"}},
		{[]string{"bench", "--transport", "nixl", "--nixl-library", absent, "--count", "1"}, "", exitMachine, []string{absent}},
		{[]string{"demo", "--transport", "nixl"}, "NIXL_PLUGIN_DIR=" + filepath.Dir(absent), exitMachine, []string{"libplugin_UCX.so", "NIXL_PLUGIN_DIR"}},
		{[]string{"demo", "--transport", "nixl"}, nixl.LibraryVariable + "=" + absent, exitMachine, []string{absent}},
		{[]string{"demo", "--nixl-library", absent}, "", exitUsage, []string{"--transport nixl"}},
		{[]string{"demo", "--transport", "nixl", "--nixl-listen", "70000"}, "", exitUsage, []string{"70000"}},
		{[]string{"demo", "--transport", "rdma"}, "", exitUsage, []string{"known: shm, nixl"}},
		{[]string{"bench", "--transport", "rdma"}, "", exitUsage, []string{"known: shm, nixl"}},
	} {
		c, _ := command(t, x.args...)
		if x.env != "" {
			c.Env = append(c.Env, x.env)
		}
		var text bytes.Buffer
		c.Stderr = &text
		err := c.Run()
		require.Equal(t, x.code, exitCode(err), "%v: %s", x.args, text.String())
		for _, w := range x.want {
			require.Contains(t, text.String(), w)
		}
	}
}

func TestBenchOverNIXL(t *testing.T) {
	nixltest.Need(t)
	c, _ := command(t, "bench", "--transport", "nixl", "--json", "--count", "3", "--bytes", "4194304")
	out, err := c.Output()
	require.Zero(t, exitCode(err), "%v", err)
	var r struct {
		Rows []struct {
			Slot float64 `json:"slot_over_raw"`
		} `json:"rows"`
		Latency struct {
			Notify float64 `json:"notify_one_way_us"`
		} `json:"latency"`
	}
	require.NoError(t, json.Unmarshal(out, &r))
	require.Len(t, r.Rows, 1)
	require.Positive(t, r.Rows[0].Slot)
	require.Positive(t, r.Latency.Notify)
}
