package settle

import (
	"math"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
)

// Wait names what an endpoint can wait for. The machines hold no point in time:
// they arm and disarm waits by name, and hear of the end of one as an input.
type Wait uint8

// The waits, by the settings that bound them (table of waits).
const (
	// AdmissionWait: GEN for registry, round and slot.
	AdmissionWait Wait = iota
	// ContextWait: CTX for an attempt that binds.
	ContextWait
	// RequestWait: from the first OPEN to completion.
	RequestWait
	// SoftWait: GEN, before it asks for a completion (bit 48).
	SoftWait
	// ControlWait: for the end of a cancel or terminal exchange, and the drain.
	ControlWait
	// RetryWait: the pause before something is sent again.
	RetryWait
	// RetentionWait: no message of the key for so long that its metadata may retire.
	RetentionWait
	// NumWaits is how many there are.
	NumWaits
)

// String returns the name of the setting that bounds the wait.
func (w Wait) String() string {
	names := [NumWaits]string{"admission-deadline", "context-deadline", "request-deadline",
		"soft-deadline", "control-deadline", "retry-first", "retention"}
	if w < NumWaits {
		return names[w]
	}
	return "invalid"
}

// Settings are the bounds of the waits, in nanoseconds, all positive.
type Settings struct {
	Admission, Context, Request, Soft, Control sm.Time
	// RetryFirst doubles up to RetryMax.
	RetryFirst, RetryMax sm.Time
	// Queue and Replay are the allowances of the control lifetime (KS-REG-9).
	Queue, Replay sm.Time
	// Retention is how long CTX keeps SOURCE_COMPLETE (bit 48).
	Retention sm.Time
}

// Check refuses bounds that are not positive or in the wrong order (KS-TIME-16).
func (s Settings) Check() error {
	for _, d := range [...]sm.Time{s.Admission, s.Context, s.Request, s.Soft, s.Control,
		s.RetryFirst, s.RetryMax, s.Queue, s.Replay, s.Retention} {
		if d <= 0 {
			return sm.Refuse(sm.BadRequest, reqPositive, "settle: every wait needs a positive bound")
		}
	}
	if s.Soft >= s.Request || s.RetryFirst > s.RetryMax {
		return sm.Refuse(sm.BadRequest, reqOrder, "settle: soft below request and retry-first not above retry-max")
	}
	return nil
}

// Lifetime is the control lifetime (KS-REG-9).
func (s Settings) Lifetime() sm.Time { return add(add(s.Control, s.Queue), s.Replay) }

// Length is how long a wait lasts. step counts the re-sends that went before and
// matters for RetryWait only (KS-REG-13).
func (s Settings) Length(w Wait, step uint8) sm.Time {
	switch w {
	case AdmissionWait:
		return s.Admission
	case ContextWait:
		return s.Context
	case RequestWait:
		return s.Request
	case SoftWait:
		return s.Soft
	case ControlWait:
		return s.Control
	case RetryWait:
		if step > 62 || s.RetryFirst > s.RetryMax>>step {
			return s.RetryMax
		}
		return s.RetryFirst << step
	case RetentionWait:
		return max(s.Retention, add(s.Control, s.Lifetime()))
	}
	return 0
}

// Clip shortens GEN's request deadline H, counted from its first OPEN, so that H
// plus control-deadline plus queue-allowance is at most retention (KS-REC-14). It
// never returns less than 1 ns.
func (s Settings) Clip(retention sm.Time) sm.Time {
	return max(1, min(s.Request, retention-add(s.Control, s.Queue)))
}

func add(a, b sm.Time) sm.Time {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Alarms holds the points in time at which the armed waits of one machine end. It
// is for the caller of a machine; the zero value has none armed.
type Alarms struct {
	at    [NumWaits]sm.Time
	armed uint8
}

// Arm sets a wait to end length after now. An armed wait is replaced.
func (a *Alarms) Arm(w Wait, now, length sm.Time) {
	if w < NumWaits {
		a.at[w], a.armed = add(now, length), a.armed|1<<w
	}
}

// Limit moves an armed wait to an earlier end; a later one changes nothing
// (KS-TIME-11).
func (a *Alarms) Limit(w Wait, end sm.Time) {
	if w < NumWaits && a.armed&(1<<w) != 0 && end < a.at[w] {
		a.at[w] = end
	}
}

// Disarm ends a wait without its input.
func (a *Alarms) Disarm(w Wait) {
	if w < NumWaits {
		a.armed &^= 1 << w
		a.at[w] = 0
	}
}

// Next returns the wait that ends first and when; ok is false if none is armed.
// Of equal ends the first in the order of the constants counts.
func (a *Alarms) Next() (w Wait, at sm.Time, ok bool) {
	for i := range NumWaits {
		if a.armed&(1<<i) != 0 && (!ok || a.at[i] < at) {
			w, at, ok = i, a.at[i], true
		}
	}
	return w, at, ok
}

// Cause is why an attempt is being ended; a small value for the machines' state.
type Cause uint8

// The causes.
const (
	NoCause Cause = iota
	ByUser
	ByShutdown
	ByAdmissionDeadline
	ByContextDeadline
	ByRequestDeadline
	ByControlDeadline
	ByRound
	ByPeer
	ByPeerRefusal
	ByPeerUnknown
	ByMixture
	ByEpoch
	ByProtocol
	ByPublish
	ByWrite
	ByVerify
	ByRanks
	ByIncompatible
	BySlot
	// BySibling: another local rank wants to end the attempt.
	BySibling
	numCauses
)

// Reason returns the stable code of the cause.
func (c Cause) Reason() spec.Reason {
	codes := [numCauses]spec.Reason{
		sm.ReasonNone, sm.UserCancel, sm.ShutdownCancel, sm.AdmissionDeadlineSlot, sm.ContextDeadline,
		sm.RequestDeadlineData, ControlDeadline, RoundDeadline, sm.UserCancel, sm.PeerRejected,
		PeerUnknown, sm.MixedReadiness, StaleEpoch, ProtocolError, sm.PublishFailed, sm.WriteFailed,
		sm.VerifyFailed, RankMismatch, sm.BadRequest, sm.SlotsExhausted, sm.UserCancel,
	}
	if c < numCauses {
		return codes[c]
	}
	return sm.BadRequest
}

// Cancels says whether the cause is a wish to end, not a doubt: such an attempt
// contributes CANCEL, the others REJECT.
func (c Cause) Cancels() bool {
	switch c {
	case ByUser, ByShutdown, ByPeer, BySibling, ByContextDeadline, ByAdmissionDeadline, ByRequestDeadline:
		return true
	}
	return false
}
