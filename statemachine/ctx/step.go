package ctx

import (
	"cmp"
	"math"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// Step applies one input. It returns the next machine and dst with the effects
// appended. On an error the machine is returned unchanged and dst as it was.
func (m Machine) Step(in Input, dst []Effect) (Machine, []Effect, error) {
	if m.state == Retired {
		return m, dst, sm.Refuse(sm.WrongState, reqFirst, "ctx: context is retired")
	}
	if in.Kind != Start && !m.started {
		return m, dst, sm.Refuse(sm.WrongState, reqOnce, "ctx: input before start")
	}
	switch in.Kind {
	case Request, Written, Ended:
		if in.Edge >= m.edges {
			return m, dst, sm.Refuse(sm.UnknownEdge, reqSender, "ctx: edge outside the context")
		}
	}
	switch in.Kind {
	case Start:
		return m.start(in, dst)
	case Granted, Denied:
		return m.admission(in, dst)
	case Request:
		return m.request(in, dst)
	case Written, Ended:
		return m.progress(in, dst)
	case Cancel:
		return m.cancel(in, dst)
	case Abort:
		return m.abort(in, dst)
	case PeerLost:
		return m.lost(in.Now, in.Mask, sm.PeerLost, dst)
	case Tick:
		return m.tick(in, dst)
	}
	return m, dst, sm.Refuse(sm.WrongState, reqFirst, "ctx: unknown input")
}

func (m Machine) start(in Input, dst []Effect) (Machine, []Effect, error) {
	s := in.Settings
	switch {
	case m.started:
		return m, dst, sm.Refuse(sm.WrongState, reqOnce, "ctx: started twice")
	case in.Edges == 0 || in.Edges > MaxEdges:
		return m, dst, sm.Refuse(sm.UnknownEdge, reqAllFirst, "ctx: number of edges must be 1 to 64")
	case s.Admission <= 0 || s.Context <= 0 || s.Request <= 0 || s.Control <= 0:
		return m, dst, sm.Refuse(sm.BadRequest, reqBound, "ctx: every wait needs a positive bound")
	}
	m.started = true
	m.edges, m.set, m.state = in.Edges, s, Waiting
	return m.timer(in.Now, s.Admission, append(dst, Effect{Kind: Admit}))
}

func (m Machine) timer(now, d sm.Time, dst []Effect) (Machine, []Effect, error) {
	if now > math.MaxInt64-d {
		m.deadline = math.MaxInt64
	} else {
		m.deadline = now + d
	}
	return m, append(dst, Effect{Kind: Timer, At: m.deadline}), nil
}

func (m Machine) admission(in Input, dst []Effect) (Machine, []Effect, error) {
	if m.state != Waiting {
		return m, dst, sm.Refuse(sm.WrongState, reqLease, "ctx: admission answer in state "+m.state.String())
	}
	if in.Kind == Denied {
		return m.end(sm.Failed, cmp.Or(in.Reason, sm.BadRequest), append(dst, Effect{Kind: Withdraw}))
	}
	m.hasSlot, m.binding, m.state = true, in.Binding, Published
	m, dst, _ = m.timer(in.Now, m.set.Context, dst)
	return m, append(dst, Effect{Kind: Publish}), nil
}

func (m Machine) request(in Input, dst []Effect) (Machine, []Effect, error) {
	bit := uint64(1) << in.Edge
	if m.state != Published && m.state != Bound || m.bound&bit != 0 {
		// Heard before, or after the decision: the first answer stands (KS-V1-7).
		return m, append(dst, Effect{Kind: Stray, Edge: in.Edge, Reason: sm.DuplicateID}), nil
	}
	m.bound |= bit
	if !in.Value {
		m.why = cmp.Or(m.why, in.Reason, sm.BadRequest)
	}
	if m.state == Published {
		m.state = Bound
		m, dst, _ = m.timer(in.Now, m.set.Request, dst)
	}
	if m.bound != m.all() {
		return m, dst, nil
	}
	if m.why != sm.ReasonNone {
		return m.reject(sm.Rejected, m.why, dst)
	}
	// The ready commit: one step for all edges, before anybody is told.
	m.committed, m.state = true, InFlight
	dst = append(dst, Effect{Kind: BeginSlot, Binding: m.binding})
	for e := uint8(0); e < m.edges; e++ {
		dst = append(dst, Effect{Kind: SendReady, Edge: e, Value: true})
	}
	for e := uint8(0); e < m.edges; e++ {
		dst = append(dst, Effect{Kind: StartWrite, Edge: e, Binding: m.binding})
	}
	return m, dst, nil
}

// reject answers every edge that asked; those that ask later get the same answer
// from the terminal cache.
func (m Machine) reject(d sm.Disposition, reason spec.Reason, dst []Effect) (Machine, []Effect, error) {
	for e := uint8(0); e < m.edges; e++ {
		if m.bound&(1<<e) != 0 {
			dst = append(dst, Effect{Kind: SendReady, Edge: e, Value: false})
		}
	}
	return m.end(d, reason, dst)
}

func (m Machine) progress(in Input, dst []Effect) (Machine, []Effect, error) {
	bit := uint64(1) << in.Edge
	if !m.committed || (m.written|m.ended)&bit != 0 {
		return m, dst, sm.Refuse(sm.WrongState, reqSync, "ctx: end of a write that was not running")
	}
	if in.Kind == Written {
		m.written |= bit
		// Also after the deadline: the late sync is GEN's proof that its slot is quiet.
		dst = append(dst, Effect{Kind: SendSync, Edge: in.Edge})
	} else {
		m.ended |= bit
		m.why = cmp.Or(m.why, in.Reason, sm.WriteFailed)
	}
	if !m.quiet() {
		return m, dst, nil
	}
	switch {
	case m.state == Unproven:
		m.state, m.hasSlot = Retired, false
		return m, append(dst, Effect{Kind: ProveSlot, Binding: m.binding, Proof: slot.OwnWritesFinal}, Effect{Kind: Drop}), nil
	case m.ended != 0:
		return m.end(sm.Failed, m.why, dst)
	}
	return m.end(sm.Completed, sm.ReasonNone, dst)
}

func (m Machine) cancel(in Input, dst []Effect) (Machine, []Effect, error) {
	if m.result != sm.Open || m.wanted {
		return m, append(dst, Effect{Kind: Stray, Reason: sm.UserCancel}), nil
	}
	reason := cmp.Or(in.Reason, sm.UserCancel)
	switch m.state {
	case Waiting:
		return m.end(sm.Cancelled, reason, append(dst, Effect{Kind: Withdraw}))
	case Published, Bound:
		return m.reject(sm.Cancelled, reason, dst)
	}
	// After the ready commit v1 has no message that revokes: the write drains (KS-V1-10).
	m.wanted = true
	return m, append(dst, Effect{Kind: Stray, Reason: sm.UserCancel}), nil
}

func (m Machine) abort(in Input, dst []Effect) (Machine, []Effect, error) {
	reason := cmp.Or(in.Reason, sm.ShutdownCancel)
	switch m.state {
	case Waiting:
		return m.end(sm.Failed, reason, append(dst, Effect{Kind: Withdraw}))
	case Published, Bound:
		return m.reject(sm.Failed, reason, dst)
	case InFlight:
		return m.lost(in.Now, m.all(), reason, dst)
	}
	return m, dst, nil
}

// lost stops what is being written to the edges of mask.
func (m Machine) lost(now sm.Time, mask uint64, why spec.Reason, dst []Effect) (Machine, []Effect, error) {
	mask &= m.all()
	switch m.state {
	case Published, Bound:
		if m.bound&mask != 0 {
			return m.reject(sm.Failed, why, dst)
		}
		return m, dst, nil
	case InFlight, Draining, Unproven:
	default:
		return m, dst, nil
	}
	open := mask &^ (m.written | m.ended | m.stopped)
	if open == 0 {
		return m, dst, nil
	}
	m.stopped |= open
	for e := uint8(0); e < m.edges; e++ {
		if open&(1<<e) != 0 {
			dst = append(dst, Effect{Kind: StopWrite, Edge: e})
		}
	}
	if m.state != InFlight {
		return m, dst, nil
	}
	m.state = Draining
	m.why = cmp.Or(m.why, why)
	return m.timer(now, m.set.Control, dst)
}

func (m Machine) tick(in Input, dst []Effect) (Machine, []Effect, error) {
	if m.deadline == 0 || in.Now < m.deadline {
		return m, dst, nil
	}
	switch m.state {
	case Waiting:
		return m.end(sm.Failed, cmp.Or(in.Reason, sm.AdmissionDeadlineSlot), append(dst, Effect{Kind: Withdraw}))
	case Published:
		return m.end(sm.Failed, sm.ContextDeadline, dst)
	case Bound:
		return m.reject(sm.Failed, sm.RequestDeadlineBind, dst)
	case InFlight:
		return m.end(sm.Failed, sm.RequestDeadlineWrite, dst)
	case Draining:
		return m.end(sm.Failed, m.why, dst)
	}
	return m, dst, nil
}

// end settles and lets the slot go as far as proof allows.
func (m Machine) end(d sm.Disposition, reason spec.Reason, dst []Effect) (Machine, []Effect, error) {
	m.result, m.reason, m.deadline = d, reason, 0
	dst = append(dst, Effect{Kind: Timer})
	switch {
	case !m.hasSlot:
		m.state = Retired
	case !m.committed:
		m.state, m.hasSlot = Retired, false
		dst = append(dst, Effect{Kind: ReleaseSlot, Binding: m.binding, Proof: slot.NotStarted})
	case m.quiet():
		m.state, m.hasSlot = Retired, false
		dst = append(dst, Effect{Kind: ReleaseSlot, Binding: m.binding, Proof: slot.OwnWritesFinal})
	default:
		m.state = Unproven
		dst = append(dst, Effect{Kind: QuarantineSlot, Binding: m.binding})
	}
	dst = append(dst, Effect{Kind: Settle, Disposition: d, Reason: reason})
	if m.state == Retired {
		dst = append(dst, Effect{Kind: Drop})
	}
	return m, dst, nil
}
