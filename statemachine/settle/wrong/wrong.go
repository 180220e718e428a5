// Package wrong names rules that break one invariant each. The zero value breaks
// nothing. Models and tests set a rule in order to see the invariant fail; no
// constructor of a machine takes one, and a test of this package proves that only
// models and tests import it.
package wrong

// Rules is a set of broken rules.
type Rules uint32

// The broken rules, by the invariant that each violates.
const (
	// IdentifyByRequestID takes a message whose request id alone matches (I1).
	IdentifyByRequestID Rules = 1 << iota
	// IgnoreEpochs takes messages of other epochs and goes on after a change (I2).
	IgnoreEpochs
	// ReadyWithoutHit answers READY to an OPEN that hits no active entry (I3).
	ReadyWithoutHit
	// CancelTwice carries a repeated cancel out again (I4).
	CancelTwice
	// NotStartedAfterCommit claims NOT_STARTED for an edge past its commit (I5).
	NotStartedAfterCommit
	// CompleteEarly claims completion before access, arrival or post-processing
	// ended (I6).
	CompleteEarly
	// DoubtIsNotStarted reads missing evidence as NOT_STARTED (I7).
	DoubtIsNotStarted
	// FreeOnTimeout frees an unproven lease when a deadline passes (I8).
	FreeOnTimeout
	// FreeOnCancel frees the lease at the moment of a cancel (I9).
	FreeOnCancel
	// UnknownTouchesReleased quarantines again what was released after success, and
	// lets go what is owned and unproven (I10).
	UnknownTouchesReleased
	// DecideAlone ends an attempt without the round of the local ranks (I11).
	DecideAlone
	// OldReachesNew takes messages of another attempt (I12).
	OldReachesNew
	// ReceiptIsEvidence takes a receipt as the peer's evidence (I13).
	ReceiptIsEvidence
	// CleanUpTwice keeps the clean-up token after its use (I14).
	CleanUpTwice
	// TimeoutDecides lets a timer end an attempt by itself (I15).
	TimeoutDecides
	// PartIsBundle completes when one part of the bundle is there (I16).
	PartIsBundle
	// NoDeadline ignores the end of every wait (B1).
	NoDeadline
	// NoRestart quarantines without asking the process to exit (B2).
	NoRestart
	// NoPause sends again without a pause and without end (B3).
	NoPause
)

// Rules that the first machines of this tree had, and that the models refuted. They
// are no part of All; the findings replay them.
const (
	// EpochAfterVerdict lets a change of the peer's epoch that is heard between a round
	// and its verdict override the verdict on that rank.
	EpochAfterVerdict Rules = 1 << (iota + 24)
	// SilentOnceCancelled lets a GEN rank that had sent no OPEN when the attempt was
	// cancelled send none, with bit 49 too.
	SilentOnceCancelled
	// EvictNoPeerEarly lets a registry evict a no-peer answer within its control
	// lifetime.
	EvictNoPeerEarly
)

// Has reports whether every rule of x is broken.
func (r Rules) Has(x Rules) bool { return x != 0 && r&x == x }

// Named is one broken rule with what it violates.
type Named struct {
	Rule Rules
	// Name is the identifier of the constant.
	Name string
	// Invariant is its id in the table of invariants.
	Invariant string
}

// All lists every broken rule in the order of the invariants. The slice is the
// caller's own.
func All() []Named {
	names := [...]struct{ name, invariant string }{
		{"IdentifyByRequestID", "I1"}, {"IgnoreEpochs", "I2"}, {"ReadyWithoutHit", "I3"},
		{"CancelTwice", "I4"}, {"NotStartedAfterCommit", "I5"}, {"CompleteEarly", "I6"},
		{"DoubtIsNotStarted", "I7"}, {"FreeOnTimeout", "I8"}, {"FreeOnCancel", "I9"},
		{"UnknownTouchesReleased", "I10"}, {"DecideAlone", "I11"}, {"OldReachesNew", "I12"},
		{"ReceiptIsEvidence", "I13"}, {"CleanUpTwice", "I14"}, {"TimeoutDecides", "I15"},
		{"PartIsBundle", "I16"}, {"NoDeadline", "B1"}, {"NoRestart", "B2"}, {"NoPause", "B3"},
	}
	out := make([]Named, 0, len(names))
	for i, n := range names {
		out = append(out, Named{Rules(1) << i, n.name, n.invariant})
	}
	return out
}
