package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/doctor"
)

func TestDoctor(t *testing.T) {
	c, _ := command(t, "doctor", "--json")
	out, err := c.Output()
	var r doctor.Report
	require.NoError(t, json.Unmarshal(out, &r))
	require.NotEmpty(t, r.Checks)
	want := 3
	if r.Can.Demo && !r.NIXLUnusable {
		want = 0
	}
	require.Equal(t, want, exitCode(err))

	c, _ = command(t, "doctor")
	out, err = c.Output()
	require.Equal(t, want, exitCode(err))
	require.Contains(t, string(out), "can run")
}

// What is named by the environment and is not there is said with its fix.
func TestDoctorNamesTheFix(t *testing.T) {
	c, _ := command(t, "doctor", "--json")
	c.Env = append(c.Env, "KVSETTLE_CACHE="+t.TempDir(), "KVSETTLE_TLC_JAR=/nonexistent/tla2tools.jar", "KVSETTLE_NIXL=/nonexistent/libnixl_capi.so")
	out, err := c.Output()
	require.Equal(t, exitMachine, exitCode(err))
	var r doctor.Report
	require.NoError(t, json.Unmarshal(out, &r))
	require.False(t, r.Can.NIXL)
	require.True(t, r.NIXLUnusable)
	require.False(t, r.Can.TLC)
	for _, k := range r.Checks {
		if k.Name == "nixl" || k.Name == "tlc" {
			require.Equal(t, doctor.Missing, k.Status)
			require.Contains(t, k.Found, "/nonexistent/")
			require.NotEmpty(t, k.Fix)
		}
	}
}

func TestDoctorUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--help"}, 0, "-fetch"},
		{[]string{"extra"}, 2, `"extra"`},
		{[]string{"--gremlins"}, 2, "gremlins"},
	} {
		cmd, _ := command(t, append([]string{"doctor"}, c.args...)...)
		var log bytes.Buffer
		cmd.Stderr = &log
		require.Equal(t, c.code, exitCode(cmd.Run()), log.String())
		require.Contains(t, log.String(), c.says)
	}
}

// Without a network the fetch fails with what to do, and the report still comes.
func TestDoctorFetchWithoutPip(t *testing.T) {
	c, _ := command(t, "doctor", "--fetch", "--json")
	c.Env = append(c.Env, "KVSETTLE_CACHE="+t.TempDir(), "KVSETTLE_PIP=/nonexistent/pip")
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	require.Equal(t, 3, exitCode(c.Run()))
	require.Contains(t, log.String(), "/nonexistent/pip")
	require.NoError(t, json.Unmarshal(out.Bytes(), new(doctor.Report)))
}
