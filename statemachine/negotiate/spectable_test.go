package negotiate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// cells returns the rows of a decision table of the specification.
func cells(t *testing.T, name string) [][]string {
	t.Helper()
	table, err := spec.LoadTable(name)
	require.NoError(t, err)
	var rows [][]string
	for _, r := range table.Rows {
		rows = append(rows, r.Cells)
	}
	return rows
}

func sameReason(t *testing.T, want string, got spec.Reason) {
	t.Helper()
	if want == spec.None {
		want = ""
	}
	require.Equal(t, want, string(got))
}

// TestSpecRollout compares GEN and CTX with the rollout matrix of chapter 05.
func TestSpecRollout(t *testing.T) {
	spec.Covers(t, "KS-SEL-11")
	locals := map[string]Local{"legacy": Legacy, "off": Off, "on": On}
	rows := cells(t, "rollout-matrix")
	require.Len(t, rows, 9)
	for _, row := range rows {
		t.Run(row[0]+"-"+row[1], func(t *testing.T) {
			gen, ctx := serve(t, locals[row[0]], "gen", 2), serve(t, locals[row[1]], "ctx", 2)
			g, c := GEN(gen.local, gen.d, ctx.names), CTX(ctx.local, ctx.d, gen.names)
			validation, answer, payload, reason := row[2], row[3], row[6], row[7]

			class, _, _ := strings.Cut(validation, ":")
			class, _, _ = strings.Cut(class, ",")
			require.Equal(t, strings.TrimPrefix(class, spec.None), string(g.Verdict.Class))
			action := Proceed
			if strings.HasSuffix(validation, ": reject") {
				action = ProceedExpectReject
			} else if strings.HasSuffix(validation, ": refuse") {
				action = RefuseLocally
			}
			require.Equal(t, action, g.Action)
			if g.Action == RefuseLocally {
				require.Equal(t, "not asked", answer)
				sameReason(t, reason, g.Reason)
				require.Error(t, g.Err())
			} else {
				require.NoError(t, g.Err())
				require.Equal(t, "ready="+map[CTXAction]string{Accept: "true", Reject: "false"}[c.Action], answer)
				sameReason(t, reason, c.Reason)
				require.Equal(t, c.Action == Reject, c.Err() != nil)
			}
			if g.Action == ProceedExpectReject {
				require.Equal(t, Reject, c.Action, "what GEN expects happens")
				sameReason(t, reason, g.Reason)
			}
			require.Equal(t, payload == "moves", g.Action == Proceed && c.Action == Accept)
		})
	}
}

// TestSpecValidation checks that the classes of chapter 05 are those of this
// package, in the same order and with the same reasons.
func TestSpecValidation(t *testing.T) {
	spec.Covers(t, "KS-SEL-1")
	order := []Class{
		ClassEmpty, ClassLocalRange, ClassLocalToken, ClassLocalNoCancel, ClassLocalNoReject, ClassMalformed,
		ClassLegacy, ClassMode, ClassVersion, ClassPeerNoCancel, ClassPeerNoReject, ClassOKLegacy, ClassOK,
	}
	rows := cells(t, "v1-validation")
	require.Len(t, rows, len(order))
	for i, row := range rows {
		require.Equal(t, order[i], Class(row[2]))
		sameReason(t, row[6], order[i].Reason())
	}
	// The order is real: each case breaks its own rule and all later ones that it can.
	on := descriptor.Default(descriptor.Enabled, 1)
	worst := "p" + string(descriptor.AppendRaw(nil, descriptor.Descriptor{Min: 2, Max: 2, Token: 1, Schema: 1, Mode: descriptor.Enabled}))
	other := "p" + string(descriptor.AppendRaw(nil, descriptor.Descriptor{Min: 2, Max: 2, Token: 1, Schema: 1}))
	noCaps := "p" + string(descriptor.AppendRaw(nil, descriptor.Descriptor{Min: 1, Max: 1, Token: 1, Schema: 1, Mode: descriptor.Enabled}))
	noReject := "p" + string(descriptor.AppendRaw(nil, descriptor.Descriptor{Min: 1, Max: 1, Token: 1, Schema: 1, Mode: descriptor.Enabled, Caps: descriptor.CapCancel}))
	malformed := "p__trtllm_protocol_v1__trtllm_protocol_end"
	noRange, noToken, noCancelLocal, noRejectLocal := on, on, on, on
	noRange.Min, noRange.Token, noRange.Caps = 0, 0, 0
	noToken.Token, noToken.Caps = 0, 0
	noCancelLocal.Caps, noRejectLocal.Caps = 0, descriptor.CapCancel
	for i, c := range []struct {
		local descriptor.Descriptor
		names []string
	}{
		{noRange, nil},
		{noRange, []string{malformed}},
		{noToken, []string{malformed}},
		{noCancelLocal, []string{malformed}},
		{noRejectLocal, []string{malformed}},
		{on, []string{other, "legacy", malformed}},
		{on, []string{other, "legacy"}},
		{on, []string{other, worst}},
		{on, []string{worst, other}},
		{on, []string{noCaps, other}},
		{on, []string{noReject, other}},
	} {
		require.Equal(t, order[i], ValidatePeers(c.local, c.names).Class)
	}
}

// TestSpecReasons finds every reason of this package in the one list.
func TestSpecReasons(t *testing.T) {
	listed := map[string]bool{}
	for _, row := range cells(t, "reasons") {
		listed[row[0]] = true
	}
	for _, c := range []Class{
		ClassEmpty, ClassLocalRange, ClassLocalToken, ClassLocalNoCancel, ClassLocalNoReject, ClassMalformed, ClassLegacy,
		ClassMode, ClassVersion, ClassPeerNoCancel, ClassPeerNoReject, ClassLocalNotValid, ClassLocalProfile, ClassLocalMode, "new",
	} {
		require.True(t, listed[string(c.Reason())], "%s: %q", c, c.Reason())
	}
}
