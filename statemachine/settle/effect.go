package settle

import sm "github.com/kvsettle/kvsettle/statemachine"

// Leases says what a disposition does with the leases that are still owned.
type Leases uint8

// What can happen to leases.
const (
	// Quarantine those without proof; a proven one is freed.
	Quarantine Leases = iota
	// Free them under new generations.
	Free
	// CleanUp: the normal clean-up after success.
	CleanUp
)

// Leases returns what this disposition does with leases that are still owned.
func (t Topology) Leases() Leases {
	switch t {
	case NotStarted, Quiesced:
		return Free
	case Completed:
		return CleanUp
	}
	return Quarantine
}

// Outcome returns how the request ends. refused says that the peer refused it,
// cancelled that a cancel won before completion was committed.
func (t Topology) Outcome(refused, cancelled bool) sm.Disposition {
	switch t {
	case NotStarted:
		if refused {
			return sm.Rejected
		}
		return sm.Cancelled
	case Completed:
		if cancelled {
			return sm.Cancelled
		}
		return sm.Completed
	case Quiesced:
		return sm.Cancelled
	}
	return sm.Failed
}

// Restarts says whether the process has to fail and restart because of this
// disposition (KS-SET-10): plain v2 with a lease that nothing proves. Where bit 49
// is selected the pool's quarantine budget decides instead.
func (t Topology) Restarts(unproven, x49 bool) bool {
	return t == Unknown && unproven && !x49
}
