package ctx_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// The settings of every script: small round numbers, so that timers are readable.
var settings = ctx.Settings{Admission: 1000, Context: 500, Request: 100, Control: 20}

var binding = slot.Binding{Pool: 1, Slot: 2, Generation: 3, Token: 4}

// script drives one machine by words:
//
//	start:N grant deny
//	ask:E refuse:E          a request of edge E that is acceptable, or is not
//	wrote:E ended:E         the write of edge E is final, or ended early
//	cancel abort lost:M tick
//	due                     a tick at the machine's deadline
//	+N                      N nanoseconds pass
type script struct {
	t   *testing.T
	m   ctx.Machine
	now sm.Time
}

func (s *script) input(word string) ctx.Input {
	s.t.Helper()
	name, arg, _ := strings.Cut(word, ":")
	in := ctx.Input{Now: s.now}
	var n uint64
	if arg != "" {
		var err error
		n, err = strconv.ParseUint(arg, 0, 64)
		require.NoError(s.t, err, word)
	}
	switch in.Edge = uint8(n); name {
	case "start":
		in.Kind, in.Edges, in.Settings, in.Edge = ctx.Start, uint8(n), settings, 0
	case "grant":
		in.Kind, in.Binding = ctx.Granted, binding
	case "deny":
		in.Kind, in.Reason = ctx.Denied, sm.SlotTooSmall
	case "ask":
		in.Kind, in.Value = ctx.Request, true
	case "refuse":
		in.Kind, in.Reason = ctx.Request, "layout-mismatch"
	case "wrote":
		in.Kind = ctx.Written
	case "ended":
		in.Kind, in.Reason = ctx.Ended, sm.WriteFailed
	case "cancel":
		in.Kind, in.Reason = ctx.Cancel, sm.UserCancel
	case "abort":
		in.Kind, in.Reason = ctx.Abort, sm.PoolUnhealthy
	case "lost":
		in.Kind, in.Mask = ctx.PeerLost, n
	case "tick":
		in.Kind = ctx.Tick
	case "due":
		in.Kind, in.Now = ctx.Tick, max(s.m.Deadline(), s.now)
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
	kept := ctx.Effect{Kind: ctx.Stray, Reason: "kept"}
	m, dst, err := s.m.Step(s.input(word), []ctx.Effect{kept})
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

func show(e ctx.Effect) string {
	switch e.Kind {
	case ctx.Admit:
		return "admit"
	case ctx.Publish:
		return "publish"
	case ctx.BeginSlot:
		return "begin"
	case ctx.SendReady:
		return fmt.Sprintf("ready:%d=%t", e.Edge, e.Value)
	case ctx.StartWrite:
		return fmt.Sprintf("write:%d", e.Edge)
	case ctx.StopWrite:
		return fmt.Sprintf("stop:%d", e.Edge)
	case ctx.SendSync:
		return fmt.Sprintf("sync:%d", e.Edge)
	case ctx.ReleaseSlot:
		return "release(" + proofs[e.Proof] + ")"
	case ctx.QuarantineSlot:
		return "quarantine"
	case ctx.ProveSlot:
		return "prove(" + proofs[e.Proof] + ")"
	case ctx.Withdraw:
		return "withdraw"
	case ctx.Settle:
		if e.Reason == sm.ReasonNone {
			return e.Disposition.String()
		}
		return e.Disposition.String() + "(" + string(e.Reason) + ")"
	case ctx.Timer:
		if e.At == 0 {
			return "no-timer"
		}
		return fmt.Sprintf("timer:%d", e.At)
	case ctx.Drop:
		return "drop"
	case ctx.Stray:
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
