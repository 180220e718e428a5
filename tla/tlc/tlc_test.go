package tlc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const tiny = `---- MODULE Tiny ----
EXTENDS Naturals
VARIABLES x, s, f
Init == x = 0 /\ s = {} /\ f = [i \in 1..2 |-> "a"]
Inc == x < 2 /\ x' = x + 1 /\ UNCHANGED <<s, f>>
Add == \E v \in {"p", "q"} : s' = s \cup {v} /\ UNCHANGED <<x, f>>
Quote == f' = [f EXCEPT ![1] = "say \"b\\c\""] /\ UNCHANGED <<x, s>>
Next == Inc \/ Add \/ Quote
Small == x < 2
====
`

func tools(t *testing.T) Tools {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	tt, err := Find(ctx, Options{Progress: func(s string) { t.Log(s) }})
	require.NoError(t, err)
	return tt
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(p, []byte(text), 0o600))
	return p
}

func TestRunAndDump(t *testing.T) {
	tt, dir := tools(t), t.TempDir()
	write(t, dir, "Tiny.tla", tiny)
	write(t, dir, "Tiny.cfg", "INIT Init\nNEXT Next\n")
	dump := filepath.Join(dir, "g.dot")
	o, err := Run(context.Background(), tt, Job{Dir: dir, Module: "Tiny", Config: "Tiny.cfg", Dump: dump})
	require.NoError(t, err)
	require.Equal(t, OK, o.Verdict)
	require.EqualValues(t, 24, o.Distinct) // x: 3, s: 4, f: 2
	require.Equal(t, 6, o.Depth)
	f, err := os.Open(dump)
	require.NoError(t, err)
	defer f.Close()
	states, initials, quoted := map[int64]string{}, 0, 0
	type edge struct {
		from, to int64
		action   string
	}
	edges := map[edge]bool{}
	require.NoError(t, ReadDump(f, func(id int64, text []byte, initial bool) error {
		states[id] = string(text)
		if initial {
			initials++
		}
		if strings.Contains(string(text), `"say \"b\\c\""`) {
			quoted++
		}
		return nil
	}, func(from, to int64, action string) error {
		edges[edge{from, to, action}] = true
		return nil
	}))
	require.Len(t, states, 24)
	require.Equal(t, 1, initials)
	require.Equal(t, 12, quoted)
	// Inc: 16. Add: from each of 24 states the two values, equal targets merged where
	// both are there already. Quote: 24 (self-loops included).
	require.Len(t, edges, 16+24*2-6+24)
}

func TestViolation(t *testing.T) {
	tt, dir := tools(t), t.TempDir()
	write(t, dir, "Tiny.tla", tiny)
	write(t, dir, "Bad.cfg", "INIT Init\nNEXT Next\nINVARIANT Small\n")
	o, err := Run(context.Background(), tt, Job{Dir: dir, Module: "Tiny", Config: "Bad.cfg"})
	require.NoError(t, err)
	require.Equal(t, Violated, o.Verdict)
	require.Equal(t, "Small", o.Property)
	require.Contains(t, o.Trace, "x = 2")
}

func TestUnusable(t *testing.T) {
	tt, dir := tools(t), t.TempDir()
	write(t, dir, "Tiny.tla", tiny)
	write(t, dir, "Broken.tla", "---- MODULE Broken ----\nVARIABLE x\nInit == x = \n====\n")
	write(t, dir, "Tiny.cfg", "INIT Init\nNEXT Next\n")
	write(t, dir, "Wrong.cfg", "INIT Init\nNEXT Nxet\n")
	for name, c := range map[string]struct {
		job  Job
		says string
	}{
		"syntax":         {Job{Dir: dir, Module: "Broken", Config: "Tiny.cfg"}, "line"},
		"missing module": {Job{Dir: dir, Module: "Absent", Config: "Tiny.cfg"}, "Absent"},
		"wrong config":   {Job{Dir: dir, Module: "Tiny", Config: "Wrong.cfg"}, "Nxet"},
		"missing config": {Job{Dir: dir, Module: "Tiny", Config: "None.cfg"}, "None.cfg"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Run(context.Background(), tt, c.job)
			require.ErrorIs(t, err, ErrUnusable)
			require.Contains(t, err.Error(), c.says)
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, tt, Job{Dir: dir, Module: "Tiny", Config: "Tiny.cfg"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestDumpDefects(t *testing.T) {
	nothing := func(int64, []byte, bool) error { return nil }
	noEdge := func(int64, int64, string) error { return nil }
	head := "strict digraph DiskGraph {\n"
	for name, c := range map[string]struct {
		text string
		err  error
		says string
	}{
		"empty":        {"", ErrTruncated, ""},
		"cut":          {head + "1 [label=\"x = 0\",style = filled]\n", ErrTruncated, ""},
		"cut in state": {head + "1 [label=\"x = ", ErrUnusable, "line 2"},
		"unlabelled":   {head + "1 -> 2 [color=red]\n}\n", ErrUnusable, "action label"},
		"no graph":     {"hello\n", ErrUnusable, "line 1"},
		"no target":    {head + "1 -> x\n}\n", ErrUnusable, "target"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ReadDump(strings.NewReader(c.text), nothing, noEdge)
			require.ErrorIs(t, err, c.err)
			require.ErrorIs(t, err, ErrUnusable)
			require.Contains(t, err.Error(), c.says)
		})
	}
	stop := errors.New("stop")
	require.ErrorIs(t, ReadDump(strings.NewReader(head+"1 [label=\"x\"]\n}\n"), func(int64, []byte, bool) error { return stop }, noEdge), stop)
}

func TestFindNamesTheFix(t *testing.T) {
	t.Setenv("KVSETTLE_CACHE", t.TempDir())
	t.Setenv(JarVariable, "")
	_, err := Find(context.Background(), Options{Offline: true})
	require.ErrorIs(t, err, ErrUnusable)
	require.Contains(t, err.Error(), JarVariable)
	_, err = Find(context.Background(), Options{Jar: "/nowhere/tla2tools.jar"})
	require.ErrorContains(t, err, "/nowhere/tla2tools.jar")
}
