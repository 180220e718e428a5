package native

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func requireRefused(t testing.TB, err error, n int) *wire.Error {
	t.Helper()
	return wiretest.Refused(t, err, n)
}

// TestDecodeCases runs upstream's odd inputs: we accept what upstream read whole
// and without a failed stream, and write it back; a bool above 1 is refused
// although upstream carried it.
func TestDecodeCases(t *testing.T) {
	spec.Covers(t, "KS-NAT-5", "KS-NAT-6", "KS-NAT-7")
	f, err := os.Open("testdata/native_decode_cases.jsonl")
	require.NoError(t, err)
	defer f.Close()
	want := map[string]any{
		"valid sync":                nil,
		"variant index 3 (unknown)": wire.ReasonControl,
		"variant index 0x100000001: full 64-bit compare": wire.ReasonBadIndex,
		"ready byte 0":                         nil,
		"ready byte 255 (UB in C++, observed)": wire.ReasonBadBool,
		"string length longer than data: name length 5 but 2 bytes follow (chars read past EOF are uninitialised; only streamFail is reliable)": wire.ReasonShortInput,
		"same request without the trailing bufferKinds count (older single layout peer): kinds count read hits EOF":                             wire.ReasonShortInput,
		"variant 4":                     wire.ReasonBadIndex,
		"negative selfIdx, mpi 2 ranks": nil,
	}
	ran := 0
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var c struct {
			Type, Note, InputHex, Outcome, ReencodedHex string
			StreamFail                                  bool
			UnreadBytes                                 int
		}
		require.NoError(t, json.Unmarshal(sc.Bytes(), &c))
		b, err := hex.DecodeString(c.InputHex)
		require.NoError(t, err)
		reason, listed := want[c.Note]
		require.True(t, listed, c.Note)
		_, again, err := recode(Mid2026, c.Type, b)
		ran++
		if reason == nil {
			require.NoError(t, err, c.Note)
			require.Equal(t, c.ReencodedHex, hex.EncodeToString(again))
			require.Zero(t, c.UnreadBytes)
			continue
		}
		require.Equal(t, reason, requireRefused(t, err, len(b)).Reason, c.Note)
	}
	require.NoError(t, sc.Err())
	require.Equal(t, len(want), ran)
}

// TestCommIndex gives every index that is no list, with and without something
// behind it.
func TestCommIndex(t *testing.T) {
	for _, index := range []uint64{0, 4, 5, 1<<32 | 1, 1 << 63} {
		head := binary.LittleEndian.AppendUint64([]byte{0, 0, 0, 0}, index)
		for _, b := range [][]byte{head, append(head, make([]byte, 8)...)} {
			_, err := DecodeComm(b)
			e := requireRefused(t, err, len(b))
			require.Equal(t, wire.ReasonBadIndex, e.Reason)
			require.Equal(t, 4, e.Offset)
		}
	}
}

// TestCuts cuts every vector at every byte and adds one.
func TestCuts(t *testing.T) {
	spec.Covers(t, "KS-NAT-2", "KS-NAT-14", "KS-NAT-16")
	cuts := 0
	for file, p := range vectorFiles {
		for _, v := range loadVectors(t, file) {
			if v.Size > 2000 {
				continue // the same layouts as the others, quadratically slower
			}
			wiretest.Cuts(t, v.bytes(t), func(b []byte) error {
				_, _, err := recode(p, v.Type, b)
				return err
			})
			cuts += v.Size
		}
	}
	t.Logf("%d cuts refused", cuts)
}

// TestProfilesAreNotGuessed decodes each profile's states as the other's.
func TestProfilesAreNotGuessed(t *testing.T) {
	spec.Covers(t, "KS-NAT-1", "KS-NAT-11")
	for file, p := range vectorFiles {
		for _, v := range loadVectors(t, file) {
			if v.Type == "CacheState" {
				_, _, err := recode(1-p, v.Type, v.bytes(t))
				require.Error(t, err, v.Name)
			}
		}
	}
	_, err := DecodeContextPhase(Mid2026, nil)
	require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonProfile})
	for _, err := range []error{
		second(DecodeCache(9, nil)), second(DecodeState(9, nil)), WalkState(9, nil, Limits{}),
	} {
		require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonProfile})
	}
	require.Equal(t, []string{"2026mid", "2025late", "invalid"}, []string{Mid2026.String(), Late2025.String(), Profile(9).String()})
}

func second[T any](_ T, err error) error { return err }

// TestLimits lowers each limit below what the golden request holds.
func TestLimits(t *testing.T) {
	body := goldenRequest(t)
	require.NoError(t, WalkRequest(body, DefaultLimits()))
	for field, l := range map[string]Limits{
		"request.agentName": {Text: 2},
		"request.requestInfo.transState.commState.agents":             {Ranks: 1},
		"request.requestInfo.lastBlockKey.uniqueTokens":               {Tokens: 1},
		"request.requestInfo.lastBlockKey.extraKeys":                  {ExtraKeys: 1},
		"request.requestInfo.transState.cacheState.nbKvHeadsPerLayer": {Layers: 1},
		"request.bufferDescs":                                         {Buffers: 1},
		"request.metadata":                                            {Metadata: 1},
	} {
		e := requireRefused(t, WalkRequest(body, l), len(body))
		require.Equal(t, wire.ReasonTooLarge, e.Reason)
		require.Equal(t, field, e.What)
	}
	state, err := AppendState(nil, Mid2026, DataTransceiverState{Comm: &CommState{Kind: CommSocket, Sockets: make([]Socket, 3)}})
	require.NoError(t, err)
	require.NoError(t, WalkState(Mid2026, state, Limits{Ranks: 3}))
	require.Error(t, WalkState(Mid2026, state, Limits{Ranks: 2}))
}

func TestPeek(t *testing.T) {
	kind, ok := Peek([]byte{3, 0, 0, 0, 0, 0, 0, 0, 9})
	require.True(t, ok)
	require.Equal(t, KindControl, kind)
	_, ok = Peek([]byte{3, 0, 0, 0, 0, 0, 0})
	require.False(t, ok)
	var words []string
	for k := range KindControl + 2 {
		words = append(words, k.String())
	}
	require.Equal(t, []string{"request", "sync", "ready", "control", "invalid"}, words)
}
