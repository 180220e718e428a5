package escalate

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/deadline"
)

// SenderConfig fixes Senders for their life.
type SenderConfig struct {
	// Limit is how many senders with faults are remembered: the number of peers that
	// the transport holds, so that it is never the smaller one.
	Limit int
	// Pause is how long a sender stays cut off at least: the control lifetime, after
	// which nothing of the broken connection can arrive.
	Pause sm.Time
	// Returns is how often an incarnation may come back after a fault within Window.
	// After that it stays cut off until a new epoch.
	Returns int
	// Window is how long a fault is remembered; not shorter than Pause.
	Window sm.Time
}

// SenderCounts are the counters of Senders.
type SenderCounts struct {
	// Known are the senders remembered, Cut those cut off now.
	Known, Cut int
	// Faults counts broken frames; Overflow those of senders for which there was no
	// room.
	Faults, Overflow uint64
}

// Senders remembers who sent broken frames (KS-CTL-19). K names a sender as the
// transport reports it, which is a claim (KS-BACK-13): so a fault costs what is bound
// to that name, and neither the process nor anybody else. It is bounded in count and
// in age, and a fault that repeats changes nothing.
type Senders[K comparable] struct {
	cfg    SenderConfig
	known  map[K]*sender
	counts SenderCounts
}

type sender struct {
	epoch   uint64
	cut     bool
	settled bool    // its bindings have been through the local decision
	until   sm.Time // not before
	last    sm.Time // last fault
	faults  int     // times it was cut off, within the window
}

// NewSenders returns an empty container. It refuses a limit or a pause that is not
// positive, a negative number of returns, and a window below the pause.
func NewSenders[K comparable](cfg SenderConfig) (*Senders[K], error) {
	if cfg.Limit < 1 || cfg.Pause <= 0 || cfg.Returns < 0 || cfg.Window < cfg.Pause {
		return nil, sm.Refuse(sm.BadRequest, reqBounds, "escalate: bounds of senders")
	}
	return &Senders[K]{cfg: cfg, known: make(map[K]*sender)}, nil
}

// Counts returns the present numbers.
func (s *Senders[K]) Counts() SenderCounts { return s.counts }

// Fault records a frame with a bad length or checksum from a sender of this epoch. It
// returns true when the sender is cut off by it: stop admitting from it first, then
// send every binding to its epoch through the local decision as doubt (OnDoubt of
// their machines). It returns false for one that is cut off already. Where there is
// no room to remember it, it returns a *statemachine.Refusal: close its connection.
func (s *Senders[K]) Fault(name K, epoch uint64, now sm.Time) (cut bool, err error) {
	s.counts.Faults++
	x := s.known[name]
	if x == nil {
		if len(s.known) >= s.cfg.Limit {
			s.counts.Overflow++
			return false, sm.Refuse(sm.RegistryFull, reqCount, "escalate: no room to remember another sender")
		}
		x = &sender{epoch: epoch}
		s.known[name] = x
		s.counts.Known++
	}
	if x.epoch != epoch {
		s.restore(x)
		*x = sender{epoch: epoch}
	}
	if x.cut {
		return false, nil
	}
	if now > deadline.After(x.last, s.cfg.Window) {
		x.faults = 0
	}
	x.last = max(x.last, now)
	x.until = deadline.After(x.last, s.cfg.Pause)
	x.cut, x.settled = true, false
	x.faults++
	s.counts.Cut++
	return true, nil
}

func (s *Senders[K]) restore(x *sender) {
	if x.cut {
		x.cut = false
		s.counts.Cut--
	}
}

// Settled records that every binding to the sender has been through the local
// decision. Before that it does not come back.
func (s *Senders[K]) Settled(name K, epoch uint64) {
	if x := s.known[name]; x != nil && x.epoch == epoch {
		x.settled = true
	}
}

// Admits says whether messages of a sender of this epoch are taken. A sender that was
// cut off comes back with a new epoch, or with the same one when its bindings are
// settled, the pause is over and it has a return left. Asking changes only that.
func (s *Senders[K]) Admits(name K, epoch uint64, now sm.Time) bool {
	x := s.known[name]
	if x == nil || !x.cut || x.epoch != epoch {
		return true
	}
	if !x.settled || !deadline.Over(x.until, now) || x.faults > s.cfg.Returns {
		return false
	}
	s.restore(x)
	return true
}

// Forget drops a sender that the transport has let go, with what was held against it:
// whoever comes under that name has to register anew. It says whether it was known.
func (s *Senders[K]) Forget(name K) bool {
	x := s.known[name]
	if x == nil {
		return false
	}
	s.restore(x)
	delete(s.known, name)
	s.counts.Known--
	return true
}

// Sweep forgets senders that are not cut off and whose last fault is older than the
// window. It returns how many were forgotten.
func (s *Senders[K]) Sweep(now sm.Time) int {
	before := len(s.known)
	// order-free: each sender is judged by itself, and only the number is seen.
	for name, x := range s.known {
		if !x.cut && now > deadline.After(x.last, s.cfg.Window) {
			delete(s.known, name)
		}
	}
	s.counts.Known = len(s.known)
	return before - len(s.known)
}
