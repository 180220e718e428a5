package simulate

import sm "github.com/kvsettle/kvsettle/statemachine"

// Verdict counts what the judges found. All of it must be zero.
type Verdict struct {
	// Hangs are requests that stayed open past their bound, and processes that
	// outlived unknown-restart-deadline.
	Hangs int `json:"hangs"`
	// UnsafeReuse are slots that were free, or leased anew, while a posted write could
	// reach them, and writes that met such a slot.
	UnsafeReuse int `json:"unsafe_reuse"`
	// LostSlots are slots that nobody owned at the end and that were not free.
	LostSlots int `json:"lost_slots"`
	// DoubleCleanup are leases that were ended twice, or by somebody else.
	DoubleCleanup int `json:"double_cleanup"`
	// Outcomes are admitted requests that did not get exactly one outcome on a side
	// whose process lived.
	Outcomes int `json:"wrong_outcomes"`
	// FalseSuccess are completed requests whose data was not all there.
	FalseSuccess int `json:"false_success"`
	// Disagree are ranks of one service of which one completed and one did not (v2).
	Disagree int `json:"ranks_disagree"`
	// NoAuthority are answers with authority for a ticket that is not registered.
	NoAuthority int `json:"no_authority"`
}

// Bad is the sum.
func (v Verdict) Bad() int {
	return v.Hangs + v.UnsafeReuse + v.LostSlots + v.DoubleCleanup + v.Outcomes + v.FalseSuccess + v.Disagree + v.NoAuthority
}

func (v *Verdict) add(o *Verdict) {
	v.Hangs += o.Hangs
	v.UnsafeReuse += o.UnsafeReuse
	v.LostSlots += o.LostSlots
	v.DoubleCleanup += o.DoubleCleanup
	v.Outcomes += o.Outcomes
	v.FalseSuccess += o.FalseSuccess
	v.Disagree += o.Disagree
	v.NoAuthority += o.NoAuthority
}

// Ends counts how transfers ended. Every transfer is in exactly one of Completed,
// Rejected, Cancelled, Failed, Refused and Lost, by what GEN told its user.
type Ends struct {
	Completed int `json:"completed"`
	// Recovered are those of Completed that GEN had to ask for (bit 48).
	Recovered int `json:"recovered"`
	Rejected  int `json:"rejected"`
	Cancelled int `json:"cancelled"`
	// Quiesced are those that ended by the evidence of bit 49.
	Quiesced int `json:"quiesced"`
	Failed   int `json:"failed"`
	// Unknown are those with a lease that nothing had proven when they ended.
	Unknown int `json:"unknown"`
	// Refused were never admitted at GEN, because a service was down or unhealthy.
	Refused int `json:"refused"`
	// Lost were open when GEN's process ended.
	Lost int `json:"lost"`
}

func (e *Ends) add(o *Ends) {
	e.Completed += o.Completed
	e.Recovered += o.Recovered
	e.Rejected += o.Rejected
	e.Cancelled += o.Cancelled
	e.Quiesced += o.Quiesced
	e.Failed += o.Failed
	e.Unknown += o.Unknown
	e.Refused += o.Refused
	e.Lost += o.Lost
}

// ByKind is a number for each kind of fault.
type ByKind [NumKinds]int

// Map returns the numbers that are not zero by name.
func (b *ByKind) Map() map[string]int {
	m := map[string]int{}
	for k, n := range b {
		if n != 0 {
			m[Kind(k).String()] = n
		}
	}
	return m
}

// Sum of all.
func (b *ByKind) Sum() (n int) {
	for _, v := range b {
		n += v
	}
	return n
}

func (b *ByKind) add(o *ByKind) {
	for i := range b {
		b[i] += o[i]
	}
}

// Result is what one run, or many, came to.
type Result struct {
	Verdict
	Ends
	// Restarts are processes that had to exit, by the fault of the attempt that asked
	// first; Asked counts every attempt that asked. Crashes are planned.
	Restarts, Asked ByKind
	Crashes         int
	// Applied are faults that found what they were meant for. InFlight are user cancels
	// that found the attempt past its ready commit, by kind.
	Applied, InFlight ByKind
	// Held are slots in quarantine at the end, within the budget.
	Held int
	// Transfers, events and messages of all runs.
	Transfers, Events, Messages int
	// First is the first thing that a judge found.
	First string
}

// Add sums o into r.
func (r *Result) Add(o *Result) {
	r.Verdict.add(&o.Verdict)
	r.Ends.add(&o.Ends)
	r.Restarts.add(&o.Restarts)
	r.Asked.add(&o.Asked)
	r.Applied.add(&o.Applied)
	r.InFlight.add(&o.InFlight)
	r.Crashes += o.Crashes
	r.Held += o.Held
	r.Transfers += o.Transfers
	r.Events += o.Events
	r.Messages += o.Messages
	if r.First == "" {
		r.First = o.First
	}
}

// blame gives a process that has to exit to a kind of fault.
func (s *Sim) blame(x uint16) Kind {
	xf := &s.xs[x]
	best := NoFault
	for _, f := range s.sch.Faults[xf.first : xf.first+xf.faults] {
		// What the attempt met last in this list tells least about it.
		if best == NoFault || order[f.Kind] < order[best] {
			best = f.Kind
		}
	}
	if best == NoFault && xf.caught {
		return Collateral
	}
	return best
}

// order says which of several faults of one transfer is taken for the cause.
var order = [NumKinds]uint8{Release: 1, WriteFail: 2, SendFail: 3, LostNotice: 4, WrongBlock: 5, CancelGen: 6, CancelCtx: 7, Corrupt: 8,
	SlowWrite: 9, Drop: 10, Delay: 11, Refuse: 12, Mismatch: 13, Reorder: 14, Duplicate: 15}

// bound is how long a request may be open on a side.
func (s *Sim) bound(side int) sm.Time {
	t := s.set.Request + s.set.Control + s.slack + 2*Second
	switch {
	case side == genSide:
		return t + s.set.Admission
	case s.sch.Dialect.V2():
		return t + s.set.Context // a seat of v2 begins with its lease
	}
	return t + s.set.Admission + s.set.Context
}
