package statemachine_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
)

func TestDisposition(t *testing.T) {
	words := map[sm.Disposition]string{sm.Open: "open", sm.Completed: "completed", sm.Rejected: "rejected",
		sm.Cancelled: "cancelled", sm.Failed: "failed", sm.Failed + 1: "invalid", 255: "invalid"}
	for d, want := range words {
		require.Equal(t, want, d.String())
	}
	require.Equal(t, sm.Open, sm.Disposition(0))
}

func TestRefusal(t *testing.T) {
	err := sm.Refuse(sm.WrongState, "KS-V1-15", "what in which state")
	require.EqualError(t, err, "what in which state: wrong-state (KS-V1-15)")
	wrapped := fmt.Errorf("service: %w", err)
	require.ErrorIs(t, wrapped, &sm.Refusal{Reason: sm.WrongState})
	require.NotErrorIs(t, wrapped, &sm.Refusal{Reason: sm.NoProof})
	require.NotErrorIs(t, wrapped, errors.New("wrong-state"))
	var r *sm.Refusal
	require.ErrorAs(t, wrapped, &r)
	require.Equal(t, &sm.Refusal{Reason: sm.WrongState, Req: "KS-V1-15", What: "what in which state"}, r)
}

// TestReasons: the codes have the form of all codes, no two are alike, each stands
// in the one list, and one that ends a wait begins with its setting.
func TestReasons(t *testing.T) {
	spec.Covers(t, "KS-RSN-1", "KS-RSN-2", "KS-TIME-1")
	form := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	all := []spec.Reason{sm.AdmissionDeadlineSlot, sm.AdmissionDeadlineTag, sm.AdmissionDeadlineBlock, sm.RequestDeadlineReady,
		sm.RequestDeadlineData, sm.RequestDeadlineLocal, sm.RequestDeadlineBind, sm.RequestDeadlineWrite, sm.ContextDeadline, sm.UserCancel,
		sm.ShutdownCancel, sm.PeerRejected, sm.MixedReadiness, sm.ConflictingReady, sm.UnexpectedReady, sm.PublishFailed, sm.PeerLost,
		sm.WriteFailed, sm.VerifyFailed, sm.SlotTooSmall, sm.SlotsExhausted, sm.PoolUnhealthy, sm.PoolClosed, sm.StaleGeneration,
		sm.NotOwner, sm.NoProof, sm.WrongState, sm.UnknownEdge, sm.GenerationExhausted, sm.DuplicateID, sm.RegistryFull, sm.TagBusy,
		sm.UnknownContext, sm.ContextEnded, sm.BadRequest}
	seen := map[spec.Reason]bool{}
	for _, r := range all {
		require.Regexp(t, form, string(r))
		require.False(t, seen[r], r)
		seen[r] = true
		info, ok := spec.Known(r)
		require.True(t, ok, r)
		if info.Area == "time" {
			require.Regexp(t, `^(admission|request|context)-deadline`, string(r))
		}
	}
	require.Empty(t, sm.ReasonNone)
}

func ExampleRefuse() {
	err := sm.Refuse(sm.NoProof, "KS-SLOT-4", "release without proof")
	fmt.Println(err)
	fmt.Println(errors.Is(err, &sm.Refusal{Reason: sm.NoProof}))
	// Output:
	// release without proof: no-proof (KS-SLOT-4)
	// true
}
