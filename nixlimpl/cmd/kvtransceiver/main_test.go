package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/demo"
	"github.com/kvsettle/kvsettle/statemachine/policy"
)

// The test binary stands in for the command, so that children and signals are real.
func TestMain(m *testing.M) {
	if os.Getenv("KVT_TEST_MAIN") != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Unsetenv(policy.Variable)
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	mark := fmt.Sprintf("KVT_TEST_MAIN=%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), mark)
	return c, mark
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return -1
}

// family lists the living processes that carry the mark.
func family(mark string) []string {
	var out []string
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, d := range dirs {
		if b, err := os.ReadFile(d); err == nil && bytes.Contains(b, []byte(mark+"\x00")) {
			out = append(out, d)
		}
	}
	return out
}

func TestDemoJSON(t *testing.T) {
	c, mark := command(t, "demo", "--json", "--requests", "10", "--speed", "0")
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	require.NoError(t, c.Run(), log.String())
	var r demo.Result
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, 10, r.Dispositions.Completed)
	require.Empty(t, log.String())
	require.Empty(t, family(mark))
}

func TestDemoTable(t *testing.T) {
	c, _ := command(t, "demo", "--requests", "3", "--speed", "0")
	out, err := c.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "every request ended, every invariant held")
}

func TestExitCodes(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	require.NoError(t, os.WriteFile(bad, []byte("no json\n"), 0o600))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "kvtransceiver demo"},
		{[]string{"help"}, 0, ""},
		{[]string{"dance"}, 2, `unknown subcommand "dance"`},
		{[]string{"demo", "--help"}, 0, "--fault"},
		{[]string{"demo", "extra"}, 2, `"extra"`},
		{[]string{"demo", "--fault", "gremlins"}, 2, "drop-complete, drop-ready"},
		{[]string{"demo", "--fault", "delay=2"}, 2, "(0, 1]"},
		{[]string{"demo", "--requests", "5000"}, 2, "5000"},
		{[]string{"demo", "--trace", bad}, 2, bad},
		{[]string{"demo", "--geometry", "x"}, 2, "llama-3.1-8b"},
		{[]string{"demo", "--fault", "break-order=1", "--requests", "5", "--speed", "0", "--json"}, 1, "corrupt"},
		{[]string{"demo", "--fault", "kill-ctx=0.0001", "--requests", "2", "--speed", "0", "--json"}, 1, "struck nothing"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			cmd, _ := command(t, c.args...)
			var log bytes.Buffer
			cmd.Stderr = &log
			require.Equal(t, c.code, exitCode(cmd.Run()), log.String())
			require.Contains(t, strings.ReplaceAll(log.String(), " -fault", " --fault"), c.says)
		})
	}
}

// Ctrl-C: the table so far, both children gone.
func TestInterrupt(t *testing.T) {
	c, mark := command(t, "demo", "--json")
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, c.Start())
	time.Sleep(1500 * time.Millisecond)
	require.NoError(t, syscall.Kill(-c.Process.Pid, syscall.SIGINT)) // as a terminal does: the whole group
	require.Equal(t, 0, exitCode(c.Wait()), log.String())
	var r demo.Result
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.True(t, r.Interrupted)
	require.Empty(t, family(mark))
}

// A signal to the whole group, early or late, as terminals, supervisors and timeout
// send it: the driver ends its children in order and says what it had.
func TestGroupSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for _, at := range []time.Duration{0, 300 * time.Millisecond, time.Second} {
			c, mark := command(t, "demo", "--json")
			var out, log bytes.Buffer
			c.Stdout, c.Stderr = &out, &log
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			require.NoError(t, c.Start())
			// The children exist only after signals are caught.
			require.Eventually(t, func() bool { return len(family(mark)) > 1 }, 10*time.Second, time.Millisecond)
			time.Sleep(at)
			require.NoError(t, syscall.Kill(-c.Process.Pid, sig))
			require.Equal(t, 0, exitCode(c.Wait()), "%v after %v: %s", sig, at, log.String())
			var r demo.Result
			require.NoError(t, json.Unmarshal(out.Bytes(), &r))
			require.True(t, r.Interrupted)
			require.Empty(t, family(mark))
		}
	}
}

// A trace that never ends does not make the command deaf.
func TestEndlessTrace(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	c, _ := command(t, "demo", "--trace", fifo)
	require.NoError(t, c.Start())
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		require.Error(t, err)
	case <-time.After(10 * time.Second):
		_ = c.Process.Kill()
		t.Fatal("SIGTERM did not end it")
	}
}

// kill -9 of the driver: its children end by themselves.
func TestDriverKilled(t *testing.T) {
	c, mark := command(t, "demo", "--json")
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return len(family(mark)) == 3 }, 10*time.Second, 10*time.Millisecond)
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	require.Eventually(t, func() bool { return len(family(mark)) == 0 }, 10*time.Second, 10*time.Millisecond)
	left, err := filepath.Glob("/dev/shm/*kvsettle*")
	require.NoError(t, err)
	require.Empty(t, left)
}
