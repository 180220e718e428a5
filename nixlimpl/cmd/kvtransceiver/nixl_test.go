package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/internal/fetch"
	"github.com/kvsettle/kvsettle/internal/notrun"
	"github.com/kvsettle/kvsettle/nixlimpl/demo"
	"github.com/kvsettle/kvsettle/nixlimpl/internal/nixltest"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
	"github.com/kvsettle/kvsettle/spec"
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

// A file of the cached library that was changed or cut is never run; doctor says so
// and brings it back.
func TestChangedCache(t *testing.T) {
	nixltest.Need(t)
	dir, err := fetch.Have(nixl.Wheel())
	if err != nil {
		notrun.Skip(t, "the library in use is not the cache's: "+err.Error())
	}
	cache := t.TempDir()
	work := filepath.Join(cache, filepath.Base(dir))
	require.NoError(t, os.CopyFS(work, os.DirFS(dir)))
	ucs, err := filepath.Glob(filepath.Join(work, "nixl_cu13.libs", "libucs-*.so*"))
	require.NoError(t, err)
	require.NotEmpty(t, ucs)
	content, err := os.ReadFile(ucs[0])
	require.NoError(t, err)
	sums := filepath.Join(work, "SHA256SUMS")
	list, err := os.ReadFile(sums)
	require.NoError(t, err)
	changed := append([]byte(nil), content...)
	changed[len(changed)/2] ^= 1
	for name, x := range map[string]struct {
		file    string
		content []byte
	}{"changed": {ucs[0], changed}, "cut": {ucs[0], content[:len(content)/3]}, "empty list": {sums, nil}} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(x.file, x.content, 0o755))
			defer func() {
				require.NoError(t, os.WriteFile(ucs[0], content, 0o755))
				require.NoError(t, os.WriteFile(sums, list, 0o644))
			}()
			for _, args := range [][]string{{"demo", "--transport", "nixl", "--requests", "1"}, {"bench", "--transport", "nixl", "--count", "1"}, {"doctor"}} {
				c, _ := command(t, args...)
				c.Env = append(c.Env, fetch.CacheVariable+"="+cache, nixl.LibraryVariable+"=")
				text, err := c.CombinedOutput()
				require.Equal(t, exitMachine, exitCode(err), "%v: %s", args, text)
				require.Contains(t, string(text), filepath.Base(x.file))
				require.Contains(t, string(text), "doctor --fetch")
			}
		})
	}
	spec.Covers(t, "KS-BACK-1")
}

// A port that somebody has is named with the flag.
func TestListenerPortInUse(t *testing.T) {
	nixltest.Need(t)
	l, err := net.Listen("tcp4", ":41821")
	require.NoError(t, err)
	defer l.Close()
	c, _ := command(t, "demo", "--transport", "nixl", "--requests", "1", "--nixl-listen", "41821")
	text, err := c.CombinedOutput()
	require.Equal(t, exitMachine, exitCode(err), string(text))
	require.Contains(t, string(text), "41821")
	require.Contains(t, string(text), "--nixl-listen")
}

// SIGTERM while writes are late by design: the end does not wait for the deadline.
func TestInterruptOfLateWrites(t *testing.T) {
	nixltest.Need(t)
	for _, transport := range []string{"shm", "nixl"} {
		c, mark := command(t, "demo", "--transport", transport, "--json", "--fault", "late-write=1", "--deadline", "30s")
		var out, log bytes.Buffer
		c.Stdout, c.Stderr = &out, &log
		require.NoError(t, c.Start())
		require.Eventually(t, func() bool { return len(family(mark)) > 2 }, 10*time.Second, time.Millisecond)
		time.Sleep(4 * time.Second)
		begun := time.Now()
		require.NoError(t, c.Process.Signal(syscall.SIGTERM))
		require.Zero(t, exitCode(c.Wait()), "%s: %s", transport, log.String())
		took := time.Since(begun)
		t.Logf("%s: %v", transport, took)
		require.Less(t, took, 20*time.Second)
		var r demo.Result
		require.NoError(t, json.Unmarshal(out.Bytes(), &r))
		require.True(t, r.Interrupted)
		require.Zero(t, r.Unsettled)
		require.Positive(t, r.FaultsInjected["late-write"])
		require.Empty(t, family(mark))
	}
}

// The demo is one host: UCX listens on loopback only, unless the user says otherwise.
func TestDemoListensOnLoopback(t *testing.T) {
	nixltest.Need(t)
	c, mark := command(t, "demo", "--transport", "nixl", "--json")
	require.NoError(t, c.Start())
	var found []string
	require.Eventually(t, func() bool {
		found = listeners(t, family(mark))
		return len(found) >= 2 // CTX and GEN at least
	}, 20*time.Second, 50*time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	_ = c.Wait()
	for _, l := range found {
		require.True(t, strings.HasPrefix(l, "0100007F:"), "listens on %s", l)
	}
	spec.Covers(t, "KS-SEC-2")
}

// listeners lists the TCP addresses, as the kernel writes them, on which processes
// (their environ files) listen.
func listeners(t *testing.T, environs []string) []string {
	t.Helper()
	inodes := map[string]bool{}
	for _, e := range environs {
		fds, _ := filepath.Glob(filepath.Join(filepath.Dir(e), "fd", "*"))
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil {
				inodes[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
			}
		}
	}
	var out []string
	table, err := os.ReadFile("/proc/net/tcp")
	require.NoError(t, err)
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && inodes[f[9]] {
			out = append(out, f[1])
		}
	}
	return out
}
