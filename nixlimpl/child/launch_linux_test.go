package child

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary is also the child process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		os.Exit(Run(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func startOf(role string) Start {
	return Start{Role: role, Local: "on", Geometry: "llama-3.1-8b", TokensPerBlock: 32, KVBlocks: 4, Slots: 1,
		SlotBytes: 1 << 20, Budget: -1, Chunk: DefaultChunk, Workers: DefaultWorkers, Deadline: time.Second, Transport: "shm", Bare: true}
}

type launched struct {
	*Process
	reports chan Report
	exit    chan error
	log     *bytes.Buffer
}

func launch(t *testing.T, st Start) launched {
	t.Helper()
	l := launched{reports: make(chan Report, 16), exit: make(chan error, 1), log: &bytes.Buffer{}}
	var err error
	l.Process, err = Launch(os.Args[0], st, l.log, func(r Report) { l.reports <- r }, func(err error) {
		close(l.reports)
		l.exit <- err
	})
	require.NoError(t, err)
	return l
}

// next returns the next report, or the zero one when the child has ended.
func (l launched) next(t *testing.T) Report {
	t.Helper()
	select {
	case r := <-l.reports:
		return r
	case <-time.After(20 * time.Second):
		require.Fail(t, "no report")
		return Report{}
	}
}

func TestLaunchAndShutDown(t *testing.T) {
	for _, role := range []string{"ctx", "gen"} {
		l := launch(t, startOf(role))
		r := l.next(t)
		require.Equal(t, Ready, r.Op, r.Message)
		require.NotEmpty(t, r.Name)

		l.Send(Command{Op: OpVerify})
		if role == "ctx" {
			r = l.next(t)
			require.Equal(t, Refused, r.Op)
			require.Contains(t, r.Message, "GEN")
		}
		l.Send(Command{Op: OpState})
		require.Equal(t, StateReport, l.next(t).Op)
		l.Send(Command{Op: OpShutdown})
		r = l.next(t)
		require.Equal(t, Bye, r.Op)
		require.Zero(t, r.State.Canary)
		require.NoError(t, <-l.exit)
		l.Send(Command{Op: OpState}) // to nobody: nothing happens
		require.Empty(t, l.log.String())
	}
}

func TestKill(t *testing.T) {
	l := launch(t, startOf("gen"))
	require.Equal(t, Ready, l.next(t).Op)
	l.Kill()
	require.ErrorContains(t, <-l.exit, "killed")
	require.Zero(t, l.next(t))
}

func TestRefusedStart(t *testing.T) {
	for what, change := range map[string]func(*Start){
		"mode":      func(s *Start) { s.Local = "maybe" },
		"geometry":  func(s *Start) { s.Geometry = "llama-2" },
		"transport": func(s *Start) { s.Transport = "pigeon" },
		"slots":     func(s *Start) { s.Slots = 0 },
	} {
		st := startOf("ctx")
		change(&st)
		l := launch(t, st)
		r := l.next(t)
		require.Equal(t, Refused, r.Op, what)
		require.Contains(t, r.Message, what)
		require.ErrorContains(t, <-l.exit, "exit status 3")
	}
}

func TestLaunchOfNothing(t *testing.T) {
	_, err := Launch("/nonexistent/kvtransceiver", startOf("ctx"), nil, nil, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}
