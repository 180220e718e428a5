package round

import (
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	wire "github.com/kvsettle/kvsettle/wire/round"
)

// MaxRanks is the largest number of local ranks of one service.
const MaxRanks = 4

// Phase is how far the attempt has come by the decisions of earlier rounds. It is
// the same on every rank, because all of them saw the same decisions.
type Phase uint8

// The phases.
const (
	// Admission: CTX has not bound, GEN has not admitted.
	Admission Phase = iota
	// Ready: before every edge is READY_DECIDED.
	Ready
	// Data: READY_DECIDED or later.
	Data
	// Settling: a cancel or a doubt was decided; the ranks reduce their evidence.
	Settling
)

// Session is what every rank must agree on besides the ticket (KS-RND-6).
type Session struct {
	Mode    descriptor.Mode
	Version uint16
	Caps    descriptor.Caps
	ABI     uint64
	Digest  [32]byte
}

// Contribution is what one rank says about one attempt in one round. The zero
// value says nothing.
type Contribution struct {
	// Intent is 0 where the rank has nothing to say.
	Intent wire.Intent
	// Evidence is what the rank claims for all of its edges; 0 for none.
	Evidence control.Evidence
	// Publication is how far a GEN rank's OPEN may have got.
	Publication wire.Publication
	// GenAttempt is the authoritative GEN rank's proposal; 0 elsewhere.
	GenAttempt uint64
	Session    Session
}

// View is everything that decides about one attempt in one round.
type View struct {
	Phase Phase
	// Committed: completion was committed on all ranks in an earlier round.
	Committed bool
	// X49: capability bit 49 is selected.
	X49 bool
	// Ranks is the number of local ranks, 1 to MaxRanks.
	Ranks uint8
	// Absent holds the ranks that had not entered at round-deadline.
	Absent uint8
	// By holds one contribution per rank.
	By [MaxRanks]Contribution
}

// Decision is what a round decides about one attempt.
type Decision uint8

// The decisions.
const (
	// Wait: nothing is decided; contribute again in the next round.
	Wait Decision = iota
	// Adopt: a sibling wants to end the attempt and some rank has said nothing yet.
	// Each rank marks its edges and contributes CANCEL with its evidence next time
	// (KS-RND-9). Nothing else changes.
	Adopt
	// GoOn: all ranks agree to the next step: bind, admit or install.
	GoOn
	// Refuse: rejected before admission, the same on every rank.
	Refuse
	// EndNotStarted: no READY; nobody committed.
	EndNotStarted
	// EndUnknown: no READY, or what was committed is in doubt.
	EndUnknown
	// EndDrain: committed edges are sealed and drained (bit 49).
	EndDrain
	// Commit: completion is committed on all ranks.
	Commit
	// KeepEvidence: completion was committed earlier; reduce with the peers.
	KeepEvidence
	// Reduced: the disposition of all ranks is in Topology.
	Reduced
)

// Row is the row of the table of round decisions that applied.
type Row uint8

// The rows in the order of the table. NoRow is for Wait and Adopt, and for the
// reduction of the ranks, which follows the table of topologies.
const (
	NoRow Row = iota
	RowMissing
	RowConflict
	RowTwoAttempts
	RowEarlierCompletion
	RowCancelBefore
	RowCancelBeforeDoubt
	RowCancelComplete
	RowCancelAfter
	RowUneven
	RowComplete
	RowAdmit
	numRows
)

// String returns the id of the row; empty for NoRow.
func (r Row) String() string {
	ids := [numRows]string{"", "round-missing", "round-conflict", "round-two-attempts",
		"round-earlier-completion", "round-cancel-before", "round-cancel-before-doubt",
		"round-cancel-complete", "round-cancel-after", "round-uneven", "round-complete", "round-admit"}
	if r < numRows {
		return ids[r]
	}
	return "invalid"
}

// Verdict is the result of Decide.
type Verdict struct {
	Decision Decision
	Row      Row
	// Topology counts with Reduced.
	Topology settle.Topology
	// GenAttempt is the one that was proposed; 0 if none was.
	GenAttempt uint64
	// Cancelled: some rank contributed CANCEL.
	Cancelled bool
	// AllReject: every rank contributed REJECT with LOCAL_NOT_STARTED.
	AllReject bool
	// AllUnset: no rank can have published an OPEN (KS-GEN-3).
	AllUnset bool
}

// tally is one pass over the contributions.
type tally struct {
	admit, cancel, complete, reject, silent uint8
	unproven                                bool // a rank does not prove that it did not commit
	notStarted                              uint8
	conflict, twoAttempts                   bool
}

func (v *View) count(d *Verdict) (t tally) {
	var first *Contribution
	d.AllUnset = true
	for i := range v.Ranks {
		c := &v.By[i]
		if c.Publication != wire.Unset {
			d.AllUnset = false
		}
		switch c.Intent {
		case 0:
			t.silent++
			continue
		case wire.Admit:
			t.admit++
		case wire.Cancel:
			t.cancel++
		case wire.Complete:
			t.complete++
		case wire.Reject:
			t.reject++
		default:
			t.conflict = true
		}
		if c.Evidence == control.NotStarted {
			t.notStarted++
		} else if c.Evidence != settle.Missing || c.Intent != wire.Admit || v.Phase != Admission {
			t.unproven = true
		}
		if c.GenAttempt != 0 {
			if d.GenAttempt != 0 && d.GenAttempt != c.GenAttempt {
				t.twoAttempts = true
			}
			d.GenAttempt = c.GenAttempt
		}
		if first == nil {
			first = c
		} else if c.Session != first.Session {
			t.conflict = true
		}
	}
	// COMPLETE before any commit contradicts what all ranks decided together.
	if t.complete > 0 && v.Phase < Data || t.twoAttempts && v.Phase != Admission {
		t.conflict = true
	}
	d.Cancelled = t.cancel > 0
	d.AllReject = t.reject == v.Ranks && t.notStarted == v.Ranks
	return t
}

// Decide applies the first row of the table of round decisions that fits
// (KS-RND-6). It changes nothing and allocates nothing. A view without ranks, or
// with more than MaxRanks, is decided as UNKNOWN.
func Decide(v *View) (d Verdict) {
	if v.Ranks == 0 || v.Ranks > MaxRanks || v.Phase > Settling {
		d.Decision, d.Row = EndUnknown, RowConflict
		return d
	}
	t := v.count(&d)
	absent := v.Absent&(1<<v.Ranks-1) != 0
	if absent {
		d.AllUnset, d.AllReject = false, false
	}
	if v.Phase == Settling {
		return v.reduce(d, t, absent)
	}
	before := v.Phase < Data
	ending := t.cancel+t.reject > 0
	switch {
	case absent:
		d.Row, d.Decision = RowMissing, EndUnknown
		if v.Phase == Admission {
			d.Decision = Refuse
		}
	case t.conflict:
		d.Row, d.Decision = RowConflict, EndUnknown
		if v.Phase == Admission {
			d.Decision = Refuse
		}
	case t.twoAttempts:
		d.Row, d.Decision = RowTwoAttempts, Refuse
	case ending && v.Committed:
		d.Row, d.Decision = RowEarlierCompletion, KeepEvidence
	case ending && before:
		v.endBefore(&d, t)
	case ending && t.complete > 0:
		d.Row, d.Decision = RowCancelComplete, v.doubt()
	case ending:
		d.Row, d.Decision = RowCancelAfter, v.doubt()
	case t.complete == v.Ranks:
		d.Row, d.Decision = RowComplete, Commit
	case t.complete > 0:
		d.Row, d.Decision = RowUneven, EndUnknown
		if v.X49 {
			d.Decision = Wait
		}
	case before && t.admit == v.Ranks:
		d.Row, d.Decision = RowAdmit, GoOn
	}
	return d
}

func (v *View) doubt() Decision {
	if v.X49 {
		return EndDrain
	}
	return EndUnknown
}

// endBefore decides CANCEL and REJECT before the commit. A rank that says nothing
// before admission has done nothing; one that says nothing later gets one more
// round to say what it can prove.
func (v *View) endBefore(d *Verdict, t tally) {
	switch {
	case t.silent > 0 && v.Phase == Ready:
		d.Decision = Adopt
	case t.unproven:
		d.Row, d.Decision = RowCancelBeforeDoubt, EndUnknown
		if v.Phase == Ready {
			d.Decision = v.doubt()
		}
	default:
		d.Row, d.Decision = RowCancelBefore, EndNotStarted
	}
}

// reduce combines the dispositions of the ranks' own edges.
func (v *View) reduce(d Verdict, t tally, absent bool) Verdict {
	switch {
	case absent || t.conflict:
		d.Decision, d.Topology = Reduced, settle.Unknown
		return d
	case t.silent > 0:
		d.Decision = Wait
		return d
	}
	var sum settle.Sum
	for i := range v.Ranks {
		sum = sum.Add(settle.FromEvidence(v.By[i].Evidence).AsResult())
	}
	d.Decision, d.Topology = Reduced, sum.Topology(true, v.X49)
	return d
}
