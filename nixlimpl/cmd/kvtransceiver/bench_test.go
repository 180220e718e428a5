package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/bench"
)

func TestBench(t *testing.T) {
	c, mark := command(t, "bench", "--bytes", "1048576", "--block", "16384", "--count", "3", "--json")
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	require.NoError(t, c.Run(), log.String())
	var r bench.Result
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Len(t, r.Rows, 1)
	require.Equal(t, 1<<20, r.Rows[0].Bytes)
	require.Equal(t, 16384, r.Rows[0].Block)
	require.True(t, r.Checked)
	require.Empty(t, log.String())
	require.Empty(t, family(mark))

	c, _ = command(t, "bench", "--bytes", "1048576", "--count", "1")
	table, err := c.Output()
	require.NoError(t, err)
	require.Contains(t, string(table), "ratio (block)")
	require.Contains(t, string(table), "guard pages")
}

func TestBenchUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--help"}, 0, "-bytes"},
		{[]string{"extra"}, 2, `"extra"`},
		{[]string{"--count", "-1"}, 2, "--count -1"},
		{[]string{"--count", "x"}, 2, "-count"},
		{[]string{"--block", "65536"}, 2, "--block needs --bytes"},
		{[]string{"--bytes", "-1"}, 2, "--bytes -1"},
		{[]string{"--bytes", "1000", "--block", "1000"}, 2, "power of two"},
		{[]string{"--gremlins"}, 2, "gremlins"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			cmd, _ := command(t, append([]string{"bench"}, c.args...)...)
			var log bytes.Buffer
			cmd.Stderr = &log
			require.Equal(t, c.code, exitCode(cmd.Run()), log.String())
			require.Contains(t, log.String(), c.says)
		})
	}
}

// Ctrl-C: no row, exit 1, both children gone.
func TestBenchInterrupt(t *testing.T) {
	c, mark := command(t, "bench", "--bytes", "1048576", "--count", "10000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var log bytes.Buffer
	c.Stderr = &log
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return len(family(mark)) == 3 }, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(-c.Process.Pid, syscall.SIGINT))
	require.Equal(t, 1, exitCode(c.Wait()))
	require.Contains(t, log.String(), "canceled")
	require.Empty(t, family(mark))
}
