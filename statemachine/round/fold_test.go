package round_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/round"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	wire "github.com/kvsettle/kvsettle/wire/round"
)

var ticket = identity.Ticket{RequestID: 1, InstanceEpoch: 2, Attempt: 3, Direction: 1}

func entry(i wire.Intent, e control.Evidence) wire.Entry {
	return wire.Entry{Ticket: ticket, Intent: i, Evidence: e, Mode: descriptor.Enabled, Version: 1}
}

func TestFold(t *testing.T) {
	spec.Covers(t, "KS-RND-9", "KS-SET-4")
	other := entry(wire.Cancel, control.Unknown)
	other.Ticket.RequestID = 99
	digest := entry(wire.Admit, 0)
	digest.Digest[0] = 1
	ack := entry(wire.Cancel, control.NotStarted)
	ack.Publication = wire.Acked
	for name, c := range map[string]struct {
		in       []wire.Entry
		intent   wire.Intent
		evidence control.Evidence
	}{
		"nothing":         {nil, 0, 0},
		"another ticket":  {[]wire.Entry{other}, 0, 0},
		"one":             {[]wire.Entry{other, entry(wire.Admit, 0)}, wire.Admit, 0},
		"edges alike":     {[]wire.Entry{entry(wire.Admit, control.NotStarted), entry(wire.Admit, control.NotStarted)}, wire.Admit, control.NotStarted},
		"cancel of one":   {[]wire.Entry{entry(wire.Admit, control.NotStarted), ack}, wire.Cancel, control.NotStarted},
		"one in doubt":    {[]wire.Entry{entry(wire.Cancel, control.NotStarted), entry(wire.Cancel, control.Unknown)}, wire.Cancel, control.Unknown},
		"one says none":   {[]wire.Entry{entry(wire.Cancel, control.NotStarted), entry(wire.Admit, 0)}, wire.Cancel, control.Unknown},
		"complete":        {[]wire.Entry{entry(wire.Complete, control.SourceComplete), entry(wire.Complete, control.SourceComplete)}, wire.Complete, control.SourceComplete},
		"contradiction":   {[]wire.Entry{entry(wire.Complete, control.SourceComplete), entry(wire.Admit, 0)}, wire.Reject, control.Unknown},
		"other topology":  {[]wire.Entry{entry(wire.Admit, 0), digest}, wire.Reject, control.Unknown},
		"drained and new": {[]wire.Entry{entry(wire.Cancel, control.Quiesced), entry(wire.Cancel, control.NotStarted)}, wire.Cancel, control.Quiesced},
	} {
		got := round.Fold(c.in, ticket)
		require.Equal(t, c.intent, got.Intent, name)
		require.Equal(t, c.evidence, got.Evidence, name)
	}
	require.Equal(t, wire.Acked, round.Fold([]wire.Entry{entry(wire.Admit, control.NotStarted), ack}, ticket).Publication)
}

// TestEntryIsTheInverse: what a rank contributes comes back from its payload.
func TestEntryIsTheInverse(t *testing.T) {
	spec.Covers(t, "KS-RND-2")
	rapid.Check(t, func(t *rapid.T) {
		c := round.Contribution{
			Intent:      wire.Intent(rapid.IntRange(1, 4).Draw(t, "intent")),
			Evidence:    rapid.SampledFrom([]control.Evidence{1, 2, 4, 0x81}).Draw(t, "evidence"),
			Publication: wire.Publication(rapid.IntRange(0, 3).Draw(t, "publication")),
			GenAttempt:  rapid.Uint64().Draw(t, "attempt"),
			Session:     round.Session{Mode: descriptor.Enabled, Version: 1, Caps: 7, ABI: 1},
		}
		p := wire.Payload{Round: 4, Entries: []wire.Entry{c.Entry(ticket)}}
		b, err := wire.Append(nil, &p)
		require.NoError(t, err)
		back, err := wire.Decode(b)
		require.NoError(t, err)
		got := round.Fold(back.Entries, ticket)
		require.Equal(t, c, got)
	})
}
