package gen

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
		return m, dst, sm.Refuse(sm.WrongState, reqFirst, "gen: attempt is retired")
	}
	if in.Kind != Start && !m.started {
		return m, dst, sm.Refuse(sm.WrongState, reqOnce, "gen: input before start")
	}
	if edgeInput(in.Kind) && in.Edge >= m.edges {
		return m, dst, sm.Refuse(sm.UnknownEdge, reqMatch, "gen: edge outside the attempt")
	}
	switch in.Kind {
	case Start:
		return m.start(in, dst)
	case RefusedLocally, Nothing, Granted, Denied:
		return m.admission(in, dst)
	case Published, PublishError, PublishDoubt:
		return m.published(in, dst)
	case Ready:
		return m.answer(in, dst)
	case Sync:
		return m.sync(in, dst)
	case Scattered:
		return m.scattered(in, dst)
	case Cancel:
		return m.cancel(in, dst)
	case Abort:
		return m.abort(in, dst)
	case PeerLost, PeerQuiet:
		return m.peer(in, dst)
	case Tick:
		return m.tick(in, dst)
	}
	return m, dst, sm.Refuse(sm.WrongState, reqFirst, "gen: unknown input")
}

func edgeInput(k Kind) bool {
	switch k {
	case Published, PublishError, PublishDoubt, Ready, Sync:
		return true
	}
	return false
}

func (m Machine) start(in Input, dst []Effect) (Machine, []Effect, error) {
	if m.started {
		return m, dst, sm.Refuse(sm.WrongState, reqOnce, "gen: started twice")
	}
	if in.Edges == 0 || in.Edges > MaxEdges {
		return m, dst, sm.Refuse(sm.UnknownEdge, reqValidate, "gen: number of edges must be 1 to 64")
	}
	if in.Settings.Admission <= 0 || in.Settings.Request <= 0 || in.Settings.Control <= 0 {
		return m, dst, sm.Refuse(sm.BadRequest, reqBound, "gen: every wait needs a positive bound")
	}
	m.started = true
	m.edges, m.set = in.Edges, in.Settings
	m.cancels, m.expects = in.CancelBeatsSuccess, in.ExpectReject
	m.state = Waiting
	return m.timer(in.Now, m.set.Admission, append(dst, Effect{Kind: Admit}))
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
		return m, dst, sm.Refuse(sm.WrongState, reqValidate, "gen: admission answer in state "+m.state.String())
	}
	switch in.Kind {
	case Nothing:
		return m.end(sm.Completed, sm.ReasonNone, append(dst, Effect{Kind: Withdraw}))
	case RefusedLocally:
		return m.end(sm.Rejected, cmp.Or(in.Reason, sm.BadRequest), append(dst, Effect{Kind: Withdraw}))
	case Denied:
		return m.end(sm.Failed, cmp.Or(in.Reason, sm.BadRequest), append(dst, Effect{Kind: Withdraw}))
	}
	m.hasSlot, m.binding = true, in.Binding
	m.state = Publishing
	dst = append(dst, Effect{Kind: AdvertiseSlot, Binding: m.binding})
	m, dst, _ = m.timer(in.Now, m.set.Request, dst)
	return m.publishNext(dst)
}

// publishNext marks the edge as possibly told before the notify call is made: the
// call may be observed before it returns.
func (m Machine) publishNext(dst []Effect) (Machine, []Effect, error) {
	m.asked |= 1 << m.next
	return m, append(dst, Effect{Kind: SendRequest, Edge: m.next}), nil
}

func (m Machine) published(in Input, dst []Effect) (Machine, []Effect, error) {
	if in.Edge != m.next || m.asked&(1<<in.Edge) == 0 {
		return m, dst, sm.Refuse(sm.WrongState, reqFanOut, "gen: answer for a request that was not being sent")
	}
	if in.Kind == PublishError && (m.ready|m.refused|m.synced)&(1<<in.Edge) != 0 {
		// It was heard all the same; then the error was not definite.
		in.Kind = PublishDoubt
	}
	m.next++
	if in.Kind == PublishError {
		m.asked &^= 1 << in.Edge
	}
	// The fan-out goes on after a failure, or a peer that was told never hears of an end.
	more := m.next < m.edges && m.state == Publishing
	if in.Kind != Published && m.result == sm.Open {
		m.note(sm.PublishFailed)
	}
	if more {
		return m.publishNext(dst)
	}
	if m.state == Publishing {
		switch {
		case m.reason == sm.PeerLost || m.quiet&m.asked&^m.synced != 0:
			return m.drain(in.Now, dst)
		case m.reason != sm.ReasonNone:
			return m.fail(m.reason, dst)
		}
		m.state = RequestSent
		if m.wanted && m.cancels {
			m.state = CancelPending
		}
		return m.progress(dst)
	}
	return m.settleProof(dst)
}

// settleProof uses new evidence in an attempt that no longer waits for data.
func (m Machine) settleProof(dst []Effect) (Machine, []Effect, error) {
	switch m.state {
	case Unproven:
		return m.proveLate(dst)
	case Draining:
		if m.isProven() {
			return m.fail(m.reason, dst)
		}
		return m, dst, nil
	}
	return m.progress(dst)
}

// note keeps the first reason only (KS-V1-15).
func (m *Machine) note(r spec.Reason) {
	if m.reason == sm.ReasonNone {
		m.reason = r
	}
}

func (m Machine) answer(in Input, dst []Effect) (Machine, []Effect, error) {
	bit := uint64(1) << in.Edge
	if m.asked&bit == 0 {
		return m, append(dst, Effect{Kind: Stray, Edge: in.Edge, Reason: sm.UnknownEdge}), nil
	}
	already := m.ready | m.refused
	if in.Value {
		already |= m.synced
	}
	switch {
	case in.Value && m.refused&bit != 0, !in.Value && (m.ready|m.synced)&bit != 0:
		return m.conflict(in.Edge, dst)
	case already&bit != 0:
		return m, append(dst, Effect{Kind: Stray, Edge: in.Edge, Reason: sm.DuplicateID}), nil
	}
	if in.Value {
		m.ready |= bit
	} else {
		m.refused |= bit
	}
	return m.settleProof(dst)
}

func (m Machine) sync(in Input, dst []Effect) (Machine, []Effect, error) {
	bit := uint64(1) << in.Edge
	switch {
	case m.asked&bit == 0:
		return m, append(dst, Effect{Kind: Stray, Edge: in.Edge, Reason: sm.UnknownEdge}), nil
	case m.synced&bit != 0:
		return m, append(dst, Effect{Kind: Stray, Edge: in.Edge, Reason: sm.DuplicateID}), nil
	case m.refused&bit != 0:
		return m.conflict(in.Edge, dst)
	}
	// A sync is sent only after the write, and the write only after ready=true: it
	// stands for a ready that was lost or overtaken.
	m.synced |= bit
	return m.settleProof(dst)
}

// conflict: an edge that says both can be trusted in neither (KS-V1-24).
func (m Machine) conflict(edge uint8, dst []Effect) (Machine, []Effect, error) {
	m.tainted |= 1 << edge
	dst = append(dst, Effect{Kind: Stray, Edge: edge, Reason: sm.ConflictingReady})
	switch {
	case m.result != sm.Open:
		return m, dst, nil
	case m.state == Publishing:
		// The fan-out must be finished first; published() goes on from there.
		m.note(sm.ConflictingReady)
		return m, dst, nil
	}
	return m.fail(sm.ConflictingReady, dst)
}

// progress looks at the answers of an attempt that is still open.
func (m Machine) progress(dst []Effect) (Machine, []Effect, error) {
	if m.state != RequestSent && m.state != InFlight && m.state != CancelPending {
		return m, dst, nil
	}
	all, yes := m.all(), m.ready|m.synced
	switch {
	case m.expects && yes != 0 && m.state != CancelPending:
		// The peer promised to reject; whatever it writes now is nothing that we can use.
		return m.fail(sm.UnexpectedReady, dst)
	case m.refused == all:
		if m.wanted {
			return m.end(sm.Cancelled, m.wantedBy, dst)
		}
		return m.end(sm.Rejected, sm.PeerRejected, dst)
	case m.refused != 0 && yes != 0:
		if m.wanted {
			// The user is gone; only proof is still of interest.
			if m.isProven() {
				return m.end(sm.Cancelled, m.wantedBy, dst)
			}
			return m, dst, nil
		}
		return m.fail(sm.MixedReadiness, dst)
	case m.synced == all:
		if m.wanted && m.cancels {
			return m.end(sm.Cancelled, m.wantedBy, dst)
		}
		if m.state != InFlight {
			dst = append(dst, Effect{Kind: BeginSlot, Binding: m.binding})
		}
		m.state, m.local = Scattering, true
		return m, append(dst, Effect{Kind: Scatter, Binding: m.binding}), nil
	case yes == all && m.state == RequestSent:
		m.state = InFlight
		return m, append(dst, Effect{Kind: BeginSlot, Binding: m.binding}), nil
	}
	return m, dst, nil
}

func (m Machine) scattered(in Input, dst []Effect) (Machine, []Effect, error) {
	if !m.local {
		return m, dst, sm.Refuse(sm.WrongState, reqComplete, "gen: scatter ended that was not running")
	}
	m.local = false
	if m.result != sm.Open {
		// The outcome came first; with the local work the last hold on the slot ends.
		m, dst = m.letGo(dst)
		return m.retired(dst)
	}
	switch {
	case m.wanted && m.cancels:
		return m.end(sm.Cancelled, m.wantedBy, dst)
	case !in.Value:
		return m.end(sm.Failed, sm.VerifyFailed, dst)
	}
	return m.end(sm.Completed, sm.ReasonNone, dst)
}

func (m Machine) cancel(in Input, dst []Effect) (Machine, []Effect, error) {
	if m.result != sm.Open || m.wanted {
		return m, append(dst, Effect{Kind: Stray, Reason: sm.UserCancel}), nil
	}
	m.wanted, m.wantedBy = true, cmp.Or(in.Reason, sm.UserCancel)
	switch m.state {
	case Waiting:
		return m.end(sm.Cancelled, m.wantedBy, append(dst, Effect{Kind: Withdraw}))
	case RequestSent, InFlight:
		if m.cancels {
			m.state = CancelPending
		}
		return m.progress(dst)
	}
	return m, dst, nil
}

func (m Machine) abort(in Input, dst []Effect) (Machine, []Effect, error) {
	reason := cmp.Or(in.Reason, sm.ShutdownCancel)
	switch {
	case m.result != sm.Open:
		return m, dst, nil
	case m.state == Waiting:
		return m.end(sm.Failed, reason, append(dst, Effect{Kind: Withdraw}))
	case m.state == Publishing:
		m.note(reason)
		return m, dst, nil
	}
	return m.fail(reason, dst)
}

func (m Machine) peer(in Input, dst []Effect) (Machine, []Effect, error) {
	// An edge that was not asked yet counts too: it will be, and says nothing then.
	mask := in.Mask & m.all()
	if in.Kind == PeerQuiet {
		m.quiet |= mask
	}
	switch m.state {
	case Publishing:
		// The fan-out must be finished first; published() goes on from there.
		if mask&^m.synced != 0 {
			m.note(sm.PeerLost)
		}
		return m, dst, nil
	case RequestSent, InFlight, CancelPending:
		if mask&^m.synced == 0 {
			return m, dst, nil
		}
		return m.drain(in.Now, dst)
	case Draining, Unproven:
		return m.settleProof(dst)
	}
	return m, dst, nil
}

// drain gives the adaptor the control deadline to prove that a lost peer is quiet,
// so that a plain restart of CTX costs no quarantine.
func (m Machine) drain(now sm.Time, dst []Effect) (Machine, []Effect, error) {
	m.note(sm.PeerLost)
	m.state = Draining
	if m.isProven() {
		return m.fail(m.reason, dst)
	}
	return m.timer(now, m.set.Control, dst)
}

func (m Machine) tick(in Input, dst []Effect) (Machine, []Effect, error) {
	if m.deadline == 0 || in.Now < m.deadline || m.result != sm.Open {
		return m, dst, nil
	}
	if m.state == Waiting {
		return m.end(sm.Failed, cmp.Or(in.Reason, sm.AdmissionDeadlineSlot), append(dst, Effect{Kind: Withdraw}))
	}
	if m.state == Draining {
		return m.fail(m.reason, dst)
	}
	return m.fail(m.missing(), dst)
}

// fail ends an attempt whose slot may have been advertised.
func (m Machine) fail(reason spec.Reason, dst []Effect) (Machine, []Effect, error) {
	m.note(reason)
	if m.wanted {
		return m.end(sm.Cancelled, m.wantedBy, dst)
	}
	return m.end(sm.Failed, m.reason, dst)
}

// end settles with the user and lets the slot go as far as proof allows.
func (m Machine) end(d sm.Disposition, reason spec.Reason, dst []Effect) (Machine, []Effect, error) {
	m.result, m.reason, m.deadline = d, reason, 0
	dst = append(dst, Effect{Kind: Timer})
	if !m.local {
		// While local work reads the slot it stays ours: Scattered brings the rest.
		m, dst = m.letGo(dst)
	}
	return m.retired(append(dst, Effect{Kind: Settle, Disposition: d, Reason: reason}))
}

// retired adds the last effect of a machine that has no obligations left.
func (m Machine) retired(dst []Effect) (Machine, []Effect, error) {
	if m.state == Retired {
		dst = append(dst, Effect{Kind: Drop})
	}
	return m, dst, nil
}

// letGo frees the slot on proof and quarantines it without.
func (m Machine) letGo(dst []Effect) (Machine, []Effect) {
	switch {
	case !m.hasSlot:
		m.state = Retired
		return m, dst
	case m.isProven():
		m.state, m.hasSlot = Retired, false
		return m, append(dst, Effect{Kind: ReleaseSlot, Binding: m.binding, Proof: m.proof()}, Effect{Kind: EndTag})
	}
	m.state = Unproven
	return m, append(dst, Effect{Kind: QuarantineSlot, Binding: m.binding})
}

// proveLate returns the quarantined slot once the last edge is proven (KS-SLOT-6).
func (m Machine) proveLate(dst []Effect) (Machine, []Effect, error) {
	if !m.isProven() || m.local {
		return m, dst, nil
	}
	p := m.proof()
	if p == slot.NeverAdvertised {
		p = slot.Settled
	}
	m.state, m.hasSlot = Retired, false
	return m.retired(append(dst, Effect{Kind: ProveSlot, Binding: m.binding, Proof: p}, Effect{Kind: EndTag}))
}
