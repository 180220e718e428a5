package native

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
)

// trip checks that a value survives encoding behind other bytes and decoding.
func trip[T any](t *testing.T, gen func(*rapid.T) T, enc func([]byte, *T) ([]byte, error), dec func([]byte) (T, error)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		v := gen(t)
		b, err := enc([]byte("x"), &v)
		require.NoError(t, err)
		got, err := dec(b[1:])
		require.NoError(t, err)
		require.Equal(t, v, got)
	})
}

func sound[T any](f func([]byte, T) []byte) func([]byte, *T) ([]byte, error) {
	return func(b []byte, v *T) ([]byte, error) { return f(b, *v), nil }
}

func TestRoundTrip(t *testing.T) {
	spec.Covers(t, "KS-NAT-8", "KS-NAT-10")
	t.Run("AgentState", func(t *testing.T) { trip(t, genAgent, sound(AppendAgent), DecodeAgent) })
	t.Run("CommState", func(t *testing.T) { trip(t, genComm, AppendComm, DecodeComm) })
	t.Run("MemoryDesc", func(t *testing.T) { trip(t, genMemory, sound(AppendMemoryDesc), DecodeMemoryDesc) })
	t.Run("BlockKey", func(t *testing.T) { trip(t, genKey, AppendBlockKey, DecodeBlockKey) })
	t.Run("RequestInfo", func(t *testing.T) { trip(t, genInfo, AppendRequestInfo, DecodeRequestInfo) })
	t.Run("RequestBody", func(t *testing.T) { trip(t, genRequest, AppendRequestBody, DecodeRequestBody) })
	t.Run("Notification", func(t *testing.T) { trip(t, genNotification, AppendNotification, DecodeNotification) })
	t.Run("ContextPhaseParams", func(t *testing.T) {
		trip(t, genContextPhase,
			func(b []byte, v *ContextPhaseParams) ([]byte, error) { return AppendContextPhase(b, Late2025, v) },
			func(b []byte) (ContextPhaseParams, error) { return DecodeContextPhase(Late2025, b) })
	})
	for _, p := range []Profile{Mid2026, Late2025} {
		t.Run("CacheState/"+p.String(), func(t *testing.T) {
			trip(t, genCache(p),
				func(b []byte, v *CacheState) ([]byte, error) { return AppendCache(b, p, v) },
				func(b []byte) (CacheState, error) { return DecodeCache(p, b) })
		})
		t.Run("DataTransceiverState/"+p.String(), func(t *testing.T) {
			trip(t, genState(p),
				func(b []byte, v *DataTransceiverState) ([]byte, error) { return AppendState(b, p, *v) },
				func(b []byte) (DataTransceiverState, error) { return DecodeState(p, b) })
		})
	}
}

// TestResultsOwnTheirMemory overwrites the input after decoding.
func TestResultsOwnTheirMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genNotification(t)
		b, err := AppendNotification(nil, &n)
		require.NoError(t, err)
		got, err := DecodeNotification(b)
		require.NoError(t, err)
		for i := range b {
			b[i] = 0xA5
		}
		require.Equal(t, n, got)
	})
}

// TestWalkAgrees checks that the walk and the decoder accept the same bytes, also
// damaged ones, and that the walk takes no memory.
func TestWalkAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genRequest(t)
		b, err := AppendRequestBody(nil, &v)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "damage") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= rapid.Byte().Draw(t, "xor")
		}
		_, err = DecodeRequestBody(b)
		require.Equal(t, err, WalkRequest(b, Limits{}))
		requireAgreement(t, b)
	})
	body := goldenRequest(t)
	for i := range body {
		requireAgreement(t, body[:i])
		for bit := range 8 {
			body[i] ^= 1 << bit
			requireAgreement(t, body)
			body[i] ^= 1 << bit
		}
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if WalkRequest(body, DefaultLimits()) != nil {
			panic("refused")
		}
	}))
	for _, p := range []Profile{Mid2026, Late2025} {
		rapid.Check(t, func(t *rapid.T) {
			b, err := AppendState(nil, p, genState(p)(t))
			require.NoError(t, err)
			require.NoError(t, WalkState(p, b, Limits{}))
		})
	}
}

// requireAgreement checks that the fast walk and the one that explains agree, with
// and without limits. Without this, bytes could be called unsound for no reason, or
// worse.
func requireAgreement(t require.TestingT, b []byte) {
	for _, l := range []Limits{{}, DefaultLimits(), {2, 2, 2, 2, 2, 20, 20}} {
		require.Equal(t, explainRequest(b, l) == nil, soundRequest(b, &l))
	}
}

func TestEncodersRefuse(t *testing.T) {
	spec.Covers(t, "KS-NAT-7", "KS-NAT-9")
	some := []int32{1}
	for name, enc := range map[string]func([]byte) ([]byte, error){
		"empty comm":   func(b []byte) ([]byte, error) { return AppendComm(b, &CommState{}) },
		"unknown comm": func(b []byte) ([]byte, error) { return AppendComm(b, &CommState{Kind: 4}) },
		"other list":   func(b []byte) ([]byte, error) { return AppendComm(b, &CommState{Kind: CommAgent, Ranks: some}) },
		"state's comm": func(b []byte) ([]byte, error) {
			return AppendState(b, Mid2026, DataTransceiverState{Comm: &CommState{}})
		},
		"lora":          func(b []byte) ([]byte, error) { return AppendBlockKey(b, &BlockKey{LoraTaskID: 1}) },
		"salt":          func(b []byte) ([]byte, error) { return AppendBlockKey(b, &BlockKey{CacheSaltID: 1}) },
		"uuid":          func(b []byte) ([]byte, error) { return AppendBlockKey(b, &BlockKey{ExtraKeys: []MmKey{{UUID: "u"}}}) },
		"metadata":      func(b []byte) ([]byte, error) { return AppendRequest(b, RequestAndBufferInfo{Metadata: []byte{1}}) },
		"request's key": func(b []byte) ([]byte, error) { return AppendRequest(b, requestWith(BlockKey{LoraTaskID: 1})) },
		"drafts": func(b []byte) ([]byte, error) {
			return AppendContextPhase(b, Late2025, &ContextPhaseParams{DraftTokens: some})
		},
		"phase's state": func(b []byte) ([]byte, error) {
			return AppendContextPhase(b, Late2025, &ContextPhaseParams{State: &DataTransceiverState{Comm: &CommState{}}})
		},
		"phase of 2026": func(b []byte) ([]byte, error) { return AppendContextPhase(b, Mid2026, &ContextPhaseParams{}) },
		"partial reuse": func(b []byte) ([]byte, error) { return AppendCache(b, Late2025, &CacheState{PartialReuse: true}) },
		"fp4":           func(b []byte) ([]byte, error) { return AppendCache(b, Late2025, &CacheState{IndexerFP4: true}) },
		"rnn": func(b []byte) ([]byte, error) {
			return AppendState(b, Late2025, DataTransceiverState{Cache: &CacheState{RNN: &RNNState{}}})
		},
		"no profile":    func(b []byte) ([]byte, error) { return AppendCache(b, 7, &CacheState{}) },
		"state profile": func(b []byte) ([]byte, error) { return AppendState(b, 7, DataTransceiverState{}) },
		"control":       func(b []byte) ([]byte, error) { return AppendNotification(b, &Notification{Kind: KindControl}) },
		"unknown kind":  func(b []byte) ([]byte, error) { return AppendNotification(b, &Notification{Kind: 1 << 32}) },
	} {
		t.Run(name, func(t *testing.T) {
			dst, err := enc([]byte("kept"))
			requireRefused(t, err, 0)
			require.Equal(t, "kept", string(dst))
		})
	}
}

func requestWith(k BlockKey) RequestAndBufferInfo {
	return RequestAndBufferInfo{Info: RequestInfo{LastBlockKey: k}}
}
