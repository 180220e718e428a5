package settle_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle"
)

var defaults = settle.Settings{Admission: 30e9, Context: 60e9, Request: 10e9, Soft: 2.5e9, Control: 2e9,
	RetryFirst: 50e6, RetryMax: 1e9, Queue: 1e9, Replay: 1e9, Retention: 15e9}

func TestWaitsAreSettings(t *testing.T) {
	spec.Covers(t, "KS-TIME-1", "KS-REG-9")
	tab := table(t, "waits")
	for w := range settle.NumWaits {
		_, ok := tab.Row(w.String())
		require.True(t, ok, "%v is no setting", w)
		require.Positive(t, defaults.Length(w, 0), "%v", w)
	}
	require.Equal(t, "invalid", settle.NumWaits.String())
	require.Zero(t, defaults.Length(settle.NumWaits, 0))
	require.EqualValues(t, 4e9, defaults.Lifetime())
	require.EqualValues(t, 15e9, defaults.Length(settle.RetentionWait, 0))
	short := defaults
	short.Retention = 1
	require.EqualValues(t, 6e9, short.Length(settle.RetentionWait, 0), "control deadline and control lifetime")
}

func TestRetryDoublesUpToItsBound(t *testing.T) {
	spec.Covers(t, "KS-REG-13")
	want := []sm.Time{50e6, 100e6, 200e6, 400e6, 800e6, 1e9, 1e9}
	for i, d := range want {
		require.Equal(t, d, defaults.Length(settle.RetryWait, uint8(i)))
	}
	for step := range 256 {
		d := defaults.Length(settle.RetryWait, uint8(step))
		require.Positive(t, d)
		require.LessOrEqual(t, d, defaults.RetryMax)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	spec.Covers(t, "KS-TIME-16")
	require.NoError(t, defaults.Check())
	for name, change := range map[string]func(*settle.Settings){
		"zero":  func(s *settle.Settings) { s.Queue = 0 },
		"soft":  func(s *settle.Settings) { s.Soft = s.Request },
		"retry": func(s *settle.Settings) { s.RetryFirst = s.RetryMax + 1 },
	} {
		s := defaults
		change(&s)
		var r *sm.Refusal
		require.True(t, errors.As(s.Check(), &r), name)
		require.NotEmpty(t, r.Req)
	}
}

func TestClip(t *testing.T) {
	spec.Covers(t, "KS-REC-14")
	rapid.Check(t, func(t *rapid.T) {
		s := defaults
		s.Request = sm.Time(rapid.Int64Range(1, 60e9).Draw(t, "request"))
		retention := sm.Time(rapid.Int64Range(1, 60e9).Draw(t, "retention"))
		h := s.Clip(retention)
		require.Positive(t, h)
		require.LessOrEqual(t, h, s.Request)
		if retention > s.Control+s.Queue {
			require.LessOrEqual(t, h+s.Control+s.Queue, retention)
		}
	})
}

func TestAlarms(t *testing.T) {
	spec.Covers(t, "KS-TIME-11")
	var a settle.Alarms
	_, _, ok := a.Next()
	require.False(t, ok)
	a.Arm(settle.ControlWait, 10, 5)
	a.Arm(settle.RetryWait, 10, 2)
	w, at, ok := a.Next()
	require.True(t, ok)
	require.Equal(t, settle.RetryWait, w)
	require.EqualValues(t, 12, at)
	a.Limit(settle.ControlWait, 11)
	a.Limit(settle.ControlWait, 100)
	a.Limit(settle.SoftWait, 1)
	w, at, _ = a.Next()
	require.Equal(t, settle.ControlWait, w)
	require.EqualValues(t, 11, at, "earlier only")
	a.Disarm(settle.ControlWait)
	a.Disarm(settle.RetryWait)
	_, _, ok = a.Next()
	require.False(t, ok)
	require.Equal(t, settle.Alarms{}, a)
	a.Arm(settle.RequestWait, math.MaxInt64-1, 100)
	_, at, _ = a.Next()
	require.EqualValues(t, math.MaxInt64, at)
	a.Arm(settle.NumWaits, 0, 1)
	a.Disarm(settle.NumWaits)
	a.Limit(settle.NumWaits, 0)
}

func TestCausesHaveReasons(t *testing.T) {
	spec.Covers(t, "KS-RSN-1")
	for c := settle.ByUser; c <= settle.BySibling; c++ {
		_, ok := spec.Known(c.Reason())
		require.True(t, ok, "cause %d: %q", c, c.Reason())
	}
	require.Empty(t, settle.NoCause.Reason())
	require.NotEmpty(t, settle.Cause(200).Reason())
	require.True(t, settle.ByUser.Cancels())
	require.False(t, settle.ByEpoch.Cancels())
}

func TestMatch(t *testing.T) {
	spec.Covers(t, "KS-ID-1", "KS-ID-2", "KS-ID-3", "KS-ID-17")
	require.NoError(t, settle.Exact.Check())
	for m := range int(settle.Exact) {
		err := settle.Match(m).Check()
		var r *sm.Refusal
		require.True(t, errors.As(err, &r), "%b", m)
		require.NotEmpty(t, r.Reason)
	}
	for part, reason := range map[settle.Match]spec.Reason{
		settle.SameRequest: settle.UnknownTicket, settle.SameTicket: settle.UnknownTicket,
		settle.SameAttempt: settle.TicketBound, settle.SameEpochs: settle.StaleEpoch,
		settle.SameRanks: settle.ProtocolError, settle.SameDigest: settle.ProtocolError, settle.SameSelection: settle.ProtocolError,
	} {
		err := (settle.Exact &^ part).Check()
		require.ErrorIs(t, err, &sm.Refusal{Reason: reason})
	}
}

func TestContract(t *testing.T) {
	spec.Covers(t, "KS-QUI-2")
	require.True(t, (settle.Visible | settle.SuccessQuiet).MayQuiesce())
	require.False(t, (settle.Visible | settle.ErrorQuiet).MayQuiesce())
	require.False(t, settle.SuccessQuiet.MayQuiesce())
}
