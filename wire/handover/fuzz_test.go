package handover

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func seeds() [][]byte {
	all := [][]byte{
		[]byte(goldenText), []byte(least), []byte("{}"), {}, []byte(`{"x":[1,{"y":null}],` + least[1:]),
		[]byte(strings.Replace(least, "context_only", `\ud83d\ude00\n`, 1)),
		[]byte(strings.Replace(least, `"context_only"`, `"context_only","ctx_info_endpoint":["a",""]`, 1)),
		[]byte(strings.Replace(least, "[]", "[1,1,1,1,1,1,1,1]", 1)),
		[]byte(`{"request_id":1,"reason":"USER"}`), []byte(`{"error":{"code":"a","message":"b","requirement":"KS-HTTP-8"}}`),
		[]byte(strings.Repeat(`{"x":`, 40)),
	}
	return append(all, wiretest.Broken([]byte(goldenText))...)
}

func stateSeeds() [][]byte {
	return [][]byte{{}, []byte("AAA="), []byte("AA=="), []byte("AB=="), []byte("AAAA\n"), []byte("-_8="), []byte("===="), []byte("AA\r\n")}
}

func TestSeeds(t *testing.T) {
	require.Equal(t, 16, wiretest.Seeds(t, "FuzzDecode", seeds()))
	require.Equal(t, 8, wiretest.Seeds(t, "FuzzState", stateSeeds()))
}

// FuzzDecode checks that whatever is accepted is JSON and survives being written
// again, for each kind of body.
func FuzzDecode(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		accepted := false
		try := func(err error) bool {
			if err != nil {
				require.GreaterOrEqual(t, wiretest.Refused(t, err, len(b)).Offset, 0)
			}
			accepted = accepted || err == nil
			return err == nil
		}
		if h, err := Decode(b); try(err) {
			if again, err := Append(nil, &h); err == nil { // escaping may outgrow a bound
				got, err := Decode(again)
				require.NoError(t, err)
				require.Equal(t, h, got)
			}
		}
		if c, err := DecodeCancel(b); try(err) {
			if again, err := AppendCancel(nil, &c); err == nil {
				got, err := DecodeCancel(again)
				require.NoError(t, err)
				require.Equal(t, c, got)
			}
		}
		_, err := DecodeError(b)
		try(err)
		_, err = DecodeParams(b)
		try(err)
		if accepted {
			require.True(t, json.Valid(b))
		}
	})
}

func FuzzState(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := DecodeState(string(b))
		if err != nil {
			wiretest.Refused(t, err, len(b))
			return
		}
		require.Equal(t, string(b), EncodeState(got))
	})
}

// TestAllocationBound adds the bodies that cost most for their size: full lists of
// one-digit numbers, and a large state.
func TestAllocationBound(t *testing.T) {
	list := func(n int) string { return "[1" + strings.Repeat(",1", n-1) + "]" }
	worst := strings.Replace(least, "[]", list(MaxHashIDs), 1)
	worst = strings.Replace(worst, `"context_only"`, `"","first_gen_tokens":`+list(MaxTokens)+`,"draft_tokens":`+list(MaxTokens), 1)
	inputs := append(wiretest.Corpus(t, "FuzzDecode"), []byte(worst), []byte(worst[:len(worst)-1]),
		[]byte(strings.Replace(least, "[]", list(100_000), 1)),
		[]byte(strings.Replace(least, `"context_only"`, `"context_only","encoded_opaque_state":"`+strings.Repeat("A", 1<<20)+`"`, 1)),
		[]byte(strings.Replace(least, `context_only`, strings.Repeat(`\n`, MaxText/2), 1)))
	for name, f := range map[string]func([]byte) error{
		"handover": decode,
		"cancel":   func(b []byte) error { return second(DecodeCancel(b)) },
		"error":    func(b []byte) error { return second(DecodeError(b)) },
	} {
		t.Logf("%s: largest use of the bound %d %%", name, wiretest.Bounded(t, inputs, f))
	}
	states := append(wiretest.Corpus(t, "FuzzState"), []byte(strings.Repeat("A", 1<<20)))
	// The text is counted as the input; turning the bytes into it is the test's.
	for _, b := range states {
		s := string(b)
		require.LessOrEqual(t, wiretest.Allocated(func() { _, _ = DecodeState(s) }), wiretest.Bound(len(s)))
	}
}
