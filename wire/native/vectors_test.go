package native

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
)

type vector struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Size   int             `json:"size"`
	Fields json.RawMessage `json:"fields"`
	Hex    string          `json:"hex"`
}

func (v vector) bytes(t testing.TB) []byte {
	b, err := hex.DecodeString(v.Hex)
	require.NoError(t, err)
	require.Len(t, b, v.Size)
	return b
}

func loadVectors(t testing.TB, file string) []vector {
	f, err := os.Open("testdata/" + file)
	require.NoError(t, err)
	defer f.Close()
	var all []vector
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var v vector
		require.NoError(t, json.Unmarshal(sc.Bytes(), &v))
		all = append(all, v)
	}
	require.NoError(t, sc.Err())
	return all
}

// recode decodes b as type typ of profile p and encodes the result again. The
// decoded value comes back for comparison.
func recode(p Profile, typ string, b []byte) (value any, again []byte, err error) {
	pre := []byte("pre")
	switch typ {
	case "AgentState":
		var v AgentState
		if v, err = DecodeAgent(b); err == nil {
			value, again = v, AppendAgent(pre, v)
		}
	case "CommState":
		var v CommState
		if v, err = DecodeComm(b); err == nil {
			value = v
			again, err = AppendComm(pre, &v)
		}
	case "CacheState":
		var v CacheState
		if v, err = DecodeCache(p, b); err == nil {
			value = v
			again, err = AppendCache(pre, p, &v)
		}
	case "DataTransceiverState":
		var v DataTransceiverState
		if v, err = DecodeState(p, b); err == nil {
			value = v
			again, err = AppendState(pre, p, v)
		}
	case "MemoryDesc":
		var v MemoryDesc
		if v, err = DecodeMemoryDesc(b); err == nil {
			value, again = v, AppendMemoryDesc(pre, v)
		}
	case "BlockKey":
		var v BlockKey
		if v, err = DecodeBlockKey(b); err == nil {
			value = v
			again, err = AppendBlockKey(pre, &v)
		}
	case "RequestInfo":
		var v RequestInfo
		if v, err = DecodeRequestInfo(b); err == nil {
			value = v
			again, err = AppendRequestInfo(pre, &v)
		}
	case "RequestBody":
		var v RequestAndBufferInfo
		if v, err = DecodeRequestBody(b); err == nil {
			value = v
			again, err = AppendRequestBody(pre, &v)
		}
	case "NotificationInfo":
		var v Notification
		if v, err = DecodeNotification(b); err == nil {
			value = v
			again, err = AppendNotification(pre, &v)
		}
	case "ContextPhaseParams":
		var v ContextPhaseParams
		if v, err = DecodeContextPhase(p, b); err == nil {
			value = v
			again, err = AppendContextPhase(pre, p, &v)
		}
	default:
		err = &wire.Error{Reason: wire.ReasonProfile, What: typ, Offset: -1}
	}
	if err != nil {
		return nil, nil, err
	}
	return value, again[len(pre):], nil
}

var vectorFiles = map[string]Profile{"native_2026mid.jsonl": Mid2026, "native_2025late.jsonl": Late2025}

// TestVectors decodes every upstream vector, compares every field with the
// upstream description of it and encodes it again.
func TestVectors(t *testing.T) {
	spec.Covers(t, "KS-NAT-3", "KS-NAT-10", "KS-CTL-2")
	total := 0
	for file, p := range vectorFiles {
		for _, v := range loadVectors(t, file) {
			raw := v.bytes(t)
			value, again, err := recode(p, v.Type, raw)
			require.NoError(t, err, v.Name)
			require.Equal(t, v.Hex, hex.EncodeToString(again), v.Name)
			got, err := json.Marshal(describe(p, value))
			require.NoError(t, err)
			require.JSONEq(t, string(v.Fields), string(got), v.Name)
			total++
		}
	}
	require.Equal(t, 95, total)
	t.Logf("%d native vectors byte-exact", total)
}
