package native

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

// The fuzz targets: what they decode, and how many seeds each has.
var targets = []struct {
	name, typ string
	profile   Profile
	seeds     int
}{
	{"FuzzNotification", "NotificationInfo", Mid2026, 32},
	{"FuzzRequestBody", "RequestBody", Mid2026, 12},
	{"FuzzState2026", "DataTransceiverState", Mid2026, 13},
	{"FuzzState2025", "DataTransceiverState", Late2025, 13},
	{"FuzzBlockKey", "BlockKey", Mid2026, 9},
	{"FuzzRequestInfo", "RequestInfo", Mid2026, 11},
	{"FuzzContextPhase", "ContextPhaseParams", Late2025, 8},
}

// hostile holds inputs that ask for far more memory than they bring.
func hostile() [][]byte {
	huge := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}
	return [][]byte{huge, append([]byte{1, 0, 0, 0, 0, 3}, huge...)}
}

func seedsOf(t testing.TB, typ string, p Profile) [][]byte {
	var all [][]byte
	file := "native_2026mid.jsonl"
	if p == Late2025 {
		file = "native_2025late.jsonl"
	}
	kind := typ
	if typ == "RequestBody" {
		kind = "NotificationInfo"
	}
	for _, v := range loadVectors(t, file) {
		if v.Type != kind || v.Size > 3000 {
			continue
		}
		b := v.bytes(t)
		if typ == "RequestBody" {
			if b[0] != 0 {
				continue
			}
			b = b[8:]
		}
		all = append(all, b)
	}
	if typ == "NotificationInfo" {
		all = append(all, decodeCases(t)...)
	}
	all = append(all, wiretest.Broken(all[0])...)
	if typ == "NotificationInfo" {
		all = append(all, hostile()...)
	}
	return all
}

func decodeCases(t testing.TB) [][]byte {
	var all [][]byte
	for _, h := range []string{
		"0300000000000000030000000000000067656e01000000", "0100000001000000030000000000000067656e01000000",
		"0200000000000000030000000000000067656e2a000000ff", "010000000000000000000000000000000100",
		"0000000000000000010000000000000067010000000000000061070000000000000000000000000000000000000000000000000000000000000000010000000000000000100000000000001000000000000000000000000000000000",
		"",
	} {
		b, err := hex.DecodeString(h)
		require.NoError(t, err)
		all = append(all, b)
	}
	return all
}

func TestSeeds(t *testing.T) {
	total := 0
	for _, g := range targets {
		n := wiretest.Seeds(t, g.name, seedsOf(t, g.typ, g.profile))
		require.Equal(t, g.seeds, n, g.name)
		total += n
	}
	t.Logf("%d seeds for %d targets", total, len(targets))
}

func TestAllocationBound(t *testing.T) {
	spec.Covers(t, "KS-NAT-4", "KS-NAT-17")
	for _, g := range targets {
		inputs := append(wiretest.Corpus(t, g.name), hostile()...)
		inputs = append(inputs, wide(g.typ)...)
		worst := wiretest.Bounded(t, inputs, func(b []byte) error {
			_, err := only(g.profile, g.typ, b)
			return err
		})
		t.Logf("%s: largest use of the bound %d %%", g.name, worst)
	}
}

// wide holds large valid inputs made of the elements that cost most for their
// size: lists of empty sockets and agents.
func wide(typ string) [][]byte {
	var all [][]byte
	for _, c := range []*CommState{
		{Kind: CommSocket, Sockets: make([]Socket, 20000)}, {Kind: CommAgent, Agents: make([]AgentState, 20000)},
		{Kind: CommMPI, Ranks: make([]int32, 20000)},
	} {
		s := DataTransceiverState{Comm: c}
		var b []byte
		switch typ {
		case "DataTransceiverState":
			b, _ = AppendState(nil, Mid2026, s)
		case "RequestBody":
			b, _ = AppendRequestBody(nil, &RequestAndBufferInfo{Info: RequestInfo{State: s}})
		case "NotificationInfo":
			b, _ = AppendRequest(nil, RequestAndBufferInfo{Info: RequestInfo{State: s}})
		default:
			continue
		}
		all = append(all, b, b[:len(b)-1])
	}
	return all
}

// only decodes without encoding again.
func only(p Profile, typ string, b []byte) (any, error) {
	switch typ {
	case "NotificationInfo":
		v, err := DecodeNotification(b)
		return &v, err
	case "RequestBody":
		v, err := DecodeRequestBody(b)
		return &v, err
	case "DataTransceiverState":
		v, err := DecodeState(p, b)
		return &v, err
	case "BlockKey":
		v, err := DecodeBlockKey(b)
		return &v, err
	case "RequestInfo":
		v, err := DecodeRequestInfo(b)
		return &v, err
	}
	v, err := DecodeContextPhase(p, b)
	return &v, err
}

// fuzz checks what must hold for any bytes: they decode and encode to themselves,
// or are refused with a complete error.
func fuzz(f *testing.F, p Profile, typ string) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if typ == "RequestBody" {
			requireAgreement(t, b)
		}
		_, again, err := recode(p, typ, b)
		if err != nil {
			require.NotEqual(t, wire.ReasonProfile, wiretest.Refused(t, err, len(b)).Reason)
			return
		}
		require.Equal(t, b, again)
	})
}

func FuzzNotification(f *testing.F) { fuzz(f, Mid2026, "NotificationInfo") }
func FuzzRequestBody(f *testing.F)  { fuzz(f, Mid2026, "RequestBody") }
func FuzzState2026(f *testing.F)    { fuzz(f, Mid2026, "DataTransceiverState") }
func FuzzState2025(f *testing.F)    { fuzz(f, Late2025, "DataTransceiverState") }
func FuzzBlockKey(f *testing.F)     { fuzz(f, Mid2026, "BlockKey") }
func FuzzRequestInfo(f *testing.F)  { fuzz(f, Mid2026, "RequestInfo") }
func FuzzContextPhase(f *testing.F) { fuzz(f, Late2025, "ContextPhaseParams") }
