package gen_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// The settings of every script: small round numbers, so that timers are readable.
var settings = gen.Settings{Admission: 1000, Request: 100, Control: 20}

var binding = slot.Binding{Pool: 1, Slot: 2, Generation: 3, Token: 4}

// script drives one machine by words:
//
//	start:N[:flags]  flags: e CancelBeatsSuccess, x ExpectReject
//	grant deny refuse nothing
//	pub:E err:E doubt:E     the request of edge E was sent, was not, nobody knows
//	yes:E no:E sync:E       ready=true, ready=false, sync
//	good bad                scattered
//	cancel abort lost:M quiet:M tick
//	due                     a tick at the machine's deadline
//	+N                      N nanoseconds pass
type script struct {
	t   *testing.T
	m   gen.Machine
	now sm.Time
}

func (s *script) input(word string) gen.Input {
	s.t.Helper()
	name, arg, _ := strings.Cut(word, ":")
	arg, flags, _ := strings.Cut(arg, ":")
	in := gen.Input{Now: s.now}
	var n uint64
	if arg != "" {
		var err error
		n, err = strconv.ParseUint(arg, 0, 64)
		require.NoError(s.t, err, word)
	}
	switch in.Edge = uint8(n); name {
	case "start":
		in.Kind, in.Edges, in.Settings, in.Edge = gen.Start, uint8(n), settings, 0
		in.CancelBeatsSuccess, in.ExpectReject = strings.Contains(flags, "e"), strings.Contains(flags, "x")
	case "grant":
		in.Kind, in.Binding = gen.Granted, binding
	case "deny":
		in.Kind, in.Reason = gen.Denied, sm.SlotTooSmall
	case "refuse":
		in.Kind, in.Reason = gen.RefusedLocally, "peer-legacy"
	case "nothing":
		in.Kind = gen.Nothing
	case "pub":
		in.Kind = gen.Published
	case "err":
		in.Kind = gen.PublishError
	case "doubt":
		in.Kind = gen.PublishDoubt
	case "yes", "no":
		in.Kind, in.Value = gen.Ready, name == "yes"
	case "sync":
		in.Kind = gen.Sync
	case "good", "bad":
		in.Kind, in.Value = gen.Scattered, name == "good"
	case "cancel":
		in.Kind, in.Reason = gen.Cancel, sm.UserCancel
	case "abort":
		in.Kind, in.Reason = gen.Abort, sm.PoolUnhealthy
	case "lost", "quiet":
		in.Kind, in.Mask = gen.PeerLost, n
		if name == "quiet" {
			in.Kind = gen.PeerQuiet
		}
	case "tick":
		in.Kind = gen.Tick
	case "due":
		in.Kind, in.Now = gen.Tick, max(s.m.Deadline(), s.now)
		s.now = in.Now
	case "junk":
		in.Kind = 200
	default:
		s.t.Fatalf("no such word: %q", word)
	}
	return in
}

// step takes one word and says in one line what came of it: the new state and the
// effects, or the refusal. It checks what holds for every step.
func (s *script) step(word string) string {
	s.t.Helper()
	if n, ok := strings.CutPrefix(word, "+"); ok {
		d, err := strconv.ParseInt(n, 10, 64)
		require.NoError(s.t, err)
		s.now += sm.Time(d)
		return ""
	}
	before := s.m
	kept := gen.Effect{Kind: gen.Stray, Reason: "kept"}
	m, dst, err := s.m.Step(s.input(word), []gen.Effect{kept})
	require.Equal(s.t, kept, dst[0], "what was in dst stays")
	if err != nil {
		var r *sm.Refusal
		require.ErrorAs(s.t, err, &r)
		require.Equal(s.t, before, m, "a refused step leaves the machine as it was")
		require.Len(s.t, dst, 1, "a refused step has no effect")
		return "refused " + string(r.Reason) + " " + r.Req
	}
	s.m = m
	out := []string{m.State().String()}
	for _, e := range dst[1:] {
		out = append(out, show(e))
	}
	return strings.Join(out, " ")
}

func (s *script) all(words string) string {
	s.t.Helper()
	last := ""
	for _, w := range strings.Fields(words) {
		last = s.step(w)
	}
	return last
}

// play runs a script from the start and returns the player.
func play(t *testing.T, words string) *script {
	t.Helper()
	s := &script{t: t}
	for _, w := range strings.Fields(words) {
		require.NotContains(t, s.step(w), "refused", "set-up %q at %q", words, w)
	}
	return s
}

var proofs = map[slot.Proof]string{slot.None: "none", slot.NeverAdvertised: "never-advertised", slot.NotStarted: "not-started",
	slot.Written: "written", slot.OwnWritesFinal: "own-writes-final", slot.WriterDead: "writer-dead", slot.Settled: "settled"}

func show(e gen.Effect) string {
	switch e.Kind {
	case gen.Admit:
		return "admit"
	case gen.AdvertiseSlot:
		return "advertise"
	case gen.SendRequest:
		return fmt.Sprintf("request:%d", e.Edge)
	case gen.BeginSlot:
		return "begin"
	case gen.Scatter:
		return "scatter"
	case gen.ReleaseSlot:
		return "release(" + proofs[e.Proof] + ")"
	case gen.QuarantineSlot:
		return "quarantine"
	case gen.ProveSlot:
		return "prove(" + proofs[e.Proof] + ")"
	case gen.Withdraw:
		return "withdraw"
	case gen.Settle:
		if e.Reason == sm.ReasonNone {
			return e.Disposition.String()
		}
		return e.Disposition.String() + "(" + string(e.Reason) + ")"
	case gen.EndTag:
		return "end-tag"
	case gen.Timer:
		if e.At == 0 {
			return "no-timer"
		}
		return fmt.Sprintf("timer:%d", e.At)
	case gen.Drop:
		return "drop"
	case gen.Stray:
		return "stray(" + string(e.Reason) + ")"
	}
	return "unknown"
}

// outcomes runs each line of a table "set-up | input | result".
func outcomes(t *testing.T, table string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(table) {
		part := strings.Split(line, "|")
		if len(part) == 1 {
			continue
		}
		require.Len(t, part, 3, line)
		setup, in, want := strings.TrimSpace(part[0]), strings.TrimSpace(part[1]), strings.TrimSpace(part[2])
		s := play(t, setup)
		require.Equal(t, want, s.all(in), "%s | %s", setup, in)
		n++
	}
	require.NotZero(t, n)
}
