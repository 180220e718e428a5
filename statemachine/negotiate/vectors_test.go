package negotiate

import (
	"bufio"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// vectors is the one copy of the shared descriptor vectors in this tree.
const vectors = "../../wire/descriptor/testdata/descriptor_v1.jsonl"

// vectorVerdict has the field names of the vectors; a pointer is nil where the
// vector leaves the field out.
type vectorVerdict struct {
	Compatible bool    `json:"compatible"`
	HasLegacy  bool    `json:"hasLegacyPeer"`
	AllAware   bool    `json:"allPeersProtocolAware"`
	CanReject  *bool   `json:"allPeersCanRejectBeforeDma"`
	Version    *uint16 `json:"selectedVersion"`
	Class      string  `json:"reasonClass"`
	Rank       *int    `json:"rank"`
	Parse      string  `json:"parseClass"`
}

func asVector(v Verdict, old bool) vectorVerdict {
	out := vectorVerdict{
		Compatible: v.Compatible, HasLegacy: v.HasLegacy, AllAware: v.AllAware,
		CanReject: &v.CanReject, Class: string(v.Class), Parse: string(v.Parse),
	}
	if old {
		out.CanReject = nil
	}
	if v.SelectedVersion != 0 {
		out.Version = &v.SelectedVersion
	}
	if v.Rank >= 0 {
		out.Rank = &v.Rank
	}
	return out
}

func unescape(t *testing.T, s string) string {
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	require.NoError(t, err)
	return s
}

func number(t *testing.T, s string, bits int) uint64 {
	v, err := strconv.ParseUint(s, 0, bits)
	require.NoError(t, err)
	return v
}

func readMode(t *testing.T, s string) descriptor.Mode { return descriptor.Mode(number(t, s, 8)) }

// answer runs one command of the vectors.
func answer(t *testing.T, fields []string) Verdict {
	command, form, args := fields[0], fields[1], fields[2:]
	names := func(from int) []string {
		var out []string
		for _, f := range args[from:] {
			out = append(out, unescape(t, f))
		}
		return out
	}
	switch command + "/" + form {
	case "validate/new":
		return ValidatePeers(descriptor.Descriptor{
			Min: uint16(number(t, args[0], 16)), Max: uint16(number(t, args[1], 16)),
			Caps: descriptor.Caps(number(t, args[2], 64)), Mode: readMode(t, args[3]),
			Token: number(t, args[4], 64), Schema: 1,
		}, names(5))
	case "validatemode/new":
		return ValidatePeersMode(readMode(t, args[0]), names(1))
	case "validatemode/old":
		return ValidateOldMode(readMode(t, args[0]), names(1))
	case "validatelocal/new":
		return ValidateLocal(readMode(t, args[0]), names(1))
	}
	t.Fatalf("unknown command %s/%s", command, form)
	return Verdict{}
}

// TestVectors runs every validate command and compares every field.
func TestVectors(t *testing.T) {
	spec.Covers(t, "KS-SEL-1", "KS-SEL-2", "KS-SEL-3", "KS-SEL-4", "KS-SEL-5", "KS-SEL-6", "KS-SEL-7", "KS-SEL-8")
	f, err := os.Open(vectors)
	require.NoError(t, err)
	defer f.Close()
	ran, classes := map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var line struct {
			Cmd string          `json:"cmd"`
			Out json.RawMessage `json:"out"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		fields := strings.Split(line.Cmd, "\t")
		if !strings.HasPrefix(fields[0], "validate") {
			continue // one name only: the test of wire/descriptor
		}
		var want vectorVerdict
		dec := json.NewDecoder(strings.NewReader(string(line.Out)))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(&want), "line %d", n)
		got := asVector(answer(t, fields), fields[1] == "old")
		require.Equal(t, want, got, "line %d: %s", n, line.Cmd)
		ran[fields[0]+"/"+fields[1]]++
		classes[want.Class]++
	}
	require.NoError(t, lines.Err())
	require.Equal(t, map[string]int{
		"validate/new": 423, "validatemode/new": 60, "validatemode/old": 69, "validatelocal/new": 59,
	}, ran)
	t.Logf("%v, classes %v", ran, classes)

	// Every class of the deployed code occurs, and each has a reason of its own.
	reasons := map[string]bool{}
	for class := range classes {
		reason := Class(class).Reason()
		require.NotEqual(t, UnknownClass, reason, class)
		require.False(t, reason != "" && reasons[string(reason)], "%s shares its reason", class)
		reasons[string(reason)] = true
	}
	require.Len(t, classes, 15)
}
