package native

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

// unnoticed lists the fields in which a changed bit can make another valid
// message: native encodings have no checksum, so every plain number, text byte and
// flag is among them. Lengths, counts, variant indices and the flags of optional
// parts are not, with one exception: a longer uuid can swallow what follows it and
// leave bytes that still read as a key.
var unnoticed = []string{
	"addr", "address", "agentName", "attentionLayerNumPerPP", "attentionType", "bufferKind", "cacheSaltID",
	"connectionInfo", "contextParallelism", "dataType", "deviceId", "dpRank", "dpSize", "draftToken",
	"enableAttentionDP", "enableBlockReuse", "enablePartialReuse", "firstGenToken", "hasIndexerKCache", "hash",
	"indexFromEnd", "indexerDimPerHead", "indexerKCacheQuantBlockSize", "indexerKCacheUseFp4", "ip", "isReady",
	"kvFactor", "len", "loraTaskId", "metadata", "nbKvHeadsPerLayer", "pipelineParallelism", "port", "rank", "reqId",
	"requestId", "rnn layerNumPerPP", "rnn number", "selfIdx", "sizePerHead", "startOffset", "tag",
	"tensorParallelism", "tokenExtraId", "tokenId", "tokensPerBlock", "usesExtraIds", "uuid", "uuid length", "validConnectionIdx",
}

// TestFlips changes every bit of one message of each kind.
func TestFlips(t *testing.T) {
	accepted := map[string]bool{}
	flips := 0
	check := func(l layout, typ string, p Profile) {
		for _, at := range wiretest.Flips(t, l.b, func(b []byte) error {
			_, again, err := recode(p, typ, b)
			if err == nil {
				require.Equal(t, b, again)
			}
			return err
		}) {
			accepted[l.names[at]] = true
		}
		flips += 8 * len(l.b)
	}
	for _, n := range golden() {
		var l layout
		l.notification(n)
		b, err := AppendNotification(nil, &n)
		require.NoError(t, err)
		require.Equal(t, l.b, b)
		check(l, "NotificationInfo", Mid2026)
	}
	var l layout
	l.phase(goldenPhase())
	b, err := AppendContextPhase(nil, Late2025, ptr(goldenPhase()))
	require.NoError(t, err)
	require.Equal(t, l.b, b)
	check(l, "ContextPhaseParams", Late2025)
	l = layout{}
	l.comm(&CommState{Kind: CommMPI, Ranks: []int32{0, 1}})
	check(l, "CommState", Mid2026)

	require.Equal(t, unnoticed, slices.Sorted(maps.Keys(accepted)))
	t.Logf("%d bit flips; accepted only in the %d listed fields", flips, len(unnoticed))
}

func ptr[T any](v T) *T { return &v }
