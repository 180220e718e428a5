package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/fault"
	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/policy"
)

// The test binary is also the child process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		os.Exit(child.Run(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// logBuffer takes the logs of several children at once.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func options(t *testing.T, faults ...string) (Options, *logBuffer) {
	t.Helper()
	o := Defaults()
	o.Requests, o.Speed, o.Deadline = 60, 0, 600*time.Millisecond
	log := &logBuffer{}
	o.Log = log
	for _, f := range faults {
		s, err := fault.Parse(f)
		require.NoError(t, err)
		o.Faults = append(o.Faults, s)
	}
	return o, log
}

func run(t *testing.T, o Options) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	res, err := Run(ctx, o)
	require.NoError(t, err)
	return res
}

// sound is what must hold in every run that does not break the transport.
func sound(t *testing.T, o Options, r *Result, log *logBuffer) {
	t.Helper()
	require.Empty(t, r.Broken, log.String())
	require.Equal(t, r.Requests, r.Dispositions.total())
	require.Zero(t, r.Unsettled)
	require.Zero(t, r.BlocksCorrupt)
	require.Zero(t, r.CanaryViolations)
	for _, f := range o.Faults {
		require.Positive(t, r.FaultsInjected[f.Name], "%s struck nothing", f.Name)
	}
	c, g := r.Slots.CTX, r.Slots.GEN
	require.Equal(t, o.Slots, c.Free+c.Quarantined)
	require.Equal(t, o.Slots, g.Free+g.Quarantined)
	require.Zero(t, c.Leased+g.Leased)
	require.NotContains(t, log.String(), "panic")
}

func TestPlainRun(t *testing.T) {
	o, log := options(t)
	o.Requests, o.Deadline = 0, 10*time.Second
	r := run(t, o)
	sound(t, o, r, log)
	require.Equal(t, 100, r.Dispositions.Completed)
	require.Equal(t, o.Slots, r.Slots.CTX.Free)
	require.Equal(t, o.Slots, r.Slots.GEN.Free)
	require.Equal(t, int64(r.BlocksVerified)*32*1024, r.Bytes)
	require.Positive(t, r.LatencyMS.P50)
	require.Less(t, r.PeakBytes, int64(2<<30))
	t.Logf("%.1f MB, %.2f GB/s, p50 %.1f ms, cpu %v, peak %d MB", float64(r.Bytes)/1e6, r.GBPerS, float64(r.LatencyMS.P50), r.CPUSeconds, r.PeakBytes>>20)
	spec.Covers(t, "KS-SLOT-1", "KS-SLOT-10", "KS-STG-1", "KS-BACK-2")
}

func TestEachFault(t *testing.T) {
	for _, name := range fault.Names() {
		if fault.Breaks(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o, log := options(t, name)
			switch name {
			case fault.Delay, fault.Duplicate, fault.Reorder, fault.DropReady:
				o.Deadline = 10 * time.Second // nobody waits for it; a busy machine must not trip it
			}
			r := run(t, o)
			sound(t, o, r, log)
			switch name {
			case fault.KillCTX:
				require.Equal(t, 1, r.RestartsBy["ctx"])
				require.Equal(t, o.Slots, r.Slots.GEN.Free, "the dead writer's slots come back on proof")
			case fault.KillGEN:
				require.Equal(t, 1, r.RestartsBy["gen"])
			case fault.Delay, fault.Duplicate, fault.Reorder, fault.DropReady:
				require.Equal(t, r.Requests, r.Dispositions.Completed)
			}
			t.Logf("%+v %v struck %v restarts %v", r.Dispositions, r.Reasons, r.FaultsInjected, r.RestartsBy)
		})
	}
	spec.Covers(t, "KS-V1-7", "KS-V1-15", "KS-V1-25", "KS-SLOT-5", "KS-BACK-4")
}

func TestAllFaultsTogether(t *testing.T) {
	var all []string
	for _, name := range fault.Names() {
		if !fault.Breaks(name) {
			all = append(all, name)
		}
	}
	for seed := range uint64(3) {
		o, log := options(t, all...)
		o.Requests, o.Seed = 100, seed
		r := run(t, o)
		sound(t, o, r, log)
		t.Logf("seed %d: %+v %v restarts %v", seed, r.Dispositions, r.Reasons, r.Restarts)
	}
}

// A transport that breaks its own promise must be caught.
func TestBrokenTransportIsCaught(t *testing.T) {
	for _, name := range []string{fault.BreakOrder, fault.BreakRelease} {
		t.Run(name, func(t *testing.T) {
			o, _ := options(t, name)
			r := run(t, o)
			require.Positive(t, r.FaultsInjected[name])
			require.Positive(t, r.BlocksCorrupt+r.CanaryViolations)
			require.NotEmpty(t, r.Broken)
		})
	}
	spec.Covers(t, "KS-SLOT-10")
}

// No completion ever arrives: every request ends at its deadline, with a reason
// that names the setting, and nobody spins meanwhile.
func TestEveryCompletionLost(t *testing.T) {
	o, log := options(t, fault.DropComplete+"=1")
	o.Requests = 16
	r := run(t, o)
	sound(t, o, r, log)
	require.Equal(t, 16, r.Dispositions.Failed)
	require.Positive(t, r.Reasons["request-deadline-completion"])
	require.Equal(t, 16, r.Reasons["request-deadline-completion"]+r.Reasons["pool-unhealthy"])
	t.Logf("%.2f s wall, cpu %v, restarts %v", r.Seconds, r.CPUSeconds, r.Restarts)
	spec.Covers(t, "KS-TIME-1", "KS-TIME-2")
}

// The rollout table with two processes: outcome, reason and payload per cell.
func TestMatrix(t *testing.T) {
	type cell struct{ ctx, gen, reason string }
	for _, c := range []cell{
		{"legacy", "legacy", ""}, {"legacy", "off", ""}, {"legacy", "on", "peer-legacy"},
		{"off", "legacy", ""}, {"off", "off", ""}, {"off", "on", "peer-mode-mismatch"},
		{"on", "legacy", "peer-rejected"}, {"on", "off", "peer-mode-mismatch"}, {"on", "on", ""},
	} {
		t.Run("ctx-"+c.ctx+"-gen-"+c.gen, func(t *testing.T) {
			o, log := options(t)
			o.Requests, o.CTXMode, o.GENMode, o.Slots = 3, c.ctx, c.gen, 3
			r := run(t, o)
			sound(t, o, r, log)
			require.Equal(t, []string{c.ctx, c.gen}, []string{r.CTXMode, r.GENMode})
			if c.reason == "" {
				require.Equal(t, 3, r.Dispositions.Completed)
				require.Positive(t, r.Bytes)
				return
			}
			require.Equal(t, 3, r.Dispositions.Rejected)
			require.Empty(t, cmp.Diff(map[string]int{c.reason: 3}, r.Reasons))
			require.Zero(t, r.Bytes, "payload moved in a refused cell")
		})
	}
}

// afterSome is a progress bar that calls f once ten requests have ended.
type afterSome func()

func (f afterSome) Write(b []byte) (int, error) {
	var done, all int
	if _, text, ok := bytes.Cut(b, []byte("] ")); ok {
		if n, _ := fmt.Sscanf(string(text), "%d/%d", &done, &all); n == 2 && done >= 10 {
			f()
		}
	}
	return len(b), nil
}

func TestInterrupted(t *testing.T) {
	o, log := options(t)
	o.Requests, o.Speed, o.Deadline = 0, 4, 10*time.Second
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.Progress = afterSome(cancel)
	r, err := Run(ctx, o)
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Empty(t, r.Broken, log.String())
	require.Less(t, r.Dispositions.total(), 100)
	require.Positive(t, r.Dispositions.Completed)
	left, err := filepath.Glob("/dev/shm/*kvsettle*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestUsage(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	require.NoError(t, os.WriteFile(bad, []byte("{\"timestamp\": 0, \"input_length\": -4, \"output_length\": 1, \"hash_ids\": [1]}\n"), 0o600))
	for name, c := range map[string]struct {
		spoil func(*Options)
		says  []string
	}{
		"too many":      {func(o *Options) { o.Requests = 101 }, []string{"101", "100"}},
		"no such trace": {func(o *Options) { o.Trace = "/nowhere/x.jsonl" }, []string{"/nowhere/x.jsonl"}},
		"bad line":      {func(o *Options) { o.Trace, o.Requests = bad, 0 }, []string{bad, "1", "input_length", "KS-TRC"}},
		"geometry":      {func(o *Options) { o.Geometry = "gpt-2" }, []string{"gpt-2", "llama-3.1-8b", "deepseek-v3"}},
		"mode":          {func(o *Options) { o.CTXMode = "maybe" }, []string{"--ctx-mode", "on, off, legacy"}},
		"variable":      {func(o *Options) { o.Variable = policy.Setting{Set: true, Value: "yes"} }, []string{"yes"}},
		"slots":         {func(o *Options) { o.Slots = 0 }, []string{"--slots"}},
		"budget":        {func(o *Options) { o.Budget = 99 }, []string{"--quarantine-budget"}},
		"speed":         {func(o *Options) { o.Speed = -1 }, []string{"--speed"}},
		"deadline":      {func(o *Options) { o.Deadline = time.Millisecond }, []string{"--deadline"}},
		"tokens":        {func(o *Options) { o.TokensPerBlock = 33 }, []string{"33"}},
		"concurrency":   {func(o *Options) { o.Concurrency = 0 }, []string{"--concurrency"}},
		"transport":     {func(o *Options) { o.Transport = "pigeon" }, []string{"pigeon", "shm"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := options(t)
			o.Exe = "/nowhere/nothing-must-be-started"
			c.spoil(&o)
			_, err := Run(context.Background(), o)
			var u *UsageError
			require.ErrorAs(t, err, &u)
			for _, s := range c.says {
				require.Contains(t, err.Error(), s)
			}
		})
	}
}

func TestVariableDecides(t *testing.T) {
	o, _ := options(t)
	o.Variable = policy.Setting{Set: true, Value: "0"}
	p, err := check(o)
	require.NoError(t, err)
	require.Equal(t, []string{"off", "off", "variable"}, []string{p.CTXMode, p.GENMode, p.ctxSource})
	o.GENMode = "on"
	p, err = check(o)
	require.NoError(t, err)
	require.Equal(t, []string{"off", "on", "flag"}, []string{p.CTXMode, p.GENMode, p.genSource})
	spec.Covers(t, "KS-POL-3")
}

func TestCannotStart(t *testing.T) {
	o, _ := options(t)
	o.Exe = "/nowhere/kvtransceiver"
	_, err := Run(context.Background(), o)
	require.ErrorContains(t, err, "/nowhere/kvtransceiver")
	var u *UsageError
	require.NotErrorAs(t, err, &u)
}

func TestTableAndJSON(t *testing.T) {
	r := &Result{Requests: 2, Dispositions: Dispositions{Completed: 1, Failed: 1}, Reasons: map[string]int{"peer-lost": 1},
		FaultsInjected: map[string]int{"kill-ctx": 1}, RestartsBy: map[string]int{"ctx": 1, "gen": 0},
		CPUSeconds: map[string]Float{"ctx": 1.23456, "gen": 0}, LatencyMS: Latency{P50: 1.5}, Broken: []string{"something"}}
	var b bytes.Buffer
	require.NoError(t, r.Table(&b))
	for _, s := range []string{"peer-lost", "kill-ctx", "BROKEN: something", "p50 1.5 ms"} {
		require.Contains(t, b.String(), s)
	}
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	for _, k := range []string{"requests", "dispositions", "reasons", "unsettled", "faults_injected", "bytes", "seconds", "gb_per_s",
		"latency_ms", "blocks_verified", "blocks_corrupt", "canary_violations", "block_cache", "slots", "restarts", "restarts_by", "cpu_seconds",
		"peak_bytes", "transport", "memory", "ctx_mode", "gen_mode", "seed", "interrupted"} {
		require.Contains(t, string(raw), `"`+k+`":`)
	}
	require.Contains(t, string(raw), `"ctx":1.235`)
	require.False(t, strings.Contains(string(raw), "Broken"))
}

func TestTooMuchMemory(t *testing.T) {
	o, _ := options(t)
	o.Slots, o.SlotBytes = 65536, 1<<30
	_, err := Prepare(o)
	require.ErrorContains(t, err, "GiB")
	var u *UsageError
	require.NotErrorAs(t, err, &u, "a larger machine could do it")
}

// Children that never get up do not hold up an interrupt.
func TestInterruptOfAStuckStart(t *testing.T) {
	o := Defaults()
	o.Exe = filepath.Join(t.TempDir(), "stuck")
	require.NoError(t, os.WriteFile(o.Exe, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755))
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	r, err := Run(ctx, o)
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Empty(t, r.Broken)
	require.Less(t, time.Since(begun), 5*time.Second)
}
