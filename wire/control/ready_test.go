package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

// TestReadyRules lists what a READY may hold, written and read.
func TestReadyRules(t *testing.T) {
	spec.Covers(t, "KS-CTL-15", "KS-CTL-16", "KS-REC-3")
	k, ok := keyItem(), any(nil)
	decision := func(v byte) tlv { return tlv{3, 1, []byte{v}} }
	evidence := func(v byte) tlv { return tlv{5, 1, []byte{v}} }
	contract, retention := tlv{0x8003, 1, be32(7)}, tlv{0x8007, 1, be32(9)}
	for name, c := range map[string]struct {
		d     Dialect
		want  any
		items []tlv
	}{
		"ready":                         {plain, ok, []tlv{k, decision(1)}},
		"ready with evidence":           {plain, wire.ReasonForbidden, []tlv{k, decision(1), evidence(1)}},
		"not ready":                     {plain, ok, []tlv{k, decision(2), evidence(1)}},
		"not ready, unknown":            {plain, ok, []tlv{k, decision(2), evidence(4)}},
		"not ready without evidence":    {plain, wire.ReasonMissing, []tlv{k, decision(2)}},
		"not ready, complete":           {plain, wire.ReasonBadValue, []tlv{k, decision(2), evidence(2)}},
		"not ready, quiesced":           {both, wire.ReasonBadValue, []tlv{k, decision(2), evidence(0x81)}},
		"not ready, evidence 0":         {plain, wire.ReasonBadValue, []tlv{k, decision(2), evidence(0)}},
		"decision 0":                    {plain, wire.ReasonBadValue, []tlv{k, decision(0)}},
		"decision 3":                    {plain, wire.ReasonBadValue, []tlv{k, decision(3)}},
		"contract in plain v2":          {plain, wire.ReasonUnknownRequired, []tlv{k, decision(1), contract, retention}},
		"contract with bit 48":          {recovers, ok, []tlv{k, decision(1), contract, retention}},
		"contract with bit 49":          {quiesces, ok, []tlv{k, decision(1), contract, retention}},
		"no contract with bit 48":       {recovers, wire.ReasonMissing, []tlv{k, decision(1)}},
		"no contract with bit 49":       {quiesces, wire.ReasonMissing, []tlv{k, decision(1)}},
		"contract without retention":    {both, wire.ReasonMissing, []tlv{k, decision(1), contract}},
		"retention without contract":    {both, wire.ReasonMissing, []tlv{k, decision(1), retention}},
		"not ready with contract":       {both, wire.ReasonForbidden, []tlv{k, decision(2), evidence(1), contract, retention}},
		"not ready with bits 48 and 49": {both, ok, []tlv{k, decision(2), evidence(1)}},
	} {
		_, err := read(frame(1, 2, 1, payload(c.items...)), c.d)
		if c.want == ok {
			require.NoError(t, err, name)
			continue
		}
		requireReason(t, c.want, err, name)
	}
}

func TestReadyWriterRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		d Dialect
		m Ready
	}{
		"evidence with ready":      {plain, Ready{Decision: DecisionReady, Evidence: NotStarted}},
		"no evidence":              {plain, Ready{Decision: DecisionNotReady}},
		"complete":                 {plain, Ready{Decision: DecisionNotReady, Evidence: SourceComplete}},
		"no decision":              {plain, Ready{}},
		"contract in plain v2":     {plain, Ready{Decision: DecisionReady, Contract: 1}},
		"retention in plain v2":    {plain, Ready{Decision: DecisionReady, RetentionMS: 1}},
		"contract with not ready":  {both, Ready{Decision: DecisionNotReady, Evidence: Unknown, Contract: 1}},
		"retention with not ready": {both, Ready{Decision: DecisionNotReady, Evidence: Unknown, RetentionMS: 1}},
	} {
		c.m.ID, c.m.Key = 1, goldenKey()
		dst, err := AppendReady([]byte("kept"), c.d, &c.m)
		require.Error(t, err, name)
		require.Equal(t, "kept", string(dst))
	}
}
