package catalog_test

import (
	"slices"
	"testing"

	"github.com/kvsettle/kvsettle/tla/catalog"
)

// TestCompletedHasDataNoTagAge replays how the v1 world violates CompletedHasData when its rule NoTagAge is
// broken. Written by: kvmodel explain v1 CompletedHasData --mutant NoTagAge --size medium
func TestCompletedHasDataNoTagAge(t *testing.T) {
	m, err := catalog.NewWrong("v1", "medium", "NoTagAge")
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.(catalog.Replayer).Replay(t.Name(), 8, []string{
		"CtxGrant(ctx=1 req=1)",
		"CtxGrant(ctx=1 req=2)",
		"GenImport(gen=1 req=1)",
		"GenGrant(gen=1 req=1)",
		"RequestVisible(gen=1 req=1)",
		"GenRequestDeadline(gen=1 req=1)",
		"GenImport(gen=1 req=2)",
		"DeliverRequest(ctx=1 gen=1 req=1)",
		"WriteEnds(ctx=1 gen=1 req=1)",
		"Duplicate(kind=sync ctx=1 gen=1 req=1)",
		"DeliverSync(ctx=1 gen=1 req=1)",
		"GenGrant(gen=1 req=2)",
		"RequestVisible(gen=1 req=2)",
		"RequestSent(gen=1 req=2)",
		"DeliverSync(ctx=1 gen=1 req=1)",
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(r.Violated, "CompletedHasData") {
		t.Fatal(r.Violated)
	}
}
